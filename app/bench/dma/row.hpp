// SPDX-License-Identifier: BSD-3-Clause
// A row: one of the paper's five micro-benchmarks (table 1) at one setting of its six parameters (table 2).
//
// The paper's device reads host memory into itself, or writes it from itself. An engine between memory and memory
// does both in every copy: done_by() tells how each test is done with it, and what its figure then is of the paper's.
#pragma once

#include <cstdint>

#include "window.hpp"

namespace turnpike::bench::dma {

enum class micro_benchmark { lat_rd, lat_wrrd, bw_rd, bw_wr, bw_rdwr };
[[nodiscard]] const char* name_of(micro_benchmark test) noexcept;  ///< as the paper: "LAT_RD"
[[nodiscard]] constexpr bool is_latency(micro_benchmark test) noexcept {
    return test == micro_benchmark::lat_rd || test == micro_benchmark::lat_wrrd;
}

/// cold: every line of the window is flushed before each pass over it; thrash: what the paper calls cold, memory of
/// twice the last cache is written before each repetition; warm: the window is written by the host before each
/// repetition; device: by the engine.
enum class cache_state { cold, warm, device, thrash };
[[nodiscard]] const char* name_of(cache_state state) noexcept;

/// What a figure is of the paper's.
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
    int node = -1;  ///< of NUMA; -1: any

    bool operator==(const row&) const = default;
};

/// Units that a row's window must have: BW_RDWR reads one half and writes the other.
[[nodiscard]] constexpr uint64_t least_units(micro_benchmark test) noexcept {
    return test == micro_benchmark::bw_rdwr ? 2 : 1;
}

}  // namespace turnpike::bench::dma
