// SPDX-License-Identifier: BSD-3-Clause
// Mirrors the routing state of a network namespace by netlink: a complete dump first, then events; and a new dump,
// beside the current mirror, after events may have been lost. Learned state changes only when the new mirror
// is complete, so the comparison is between two complete states.
//
//   start, ENOBUFS, error --> dump: links, addresses, neighbours, next hops, routes --> complete --> events --> ...
#pragma once

#include <optional>

#include "netlink/link_socket.hpp"
#include "sources/netlink_rib.hpp"

namespace turnpike::control {

/// Threads  control. Does not block.
class netlink_monitor {
  public:
    /// socket  subscribed to groups()
    netlink_monitor(netlink::link_socket socket, sources::netlink_rib::followed ours);
    [[nodiscard]] static std::span<const unsigned> groups() noexcept;

    void set_ours(sources::netlink_rib::followed ours);
    /// turnpike has deleted an address itself; the kernel's notification follows.
    void forget_address(uint32_t interface, const ip_prefix& a);
    /// Process queued messages, for a bounded time.
    /// Answers  whether the learned state has changed
    [[nodiscard]] bool follow(uint64_t now_ms);
    [[nodiscard]] const state::learned& learned() const noexcept { return known_.learned(); }
    [[nodiscard]] const sources::netlink_rib& known() const noexcept { return known_; }

    /// For operators.
    struct numbers {
        uint64_t messages = 0, refused = 0, overruns = 0, whole = 0;
        bool asking = true;
    };
    [[nodiscard]] numbers counted() const noexcept;

  private:
    void begin(uint64_t now_ms);
    void ask();
    void take(const netlink::message& m);
    void lost();

    netlink::link_socket socket_;
    sources::netlink_rib::followed ours_;
    sources::netlink_rib known_;
    std::optional<sources::netlink_rib> next_{};  ///< mirror under construction during a dump
    bool fresh_ = false;                          ///< known_ was just replaced
    size_t step_ = 0;
    uint32_t sequence_ = 0;
    bool interrupted_ = false;
    bool answered_ = false;  ///< the first reply of the dump has arrived
    uint64_t may_begin_ms_ = 0;
    numbers numbers_{};
    std::vector<uint8_t> buffer_;
};

}  // namespace turnpike::control
