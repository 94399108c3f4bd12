// SPDX-License-Identifier: BSD-3-Clause
#include "fresh.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace turnpike::bench {

nlohmann::json summarise_fresh(const nlohmann::json& cells, const char* set_key, uint16_t bits,
                               const std::function<bool(const nlohmann::json&)>& pick) {
    std::set<std::string> sets;
    const nlohmann::json* least = nullptr;
    double logs = 0;
    uint64_t rows = 0;
    for (const auto& cell : cells) {
        if (cell["width_bits"] != bits || !cell["ratio"].is_number() || !pick(cell)) continue;
        sets.insert(cell[set_key].get<std::string>());
        ++rows;
        logs += std::log(cell["ratio"].get<double>());
        if (least == nullptr || cell["ratio"] < (*least)["ratio"]) least = &cell;
    }
    if (least == nullptr) return nullptr;
    return {{"sets", sets.size()},
            {"rows", rows},
            {"geomean", std::exp(logs / static_cast<double>(rows))},
            {"least", (*least)["ratio"]},
            {"least_of",
             (*least)[set_key].get<std::string>() + ", " + (*least)["traffic"].get<std::string>()},
            {"least_noise", (*least)["noise"]}};
}

}  // namespace turnpike::bench
