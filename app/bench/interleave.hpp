// SPDX-License-Identifier: BSD-3-Clause
// Interleaved comparison.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace turnpike::bench {

/// One side of a comparison. Returns cycles per operation of one repetition; it does its own
/// warm-up (every side the same).
struct contender {
    std::string name;
    std::function<double()> run;
};

/// For an even number, the upper of the two middle values. Requires at least one.
double median(std::vector<double> seen);

/// Run all contenders in turn, `repetitions` times, so that disturbances of the machine affect all.
/// The order rotates, since a contender finds the caches as its predecessor left them. Returns the
/// median of each.
std::vector<double> interleave(std::span<const contender> all, unsigned repetitions);

}  // namespace turnpike::bench
