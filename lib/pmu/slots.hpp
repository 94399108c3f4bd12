// SPDX-License-Identifier: BSD-3-Clause
// Where a pipeline's slots went, in a sentence: from the largest share downwards, and only as deep as
// it means something.
//
// Source: Yasin, "A Top-Down Method for Performance Analysis and Counters Architecture" (ISPASS 2014): a
// part is looked at where the whole is worth it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace turnpike::pmu {

struct slot_share {
    std::string_view name{}, parent{};  ///< parent: empty at level 1
    unsigned level = 1;                 ///< 1 to 3
    double share = 0;                   ///< of slots, or of cycles at level 3: 0 to 1
    double over = 0;                    ///< from here on it means something
    std::string_view says{};            ///< "of slots wait for memory"
};

/// The one that tells most: the largest of level 1, then its largest part that is over its mark, and so
/// on. Null: there is none of level 1.
[[nodiscard]] const slot_share* telling(std::span<const slot_share> all) noexcept;

/// "38 % of cycles wait for L3"; empty: nothing to say.
[[nodiscard]] std::string sentence(const slot_share* s);

}  // namespace turnpike::pmu
