// SPDX-License-Identifier: BSD-3-Clause
// Benchmarks of newly generated sets (--fresh, --seed), so that nothing is tuned to the usual ones.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace turnpike::bench {

struct fresh_options {
    int sets = 0;  ///< 0: not asked for
    int seed = 0;  ///< drawn at the start unless given
};

/// The ratios of a width over the sets that `pick` selects: {sets, rows, geomean, least, least_of,
/// least_noise}. A cell names its set (`set_key`) and has a ratio.
nlohmann::json summarise_fresh(const nlohmann::json& cells, const char* set_key, uint16_t bits,
                               const std::function<bool(const nlohmann::json&)>& pick);

}  // namespace turnpike::bench
