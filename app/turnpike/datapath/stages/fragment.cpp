// SPDX-License-Identifier: BSD-3-Clause
// Stage fragment: fragments IPv4 packets that exceed the egress MTU (RFC 791 section 3.2). The first
// fragment is the packet itself, trimmed; the others are new mbufs, and all are sent together. A frame that exceeds the
// MTU only by its padding is sent whole, without the padding.
//   Reads   packet, out, mtu
//   Writes  context.made
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "datapath/graph.hpp"
#include "datapath/read_headers.hpp"
#include "packet/fragment.hpp"

namespace turnpike::datapath {
namespace {

using packet::ethernet_bytes;

/// 64 KB at an MTU of 576. A lower MTU with more fragments would only exhaust mbufs.
constexpr uint32_t max_pieces = 120;

/// How a packet is divided into fragments.
struct fragment_layout {
    uint32_t header_bytes = 0, data_bytes = 0, of_piece = 0, pieces = 0;

    fragment_layout(rte_mbuf* m, uint32_t mtu) noexcept {
        const auto& ip = packet::header_at<packet::ipv4_header>(
            rte_pktmbuf_mtod_offset(m, uint8_t*, ethernet_bytes));
        header_bytes = ip.header_bytes();
        data_bytes = ip.total_bytes - header_bytes;
        // A fragment fits in one mbuf.
        const uint32_t room =
            rte_pktmbuf_data_room_size(m->pool) - RTE_PKTMBUF_HEADROOM - ethernet_bytes;
        of_piece = packet::bytes_of_piece(header_bytes, std::min(mtu, room));
        pieces = (data_bytes + of_piece - 1) / of_piece;
    }
    [[nodiscard]] packet::piece piece(uint32_t n) const noexcept {
        const uint32_t offset = n * of_piece;
        return {.offset = offset,
                .bytes = std::min(of_piece, data_bytes - offset),
                .last = n + 1 == pieces};
    }
};

class fragmenter {
  public:
    /// Requires  an unused burst in context.made
    fragmenter(context& c, burst& b) noexcept : c_(c), b_(b), pieces_(c.made[c.bursts_in_use]) {
        pieces_.begin(0, b.in_port);
        pieces_.copies = b.copies;
        ++c_.bursts_in_use;
    }
    ~fragmenter() { --c_.bursts_in_use; }
    fragmenter(const fragmenter&) = delete;
    fragmenter& operator=(const fragmenter&) = delete;

    stage_mask run(packet_mask packets) noexcept {
        for_each(packets, [&](uint32_t i) {
            const drop_reason why = fragment(i);
            if (why != drop_reason::none) drop_packet(b_, i, why, drops_);
        });
        send_pieces();
        return enqueue(b_, drops_, stage::drop);
    }

  private:
    /// Answers  the drop reason on failure
    drop_reason fragment(uint32_t i) noexcept {
        rte_mbuf* const m = b_.packet[i];
        // A packet that waited in control may exceed a new MTU; packets from the kernel have not
        // been parsed.
        packet::parsed p;
        if (!read_headers(m, p)) return drop_reason::headers_not_contiguous;
        if (p.l3_drop != packet::drop_reason::none) return drop_reason_of(p.l3_drop);
        // The frame's length led it here; without padding the packet may fit.
        const uint32_t mtu = b_.mtu[i];
        if (p.padding_bytes != 0) trim(m, p.padding_bytes);
        if (p.l3_bytes <= mtu) {
            add(i, m);
            return drop_reason::none;
        }
        if (p.l2_bytes != ethernet_bytes || !p.is_ipv4()) return drop_reason::ipv6_too_big;
        const auto& ip = packet::header_at<packet::ipv4_header>(
            rte_pktmbuf_mtod_offset(m, const uint8_t*, ethernet_bytes));
        if ((ip.fragment & packet::ipv4_dont_fragment) != 0) return drop_reason::ipv4_too_big;
        if (mtu < packet::least_ipv4_mtu) return drop_reason::ipv4_needs_fragmenting;
        const fragment_layout cut(m, mtu);
        if (cut.pieces > max_pieces) return drop_reason::ipv4_needs_fragmenting;
        std::array<rte_mbuf*, max_pieces> made;
        if (rte_pktmbuf_alloc_bulk(m->pool, made.data(), cut.pieces - 1) != 0)
            return drop_reason::fragment_memory;
        c_.counters[b_.in_port].originated.add(cut.pieces - 1);
        for (uint32_t n = 1; n < cut.pieces; ++n) fill(made[n - 1], m, cut, cut.piece(n));
        uint8_t* const header = rte_pktmbuf_mtod_offset(m, uint8_t*, ethernet_bytes);
        packet::make_piece(header, cut.header_bytes, cut.piece(0));
        trim(m, m->pkt_len - ethernet_bytes - cut.header_bytes - cut.piece(0).bytes);
        add(i, m);
        for (uint32_t n = 1; n < cut.pieces; ++n) add(i, made[n - 1]);
        return drop_reason::none;
    }
    static void fill(rte_mbuf* to, const rte_mbuf* from, const fragment_layout& cut,
                     const packet::piece& p) noexcept {
        const uint32_t headers = ethernet_bytes + cut.header_bytes;
        auto* const frame = rte_pktmbuf_mtod(to, uint8_t*);
        std::memcpy(frame, rte_pktmbuf_mtod(from, const uint8_t*), headers);
        packet::make_piece(frame + ethernet_bytes, cut.header_bytes, p);
        const void* data = rte_pktmbuf_read(from, headers + p.offset, p.bytes, frame + headers);
        if (data != frame + headers) std::memcpy(frame + headers, data, p.bytes);
        to->data_len = static_cast<uint16_t>(headers + p.bytes);
        to->pkt_len = to->data_len;
        to->port = from->port;
    }

    /// Add a fragment with packet i's egress.
    void add(uint32_t i, rte_mbuf* m) noexcept {
        burst& out = pieces_;
        const uint32_t k = out.count++;
        out.packet[k] = m;
        out.single_segment_bytes[k] = m->nb_segs == 1 ? m->pkt_len : 0;
        out.in[k] = b_.in[i];
        out.out[k] = b_.out[i];
        // ACLs of a bridge's members apply to fragments.
        if (has_bridge_routing(*c_.snapshot) && !read_headers(m, out.parsed[k])) out.parsed[k] = {};
        if (out.count == burst_max) send_pieces();
    }
    void send_pieces() noexcept {
        burst& out = pieces_;
        if (out.count == 0) return;
        dispatch(c_.table, c_, out,
                 go_on_output(*c_.snapshot, out, all_of(out.count), stage::fragment),
                 [](size_t, packet_mask) {});
        out.begin(0, b_.in_port);
        out.copies = b_.copies;
    }

    context& c_;
    burst& b_;
    burst& pieces_;
    packet_mask drops_ = 0;
};

}  // namespace

stage_mask run_fragment(context& c, burst& b, packet_mask packets) noexcept {
    if (c.bursts_in_use == c.made.size()) [[unlikely]] {
        for_each(packets, [&](uint32_t i) { b.drop[i] = drop_reason::fragment_memory; });
        return enqueue(b, packets, stage::drop);
    }
    return fragmenter(c, b).run(packets);
}

}  // namespace turnpike::datapath
