// SPDX-License-Identifier: BSD-3-Clause
// A tunnel as plain data: VXLAN (RFC 7348) from a local address to one remote VTEP, or to a multicast group of
// VTEPs. Its interface has the tunnel's name, and is used as a bridge port.
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
    std::string interface {};                ///< on which a multicast group is joined; else empty
    uint16_t udp_port = packet::vxlan_port;  ///< destination port in both directions
    std::string vrf{};                       ///< VRF of the underlay; empty: main
    uint16_t mtu = 0;                        ///< layer 3 MTU of inner frames
    uint8_t ttl = 64;
    std::optional<uint8_t> dscp = 0;  ///< none: copied from the inner packet
    bool dont_fragment = true;        ///< IPv4
    bool checksum = false;            ///< send UDP checksums; over IPv6 also require them
    bool ignore_reserved =
        false;  ///< ignore reserved header bits, as RFC 7348; else drop, as Linux
    origin where{};
    bool operator==(const tunnel&) const = default;

    [[nodiscard]] bool to_group() const noexcept { return remote.is_multicast(); }
    /// Whether this unicast tunnel's VTEP is a member of the group, and gets flooded frames through it.
    [[nodiscard]] bool is_behind(const tunnel& group) const noexcept {
        return group.to_group() && !to_group() && vni == group.vni && local == group.local &&
               udp_port == group.udp_port && vrf == group.vrf;
    }
    /// Inner Ethernet, VXLAN, UDP and IP headers.
    [[nodiscard]] uint16_t overhead() const noexcept { return local.v6 ? 70 : 50; }
};

}  // namespace turnpike::state
