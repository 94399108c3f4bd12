// SPDX-License-Identifier: BSD-3-Clause
#include "observe/inventory.hpp"

#include <algorithm>
#include <cmath>

#include "counters/latency_histogram.hpp"

namespace turnpike::observe {

uint64_t latency_report::quantile_ns(double q) const noexcept {
    const auto n = static_cast<double>(samples);
    // 0.07 * 100 is slightly more than 7: subtract the rounding error before ceil().
    const auto rank = static_cast<uint64_t>(std::max(1.0, std::ceil(q * n - 1e-9 * n)));
    uint64_t seen = 0;
    for (size_t bin = 0; bin < bins.size(); ++bin) {
        seen += bins[bin];
        if (seen >= rank) return std::min(counters::latency_histogram::end_of(bin), max_ns);
    }
    return max_ns;
}

}  // namespace turnpike::observe
