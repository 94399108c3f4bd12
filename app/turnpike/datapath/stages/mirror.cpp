// SPDX-License-Identifier: BSD-3-Clause
// Stages mirror_in and mirror_out: copy frames that a mirrored port received, or is about to send, and send the copies by
// the mirror's destination port, or in GRE or VXLAN to its remote address: as packets of the router, from stage lookup on. Only frames of mirrored ports come here.
//   Reads   packet, in_port, out; port.{in_front, tag_type}, snapshot.mirrors
//   Writes  context.made; the mirrors' worker state; with lists parsed
// A port whose sent frames are mirrored has no UDP checksum offload, so that frames have their checksums here.
#include <rte_mbuf.h>

#include <bit>

#include "datapath/graph.hpp"
#include "datapath/mirror.hpp"
#include "datapath/stages/acl_verdict.hpp"
#include "datapath/vlan_tag.hpp"

namespace turnpike::datapath {
namespace {

/// TPID and TCI of the outer VLAN tag, as on the wire, or no_tag.
uint32_t tag_on_wire(const rte_mbuf* m) noexcept {
    constexpr uint32_t tagged_bytes = sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag);
    if (m->data_len < tagged_bytes) return no_tag;
    const auto tag =
        load_be<uint32_t>(rte_pktmbuf_mtod_offset(m, const uint8_t*, 2 * sizeof(mac_address)));
    return packet::is_vlan_type(static_cast<uint16_t>(tag >> 16)) ? tag : no_tag;
}
std::optional<uint16_t> tci_on_wire(const rte_mbuf* m) noexcept {
    const uint32_t tag = tag_on_wire(m);
    return tag != no_tag ? std::optional(static_cast<uint16_t>(tag)) : std::nullopt;
}

/// VLAN ID of a tag; 0: untagged, or priority-tagged.
uint16_t vlan_of_tci(std::optional<uint16_t> tci) noexcept {
    return tci.value_or(0) & packet::vlan_id_mask;
}

/// Whether copies reach the remote address.
enum class reach : uint8_t { none, unresolved, path };

reach reach_of(const snapshot& v, const mirror_remote& to) noexcept {
    const vrf_snapshot& routing = v.vrf[v.interfaces[to.interface].vrf];
    uint64_t found = 0;
    if (to.v6) {
        const ipv6_address address = to.remote.v6_bytes();
        routing.fib6->lookup_bulk({&address, 1}, {&found, 1});
    } else {
        const uint32_t address = to.remote.v4();
        routing.fib4->lookup_bulk({&address, 1}, {&found, 1});
    }
    next_hop& nexthop = v.nexthops[found];
    switch (nexthop.kind.load(std::memory_order_acquire)) {
        case nexthop_kind::adjacency:
        case nexthop_kind::group:
            return reach::path;
        case nexthop_kind::glean:
            return reach::unresolved;
        case nexthop_kind::failed:
            nexthop.mark_used();  // control probes it
            return reach::none;
        default:
            return reach::none;
    }
}

/// The copies of a burst for one mirror.
class copier {
  public:
    /// port  the mirrored one; sent: its frames leave by it
    copier(context& c, burst& b, const mirror& by, uint16_t port, bool sent) noexcept
        : c_(c),
          b_(b),
          by_(by),
          port_(port),
          sent_(sent),
          state_(by.state->workers[c.worker]),
          counted_(c.counters[b.in_port]) {}

    void run(packet_mask packets) noexcept {
        packet_mask chosen = 0;
        for_each(packets, [&](uint32_t i) { chosen |= packet_mask{matches(i)} << i; });
        if (by_.list != nullptr && chosen != 0) chosen = permitted(chosen);
        for_each(chosen, [&](uint32_t i) {
            if (!sampled()) chosen &= ~(packet_mask{1} << i);
        });
        if (chosen == 0) return;
        if (c_.bursts_in_use == c_.made.size()) [[unlikely]]
            return for_each(chosen, [&](uint32_t i) { lose(i); });
        burst& out = c_.made[c_.bursts_in_use];
        out.begin(0, b_.in_port);
        out.copies = true;
        if (by_.remote == nullptr)
            for_each(chosen, [&](uint32_t i) { copy_to_port(out, i); });
        else
            copy_to_remote(out, chosen);
        if (out.count == 0) return;
        ++c_.bursts_in_use;
        const stage first = by_.remote == nullptr ? stage::tx : stage::lookup;
        dispatch(c_.table, c_, out, enqueue(out, all_of(out.count), first),
                 [](size_t, packet_mask) {});
        --c_.bursts_in_use;
    }

  private:
    bool matches(uint32_t i) const noexcept {
        if (!by_.vlan && by_.interface == 0) return true;
        const uint16_t vlan = vlan_of_tci(tci_on_wire(b_.packet[i]));
        if (by_.vlan && vlan != *by_.vlan) return false;
        if (by_.interface == 0) return true;
        if (sent_) return b_.out[i].interface == by_.interface;
        const port_snapshot& port = c_.snapshot->port[port_];
        if (port.by_vlan == nullptr) return port.untagged == by_.interface;
        // Only tags of the port's type select an interface.
        const bool selects = tag_on_wire(b_.packet[i]) >> 16 == port.tag_type;
        return port.by_vlan[selects ? vlan : 0] == by_.interface;
    }
    /// The list sees the frame as on the wire: the tags of the burst's frames are not known yet, or not needed any more.
    packet_mask permitted(packet_mask packets) noexcept {
        const packet_mask tagged = b_.tagged, in_frame = b_.tag_in_frame;
        b_.tagged = b_.tag_in_frame = 0;
        const packet_mask out = classify_mirrored(b_, packets, *by_.list, c_.worker);
        b_.tagged = tagged;
        b_.tag_in_frame = in_frame;
        return out;
    }
    bool sampled() noexcept {
        if (++state_.skipped < by_.one_in) return false;
        state_.skipped = 0;
        return true;
    }
    /// Counts like a copy that was dropped.
    void lose(uint32_t i) noexcept {
        state_.lost.add(1);
        counted_.originated.add(1);
        counted_.drop(drop_reason::mirror_memory, b_.packet[i]->pkt_len);
    }
    void count_copy(uint32_t bytes) noexcept {
        counted_.originated.add(1);
        state_.packets.add(1);
        state_.bytes.add(bytes);
    }
    void copy_to_port(burst& out, uint32_t i) noexcept {
        rte_mbuf* const copy = copy_of(b_.packet[i]);
        if (copy == nullptr) [[unlikely]]
            return lose(i);
        const uint32_t bytes = copy->pkt_len;
        if (by_.tag != 0 && !vlan_push(copy, by_.tag)) [[unlikely]] {
            rte_pktmbuf_free(copy);
            return lose(i);
        }
        count_copy(bytes);
        out.out[out.count] = {.port = by_.to, .interface = 0};
        out.packet[out.count++] = copy;
    }
    /// While the neighbour is not resolved, one copy of a burst goes on, so that it is.
    void copy_to_remote(burst& out, packet_mask packets) noexcept {
        const reach reached = reach_of(*c_.snapshot, *by_.remote);
        packet_mask copied = packets;
        if (reached == reach::none) copied = 0;
        if (reached == reach::unresolved) copied &= -copied;
        for_each(packets & ~copied, [&](uint32_t i) {
            state_.unreachable.add(1);
            counted_.originated.add(1);
            counted_.drop(drop_reason::mirror_unreachable, b_.packet[i]->pkt_len);
        });
        out.common_iface = 0;
        out.bytes = 0;
        const auto n = static_cast<uint32_t>(std::popcount(copied));
        uint32_t sequence = by_.state->sequence.fetch_add(n, std::memory_order_relaxed);
        for_each(copied, [&](uint32_t i) { encapsulate(out, i, sequence++); });
        out.outer = all_of(out.count);
    }
    void encapsulate(burst& out, uint32_t i, uint32_t sequence) noexcept {
        const rte_mbuf* const m = b_.packet[i];
        const std::optional<uint16_t> tci = tci_on_wire(m);
        rte_mbuf* const copy = copy_of(m);
        if (copy == nullptr) [[unlikely]]
            return lose(i);
        const packet::erspan_facts facts{.tagged = tci.has_value(),
                                         .tci = tci.value_or(0),
                                         .truncated = copy->pkt_len < m->pkt_len,
                                         .sent = sent_,
                                         .port = port_,
                                         .timestamp = by_.remote->timestamp(c_.now)};
        const uint32_t copied_bytes = copy->pkt_len, k = out.count;
        const uint16_t id = by_.remote->v6 ? uint16_t{0} : c_.next_identifier();
        if (!by_.remote->push(copy, sequence, id, facts, c_.snapshot->sharing, out.parsed[k]))
            [[unlikely]] {
            rte_pktmbuf_free(copy);
            return lose(i);
        }
        count_copy(copied_bytes);
        out.packet[k] = copy;
        out.in[k] = by_.remote->interface;
        out.single_segment_bytes[k] = copy->nb_segs == 1 ? copy->pkt_len : 0;
        ++out.count;
    }
    /// Null: no buffer.
    [[nodiscard]] rte_mbuf* copy_of(const rte_mbuf* m) const noexcept {
        rte_mbuf* const copy = rte_pktmbuf_copy(m, m->pool, 0, by_.max_bytes);
        if (copy != nullptr) copy->ol_flags = 0;
        return copy;
    }

    context& c_;
    burst& b_;
    const mirror& by_;
    const uint16_t port_;
    const bool sent_;
    mirror_worker_state& state_;
    counters::port_counters& counted_;
};

}  // namespace

stage_mask run_mirror_in(context& c, burst& b, packet_mask packets) noexcept {
    const port_snapshot& port = c.snapshot->port[b.in_port];
    for (const mirror& by : c.snapshot->mirrors->in[b.in_port])
        copier(c, b, by, b.in_port, false).run(packets);
    return enqueue(b, packets, next_of_port(port, stage::mirror_in));
}

stage_mask run_mirror_out(context& c, burst& b, packet_mask packets) noexcept {
    for (packet_mask left = b.copies ? 0 : packets; left != 0;) {
        const uint16_t port = b.out[static_cast<size_t>(std::countr_zero(left))].port;
        packet_mask same = 0;
        for_each(left, [&](uint32_t i) { same |= packet_mask{b.out[i].port == port} << i; });
        left &= ~same;
        for (const mirror& by : c.snapshot->mirrors->out[port])
            copier(c, b, by, port, true).run(same);
    }
    return go_on_output(*c.snapshot, b, packets, stage::mirror_out);
}

}  // namespace turnpike::datapath
