// SPDX-License-Identifier: BSD-3-Clause
// Selects a kernel by measuring it: which one is fastest depends on the CPU (a 512-bit operation of a
// Zen 4 takes two cycles, of a Zen 5 one) and on the table that it reads.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>

#include "isa/isa.hpp"

namespace turnpike::isa {

/// Whether times decide. Set to false, before tables are made, by programs whose cost must be the same in each run: then the
/// first of several counts.
inline bool measures = true;

/// Narrower kernels are never the fastest: they are not measured.
constexpr uint16_t measured_bits = 256;

template <class Run>
double nanoseconds_of(const Run& run) noexcept {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
}

/// True if a CPU and a width permit several kernels that are worth measuring.
template <class Function>
bool has_choice(std::span<const kernel<Function>> table, uint16_t max_simd_bitwidth,
                features have = detect()) noexcept {
    return std::ranges::count_if(table, [&](const kernel<Function>& row) {
               return row.simd_bitwidth >= measured_bits && may_run(row, max_simd_bitwidth, have);
           }) > 1;
}

/// Runs both some rounds by turns. True if `second` takes over 3 percent less.
///
/// first, second  double(): the time of one round, in nanoseconds
template <class First, class Second>
bool second_is_faster(const First& first, const Second& second) noexcept {
    if (!measures) return false;
    constexpr unsigned rounds = 5;  // the shortest counts: others were interrupted
    constexpr double clearly_faster = 0.97;
    double of_first = std::numeric_limits<double>::max(), of_second = of_first;
    for (unsigned round = 0; round < rounds; ++round) {
        of_first = std::min(of_first, first());
        of_second = std::min(of_second, second());
    }
    return of_second < clearly_faster * of_first;
}

/// Measures the permitted kernels for 256 bits or more, each against the best one before, some rounds
/// by turns. Returns the fastest; of two that differ by less than 3 percent the first.
///
/// table        as for choose()
/// nanoseconds  double(const kernel<Function>&): the time of one round
/// Threads      as of `nanoseconds`. Errors none; allocates nothing.
template <class Function, class Time>
const kernel<Function>& fastest(std::span<const kernel<Function>> table, uint16_t max_simd_bitwidth,
                                const Time& nanoseconds, features have = detect()) noexcept {
    const kernel<Function>* best = nullptr;
    for (const kernel<Function>& row : table) {
        if (!may_run(row, max_simd_bitwidth, have)) continue;
        if (best == nullptr) best = &row;
        if (best == &row) continue;
        if (row.simd_bitwidth < measured_bits) break;
        if (second_is_faster([&] { return nanoseconds(*best); }, [&] { return nanoseconds(row); }))
            best = &row;
    }
    return *best;  // a table has a row that runs on any CPU
}

}  // namespace turnpike::isa
