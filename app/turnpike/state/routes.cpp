// SPDX-License-Identifier: BSD-3-Clause
#include "state/routes.hpp"

#include <algorithm>

namespace turnpike::state {
namespace {

/// Routes of a part: few enough to be copied for one change, enough that parts are few. 512 made a stream of
/// random changes a third slower.
constexpr size_t part_made = 64, part_most = 128;

constexpr auto before_prefix = [](const route& r, const ip_prefix& p) { return r.to < p; };

}  // namespace

uint32_t route_set::target_index(const route_target& t) {
    const auto at = std::lower_bound(
        by_target_.begin(), by_target_.end(), t,
        [this](uint32_t i, const route_target& wanted) { return targets_[i] < wanted; });
    if (at != by_target_.end() && targets_[*at] == t) return *at;
    const bool again = !unused_.empty();
    const uint32_t index = again ? unused_.back() : static_cast<uint32_t>(targets_.size());
    by_target_.insert(at, index);
    if (again) {
        unused_.pop_back();
        targets_[index] = t;
    } else {
        targets_.push_back(t);
        uses_.push_back(0);
    }
    return index;
}

std::optional<uint32_t> route_set::find_target(const route_target& t) const noexcept {
    const auto at = std::lower_bound(
        by_target_.begin(), by_target_.end(), t,
        [this](uint32_t i, const route_target& wanted) { return targets_[i] < wanted; });
    if (at == by_target_.end() || targets_[*at] != t) return std::nullopt;
    return *at;
}

void route_set::unuse(uint32_t target) {
    if (--uses_[target] != 0) return;
    unused_.push_back(target);
    const auto at = std::lower_bound(
        by_target_.begin(), by_target_.end(), targets_[target],
        [this](uint32_t i, const route_target& wanted) { return targets_[i] < wanted; });
    by_target_.erase(at);
    targets_[target] = {.type = route_type::blackhole};
}

std::optional<ip_prefix> route_set::finish() {
    std::vector<route> all = std::move(added_);
    added_ = {};
    const auto before = [](const route& a, const route& b) { return a.to < b.to; };
    if (!std::is_sorted(all.begin(), all.end(), before)) std::sort(all.begin(), all.end(), before);
    const auto twice = std::adjacent_find(
        all.begin(), all.end(), [](const route& a, const route& b) { return a.to == b.to; });
    if (twice != all.end()) return twice->to;
    for (size_t at = 0; at < all.size(); at += part_made) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last =
            all.begin() + static_cast<std::ptrdiff_t>(std::min(at + part_made, all.size()));
        parts_.push_back({first->to, std::make_shared<part>(first, last)});
    }
    for (const route& r : all) use(r.target);
    size_ = all.size();
    return std::nullopt;
}

/// The part that has the prefix, or would: the first one for what is before all.
size_t route_set::part_of(const ip_prefix& to) const noexcept {
    // Who asks in order asks for the same part again, or for the next one.
    for (size_t p = last_part_; p < std::min(last_part_ + 2, parts_.size()); ++p)
        if (!(to < parts_[p].first) && (p + 1 == parts_.size() || to < parts_[p + 1].first))
            return last_part_ = p;
    const auto behind = std::upper_bound(
        parts_.begin(), parts_.end(), to,
        [](const ip_prefix& p, const placed_part& other) { return p < other.first; });
    return last_part_ =
               static_cast<size_t>(std::max<std::ptrdiff_t>(behind - parts_.begin(), 1)) - 1;
}

/// A part that is to be changed: no other set's.
route_set::part& route_set::own(size_t p) {
    auto& routes = parts_[p].routes;
    if (routes.use_count() != 1) {
        auto copy = std::make_shared<part>();
        copy->reserve(std::min(routes->size() + 8, part_most));
        copy->assign(routes->begin(), routes->end());
        routes = std::move(copy);
    }
    return *routes;
}

void route_set::set(const ip_prefix& to, const route_target& leads) {
    if (last_ >= targets_.size() || uses_[last_] == 0 || targets_[last_] != leads)
        last_ = target_index(leads);
    const uint32_t target = last_;
    if (parts_.empty()) {
        parts_.push_back({to, std::make_shared<part>(1, route{to, target})});
        use(target);
        size_ = 1;
        return;
    }
    size_t p = part_of(to);
    if (const route* there = at(to); there != nullptr) {
        if (there->target == target) return;
        part& mine = own(p);
        const auto r = std::lower_bound(mine.begin(), mine.end(), to, before_prefix);
        use(target);
        unuse(std::exchange(r->target, target));
        return;
    }
    if (parts_[p].routes->size() == part_most) {
        const auto half = static_cast<std::ptrdiff_t>(part_most / 2);
        auto upper =
            std::make_shared<part>(parts_[p].routes->begin() + half, parts_[p].routes->end());
        auto lower =
            std::make_shared<part>(parts_[p].routes->begin(), parts_[p].routes->begin() + half);
        const ip_prefix first = upper->front().to;
        parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(p) + 1,
                      {first, std::move(upper)});
        parts_[p].routes = std::move(lower);
        if (!(to < first)) ++p;
    }
    part& mine = own(p);
    mine.insert(std::lower_bound(mine.begin(), mine.end(), to, before_prefix), {to, target});
    parts_[p].first = mine.front().to;
    use(target);
    ++size_;
}

bool route_set::remove(const ip_prefix& to) {
    if (at(to) == nullptr) return false;
    const size_t p = part_of(to);
    part& mine = own(p);
    const auto r = std::lower_bound(mine.begin(), mine.end(), to, before_prefix);
    unuse(r->target);
    mine.erase(r);
    --size_;
    if (mine.empty())
        parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(p));
    else
        parts_[p].first = mine.front().to;
    return true;
}

route_set::const_iterator route_set::lower_bound(const ip_prefix& to) const noexcept {
    if (parts_.empty()) return end();
    const size_t p = part_of(to);
    const part& in = *parts_[p].routes;
    const auto r = std::lower_bound(in.begin(), in.end(), to, before_prefix);
    if (r == in.end()) return {parts_.data() + p + 1, 0};
    return {parts_.data() + p, static_cast<size_t>(r - in.begin())};
}

const route* route_set::at(const ip_prefix& to) const noexcept {
    const auto r = lower_bound(to);
    return r != end() && r->to == to ? &*r : nullptr;
}

route_changes diff(const route_set& before, const route_set& after) {
    // Targets are compared once, not once a route. A part that both have is of routes that lead to the
    // same: of an index that it uses neither set has made another target.
    constexpr uint32_t none = UINT32_MAX;
    std::vector<uint32_t> same_as;
    for (const route_target& t : before.targets())
        same_as.push_back(after.find_target(t).value_or(none));
    route_changes out;
    auto b = before.begin(), a = after.begin();
    const auto b_end = before.end(), a_end = after.end();
    while (b != b_end || a != a_end) {
        if (b != b_end && a != a_end && b.at_ == 0 && a.at_ == 0 &&
            b.part_->routes == a.part_->routes) {
            ++b.part_;
            ++a.part_;
        } else if (a == a_end || (b != b_end && b->to < a->to)) {
            out.removed.push_back((b++)->to);
        } else if (b == b_end || a->to < b->to) {
            out.set.push_back(*a++);
        } else {
            if (same_as[b->target] != a->target) out.set.push_back(*a);
            ++a;
            ++b;
        }
    }
    return out;
}

}  // namespace turnpike::state
