// SPDX-License-Identifier: BSD-3-Clause
// A rtnetlink socket: receives notifications, requests dumps, configures links and addresses. It
// belongs to the network namespace of the thread that opened it (namespace.hpp).
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
    /// groups         RTNLGRP_*: multicast groups to join
    /// receive_bytes  receive buffer size; the kernel's limit applies without CAP_NET_ADMIN
    /// Errors         EPERM, ENOBUFS, ...
    [[nodiscard]] static result<link_socket> open(std::span<const unsigned> groups,
                                                  unsigned receive_bytes);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// The socket's netlink port ID: `requester` of replies and of notifications that its requests cause.
    [[nodiscard]] uint32_t port_id() const noexcept { return port_id_; }
    /// Receive one datagram of whole messages. Returns 0 if none is queued.
    ///
    /// Errors  ENOBUFS: messages were lost
    [[nodiscard]] result<size_t> receive(std::span<uint8_t> into) noexcept;
    /// Fits any datagram from the kernel.
    static constexpr size_t datagram_bytes = 64 * 1024;

    /// Request a dump: RTM_GETLINK, RTM_GETROUTE, ... receive() returns the reply; its messages
    /// have the returned sequence number and our port ID, and end with `done`.
    ///
    /// family  AF_UNSPEC: all
    /// of      routes: the table; addresses and neighbours: the interface; 0: all. A kernel without
    ///         NETLINK_GET_STRICT_CHK (before Linux 4.20) replies with all
    /// by      only routes with this egress interface; 0: all
    [[nodiscard]] result<uint32_t> ask(uint16_t type, uint8_t family, uint32_t of = 0,
                                       uint32_t by = 0);

    // The requests are complete, or refused, on return. Use them on a socket without multicast
    // groups.
    struct link_settings {
        mac_address mac{};
        uint32_t mtu = 0;  ///< 0: set_link() does not change it
        bool up = false;
        bool operator==(const link_settings&) const = default;
    };
    /// keeps_status  the interface stays up or down as it is
    [[nodiscard]] result<void> set_link(uint32_t index, const link_settings& to,
                                        bool keeps_status = false);
    /// Set the interface's operational state, which the kernel notifies at once. (It delays its own
    /// notification of a lost carrier by up to a second: net/core/link_watch.c.)
    [[nodiscard]] result<void> set_carrier(uint32_t index, bool on);
    /// Errors  none if the address exists already
    [[nodiscard]] result<void> add_address(uint32_t index, const ip_prefix& a);
    /// Errors  none if the address does not exist
    [[nodiscard]] result<void> remove_address(uint32_t index, const ip_prefix& a);

  private:
    [[nodiscard]] result<void> request(nlmsghdr* m);
    [[nodiscard]] result<void> change_address(uint16_t type, uint32_t index, const ip_prefix& a);

    owned_fd fd_{};
    uint32_t port_id_ = 0;
    uint32_t sequence_ = 0;
};

}  // namespace turnpike::netlink
