// SPDX-License-Identifier: BSD-3-Clause
// A histogram of times, with bins of a constant relative width.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "counters/counter.hpp"

namespace turnpike::counters {

/// Log-linear bins of nanoseconds: eight in each octave, so a bin's bounds differ by at most an eighth.
/// Threads  written by one worker, read by any
struct latency_histogram {
    static constexpr unsigned sub_bits = 3;
    static constexpr unsigned octaves = 36;  ///< longer times count in the last bin: 69 s
    static constexpr size_t bins = size_t{octaves - sub_bits + 1} << sub_bits;

    std::array<counter, bins> samples;
    counter sum_ns;
    counter max_ns;  ///< each addition is the increase of the maximum

    static constexpr size_t bin_of(uint64_t ns) noexcept {
        constexpr uint64_t longest = (uint64_t{1} << octaves) - 1;
        ns = std::min(ns, longest);
        if (ns < uint64_t{1} << sub_bits) return static_cast<size_t>(ns);
        const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - sub_bits;
        return (size_t{shift} << sub_bits) + static_cast<size_t>(ns >> shift);
    }
    /// The least time that is longer than all of a bin.
    static constexpr uint64_t end_of(size_t bin) noexcept {
        constexpr size_t per_octave = size_t{1} << sub_bits;
        if (bin < 2 * per_octave) return bin + 1;
        const size_t shift = bin / per_octave - 1;
        return uint64_t{bin % per_octave + per_octave + 1} << shift;
    }
    void add(uint64_t ns) noexcept {
        samples[bin_of(ns)].add(1);
        sum_ns.add(ns);
        if (const uint64_t before = max_ns.read(); ns > before) max_ns.add(ns - before);
    }
};

}  // namespace turnpike::counters
