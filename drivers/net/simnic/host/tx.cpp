// SPDX-License-Identifier: BSD-3-Clause
#include "host/tx.hpp"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cstring>

namespace turnpike::simnic {
namespace {

constexpr uint64_t full_path_offloads =
    RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_VLAN_INSERT |
    RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
constexpr uint64_t segmentation = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG;

uint64_t offload_command(const rte_mbuf* m) noexcept {
    uint64_t command = 0;
    if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0) command |= tx_ipv4_checksum;
    const uint64_t l4 = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
    if (l4 == RTE_MBUF_F_TX_TCP_CKSUM) command |= tx_l4_tcp;
    if (l4 == RTE_MBUF_F_TX_UDP_CKSUM) command |= tx_l4_udp;
    if (command != 0)
        command |= static_cast<uint64_t>(m->l2_len & 0x7f) << tx_l2_shift |
                   static_cast<uint64_t>(m->l3_len & 0x1ff) << tx_l3_shift;
    if ((m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0)
        command |= tx_insert_tag | static_cast<uint64_t>(m->vlan_tci) << tx_tag_shift;
    return command;
}

constexpr uint64_t several_segments = 1;  ///< a bit that is no TX flag

/// Union of the TX flags of frames, and several_segments.
uint64_t needs(rte_mbuf* const* frames, uint32_t n) noexcept {
    constexpr uint64_t inserts =
        RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_VLAN | segmentation;
    uint64_t flags = 0;
    uint32_t segments = 0;
    for (uint32_t i = 0; i < n; ++i) {
        flags |= frames[i]->ol_flags;
        segments |= frames[i]->nb_segs ^ 1u;
    }
    return (flags & inserts) | (segments != 0 ? several_segments : 0);
}

}  // namespace

tx_queue::tx_queue(const settings& s)
    : s_(s),
      policy_(s.device->settings().policy.tx),
      ring_(static_cast<descriptor*>(s.zone->addr)),
      posted_(std::make_unique<rte_mbuf*[]>(s.size)),
      command_(tx_type_data | tx_end | (policy_.report_all ? tx_report : 0)) {}

tx_queue::~tx_queue() { rte_memzone_free(s_.zone); }

void tx_queue::start(uint64_t port_offloads) noexcept {
    std::memset(static_cast<void*>(ring_), 0, size_t{s_.size} * sizeof(descriptor));
    running_ = true;
    const uint64_t offloads = s_.offloads | port_offloads;
    fast_free_ = (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
    full_ = (offloads & full_path_offloads) != 0;
    next_ = 0;
    chained_ = false;
    free_ = s_.size - 1;  // one less than the size: distinguishes a full ring from an empty one
    report_at_ = done_at_ = s_.rs_threshold - 1u;
    tail_.value.store(0, std::memory_order_relaxed);
    s_.device->tx(s_.queue).attach({.iova = s_.zone->iova, .size = s_.size, .tail = &tail_});
}

void tx_queue::stop() noexcept {
    if (!running_) return;
    running_ = false;
    uint32_t at = done_at_ + 1 - s_.rs_threshold;
    for (; at != next_; at = at + 1 == s_.size ? 0 : at + 1) rte_pktmbuf_free_seg(posted_[at]);
    free_ = s_.size - 1;
    next_ = 0;
    done_at_ = s_.rs_threshold - 1u;
}

uint16_t tx_queue::burst(rte_mbuf** frames, uint16_t n) noexcept {
    if (!running_) [[unlikely]]
        return 0;
    uint32_t sent = 0;
    while (sent < n) {
        uint32_t piece = n - sent;
        if (policy_.doorbell_packets != 0) piece = std::min(piece, policy_.doorbell_packets);
        if (free_ < s_.free_threshold || free_ < piece) clean();
        const uint32_t posted = post(frames + sent, piece);
        sent += posted;
        if (posted != 0) tail_.mmio_write(next_);
        // Poll the device even if nothing was posted: it must write back descriptors of a full
        // ring.
        if (s_.works_device) s_.device->poll_tx();
        if (posted < piece) break;
    }
    return static_cast<uint16_t>(sent);
}

uint32_t tx_queue::post(rte_mbuf** frames, uint32_t n) noexcept {
    const uint64_t needed = full_ ? needs(frames, n) : 0;
    if (needed == 0) return fill_alike(frames, n, *s_.kernels->send);
    if (needed == RTE_MBUF_F_TX_VLAN) return fill_alike(frames, n, *s_.kernels->send_tagged);
    return fill_each(frames, n);
}

uint32_t tx_queue::fill_alike(rte_mbuf** frames, uint32_t n,
                              burst_kernels::tx_post_function& send) noexcept {
    n = std::min(n, free_);
    free_ -= n;
    for (uint32_t done = 0; done < n;) {
        const uint32_t chunk = std::min(n - done, s_.size - next_);
        send(ring_ + next_, &posted_[next_], frames + done, chunk, command_);
        request_reports(next_ + chunk);
        done += chunk;
    }
    return n;
}

uint16_t tx_queue::prepare(rte_mbuf* const* frames, uint16_t n) noexcept {
    for (uint16_t i = 0; i < n; ++i) {
        const bool segments = (frames[i]->ol_flags & segmentation) != 0;
        const bool sendable =
            frames[i]->pkt_len <= max_frame_bytes && frames[i]->nb_segs <= max_segments;
        if (!segments && sendable) continue;
        rte_errno = segments ? ENOTSUP : EINVAL;
        return i;
    }
    return n;
}

/// Drop and count a frame that the device cannot send; the application skipped tx_prepare.
bool tx_queue::refused(rte_mbuf* frame) noexcept {
    if (prepare(&frame, 1) == 1) [[likely]]
        return false;
    (rte_errno == ENOTSUP ? refused_segmentation : refused_length).add(1);
    rte_pktmbuf_free(frame);
    return true;
}

uint32_t tx_queue::fill_each(rte_mbuf** frames, uint32_t n) noexcept {
    for (uint32_t i = 0; i < n; ++i) {
        if (refused(frames[i])) continue;
        if (frames[i]->nb_segs > free_) {
            clean();
            if (frames[i]->nb_segs > free_) return i;
        }
        free_ -= frames[i]->nb_segs;
        chained_ |= frames[i]->nb_segs != 1;
        const uint64_t offloads = offload_command(frames[i]);
        for (rte_mbuf *segment = frames[i], *rest; segment != nullptr; segment = rest) {
            rest = segment->next;
            const uint64_t ends = rest == nullptr ? command_ : command_ & ~tx_end;
            posted_[next_] = segment;
            ring_[next_] = {
                {segment->buf_iova + segment->data_off,
                 ends | offloads | static_cast<uint64_t>(segment->data_len) << tx_bytes_shift}};
            request_reports(next_ + 1);
        }
    }
    return n;
}

/// Set RS on descriptors up to `to` (at most the ring's end), as the threshold says.
void tx_queue::request_reports(uint32_t to) noexcept {
    for (; report_at_ < to; report_at_ += s_.rs_threshold) ring_[report_at_].word[1] |= tx_report;
    next_ = to;
    if (next_ == s_.size) {
        next_ = 0;
        report_at_ = s_.rs_threshold - 1u;
    }
}

/// Free the blocks that the device has written back.
void tx_queue::clean() noexcept {
    while (s_.size - 1 - free_ >= s_.rs_threshold) {
        const uint64_t word_1 = __atomic_load_n(&ring_[done_at_].word[1], __ATOMIC_ACQUIRE);
        if ((word_1 & tx_type_mask) != tx_type_done) return;
        free_block(done_at_ + 1 - s_.rs_threshold);
        free_ += s_.rs_threshold;
        done_at_ += s_.rs_threshold;
        if (done_at_ >= s_.size) done_at_ = s_.rs_threshold - 1u;
    }
}

void tx_queue::free_block(uint32_t from) noexcept {
    rte_mbuf** block = &posted_[from];
    if (fast_free_ && !chained_) {
        rte_mempool_put_bulk(block[0]->pool, reinterpret_cast<void**>(block), s_.rs_threshold);
        return;
    }
    // Free runs of buffers of one pool in bulk.
    rte_mbuf* free_now[64];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s_.rs_threshold; ++i) {
        rte_mbuf* m = rte_pktmbuf_prefree_seg(block[i]);
        if (m == nullptr) continue;
        if (n != 0 && (n == std::size(free_now) || m->pool != free_now[0]->pool)) {
            rte_mempool_put_bulk(free_now[0]->pool, reinterpret_cast<void**>(free_now), n);
            n = 0;
        }
        free_now[n++] = m;
    }
    if (n != 0) rte_mempool_put_bulk(free_now[0]->pool, reinterpret_cast<void**>(free_now), n);
}

}  // namespace turnpike::simnic
