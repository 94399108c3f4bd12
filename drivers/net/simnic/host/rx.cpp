// SPDX-License-Identifier: BSD-3-Clause
#include "host/rx.hpp"

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cstring>

namespace turnpike::simnic {
namespace {

static_assert(ptype_l2_ether == RTE_PTYPE_L2_ETHER && ptype_l2_arp == RTE_PTYPE_L2_ETHER_ARP &&
              ptype_l2_vlan == RTE_PTYPE_L2_ETHER_VLAN && ptype_l2_qinq == RTE_PTYPE_L2_ETHER_QINQ);
static_assert(ptype_l3_ipv4 == RTE_PTYPE_L3_IPV4 &&
              ptype_l3_ipv4_options == RTE_PTYPE_L3_IPV4_EXT &&
              ptype_l3_ipv6 == RTE_PTYPE_L3_IPV6 &&
              ptype_l3_ipv6_extensions == RTE_PTYPE_L3_IPV6_EXT);
static_assert(ptype_l4_tcp == RTE_PTYPE_L4_TCP && ptype_l4_udp == RTE_PTYPE_L4_UDP &&
              ptype_l4_fragment == RTE_PTYPE_L4_FRAG && ptype_l4_sctp == RTE_PTYPE_L4_SCTP &&
              ptype_l4_icmp == RTE_PTYPE_L4_ICMP);

uint64_t fresh_mbuf(uint16_t port) noexcept {
    const uint16_t fields[4] = {RTE_PKTMBUF_HEADROOM, 1, 1, port};
    uint64_t as_lies;
    std::memcpy(&as_lies, fields, sizeof as_lies);
    return as_lies;
}

}  // namespace

rx_queue::rx_queue(const settings& s)
    : s_(s),
      policy_(s.device->settings().policy.rx),
      words_(policy_.descriptor_bytes / static_cast<uint32_t>(sizeof(descriptor))),
      ring_(static_cast<descriptor*>(s.zone->addr)),
      posted_(std::make_unique<rte_mbuf*[]>(s.size)),
      take_(words_ == 1 ? s.kernels->receive_16 : s.kernels->receive_32),
      post_(words_ == 1 ? s.kernels->post_16 : s.kernels->post_32),
      fresh_(fresh_mbuf(s.port)) {}

rx_queue::~rx_queue() { rte_memzone_free(s_.zone); }

uint32_t rx_queue::room() const noexcept {
    return static_cast<uint32_t>(rte_pktmbuf_data_room_size(s_.pool)) - RTE_PKTMBUF_HEADROOM;
}

bool rx_queue::start(uint32_t longest_bytes) noexcept {
    scattered_ = s_.scatter && longest_bytes > room();
    std::memset(static_cast<void*>(ring_), 0, size_t{s_.size} * words_ * sizeof(descriptor));
    running_ = true;  // so that stop() also frees a partial allocation
    next_ = refill_at_ = unrung_ = 0;
    missing_ = s_.size;
    // Blocks stay aligned to the ring: the first unposted block is the gap that distinguishes a
    // full ring from an empty one. With refill at a burst's end a gap of one descriptor suffices.
    const uint32_t gap = policy_.refill_all ? 1 : s_.free_threshold;
    if (!post(s_.size - gap)) return false;
    tail_.value.store(refill_at_, std::memory_order_relaxed);
    s_.device->rx(s_.queue).attach({.iova = s_.zone->iova,
                                    .size = s_.size,
                                    .buffer_bytes = room(),
                                    .scatter = scattered_,
                                    .timestamps = s_.timestamp_flag != 0,
                                    .tail = &tail_});
    tail_.mmio_write(refill_at_);
    unrung_ = 0;
    return true;
}

void rx_queue::stop() noexcept {
    if (!running_) return;
    running_ = false;
    drop_chain();
    for (; missing_ < s_.size; ++missing_) {
        rte_mbuf_raw_free(posted_[next_]);
        if (++next_ == s_.size) next_ = 0;
    }
}

uint16_t rx_queue::burst(rte_mbuf** out, uint16_t n) noexcept {
    if (!running_) [[unlikely]]
        return 0;
    if (s_.works_device) s_.device->poll(n);
    const uint32_t got = scattered_ ? assemble_scattered(out, n) : receive(out, n);
    refill();
    return static_cast<uint16_t>(got);
}

uint32_t rx_queue::receive(rte_mbuf** out, uint32_t n) noexcept {
    uint32_t got = 0;
    while (got < n) {
        const uint32_t most = std::min(n - got, takeable());
        if (most == 0) break;
        const uint32_t taken = receive_next(out + got, most);
        got += taken;
        if (taken < most && !drop_faulty()) break;
    }
    return got;
}

/// Descriptors up to the ring's end that have a buffer. Where the pool is empty, the ones behind still say "done", of their
/// last buffer.
uint32_t rx_queue::takeable() const noexcept {
    return std::min(s_.size - next_, s_.size - missing_);
}

/// Stops at the first descriptor that is not written back or faulty.
uint32_t rx_queue::receive_next(rte_mbuf** out, uint32_t most) noexcept {
    const descriptor* from = ring_ + size_t{next_} * words_;
    const uint32_t taken = take_(from, &posted_[next_], out, most, fresh_);
    if (s_.timestamp_flag != 0)
        for (uint32_t i = 0; i < taken; ++i) {
            *RTE_MBUF_DYNFIELD(out[i], s_.timestamp_at, rte_mbuf_timestamp_t*) =
                clock_ticks(s_.clock, from[size_t{i} * words_ + 1].word[0], s_.tsc_hz);
            out[i]->ol_flags |= s_.timestamp_flag;
        }
    missing_ += taken;
    next_ += taken;
    if (next_ == s_.size) next_ = 0;
    return taken;
}

uint32_t rx_queue::assemble_scattered(rte_mbuf** out, uint32_t n) noexcept {
    uint32_t got = 0;
    rte_mbuf* parts[32];
    while (got < n) {
        const descriptor* from = ring_ + size_t{next_} * words_;
        const uint32_t most = std::min({n - got, takeable(), uint32_t{std::size(parts)}});
        if (most == 0) break;
        const uint32_t taken = receive_next(parts, most);
        for (uint32_t i = 0; i < taken; ++i) {
            rte_mbuf* part = parts[i];
            if (first_ == nullptr) {
                first_ = part;
            } else {
                last_->next = part;
                ++first_->nb_segs;
                first_->pkt_len += part->data_len;
            }
            last_ = part;
            if ((from[size_t{i} * words_].word[1] & rx_end) == 0) continue;
            out[got++] = first_;
            first_ = nullptr;
        }
        if (taken == most) continue;
        if (!drop_faulty()) break;
        drop_chain();  // the fault was in the middle of the frame
    }
    return got;
}

void rx_queue::drop_chain() noexcept {
    rte_pktmbuf_free(first_);
    first_ = nullptr;
}

/// The device could not access a buffer: free it and continue after it.
bool rx_queue::drop_faulty() noexcept {
    const uint64_t word_1 =
        __atomic_load_n(&ring_[size_t{next_} * words_].word[1], __ATOMIC_ACQUIRE);
    if ((word_1 & (rx_done | rx_error)) != (rx_done | rx_error)) [[likely]]
        return false;
    rte_mbuf_raw_free(posted_[next_]);
    ++missing_;
    if (++next_ == s_.size) next_ = 0;
    return true;
}

/// Post `n` buffers (wrapping at the ring's end). Stops at the first block for which the pool has
/// too few buffers.
bool rx_queue::post(uint32_t n) noexcept {
    while (n > 0) {
        const uint32_t block = std::min(n, s_.size - refill_at_);
        if (rte_mempool_get_bulk(s_.pool, reinterpret_cast<void**>(&posted_[refill_at_]), block) !=
            0) {
            no_buffer.add(block);
            return false;
        }
        post_(ring_ + size_t{refill_at_} * words_, &posted_[refill_at_], block,
              RTE_PKTMBUF_HEADROOM);
        refill_at_ += block;
        if (refill_at_ == s_.size) refill_at_ = 0;
        missing_ -= block;
        unrung_ += block;
        n -= block;
    }
    return true;
}

void rx_queue::refill() noexcept {
    if (policy_.refill_all) {
        if (missing_ - 1 > s_.free_threshold) (void)post(missing_ - 1);
    } else {
        while (missing_ > s_.free_threshold && post(s_.free_threshold)) {
        }
    }
    if (unrung_ != 0 && unrung_ >= policy_.doorbell_packets) {
        tail_.mmio_write(refill_at_);
        unrung_ = 0;
    }
}

}  // namespace turnpike::simnic
