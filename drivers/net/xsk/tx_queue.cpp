// SPDX-License-Identifier: BSD-3-Clause
#include "tx_queue.hpp"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "socket.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint64_t not_the_buffer = 2;
constexpr uint64_t low_bits = 7;
constexpr uint64_t elsewhere = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
constexpr int calls_a_doorbell = 4;
// turnpike-bench-xsk, testpmd io of 64 bytes: 53 cycles of user space a packet with 32, 47 with 64.
constexpr uint32_t block_descriptors = 64;
constexpr uint64_t hold_per_s = 20'000;  // 50 us
constexpr long drain_nap_ns = 200'000;
constexpr int drain_naps = 100;
constexpr uint32_t completions_at_once = 64;

/// Send the whole TX ring. Returns 0, or the errno that stopped it: EBUSY: the kernel dropped a
/// frame; EAGAIN: a transient error.
int send_all(int fd) noexcept {
    return sendto(fd, nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0 ? 0 : errno;
}
/// Packets whose last segments these are. Requires  not freed yet
uint32_t packets_of(rte_mbuf* const* segments, uint32_t n) noexcept {
    uint32_t packets = 0;
    for (uint32_t i = 0; i < n; ++i) packets += segments[i]->next == nullptr ? 1 : 0;
    return packets;
}

/// A transient error: call again.
bool passes(int code) noexcept {
    return code == EBUSY || code == EAGAIN || code == ENOBUFS || code == ENOMEM;
}

}  // namespace

void tx_queue::attach(const socket& with, const frame_layout& frames, uint64_t port_offloads) {
    frames_ = frames;
    in_kernel_ = frame_set(frames);
    max_parts_ = with.max_parts();
    tx_ = tx_ring(with.tx());
    completion_ = completion_ring(with.completion());
    fd_ = with.fd();
    free_ = s_.size;
    fast_free_ = ((s_.offloads | port_offloads) & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
    chained_ = false;
    unrung_ = 0;
    hold_cycles_ = rte_get_tsc_hz() / hold_per_s;
    left_.waits.store(false, std::memory_order_relaxed);
    left_.down.store(false, std::memory_order_relaxed);
    left_.rung_at.store(0, std::memory_order_relaxed);
    left_.failed_with.store(0, std::memory_order_relaxed);
    alarm_given_ = false;
    gate_.open();
}

void tx_queue::drain() noexcept {
    for (int nap = 0; fd_ >= 0 && nap < drain_naps; ++nap) {
        clean();
        if (free_ == s_.size) return;
        const int code = tx_.pending() != 0 ? call() : 0;
        if (code == ENETDOWN || code == ENXIO) return;
        const timespec time{0, drain_nap_ns};
        nanosleep(&time, nullptr);
    }
}

void tx_queue::detach() noexcept {
    if (fd_ < 0) return;
    in_kernel_.free_all(frames_);
    left_.waits.store(false, std::memory_order_relaxed);
    left_.down.store(false, std::memory_order_relaxed);
    fd_ = -1;
}

uint16_t tx_queue::burst(rte_mbuf** frames, uint16_t n) noexcept {
    if (!gate_.enter()) [[unlikely]]
        return 0;
    if (s_.size - free_ >= s_.free_threshold || free_ < n) (void)clean();
    written_ = 0;
    const uint32_t taken = write(frames, n);
    if (written_ != 0) {
        tx_.submit(written_);
        descriptors.add(written_);
        unrung_ += written_;
        doorbell();
    } else if ((n != 0 || left_.waits.load(std::memory_order_relaxed)) && due()) {
        doorbell();  // the ring is full, or an earlier doorbell was deferred
    }
    gate_.leave();
    return static_cast<uint16_t>(taken);
}

uint32_t tx_queue::free_sent(uint32_t most) noexcept {
    if (!gate_.enter()) return 0;
    const uint32_t freed = clean(most != 0 ? most : UINT32_MAX);
    gate_.leave();
    return freed;
}

uint32_t tx_queue::write(rte_mbuf** frames, uint32_t n) noexcept {
    uint64_t total = 0;
    uint32_t sent = 0, at = 0;
    for (; at < n; ++at) {
        rte_mbuf* m = frames[at];
        if (is_simple(m)) [[likely]] {
            if (free_ == 0) break;
            const uint64_t buffer = frames_.buffer_of(m);
            if (in_kernel_.insert(buffer)) [[likely]] {
                tx_[written_++] = {buffer | uint64_t{m->data_off} << XSK_UNALIGNED_BUF_OFFSET_SHIFT,
                                   m->data_len, 0};
                --free_;
                total += m->data_len;
                ++sent;
                continue;
            }
        }
        if (!sendable(m)) {
            refused.add(1);
            rte_pktmbuf_free(m);
            continue;
        }
        uint32_t needed = descriptors_of(m);
        if (needed == 0) {
            m = copy(frames[at]);
            if (m == nullptr) break;
            needed = descriptors_of(m);
            if (needed <= free_) rte_pktmbuf_free(frames[at]);
        }
        if (needed > free_) {
            if (m != frames[at]) rte_pktmbuf_free(m);
            break;
        }
        if (m != frames[at]) copied.add(1);
        total += m->pkt_len;
        ++sent;
        post_frame(needed, m);
    }
    packets.add(sent);
    bytes.add(total);
    return at;
}

bool tx_queue::is_simple(const rte_mbuf* frame) const noexcept {
    return frame->pool == frames_.pool && frame->nb_segs == 1 &&
           (frame->ol_flags & elsewhere) == 0 && frame->data_len >= RTE_ETHER_HDR_LEN &&
           frame->data_len <= frames_.chunk_bytes;
}

/// The frame can be sent, in place or as a copy.
bool tx_queue::sendable(const rte_mbuf* frame) const noexcept {
    const uint32_t room = frames_.chunk_bytes - RTE_PKTMBUF_HEADROOM;
    return frame->pkt_len >= RTE_ETHER_HDR_LEN && frame->pkt_len <= max_parts_ * room;
}

uint32_t tx_queue::descriptors_of(const rte_mbuf* frame) const noexcept {
    const uint32_t chunk = frames_.chunk_bytes;
    uint32_t n = 0;
    for (const rte_mbuf* m = frame; m != nullptr; m = m->next) {
        if (m->pool != frames_.pool || (m->ol_flags & elsewhere) != 0 || m->data_len == 0 ||
            in_kernel_.contains(frames_.buffer_of(m)))
            return 0;
        n += (m->data_len + chunk - 1) / chunk;
    }
    return n <= max_parts_ ? n : 0;
}

/// Copy the frame into as few buffers of the pool as possible; nullptr: the pool is empty.
rte_mbuf* tx_queue::copy(rte_mbuf* frame) noexcept {
    const uint32_t room = frames_.chunk_bytes - RTE_PKTMBUF_HEADROOM;
    const uint32_t n = (frame->pkt_len + room - 1) / room;
    rte_mbuf* parts[max_frame_parts];
    if (rte_pktmbuf_alloc_bulk(frames_.pool, parts, n) != 0) {
        no_buffer.add(1);
        return nullptr;
    }
    for (uint32_t i = 0; i < n; ++i) {
        const uint32_t length = std::min(room, frame->pkt_len - i * room);
        auto* to = rte_pktmbuf_mtod(parts[i], uint8_t*);
        // Points into the frame if the part lies in one segment; otherwise rte_pktmbuf_read copies
        // it to `to`.
        const void* from = rte_pktmbuf_read(frame, i * room, length, to);
        if (from != to) std::copy_n(static_cast<const uint8_t*>(from), length, to);
        parts[i]->data_len = static_cast<uint16_t>(length);
        if (i > 0) parts[i - 1]->next = parts[i];
    }
    parts[0]->pkt_len = frame->pkt_len;
    parts[0]->nb_segs = static_cast<uint16_t>(n);
    return parts[0];
}

void tx_queue::post_frame(uint32_t needed, rte_mbuf* frame) noexcept {
    if (frame->nb_segs > 1) chained_ = true;
    free_ -= needed;
    const uint32_t chunk = frames_.chunk_bytes;
    for (rte_mbuf* m = frame; m != nullptr; m = m->next) {
        const uint64_t buffer = frames_.buffer_of(m);
        (void)in_kernel_.insert(buffer);
        for (uint32_t from = 0; from < m->data_len; from += chunk) {
            const uint32_t length = std::min(chunk, m->data_len - from);
            const bool ends = from + length == m->data_len;
            const uint64_t at = buffer + m->data_off + from;
            // The last descriptor of a buffer has the buffer's address; earlier ones have
            // `not_the_buffer` set in an address some bytes lower.
            const uint64_t of = ends ? buffer : ((at & ~low_bits) - 8) | not_the_buffer;
            tx_[written_++] = {of | (at - of) << XSK_UNALIGNED_BUF_OFFSET_SHIFT, length,
                               ends && m->next == nullptr ? 0u : uint32_t{XDP_PKT_CONTD}};
        }
    }
}

uint32_t tx_queue::clean(uint32_t most) noexcept {
    uint32_t freed = 0;
    while (const uint32_t n = completion_.available(std::min(completions_at_once, most - freed))) {
        rte_mbuf* buffers[completions_at_once];
        uint32_t whole = 0, strange = 0;
        for (uint32_t i = 0; i < n; ++i) {
            const uint64_t buffer = buffer_of(completion_[i]);
            if ((buffer & not_the_buffer) != 0) continue;
            if (in_kernel_.erase(buffer & ~low_bits)) [[likely]]
                buffers[whole++] = frames_.mbuf_of(buffer & ~low_bits);
            else
                ++strange;
        }
        completion_.release(n);
        free_ += n;
        freed += chained_ ? packets_of(buffers, whole) : whole;
        free_completed(buffers, whole);
        if (strange != 0) invalid.add(strange);
    }
    return freed;
}

void tx_queue::free_completed(rte_mbuf** buffers, uint32_t n) noexcept {
    uint32_t last = n;
    if (!fast_free_ || chained_) {
        last = 0;
        for (uint32_t i = 0; i < n; ++i)
            if (rte_mbuf* m = rte_pktmbuf_prefree_seg(buffers[i])) buffers[last++] = m;
    }
    if (last != 0) rte_mempool_put_bulk(frames_.pool, reinterpret_cast<void**>(buffers), last);
}

int tx_queue::call() noexcept {
    calls_.add(1);
    return send_all(fd_);
}

bool tx_queue::due() const noexcept {
    return rte_rdtsc() - left_.rung_at.load(std::memory_order_relaxed) >= hold_cycles_;
}

void tx_queue::doorbell() noexcept {
    if (!tx_.asks_for_wakeup()) return;
    wakeups.add(1);
    const bool polled_between = left_.polled.load(std::memory_order_relaxed);
    left_.polled.store(false, std::memory_order_relaxed);
    if (unrung_ < block_descriptors && polled_between && !due()) {
        left_.waits.store(true, std::memory_order_relaxed);
        return;
    }
    unrung_ = 0;
    left_.rung_at.store(rte_rdtsc(), std::memory_order_relaxed);
    left_.waits.store(false, std::memory_order_relaxed);
    int code = 0;
    for (int tries = 0; tries < calls_a_doorbell; ++tries) {
        code = call();
        if (code != EBUSY && code != EAGAIN) break;
        (void)clean();
        if (tx_.pending() == 0) return;
    }
    note(code);
}

void tx_queue::ring_left() noexcept {
    left_.waits.store(false, std::memory_order_relaxed);
    left_.rung_at.store(rte_rdtsc(), std::memory_order_relaxed);
    left_.calls.fetch_add(1, std::memory_order_relaxed);
    note(send_all(fd_));
}

/// Account a doorbell's result.
void tx_queue::note(int code) noexcept {
    if (passes(code)) left_.waits.store(true, std::memory_order_relaxed);
    if ((code == ENETDOWN) != left_.down.load(std::memory_order_relaxed))
        left_.down.store(code == ENETDOWN, std::memory_order_relaxed);
    if (code == 0 || passes(code) || code == ENETDOWN) return;
    left_.failed.fetch_add(1, std::memory_order_relaxed);
    int none = 0;
    left_.failed_with.compare_exchange_strong(none, code, std::memory_order_relaxed);
}

int tx_queue::unsaid_failure() noexcept {
    const int code = alarm_given_ ? 0 : left_.failed_with.load(std::memory_order_relaxed);
    alarm_given_ |= code != 0;
    return code;
}

}  // namespace turnpike::xsk
