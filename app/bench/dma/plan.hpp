// SPDX-License-Identifier: BSD-3-Clause
// Which rows a run has: what the options say, or the paper's figures 5 to 9.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "row.hpp"

namespace turnpike::bench::dma {

/// Options as given, each a list, also with commas; empty: not given.
struct wish {
    std::vector<std::string> tests{}, patterns{}, offsets{}, sizes{}, windows{}, caches{}, nodes{};
    [[nodiscard]] bool empty() const noexcept;
};

/// What an option that is not given is where another is.
inline constexpr access_window usual_window{.bytes = 8192, .transfer_bytes = 64, .offset_bytes = 0};

/// local_node  the window's where no option says it; -1: any
/// nodes       of NUMA that memory can be taken from
/// Returns     the rows of figures 5 to 9 for an empty wish, else every combination of what it names
/// Errors      EINVAL: no such test, pattern, state or number; a window without room for a transfer; a node that
///             is not there
[[nodiscard]] result<std::vector<row>> rows_of(const wish& w, int local_node,
                                               std::span<const int> nodes);

/// What figures 5 and 6 go over, 7 to 9 (windows), and 8 and 9 (sizes).
[[nodiscard]] std::span<const uint32_t> baseline_sizes() noexcept;
[[nodiscard]] std::vector<uint64_t> swept_windows();
[[nodiscard]] std::span<const uint32_t> compared_sizes() noexcept;

}  // namespace turnpike::bench::dma
