// SPDX-License-Identifier: BSD-3-Clause
// The stage graph: the stages, in their order, the edges between them, and the drop reasons of each.
// The report's stage names, the owners of drop reasons and the picture in doc/map.md are generated from
// these tables; tests/unit/turnpike/graph_test.cpp checks their rules.
//
// A new stage is a file in stages/ and a line here.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "datapath/context.hpp"

// name, next stages, drop reasons. In packet order: edges point forward only.
// clang-format off
#define TURNPIKE_STAGES(X) \
    X(rx, NEXT(stamp, sample_in, mirror_in, iface_input, drop), DROPS(runt, ether_not_contiguous, frame_too_long, stripped_tag_no_headroom, stopping, port_shutdown)) \
    X(stamp, NEXT(sample_in, mirror_in, iface_input), DROPS()) \
    X(sample_in, NEXT(mirror_in, iface_input), DROPS()) \
    X(mirror_in, NEXT(iface_input), DROPS()) \
    X(iface_input, NEXT(count_in, acl_l2, xconnect, vxlan_fast, ip_fast, ip_input, bridge, drop), DROPS( \
        no_interface, interface_down, too_many_passes)) \
    X(count_in, NEXT(acl_l2, xconnect, vxlan_fast, ip_fast, ip_input, bridge), DROPS()) \
    X(acl_l2, NEXT(ip_input, bridge, drop), DROPS(acl_l2_deny)) \
    X(xconnect, NEXT(ip_input, acl_out, count_out, sample_out, mirror_out, tx), DROPS()) \
    X(vxlan_fast, NEXT(ip_fast, bridge), DROPS()) \
    X(ip_fast, NEXT(ip_input, count_out, bridge, vlan_push, sample_out, mirror_out, tx, drop), DROPS()) \
    X(ip_input, NEXT(urpf, acl_in, lookup, vxlan_input, acl_out, count_out, bridge, sample_out, mirror_out, tx, punt, drop), DROPS( \
        ether_source_group, ether_type_unknown, vlan_truncated, vlan_id_reserved, vlan_depth, arp_truncated, \
        ipv4_truncated, ipv4_version, ipv4_header_length, ipv4_total_length, \
        ipv4_fragment_beyond_end, ipv4_checksum, ipv4_source, \
        ipv4_destination, ipv4_source_routed, ipv4_source_is_destination, ipv6_truncated, ipv6_version, ipv6_jumbogram, \
        ipv6_chain_truncated, ipv6_chain_long, ipv6_hop_by_hop_late, ipv6_routing_type_0, \
        ipv6_fragment_twice, ipv6_source, ipv6_destination, ipv6_source_is_destination, \
        dst_mac_not_ours, l2_multicast, vlan_on_routed_port, link_local, headers_not_contiguous)) \
    X(urpf, NEXT(acl_in, lookup, vxlan_input, punt, drop), DROPS(urpf)) \
    X(acl_in, NEXT(lookup, vxlan_input, acl_out, count_out, bridge, sample_out, mirror_out, tx, punt, drop), DROPS(acl_deny)) \
    X(lookup, NEXT(ip_forward), DROPS()) \
    X(ip_forward, NEXT(vxlan_input, acl_out, fragment, count_out, bridge, vlan_push, sample_out, mirror_out, tx, punt, drop), DROPS( \
        no_route, route_blackhole, route_unreachable, route_prohibited, route_not_followed, bogon_destination, \
        directed_broadcast, link_local_source, ipv4_ttl, ipv4_too_big, ipv6_hop_limit, ipv6_too_big, tunnel_to_self, neighbour_failed)) \
    X(vxlan_input, NEXT(bridge, drop), DROPS( \
        vxlan_truncated, vxlan_checksum, vxlan_flags, vxlan_reserved, vxlan_unknown_vni, vxlan_unknown_vtep, \
        vxlan_inner_runt, ecn_decap)) \
    X(acl_out, NEXT(fragment, count_out, bridge, vlan_push, sample_out, mirror_out, tx, punt, drop), DROPS(acl_deny_out, acl_l2_deny_out)) \
    X(fragment, NEXT(count_out, bridge, vlan_push, sample_out, mirror_out, tx, drop), DROPS(ipv4_needs_fragmenting, fragment_memory)) \
    X(count_out, NEXT(bridge, vlan_push, sample_out, mirror_out, tx), DROPS()) \
    X(bridge, NEXT(flood, vlan_push, vxlan_output, sample_out, mirror_out, tx, punt, drop), DROPS( \
        bridge_vlan, bridge_source_own, bridge_locked, bridge_moving, bridge_same_port, \
        bridge_isolated, bridge_too_big, bridge_reserved, bridge_storm_broadcast, bridge_storm_multicast, \
        bridge_storm_unknown)) \
    X(flood, NEXT(vlan_push, vxlan_output, sample_out, mirror_out, tx, drop), DROPS(flood_no_member, flood_memory, clone_depth)) \
    X(vlan_push, NEXT(vxlan_output, sample_out, mirror_out, tx, drop), DROPS(vlan_no_headroom)) \
    X(vxlan_output, NEXT(sample_out, mirror_out, tx, punt, drop), DROPS(tunnel_too_big, tunnel_no_headroom)) \
    X(sample_out, NEXT(mirror_out, tx), DROPS()) \
    X(mirror_out, NEXT(tx, drop), DROPS(mirror_memory, mirror_unreachable)) \
    X(tx, NEXT(drop), DROPS(tx_refused, port_down)) \
    X(punt, NEXT(drop), DROPS(punt_rate, punt_ring_full)) \
    X(drop, NEXT(), DROPS())

// Handlers in control: each ends punted packets (control/slow_path) and owns the drop reasons
// listed.
#define TURNPIKE_HANDLERS(X) \
    X(arp, DROPS(arp_format, arp_operation, arp_sender_mac, arp_sender_ip, arp_sender_is_us)) \
    X(nd, DROPS(nd_type, nd_fragment, nd_hop_limit, nd_code, nd_option_empty, nd_option_truncated, \
        nd_option_source, nd_source, nd_destination, nd_target, nd_solicited, nd_link_address, \
        nd_sender_is_us, nd_not_contiguous)) \
    X(local, DROPS(icmp_truncated, icmp_checksum, icmp_rate, local_protocol, local_fragment, \
        duplicate_address)) \
    X(reserved, DROPS()) \
    X(neigh_suppress, DROPS()) \
    X(host, DROPS(host_if_rate, host_if_refused)) \
    X(neighbours, DROPS(neighbour_queue_full, neighbour_limit, pending_limit, neighbour_rate, \
        resolve_rate)) \
    X(control_tx, DROPS(inject_ring_full, originated_no_route, originated_too_big, interface_gone, control_memory))
// clang-format on

namespace turnpike::datapath {

enum class stage : uint8_t {
#define TURNPIKE_STAGE(name, next, drops) name,
    TURNPIKE_STAGES(TURNPIKE_STAGE)
#undef TURNPIKE_STAGE
        count_
};
inline constexpr size_t stages = static_cast<size_t>(stage::count_);
static_assert(stages <= counters::max_stages && stages <= 32);

constexpr stage_mask bit(stage s) noexcept { return stage_mask{1} << static_cast<unsigned>(s); }

/// A stage: runs for the packets of the mask and enqueues each for a next stage (its bit in b.at).
/// Answers  the mask of the stages that got packets
using stage_function = stage_mask(context&, burst&, packet_mask) noexcept;

#define TURNPIKE_STAGE(name, next, drops) stage_function run_##name;
TURNPIKE_STAGES(TURNPIKE_STAGE)
#undef TURNPIKE_STAGE

/// Enqueue packets for a stage.
inline stage_mask enqueue(burst& b, packet_mask packets, stage to) noexcept {
    if (packets == 0) return 0;
    b.at[static_cast<size_t>(to)] |= packets;
    return bit(to);
}

struct stage_row {
    std::string_view name;
    stage_function* run;
    stage_mask next;
    std::initializer_list<drop_reason> drops;
};
struct handler_row {
    std::string_view name;
    std::initializer_list<drop_reason> drops;
};

extern const std::array<stage_row, stages> stage_table;
extern const std::span<const handler_row> handler_table;

/// Stages above `s`.
constexpr stage_mask above(stage s) noexcept {
    return ~stage_mask{0} << 1 << static_cast<unsigned>(s);
}

/// The stage of a path behind `now`.
/// Requires  there is one
constexpr stage next_of(stage_mask path, stage now) noexcept {
    return static_cast<stage>(std::countr_zero(path & above(now)));
}

/// Enqueue packets for the next stages of their paths. Mostly it is one for all, although their interfaces differ.
/// path_of(i)  the packet's path, which has a stage above `now`
template <class PathOf>
stage_mask go_on(burst& b, packet_mask packets, stage now, const PathOf& path_of) noexcept {
    stage_mask some = 0, all = above(now);
    for_each(packets, [&](uint32_t i) {
        const stage_mask path = path_of(i);
        some |= path;
        all &= path;
    });
    some &= above(now);
    if (const stage_mask first = some & -some; (first & all) != 0)
        return enqueue(b, packets, next_of(first, now));
    stage_mask live = 0;
    for_each(packets, [&](uint32_t i) {
        const stage_mask rest = path_of(i) & above(now);
        b.at[static_cast<size_t>(std::countr_zero(rest))] |= packet_mask{1} << i;
        live |= rest & -rest;
    });
    return live;
}

/// Enqueue packets for the next stage of their input paths, by in[]. `punted` packets and `vxlan_to_us` go through the
/// stages in front of lookup, and then to stage punt or vxlan_input.
stage_mask go_on_input(const snapshot& v, burst& b, packet_mask packets, stage now) noexcept;

/// Enqueue packets for the next stage of their output paths, by out[]; with `exceeds_mtu`, stage fragment is in it.
stage_mask go_on_output(const snapshot& v, burst& b, packet_mask packets, stage now) noexcept;

/// The stage behind `now` of frames that a port received, up to iface_input.
inline stage next_of_port(const port_snapshot& port, stage now) noexcept {
    return next_of(port.in_front | bit(stage::iface_input), now);
}

/// Egress ACLs apply somewhere.
[[nodiscard]] inline bool has_out_lists(const snapshot& v) noexcept {
    return (v.outputs & bit(stage::acl_out)) != 0;
}
/// Some bridge has a routing interface.
[[nodiscard]] inline bool has_bridge_routing(const snapshot& v) noexcept {
    return (v.outputs & bit(stage::bridge)) != 0;
}

/// Complete the paths when every owner has set its bits: cross-connects' paths lead through their peers' output paths,
/// and a fast path is left out where a path has a stage whose work it does not do.
void complete_paths(snapshot& v) noexcept;

/// Compact a burst: these packets become its first ones, with all fields that are valid behind
/// stage iface_input except their tags.
/// Answers  their new mask
packet_mask compact(burst& b, packet_mask packets) noexcept;

/// Each tunnel end and each bridge that routes adds one, and an access list behind a tunnel another: routing between two
/// VXLAN segments with lists, over an underlay by a bridge, needs four. One more is for a second list, or a bridge behind it.
inline constexpr unsigned max_recirculations = 5;

/// Run a burst through the stages of a table, starting with the stages in `live`.
/// mark(stage index, packets)  is called after each stage
template <class Table, class Mark>
inline void dispatch(const Table& table, context& c, burst& b, stage_mask live,
                     const Mark& mark) noexcept {
    for (;;) {
        while (live != 0) {
            const auto s = static_cast<size_t>(std::countr_zero(live));
            const packet_mask packets = std::exchange(b.at[s], 0);
            live &= live - 1;
            live |= table[s].run(c, b, packets);
            mark(s, packets);
        }
        if (b.recirculated == 0) [[likely]]
            return;
        // All other packets have left the burst; the recirculated ones become its first.
        const packet_mask packets = compact(b, std::exchange(b.recirculated, 0));
        b.common_iface = 0;
        if (b.recirculations++ < max_recirculations) {
            // Packets that vxlan_output made are routed; the others arrived at an interface.
            live = enqueue(b, packets & ~b.outer, stage::iface_input) |
                   enqueue(b, packets & b.outer, stage::lookup);
        } else {
            for_each(packets, [&](uint32_t i) { b.drop[i] = drop_reason::too_many_passes; });
            live = enqueue(b, packets, stage::drop);
        }
    }
}

/// Drop one packet; the caller enqueues `drops` for stage drop.

inline void drop_packet(burst& b, uint32_t i, drop_reason why, packet_mask& drops) noexcept {
    b.drop[i] = why;
    drops |= packet_mask{1} << i;
}

}  // namespace turnpike::datapath
