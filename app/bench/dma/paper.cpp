// SPDX-License-Identifier: BSD-3-Clause
#include "paper.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pcie/access.hpp"

namespace turnpike::bench::dma {

extern const char* const paper_text;  // paper_text.cpp.in

std::optional<double> modelled_gbps(const pcie::link& l, micro_benchmark test,
                                    const access_window& w) noexcept {
    if (is_latency(test)) return std::nullopt;
    pcie::transactions crossed;
    if (test != micro_benchmark::bw_wr) crossed += pcie::read(l, w.offset_bytes, w.transfer_bytes);
    if (test != micro_benchmark::bw_rd) crossed += pcie::write(l, w.offset_bytes, w.transfer_bytes);
    const uint64_t busiest = std::max(crossed.bytes.up, crossed.bytes.down);
    return pcie::tlp_gbps(l) * w.transfer_bytes / static_cast<double>(busiest);
}

const nlohmann::json& paper_numbers() {
    static const nlohmann::json numbers = nlohmann::json::parse(paper_text);
    return numbers;
}

}  // namespace turnpike::bench::dma
