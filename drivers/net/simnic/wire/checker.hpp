// SPDX-License-Identifier: BSD-3-Clause
// Checks received frames that any generator of this process stamped.
#pragma once

#include <array>
#include <cstdint>

#include "counters/counter.hpp"

namespace turnpike::simnic {

/// Threads  one writer; counters may be read by any.
class checker {
  public:
    void frame(const uint8_t* bytes, uint32_t length) noexcept;

    counters::counter received{};    ///< stamped and undamaged
    counters::counter lost{};        ///< sequence numbers skipped
    counters::counter back{};        ///< frames counted as lost that arrived later
    counters::counter duplicated{};  ///< received twice
    counters::counter reordered{};   ///< received after a later one
    counters::counter
        damaged{};  ///< a wrong checksum, or a TTL that is neither the sent one nor one less
    counters::counter ttl_kept{};    ///< TTL unchanged: switched
    counters::counter ttl_less_1{};  ///< TTL decremented: routed
    counters::counter foreign{};     ///< without a generator's stamp

  private:
    static constexpr uint32_t window =
        4096;  ///< size of the window of sequence numbers tracked individually
    static constexpr uint32_t sources = 16;

    struct stream {
        uint64_t next = 0;
        std::array<uint64_t, window / 64> seen{};
    };
    void sequence(stream& s, uint64_t n) noexcept;

    std::array<stream, sources> streams_{};
};

}  // namespace turnpike::simnic
