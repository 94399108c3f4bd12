// SPDX-License-Identifier: BSD-3-Clause
// A UNIX stream socket of lines: who connects is greeted with one, each line asked is answered with one,
// in order. Bounded whatever clients do; no thread of its own, and nothing here waits.
//
//   client --lines--> in (one line, at most) --answer()--> out (one answer) --> client
//                     not read from while a line waits     not asked again until it is taken
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.hpp"
#include "base/result.hpp"
#include "sources/socket_file.hpp"

namespace turnpike::sources {

/// Who is at the other end (SO_PEERCRED, SO_PEERGROUPS: when it connected).
struct socket_peer {
    static constexpr unsigned nobody = 65534;  ///< the kernel's number of an unknown user
    int pid = 0;
    unsigned uid = nobody, gid = nobody;
    uint64_t connection = 0;         ///< another one's number is another
    std::vector<unsigned> groups{};  ///< beside gid
};

struct socket_limits {
    size_t line_bytes = 1u << 20;
    size_t clients = 64;
    std::chrono::milliseconds patience{10'000};  ///< that an answer waits for its reader
};

/// Threads  one: whoever calls serve().
class line_socket {
  public:
    /// The answer to a line, both without their ends; what it throws ends that client.
    using answer_function =
        std::function<std::string(std::string_view line, const socket_peer& from)>;
    struct surroundings {
        std::string greeting{};
        answer_function answer{};
        /// An answer that is not to a line: why a client is refused or let go.
        std::function<std::string(const error&)> refusal{};
        /// A client whose line was answered is no more; may be empty.
        std::function<void(const socket_peer&)> gone{};
        /// A line for the log: clients that were let go, at most one a second.
        std::function<void(const std::string&)> say{};
    };

    explicit line_socket(surroundings s, const socket_limits& l = {});
    /// The socket's file goes; what clients have not been told, they are not.
    ~line_socket();
    line_socket(const line_socket&) = delete;
    line_socket& operator=(const line_socket&) = delete;

    /// Listen at a path that did not exist, or whose process is gone; mode 0660 from the first moment.
    /// group, owner  its group and owner, by name or number; empty: the process's
    /// Errors  EADDRINUSE: somebody listens there; EEXIST: no socket; ENOENT: the folder, the group...
    [[nodiscard]] result<void> listen(const std::string& path, const std::string& group,
                                      const std::string& owner = {});
    /// Where it listens; to be told of its folder or its owner.
    [[nodiscard]] listener& place() noexcept { return listening_; }
    /// Ready to listen by another one.
    /// Errors  of epoll
    [[nodiscard]] result<void> get_ready(const listener& next);
    /// Listen by one that is ready, and no more by that before, whose file goes. Whoever connected there is a
    /// client, and those that are stay.
    void listen_by(listener next) noexcept;
    [[nodiscard]] bool listens() const noexcept { return listening_.fd() >= 0; }
    /// A connection that is there already becomes a client.
    void adopt(owned_fd connection);

    /// What clients sent and what they can take; answers one line at most. Never waits.
    void serve() noexcept;

    [[nodiscard]] size_t clients() const noexcept { return clients_.size(); }

  private:
    using clock = std::chrono::steady_clock;
    struct client {
        owned_fd fd{};
        socket_peer who{};
        std::string in{}, out{};
        size_t begin = 0;      ///< of what in `in` is not answered
        size_t searched = 0;   ///< no end of a line before here
        size_t written = 0;    ///< of out
        bool ended = false;    ///< it sends no more
        bool asked = false;    ///< ever
        bool closing = false;  ///< it goes when it has taken `out`
        uint32_t awaited = 0;  ///< epoll events
        clock::time_point heard{}, moved{};

        [[nodiscard]] bool has_line() noexcept;
        [[nodiscard]] std::string_view line() const noexcept;
        void line_done() noexcept;
    };
    using client_list = std::list<client>;

    void look();
    /// Whether there may be more.
    bool accept_some();
    bool make_room();
    bool hear(client& c);
    bool speak(client& c);
    bool settle(client& c);
    void answer_one();
    void drop(client_list::iterator c, const char* why);
    void refuse(const owned_fd& fd, const error& why) const;
    void let_go(const std::string& why);
    client_list::iterator find(const client* c);

    surroundings around_;
    socket_limits limits_;
    owned_fd epoll_{};
    listener listening_{};
    client_list clients_{};  ///< the next to be answered first
    clock::time_point now_{}, said_{};
    uint64_t unsaid_ = 0, connections_ = 0;
    std::string unsaid_why_{};  ///< the last one's
};

}  // namespace turnpike::sources
