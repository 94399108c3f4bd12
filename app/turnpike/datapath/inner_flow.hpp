// SPDX-License-Identifier: BSD-3-Clause
// The fields of an inner frame that the outer headers of VXLAN depend on.
#pragma once

#include <cstdint>

#include "packet/flow_hash.hpp"
#include "packet/headers.hpp"

struct rte_mbuf;

namespace turnpike::datapath {

struct inner_flow {
    uint8_t traffic_class = 0;
    uint16_t source_port = 0;                    ///< of UDP: entropy for ECMP (RFC 7348 section 5)
    uint32_t l2_bytes = packet::ethernet_bytes;  ///< with one VLAN tag, where there is any
};

/// The source port by a flow's hash.
inline uint16_t entropy_port(uint32_t hash) noexcept {
    constexpr uint16_t first = 49152;  // RFC 6335 section 6: dynamic ports
    return static_cast<uint16_t>(first | hash >> 18);
}

/// For any frame with an Ethernet header.
[[nodiscard]] inner_flow inner_flow_of(const rte_mbuf* m, const packet::flow_hashing& how) noexcept;

}  // namespace turnpike::datapath
