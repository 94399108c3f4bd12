// SPDX-License-Identifier: BSD-3-Clause
// Frames to reserved group addresses (IEEE 802.1Q-2018 table 8-1) that a bridge punts instead of
// forwarding: LLDP, LACP, spanning tree. turnpike implements none of these; it records their senders, which shows
// operators the device at the other end of a cable.
#pragma once

#include <map>
#include <utility>

#include "control/slow_path/slow_path_context.hpp"
#include "observe/report.hpp"

namespace turnpike::control::slow_path {

class reserved : public handler {
  public:
    using handler::handler;
    void handle(owned_mbuf p) override;
    /// Forget the senders at interfaces that are no bridge ports any more, before their indices are reused.
    void forget_gone() noexcept;

    /// The last frame of a kind on a member.
    struct heard {
        mac_address from{};
        uint64_t frames = 0, at_ms = 0;
        uint64_t life = observe::new_life();  ///< counter epoch of `frames`
    };
    /// By the member's index and the group's last byte.
    using all = std::map<std::pair<uint16_t, uint8_t>, heard>;
    [[nodiscard]] const all& known() const noexcept { return known_; }

  private:
    all known_;
};

}  // namespace turnpike::control::slow_path
