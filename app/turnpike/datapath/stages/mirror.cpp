// SPDX-License-Identifier: BSD-3-Clause
// Stages mirror_in and mirror_out: copy frames that a mirrored port received, or is about to send, and send the copies by
// the mirror's destination. Only frames of mirrored ports come here.
//   Reads   packet, in_port, out; port.{in_front, tag_type}, snapshot.mirrors
//   Writes  context.made; the mirrors' worker state
// A copy has the tag that the device stripped, or will insert. A port whose sent frames are mirrored has no UDP checksum
// offload, so that frames have their checksums here.
#include <rte_mbuf.h>

#include <algorithm>

#include "datapath/graph.hpp"
#include "datapath/mirror.hpp"
#include "datapath/vlan_tag.hpp"

namespace turnpike::datapath {
namespace {

/// TPID and TCI of a tag that the device stripped, or will insert; 0: none.
uint32_t tag_of_device(const rte_mbuf* m, uint64_t flag, uint16_t type) noexcept {
    return (m->ol_flags & flag) != 0 ? uint32_t{type} << 16 | m->vlan_tci : 0;
}

/// Outer VLAN ID, as on the wire; none: untagged, or priority-tagged.
std::optional<uint16_t> vlan_on_wire(const rte_mbuf* m, uint32_t device_tag) noexcept {
    uint32_t tag = device_tag;
    constexpr uint32_t tagged_bytes = sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag);
    if (tag == 0 && m->data_len >= tagged_bytes)
        tag =
            load_be<uint32_t>(rte_pktmbuf_mtod_offset(m, const uint8_t*, 2 * sizeof(mac_address)));
    const auto id = static_cast<uint16_t>(tag & packet::vlan_id_mask);
    if (!packet::is_vlan_type(static_cast<uint16_t>(tag >> 16)) || id == 0) return std::nullopt;
    return id;
}

/// The copies of a burst for one mirror.
class copier {
  public:
    copier(context& c, const burst& b, const mirror& by) noexcept
        : c_(c), b_(b), by_(by), state_(by.state[c.worker]), counted_(c.counters[b.in_port]) {}

    /// device_tag(i)  as tag_of_device()
    template <class DeviceTag>
    void run(packet_mask packets, const DeviceTag& device_tag) noexcept {
        if (c_.bursts_in_use == c_.made.size()) [[unlikely]]
            return for_each(packets, [&](uint32_t i) {
                if (selects(i, device_tag(i))) lose();
            });
        burst& out = c_.made[c_.bursts_in_use];
        out.begin(0, b_.in_port);
        for_each(packets, [&](uint32_t i) {
            const uint32_t tag = device_tag(i);
            if (!selects(i, tag)) return;
            rte_mbuf* const copy = copy_of(b_.packet[i], tag);
            if (copy == nullptr) [[unlikely]]
                return lose();
            counted_.originated.add(1);
            state_.packets.add(1);
            state_.bytes.add(copy->pkt_len - (by_.tag != 0 ? sizeof(packet::vlan_tag) : 0));
            out.out[out.count] = {.port = by_.to, .interface = 0};
            out.packet[out.count++] = copy;
        });
        dispatch(c_.table, c_, out, enqueue(out, all_of(out.count), stage::tx),
                 [](size_t, packet_mask) {});
    }

  private:
    bool selects(uint32_t i, uint32_t device_tag) noexcept {
        if (by_.vlan && vlan_on_wire(b_.packet[i], device_tag) != by_.vlan) return false;
        if (++state_.skipped < by_.one_in) return false;
        state_.skipped = 0;
        return true;
    }
    /// Counts like a copy that was dropped.
    void lose() noexcept {
        state_.lost.add(1);
        counted_.originated.add(1);
        counted_.drop(drop_reason::mirror_memory);
    }
    /// Null: no buffer.
    [[nodiscard]] rte_mbuf* copy_of(const rte_mbuf* m, uint32_t device_tag) const noexcept {
        const uint32_t tag_bytes = device_tag != 0 ? sizeof(packet::vlan_tag) : 0;
        rte_mbuf* const copy = rte_pktmbuf_copy(m, m->pool, 0, by_.max_bytes - tag_bytes);
        if (copy == nullptr) return nullptr;
        copy->ol_flags = 0;
        const bool room = (device_tag == 0 || vlan_push(copy, device_tag)) &&
                          (by_.tag == 0 || vlan_push(copy, by_.tag));
        if (room) [[likely]]
            return copy;
        rte_pktmbuf_free(copy);
        return nullptr;
    }

    context& c_;
    const burst& b_;
    const mirror& by_;
    mirror_worker_state& state_;
    counters::port_counters& counted_;
};

}  // namespace

stage_mask run_mirror_in(context& c, burst& b, packet_mask packets) noexcept {
    const port_snapshot& port = c.snapshot->port[b.in_port];
    for (const mirror& by : c.snapshot->mirrors->in[b.in_port])
        copier(c, b, by).run(packets, [&](uint32_t i) {
            return tag_of_device(b.packet[i], RTE_MBUF_F_RX_VLAN_STRIPPED, port.tag_type);
        });
    return enqueue(b, packets, next_of_port(port, stage::mirror_in));
}

stage_mask run_mirror_out(context& c, burst& b, packet_mask packets) noexcept {
    for (packet_mask left = packets; left != 0;) {
        const uint16_t port = b.out[static_cast<size_t>(std::countr_zero(left))].port;
        packet_mask same = 0;
        for_each(left, [&](uint32_t i) { same |= packet_mask{b.out[i].port == port} << i; });
        left &= ~same;
        for (const mirror& by : c.snapshot->mirrors->out[port])
            copier(c, b, by).run(same, [&](uint32_t i) {
                return tag_of_device(b.packet[i], RTE_MBUF_F_TX_VLAN, packet::ether_type_vlan);
            });
    }
    return go_on_output(*c.snapshot, b, packets, stage::mirror_out);
}

}  // namespace turnpike::datapath
