// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/explanation.hpp"

#include <rte_mbuf.h>

#include <algorithm>

#include "datapath/acl_key.hpp"
#include "datapath/nexthop_group.hpp"
#include "datapath/read_headers.hpp"
#include "state/acl.hpp"
#include "state/l2_match.hpp"

namespace turnpike::datapath {
namespace {

namespace acl_bits = state::acl_key;

/// The VLAN that L2 ACLs of a VLAN-aware bridge match: the domain's.
uint16_t bridged_vlan(const context& c, const burst& b, uint32_t i, stage ran,
                      uint16_t tag) noexcept {
    const bridge_tables* const bridges = c.snapshot->bridges;
    if (bridges == nullptr) return tag;
    const uint16_t ifindex = ran == stage::acl_out ? b.out[i].interface : b.in[i];
    const bridge_member& member = bridges->members[ifindex];
    if (member.bridge == 0 || member.tag_out == nullptr) return tag;
    const bool tagged = (b.tagged >> i & 1) != 0;
    const uint16_t domain = ran == stage::acl_l2 || ran == stage::bridge
                                ? member.domain_of(tagged, b.tag[i])
                                : b.domain[i];
    return domain == 0 ? tag
                       : static_cast<uint16_t>((domain - member.first_domain) | acl_bits::tagged);
}

acl_packet keys_of(const context& c, const burst& b, uint32_t i, stage ran) noexcept {
    acl_packet out;
    packet::parsed p;
    if (!read_headers(b.packet[i], p)) return out;
    const bool taken = (b.tagged >> i & 1) != 0;
    const uint16_t tci = taken ? b.tag[i] : p.outer_tci;
    const auto vlan = static_cast<uint16_t>(
        taken || p.vlan_tags != 0 ? (tci & packet::vlan_id_mask) | acl_bits::tagged : 0);
    const auto* const frame = rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
    const uint8_t* const l3 = frame + p.l2_bytes;
    out.frame = state::l2_key(frame, p.type, bridged_vlan(c, b, i, ran, vlan));
    out.ipv4 = p.l3 == packet::l3_kind::ipv4;
    out.ipv6 = p.l3 == packet::l3_kind::ipv6;
    const auto fill = [&](auto& key) {
        begin_key(key, l3, vlan);
        write_upper(key, p, l3);
    };
    if (out.ipv4)
        fill(out.v4);
    else if (out.ipv6)
        fill(out.v6);
    return out;
}

/// Record the lists that counted the packet in this step, and set their counters back to 0.
void note_matches(explanation& e, uint8_t step, const acl_packet& packet) noexcept {
    for (const watched_acl& list : e.lists) {
        acl_decision now{.step = step, .by = &list, .packet = packet};
        acl_counter* const counters = list.bound.counters[0].get();
        for (uint32_t id = 0; id < list.bound.list->id_limit(); ++id)
            if (const uint64_t n = counters[id].packets.read(); n != 0) {
                now.matched.add(id);
                counters[id].packets.add(-n);
            }
        if (!now.matched.empty()) e.acls.add(now);
    }
}

void note_route(explanation& e, uint8_t step, const context& c, const burst& b, uint32_t i,
                uint32_t offset) noexcept {
    const bool v4 = b.parsed[i].is_ipv4();
    const auto* const at = rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, offset);
    e.routes.add(
        {.step = step,
         .vrf = c.snapshot->interfaces[b.in[i]].vrf,
         .address = v4 ? ip_address::from_v4(load_be<uint32_t>(at)) : ip_address::from_v6(at)});
}

/// As stage ip_forward chooses a member (choose_member).
void note_member(explanation& e, uint8_t step, const context& c, const burst& b,
                 uint32_t i) noexcept {
    const snapshot& v = *c.snapshot;
    const next_hop& by = v.nexthops[b.nexthop[i]];
    if (by.kind.load(std::memory_order_acquire) != nexthop_kind::group) return;
    const packet::parsed& p = b.parsed[i];
    const auto* const l3 = rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, p.l2_bytes);
    const uint32_t in_first = rte_pktmbuf_data_len(b.packet[i]) - p.l2_bytes;
    const uint32_t hash = packet::flow_hash(l3, std::min(in_first, p.l3_bytes), v.sharing);
    const nexthop_group& group = *by.group.load(std::memory_order_acquire);
    e.members.add({.step = step,
                   .group = b.nexthop[i],
                   .nexthop = group.choose(hash),
                   .hash = hash,
                   .bucket = hash & group.mask});
}

constexpr bool runs_acls(stage s) noexcept {
    return s == stage::acl_l2 || s == stage::acl_in || s == stage::acl_out || s == stage::bridge ||
           s == stage::flood;
}

template <stage S>
stage_mask observed(context& c, burst& b, packet_mask packets) noexcept {
    auto& e = static_cast<explanation&>(*c.traced);
    const uint8_t step = e.steps;
    const auto i = static_cast<uint32_t>(std::countr_zero(packets));
    const stage_row& row = explained_table[static_cast<size_t>(S)];
    acl_packet packet;
    mac_address destination;
    if constexpr (runs_acls(S))
        if (!e.lists.empty()) packet = keys_of(c, b, i, S);
    if constexpr (S == stage::lookup)
        note_route(e, step, c, b, i, b.parsed[i].destination_offset());
    if constexpr (S == stage::urpf) note_route(e, step, c, b, i, b.parsed[i].source_offset());
    if constexpr (S == stage::ip_forward) note_member(e, step, c, b, i);
    if constexpr (S == stage::bridge)
        destination = rte_pktmbuf_mtod(b.packet[i], const packet::ethernet_header*)->destination;
    const stage_mask live = row.run(c, b, packets);
    if constexpr (runs_acls(S)) note_matches(e, step, packet);
    if constexpr (S == stage::bridge)
        e.stations.add({.step = step, .domain = b.domain[i], .destination = destination});
    return live;
}

std::array<stage_row, stages> observed_stages() {
    std::array<stage_row, stages> all = stage_table;
#define TURNPIKE_STAGE(name, next, drops) \
    all[static_cast<size_t>(stage::name)].run = observed<stage::name>;
    TURNPIKE_STAGES(TURNPIKE_STAGE)
#undef TURNPIKE_STAGE
    return all;
}

}  // namespace

const std::array<stage_row, stages> decision_table = observed_stages();

}  // namespace turnpike::datapath
