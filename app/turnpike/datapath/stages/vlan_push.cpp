// SPDX-License-Identifier: BSD-3-Clause
// Stage vlan_push: pushes VLAN tags (IEEE 802.1Q-2018 section 6.9.2) for VLAN interfaces and bridge members that send
// tagged. A tag that is still in the frame is replaced or popped.
//   Reads   packet, in_port, out, domain, tagged, tag_in_frame, tag; interface.{kind, vlan}, member.tag_out
//   Writes  the frame; tagged and tag_in_frame: the received tag, where it is still to be shown; single_segment_bytes does not
//           hold behind it
#include <rte_mbuf.h>

#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "datapath/vlan_tag.hpp"

namespace turnpike::datapath {
namespace {

constexpr uint16_t priority_mask = 0xf000;  ///< PCP and DEI

/// Egress tags, the last one kept: most packets of a burst leave by one interface, in one VLAN.
class egress_tags {
  public:
    egress_tags(const snapshot& v, const burst& b) noexcept : v_(v), b_(b) {}

    /// TPID and TCI of the packet's egress tag; 0: untagged.
    uint32_t of(uint32_t i) noexcept {
        const uint32_t key = uint32_t{b_.out[i].interface} << 16 | domain_of(i);
        if (key != key_) {
            key_ = key;
            find(i);
        }
        if (!bridged_ || tag_ == 0 || (b_.tagged >> i & 1) == 0) return tag_;
        return tag_ | (b_.tag[i] & priority_mask);
    }

  private:
    /// Only bridge members' tags depend on it, and only frames of bridges have it.
    [[nodiscard]] uint16_t domain_of(uint32_t i) const noexcept {
        return v_.bridges != nullptr ? b_.domain[i] : uint16_t{0};
    }
    void find(uint32_t i) noexcept {
        const interface& out = v_.interfaces[b_.out[i].interface];
        bridged_ = out.kind == interface_kind::bridged;
        tag_ = 0;
        if (out.kind == interface_kind::routed && out.vlan != 0)
            tag_ = uint32_t{packet::ether_type_vlan} << 16 | out.vlan;
        if (!bridged_) return;
        const bridge_member& member = v_.bridges->members[b_.out[i].interface];
        if (member.tag_out != nullptr) tag_ = member.tag_out[b_.domain[i] - member.first_domain];
    }

    const snapshot& v_;
    const burst& b_;
    uint32_t key_ = 0;  ///< interface and domain; interface 0 is unused
    uint32_t tag_ = 0;
    bool bridged_ = false;
};

/// Whether all frames are between trunks, in one VLAN, with the tag that they have.
bool preserve_tags(egress_tags& tags, const burst& b, packet_mask packets,
                   uint32_t received_type) noexcept {
    return packets == all_of(b.count) && b.tag_in_frame == packets &&
           tags.of(0) == (received_type | b.tag[0]) && all_equal(b.out, b.count, UINT32_MAX) &&
           all_equal(b.domain, b.count, UINT16_MAX) &&
           all_equal(b.tag, b.count, packet::vlan_id_mask);
}

}  // namespace

uint32_t removed_tag(const snapshot& v, const burst& b, uint32_t i) noexcept {
    if (((b.tagged & ~b.tag_in_frame) >> i & 1) == 0) return no_tag;
    const interface& in = v.interfaces[b.in[i]];
    const bool tunnel = in.kind == interface_kind::bridged && in.port == tunnel_port;
    const uint16_t type =
        tunnel ? v.tunnels->by_ifindex[b.in[i]].tag_type : v.port[b.in_port].tag_type;
    return uint32_t{type} << 16 | b.tag[i];
}

stage_mask run_vlan_push(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    packet_mask drops = 0, written = 0, popped = 0;
    egress_tags tags(v, b);
    const uint32_t received_type = uint32_t{v.port[b.in_port].tag_type} << 16;
    if (v.tunnels == nullptr && preserve_tags(tags, b, packets, received_type))
        return go_on_output(v, b, packets, stage::vlan_push);
    for_each(packets, [&](uint32_t i) {
        const uint32_t tag = tags.of(i);
        rte_mbuf* const m = b.packet[i];
        if ((b.tag_in_frame >> i & 1) != 0) {
            if (tag == (received_type | b.tag[i])) return;  // as it was received
            (tag != 0 ? written : popped) |= packet_mask{1} << i;
            return tag != 0 ? change_tag(m, tag) : vlan_pop(m);
        }
        if (tag == 0) return;
        if (vlan_push(m, tag))
            written |= packet_mask{1} << i;
        else
            drop_packet(b, i, drop_reason::vlan_no_headroom, drops);
    });
    // A frame with its egress tag is not shown with the received one, too, if it is dropped now.
    b.tagged &= ~written;
    b.tag_in_frame &= ~(written | popped);
    return go_on_output(v, b, packets & ~drops, stage::vlan_push) | enqueue(b, drops, stage::drop);
}

}  // namespace turnpike::datapath
