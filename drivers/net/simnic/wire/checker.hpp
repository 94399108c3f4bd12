// SPDX-License-Identifier: BSD-3-Clause
// Checks received frames that any generator of this process stamped.
#pragma once

#include <array>
#include <cstdint>

#include "cost/counter.hpp"

namespace turnpike::simnic {

/// Threads  one writer; counters may be read by any.
class checker {
  public:
    void frame(const uint8_t* bytes, uint32_t length) noexcept;

    cost::counter received{};    ///< stamped and undamaged
    cost::counter lost{};        ///< sequence numbers skipped
    cost::counter back{};        ///< frames counted as lost that arrived later
    cost::counter duplicated{};  ///< received twice
    cost::counter reordered{};   ///< received after a later one
    cost::counter
        damaged{};  ///< a wrong checksum, or a TTL that is neither the sent one nor one less
    cost::counter ttl_kept{};    ///< TTL unchanged: switched
    cost::counter ttl_less_1{};  ///< TTL decremented: routed
    cost::counter foreign{};     ///< without a generator's stamp

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
