// SPDX-License-Identifier: BSD-3-Clause
#include "rx_queue.hpp"

#include <rte_prefetch.h>

#include "socket.hpp"
#include "tx_queue.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint32_t block_most = 64;

}  // namespace

result<void> rx_queue::attach(const socket& with, tx_queue* pair) {
    rx_ = rx_ring(with.rx());
    fill_ = fill_ring(with.fill());
    fd_ = with.fd();
    pair_ = pair;
    missing_ = s_.size;
    while (missing_ > 0)
        if (!post(std::min(missing_, block_most)))
            return fail(ENOMEM, s_.name,
                        "pool '" + std::string(s_.frames.pool->name) +
                            "' has too few free buffers for the " + std::to_string(s_.size) +
                            " descriptors of RX queue " + std::to_string(s_.queue));
    gate_.open();
    return {};
}

void rx_queue::detach() noexcept {
    rte_pktmbuf_free(first_);
    first_ = nullptr;
    in_kernel_.free_all(s_.frames);
    fd_ = -1;
    pair_ = nullptr;
}

uint16_t rx_queue::burst(rte_mbuf** out, uint16_t n) noexcept {
    if (!gate_.enter()) [[unlikely]]
        return 0;
    if (pair_ != nullptr) pair_->polled();
    uint32_t got = s_.scatter ? receive<true>(out, n) : receive<false>(out, n);
    if (got == 0 && n != 0) {
        if (missing_ == s_.size) starved.add(1);
        wake();
        if (s_.busy_polling) got = s_.scatter ? receive<true>(out, n) : receive<false>(out, n);
    }
    if (missing_ >= s_.free_threshold) refill();
    gate_.leave();
    return static_cast<uint16_t>(got);
}

template <bool Scatter>
uint32_t rx_queue::receive(rte_mbuf** out, uint32_t n) noexcept {
    const uint32_t ready = rx_.available(n);
    if (ready == 0) return 0;
    const frame_layout& frames = s_.frames;
    uint32_t got = 0, strange = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < ready; ++i) rte_prefetch0(frames.mbuf_of(buffer_of(rx_[i].addr)));
    for (uint32_t i = 0; i < ready; ++i) {
        const xdp_desc& d = rx_[i];
        const uint64_t buffer = buffer_of(d.addr);
        if (!in_kernel_.erase(buffer)) [[unlikely]] {
            ++strange;
            continue;
        }
        rte_mbuf* m = frames.mbuf_of(buffer);
        m->data_off = static_cast<uint16_t>(offset_in_buffer(d.addr));
        m->refcnt = 1;
        m->nb_segs = 1;
        m->port = s_.port;
        m->ol_flags = 0;
        m->packet_type = 0;
        m->pkt_len = d.len;
        m->data_len = static_cast<uint16_t>(d.len);
        m->vlan_tci = 0;
        total += d.len;
        if constexpr (Scatter)
            got += join(m, (d.options & XDP_PKT_CONTD) != 0, out + got);
        else
            out[got++] = m;
    }
    rx_.release(ready);
    rx_.prefetch(n);
    missing_ += ready - strange;
    packets.add(got);
    bytes.add(total);
    if (strange != 0) invalid.add(strange);
    return got;
}

/// Append a part to the current frame. Returns 1 when the frame is complete and in *out.
uint32_t rx_queue::join(rte_mbuf* part, bool more, rte_mbuf** out) noexcept {
    if (first_ == nullptr) {
        first_ = part;
    } else {
        last_->next = part;
        ++first_->nb_segs;
        first_->pkt_len += part->data_len;
    }
    last_ = part;
    if (more) return 0;
    *out = first_;
    first_ = nullptr;
    return 1;
}

bool rx_queue::post(uint32_t n) noexcept {
    rte_mbuf* buffers[block_most];
    if (rte_mempool_get_bulk(s_.frames.pool, reinterpret_cast<void**>(buffers), n) != 0)
        return false;
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t buffer = s_.frames.buffer_of(buffers[i]);
        (void)in_kernel_.insert(buffer);
        fill_[i] = buffer;
    }
    fill_.submit(n);
    fill_.prefetch(n);
    missing_ -= n;
    return true;
}

/// Where the pool has no full block, the threshold's buffers do: nothing else may return one to the pool.
void rx_queue::refill() noexcept {
    const uint32_t least = std::min(s_.free_threshold, block_most);
    while (missing_ >= s_.free_threshold)
        if (!post(std::min(missing_, block_most)) && !post(least)) {
            no_buffer.add(least);
            return;
        }
}

/// The RX ring is empty: call the kernel if it needs a wakeup.
void rx_queue::wake() noexcept {
    const bool asked = fill_.asks_for_wakeup();
    if (asked) wakeups.add(1);
    if (!asked && !s_.busy_polling) return;
    (void)recvfrom(fd_, nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
    system_calls.add(1);
}

}  // namespace turnpike::xsk
