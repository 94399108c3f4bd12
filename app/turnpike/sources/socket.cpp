// SPDX-License-Identifier: BSD-3-Clause
#include "sources/socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace turnpike::sources {
namespace {

// Per call: a client delays the others no longer.
constexpr int max_events = 8;
constexpr int max_accepted = 8;
constexpr size_t read_bytes = 64 * 1024, write_bytes = 256 * 1024;

constexpr std::chrono::seconds between_lines{1};

/// Until the next attempt to accept a connection for which there was no descriptor or memory.
constexpr std::chrono::seconds accept_pause{1};

socket_peer peer_of(int fd) {
    socket_peer out;
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) {
        out.pid = who.pid;
        out.uid = who.uid;
        out.gid = who.gid;
    }
    size = 0;
    // Too short: the kernel returns the length, which is fixed.
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size) != 0 && errno == ERANGE) {
        out.groups.resize(size / sizeof out.groups[0]);
        if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, out.groups.data(), &size) != 0)
            out.groups.clear();
    }
    return out;
}

/// recv(), with the first descriptor of a message; others are closed. More than `room` are discarded by the kernel.
ssize_t receive(int fd, char* to, size_t n, passed_fd& passed) {
    constexpr size_t room = 4;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(room * sizeof(int))> control;
    iovec part{to, n};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return got;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int one = -1;
            std::memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
            passed_fd taken(one);
            if (i == 0) passed = std::move(taken);
        }
    }
    return got;
}

}  // namespace

void passed_fd::reset() noexcept {
    if (fd_.get() < 0) return;
    const linger off{};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &off, sizeof off);  // fails for files
    fd_.reset();
}

bool line_socket::client::has_line() noexcept {
    if (closing) return false;
    searched = std::min(in.find('\n', std::max(begin, searched)), in.size());
    return searched < in.size() || (ended && begin < in.size());
}

/// Requires has_line(): the last line may lack its line end.
std::string_view line_socket::client::line() const noexcept {
    return std::string_view(in).substr(begin, searched - begin);
}

/// A descriptor is of the last line that begins in the data with which it came: Linux appends a message with a descriptor to
/// the data before, and returns no further message with them (unix(7), unix_stream_read_generic()).
void line_socket::client::add_descriptor(passed_fd received) {
    const size_t last = in.find_last_not_of(" \t\r\n");  // blank lines are no requests
    const size_t start = last == in.npos ? 0 : in.rfind('\n', last) + 1;
    if (!descriptors.empty() && descriptors.back().line == start)
        descriptors.back().fd = std::move(received);
    else
        descriptors.push_back({start, std::move(received)});
}

int line_socket::client::descriptor() const noexcept {
    return descriptors.empty() || descriptors.front().line != begin ? -1
                                                                    : descriptors.front().fd.get();
}

void line_socket::client::line_done() noexcept {
    begin = searched = std::min(searched + 1, in.size());
    std::erase_if(descriptors, [this](const passed& one) { return one.line < begin; });
    if (begin < in.size()) return;
    begin = searched = 0;
    in.clear();
    if (in.capacity() > read_bytes) std::string().swap(in);
}

line_socket::line_socket(dependencies s, const socket_limits& l)
    : around_(std::move(s)), limits_(l), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_.get() < 0) throw std::runtime_error("no epoll for the control socket");
    around_.greeting += '\n';
}

line_socket::~line_socket() = default;

result<void> line_socket::listen(const std::string& path, const std::string& group,
                                 const std::string& owner) {
    auto made = listener::at(path, group, owner);
    if (!made) return tl::unexpected<error>(made.error());
    if (auto ready = get_ready(*made); !ready) return ready;
    listen_by(std::move(*made));
    return {};
}

result<void> line_socket::get_ready(const listener& next) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, next.fd(), &event) != 0)
        return fail(errno, next.path(), "cannot be listened to");
    return {};
}

void line_socket::listen_by(listener next) noexcept {
    try {
        while (listens() && accept_some()) {
        }
    } catch (const std::exception&) {  // no memory: the connection is closed
    }
    std::swap(listening_, next);
    pause_end_ = {};  // epoll has the new one's events
}

void line_socket::serve(std::chrono::milliseconds wait) noexcept {
    try {
        poll(next_asked() == clients_.end() ? wait : std::chrono::milliseconds(0));
        answer_one();
    } catch (const std::exception&) {  // no memory: level-triggered events are repeated
    }
}

void line_socket::poll(std::chrono::milliseconds wait) {
    std::array<epoll_event, max_events> events;
    const int n =
        ::epoll_wait(epoll_.get(), events.data(), max_events, static_cast<int>(wait.count()));
    const bool is_paused = pause_end_ != clock::time_point{};
    if (n <= 0 && clients_.empty() && unlogged_ == 0 && !is_paused) return;
    now_ = clock::now();
    if (is_paused && now_ >= pause_end_ && await_connections(true)) pause_end_ = {};
    if (unlogged_ != 0 && now_ - logged_at_ >= between_lines) {
        --unlogged_;
        log_disconnect(std::exchange(unsaid_why_, {}));
    }
    for (int i = 0; i < n; ++i) {
        auto* c = static_cast<client*>(events[static_cast<size_t>(i)].data.ptr);
        if (c == nullptr) continue;  // after the events of existing clients
        const uint32_t happened = events[static_cast<size_t>(i)].events;
        bool stays = false;
        try {
            stays = ((happened & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || receive_from(*c)) &&
                    ((happened & EPOLLOUT) == 0 || speak(*c)) && settle(*c);
        } catch (const std::exception&) {  // no memory for its data
        }
        if (!stays) drop(find(c), nullptr);
    }
    for (auto c = clients_.begin(); c != clients_.end();) {
        const auto one = c++;
        if (!one->out.empty() && now_ - one->moved > limits_.patience)
            drop(one, "does not read its answers");
    }
    for (int i = 0; i < n; ++i)
        if (events[static_cast<size_t>(i)].data.ptr == nullptr) accept_some();
}

bool line_socket::accept_some() {
    for (int i = 0; i < max_accepted; ++i) {
        owned_fd fd(::accept4(listening_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd.get() < 0) {
            pause_accept(errno);
            return false;
        }
        no_connections_ = false;
        adopt(std::move(fd));
    }
    return true;
}

/// Stops listening for a while if accept4() lacks descriptors or memory: the connection stays pending, and its level-triggered
/// event would be repeated at once.
void line_socket::pause_accept(int why) {
    constexpr int shortages[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    if (std::find(std::begin(shortages), std::end(shortages), why) == std::end(shortages)) return;
    if (await_connections(false)) pause_end_ = clock::now() + accept_pause;
    if (std::exchange(no_connections_, true)) return;
    around_.log(std::string("control socket: no connection can be accepted: ") +
                std::strerror(why));
}

bool line_socket::await_connections(bool on) noexcept {
    epoll_event event{.events = on ? uint32_t{EPOLLIN} : 0U, .data = {.ptr = nullptr}};
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listening_.fd(), &event) == 0;
}

/// Closes the client that has been idle for the longest to accept a new one, so that idle clients do not block
/// others. Clients without any request go first, so that a flood of connections does not displace an operator.
bool line_socket::make_room() {
    if (clients_.size() < limits_.clients) return true;
    auto idle = clients_.end();
    for (auto c = clients_.begin(); c != clients_.end(); ++c)
        if (!c->has_line() && c->out.empty() &&
            (idle == clients_.end() ||
             std::pair(c->asked, c->heard) < std::pair(idle->asked, idle->heard)))
            idle = c;
    if (idle == clients_.end()) return false;
    refuse(idle->fd, {EBUSY, {}, "there are too many clients, and this one was idle the longest"});
    drop(idle, "was idle the longest of too many");
    return true;
}

void line_socket::adopt(owned_fd connection) {
    now_ = clock::now();
    if (!make_room()) {
        refuse(connection,
               {EBUSY, {}, "there are too many clients, and all of them wait for answers"});
        log_disconnect("one more is refused: all have asked something");
        return;
    }
    client& c = clients_.emplace_back();
    c.fd = std::move(connection);
    c.heard = c.moved = now_;
    c.who = peer_of(c.fd.get());
    c.who.connection = ++connections_;
    epoll_event event{.events = 0, .data = {.ptr = &c}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, c.fd.get(), &event) != 0)
        return drop(find(&c), nullptr);
    c.out = around_.greeting;
    if (!speak(c) || !settle(c)) drop(find(&c), nullptr);
}

/// Receives from a client. Returns false if it is gone.
bool line_socket::receive_from(client& c) {
    if (c.ended || c.closing || c.has_line()) return true;  // a line is still pending
    if (c.begin != 0) {
        c.in.erase(0, c.begin);
        c.searched -= c.begin;
        for (passed& one : c.descriptors) one.line -= c.begin;
        c.begin = 0;
    }
    const size_t had = c.in.size();
    c.in.resize(had + read_bytes);
    passed_fd received;
    const ssize_t n = receive(c.fd.get(), c.in.data() + had, read_bytes, received);
    const int why = errno;
    c.in.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (received.get() >= 0) c.add_descriptor(std::move(received));
    if (n < 0) return why == EAGAIN || why == EINTR;
    c.ended = n == 0;
    c.heard = now_;
    const bool whole = c.has_line();
    if ((whole ? c.line().size() : c.in.size()) > limits_.line_bytes) {
        c.out += around_.refusal({EMSGSIZE,
                                  {},
                                  "the line is longer than " + std::to_string(limits_.line_bytes) +
                                      " bytes; the connection ends here"}) +
                 "\n";
        c.closing = true;
        log_disconnect("a line is too long");
        return speak(c);
    }
    return true;
}

/// Sends the pending answer. Returns false if the client is gone.
bool line_socket::speak(client& c) {
    const size_t until = std::min(c.out.size(), c.written + write_bytes);
    while (c.written < until) {
        const ssize_t n = ::send(c.fd.get(), c.out.data() + c.written, until - c.written,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        c.written += static_cast<size_t>(n);
        c.moved = now_;
    }
    if (c.written == c.out.size()) {
        c.out.clear();
        c.written = 0;
        if (c.out.capacity() > read_bytes) std::string().swap(c.out);
    }
    return true;
}

/// Updates the epoll events of a client. Returns false if the client is done.
bool line_socket::settle(client& c) {
    const bool waits = c.has_line();
    if (c.out.empty() && (c.closing || (c.ended && !waits))) return false;
    const uint32_t wanted = (c.out.empty() ? 0U : uint32_t{EPOLLOUT}) |
                            (waits || c.ended || c.closing ? 0U : uint32_t{EPOLLIN});
    if (wanted == c.awaited) return true;
    epoll_event event{.events = wanted, .data = {.ptr = &c}};
    c.awaited = wanted;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, c.fd.get(), &event) == 0;
}

line_socket::client_list::iterator line_socket::next_asked() noexcept {
    return std::find_if(clients_.begin(), clients_.end(),
                        [](client& c) { return c.out.empty() && c.has_line(); });
}

/// Round robin: an answered client moves to the end of the list.
void line_socket::answer_one() {
    const auto next = next_asked();
    if (next == clients_.end()) return;
    clients_.splice(clients_.end(), clients_, next);
    client& c = *next;
    bool stays = false;
    try {
        const std::string_view line = c.line();
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
            c.asked = true;
            c.who.descriptor = c.descriptor();
            c.out = around_.answer(line, c.who);
            c.who.descriptor = -1;
            c.out += '\n';
        }
        c.line_done();
        now_ = c.moved = clock::now();
        stays = speak(c) && settle(c);
    } catch (const std::exception&) {
    }
    if (!stays) drop(next, nullptr);
}

void line_socket::refuse(const owned_fd& fd, const error& why) const {
    const std::string text = around_.refusal(why) + "\n";
    // Best effort: the rest is dropped.
    (void)!::send(fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void line_socket::drop(client_list::iterator c, const char* why) {
    const int pid = c->who.pid;
    if (c->asked && around_.gone) around_.gone(c->who);
    clients_.erase(c);  // closing the descriptor removes it from epoll
    if (why != nullptr) log_disconnect("process " + std::to_string(pid) + " " + why);
}

void line_socket::log_disconnect(const std::string& why) {
    if (logged_at_ != clock::time_point{} && now_ - logged_at_ < between_lines) {
        ++unlogged_;
        unsaid_why_ = why;
        return;
    }
    around_.log("control socket: a client is disconnected: " + why +
                (unlogged_ == 0 ? "" : " (and " + std::to_string(unlogged_) + " more before)"));
    unlogged_ = 0;
    logged_at_ = now_;
}

line_socket::client_list::iterator line_socket::find(const client* c) {
    return std::find_if(clients_.begin(), clients_.end(), [c](const client& x) { return &x == c; });
}

}  // namespace turnpike::sources
