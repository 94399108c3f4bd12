// SPDX-License-Identifier: BSD-3-Clause
// Stages acl_in, acl_out and acl_l2: the ACLs of the ingress and egress interfaces, and
// the L2 ACL of the ingress bridge member. Only packets of interfaces with an ACL come here (doc/acl.md); of
// a routed interface's packets, only the ones that stage ip_fast has not classified (acl_verdict.hpp).
//   Reads   packet, parsed, in, out, nexthop, punt, punted, vxlan_to_us, tagged, tag; interface.{acl_in, acl_out};
//           L2 lists: packet, in or out and domain, tagged, tag_in_frame, tag; interface.{l2_in, l2_out}
//   Writes  drop of denied packets; the lists' counters
// ACLs apply to IPv4 and IPv6 packets. Ingress: all packets not yet dropped, including those to the
// router. Egress: packets to send or waiting for a neighbour, which may be known not to answer, except packets that turnpike
// originates. L2 ACLs apply to every frame.
#include <algorithm>
#include <bit>
#include <cstring>

#include "datapath/acl_key.hpp"
#include "datapath/graph.hpp"
#include "datapath/pull_up.hpp"
#include "datapath/read_headers.hpp"
#include "datapath/stages/acl_verdict.hpp"
#include "state/l2_match.hpp"

namespace turnpike::datapath {
namespace {

namespace key = state::acl_key;

/// For the field of an ACL key, of a tagged frame.
uint16_t vlan_of(uint16_t tci) noexcept {
    return static_cast<uint16_t>((tci & packet::vlan_id_mask) | key::tagged);
}

/// The outer tag as received: still in the frame, or removed.
/// in_frame  the frame has a tag now, described by parsed
uint16_t vlan_of(const burst& b, uint32_t i, bool in_frame) noexcept {
    const bool taken = (b.tagged >> i & 1) != 0;
    if (!taken && !in_frame) return 0;
    return vlan_of(taken ? b.tag[i] : b.parsed[i].outer_tci);
}

/// ACL keys of a burst, for one list and family.
template <class Key>
struct acl_keys {
    std::array<Key, burst_max> of_packet;
    std::array<const Key*, burst_max> keys;
    std::array<uint8_t, burst_max> packet;
    uint32_t n = 0;

    static constexpr bool v4 = is_ipv4_key<Key>;

    /// Add a packet that stage ip_input has parsed.
    void add(const burst& b, uint32_t i) noexcept {
        const packet::parsed& p = b.parsed[i];
        const auto* l3 = rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, p.l2_bytes);
        write_upper(begin(l3, vlan_of(b, i, p.vlan_tags != 0), i, n++), p, l3);
    }
    /// Write the key of a fast-path packet, without a tag in its frame. False: neither TCP nor UDP, or a fragment. The caller
    /// counts the keys: `n` would be read again behind each write of a key.
    bool write_fast(const fast_burst& b, const uint8_t* l3, uint32_t l3_bytes, uint32_t i,
                    uint32_t at) noexcept {
        constexpr uint32_t header_bytes =
            v4 ? sizeof(packet::ipv4_header) : sizeof(packet::ipv6_header);
        const uint8_t protocol = l3[v4 ? 9 : 6];
        unsigned flags = key::has_ports;
        const uint8_t* const header = l3 + header_bytes;
        if (v4 && (load_be<uint16_t>(l3 + 6) & 0x3fff) != 0) return false;
        if (protocol == packet::protocol_tcp &&
            l3_bytes >= header_bytes + sizeof(packet::tcp_header))
            flags |= key::has_tcp_flags | packet::header_at<packet::tcp_header>(header).flags;
        else if (protocol != packet::protocol_udp ||
                 l3_bytes < header_bytes + sizeof(packet::udp_header))
            return false;
        const bool tagged = (b.tagged >> i & 1) != 0;
        Key& k = begin(l3, tagged ? vlan_of(b.tag[i]) : uint16_t{0}, i, at);
        std::memcpy(&k.source_port, header, sizeof k.source_port + sizeof k.destination_port);
        k.protocol = protocol;
        k.tcp_flags = static_cast<uint16_t>(flags);
        return true;
    }

  private:
    /// Begins the key of packet i.
    Key& begin(const uint8_t* l3, uint16_t vlan, uint32_t i, uint32_t at) noexcept {
        Key& k = of_packet[at];
        begin_key(k, l3, vlan);
        keys[at] = &k;
        packet[at] = static_cast<uint8_t>(i);
        return k;
    }
};

/// Count the hits of a list with one category. Most lists have a rule that most packets meet: its counters are written once.
/// found  0: the default rule
/// Answers  the denied packets
template <class Key>
packet_mask count_hits(rte_mbuf* const* packet, const acl_keys<Key>& q, const uint32_t* found,
                       const acl_list& list, acl_counter* counters) noexcept {
    const auto verdict_of = [&](uint32_t hit) { return hit != 0 ? hit : list.default_hit(); };
    uint32_t differ = 0;
    for (uint32_t k = 1; k < q.n; ++k) differ |= found[k] ^ found[0];
    packet_mask denied = 0;
    if (differ == 0) {
        const uint32_t verdict = verdict_of(found[0]);
        uint64_t bytes = 0;
        packet_mask all = 0;
        for (uint32_t k = 0; k < q.n; ++k) {
            bytes += packet[q.packet[k]]->pkt_len;
            all |= packet_mask{1} << q.packet[k];
        }
        acl_counter& of = counters[acl_id(verdict)];
        of.packets.add(q.n);
        of.bytes.add(bytes);
        return acl_denies(verdict) ? all : 0;
    }
    for (uint32_t k = 0; k < q.n; ++k) {
        const uint32_t i = q.packet[k], verdict = verdict_of(found[k]);
        acl_counter& of = counters[acl_id(verdict)];
        of.packets.add(1);
        of.bytes.add(packet[i]->pkt_len);
        denied |= static_cast<packet_mask>(acl_denies(verdict)) << i;
    }
    return denied;
}

template <class Key>
packet_mask classify(rte_mbuf* const* packet, const acl_keys<Key>& q, const bound_acl& by,
                     uint32_t worker) noexcept {
    if (q.n == 0) return 0;
    const acl_list& list = *by.list;
    const uint32_t categories = list.categories();
    std::array<uint32_t, size_t{burst_max} * acl::max_categories> results;
    list.classifier(static_cast<const Key*>(nullptr))
        .classify({q.keys.data(), q.n}, {results.data(), size_t{q.n} * categories}, categories);
    acl_counter* counters = by.counters[worker].get();
    if (categories == 1) return count_hits(packet, q, results.data(), list, counters);
    packet_mask denied = 0;
    for (uint32_t k = 0; k < q.n; ++k) {
        const uint32_t* found = &results[size_t{k} * categories];
        const uint32_t i = q.packet[k], bytes = packet[i]->pkt_len;
        const auto count = [&](uint32_t hit) {
            counters[acl_id(hit)].packets.add(1);
            counters[acl_id(hit)].bytes.add(bytes);
        };
        const uint32_t verdict = found[0] != 0 ? found[0] : list.default_hit();
        count(verdict);
        for (uint32_t c = 1; c < categories; ++c)
            if (found[c] != 0 && list.above(found[c], verdict)) count(found[c]);
        denied |= static_cast<packet_mask>(acl_denies(verdict)) << i;
    }
    return denied;
}

/// Answers  the denied packets; non-IP packets are not classified
packet_mask classify_all_lists(burst& b, packet_mask packets, const bound_acl& by,
                               uint32_t worker) noexcept {
    acl_keys<acl::key4> v4;
    acl_keys<acl::key6> v6;
    for_each(packets, [&](uint32_t i) {
        if (b.parsed[i].l3 == packet::l3_kind::ipv4)
            v4.add(b, i);
        else if (b.parsed[i].l3 == packet::l3_kind::ipv6)
            v6.add(b, i);
    });
    return classify(b.packet.data(), v4, by, worker) | classify(b.packet.data(), v6, by, worker);
}

template <class Key>
acl_verdict classify_fast(const fast_burst& b, packet_mask packets, uint8_t* const* frame,
                          const uint32_t* l3_bytes, const bound_acl& by, uint32_t worker) noexcept {
    acl_keys<Key> q;
    packet_mask asked = 0;
    uint32_t n = 0;
    for_each(packets, [&](uint32_t i) {
        const bool fast =
            q.write_fast(b, frame[i] + sizeof(packet::ethernet_header), l3_bytes[i], i, n);
        n += uint32_t{fast};
        asked |= packet_mask{fast} << i;
    });
    q.n = n;
    const packet_mask denied = classify(b.packet, q, by, worker);
    return {.permitted = asked & ~denied, .denied = denied};
}

/// EtherType and outer VLAN ID of a frame, for L2 ACLs.
struct frame_type {
    uint16_t type = 0;
    uint16_t vlan = 0;  ///< outer tag, as for state::l2_key
};

/// Skips up to two tags, as stage ip_input does; one may have been removed already.
frame_type type_of(const burst& b, uint32_t i) noexcept {
    rte_mbuf* const m = b.packet[i];
    constexpr uint32_t type_at = offsetof(packet::ethernet_header, type);
    constexpr uint32_t enough = sizeof(packet::ethernet_header) + 2 * sizeof(packet::vlan_tag);
    if (m->data_len < enough) pull_up(m, std::min(m->pkt_len, enough));
    const auto* const frame = rte_pktmbuf_mtod(m, const uint8_t*);
    const bool taken = ((b.tagged & ~b.tag_in_frame) >> i & 1) != 0;
    frame_type out;
    if (taken) out.vlan = static_cast<uint16_t>((b.tag[i] & packet::vlan_id_mask) | key::tagged);
    uint32_t at = type_at;
    out.type = load_be<uint16_t>(frame + at);
    for (unsigned tags = taken ? 1 : 0; tags < packet::max_vlan_tags; ++tags) {
        if (out.type != packet::ether_type_vlan && out.type != packet::ether_type_service) break;
        if (m->data_len < at + sizeof(packet::vlan_tag) + sizeof out.type) break;
        const auto tci = load_be<uint16_t>(frame + at + sizeof out.type);
        if (tags == 0) out.vlan = static_cast<uint16_t>((tci & packet::vlan_id_mask) | key::tagged);
        at += sizeof(packet::vlan_tag);
        out.type = load_be<uint16_t>(frame + at);
    }
    return out;
}

/// domain_of(packet)  its domain in a VLAN-aware bridge
template <class DomainOf>
packet_mask classify_frames(burst& b, packet_mask packets, const bound_acl& by,
                            const bridge_member& member, uint32_t worker,
                            const DomainOf& domain_of) noexcept {
    acl_keys<acl::key4> q;
    for_each(packets, [&](uint32_t i) {
        frame_type is = type_of(b, i);
        if (const uint16_t domain = member.tag_out != nullptr ? domain_of(i) : uint16_t{0})
            is.vlan = static_cast<uint16_t>((domain - member.first_domain) | key::tagged);
        q.of_packet[q.n] =
            state::l2_key(rte_pktmbuf_mtod(b.packet[i], const uint8_t*), is.type, is.vlan);
        q.keys[q.n] = &q.of_packet[q.n];
        q.packet[q.n++] = static_cast<uint8_t>(i);
    });
    return classify(b.packet.data(), q, by, worker);
}

/// Classify packets by the lists of their interfaces, one list at a time.
/// judged_by(packets, list)  answers the denied packets
template <class ListOf, class JudgedBy>
packet_mask classify_by_interface(packet_mask packets, const ListOf& list_of,
                                  const JudgedBy& judged_by) noexcept {
    packet_mask denied = 0;
    while (packets != 0) {
        const bound_acl* by = list_of(static_cast<uint32_t>(std::countr_zero(packets)));
        packet_mask same = 0;
        for_each(packets,
                 [&](uint32_t i) { same |= static_cast<packet_mask>(list_of(i) == by) << i; });
        if (by != nullptr) denied |= judged_by(same, *by);
        packets &= ~same;
    }
    return denied;
}

/// Permitted packets whose neighbour does not answer: control probes it while there are any (ip_forward.cpp).
void mark_failed(const snapshot& v, const burst& b, packet_mask packets) noexcept {
    for_each(packets, [&](uint32_t i) {
        if (b.punt[i] == punt_reason::icmp_error) v.nexthops[b.nexthop[i]].mark_used();
    });
}

}  // namespace

acl_verdict classify_fast_ipv4(const fast_burst& b, packet_mask packets, uint8_t* const* frame,
                               const uint32_t* l3_bytes, const bound_acl& by,
                               uint32_t worker) noexcept {
    return classify_fast<acl::key4>(b, packets, frame, l3_bytes, by, worker);
}

acl_verdict classify_fast_ipv6(const fast_burst& b, packet_mask packets, uint8_t* const* frame,
                               const uint32_t* l3_bytes, const bound_acl& by,
                               uint32_t worker) noexcept {
    return classify_fast<acl::key6>(b, packets, frame, l3_bytes, by, worker);
}

stage_mask run_acl_in(context& c, burst& b, packet_mask packets) noexcept {
    const auto& interfaces = c.snapshot->interfaces;
    const packet_mask denied = classify_by_interface(
        packets, [&](uint32_t i) { return interfaces[b.in[i]].acl_in; },
        [&](packet_mask some, const bound_acl& by) {
            return classify_all_lists(b, some, by, c.worker);
        });
    for_each(denied, [&](uint32_t i) { b.drop[i] = drop_reason::acl_deny; });
    return go_on_input(*c.snapshot, b, packets & ~denied, stage::acl_in) |
           enqueue(b, denied, stage::drop);
}

packet_mask classify_out(const snapshot& v, burst& b, packet_mask packets,
                         uint32_t worker) noexcept {
    const auto out = [&](uint32_t i) -> const interface& {
        return v.interfaces[b.out[i].interface];
    };
    const packet_mask l2_denied = classify_by_interface(
        packets, [&](uint32_t i) { return out(i).l2_out; },
        [&](packet_mask some, const bound_acl& by) {
            const uint16_t ifindex = b.out[static_cast<uint32_t>(std::countr_zero(some))].interface;
            return classify_frames(b, some, by, v.bridges->members[ifindex], worker,
                                   [&](uint32_t i) { return b.domain[i]; });
        });
    for_each(l2_denied, [&](uint32_t i) { b.drop[i] = drop_reason::acl_l2_deny_out; });
    const packet_mask denied = classify_by_interface(
        packets & ~l2_denied, [&](uint32_t i) { return out(i).acl_out; },
        [&](packet_mask some, const bound_acl& by) {
            return classify_all_lists(b, some, by, worker);
        });
    for_each(denied, [&](uint32_t i) { b.drop[i] = drop_reason::acl_deny_out; });
    return l2_denied | denied;
}

packet_mask classify_mirrored(burst& b, packet_mask packets, const bound_acl& by,
                              uint32_t worker) noexcept {
    if (by.list->says().l2) {
        const bridge_member none;
        return packets &
               ~classify_frames(b, packets, by, none, worker, [](uint32_t) { return uint16_t{0}; });
    }
    packet_mask ip = 0;
    for_each(packets, [&](uint32_t i) {
        packet::parsed& p = b.parsed[i];
        const bool is_ip = read_headers(b.packet[i], p) && p.l3_drop == packet::drop_reason::none &&
                           (p.l3 == packet::l3_kind::ipv4 || p.l3 == packet::l3_kind::ipv6);
        ip |= packet_mask{is_ip} << i;
    });
    return ip & ~classify_all_lists(b, ip, by, worker);
}

stage_mask run_acl_l2(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    const packet_mask denied = classify_by_interface(
        packets, [&](uint32_t i) { return v.interfaces[b.in[i]].l2_in; },
        [&](packet_mask some, const bound_acl& by) {
            const uint16_t ifindex = b.in[static_cast<uint32_t>(std::countr_zero(some))];
            const bridge_member& member = v.bridges->members[ifindex];
            return classify_frames(b, some, by, member, c.worker, [&](uint32_t i) {
                return member.domain_of((b.tagged >> i & 1) != 0, b.tag[i]);
            });
        });
    for_each(denied, [&](uint32_t i) { b.drop[i] = drop_reason::acl_l2_deny; });
    return go_on_input(v, b, packets & ~denied, stage::acl_l2) | enqueue(b, denied, stage::drop);
}

stage_mask run_acl_out(context& c, burst& b, packet_mask packets) noexcept {
    const packet_mask denied = classify_out(*c.snapshot, b, packets, c.worker);
    packets &= ~denied;
    const packet_mask punts = packets & b.punted;
    if (punts != 0) [[unlikely]]
        mark_failed(*c.snapshot, b, punts);
    return enqueue(b, punts, stage::punt) |
           go_on_output(*c.snapshot, b, packets & ~b.punted, stage::acl_out) |
           enqueue(b, denied, stage::drop);
}

}  // namespace turnpike::datapath
