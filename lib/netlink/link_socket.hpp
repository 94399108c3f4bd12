// SPDX-License-Identifier: BSD-3-Clause
// The kernel's rtnetlink: listen to what changes, ask for what there is, and set links and addresses.
// A socket belongs to the network namespace of the thread that opened it (namespace.hpp).
#pragma once

#include <span>
#include <vector>

#include "base/owned_fd.hpp"
#include "base/result.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

struct nlmsghdr;

namespace turnpike::netlink {

/// Threads  one at a time.
class link_socket {
  public:
    link_socket() = default;
    /// groups         RTNLGRP_*: what to be told of
    /// receive_bytes  what the kernel keeps for us; less where it permits only that
    /// Errors         EPERM, ENOBUFS, ...
    [[nodiscard]] static result<link_socket> open(std::span<const unsigned> groups,
                                                  unsigned receive_bytes);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// One datagram, whole messages. Answers 0 where there is none now.
    /// Errors  ENOBUFS: some were lost
    [[nodiscard]] result<size_t> receive(std::span<uint8_t> into) noexcept;
    /// Room that holds any datagram of the kernel's.
    static constexpr size_t datagram_bytes = 64 * 1024;

    /// Ask for all that there is of a kind: RTM_GETLINK, RTM_GETROUTE, ... The answer comes by receive(), its
    /// messages with this sequence number, and `done` at its end.
    /// family  AF_UNSPEC: all
    [[nodiscard]] result<uint32_t> ask(uint16_t type, uint8_t family);

    // Done, or refused, when they return. For sockets that listen to no groups.
    struct link_settings {
        mac_address mac{};
        uint32_t mtu = 0;
        bool up = false;
    };
    [[nodiscard]] result<void> set_link(uint32_t index, const link_settings& to);
    /// What its carrier has just become, told to whoever listens at once. (The kernel tells of a carrier that is
    /// lost once a second at most: net/core/link_watch.c.)
    [[nodiscard]] result<void> tell_carrier(uint32_t index, bool on);
    /// Errors  none where it is there already
    [[nodiscard]] result<void> add_address(uint32_t index, const ip_prefix& a);
    /// Errors  none where it is not there
    [[nodiscard]] result<void> remove_address(uint32_t index, const ip_prefix& a);

  private:
    [[nodiscard]] result<void> request(nlmsghdr* m);
    [[nodiscard]] result<void> change_address(uint16_t type, uint32_t index, const ip_prefix& a);

    owned_fd fd_{};
    uint32_t sequence_ = 0;
};

}  // namespace turnpike::netlink
