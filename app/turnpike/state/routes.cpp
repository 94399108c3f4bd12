// SPDX-License-Identifier: BSD-3-Clause
#include "state/routes.hpp"

#include <algorithm>

namespace turnpike::state {

uint32_t route_set::target_index(const route_target& t) {
    const auto at = std::lower_bound(
        by_target_.begin(), by_target_.end(), t,
        [this](uint32_t i, const route_target& wanted) { return targets_[i] < wanted; });
    if (at != by_target_.end() && targets_[*at] == t) return *at;
    const auto index = static_cast<uint32_t>(targets_.size());
    targets_.push_back(t);
    by_target_.insert(at, index);
    return index;
}

std::optional<uint32_t> route_set::find_target(const route_target& t) const noexcept {
    const auto at = std::lower_bound(
        by_target_.begin(), by_target_.end(), t,
        [this](uint32_t i, const route_target& wanted) { return targets_[i] < wanted; });
    if (at == by_target_.end() || targets_[*at] != t) return std::nullopt;
    return *at;
}

const ip_prefix* route_set::finish() {
    const auto before = [](const route& a, const route& b) { return a.to < b.to; };
    if (!std::is_sorted(routes_.begin(), routes_.end(), before))
        std::sort(routes_.begin(), routes_.end(), before);
    const auto twice =
        std::adjacent_find(routes_.begin(), routes_.end(),
                           [](const route& a, const route& b) { return a.to == b.to; });
    return twice == routes_.end() ? nullptr : &twice->to;
}

const route_target* route_set::find(const ip_prefix& to) const noexcept {
    const auto at = std::lower_bound(routes_.begin(), routes_.end(), to,
                                     [](const route& r, const ip_prefix& p) { return r.to < p; });
    return at != routes_.end() && at->to == to ? &targets_[at->target] : nullptr;
}

route_changes diff(const route_set& before, const route_set& after) {
    // Targets are compared once, not once a route.
    constexpr uint32_t none = UINT32_MAX;
    std::vector<uint32_t> same_as;
    for (const route_target& t : before.targets())
        same_as.push_back(after.find_target(t).value_or(none));
    route_changes out;
    auto b = before.all().begin();
    const auto b_end = before.all().end();
    for (const route& a : after.all()) {
        for (; b != b_end && b->to < a.to; ++b) out.removed.push_back(b->to);
        const bool there = b != b_end && b->to == a.to;
        if (!there || same_as[b->target] != a.target) out.set.push_back(a);
        if (there) ++b;
    }
    for (; b != b_end; ++b) out.removed.push_back(b->to);
    return out;
}

}  // namespace turnpike::state
