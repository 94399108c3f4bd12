// SPDX-License-Identifier: BSD-3-Clause
// Stage flood: sends a frame to every other member of its domain. All members but the last get copies, as one
// burst for all frames with the same flood list; the last member, or the bridge's routing interface, gets the
// frames themselves.
//   Reads   packet, in, domain, suppressed, tagged, tag_in_frame, tag, parsed; snapshot.bridges, ports' links
//   Writes  out; in of frames to the router; context.made
#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include "datapath/graph.hpp"
#include "datapath/sampler.hpp"
#include "datapath/stages/acl_verdict.hpp"

namespace turnpike::datapath {
namespace {

/// Copy a frame into an empty mbuf; false: no room, or several segments.
bool copy_into(rte_mbuf* copy, const rte_mbuf* m) noexcept {
    if (m->nb_segs != 1 || m->data_len > copy->buf_len - RTE_PKTMBUF_HEADROOM) return false;
    rte_memcpy(rte_pktmbuf_mtod(copy, void*), rte_pktmbuf_mtod(m, const void*), m->data_len);
    copy->data_len = m->data_len;
    copy->pkt_len = m->pkt_len;
    copy->port = m->port;
    return true;
}

/// Bulk allocation of mbufs for copies; the unused ones are freed.
class empty_packets {
  public:
    empty_packets(rte_mempool* pool, uint32_t n) noexcept {
        if (rte_pktmbuf_alloc_bulk(pool, all_.data(), n) != 0) return;
        left_ = n;
        for (uint32_t i = 0; i < n; ++i) rte_prefetch0(rte_pktmbuf_mtod(all_[i], void*));
    }
    ~empty_packets() {
        if (left_ != 0) rte_pktmbuf_free_bulk(all_.data(), left_);
    }
    /// A deep copy; null: out of mbufs.
    rte_mbuf* copy_of(const rte_mbuf* m) noexcept {
        if (left_ != 0 && copy_into(all_[left_ - 1], m)) return all_[--left_];
        return rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
    }

  private:
    std::array<rte_mbuf*, burst_max> all_;
    uint32_t left_ = 0;
};

class flooder {
  public:
    flooder(context& c, burst& b) noexcept : c_(c), b_(b), t_(*c.snapshot->bridges) {}

    stage_mask run(packet_mask packets) noexcept {
        while (packets != 0) {
            const packet_mask same = alike(packets);
            flood(same);
            packets &= ~same;
        }
        return go_on_output(*c_.snapshot, b_, sent_, stage::flood) |
               enqueue(b_, drops_, stage::drop);
    }

  private:
    [[nodiscard]] bool is_group(uint32_t i) const noexcept {
        return (*rte_pktmbuf_mtod(b_.packet[i], const uint8_t*) & 1) != 0;
    }
    /// Not flooded to members with neigh_suppress.
    [[nodiscard]] bool is_suppressed(uint32_t i) const noexcept {
        return (b_.suppressed >> i & 1) != 0;
    }
    /// The packets with the same flood list as the first.
    [[nodiscard]] packet_mask alike(packet_mask packets) const noexcept {
        const auto first = static_cast<uint32_t>(std::countr_zero(packets));
        const bool group = is_group(first), suppressed = is_suppressed(first);
        packet_mask same = 0;
        for_each(packets, [&](uint32_t i) {
            const bool is = b_.domain[i] == b_.domain[first] && b_.in[i] == b_.in[first] &&
                            is_group(i) == group && is_suppressed(i) == suppressed;
            same |= packet_mask{is} << i;
        });
        return same;
    }

    void flood(packet_mask same) noexcept {
        const auto first = static_cast<uint32_t>(std::countr_zero(same));
        const bridge_domain& d = t_.domains[b_.domain[first]];
        const bool group = is_group(first), suppressed = is_suppressed(first);
        const uint16_t in = b_.in[first];
        uint16_t last = 0, members = 0;
        for (uint32_t k = 0; k < d.flooded; ++k) {
            const uint16_t to = t_.flooded[d.first_flooded + k];
            if (!goes_to(to, in, group) || (suppressed && t_.members[to].neigh_suppress)) continue;
            if (last != 0) copy(same, last);
            last = to;
            ++members;
        }
        const bool routed = group && d.routing != 0 && d.routing != in;
        if (c_.awaiting != nullptr) [[unlikely]] {
            if (routed && members == 1 && t_.exits[last].is == bridge_exit::member)
                c_.awaiting->end_copied(b_, same, t_.exits[last].port);
            else
                c_.awaiting->end_flooded(b_, same, members);
        }
        if (routed) {
            if (last != 0) copy(same, last);
            for_each(same, [&](uint32_t i) { b_.in[i] = d.routing; });
            b_.recirculated |= same;
        } else if (last != 0) {
            for_each(same, [&](uint32_t i) { b_.out[i] = out_by(last); });
            sent_ |= permit(b_, same, drops_);
        } else {
            for_each(same,
                     [&](uint32_t i) { drop_packet(b_, i, drop_reason::flood_no_member, drops_); });
            return;
        }
        c_.bridge_state->domain(b_.domain[first])
            .flooded.add(static_cast<uint64_t>(std::popcount(same)));
    }
    [[nodiscard]] egress out_by(uint16_t member) const noexcept {
        return {.port = t_.exits[member].port, .interface = member};
    }
    [[nodiscard]] bool goes_to(uint16_t to, uint16_t in, bool group) const noexcept {
        if (to == in || (!group && !t_.members[to].floods_unknown)) return false;
        const bridge_exit exit = t_.exits[to];
        if (exit.isolation != 0 && exit.isolation == t_.exits[in].isolation) return false;
        return c_.snapshot->port[exit.port].state->link_up.load(std::memory_order_relaxed);
    }
    /// Packets of one domain that the egress ACLs permit, counted as sent; the others are added to `denied`.
    packet_mask permit(burst& b, packet_mask packets, packet_mask& denied) noexcept {
        const auto first = static_cast<uint32_t>(std::countr_zero(packets));
        if (has_out_lists(*c_.snapshot)) [[unlikely]] {
            const packet_mask now = classify_out(*c_.snapshot, b, packets, c_.worker);
            denied |= now;
            packets &= ~now;
        }
        c_.bridge_state->domain(b.domain[first])
            .tx_packets.add(static_cast<uint64_t>(std::popcount(packets)));
        return packets;
    }

    /// The copies for one member are a burst of one egress interface.
    void copy(packet_mask same, uint16_t to) noexcept {
        counters::port_counters& counted = c_.counters[b_.in_port];
        counted.originated.add(static_cast<uint64_t>(std::popcount(same)));
        if (c_.bursts_in_use == c_.made.size()) [[unlikely]] {
            for_each(same, [&](uint32_t i) {
                counted.drop(drop_reason::clone_depth, b_.packet[i]->pkt_len);
            });
            return;
        }
        burst& out = c_.made[c_.bursts_in_use];
        out.begin(0, b_.in_port);
        out.copies = b_.copies;
        empty_packets empty(b_.packet[static_cast<size_t>(std::countr_zero(same))]->pool,
                            static_cast<uint32_t>(std::popcount(same)));
        for_each(same, [&](uint32_t i) {
            rte_mbuf* const m = empty.copy_of(b_.packet[i]);
            if (m == nullptr) return counted.drop(drop_reason::flood_memory, b_.packet[i]->pkt_len);
            const uint32_t k = out.count++;
            out.packet[k] = m;
            out.single_segment_bytes[k] = b_.single_segment_bytes[i];
            out.in[k] = b_.in[i];
            out.domain[k] = b_.domain[i];
            out.out[k] = out_by(to);
            out.tagged |= (b_.tagged >> i & 1) << k;
            out.tag_in_frame |= (b_.tag_in_frame >> i & 1) << k;
            out.tag[k] = b_.tag[i];
            if (has_out_lists(*c_.snapshot)) out.parsed[k] = b_.parsed[i];
        });
        if (out.count == 0) return;
        packet_mask denied = 0;
        const packet_mask sent = permit(out, all_of(out.count), denied);
        ++c_.bursts_in_use;
        dispatch(
            c_.table, c_, out,
            go_on_output(*c_.snapshot, out, sent, stage::flood) | enqueue(out, denied, stage::drop),
            [](size_t, packet_mask) {});
        --c_.bursts_in_use;
    }

    context& c_;
    burst& b_;
    const bridge_tables& t_;
    packet_mask sent_ = 0, drops_ = 0;
};

}  // namespace

stage_mask run_flood(context& c, burst& b, packet_mask packets) noexcept {
    return flooder(c, b).run(packets);
}

}  // namespace turnpike::datapath
