// SPDX-License-Identifier: BSD-3-Clause
// One worker's counters of one port: the terms of the balance.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "counters/counter.hpp"
#include "packet/drop_reason.hpp"

namespace turnpike::counters {

/// Packet lengths of sampled bursts: a bin per 64 bytes, the granularity of PCIe and memory, and
/// one for all longer packets.
class size_samples {
  public:
    static constexpr uint32_t bin_bytes = 64;
    static constexpr size_t bins = 33;

    void add(uint32_t bytes) noexcept {
        bin& b = bins_[std::min<size_t>(bytes / bin_bytes, bins - 1)];
        b.packets.add(1);
        b.bytes.add(bytes);
    }
    struct bin {
        counter packets, bytes;
    };
    [[nodiscard]] const std::array<bin, bins>& read() const noexcept { return bins_; }

  private:
    std::array<bin, bins> bins_;
};

/// rx         returned by rx_burst                     tx        accepted by tx_burst
/// drops      freed, by reason, at the port where the reason arose
/// originated allocated by turnpike itself             consumed  delivered to turnpike itself
/// Bytes are frame bytes without FCS.
/// Threads  written by one worker (or by control), read by any.
struct port_counters {
    counter rx_packets, rx_bytes, tx_packets, tx_bytes, originated, consumed;
    counter rx_bursts, tx_bursts;                                     ///< calls that moved a packet
    std::array<counter, packet::max_drop_reasons> drops, drop_bytes;  ///< by reason
    size_samples rx_sizes, tx_sizes;

    /// `reason`: of lib/packet, or of an application whose list continues its numbers.
    /// bytes  of all `n` packets
    template <class Reason>
    void drop(Reason reason, uint64_t bytes, uint64_t n = 1) noexcept {
        drops[static_cast<size_t>(reason)].add(n);
        drop_bytes[static_cast<size_t>(reason)].add(bytes);
    }
};

}  // namespace turnpike::counters
