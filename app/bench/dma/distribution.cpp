// SPDX-License-Identifier: BSD-3-Clause
#include "distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace turnpike::bench::dma {

distribution::distribution(std::vector<uint32_t> values)
    : sorted_(std::move(values)),
      mean_(std::accumulate(sorted_.begin(), sorted_.end(), 0.0) /
            static_cast<double>(sorted_.size())) {
    std::ranges::sort(sorted_);
}

uint32_t distribution::quantile(double q) const noexcept {
    const double n = static_cast<double>(sorted_.size());
    // 0.07 * 100 is slightly more than 7: subtract the rounding error before ceil().
    const auto rank = static_cast<size_t>(std::ceil(q * n - 1e-9 * n));
    return sorted_[std::clamp<size_t>(rank, 1, sorted_.size()) - 1];
}

std::vector<distribution::step> distribution::cdf() const {
    std::vector<double> asked;
    for (int hundredth = 0; hundredth < 100; ++hundredth) asked.push_back(hundredth / 100.0);
    for (const double q : {0.995, 0.999, 0.9999, 1.0}) asked.push_back(q);
    std::vector<step> steps;
    for (const double q : asked) {
        const uint32_t value = quantile(q);
        if (!steps.empty() && steps.back().value == value) continue;
        const auto beyond = std::ranges::upper_bound(sorted_, value);
        steps.push_back({value, static_cast<double>(beyond - sorted_.begin()) /
                                    static_cast<double>(sorted_.size())});
    }
    return steps;
}

}  // namespace turnpike::bench::dma
