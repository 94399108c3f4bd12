// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/inner_flow.hpp"

#include <rte_mbuf.h>

#include <cstring>

#include "isa/crc32c.hpp"
#include "packet/ecn.hpp"

namespace turnpike::datapath {

inner_flow inner_flow_of(const rte_mbuf* m, const packet::flow_hashing& how) noexcept {
    inner_flow is;
    const auto* frame = rte_pktmbuf_mtod(m, const uint8_t*);
    const uint8_t* l3 = frame + packet::ethernet_bytes;
    uint16_t type = load_be<uint16_t>(l3 - 2);
    uint32_t there = m->data_len - packet::ethernet_bytes;
    if (packet::is_vlan_type(type)) [[unlikely]] {
        constexpr uint32_t tag_bytes = sizeof(packet::vlan_tag);
        is.l2_bytes += tag_bytes;
        for (int tags = 0; tags < 2 && packet::is_vlan_type(type) && there >= tag_bytes; ++tags) {
            l3 += tag_bytes;
            there -= tag_bytes;
            type = load_be<uint16_t>(l3 - 2);
        }
    }
    const bool v4 =
        type == packet::ether_type_ipv4 && there >= sizeof(packet::ipv4_header) && *l3 >> 4 == 4;
    const bool v6 =
        type == packet::ether_type_ipv6 && there >= sizeof(packet::ipv6_header) && *l3 >> 4 == 6;
    if (v4 || v6) {
        is.traffic_class = packet::traffic_class(l3, v4);
        is.source_port = entropy_port(packet::flow_hash(l3, there, how));
        return is;
    }
    uint64_t first;
    uint32_t rest;
    std::memcpy(&first, frame, sizeof first);
    std::memcpy(&rest, frame + sizeof first, sizeof rest);
    is.source_port = entropy_port(isa::crc32c(isa::crc32c(0, first), rest));
    return is;
}

}  // namespace turnpike::datapath
