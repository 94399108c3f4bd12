// SPDX-License-Identifier: BSD-3-Clause
#include "interleave.hpp"

#include <algorithm>

namespace turnpike::bench {

double median(std::vector<double> seen) {
    const auto middle = seen.begin() + static_cast<long>(seen.size() / 2);
    std::nth_element(seen.begin(), middle, seen.end());
    return *middle;
}

std::vector<double> interleave(std::span<const contender> all, unsigned repetitions) {
    std::vector<std::vector<double>> seen(all.size());
    for (unsigned r = 0; r < repetitions; ++r)
        for (size_t turn = 0; turn < all.size(); ++turn) {
            const size_t i = (turn + r) % all.size();
            seen[i].push_back(all[i].run());
        }
    std::vector<double> medians;
    for (auto& s : seen) medians.push_back(median(std::move(s)));
    return medians;
}

}  // namespace turnpike::bench
