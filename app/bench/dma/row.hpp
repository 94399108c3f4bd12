// SPDX-License-Identifier: BSD-3-Clause
// A row: one of the paper's five micro-benchmarks (table 1) with one setting of its six parameters
// (table 2).
//
// The paper's device reads host memory into itself, or writes it from itself. A memory-to-memory
// engine does both in every copy: done_by() describes how it performs each test, and how the result
// relates to the paper's.
#pragma once

#include <cstdint>

#include "window.hpp"

namespace turnpike::bench::dma {

enum class micro_benchmark { lat_rd, lat_wrrd, bw_rd, bw_wr, bw_rdwr };
[[nodiscard]] const char* name_of(micro_benchmark test) noexcept;  ///< the paper's name: "LAT_RD"
[[nodiscard]] constexpr bool is_latency(micro_benchmark test) noexcept {
    return test == micro_benchmark::lat_rd || test == micro_benchmark::lat_wrrd;
}

/// cold: every line of the window is flushed before each pass over it; thrash: the paper's "cold",
/// memory of twice the last-level cache is written before each repetition; warm: the host writes
/// the window before each repetition; device: the engine does.
enum class cache_state { cold, warm, device, thrash };
[[nodiscard]] const char* name_of(cache_state state) noexcept;

/// Relation of a result to the paper's metric.
enum class meaning { measured, upper_bound, lower_bound };
[[nodiscard]] const char* name_of(meaning m) noexcept;
struct method {
    meaning means;
    const char* how;
};
[[nodiscard]] method done_by(micro_benchmark test, bool can_fill) noexcept;

struct row {
    micro_benchmark test = micro_benchmark::lat_rd;
    access_pattern pattern = access_pattern::random;
    access_window window{};
    cache_state cache = cache_state::warm;
    int node = -1;  ///< NUMA node; -1: any

    bool operator==(const row&) const = default;
};

/// Minimum number of units in a row's window: BW_RDWR reads one half and writes the other.
[[nodiscard]] constexpr uint64_t least_units(micro_benchmark test) noexcept {
    return test == micro_benchmark::bw_rdwr ? 2 : 1;
}

}  // namespace turnpike::bench::dma
