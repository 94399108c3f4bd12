// SPDX-License-Identifier: BSD-3-Clause
// A mirror as plain data: frames of some ports, or of a bridge, are copied to another port (SPAN), with a VLAN tag on request
// (RSPAN), or to an address, in GRE (ERSPAN) or, with a VNI, in VXLAN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/ip.hpp"
#include "state/origin.hpp"

namespace turnpike::state {

struct configuration;

inline constexpr size_t max_mirrors = 64;

struct mirror {
    std::vector<std::string> ports{};     ///< names of the mirrored ports; or empty
    std::string bridge{};                 ///< the mirrored bridge; or empty
    bool in = true, out = true;           ///< directions
    std::optional<uint16_t> vlan{};       ///< only frames with this outer VLAN ID
    std::string list{};                   ///< only frames that this ACL permits; empty: all
    uint32_t sample = 1;                  ///< copy one frame of so many
    std::optional<uint32_t> max_bytes{};  ///< copies are cut to this length
    std::string to{};                     ///< destination port; or empty
    std::optional<uint16_t> to_vlan{};    ///< VLAN ID of a tag in front of each copy
    std::optional<ip_address> remote{};   ///< destination address, in GRE or VXLAN
    std::optional<ip_address> local{};    ///< with remote: source address
    std::string vrf{};                    ///< VRF of these packets; empty: main
    uint16_t session = 0;                 ///< ERSPAN session ID
    uint16_t erspan_type = 2;             ///< 2 or 3
    std::optional<uint32_t> vni{};        ///< VXLAN in place of ERSPAN
    uint16_t udp_port = 4789;             ///< with vni: destination port
    origin where{};
    bool operator==(const mirror&) const = default;
};

/// Rules of all mirrors: their ports, bridges, lists, VRFs and addresses exist, and no port is mirrored to itself.
/// Errors  EINVAL, with the mirror's place
[[nodiscard]] result<void> check_mirrors(const configuration& in);

}  // namespace turnpike::state
