// SPDX-License-Identifier: BSD-3-Clause
// Follows the routing state of a network namespace by netlink: notifications, and dumps of objects whose notifications may have been lost.
//
//   start, ENOBUFS --> a dump of each part: links, addresses, neighbours, next hops, the routes of each table
//   an ambiguous notification, a new VRF --> a dump of the routes of its table
//   a new mirrored interface --> a dump of its addresses and neighbours
//
// When a link goes down, the kernel notifies of the link, and then flushes IPv4 routes without a notification; dumps list
// them until it is done. It holds its RTNL lock meanwhile, and for each part of a reply about links. Routes are therefore
// asked for after a reply about links without such a change, and again if there was one before their reply is complete.
//
// One dump is in progress at a time. Its replies are compared with the RIB (sources/netlink_rib.hpp), which notifications
// change meanwhile. A call takes at most 1 ms, beside one datagram.
//
// The kernel makes the parts of a reply while the socket is read, before Linux 6.9 all of them under its RTNL lock, which
// any program may hold for seconds. Another thread thus reads the socket while a dump is in progress (`socket_read`), and
// control takes the datagrams in their order.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "netlink/link_socket.hpp"
#include "observe/log.hpp"
#include "observe/report.hpp"
#include "sources/netlink_rib.hpp"

namespace turnpike::control {

/// Threads  control, except read(). Does not block if another thread reads dumps; else requests and replies of dumps may,
/// and so may the rest of a reply after a lack of memory.
class netlink_monitor {
  public:
    using clock = std::function<uint64_t()>;  ///< nanoseconds
    static constexpr uint64_t budget_ns = 1'000'000;

    /// socket  subscribed to groups()
    netlink_monitor(netlink::link_socket socket, sources::netlink_rib::followed ours,
                    clock now_ns = steady_ns);
    [[nodiscard]] static std::span<const unsigned> groups() noexcept;

    void set_ours(sources::netlink_rib::followed ours);
    /// turnpike has deleted an address itself; the kernel's notification follows.
    void forget_address(uint32_t interface, const ip_prefix& a);
    /// Process queued messages, for at most budget_ns.
    /// Answers  whether the learned state has changed. Out of memory: std::bad_alloc; all is dumped again
    [[nodiscard]] bool follow(uint64_t now_ms);
    /// Whether the last call of follow() ended by its budget, or datagrams were taken since.
    [[nodiscard]] bool has_more() const noexcept { return has_more_; }

    /// One use of the socket by another thread: requests a dump, if `asks`, and receives datagrams.
    struct socket_read {
        struct datagram {
            /// At this place notifications were lost, a datagram was received and not stored, which may have had the
            /// end of a reply, or the queue was empty.
            enum : uint8_t { messages, lost, not_stored, drained } is = messages;
            std::vector<uint8_t> bytes{};  ///< messages
        };
        /// Each notification is one datagram; the datagrams of a reply have up to 32 KiB.
        static constexpr size_t max_datagrams = 4096, max_bytes = 4U << 20;
        bool asks = false;
        uint16_t type = 0;
        uint8_t family = 0;
        uint32_t of = 0;

        bool is_done = false;  ///< read() was called
        std::optional<uint32_t> sequence{};
        std::vector<datagram> datagrams{};
    };
    /// Another thread is to read dumps from now on: follow() does not.
    void read_beside() noexcept { is_read_beside_ = true; }
    [[nodiscard]] bool wants_read(uint64_t now_ms) const noexcept;
    /// The next use of the socket by the other thread; none: nothing is to be read. Until adopt(), follow() leaves it alone.
    [[nodiscard]] std::optional<socket_read> plan_read(uint64_t now_ms);
    /// Threads  the other one, between plan_read() and adopt()
    void read(socket_read& r) noexcept;
    void adopt(socket_read&& r, uint64_t now_ms);
    /// A planned read is discarded.
    void forget_read() noexcept { is_being_read_ = false; }
    /// Number of messages about links of mirrored interfaces.
    [[nodiscard]] uint64_t link_messages() const noexcept { return link_messages_; }
    /// Whether learned() has all parts: else the last one that had counts.
    [[nodiscard]] bool has_learned() const noexcept { return has_all_ && !is_inconsistent_; }
    [[nodiscard]] const state::learned& learned() const noexcept { return known_.learned(); }
    [[nodiscard]] const sources::netlink_rib& known() const noexcept { return known_; }

    /// For operators.
    struct numbers {
        uint64_t messages = 0, refused = 0, overruns = 0;
        uint64_t whole = 0;  ///< dumps of all parts
        uint64_t parts = 0;  ///< dumps of one part
        bool asking = true;
        uint64_t life = 0;  ///< of the monitor
    };
    [[nodiscard]] numbers counted() const noexcept;

  private:
    using dump_part = sources::netlink_rib::dump_part;
    /// idle --> asked --> sweeping --> idle; asked --> idle where the part is asked again
    enum class phase : uint8_t { idle, asked, sweeping };

    static uint64_t steady_ns() noexcept;
    template <class Call>
    auto change_rib(const Call& call);
    void change_ours(sources::netlink_rib::followed ours);
    bool follow_messages(uint64_t now_ms);
    [[nodiscard]] bool consume_changed() noexcept;
    void want(const dump_part& p);
    void want_all();
    void want_routes(uint32_t table);
    [[nodiscard]] bool may_ask(uint64_t now_ms) const noexcept;
    [[nodiscard]] bool must_wait() const noexcept;
    [[nodiscard]] const dump_part& next_part();
    void asked(std::optional<uint32_t> sequence, uint64_t now_ms);
    void ask_next(uint64_t now_ms);
    void parse(std::span<const uint8_t> datagram);
    enum class next_datagram : uint8_t { parsed, lost, none, not_here };
    [[nodiscard]] next_datagram receive_datagram();
    void apply(const netlink::message& m);
    void end_reply(int code);
    void lose_reply();
    void end_part();
    void lost();

    netlink::link_socket socket_;
    sources::netlink_rib::followed ours_;
    sources::netlink_rib known_;
    clock now_ns_;
    std::vector<dump_part> pending_{};  ///< in order; the first one is in progress unless idle
    phase phase_ = phase::idle;
    uint32_t sequence_ = 0;
    bool interrupted_ = false;      ///< the part is to be asked again
    bool is_flushed_ = false;       ///< no change without notifications since a dump of links
    unsigned waits_ = 0;            ///< of the first part, for such a dump
    bool repeats_ = false;          ///< another reply to the first part counts with the last one
    bool all_again_ = false;        ///< notifications were lost: all parts are to be asked again
    bool is_drained_ = true;        ///< the queue was empty since notifications were lost
    bool is_whole_ = false;         ///< the wanted parts complete a dump of all parts
    bool is_inconsistent_ = false;  ///< the RIB: out of memory
    bool is_recreated_ = false;     ///< the RIB, since learned() was reported as changed
    bool has_all_ = false;          ///< all parts were dumped into the RIB
    bool has_more_ = false;
    bool is_read_beside_ = false;
    bool is_being_read_ = false;                ///< from plan_read() until adopt()
    std::deque<socket_read::datagram> read_{};  ///< to be taken before the socket is read again
    uint64_t may_ask_ms_ = 0, now_ms_ = 0;
    observe::log_rate_limit loss_lines_{"losses of netlink notifications"};
    observe::log_rate_limit refused_lines_{"malformed netlink messages"};
    numbers numbers_{.life = observe::new_life()};
    uint64_t link_messages_ = 0;
    std::vector<uint8_t> buffer_;
};

}  // namespace turnpike::control
