// SPDX-License-Identifier: BSD-3-Clause
// Summarizes top-down pipeline slots in a sentence: from the largest share downwards, as deep as
// shares are significant.
//
// Source: Yasin, "A Top-Down Method for Performance Analysis and Counters Architecture" (ISPASS
// 2014): descend into a category only if its share is significant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace turnpike::pmu {

struct slot_share {
    std::string_view name{}, parent{};  ///< parent: empty at level 1
    unsigned level = 1;                 ///< 1 to 3
    double share = 0;                   ///< of slots, or of cycles at level 3: 0 to 1
    double over = 0;                    ///< significant above this share
    std::string_view says{};            ///< "of slots wait for memory"
};

/// The most specific significant share: the largest of level 1, then its largest part over its
/// threshold, and so on. Null: there is none of level 1.
[[nodiscard]] const slot_share* telling(std::span<const slot_share> all) noexcept;

/// "38 % of cycles wait for L3"; empty: no result.
[[nodiscard]] std::string sentence(const slot_share* s);

}  // namespace turnpike::pmu
