// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/acl.hpp"

#include <bit>
#include <cstring>

#include "packet/nd.hpp"

namespace turnpike::datapath {
namespace {

namespace key = config::acl_key;

// What the parse stage knows of the upper layer is one shift away from what lists ask.
constexpr unsigned known_shift = 1;
constexpr uint16_t known_flags =
    packet::flag_ports | packet::flag_tcp | packet::flag_icmp | packet::flag_upper_cut;
static_assert(packet::flag_ports << known_shift == key::has_ports);
static_assert(packet::flag_tcp << known_shift == key::has_tcp_flags);
static_assert(packet::flag_icmp << known_shift == key::has_icmp_type);
static_assert(packet::flag_upper_cut << known_shift == key::tiny_fragment);

/// Byte 13 of the TCP header, and what config::acl_key says.
uint16_t flags_of(const packet::parsed& p, const uint8_t* l3) noexcept {
    unsigned out = p.tcp_flags | (p.flags & known_flags) << known_shift;
    if (p.is_later_fragment()) {
        out |= key::later_fragment;
        // RFC 1858 section 3: a fragment at offset 1 (8 bytes) overlays TCP's flags.
        if (p.fragment_offset_bytes == 8 && p.upper_protocol == packet::protocol_tcp)
            out |= key::tiny_fragment;
    }
    if (packet::is_nd(p) && packet::view<packet::ipv6_header>(l3).hop_limit == 255)
        out |= key::neighbour_discovery;
    return static_cast<uint16_t>(out);
}

/// The packets of a burst that one list is asked about, of one family.
template <class Key>
struct questions {
    std::array<Key, burst_max> of_packet;
    std::array<const Key*, burst_max> keys;
    std::array<uint8_t, burst_max> packet;
    uint32_t n = 0;

    void add(const burst& b, uint32_t i) noexcept {
        const packet::parsed& p = b.parsed[i];
        const auto* l3 = rte_pktmbuf_mtod_offset(b.packet[i], const uint8_t*, p.l2_bytes);
        constexpr bool v4 = sizeof(Key) == sizeof(acl::key4);
        Key& k = of_packet[n];
        std::memcpy(&k, l3 + (v4 ? 12 : 8), sizeof k.source + sizeof k.destination);
        k.source_port = p.is(packet::flag_icmp) ? p.icmp_type : p.source_port;
        k.destination_port = p.is(packet::flag_icmp) ? p.icmp_code : p.destination_port;
        k.protocol = p.upper_protocol;
        k.dscp = v4 ? l3[1] : static_cast<uint8_t>(load_be<uint16_t>(l3) >> 4);
        k.tcp_flags = flags_of(p, l3);
        k.vlan = p.vlan_tags == 0
                     ? uint16_t{0}
                     : static_cast<uint16_t>((p.outer_tci & packet::vlan_id_mask) | key::tagged);
        keys[n] = &k;
        packet[n++] = static_cast<uint8_t>(i);
    }
};

template <class Key>
void judge(burst& b, const questions<Key>& q, const acl::classifier<Key>& by, const acl_list& list,
           acl_counter* counters) noexcept {
    if (q.n == 0) return;
    std::array<uint32_t, size_t{burst_max} * acl::max_categories> results;
    by.classify({q.keys.data(), q.n}, {results.data(), size_t{q.n} * list.categories},
                list.categories);
    for (uint32_t k = 0; k < q.n; ++k) {
        const uint32_t* found = &results[size_t{k} * list.categories];
        const uint32_t i = q.packet[k], bytes = b.packet[i]->pkt_len;
        const auto count = [&](uint32_t hit) {
            counters[hit >> 1].packets.add(1);
            counters[hit >> 1].bytes.add(bytes);
        };
        const uint32_t verdict = found[0] != 0 ? found[0] : list.default_hit;
        count(verdict);
        for (uint32_t c = 1; c < list.categories; ++c)
            if (found[c] != 0 && found[c] < verdict) count(found[c]);  // it stands above
        if ((verdict & 1) != 0) b.drop_packet(i, packet::drop_reason::acl_deny);
    }
}

/// wanted  which packets the list is asked about, if they are IP
template <class Wanted>
void judge_all(burst& b, const bound_acl& by, uint32_t worker, const Wanted& wanted) noexcept {
    questions<acl::key4> v4;
    questions<acl::key6> v6;
    for (uint32_t i = 0; i < b.count; ++i) {
        if (!wanted(i)) continue;
        if (b.parsed[i].l3 == packet::l3_kind::ipv4)
            v4.add(b, i);
        else if (b.parsed[i].l3 == packet::l3_kind::ipv6)
            v6.add(b, i);
    }
    acl_counter* counters = by.counters[worker].get();
    judge(b, v4, *by.list->v4, *by.list, counters);
    judge(b, v6, *by.list->v6, *by.list, counters);
}

bool leaves(const burst& b, uint32_t i) noexcept {
    return b.fate[i] == fate::send ||
           (b.fate[i] == fate::punt && b.punt[i] == punt_reason::resolve);
}

}  // namespace

void acl_in(burst& b, const bound_acl& by, uint32_t worker) noexcept {
    judge_all(b, by, worker, [&](uint32_t i) { return b.fate[i] != fate::drop; });
}

void acl_out(burst& b, const tables& t, uint32_t worker) noexcept {
    uint32_t ports = 0;
    static_assert(max_ports <= 32);
    for (uint32_t i = 0; i < b.count; ++i)
        if (leaves(b, i)) ports |= 1u << b.out_port[i];
    for (; ports != 0; ports &= ports - 1) {
        const auto port = static_cast<uint16_t>(std::countr_zero(ports));
        const bound_acl* by = t.port[port].acl_out.load(std::memory_order_acquire);
        if (by != nullptr)
            judge_all(b, *by, worker,
                      [&](uint32_t i) { return leaves(b, i) && b.out_port[i] == port; });
    }
}

}  // namespace turnpike::datapath
