// SPDX-License-Identifier: BSD-3-Clause
// Stage iface_input: maps port and VLAN of each frame to its ingress interface, whose path has the next
// stage. On a further pass the interface is given: the tunnel's, or the bridge's routing interface. The outer
// tag is popped on VLAN-aware interfaces (IEEE 802.1Q-2018 section 6.9.1); where the bridge only reads it, it stays
// in the frame, and stage vlan_push replaces or pops it.
//   Reads   packet, in_port; port.{untagged, by_vlan, tag_type}; on a second pass in
//   Writes  in, common_iface, tagged, tag_in_frame, tag; the frame, and single_segment_bytes, where a tag is taken off
#include <rte_mbuf.h>

#include <cstring>

#include "datapath/all_equal.hpp"
#include "datapath/graph.hpp"
#include "datapath/vlan_tag.hpp"
#include "isa/simd/v128.hpp"

namespace turnpike::datapath {
namespace {

/// Frames on a port with VLANs: finds their interfaces, and records, or pops, their tags where the interfaces are
/// VLAN-aware. VID 0 is a priority tag (IEEE 802.1Q-2018 section 9.6); 4095 is reserved, and a later stage drops it
/// with a reason.
class classifier {
  public:
    classifier(const snapshot& v, const port_snapshot& port, burst& b) noexcept
        : v_(v), port_(port), b_(b) {}

    void classify(packet_mask packets) noexcept {
        const tag_masks at = find_tags();
        const packet_mask tagged = packets & at.tagged, untagged = packets & at.untagged,
                          rest = packets & ~tagged & ~untagged;
        if (tagged == all_of(b_.count) && all_equal(b_.tag, b_.count, packet::vlan_id_mask))
            classify_one_vlan();
        else if (tagged != 0)
            classify_vlans(tagged);
        if (untagged != 0) {
            for_each(untagged, [&](uint32_t i) { b_.in[i] = port_.untagged; });
            note(port_.untagged);
        }
        if (rest != 0) [[unlikely]]
            for_each(rest, [&](uint32_t i) { classify_one(i); });
    }
    /// All packets have one ingress interface.
    [[nodiscard]] bool one_interface() const noexcept { return differ_ == 0; }
    /// The stage that all packets go to, whatever their interfaces; stage iface_input: there is none.
    [[nodiscard]] stage one_stage() const noexcept {
        const stage_mask first = in_any_path_ & -in_any_path_;
        return (first & in_all_paths_) != 0 ? next_of(first, stage::iface_input)
                                            : stage::iface_input;
    }

  private:
    static constexpr uint32_t no_interface_yet = UINT32_MAX;

    /// Packets with and without an outer tag of the port's TPID. In neither: frames that are short, or in several
    /// segments, or behind the last four.
    struct tag_masks {
        packet_mask tagged = 0, untagged = 0;
    };

    /// Four frames at a time. Writes b_.tag; the elements of frames without a tag are undefined.
    tag_masks find_tags() const noexcept {
        constexpr uint32_t tagged_bytes =
            sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag);
        const v128 type = v128::set1(__builtin_bswap16(port_.tag_type));
        const v128 low_half = v128::set1(0xffff), high_byte = v128::set1(0xff00);
        const v128 shortest = v128::set1(tagged_bytes - 1);
        tag_masks out;
        for (uint32_t i = 0; i + 4 <= b_.count; i += 4) {
            const uint8_t* frame[4];
            for (uint32_t k = 0; k < 4; ++k)
                frame[k] = rte_pktmbuf_mtod(b_.packet[i + k], const uint8_t*);
            const v128 at_type =
                v128::load_u32_each(frame, offsetof(packet::ethernet_header, type));
            const v128 whole = v128::greater(v128::load(&b_.single_segment_bytes[i]), shortest);
            const v128 matches = v128::equal<uint32_t>(at_type & low_half, type);
            const uint64_t tags = v128::narrow(v128::shift_right<24>(at_type) |
                                               (v128::shift_right<8>(at_type) & high_byte));
            std::memcpy(&b_.tag[i], &tags, sizeof tags);
            out.tagged |= v128::sign_bits(whole & matches) << i;
            out.untagged |= v128::sign_bits(v128::and_not(matches, whole)) << i;
        }
        return out;
    }

    [[nodiscard]] uint16_t interface_of(uint16_t tci) const noexcept {
        return port_.by_vlan[tci & packet::vlan_id_mask];
    }
    void classify_one_vlan() noexcept {
        const uint16_t ifindex = interface_of(b_.tag[0]);
        b_.in.fill(ifindex);
        note(ifindex);
        treat(all_of(b_.count), v_.interfaces[ifindex].tags);
    }
    void classify_vlans(packet_mask tagged) noexcept {
        uint32_t some = 0, all = UINT32_MAX;
        for_each(tagged, [&](uint32_t i) {
            const uint16_t ifindex = interface_of(b_.tag[i]);
            b_.in[i] = ifindex;
            note(ifindex);
            const uint32_t is = v_.interfaces[ifindex].tags;
            some |= is;
            all &= is;
        });
        if (some == all) return treat(tagged, some);
        for_each(tagged,
                 [&](uint32_t i) { treat(packet_mask{1} << i, v_.interfaces[b_.in[i]].tags); });
    }
    /// Record tags whose interfaces treat them in one way, or pop them.
    void treat(packet_mask tagged, uint32_t how) noexcept {
        if (how == interface::unknown) return;
        b_.tagged |= tagged;
        if (how == interface::known)
            b_.tag_in_frame |= tagged;
        else if (tagged == all_of(b_.count))
            vlan_pop_all(b_);
        else
            for_each(tagged, [&](uint32_t i) { vlan_pop(b_, i); });
    }
    void note(uint16_t ifindex) noexcept {
        if (first_ == no_interface_yet) first_ = ifindex;
        differ_ |= ifindex ^ first_;
        in_all_paths_ &= v_.paths[ifindex].input;
        in_any_path_ |= v_.paths[ifindex].input;
    }
    void classify_one(uint32_t i) noexcept {
        const found_tag found = find_tag(b_.packet[i], port_.tag_type);
        b_.in[i] = found.is == found_tag::none ? port_.untagged : interface_of(found.tci);
        note(b_.in[i]);
        if (found.is == found_tag::none) return;
        b_.tag[i] = found.tci;
        const packet_mask one = packet_mask{1} << i;
        const auto how = v_.interfaces[b_.in[i]].tags;
        if (found.is == found_tag::whole) return treat(one, how);
        if (how != interface::unknown) b_.tagged |= one;
    }

    const snapshot& v_;
    const port_snapshot& port_;
    burst& b_;
    uint32_t first_ = no_interface_yet, differ_ = 0;
    stage_mask in_all_paths_ = ~stage_mask{0}, in_any_path_ = 0;
};

/// Requires  packets is not empty
bool of_one_interface(const burst& b, packet_mask packets) noexcept {
    const uint16_t first = b.in[static_cast<size_t>(std::countr_zero(packets))];
    bool one = true;
    for_each(packets, [&](uint32_t i) { one &= b.in[i] == first; });
    return one;
}

/// Frames without an interface; the others of the burst stay on the common path.
__attribute__((noinline)) packet_mask of_no_interface(const snapshot& v, const burst& b,
                                                      packet_mask packets) noexcept {
    packet_mask none = 0;
    for_each(packets, [&](uint32_t i) {
        const bool nowhere = v.paths[b.in[i]].input == 0;
        none |= packet_mask{nowhere} << i;
    });
    return none;
}

/// Drop frames without an interface, or with one that is down.
stage_mask drop_all(const snapshot& v, burst& b, packet_mask nowhere) noexcept {
    for_each(nowhere, [&](uint32_t i) {
        b.drop[i] = v.interfaces[b.in[i]].admin_down ? drop_reason::interface_down
                                                     : drop_reason::no_interface;
    });
    return enqueue(b, nowhere, stage::drop);
}

/// For a burst whose remaining packets all have one ingress interface.
inline __attribute__((always_inline)) stage_mask go_one_way(const snapshot& v, burst& b,
                                                            packet_mask packets,
                                                            uint16_t ifindex) noexcept {
    b.common_iface = ifindex;
    const stage_mask path = v.paths[ifindex].input;
    if (path == 0) [[unlikely]]
        return drop_all(v, b, packets);
    return enqueue(b, packets, next_of(path, stage::iface_input));
}

/// Frames of several interfaces, each by its path.
/// stages  the others are left out
__attribute__((noinline)) stage_mask go_each_way(const snapshot& v, burst& b, packet_mask packets,
                                                 stage_mask stages) noexcept {
    b.common_iface = 0;
    const packet_mask nowhere = of_no_interface(v, b, packets);
    return drop_all(v, b, nowhere) |
           go_on(b, packets & ~nowhere, stage::iface_input,
                 [&](uint32_t i) { return v.paths[b.in[i]].input & stages; });
}

}  // namespace

stage_mask run_iface_input(context& c, burst& b, packet_mask packets) noexcept {
    const snapshot& v = *c.snapshot;
    const port_snapshot& port = v.port[b.in_port];
    if (b.recirculations == 0 && port.by_vlan == nullptr) [[likely]] {
        for (uint16_t& in : b.in) in = port.untagged;
        return go_one_way(v, b, packets, port.untagged);
    }
    // Packets that rx dropped are not in the mask; on a further pass the rest of the burst has left.
    const bool all_here = b.recirculations == 0 || packets == all_of(b.count);
    bool one = false;
    stage same = stage::iface_input;
    if (b.recirculations == 0) {
        classifier of_port(v, port, b);
        of_port.classify(packets);
        one = of_port.one_interface();
        same = of_port.one_stage();
    } else {
        one = all_here && of_one_interface(b, packets);
    }
    if (one) return go_one_way(v, b, packets, b.in[static_cast<size_t>(std::countr_zero(packets))]);
    if (same != stage::iface_input) {
        b.common_iface = 0;
        return enqueue(b, packets, same);
    }
    const packet_mask nowhere = of_no_interface(v, b, packets), rest = packets & ~nowhere;
    if (all_here && nowhere != 0 && rest != 0 && of_one_interface(b, rest))
        return drop_all(v, b, nowhere) |
               go_one_way(v, b, rest, b.in[static_cast<size_t>(std::countr_zero(rest))]);
    // The fast paths read the whole burst.
    const stage_mask fast = bit(stage::vxlan_fast) | bit(stage::ip_fast);
    return go_each_way(v, b, packets, all_here ? ~stage_mask{0} : ~fast);
}

}  // namespace turnpike::datapath
