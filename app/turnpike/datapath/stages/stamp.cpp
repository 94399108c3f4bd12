// SPDX-License-Identifier: BSD-3-Clause
// Stage stamp: remembers one received packet of n, and when it arrived, until it is sent (datapath/latency.hpp).
//   Reads   packet, in_port; port.in_front, snapshot.latency
//   Writes  the worker's latency_sampler; a flag of the mbuf
#include <rte_mbuf.h>

#include <bit>
#include <utility>

#include "counters/meter.hpp"
#include "datapath/graph.hpp"
#include "datapath/latency.hpp"

namespace turnpike::datapath {

uint32_t latency_sampler::random_below(uint32_t end) noexcept {
    // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<uint32_t>((random_ >> 32) * end >> 32);
}

void latency_sampler::record(const burst& b, packet_mask packets, uint32_t one_in) noexcept {
    if (b.in_port >= ports_) [[unlikely]]
        return;
    uint32_t& left = left_[b.in_port];
    const auto n = static_cast<uint32_t>(std::popcount(packets));
    if (left > n) [[likely]] {
        left -= n;
        return;
    }
    // The queues look for one packet.
    const uint64_t now = counters::tsc();
    if (packet != nullptr && now - since_ < max_wait_) {
        left = 1;
        return;
    }
    // Any packet of the burst, and gaps from 1 to 2n - 1: samples are not in step with the traffic.
    for (uint32_t skipped = random_below(n); skipped != 0; --skipped) packets &= packets - 1;
    left = 1 + random_below(2 * one_in - 1);
    packet = b.packet[static_cast<size_t>(std::countr_zero(packets))];
    packet->ol_flags |= flag_;
    in_ = b.in_port;
    since_ = now;
}

void latency_sampler::forget(const burst& b, packet_mask packets) noexcept {
    if (packet == nullptr) return;
    for_each(packets, [&](uint32_t i) {
        if (b.packet[i] != packet) return;
        packet->ol_flags &= ~flag_;
        packet = nullptr;
    });
}

bool latency_sampler::sending(rxtx::awaited_packet& awaited) noexcept {
    auto& s = static_cast<latency_sampler&>(awaited);
    rte_mbuf* const m = std::exchange(s.packet, nullptr);
    if ((m->ol_flags & s.flag_) == 0) return false;  // another packet in the mbuf of a dropped one
    m->ol_flags &= ~s.flag_;
    s.sending_at_ = counters::tsc();
    return true;
}

void latency_sampler::sent(rxtx::awaited_packet& awaited,
                           const counters::port_counters& by) noexcept {
    auto& s = static_cast<latency_sampler&>(awaited);
    const auto out = static_cast<uint16_t>(&by - s.counters_);
    if (s.in_ >= s.ports_ || out >= s.ports_) return;
    const auto ns = static_cast<double>(s.sending_at_ - s.since_) * s.ns_per_cycle_;
    s.histograms_[size_t{s.in_} * s.ports_ + out].add(static_cast<uint64_t>(ns));
}

stage_mask run_stamp(context& c, burst& b, packet_mask packets) noexcept {
    if (c.latency != nullptr && packets != 0) [[likely]]
        c.latency->record(b, packets, c.snapshot->latency->one_in.load(std::memory_order_relaxed));
    return enqueue(b, packets, next_of_port(c.snapshot->port[b.in_port], stage::stamp));
}

}  // namespace turnpike::datapath
