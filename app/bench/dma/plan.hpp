// SPDX-License-Identifier: BSD-3-Clause
// Selects the rows of a run: from the options, or the paper's figures 5 to 9.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "row.hpp"

namespace turnpike::bench::dma {

/// The options, each a list, also with commas; empty: not given.
struct wish {
    std::vector<std::string> tests{}, patterns{}, offsets{}, sizes{}, windows{}, caches{}, nodes{};
    [[nodiscard]] bool empty() const noexcept;
};

/// Defaults of options when another one is given.
inline constexpr access_window usual_window{.bytes = 8192, .transfer_bytes = 64, .offset_bytes = 0};

/// local_node  default node of the window; -1: any
/// nodes       NUMA nodes with memory
/// Returns     the rows of figures 5 to 9 for an empty wish, else every combination of its values
/// Errors      EINVAL: unknown test, pattern, state or number; a window without room for a
///             transfer; an unknown node
[[nodiscard]] result<std::vector<row>> rows_of(const wish& w, int local_node,
                                               std::span<const int> nodes);

/// x values of figures 5 and 6, of figures 7 to 9 (windows), and of figures 8 and 9 (sizes).
[[nodiscard]] std::span<const uint32_t> baseline_sizes() noexcept;
[[nodiscard]] std::vector<uint64_t> swept_windows();
[[nodiscard]] std::span<const uint32_t> compared_sizes() noexcept;

}  // namespace turnpike::bench::dma
