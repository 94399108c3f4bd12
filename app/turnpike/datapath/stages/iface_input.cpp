// SPDX-License-Identifier: BSD-3-Clause
// Stage iface_input: maps port and VLAN of each frame to its ingress interface, whose path has the next
// stage. On a further pass the interface is given: the tunnel's, or the bridge's routing interface. The outer
// tag is popped on VLAN-aware interfaces (IEEE 802.1Q-2018 section 6.9.1); where the bridge only reads it, it stays
// in the frame, and stage vlan_push replaces or pops it.
//   Reads   packet, in_port; port.{untagged, by_vlan, tag_type}; on a second pass in
//   Writes  in, common_iface, tagged, tag_in_frame, tag; the frame, and single_segment_bytes, where a tag is taken off
#include <rte_mbuf.h>

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
        for (uint32_t i = 0; i < b_.count; i += 4) {
            const packet_mask four = packets >> i & 0xf;
            if (four != 0xf || !take_four(i)) [[unlikely]]
                for_each(four << i, [&](uint32_t n) { classify_one(n); });
        }
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
    static constexpr uint32_t tagged_bytes =
        sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag);

    static constexpr uint64_t kind_and_tags = 0xff'00ff;  ///< bytes of first_word()
    static uint64_t first_word(const interface& in) noexcept {
        static_assert(offsetof(interface, kind) == 0 && offsetof(interface, tags) == 2);
        uint64_t word;
        std::memcpy(&word, static_cast<const void*>(&in), sizeof word);
        return word;
    }

    struct four_tags {
        std::array<uint8_t*, 4> frame;
        std::array<uint32_t, 4> tci;
        bool by_device;
    };
    /// Frames whose tags the device stripped, or that have the port's tag in their first segment, which is the whole frame.
    /// False: others are among the four.
    bool find_four(uint32_t i, four_tags& out) const noexcept {
        rte_mbuf* const* const m = &b_.packet[i];
        uint64_t any = 0, all = ~uint64_t{0};
        for (uint32_t k = 0; k < 4; ++k) {
            any |= m[k]->ol_flags;
            all &= m[k]->ol_flags;
            out.tci[k] = m[k]->vlan_tci;
            out.frame[k] = rte_pktmbuf_mtod(m[k], uint8_t*);
        }
        out.by_device = (all & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
        if (out.by_device) return true;
        const v128 bytes = v128::load(&b_.single_segment_bytes[i]);
        if ((any & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 ||
            v128::any(v128::greater(v128::set1(tagged_bytes), bytes)))
            return false;
        const v128 tag =
            v128::load_u32_each(out.frame.data(), offsetof(packet::ethernet_header, type));
        const v128 type = v128::set1(__builtin_bswap16(port_.tag_type));
        v128::store(out.tci.data(),
                    v128::shift_right<24>(tag) | (v128::shift_right<8>(tag) & v128::set1(0xff00)));
        return v128::sign_bits(v128::equal<uint32_t>(tag & v128::set1(0xffff), type)) == 0xf;
    }

    /// The usual four: their tags are found alike, and their interfaces are of one kind and treat tags alike.
    /// False: nothing was done.
    bool take_four(uint32_t i) noexcept {
        four_tags found;
        if (!find_four(i, found)) [[unlikely]]
            return false;
        uint16_t* const in = &b_.in[i];
        uint64_t all = ~uint64_t{0}, any = 0;
        for (uint32_t k = 0; k < 4; ++k) {
            in[k] = port_.by_vlan[found.tci[k] & packet::vlan_id_mask];
            const interface& of = v_.interfaces[in[k]];
            all &= first_word(of);
            any |= first_word(of);
        }
        const interface& first = v_.interfaces[in[0]];
        if (((all ^ any) & kind_and_tags) != 0 ||
            (found.by_device && first.tags == interface::unknown))
            return false;
        if (first_ == no_interface_yet) first_ = in[0];
        differ_ |= (in[0] ^ first_) | (in[1] ^ first_) | (in[2] ^ first_) | (in[3] ^ first_);
        for (uint32_t k = 0; k < 4; ++k) note_path(in[k]);
        if (first.tags != interface::unknown) record_four(i, found, first.tags == interface::taken);
        return true;
    }
    void record_four(uint32_t i, const four_tags& found, bool pop) noexcept {
        rte_mbuf* const* const m = &b_.packet[i];
        b_.tagged |= packet_mask{0xf} << i;
        for (uint32_t k = 0; k < 4; ++k) b_.tag[i + k] = static_cast<uint16_t>(found.tci[k]);
        if (found.by_device) {
            for (uint32_t k = 0; k < 4; ++k) clear_stripped(m[k]);
        } else if (pop) {
            uint32_t* const bytes = &b_.single_segment_bytes[i];
            v128::store(bytes,
                        v128::load(bytes) + v128::set1(0 - uint32_t{sizeof(packet::vlan_tag)}));
            for (uint32_t k = 0; k < 4; ++k) vlan_pop(m[k], found.frame[k]);
        } else {
            b_.tag_in_frame |= packet_mask{0xf} << i;
        }
    }
    /// The tag is the burst's now. A receiver on the other side of a ring would take the flag for its tag.
    static void clear_stripped(rte_mbuf* m) noexcept {
        m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
    }
    void note_path(uint16_t ifindex) noexcept {
        in_all_paths_ &= v_.paths[ifindex].input;
        in_any_path_ |= v_.paths[ifindex].input;
    }
    void enters(uint32_t i, uint16_t ifindex) noexcept {
        b_.in[i] = ifindex;
        if (first_ == no_interface_yet) first_ = ifindex;
        differ_ |= ifindex ^ first_;
        note_path(ifindex);
    }
    void classify_one(uint32_t i) noexcept {
        rte_mbuf* const m = b_.packet[i];
        const found_tag found = find_tag(m, port_.tag_type);
        if (found.is == found_tag::none) return enters(i, port_.untagged);
        const uint16_t id = found.tci & packet::vlan_id_mask;
        const uint16_t ifindex = port_.by_vlan[id];
        enters(i, ifindex);
        const interface& in = v_.interfaces[ifindex];
        // A priority tag that the device stripped is treated as one that stage ip_input pops.
        if (in.tags == interface::unknown && (found.is != found_tag::by_device || id != 0)) return;
        const packet_mask one = packet_mask{1} << i;
        b_.tagged |= one;
        b_.tag[i] = found.tci;
        if (found.is != found_tag::in_frame) return clear_stripped(m);
        if (in.tags == interface::known)
            b_.tag_in_frame |= one;
        else
            vlan_pop(b_, i);
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

/// Drop frames without an interface.
stage_mask drop_all(burst& b, packet_mask nowhere) noexcept {
    for_each(nowhere, [&](uint32_t i) { b.drop[i] = drop_reason::no_interface; });
    return enqueue(b, nowhere, stage::drop);
}

/// For a burst whose remaining packets all have one ingress interface.
inline __attribute__((always_inline)) stage_mask go_one_way(const snapshot& v, burst& b,
                                                            packet_mask packets,
                                                            uint16_t ifindex) noexcept {
    b.common_iface = ifindex;
    const stage_mask path = v.paths[ifindex].input;
    if (path == 0) [[unlikely]]
        return drop_all(b, packets);
    return enqueue(b, packets, next_of(path, stage::iface_input));
}

/// Frames of several interfaces, each by its path.
/// stages  the others are left out
__attribute__((noinline)) stage_mask go_each_way(const snapshot& v, burst& b, packet_mask packets,
                                                 stage_mask stages) noexcept {
    b.common_iface = 0;
    const packet_mask nowhere = of_no_interface(v, b, packets);
    return drop_all(b, nowhere) | go_on(b, packets & ~nowhere, stage::iface_input, [&](uint32_t i) {
               return v.paths[b.in[i]].input & stages;
           });
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
        return drop_all(b, nowhere) |
               go_one_way(v, b, rest, b.in[static_cast<size_t>(std::countr_zero(rest))]);
    // The fast paths read the whole burst.
    const stage_mask fast = bit(stage::vxlan_fast) | bit(stage::ip_fast);
    return go_each_way(v, b, packets, all_here ? ~stage_mask{0} : ~fast);
}

}  // namespace turnpike::datapath
