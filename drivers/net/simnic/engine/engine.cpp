// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "counters/meter.hpp"
#include "engine/classify.hpp"

namespace turnpike::simnic {
namespace {

/// Whether the device strips the frame's outer tag: 802.1Q only, as NICs do (Intel 82599 datasheet, section 8.2.3.7.2: register
/// VLNCTRL holds the one EtherType). The descriptor has the tag without its type.
bool has_tag(const outgoing& frame) noexcept {
    if (frame.length < sizeof(packet::ethernet_header) + sizeof(packet::vlan_tag)) return false;
    return load_be<uint16_t>(frame.bytes + 12) == packet::ether_type_vlan;
}

/// Move the outer VLAN tag to the descriptor; the packet type describes the rest of the frame.
void strip(const outgoing& frame, incoming& in) noexcept {
    const uint32_t l2 = in.ptype & 0xf;
    if (l2 == ptype_l2_vlan) in.ptype = (in.ptype & ~0xfu) | ptype_l2_ether;
    if (l2 == ptype_l2_qinq) in.ptype = (in.ptype & ~0xfu) | ptype_l2_vlan;
    in.tag = load_be<uint16_t>(frame.bytes + sizeof(packet::ethernet_header));
    in.status |= rx_stripped;
}

constexpr uint32_t no_queue = UINT32_MAX;  // the frame is not for the host

/// TSC cycles per byte on the wire.
double cycles_per_byte(const engine_settings& s) noexcept {
    return s.link_gbps > 0 ? static_cast<double>(s.tsc_hz) * 8 / (s.link_gbps * 1e9) : 0;
}

}  // namespace

bool rx_filter::accepts(const uint8_t* frame) const noexcept {
    packet::mac_address to;
    std::memcpy(to.bytes, frame, sizeof to.bytes);
    if (to == own || to == packet::broadcast_mac) return true;
    if (to.is_group() && all_multicast.load(std::memory_order_relaxed)) return true;
    for (uint32_t i = 0; i < also_count; ++i)
        if (to == also[i]) return true;
    return false;
}

engine::engine(const engine_settings& s, memory::source from,
               const std::atomic<uint64_t>* generation, std::unique_ptr<simnic::wire> w)
    : settings_(s),
      bus_(s.link, std::move(from), generation, s.cold),
      wire_(std::move(w)),
      tx_pace_(cycles_per_byte(s), 0),
      stall_cycles_(s.tsc_hz / 1'000'000 * stall_us),
      patience_cycles_(s.tsc_hz / 1'000'000 * patience_us) {
    for (uint16_t q = 0; q < s.rx_queues; ++q)
        rx_.push_back(std::make_unique<rx_ring>(s.policy.rx, bus_));
    for (uint16_t q = 0; q < s.tx_queues; ++q)
        tx_.push_back(std::make_unique<tx_ring>(s.policy.tx, bus_));
}

void engine::lock() noexcept {
    wanted_.fetch_add(1, std::memory_order_relaxed);
    while (!try_lock()) sched_yield();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
}

void engine::set_queues(uint16_t rx, uint16_t tx) noexcept {
    rx_in_use_ = rx;
    tx_in_use_ = tx;
    advance_clock(counters::tsc());
    wire_->resume(wire_time_);
}

void engine::set_link(bool up) noexcept {
    exclusively([&] {
        up = up && !gone();
        if (link_.exchange(up, std::memory_order_relaxed) == up || !up) return;
        advance_clock(counters::tsc());
        wire_->resume(wire_time_);
    });
}

void engine::advance_clock(uint64_t now) noexcept {
    const uint64_t passed = now - last_tsc_;
    last_tsc_ = now;
    wire_time_ += passed < stall_cycles_ ? passed : stall_cycles_;
}

void engine::poll(uint32_t rx_budget) noexcept {
    if (!try_lock()) return;
    const uint64_t start = counters::tsc();
    bus_.follow_memory();
    advance_clock(start);
    const bool moved = transmit(start);
    receive(rx_budget);
    bus_.settle_writes();
    const uint64_t end = counters::tsc();
    // Read the clock after the device's work: 32 long frames take longer than the patience
    // interval.
    if (moved) tail_moved_at_ = end;
    cycles.add(end - start);
    polls.add(1);
    unlock();
}

/// Returns whether a tail moved since the last call.
bool engine::transmit(uint64_t now) noexcept {
    bool moved = false;
    for (uint16_t q = 0; q < tx_in_use_; ++q) moved |= tx_[q]->tail_moved();
    send_posted(moved || now - tail_moved_at_ < patience_cycles_ ? ~0u : 0u);
    return moved;
}

/// Queues take turns, a batch each, so that a busy queue does not starve the others; the next call
/// continues after the last queue served.
///
/// patient  bitmap of queues whose descriptors and write-backs may wait for a batch to fill
void engine::send_posted(uint32_t patient) noexcept {
    uint32_t busy = 0;
    for (uint16_t q = 0; q < tx_in_use_; ++q) {
        if (tx_[q]->busy())
            busy |= 1u << q;
        else if ((patient >> q & 1) == 0 && tx_[q]->answers_wait())
            tx_[q]->flush();
    }
    for (uint32_t left = tx_frames_a_poll; busy != 0 && left != 0;) {
        if (!tx_pace_.due(wire_time_)) return;
        const uint32_t behind = busy >> tx_turn_ << tx_turn_;
        const auto q = static_cast<uint32_t>(std::countr_zero(behind != 0 ? behind : busy));
        tx_turn_ = q + 1;
        const uint32_t n = send_some(*tx_[q], (patient >> q & 1) != 0, left);
        if (n == 0) busy &= ~(1u << q);
        left -= n;
    }
    // Nothing is pending: idle wire time is not credited.
    if (busy == 0) tx_pace_.idle_until(wire_time_);
}

uint32_t engine::send_some(tx_ring& ring, bool patient, uint32_t most) noexcept {
    std::array<outgoing, frame_batch> frames;
    // A paced wire takes one frame at a time: the number that may pass depends on their lengths.
    const uint32_t at_once = tx_pace_.limits() ? 1 : std::min(most, frame_batch);
    const uint32_t n = ring.next(patient, {frames.data(), at_once});
    if (n == 0) return 0;
    if (link_.load(std::memory_order_relaxed))
        wire_->send({frames.data(), n});
    else
        link_tx_lost.add(n);
    ring.done();
    tx_pace_.pass(frames[0].length);
    return n;
}

void engine::receive(uint32_t budget) noexcept {
    if (rx_in_use_ == 0) return;
    const bool up = link_.load(std::memory_order_relaxed);
    while (budget > 0) {
        std::array<outgoing, frame_batch> frames;
        const uint32_t wanted = std::min(budget, frame_batch);
        const uint32_t n = up ? wire_->peek(wire_time_, {frames.data(), wanted}) : 0;
        if (n == 0) {
            for (uint16_t q = 0; q < rx_in_use_; ++q) rx_[q]->flush();
            return;
        }
        const uint32_t done = deliver({frames.data(), n});
        wire_->pop(done);
        if (done < n) {
            if (wire_->waits()) return;
            missed.add(wire_->skip_due(wire_time_));
        }
        budget -= n;
    }
}

void engine::read_frame(const outgoing& frame, const wishes& w, incoming& in) const noexcept {
    in.bytes = frame.bytes;
    in.length = frame.length;
    in.queue = no_queue;
    if (!w.promiscuous && !filter_.accepts(frame.bytes)) return;
    const frame_class c = classify(frame.bytes, frame.length);
    in.ptype = c.ptype;
    in.queue = in.hash = 0;
    in.status = w.verify_checksums ? verify_checksums(c, frame.bytes) : 0;
    if (w.strip_tags && has_tag(frame)) strip(frame, in);
    uint32_t hash = 0;
    if (!w.hash || !rss_.hash(c, frame.bytes, hash)) return;
    in.queue = rx_in_use_ == 1 ? 0 : rss_.queue_of(hash);
    if (!w.report_hash) return;
    in.hash = hash;
    in.status |= rx_hashed;
}

/// Deliver frames to their queues; returns how many. Stops at the first frame if the only queue has
/// no buffer for it. With several queues, a full queue must not block the others: its frames count
/// as missed.
uint32_t engine::deliver(std::span<const outgoing> frames) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    const bool report_hash = report_hash_.load(relaxed);
    const wishes w{.promiscuous = filter_.promiscuous.load(relaxed),
                   .verify_checksums = filter_.verify_checksums.load(relaxed),
                   .strip_tags = filter_.strip_tags.load(relaxed),
                   .hash = rx_in_use_ > 1 || report_hash,
                   .report_hash = report_hash};
    std::array<incoming, frame_batch> in;
    const auto n = static_cast<uint32_t>(frames.size());
    for (uint32_t i = 0; i < n; ++i) read_frame(frames[i], w, in[i]);
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        for (end = i + 1; end < n && in[end].queue == in[i].queue;) ++end;
        if (in[i].queue == no_queue) {
            filtered.add(end - i);
            continue;
        }
        const uint32_t took = rx_[in[i].queue]->receive({&in[i], end - i});
        if (took == end - i) continue;
        if (rx_in_use_ == 1) return i + took;
        missed.add(end - i - took);
    }
    return n;
}

/// Takes and releases the lock for each poll, so that other threads continue meanwhile.
void engine::drain(uint32_t queues) noexcept {
    uint64_t end = 0;
    for (bool waits = true; waits; sched_yield())
        exclusively([&] {
            advance_clock(counters::tsc());
            if (end == 0) end = wire_time_ + settings_.tsc_hz;
            send_posted(~queues);
            waits = false;
            for (uint16_t q = 0; q < tx_in_use_; ++q) {
                if ((queues >> q & 1) == 0) continue;
                if (tx_[q]->busy())
                    waits = wire_time_ < end;
                else if (tx_[q]->answers_wait())
                    tx_[q]->flush();
            }
        });
}

}  // namespace turnpike::simnic
