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

/// Uniform from 1 to 2n - 1, so that samples are not in step with the traffic.
uint32_t latency_sampler::next_gap(uint32_t one_in) noexcept {
    if (one_in <= 1) return 1;
    // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const uint64_t range = 2 * uint64_t{one_in} - 1;
    return static_cast<uint32_t>(1 + ((random_ >> 32) * range >> 32));
}

void latency_sampler::record(const burst& b, packet_mask packets, uint32_t one_in) noexcept {
    const auto n = static_cast<uint32_t>(std::popcount(packets));
    if (left_ > n) [[likely]] {
        left_ -= n;
        return;
    }
    // One packet of a burst at most: the queues look for one.
    for (uint32_t skipped = 1; skipped < left_; ++skipped) packets &= packets - 1;
    const auto i = static_cast<size_t>(std::countr_zero(packets));
    left_ = next_gap(one_in);
    packet = b.packet[i];
    packet->ol_flags |= flag_;
    in_ = b.in_port;
    since_ = counters::tsc();
}

void latency_sampler::sent(rxtx::awaited_packet& awaited,
                           const counters::port_counters& by) noexcept {
    auto& s = static_cast<latency_sampler&>(awaited);
    rte_mbuf* const m = std::exchange(s.packet, nullptr);
    if ((m->ol_flags & s.flag_) == 0) return;  // another packet in the mbuf of one that was dropped
    m->ol_flags &= ~s.flag_;
    const auto out = static_cast<uint16_t>(&by - s.counters_);
    if (s.in_ >= s.ports_ || out >= s.ports_) return;
    const auto ns = static_cast<double>(counters::tsc() - s.since_) * s.ns_per_cycle_;
    s.histograms_[size_t{s.in_} * s.ports_ + out].add(static_cast<uint64_t>(ns));
}

stage_mask run_stamp(context& c, burst& b, packet_mask packets) noexcept {
    latency_samplers* const all = c.snapshot->latency;
    if (all != nullptr && c.worker < all->of_worker.size() && packets != 0) [[likely]]
        all->of_worker[c.worker]->record(b, packets, all->one_in.load(std::memory_order_relaxed));
    return enqueue(b, packets, next_of_port(c.snapshot->port[b.in_port], stage::stamp));
}

}  // namespace turnpike::datapath
