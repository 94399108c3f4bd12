// SPDX-License-Identifier: BSD-3-Clause
// A tunnel as plain data: VXLAN (RFC 7348) between an address of ours and one remote endpoint, or from it to a group of
// them. Its interface has its name, and is a bridge's member as a port's is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/ip.hpp"
#include "packet/headers.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

inline constexpr uint32_t last_vni = 0xff'ffff;

struct tunnel {
    uint32_t vni = 0;
    ip_address local{}, remote{};
    std::string interface {};                ///< by which a group is reached and joined; else empty
    uint16_t udp_port = packet::vxlan_port;  ///< at both ends
    std::string vrf{};  ///< by whose routes its packets go; empty: the main ones
    uint16_t mtu = 0;   ///< bytes of layer 3 of a frame inside
    uint8_t ttl = 64;
    std::optional<uint8_t> dscp = 0;  ///< none: that of the packet inside
    bool dont_fragment = true;        ///< IPv4
    bool checksum = false;            ///< UDP's is sent; over IPv6 it is asked for, too
    bool ignore_reserved = false;     ///< of its header, as RFC 7348 says; else as Linux does
    origin where{};
    bool operator==(const tunnel&) const = default;

    [[nodiscard]] bool to_group() const noexcept { return remote.is_multicast(); }
    /// One endpoint of those that send and listen to a group: it gets by the group what is flooded.
    [[nodiscard]] bool is_behind(const tunnel& group) const noexcept {
        return group.to_group() && !to_group() && vni == group.vni && local == group.local &&
               udp_port == group.udp_port && vrf == group.vrf;
    }
    /// Ethernet's header inside, VXLAN's, UDP's, IP's.
    [[nodiscard]] uint16_t overhead() const noexcept { return local.v6 ? 70 : 50; }
};

}  // namespace turnpike::state
