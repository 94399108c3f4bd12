// SPDX-License-Identifier: BSD-3-Clause
// Sides of a comparison, by turns.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace turnpike::bench {

/// One side of a comparison. Returns cycles per operation of one repetition; the warm-up is its own
/// business (every side does the same).
struct contender {
    std::string name;
    std::function<double()> run;
};

/// The upper one of an even number. Requires at least one.
double median(std::vector<double> seen);

/// Run all contenders in turn, `repetitions` times, so that what disturbs the machine disturbs all;
/// another one first each time, since a contender finds the caches as the one before left them.
/// Returns the median of each.
std::vector<double> interleave(std::span<const contender> all, unsigned repetitions);

}  // namespace turnpike::bench
