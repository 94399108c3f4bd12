// SPDX-License-Identifier: BSD-3-Clause
// A network interface by its name, as the kernel shows it: what it is now, and what is set of it.
// Source: netdevice(7), packet(7), linux/ethtool.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/owned_fd.hpp"
#include "base/result.hpp"
#include "packet/headers.hpp"

namespace turnpike::xsk {

struct interface_state {
    unsigned index = 0;    ///< 0: there is no such interface
    bool up = false;       ///< by its administrator
    bool running = false;  ///< up, and has a carrier
    uint32_t mtu = 0;
    packet::mac_address mac{};
    uint32_t rx_queues = 0, tx_queues = 0;
};

struct interface_speed {
    uint32_t mbps = 0;  ///< 0: it does not say
    bool full_duplex = true;
};

/// Threads  one at a time
class interface {
  public:
    /// In the network namespace of the calling thread; nothing else is looked up later.
    /// Errors  ENODEV: there is no such interface
    [[nodiscard]] static result<interface> open(const std::string& name);

    [[nodiscard]] interface_state look() const noexcept;
    [[nodiscard]] interface_speed speed() const noexcept;
    /// Of its driver: "veth", "ice".
    [[nodiscard]] std::string driver() const;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Errors  EPERM: names the capability; the kernel's
    [[nodiscard]] result<void> set_mtu(uint32_t mtu) const;
    [[nodiscard]] result<void> set_mac(const packet::mac_address& mac) const;

    /// What it receives beside its own address: forgotten by the kernel when this is gone, however it
    /// goes, and when the interface is.
    struct reception {
        bool promiscuous = false, all_multicast = false;
        std::vector<packet::mac_address> groups{};
    };
    /// Errors  EPERM: names the capability; the kernel's
    [[nodiscard]] result<void> receive(const reception& what);

  private:
    std::string name_{};
    owned_fd control_{};  ///< a socket of the namespace
    owned_fd members_{};  ///< a packet socket that receives nothing, only holds memberships
};

}  // namespace turnpike::xsk
