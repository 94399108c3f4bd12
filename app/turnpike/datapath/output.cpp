// SPDX-License-Identifier: BSD-3-Clause
// Paths of packets: the next stage by the masks of their interfaces.
#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "datapath/vlan_tag.hpp"

namespace turnpike::datapath {
namespace {

/// Packets of bridges' routing interfaces enter their bridges: with several domains, untagged, and perhaps without the
/// padding that they came with.
void enter_bridges(burst& b, packet_mask bridged) noexcept {
    for_each(bridged, [&](uint32_t i) {
        b.in[i] = b.out[i].interface;
        const rte_mbuf* const m = b.packet[i];
        b.single_segment_bytes[i] = m->nb_segs == 1 ? m->pkt_len : 0;
    });
    b.common_iface = 0;
    b.forget_lengths();
    b.from_irb |= bridged;
    b.tagged &= ~bridged;
}

/// The rest of the path of a packet to this router.
stage_mask path_to_us(const burst& b, uint32_t i, stage_mask input) noexcept {
    const stage_mask in_front = input & ~above(stage::lookup) & ~bit(stage::lookup);
    const bool vxlan = (b.vxlan_to_us >> i & 1) != 0;
    return in_front | bit(vxlan ? stage::vxlan_input : stage::punt);
}

/// Stages whose work a fast path does, for the packets that it takes.
constexpr stage_mask done_by_ip_fast = bit(stage::ip_input) | bit(stage::urpf) |
                                       bit(stage::acl_in) | bit(stage::lookup),
                     done_by_vxlan_fast =
                         bit(stage::ip_fast) | bit(stage::ip_input) | bit(stage::lookup);

void leave_out(stage_mask& path, stage fast, stage_mask done) noexcept {
    if ((path & above(fast) & ~done) != 0) path &= ~bit(fast);
}

}  // namespace

stage_mask go_on_input(const snapshot& v, burst& b, packet_mask packets, stage now) noexcept {
    stage_mask live = 0;
    if (const packet_mask to_us = packets & (b.punted | b.vxlan_to_us); to_us != 0) {
        packets &= ~to_us;
        live = go_on(b, to_us, now,
                     [&](uint32_t i) { return path_to_us(b, i, v.paths[b.in[i]].input); });
    }
    if (b.common_iface != 0)
        return live | enqueue(b, packets, next_of(v.paths[b.common_iface].input, now));
    return live | go_on(b, packets, now, [&](uint32_t i) { return v.paths[b.in[i]].input; });
}

stage_mask go_on_output(const snapshot& v, burst& b, packet_mask packets, stage now) noexcept {
    const packet_mask longer =
        (bit(stage::fragment) & above(now)) != 0 ? packets & b.exceeds_mtu : 0;
    if (packets == 0) return 0;
    stage_mask live = 0;
    if (longer != 0) [[unlikely]] {
        live = go_on(b, longer, now, [&](uint32_t i) {
            return v.paths[b.out[i].interface].output | bit(stage::fragment);
        });
        packets &= ~longer;
        if (packets == 0) return live;
    }
    const packet_mask& to_bridges = b.at[static_cast<size_t>(stage::bridge)];
    const packet_mask there = to_bridges;
    const stage_mask stages_left = v.outputs & above(now);
    if (std::has_single_bit(stages_left))
        live |= enqueue(b, packets, next_of(stages_left, now));
    else if (packets == all_of(b.count) && all_equal(b.out, b.count, UINT32_MAX))
        live |= enqueue(b, packets, next_of(v.paths[b.out[0].interface].output, now));
    else
        live |=
            go_on(b, packets, now, [&](uint32_t i) { return v.paths[b.out[i].interface].output; });
    if ((live & bit(stage::bridge)) != 0) [[unlikely]]
        enter_bridges(b, to_bridges & ~there);
    return live;
}

void complete_paths(snapshot& v) noexcept {
    for (size_t i = 0; i < v.paths.size(); ++i)
        if (v.interfaces[i].kind == interface_kind::patched) {
            stage_mask& path = v.paths[i].input;
            path |= v.paths[v.interfaces[i].peer].output;
            if ((path & (bit(stage::acl_in) | bit(stage::acl_out))) != 0)
                path |= bit(stage::ip_input);
        }
    for (size_t i = 0; i < v.paths.size(); ++i)  // ACLs may be bound to an interface that is down
        if (v.interfaces[i].kind == interface_kind::none) v.paths[i].input = 0;
    v.outputs = 0;
    for (interface_paths& of : v.paths) {
        leave_out(of.input, stage::vxlan_fast, done_by_vxlan_fast);
        leave_out(of.input, stage::ip_fast, done_by_ip_fast);
        // An unused index, which a next hop may name before or after its interface is in the snapshot.
        if (of.output == 0) of.output = bit(stage::tx);
        v.outputs |= of.output;
    }
}

packet_mask compact(burst& b, packet_mask packets) noexcept {
    packet_mask tagged = 0, outer = 0;
    uint32_t k = 0;
    b.bytes = 0;
    for_each(packets, [&](uint32_t i) {
        if ((b.tag_in_frame >> i & 1) != 0) vlan_pop(b, i);
        b.packet[k] = b.packet[i];
        b.bytes += b.packet[i]->pkt_len;
        b.single_segment_bytes[k] = b.single_segment_bytes[i];
        b.in[k] = b.in[i];
        b.tag[k] = b.tag[i];
        tagged |= (b.tagged >> i & 1) << k;
        if ((b.outer >> i & 1) != 0) {
            b.parsed[k] = b.parsed[i];
            outer |= packet_mask{1} << k;
        }
        ++k;
    });
    b.count = k;
    b.tagged = tagged;
    b.outer = outer;
    b.tag_in_frame = b.punted = b.vxlan_to_us = b.from_irb = b.exceeds_mtu = 0;
    return all_of(k);
}

}  // namespace turnpike::datapath
