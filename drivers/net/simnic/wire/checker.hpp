// SPDX-License-Identifier: BSD-3-Clause
// Judges what comes back: frames that some generator of this process stamped.
#pragma once

#include <array>
#include <cstdint>

#include "cost/counter.hpp"

namespace turnpike::simnic {

/// Threads  one writer, counters may be read by any.
class checker {
  public:
    void frame(const uint8_t* bytes, uint32_t length) noexcept;

    cost::counter received{};    ///< stamped and whole
    cost::counter lost{};        ///< sequence numbers that were passed over
    cost::counter back{};        ///< of those, frames that came later after all
    cost::counter duplicated{};  ///< came twice
    cost::counter reordered{};   ///< came after a later one
    cost::counter damaged{};     ///< a checksum is wrong, or the TTL is neither kept nor one less
    cost::counter ttl_kept{};    ///< came as sent: switched
    cost::counter ttl_less_1{};  ///< came with TTL - 1: routed
    cost::counter foreign{};     ///< not a generator's

  private:
    static constexpr uint32_t window = 4096;  ///< frames back that are remembered one by one
    static constexpr uint32_t sources = 16;

    struct stream {
        uint64_t next = 0;
        std::array<uint64_t, window / 64> seen{};
    };
    void sequence(stream& s, uint64_t n) noexcept;

    std::array<stream, sources> streams_{};
};

}  // namespace turnpike::simnic
