// SPDX-License-Identifier: BSD-3-Clause
// A network interface by name: its state in the kernel, and the settings that the driver changes.
//
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
    unsigned index = 0;     ///< 0: no such interface
    bool up = false;        ///< administratively up (IFF_UP)
    bool running = false;   ///< up, and has a carrier
    bool ethernet = false;  ///< its frames have an Ethernet header; those of lo do, too
    uint32_t mtu = 0;
    packet::mac_address mac{};
    uint32_t rx_queues = 0, tx_queues = 0;
};

struct interface_speed {
    uint32_t mbps = 0;  ///< 0: unknown
    bool full_duplex = true;
};

/// Threads  one at a time
class interface {
  public:
    /// Uses the network namespace of the calling thread, also for all later calls.
    ///
    /// Errors  ENODEV: no such interface
    [[nodiscard]] static result<interface> open(const std::string& name);

    /// The interface of that index in the same network namespace, whatever its name is now.
    ///
    /// Errors  ENODEV: there is none
    [[nodiscard]] result<interface> with_index(unsigned index) const;

    /// AF_XDP sockets and XDP programs name an interface by its index in the namespace of the calling thread, where that
    /// index may be another interface's.
    ///
    /// Errors  ENODEV: the calling thread is in another network namespace (known from Linux 5.14 on)
    [[nodiscard]] result<void> check_namespace() const;
    [[nodiscard]] interface_state state_now() const noexcept;
    [[nodiscard]] interface_speed speed() const noexcept;
    /// The interface's index; 0: there is none. Waits neither for RTNL nor for modprobe.
    [[nodiscard]] unsigned index_now() const noexcept;
    /// The name of its kernel driver: "veth", "ice".
    [[nodiscard]] std::string driver() const;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Errors  EPERM: names the capability; else the kernel's error
    [[nodiscard]] result<void> set_mtu(uint32_t mtu) const;
    [[nodiscard]] result<void> set_mac(const packet::mac_address& mac) const;

    /// Addresses to receive besides the interface's own. The kernel drops the memberships when this
    /// object's socket closes (also if the process is killed), or when the interface is removed.
    struct reception {
        bool promiscuous = false, all_multicast = false;
        std::vector<packet::mac_address> groups{};
    };
    /// Errors  EPERM: names the capability; else the kernel's error
    [[nodiscard]] result<void> receive(const reception& what);

  private:
    std::string name_{};
    owned_fd control_{};  ///< a socket in the network namespace
    owned_fd members_{};  ///< a packet socket that receives nothing and only holds memberships
};

}  // namespace turnpike::xsk
