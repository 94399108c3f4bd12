// SPDX-License-Identifier: BSD-3-Clause
#include "observe/sflow.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/byte_order.hpp"

namespace turnpike::observe::sflow {
namespace {

using datapath::drop_reason;

enum format : uint32_t { of_flow = 1, of_counters = 2, of_discard = 5 };
enum record : uint32_t { raw_header = 1, generic_counters = 1, port_name = 1005 };

constexpr uint32_t fcs_bytes = 4;

/// A code of sFlow for drop reasons.
struct discard_code {
    uint32_t code;
    std::initializer_list<drop_reason> reasons;
};

}  // namespace

uint32_t code_of(drop_reason why) noexcept {
    using enum drop_reason;
    static constexpr discard_code codes[] = {
        {0, {route_unreachable}},                                       // net_unreachable
        {2, {local_protocol}},                                          // protocol_unreachable
        {6, {no_route, originated_no_route}},                           // dst_net_unknown
        {5, {ipv4_source_routed}},                                      // src_route_failed
        {9, {route_prohibited}},                                        // dst_net_prohibited
        {257, {ipv4_ttl, ipv6_hop_limit}},                              // ttl_exceeded
        {258, {acl_deny, acl_deny_out, acl_l2_deny, acl_l2_deny_out}},  // acl
        {259,
         {tx_refused, punt_ring_full, inject_ring_full, fragment_memory, flood_memory,
          mirror_memory, control_memory}},  // no_buffer_space
        {261,
         {punt_rate, icmp_rate, bridge_storm_broadcast, bridge_storm_multicast,
          bridge_storm_unknown}},  // traffic_shaping
        {262,
         {ipv4_too_big, ipv6_too_big, bridge_too_big, tunnel_too_big,
          originated_too_big}},                      // pkt_too_big
        {263, {ether_source_group}},                 // src_mac_is_multicast
        {264, {vlan_on_routed_port, no_interface}},  // vlan_tag_mismatch
        {265, {bridge_vlan}},                        // ingress_vlan_filter
        {267, {flood_no_member}},                    // port_list_is_empty
        {268, {bridge_same_port}},                   // port_loopback_filter
        {269, {route_blackhole}},                    // blackhole_route
        {270, {ether_type_unknown}},                 // non_ip
        {271, {l2_multicast}},                       // uc_dip_over_mc_dmac
        {275,
         {ipv4_truncated, ipv4_version, ipv4_header_length, ipv4_total_length,
          ipv4_fragment_beyond_end, ipv4_checksum, ipv6_truncated,
          ipv6_version}},  // ip_header_corrupted
        {279,
         {neighbour_failed, neighbour_queue_full, neighbour_limit,
          pending_limit}},  // unresolved_neigh
        {281,
         {dst_mac_not_ours, bogon_destination, directed_broadcast,
          route_not_followed}},              // non_routable_packet
        {282, {ecn_decap, vxlan_checksum}},  // decap_error
        {307, {vxlan_truncated, vxlan_flags, vxlan_reserved, vxlan_inner_runt}},  // vxlan_parsing
        {288,
         {vxlan_unknown_vni, vxlan_unknown_vtep, tunnel_to_self,
          tunnel_no_headroom}},                                           // unknown_tunnel
        {291, {bridge_isolated}},                                         // mlag_port_isolation
        {294, {bridge_reserved}},                                         // dmac_is_reserved
        {297, {ipv4_source_is_destination, ipv6_source_is_destination}},  // sip_is_dip
        {299, {link_local, link_local_source}},                           // dip_is_link_local
        {302, {urpf}},                                          // uc_reverse_path_forwarding
        {304, {bridge_locked}},                                 // locked_port
        {309, {vlan_truncated, vlan_depth, vlan_id_reserved}},  // vlan_parsing
        {312, {arp_truncated, arp_format, arp_operation}},      // arp_parsing
        {357,
         {ipv6_jumbogram, ipv6_chain_truncated, ipv6_chain_long, ipv6_hop_by_hop_late,
          ipv6_routing_type_0, ipv6_fragment_twice}},                     // ipv6_bad_exthdr
        {324, {runt}},                                                    // pkt_too_small
        {331, {port_down, interface_gone}},                               // dev_ready
        {336, {icmp_truncated, icmp_checksum}},                           // icmp_parsing
        {358, {nd_fragment}},                                             // ipv6_ndisc_frag
        {359, {nd_hop_limit}},                                            // ipv6_ndisc_hop_limit
        {360, {nd_code}},                                                 // ipv6_ndisc_bad_code
        {361, {nd_option_empty, nd_option_truncated, nd_option_source}},  // ipv6_ndisc_bad_options
    };
    constexpr uint32_t unknown = 256;
    for (const discard_code& one : codes)
        if (std::find(one.reasons.begin(), one.reasons.end(), why) != one.reasons.end())
            return one.code;
    return unknown;
}

uint32_t discarded(drop_reason why) noexcept { return 0x40000000 | code_of(why); }

void interface_counters::set(const port_totals& counted, uint64_t missed) noexcept {
    rx_packets = counted.rx_packets;
    tx_packets = counted.tx_packets;
    rx_bytes = counted.rx_bytes + fcs_bytes * rx_packets;
    tx_bytes = counted.tx_bytes + fcs_bytes * tx_packets;
    const auto dropped = [&](drop_reason why) { return counted.drops[static_cast<size_t>(why)]; };
    uint64_t drops = counted.all_drops();
    for (const drop_reason other :
         {drop_reason::tx_refused, drop_reason::flood_memory, drop_reason::mirror_memory,
          drop_reason::mirror_unreachable, drop_reason::originated_no_route,
          drop_reason::originated_too_big})
        drops -= dropped(other);
    // A copy may also be dropped for other reasons, as an egress port without link.
    rx_discards = std::min(drops, rx_packets) + missed;
    tx_discards = dropped(drop_reason::tx_refused);
}

void datagram::clear() {
    bytes_.clear();
    samples_ = 0;
    add_head();
}

void datagram::set_agent(const ip_address& agent) {
    agent_ = agent;
    const std::vector<uint8_t> samples(bytes_.begin() + static_cast<ptrdiff_t>(samples_at_),
                                       bytes_.end());
    bytes_.clear();
    add_head();
    bytes_.insert(bytes_.end(), samples.begin(), samples.end());
}

void datagram::add_head() {
    put(5);
    put(agent_.v6 ? 2 : 1);
    bytes_.insert(bytes_.end(), agent_.bytes.begin(), agent_.bytes.begin() + (agent_.v6 ? 16 : 4));
    put(0);  // sub-agent
    sequence_at_ = bytes_.size();
    for (int i = 0; i < 3; ++i) put(0);  // sequence number, uptime, number of samples
    samples_at_ = bytes_.size();
}

std::span<const uint8_t> datagram::finish(uint32_t sequence, uint32_t uptime_ms) {
    store_be<uint32_t>(&bytes_[sequence_at_], sequence);
    store_be<uint32_t>(&bytes_[sequence_at_ + 4], uptime_ms);
    store_be<uint32_t>(&bytes_[sequence_at_ + 8], samples_);
    return bytes_;
}

void datagram::put(uint32_t v) {
    bytes_.resize(bytes_.size() + sizeof v);
    store_be<uint32_t>(&bytes_[bytes_.size() - sizeof v], v);
}

void datagram::put64(uint64_t v) {
    put(static_cast<uint32_t>(v >> 32));
    put(static_cast<uint32_t>(v));
}

void datagram::put_bytes(std::span<const uint8_t> bytes) {
    put(static_cast<uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize((bytes_.size() + 3) & ~size_t{3});
}

/// A body with its length in front.
template <class Body>
void datagram::put_sized(const Body& body) {
    const size_t at = bytes_.size();
    put(0);
    body();
    store_be<uint32_t>(&bytes_[at], static_cast<uint32_t>(bytes_.size() - at - sizeof(uint32_t)));
}

template <class Body>
bool datagram::add_sample(uint32_t format, const Body& body) {
    const size_t before = bytes_.size();
    put(format);
    put_sized(body);
    if (bytes_.size() > max_bytes && samples_ != 0) {
        bytes_.resize(before);
        return false;
    }
    ++samples_;
    return true;
}

void datagram::put_header(const sampled_header& h) {
    constexpr uint32_t ethernet = 1;
    put(1);  // records
    put(raw_header);
    put_sized([&] {
        put(ethernet);
        put(h.frame_bytes + fcs_bytes);
        put(fcs_bytes);  // stripped
        put_bytes(h.bytes);
    });
}

bool datagram::add(const flow_sample& s) {
    return add_sample(of_flow, [&] {
        put(s.sequence);
        put(s.source);
        put(s.rate);
        put(s.pool);
        put(s.lost);
        put(s.input);
        put(s.output);
        put_header(s.header);
    });
}

bool datagram::add(const discarded_packet& s) {
    const bool leaves = s.why == drop_reason::tx_refused;
    return add_sample(of_discard, [&] {
        put(s.sequence);
        put(0);  // the source is an ifIndex
        put(s.source);
        put(s.lost);
        put(leaves ? 0 : s.source);
        put(leaves ? s.source : 0);
        put(code_of(s.why));
        put_header(s.header);
    });
}

bool datagram::add(const interface_counters& s) {
    constexpr uint32_t ethernet_csmacd = 6, full_duplex = 1, unknown = 0xffffffff;
    return add_sample(of_counters, [&] {
        put(s.sequence);
        put(s.source);
        put(2);  // records
        put(generic_counters);
        put_sized([&] {
            put(s.source);
            put(ethernet_csmacd);
            put64(s.bits_per_second);
            put(full_duplex);
            put((s.admin_up ? 1u : 0u) | (s.link_up ? 2u : 0u));
            put64(s.rx_bytes);
            put(static_cast<uint32_t>(s.rx_packets));
            put(unknown);  // multicast
            put(unknown);  // broadcast
            put(static_cast<uint32_t>(s.rx_discards));
            put(unknown);  // errors
            put(unknown);  // unknown protocols
            put64(s.tx_bytes);
            put(static_cast<uint32_t>(s.tx_packets));
            put(unknown);  // multicast
            put(unknown);  // broadcast
            put(static_cast<uint32_t>(s.tx_discards));
            put(unknown);  // errors
            put(s.promiscuous ? 1 : 2);
        });
        put(port_name);
        put_sized([&] {
            put_bytes({reinterpret_cast<const uint8_t*>(s.name.data()), s.name.size()});
        });
    });
}

}  // namespace turnpike::observe::sflow
