// SPDX-License-Identifier: BSD-3-Clause
#include "control/host_interfaces/host_stack.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_mbuf.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "control/host_interfaces/router_sysctls.hpp"
#include "netlink/namespace.hpp"
#include "observe/log.hpp"

namespace turnpike::control {
namespace {

using datapath::drop_reason;

constexpr unsigned max_frames = 64;  ///< per TAP and iteration
constexpr size_t longest_frame = 65536;
constexpr uint64_t follow_ms = 5;              ///< notifications within this time are one change
constexpr uint64_t learn_again_ms = 1000;      ///< retry interval
constexpr unsigned receive_bytes = 32U << 20;  ///< about 140,000 messages

void log_failure(const std::string& what, const error& why) {
    observe::log(observe::log_level::error, what + ": " + why.message());
}

std::optional<std::pair<dev_t, ino_t>> identity_of(const std::string& network_namespace) {
    struct stat at {};
    if (network_namespace.empty() || ::stat(("/run/netns/" + network_namespace).c_str(), &at) != 0)
        return std::nullopt;
    return std::pair(at.st_dev, at.st_ino);
}

}  // namespace

host_stack::host_stack(dependencies s)
    : s_(std::move(s)), ready_(::epoll_create1(EPOLL_CLOEXEC)), frame_(longest_frame) {}

host_stack::~host_stack() = default;

result<std::shared_ptr<host_stack::netns_handle>> host_stack::open(
    const std::string& network_namespace) {
    auto out = std::make_shared<netns_handle>();
    out->network_namespace = network_namespace;
    out->identity = identity_of(network_namespace);
    auto done = netlink::in_namespace(network_namespace, [&]() -> result<void> {
        auto asking = netlink::link_socket::open({}, 0);
        if (!asking) return tl::unexpected<error>(asking.error());
        out->asking = std::move(*asking);
        auto beside = netlink::link_socket::open({}, 0);
        if (!beside) return tl::unexpected<error>(beside.error());
        out->upkeep_asking = std::move(*beside);
        out->any.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (out->any.get() < 0) return fail(errno, network_namespace, "cannot open a socket");
        auto listening = netlink::link_socket::open(netlink_monitor::groups(), receive_bytes);
        if (!listening) return tl::unexpected<error>(listening.error());
        out->follower = std::make_unique<netlink_monitor>(std::move(*listening),
                                                          sources::netlink_rib::followed{});
        out->follower->read_beside();
        return {};
    });
    if (!done) return tl::unexpected<error>(done.error());
    return out;
}

class host_stack::prepared_stack : public prepared_change {
  public:
    prepared_stack(host_stack& of, const transaction& c)
        : of_(of),
          before_(c.before),
          after_(c.after),
          beside_(c.beside != nullptr),
          operators_before_(c.operators_before),
          operators_after_(c.operators_after) {}

    result<void> get_ready(transaction& c) {
        const state::control_plane& config = after_.control_plane;
        if (c.beside != nullptr) of_.conclude_upkeep(*c.beside);
        if (!config.netlink) return {};
        const bool stays = of_.netns_ != nullptr &&
                           of_.netns_->network_namespace == config.network_namespace &&
                           !is_replaced(*of_.netns_);
        if (stays) {
            netns_ = of_.netns_;
        } else {
            auto opened = open(config.network_namespace);
            if (!opened) return refuse(opened.error());
            netns_ = std::move(*opened);
        }
        for (const auto& [name, says] : after_.interfaces) {
            if (!says.host_interface) continue;
            const uint16_t ifindex = c.ifindex_of.at(name);
            datapath::interface& to = c.snapshot->interfaces[ifindex];
            to.to_host = true;
            auto there = stays ? of_.find(name) : nullptr;
            if (there == nullptr) {
                auto made = make(name, says, to);
                if (!made) return refuse(made.error());
                there = std::move(*made);
            }
            settings_[ifindex] = {to.mac, to.mtu, true};
            taps_.emplace(ifindex, std::move(there));
        }
        return {};
    }

    void commit() noexcept override {
        // Remove every fd from epoll: the index of an interface may have changed.
        for (const auto& [ifindex, a] : of_.taps_) of_.unwatch(a->device.fd());
        of_.taps_.swap(taps_);
        of_.netns_.swap(netns_);
        for (const auto& [ifindex, a] : of_.taps_) of_.watch(a->device.fd(), ifindex);
        of_.apply_settings(settings_, before_.control_plane.rate, operators_after_);
    }
    void settle() noexcept override {
        try {
            of_.settle(operators_before_, beside_ || !of_.upkeep_.connected());
        } catch (const std::exception&) {  // no memory
            observe::log(observe::log_level::error,
                         "out of memory: the kernel's interfaces were not updated; reload");
        }
    }

  private:
    [[nodiscard]] result<void> refuse(const error& why) const {
        return fail(why.code, after_.control_plane.where.text,
                    "control_plane: " + why.object + ": " + why.text);
    }

    result<std::shared_ptr<attached>> make(const std::string& name, const state::interface& says,
                                           const datapath::interface& i) {
        auto out = std::make_shared<attached>();
        out->name = name;
        out->accept_ra = says.accept_ra;
        out->settings = {i.mac, i.mtu, false};
        auto device = make_tap(*netns_, netns_->asking, name, says.accept_ra, out->settings);
        if (!device) return tl::unexpected<error>(device.error());
        out->device = std::move(*device);
        return out;
    }

    host_stack& of_;
    const state::configuration &before_, &after_;
    const bool beside_;
    std::shared_ptr<const state::configuration> operators_before_, operators_after_;
    std::shared_ptr<netns_handle> netns_{};
    all taps_{};
    std::map<uint16_t, netlink::link_socket::link_settings> settings_{};
};

result<tap> host_stack::make_tap(const netns_handle& in, netlink::link_socket& asking,
                                 const std::string& name, bool accept_ra,
                                 const netlink::link_socket::link_settings& settings) {
    tap out;
    auto done = netlink::in_namespace(in.network_namespace, [&]() -> result<void> {
        auto device = tap::create(name);
        if (!device) return tl::unexpected<error>(device.error());
        out = std::move(*device);
        // Before the interface is up and receives router advertisements.
        return set_router_sysctls(name, accept_ra);
    });
    if (!done) return tl::unexpected<error>(done.error());
    if (auto set = asking.set_link(out.index(), settings); !set)
        return tl::unexpected<error>(set.error());
    return out;
}

bool host_stack::is_replaced(const netns_handle& n) noexcept {
    const auto now = identity_of(n.network_namespace);
    return now && now != n.identity;
}

std::shared_ptr<host_stack::attached> host_stack::find(const std::string& name) const {
    for (const auto& [ifindex, a] : taps_)
        if (a->name == name) return a;
    return nullptr;
}

void host_stack::watch(int fd, uint64_t ifindex) noexcept {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = ifindex;
    static_cast<void>(::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, fd, &e));
}

void host_stack::unwatch(int fd) noexcept {
    static_cast<void>(::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, fd, nullptr));
}

void host_stack::apply_settings(
    const std::map<uint16_t, netlink::link_socket::link_settings>& settings, uint32_t rate_before,
    std::shared_ptr<const state::configuration> after) noexcept {
    operators_ = std::move(after);
    const uint32_t rate = operators_->control_plane.rate;
    for (const auto& [ifindex, a] : taps_) {
        if (rate_before != rate || a->due_ms == 0) a->limits.set(rate);
        a->requested = settings.at(ifindex);
    }
    next_carrier_ms_ = 0;
}

/// For existing TAPs: restore settings that the operator or a device has changed.
/// may_block  false: control's own transaction; maintain() sets links
void host_stack::settle(const std::shared_ptr<const state::configuration>& before, bool may_block) {
    for (const auto& [ifindex, a] : taps_) {
        if (!a->settings.up) {
            a->settings = a->requested;
            a->settings.up = false;
            continue;  // maintain() does this for a new TAP
        }
        if (may_block) change_link(*a);
        const state::interface* is = operators_->interfaces.find(a->name);
        if (is != nullptr && std::exchange(a->accept_ra, is->accept_ra) != is->accept_ra)
            set_sysctls(*netns_, a->name, a->accept_ra);
        // Addresses that the kernel gave or took away are not the operator's: a daemon may give one again
        // meanwhile.
        static const std::vector<ip_prefix> none;
        const state::interface* was =
            before == nullptr ? nullptr : before->interfaces.find(a->name);
        change_addresses(*a, was == nullptr ? none : was->addresses,
                         is == nullptr ? none : is->addresses);
    }
    if (netns_ != nullptr) netns_->follower->set_ours(ours());
}

/// A refused change is retried by maintain().
void host_stack::change_link(attached& a) {
    if (a.settings == a.requested) return;
    if (auto done = netns_->asking.set_link(a.device.index(), a.requested, true); !done) {
        if (a.refused != done.error().message()) log_failure(a.name, done.error());
        a.refused = done.error().message();
        return;
    }
    a.refused.clear();
    a.settings = a.requested;
    // An MTU below 1280 disables IPv6 and its sysctls; a larger one enables it with defaults.
    set_sysctls(*netns_, a.name, a.accept_ra);
}

void host_stack::set_sysctls(const netns_handle& in, const std::string& name, bool accept_ra) {
    if (auto done = netlink::in_namespace(in.network_namespace,
                                          [&] { return set_router_sysctls(name, accept_ra); });
        !done)
        log_failure(name, done.error());
}

void host_stack::change_addresses(const attached& a, const std::vector<ip_prefix>& had,
                                  const std::vector<ip_prefix>& requested) {
    const auto lacks = [](const std::vector<ip_prefix>& some, const ip_prefix& p) {
        return std::find(some.begin(), some.end(), p) == some.end();
    };
    const uint32_t index = a.device.index();
    for (const ip_prefix& p : had)
        if (lacks(requested, p)) {
            if (auto done = netns_->asking.remove_address(index, p); !done)
                log_failure(a.name, done.error());
            netns_->follower->forget_address(index, p);
        }
    for (const ip_prefix& p : requested)
        if (lacks(had, p))
            if (auto done = netns_->asking.add_address(index, p); !done)
                log_failure(a.name, done.error());
}

sources::netlink_rib::followed host_stack::ours() const {
    sources::netlink_rib::followed out;
    for (const auto& [ifindex, a] : taps_) {
        out.interfaces.emplace(a->device.index(), a->name);
        if (a->accept_ra) out.accept_ra.insert(a->device.index());
    }
    for (const auto& [name, v] : operators_->vrfs) out.vrfs.emplace(v.table, name);
    return out;
}

result<std::unique_ptr<prepared_change>> host_stack::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_stack>(*this, c);
    if (auto done = ready->get_ready(c); !done) return tl::unexpected<error>(done.error());
    return ready;
}

void host_stack::deliver(owned_mbuf p, uint64_t now_ms) noexcept {
    const auto at = taps_.find(p.about().in_interface);
    if (at == taps_.end()) return p.drop(drop_reason::host_if_refused);
    if (!at->second->limits.allow(p.about().of, now_ms)) return p.drop(drop_reason::host_if_rate);
    deliver_to(*at->second, std::move(p));
}

void host_stack::deliver_alert(owned_mbuf p, uint64_t now_ms) noexcept {
    const auto at = taps_.find(p.about().in_interface);
    if (at == taps_.end()) return p.drop(drop_reason::host_if_refused);
    if (!at->second->limits.allow_alert(now_ms)) return p.drop(drop_reason::host_if_rate);
    deliver_to(*at->second, std::move(p));
}

void host_stack::deliver_to(attached& a, owned_mbuf p) noexcept {
    std::array<iovec, 64> parts;
    size_t n = 0;
    for (rte_mbuf* m = p.get(); m != nullptr && n < parts.size(); m = m->next)
        parts[n++] = {rte_pktmbuf_mtod(m, void*), m->data_len};
    if (p.get()->nb_segs > parts.size() || !a.device.write(std::span(parts).first(n)))
        return p.drop(drop_reason::host_if_refused);
    a.counted.given.add(1);
    p.consume();
}

void host_stack::receive_frames(uint16_t ifindex, attached& a) {
    const datapath::interface& by =
        s_.published.load(std::memory_order_relaxed)->interfaces[ifindex];
    // A device is opened for packets in several segments only where its port's MTU needs them; the TAP's MTU may
    // be longer.
    const size_t longest =
        std::max<size_t>(s_.out.segment_bytes(),
                         sizeof(packet::ethernet_header) + 2 * sizeof(packet::vlan_tag) + by.mtu);
    for (unsigned n = 0; n < max_frames; ++n) {
        const size_t bytes = a.device.read(frame_);
        if (bytes == 0) return;
        rte_mbuf* m = bytes < sizeof(packet::ethernet_header) || bytes > longest
                          ? nullptr
                          : s_.out.originate(by.port, std::span(frame_).first(bytes));
        if (m == nullptr) {
            a.counted.not_taken.add(1);
            continue;
        }
        a.counted.taken.add(1);
        s_.out.send(m, by.out());
    }
}

void host_stack::learn(uint64_t now_ms) {
    to_learn_ = true;
    if (now_ms < next_learn_ms_) return;
    const auto learnt = s_.learn(learned());
    to_learn_ = !learnt || !*learnt;
    if (learnt) {
        if (*learnt) learn_failure_.clear();
        return;
    }
    next_learn_ms_ = now_ms + learn_again_ms;
    std::string failure = learnt.error().message();
    if (failure != learn_failure_)
        log_failure("the kernel's changes cannot be applied", learnt.error());
    learn_failure_ = std::move(failure);
}

void host_stack::exchange_frames() {
    if (netns_ == nullptr) return;
    std::array<epoll_event, 64> events;
    const int n = ::epoll_wait(ready_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < n; ++i) {
        const auto ifindex = static_cast<uint16_t>(events[static_cast<size_t>(i)].data.u64);
        if (const auto at = taps_.find(ifindex); at != taps_.end())
            receive_frames(ifindex, *at->second);
    }
}

void host_stack::tick(uint64_t now_ms) {
    if (netns_ == nullptr) return;
    maintain(now_ms);
    exchange_frames();
    const bool is_due = now_ms >= next_follow_ms_;
    if (!is_due && !netns_->follower->has_more()) return;
    to_learn_ |= netns_->follower->follow(now_ms);
    if (!is_due) return;
    next_follow_ms_ = now_ms + follow_ms;
    poll_admin_status(now_ms);
    if (to_learn_ && netns_->follower->has_learned()) learn(now_ms);
}

std::map<uint16_t, observe::host_interface_report> host_stack::shown() const {
    std::map<uint16_t, observe::host_interface_report> out;
    for (const auto& [ifindex, a] : taps_)
        out[ifindex] = {.index = a->device.index(),
                        .admin_up = !a->admin_down,
                        .carrier = a->carrier,
                        .life = a->life,
                        .to_kernel = a->counted.given.read(),
                        .from_kernel = a->counted.taken.read(),
                        .lost = a->counted.not_taken.read()};
    return out;
}

const netlink_monitor* host_stack::follower() const noexcept {
    return netns_ == nullptr ? nullptr : netns_->follower.get();
}

}  // namespace turnpike::control
