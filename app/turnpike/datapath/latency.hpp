// SPDX-License-Identifier: BSD-3-Clause
// Latency: the time of sampled packets from rx_burst to tx_burst, as histograms by pair of ports (`latency.sample`). Stage
// stamp, which is in the paths only while sampling is on, remembers one packet of a worker at a time; its tx_queue finds it.
//
//   rx -> [stamp] -> ... -> tx -> tx_queue::send -> latency_histogram of (ingress port, egress port)
//                     \-> drop, punt, refused by the driver: the packet is forgotten
//
// Each port has its own count of packets up to the next sample: a port whose packets are dropped takes no sample of another. A
// sample that is due while another packet is remembered is taken of a later burst. A packet that ends elsewhere is forgotten
// after `max_wait_s`; its mbuf has lost the flag when it is used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/cache_line.hpp"
#include "counters/latency_histogram.hpp"
#include "datapath/burst.hpp"
#include "rxtx/tx_queue.hpp"

namespace turnpike::datapath {

using counters::latency_histogram;

/// The sampled packet of a worker, and its histograms.
/// Threads  the worker's; histograms are read by any
class alignas(cache_line_bytes) latency_sampler : public rxtx::awaited_packet {
  public:
    /// ports  numbers of ports are below it
    latency_sampler(uint16_t ports, uint64_t mbuf_flag, double ns_per_cycle, uint64_t seed)
        : awaited_packet{nullptr, &latency_sampler::sending, &latency_sampler::sent},
          ports_(ports),
          max_wait_(static_cast<uint64_t>(max_wait_s * 1e9 / ns_per_cycle)),
          flag_(mbuf_flag),
          ns_per_cycle_(ns_per_cycle),
          random_(seed | 1),
          left_(ports, 1),
          histograms_(std::make_unique<latency_histogram[]>(size_t{ports} * ports)) {}

    /// Counts received packets, and remembers one of `one_in`.
    void record(const burst& b, packet_mask packets, uint32_t one_in) noexcept;
    /// Packets that leave the path to a TX queue.
    void forget(const burst& b, packet_mask packets) noexcept;
    /// counters  of the worker's ports: an element's index is the port's number
    void know(const counters::port_counters* counters) noexcept { counters_ = counters; }

    [[nodiscard]] const latency_histogram& of(uint16_t in, uint16_t out) const noexcept {
        return histograms_[size_t{in} * ports_ + out];
    }

  private:
    static constexpr double max_wait_s = 0.01;

    [[nodiscard]] uint32_t random_below(uint32_t end) noexcept;
    static bool sending(rxtx::awaited_packet& packet) noexcept;
    static void sent(rxtx::awaited_packet& packet, const counters::port_counters& by) noexcept;

    const uint16_t ports_;
    const uint64_t max_wait_;  ///< TSC cycles
    uint16_t in_ = 0;          ///< ingress port of the packet
    const uint64_t flag_;
    const double ns_per_cycle_;
    uint64_t random_;
    std::vector<uint32_t> left_;  ///< packets up to the next sample, by port
    uint64_t since_ = 0;          ///< TSC
    uint64_t sending_at_ = 0;     ///< TSC
    const counters::port_counters* counters_ = nullptr;
    std::unique_ptr<latency_histogram[]> histograms_;
};

struct latency_samplers {
    std::atomic<uint32_t> one_in{1};
    std::vector<std::unique_ptr<latency_sampler>> of_worker{};
};

}  // namespace turnpike::datapath
