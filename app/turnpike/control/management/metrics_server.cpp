// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/metrics_server.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>

#include "observe/metrics_pages.hpp"
#include "sources/socket_file.hpp"

namespace turnpike::control {
namespace {

constexpr uint64_t overdue_look_ms = 1000;

result<owned_fd> listen_on_tcp(const state::listen_address& at) {
    owned_fd fd(::socket(at.address.v6 ? AF_INET6 : AF_INET,
                         SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0)
        return fail(errno, {},
                    errno == EAFNOSUPPORT
                        ? "cannot be listened on: neither the kernel nor the service's "
                          "RestrictAddressFamilies= may forbid this family (doc/install.md)"
                        : "cannot be listened on");
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // The machine may get the address later: forwarding must not wait for it.
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(at.port);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(at.port);
    int bound = 0;
    if (at.address.v6) {
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
        std::memcpy(&v6.sin6_addr, at.address.bytes.data(), sizeof v6.sin6_addr);
        bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
    } else {
        ::setsockopt(fd.get(), IPPROTO_IP, IP_FREEBIND, &on, sizeof on);
        std::memcpy(&v4.sin_addr, at.address.bytes.data(), sizeof v4.sin_addr);
        bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    }
    constexpr int backlog = 32;
    if (bound != 0 || ::listen(fd.get(), backlog) != 0)
        return fail(errno, {},
                    errno == EADDRINUSE ? "cannot be listened on: another socket has the port"
                                        : "cannot be listened on");
    return fd;
}

/// Whether two listeners cannot be open at a time. IPv6 sockets are without IPv4 (IPV6_V6ONLY).
bool overlap(const state::listen_address& a, const state::listen_address& b) {
    if (!a.path.empty() || !b.path.empty() || a.port != b.port || a.address.v6 != b.address.v6)
        return false;
    const ip_address any{.v6 = a.address.v6};
    return a.address == any || b.address == any;
}

/// The error of a new listener. A listener that a change closes is open until the change cannot fail any more.
error with_own_listener(error e, const state::listen_address& at, const transaction& c) {
    if (e.code != EADDRINUSE) return e;
    for (const state::listen_address& other : c.before.metrics.listen)
        if (overlap(at, other)) {
            e.text = "cannot be listened on: turnpike's listener " + other.text() +
                     " has the port until this change ends; close it first (turnpikectl set "
                     "metrics.listen none)";
            return e;
        }
    for (const state::listen_address& other : c.after.metrics.listen)
        if (overlap(at, other) && other != at)
            e.text = "cannot be listened on: " + other.text() + " of the same list overlaps it";
    return e;
}

}  // namespace

/// A listener and its server. The file of a UNIX socket exists as long.
class metrics_server::listener {
  public:
    static result<std::shared_ptr<listener>> open(const state::listen_address& at,
                                                  observe::mailbox& box) {
        auto out = std::make_shared<listener>(box);
        owned_fd fd;
        if (at.path.empty()) {
            auto tcp = listen_on_tcp(at);
            if (!tcp) return tl::unexpected<error>(tcp.error());
            fd = std::move(*tcp);
        } else {
            auto file = sources::listener::at(at.path, {}, {});
            if (!file) return tl::unexpected<error>(file.error());
            out->file_ = std::move(*file);
            fd.reset(::fcntl(out->file_.fd(), F_DUPFD_CLOEXEC, 0));
            if (fd.get() < 0) return fail(errno, {}, "cannot be listened on");
        }
        auto server = observe::http_server::start(
            std::move(fd), [box = &box, &stopping = out->stopping_](const auto& request) {
                return observe::metrics_page(request, *box, stopping);
            });
        if (!server) return tl::unexpected<error>(server.error());
        out->server_ = std::move(*server);
        return out;
    }

    explicit listener(observe::mailbox& box) : box_(box) {}
    /// A request that waits for this thread gives up first.
    ~listener() {
        stopping_.store(true, std::memory_order_relaxed);
        box_.wake();
        server_.reset();
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    void close_overdue() noexcept { server_->close_overdue(); }

  private:
    observe::mailbox& box_;
    std::atomic<bool> stopping_{false};
    sources::listener file_{};
    std::unique_ptr<observe::http_server> server_{};
};

class metrics_server::prepared_listeners : public prepared_change {
  public:
    prepared_listeners(metrics_server& of, listeners next) : of_(of), next_(std::move(next)) {}
    void commit() noexcept override { of_.listening_.swap(next_); }

  private:
    metrics_server& of_;
    listeners
        next_;  ///< then the previous ones, which end with this: that waits for their threads, so management does it
};

metrics_server::~metrics_server() = default;

result<std::unique_ptr<prepared_change>> metrics_server::prepare(transaction& c) {
    const state::metrics& config = c.after.metrics;
    if (config == c.before.metrics) return std::make_unique<prepared_listeners>(*this, listening_);
    listeners next;
    for (const state::listen_address& at : config.listen) {
        const std::string name = at.text();
        if (const auto there = listening_.find(name); there != listening_.end()) {
            next.insert(*there);
            continue;
        }
        auto opened = listener::open(at, mailbox_);
        if (!opened) {
            const error why = with_own_listener(opened.error(), at, c);
            return fail(why.code, config.where.text, "metrics.listen: " + name + ": " + why.text);
        }
        next.emplace(name, std::move(*opened));
    }
    return std::make_unique<prepared_listeners>(*this, std::move(next));
}

void metrics_server::close_overdue(uint64_t now_ms) noexcept {
    if (now_ms < next_look_ms_) return;
    next_look_ms_ = now_ms + overdue_look_ms;
    for (const auto& [name, one] : listening_) one->close_overdue();
}

void metrics_server::answer() noexcept {
    observe::mailbox::copy copy;
    try {
        copy = std::make_shared<const observe::scraped>(from_(mailbox_.page_asked()));
    } catch (const std::exception&) {  // out of memory
    }
    mailbox_.publish(std::move(copy));
}

}  // namespace turnpike::control
