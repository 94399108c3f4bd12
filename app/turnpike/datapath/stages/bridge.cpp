// SPDX-License-Identifier: BSD-3-Clause
// Stage bridge: forwards each frame to the member that its destination's FDB entry names, to the bridge's
// routing interface, or to stage flood (IEEE 802.1Q-2018 sections 8.6 and 8.7), and learns sources.
//   Reads   packet, in, common_iface, single_segment_bytes and its limits, tagged, tag_in_frame, tag, from_irb; snapshot.bridges
//   Writes  domain, suppressed; out of frames to send; in of frames to the router; the bridge's worker state
// Destinations and sources of a burst take one bulk lookup. Most frames have an FDB entry for both,
// on the expected interface: the others are handled by mask, after the loop.
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>

#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "datapath/neigh_suppress.hpp"
#include "datapath/stages/acl_verdict.hpp"
#include "isa/simd/v128.hpp"
#include "packet/headers.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint32_t source_offset = offsetof(packet::ethernet_header, source);

const uint8_t* frame_of(const burst& b, uint32_t i) noexcept {
    return rte_pktmbuf_mtod(b.packet[i], const uint8_t*);
}
bool is_group(const burst& b, uint32_t i) noexcept { return (*frame_of(b, i) & 1) != 0; }

/// Frame length without its tag.
uint32_t bytes_of(const burst& b, uint32_t i) noexcept {
    const uint32_t tag_bytes = (b.tag_in_frame >> i & 1) * uint32_t{sizeof(packet::vlan_tag)};
    return (b.single_segment_bytes[i] != 0 ? b.single_segment_bytes[i] : b.packet[i]->pkt_len) -
           tag_bytes;
}

/// Frames whose egress interface is their ingress, four at a time (SSE4.2 is DPDK's minimum).
packet_mask going_back(const burst& b) noexcept {
    static_assert(offsetof(egress, interface) == 2 && sizeof(egress) == 4);
    packet_mask back = 0;
    for (size_t i = 0, n = b.count; i < n; i += 4)
        back |= v128::sign_bits(v128::equal<uint32_t>(
                    v128::shift_right<16>(v128::load_any(&b.out[i])), v128::widen_halves(&b.in[i])))
                << i;
    return back;
}

/// Whether some frame of a burst is longer than `bytes`, or in several segments; elements behind the last are arbitrary.
bool may_be_longer(const burst& b, uint32_t bytes) noexcept {
    if (b.min_bytes != 0 && b.max_bytes <= bytes) [[likely]]
        return false;
    const v128 most = v128::set1(bytes), none = v128::set1(0);
    v128 found = none;
    for (size_t i = 0, n = b.count; i < n; i += 4) {
        const v128 is = v128::load(&b.single_segment_bytes[i]);
        found = found | v128::greater(is, most) | v128::equal<uint32_t>(is, none);
    }
    return v128::any(found);
}

bool of_one_vlan(const burst& b, packet_mask packets) noexcept {
    return packets == all_of(b.count) && b.tagged == packets &&
           all_equal(b.tag, b.count, packet::vlan_id_mask);
}

/// Count received frames, by domain.
void count(bridge_worker_state& worker_state, const burst& b, packet_mask packets,
           bool one_domain) noexcept {
    if (one_domain && packets != 0) {
        uint64_t bytes = 0;
        if (packets == all_of(b.count) && b.tagged == b.tag_in_frame && b.bytes != 0)
            bytes =
                b.bytes - static_cast<uint32_t>(std::popcount(b.tagged)) * sizeof(packet::vlan_tag);
        else
            for_each(packets, [&](uint32_t i) { bytes += bytes_of(b, i); });
        domain_counters& all =
            worker_state.domain(b.domain[static_cast<size_t>(std::countr_zero(packets))]);
        all.rx_packets.add(static_cast<uint64_t>(std::popcount(packets)));
        all.rx_bytes.add(bytes);
        return;
    }
    for_each(packets, [&](uint32_t i) {
        domain_counters& its = worker_state.domain(b.domain[i]);
        its.rx_packets.add(1);
        its.rx_bytes.add(bytes_of(b, i));
    });
}

/// FDB lookup of a burst: its destinations, and the sources that are not in the cache.
class lookup {
  public:
    lookup(const bridge_tables& t, bridge_worker_state& worker_state, const burst& b,
           packet_mask packets) noexcept {
        changes_ = t.fdb_changes->load(std::memory_order_acquire);
        uint32_t k = 0;
        uint64_t not_found = 0;
        for_each(packets, [&](uint32_t i) {
            fdb_key to, from;
            fdb_keys_of(frame_of(b, i), b.domain[i], to, from);
            key_[k++] = to;
            source_[i] = from;
            not_found |=
                worker_state.not_found(bridge_worker_state::source(from, b.in[i], changes_));
        });
        if (t.any_locked) [[unlikely]]
            asked_ = packets;
        else if (not_found != 0)
            for_each(packets, [&](uint32_t i) {
                const bridge_worker_state::source from(source_[i], b.in[i], changes_);
                asked_ |= packet_mask{!worker_state.was_found(from)} << i;
            });
        destinations_ = k;
        for_each(asked_, [&](uint32_t i) { key_[k++] = source_[i]; });
        static_cast<void>(t.fdb_entries->lookup({key_.data(), k}, {found_.data(), k}));
    }
    /// FDB entry of the k-th packet's destination.
    [[nodiscard]] fdb_entry to(uint32_t k) const noexcept { return fdb_entry(found_[k]); }
    /// meet(packet, station)  called for each source whose FDB entry is missing or on another interface
    template <class Meet>
    void sources(bridge_worker_state& worker_state, const burst& b,
                 const Meet& meet) const noexcept {
        uint32_t k = destinations_;
        for_each(asked_, [&](uint32_t i) {
            const fdb_entry from(found_[k++]);
            if (from.ifindex() != b.in[i]) return meet(i, from);
            worker_state.seen(from.number());
            worker_state.remember(bridge_worker_state::source(source_[i], b.in[i], changes_));
        });
    }

  private:
    std::array<fdb_key, 2 * burst_max> key_;
    std::array<uint32_t, 2 * burst_max> found_;
    std::array<fdb_key, burst_max> source_;
    uint32_t changes_, destinations_;
    packet_mask asked_ = 0;
};

class bridge_stage {
  public:
    bridge_stage(context& c, burst& b) noexcept : c_(c), b_(b), t_(*c.snapshot->bridges) {}

    stage_mask run(packet_mask packets) noexcept {
        const packet_mask here = find_domains(packets);
        if (here == 0) return enqueue(b_, drops_, stage::drop);
        const lookup found(t_, *c_.bridge_state, b_, here);
        const uint32_t second_look = bridge_exit::second_look(
            b_.common_iface == 0 || t_.exits[b_.common_iface].isolation != 0);
        uint32_t any = 0;
        uint32_t k = 0;
        for_each(here, [&](uint32_t i) {
            const uint16_t out = found.to(k++).ifindex();
            const bridge_exit exit = t_.exits[out];
            any |= exit.word();
            b_.out[i] = {.port = exit.port, .interface = out};
        });
        const packet_mask unusual = (any & second_look) != 0 ? here : here & going_back(b_);
        for_each(unusual, [&](uint32_t i) { classify_exit(i); });
        found.sources(*c_.bridge_state, b_, [&](uint32_t i, fdb_entry from) {
            if ((b_.from_irb >> i & 1) == 0) meet(i, from);
        });
        if (may_be_longer(b_, t_.min_max_bytes)) [[unlikely]]
            for_each(here & ~drops_, [&](uint32_t i) { limit_length(i); });
        flooded_ = nowhere_ & ~drops_;
        for_each(same_ & ~nowhere_ & ~drops_,
                 [&](uint32_t i) { drop(i, drop_reason::bridge_same_port); });
        for_each(isolated_ & ~nowhere_ & ~drops_,
                 [&](uint32_t i) { drop(i, drop_reason::bridge_isolated); });
        for_each(flooded_, [&](uint32_t i) { limit(i); });
        b_.suppressed = 0;
        if (t_.addresses != nullptr) [[unlikely]]
            b_.suppressed = suppress(c_, b_, here & ~drops_, flooded_);
        return move_on(here);
    }

  private:
    void drop(uint32_t i, drop_reason why) noexcept { drop_packet(b_, i, why, drops_); }

    /// Answers  the packets that have a domain
    packet_mask find_domains(packet_mask packets) noexcept {
        // The device may have written the frame to memory far from this CPU.
        for_each(packets, [&](uint32_t i) { rte_prefetch0(frame_of(b_, i)); });
        const bridge_member* const one =
            b_.common_iface != 0 ? &t_.members[b_.common_iface] : nullptr;
        const bool one_vlan =
            one != nullptr && (one->by_vlan == nullptr || of_one_vlan(b_, packets));
        const uint16_t common = one_vlan ? one->domain_of(true, b_.tag[0]) : 0;
        one_domain_ = common != 0;
        if (one_domain_) {
            b_.domain.fill(common);
        } else {
            uint16_t some = 0, all = 0xffff;  // union and intersection of the domains' bits
            uint16_t least = 0xffff;
            const auto put = [&](uint32_t i, uint16_t domain) {
                b_.domain[i] = domain;
                least = std::min(least, domain);
                some |= domain;
                all &= domain;
            };
            if (b_.tagged == 0)
                for_each(packets, [&](uint32_t i) { put(i, t_.members[b_.in[i]].untagged); });
            else
                for_each(packets, [&](uint32_t i) {
                    const bool tagged = (b_.tagged >> i & 1) != 0;
                    put(i, t_.members[b_.in[i]].domain_of(tagged, b_.tag[i]));
                });
            if (least == 0) [[unlikely]]
                for_each(packets, [&](uint32_t i) {
                    if (b_.domain[i] == 0) drop(i, drop_reason::bridge_vlan);
                });
            one_domain_ = some == all;
        }
        const packet_mask here = packets & ~drops_;
        count(*c_.bridge_state, b_, here & ~b_.from_irb, one_domain_);
        return here;
    }

    void classify_exit(uint32_t i) noexcept {
        const packet_mask one = packet_mask{1} << i;
        const bridge_exit out = t_.exits[b_.out[i].interface];
        if (out.is == bridge_exit::nowhere) nowhere_ |= one;
        if (out.is == bridge_exit::local) local_ |= one;
        if (b_.out[i].interface == b_.in[i]) same_ |= one;
        if (out.isolation != 0 && out.isolation == t_.exits[b_.in[i]].isolation) isolated_ |= one;
    }

    /// Frames to tunnels and to the router are limited there. Flooded ones are limited here: a bridge's tunnels take no
    /// longer frames than its ports.
    void limit_length(uint32_t i) noexcept {
        const auto is = t_.exits[b_.out[i].interface].is;
        if (is == bridge_exit::tunnel || is == bridge_exit::local) return;
        const bridge_domain& d = t_.domains[b_.domain[i]];
        if (bytes_of(b_, i) > t_.bridges[d.bridge].max_bytes) drop(i, drop_reason::bridge_too_big);
    }

    /// A source without an FDB entry, or with one on another interface.
    void meet(uint32_t i, fdb_entry known) noexcept {
        const uint8_t* source = frame_of(b_, i) + source_offset;
        if ((*source & 1) != 0) return drop(i, drop_reason::ether_source_group);
        const bridge_member& in = t_.members[b_.in[i]];
        // Another router may send from a virtual router's address, one of extra_macs (RFC 9568 section 7.2).
        if (t_.exits[known.ifindex()].is == bridge_exit::local &&
            std::memcmp(source, c_.snapshot->interfaces[known.ifindex()].mac.bytes,
                        sizeof(mac_address)) == 0)
            return drop(i, drop_reason::bridge_source_own);
        if (known.dampened()) return drop(i, drop_reason::bridge_moving);
        if (in.locked) return drop(i, drop_reason::bridge_locked);
        if (in.learns && !known.fixed())
            c_.bridge_state->learn(fdb_key_of(source, b_.domain[i]), b_.in[i], c_.now);
    }

    /// Frames to be flooded: handle reserved addresses, then storm control.
    void limit(uint32_t i) noexcept {
        flood_kind kind = flood_kind::unknown;
        if (is_group(b_, i)) {
            const mac_address& to =
                packet::header_at<packet::ethernet_header>(frame_of(b_, i)).destination;
            kind = to == broadcast_mac ? flood_kind::broadcast : flood_kind::multicast;
            // IEEE 802.1Q table 8-1 is about frames that are relayed, not the bridge's own.
            const bool is_own = (b_.from_irb >> i & 1) != 0;
            if (const auto choice = is_own ? reserved_choice::flood : reserved(i, to);
                choice != reserved_choice::flood) {
                flooded_ &= ~(packet_mask{1} << i);
                if (choice == reserved_choice::drop) return drop(i, drop_reason::bridge_reserved);
                b_.punt[i] = punt_reason::reserved;
                b_.nexthop[i] = fixed_nexthop::local;
                b_.out[i] = {};
                b_.parsed[i] = {};
                punts_ |= packet_mask{1} << i;
                return;
            }
        }
        shared_token_bucket* const bucket = t_.members[b_.in[i]].storm[static_cast<size_t>(kind)];
        if (bucket == nullptr || c_.is_dry_run || bucket->allow(c_.now)) return;
        flooded_ &= ~(packet_mask{1} << i);
        constexpr drop_reason why[] = {drop_reason::bridge_storm_unknown,
                                       drop_reason::bridge_storm_multicast,
                                       drop_reason::bridge_storm_broadcast};
        drop(i, why[static_cast<size_t>(kind)]);
    }
    [[nodiscard]] reserved_choice reserved(uint32_t i, const mac_address& to) const noexcept {
        constexpr uint8_t group[] = {0x01, 0x80, 0xc2, 0x00, 0x00};
        if (std::memcmp(to.bytes, group, sizeof group) != 0 || to.bytes[5] > 0x0f)
            return reserved_choice::flood;
        return t_.bridges[t_.members[b_.in[i]].bridge].reserved[to.bytes[5]];
    }

    stage_mask move_on(packet_mask here) noexcept {
        const packet_mask ours = local_ & ~drops_;
        for_each(ours, [&](uint32_t i) { b_.in[i] = b_.out[i].interface; });
        b_.recirculated |= ours;
        packet_mask sent = here & ~drops_ & ~ours & ~flooded_ & ~punts_;
        if (has_out_lists(*c_.snapshot)) [[unlikely]] {
            const packet_mask denied = classify_out(*c_.snapshot, b_, sent, c_.worker);
            sent &= ~denied;
            drops_ |= denied;
        }
        if (one_domain_ && sent != 0)
            c_.bridge_state->domain(b_.domain[static_cast<size_t>(std::countr_zero(sent))])
                .tx_packets.add(static_cast<uint64_t>(std::popcount(sent)));
        else
            for_each(sent,
                     [&](uint32_t i) { c_.bridge_state->domain(b_.domain[i]).tx_packets.add(1); });
        return go_on_output(*c_.snapshot, b_, sent, stage::bridge) |
               enqueue(b_, flooded_, stage::flood) | enqueue(b_, punts_, stage::punt) |
               enqueue(b_, drops_, stage::drop);
    }

    context& c_;
    burst& b_;
    const bridge_tables& t_;
    bool one_domain_ = false;
    packet_mask drops_ = 0, punts_ = 0, flooded_ = 0;
    packet_mask nowhere_ = 0, local_ = 0, same_ = 0, isolated_ = 0;
};

}  // namespace

stage_mask run_bridge(context& c, burst& b, packet_mask packets) noexcept {
    return bridge_stage(c, b).run(packets);
}

}  // namespace turnpike::datapath
