// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/slots.hpp"

#include <fmt/format.h>

namespace turnpike::pmu {

const slot_share* telling(std::span<const slot_share> all) noexcept {
    const slot_share* found = nullptr;
    for (unsigned level = 1; level <= 3; ++level) {
        const slot_share* best = nullptr;
        for (const slot_share& s : all) {
            const bool here =
                level == 1 ? s.level == 1
                           : s.level == level && s.parent == found->name && s.share >= s.over;
            if (here && (best == nullptr || s.share > best->share)) best = &s;
        }
        if (best == nullptr) break;
        found = best;
    }
    return found;
}

std::string sentence(const slot_share* s) {
    return s == nullptr ? "" : fmt::format("{:.0f} % {}", 100 * s->share, s->says);
}

}  // namespace turnpike::pmu
