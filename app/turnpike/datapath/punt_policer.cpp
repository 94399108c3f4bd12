// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/punt_policer.hpp"

#include <new>

namespace turnpike::datapath {

punt_class punt_class_of(const burst& b, uint32_t i) noexcept {
    switch (b.punt[i]) {
        case punt_reason::arp:
        case punt_reason::nd:
        case punt_reason::neigh_suppress:
            return punt_class::neighbours;
        case punt_reason::local:
            return is_routing_protocol(b.parsed[i]) ? punt_class::routing : punt_class::local;
        case punt_reason::link_protocol:
            return is_is_is(packet::header_at<packet::ethernet_header>(
                                rte_pktmbuf_mtod(b.packet[i], const uint8_t*))
                                .destination)
                       ? punt_class::routing
                       : punt_class::other;
        case punt_reason::resolve:
            return punt_class::resolve;
        case punt_reason::icmp_error:
            return b.drop[i] == drop_reason::ipv4_too_big || b.drop[i] == drop_reason::ipv6_too_big
                       ? punt_class::too_big
                       : punt_class::icmp_error;
        case punt_reason::too_big:
            return punt_class::too_big;
        default:
            return punt_class::other;
    }
}

punt_policer::punt_policer()
    : rows_(static_cast<row*>(std::calloc(size_t{max_interfaces} * punt_classes, sizeof(row)))) {
    if (rows_ == nullptr) throw std::bad_alloc();
}

}  // namespace turnpike::datapath
