// SPDX-License-Identifier: BSD-3-Clause
// A line-based UNIX stream socket: a client receives a greeting, then one answer line per request line,
// in order. Memory is bounded regardless of clients; no thread, and no client blocks.
//
//   client --lines--> in (one line, at most) --answer()--> out (one answer) --> client
//                     not read while a line is pending     no further answer until it is sent
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.hpp"
#include "base/result.hpp"
#include "sources/socket_file.hpp"

namespace turnpike::sources {

/// Credentials of the peer at the time of connection (SO_PEERCRED, SO_PEERGROUPS).
struct socket_peer {
    static constexpr unsigned nobody = 65534;  ///< overflow UID: an unknown user
    int pid = 0;
    unsigned uid = nobody, gid = nobody;
    uint64_t connection = 0;         ///< unique number
    std::vector<unsigned> groups{};  ///< supplementary groups
    /// A descriptor that came with the request (SCM_RIGHTS), valid during answer(); -1: none.
    int descriptor = -1;
};

/// A descriptor of a client (SCM_RIGHTS). Its destruction does not wait: close() of a socket with SO_LINGER would, until the
/// other end has acknowledged all data.
class passed_fd {
  public:
    passed_fd() = default;
    explicit passed_fd(int fd) noexcept : fd_(fd) {}
    passed_fd(passed_fd&& other) noexcept = default;
    passed_fd& operator=(passed_fd&& other) noexcept {
        reset();
        fd_ = std::move(other.fd_);
        return *this;
    }
    ~passed_fd() { reset(); }
    [[nodiscard]] int get() const noexcept { return fd_.get(); }
    void reset() noexcept;

  private:
    owned_fd fd_{};
};

struct socket_limits {
    size_t line_bytes = 1u << 20;
    size_t clients = 64;
    std::chrono::milliseconds patience{10'000};  ///< timeout for sending an answer
};

/// Threads  one: the caller of serve().
class line_socket {
  public:
    /// Returns the answer to a line, both without line ends; an exception closes the connection.
    using answer_function =
        std::function<std::string(std::string_view line, const socket_peer& from)>;
    struct dependencies {
        std::string greeting{};
        answer_function answer{};
        /// Formats an error outside of a request: the reason of a refused or closed connection.
        std::function<std::string(const error&)> refusal{};
        /// Called when a client that sent a request is gone; may be empty.
        std::function<void(const socket_peer&)> gone{};
        /// Logs closed connections, at most one line per second, and a shortage that keeps connections from being accepted, once.
        std::function<void(const std::string&)> log{};
    };

    explicit line_socket(dependencies s, const socket_limits& l = {});
    /// Removes the socket's file; pending answers are discarded.
    ~line_socket();
    line_socket(const line_socket&) = delete;
    line_socket& operator=(const line_socket&) = delete;

    /// Listens on a path that does not exist, or whose process is gone; mode 0660 from creation.
    /// group, owner  its group and owner, by name or number; empty: the process's
    /// Errors  EADDRINUSE: a process listens there; EEXIST: not a socket; ENOENT: no such folder, group...
    [[nodiscard]] result<void> listen(const std::string& path, const std::string& group,
                                      const std::string& owner = {});
    /// The listener, for setting its folder ownership or owner.
    [[nodiscard]] listener& listening() noexcept { return listening_; }
    /// Prepares a change to another listener.
    /// Errors  from epoll
    [[nodiscard]] result<void> get_ready(const listener& next);
    /// Switches to a prepared listener and removes the old one's file. Pending connections of the old one are
    /// accepted, and existing clients stay.
    void listen_by(listener next) noexcept;
    [[nodiscard]] bool listens() const noexcept { return listening_.fd() >= 0; }
    /// Adds an existing connection as a client.
    void adopt(owned_fd connection);

    /// Receives from and sends to clients; answers at most one line.
    /// wait  longest wait for a client
    void serve(std::chrono::milliseconds wait = {}) noexcept;

    [[nodiscard]] size_t clients() const noexcept { return clients_.size(); }

  private:
    using clock = std::chrono::steady_clock;
    struct passed {
        size_t line;  ///< start of the line in `in`
        passed_fd fd;
    };
    struct client {
        owned_fd fd{};
        socket_peer who{};
        std::string in{}, out{};
        size_t begin = 0;      ///< start of the unanswered part of `in`
        size_t searched = 0;   ///< position up to which no line end was found
        size_t written = 0;    ///< bytes of `out` sent
        bool ended = false;    ///< the client has shut down its sending side
        bool asked = false;    ///< has sent a request
        bool closing = false;  ///< close after `out` is sent
        uint32_t awaited = 0;  ///< epoll events
        clock::time_point heard{}, moved{};
        std::vector<passed> descriptors{};  ///< of pending lines, at most one of each

        [[nodiscard]] bool has_line() noexcept;
        [[nodiscard]] std::string_view line() const noexcept;
        void add_descriptor(passed_fd received);
        /// Answers  the descriptor of the line; -1: none
        [[nodiscard]] int descriptor() const noexcept;
        void line_done() noexcept;
    };
    using client_list = std::list<client>;

    void poll(std::chrono::milliseconds wait);
    [[nodiscard]] client_list::iterator next_asked() noexcept;
    /// Returns whether more may be pending.
    bool accept_some();
    void pause_accept(int why);
    bool await_connections(bool on) noexcept;
    bool make_room();
    bool receive_from(client& c);
    bool speak(client& c);
    bool settle(client& c);
    void answer_one();
    void drop(client_list::iterator c, const char* why);
    void refuse(const owned_fd& fd, const error& why) const;
    void log_disconnect(const std::string& why);
    client_list::iterator find(const client* c);

    dependencies around_;
    socket_limits limits_;
    owned_fd epoll_{};
    listener listening_{};
    client_list clients_{};  ///< the next one to be answered is first
    clock::time_point now_{}, logged_at_{};
    clock::time_point pause_end_{};  ///< of a pause in accepting connections; zero: there is none
    bool no_connections_ = false;    ///< since the last one was accepted; logged
    uint64_t unlogged_ = 0, connections_ = 0;
    std::string unsaid_why_{};  ///< of the last suppressed line
};

}  // namespace turnpike::sources
