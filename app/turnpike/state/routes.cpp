// SPDX-License-Identifier: BSD-3-Clause
#include "state/routes.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace turnpike::state {
namespace {

constexpr uint32_t none = route_table::none;

struct edit {
    ip_prefix to;
    uint32_t before, after;  ///< targets, or none
};

std::shared_ptr<const route_target> unused_target() {
    static const auto made =
        std::make_shared<const route_target>(route_target{.type = route_type::blackhole});
    return made;
}

}  // namespace

/// A version of a table. The versions form a tree whose root is the current contents of the table.
struct route_set::version {
    std::shared_ptr<route_table> in;
    /// The next version towards the root; null: this is the root.
    std::shared_ptr<version> toward{};
    /// The edits from this version to `toward`, in order.
    std::vector<edit> edits{};
    uint32_t others = 0;            ///< versions whose `toward` is this one
    version* last_other = nullptr;  ///< one of them, if it still exists

    explicit version(std::shared_ptr<route_table> of) noexcept : in(std::move(of)) {}
    version(const version&) = delete;
    version& operator=(const version&) = delete;
    ~version() { leave(); }

    void lean_on(std::shared_ptr<version> other) noexcept {
        toward = std::move(other);
        ++toward->others;
        toward->last_other = this;
    }
    void leave() noexcept {
        if (toward == nullptr) return;
        --toward->others;
        if (toward->last_other == this) toward->last_other = nullptr;
    }

    /// Converts the table to version `wanted`.
    static void make_current(const std::shared_ptr<version>& wanted) noexcept;
};

/// Reverses the path to the root, and reverts the edits on it. Allocates nothing:
/// parts of the table keep their capacity.
void route_set::version::make_current(const std::shared_ptr<version>& wanted) noexcept {
    if (wanted->toward == nullptr) return;
    std::shared_ptr<version> before, at = wanted;
    while (at != nullptr) {
        at->leave();
        std::shared_ptr<version> next = std::move(at->toward);
        if (before != nullptr) at->lean_on(std::move(before));
        before = std::move(at);
        at = std::move(next);
    }
    // From the root outwards: the edits between two versions belong to the child.
    for (version* v = before.get(); v->toward != nullptr; v = v->toward.get()) {
        v->edits = std::move(v->toward->edits);
        std::reverse(v->edits.begin(), v->edits.end());
        for (edit& e : v->edits) {
            v->in->exchange(e.to, e.before);
            std::swap(e.before, e.after);
        }
    }
}

std::vector<uint32_t>::const_iterator route_set::target_list::position_of(
    const route_target& t) const noexcept {
    return std::lower_bound(
        sorted.begin(), sorted.end(), t,
        [this](uint32_t i, const route_target& wanted) { return *all[i] < wanted; });
}

std::vector<uint32_t>::const_iterator route_set::target_list::position_of(
    uint32_t index) const noexcept {
    auto at = position_of(*all[index]);
    while (*at != index) ++at;
    return at;
}

/// The targets for a change; other sets keep theirs.
route_set::target_list& route_set::own_targets() {
    if (targets_ == nullptr)
        targets_ = std::make_shared<target_list>();
    else if (targets_.use_count() != 1)
        targets_ = std::make_shared<target_list>(*targets_);
    return *targets_;
}

uint32_t route_set::target_index(const route_target& t) {
    if (const auto known = find_target(t)) return *known;
    target_list& mine = own_targets();
    const bool again = !mine.unused.empty();
    if (!again && mine.all.size() == targets_most) throw std::bad_alloc();
    const uint32_t index = again ? mine.unused.back() : static_cast<uint32_t>(mine.all.size());
    auto made = std::make_shared<const route_target>(t);
    mine.sorted.insert(mine.position_of(t), index);
    if (again) {
        mine.unused.pop_back();
        mine.all[index] = std::move(made);
    } else {
        mine.all.push_back(std::move(made));
        mine.uses.push_back(0);
    }
    return index;
}

std::optional<uint32_t> route_set::find_target(const route_target& t) const noexcept {
    if (targets_ == nullptr) return std::nullopt;
    const auto at = targets_->position_of(t);
    if (at == targets_->sorted.end() || *targets_->all[*at] != t) return std::nullopt;
    return *at;
}

void route_set::unuse(target_list& mine, uint32_t target) {
    if (--mine.uses[target] != 0) return;
    mine.unused.push_back(target);
    mine.sorted.erase(mine.position_of(target));
    mine.all[target] = unused_target();
}

std::optional<ip_prefix> route_set::finish() {
    std::vector<route> all = std::move(added_);
    added_ = {};
    const auto before = [](const route& a, const route& b) { return a.to < b.to; };
    if (!std::is_sorted(all.begin(), all.end(), before)) std::sort(all.begin(), all.end(), before);
    const auto twice = std::adjacent_find(
        all.begin(), all.end(), [](const route& a, const route& b) { return a.to == b.to; });
    if (twice != all.end()) return twice->to;
    auto made = std::make_shared<route_table>();
    target_list& mine = own_targets();
    for (const route& r : all) {
        made->append(r);
        ++mine.uses[r.target];
    }
    at_ = std::make_shared<version>(std::move(made));
    size_ = all.size();
    return std::nullopt;
}

route_table& route_set::table() const noexcept {
    version::make_current(at_);
    return *at_->in;
}

/// The table for a change; other sets keep their versions.
route_table& route_set::own_table() {
    if (at_ == nullptr) at_ = std::make_shared<version>(std::make_shared<route_table>());
    version::make_current(at_);
    const size_t known = at_->last_other == nullptr ? 0 : at_->last_other->edits.size();
    if (known > 4096 + size_ / 2 || at_->in->is_sparse()) {
        detach();
        return *at_->in;
    }
    const bool alone = static_cast<size_t>(at_.use_count()) == 1U + at_->others;
    if (!alone || at_->others > 1 || (at_->others == 1 && at_->last_other == nullptr)) {
        auto next = std::make_shared<version>(at_->in);
        at_->lean_on(next);
        at_ = std::move(next);
    }
    return *at_->in;
}

/// Gives the set a separate table: if it differs in most routes from the sets that share the table, or if its parts are
/// nearly empty.
void route_set::detach() {
    auto copy = std::make_shared<route_table>();
    for (const route& r : *this) copy->append(r);
    at_ = std::make_shared<version>(std::move(copy));
}

/// Returns the old target.
uint32_t route_set::exchange(const ip_prefix& to, uint32_t target) {
    if (targets_.use_count() > 1 && at(to).value_or(none) == target) return target;
    target_list& known = own_targets();
    route_table& mine = own_table();
    std::vector<edit>* const last_edits = at_->others == 0 ? nullptr : &at_->last_other->edits;
    if (last_edits != nullptr && last_edits->size() == last_edits->capacity())
        last_edits->reserve(std::max<size_t>(64, 2 * last_edits->size()));
    const uint32_t was = mine.exchange(to, target);
    if (was == target) return was;
    if (last_edits != nullptr) last_edits->push_back({to, was, target});
    if (target != none) {
        ++known.uses[target];
        ++size_;
    }
    if (was != none) {
        --size_;
        unuse(known, was);
    }
    return was;
}

bool route_set::set(const ip_prefix& to, const route_target& leads, uint32_t& index) {
    const auto known = targets();
    if (index >= known.size() || uses_of(index) == 0 || known[index] != leads)
        index = target_index(leads);
    return exchange(to, index) == none;
}

bool route_set::remove(const ip_prefix& to) { return at_ != nullptr && exchange(to, none) != none; }

void route_set::replace_target(uint32_t index, const route_target& by) {
    target_list& mine = own_targets();
    auto made = std::make_shared<const route_target>(by);
    mine.sorted.erase(mine.position_of(index));
    mine.all[index] = std::move(made);
    mine.sorted.insert(mine.position_of(by), index);
}

route_set::const_iterator route_set::lower_bound(const ip_prefix& to) const noexcept {
    return at_ == nullptr ? end() : const_iterator(table().lower_bound(to));
}

std::optional<uint32_t> route_set::at(const ip_prefix& to) const noexcept {
    const uint32_t target = at_ == nullptr ? none : table().target_of(to);
    return target == none ? std::nullopt : std::optional(target);
}

namespace {

constexpr auto before_other = [](const auto& a, const auto& b) { return a.to < b.to; };

void add_routes_of(const std::vector<bool>& targets, const route_set& in, route_changes& to) {
    for (const route& r : in)
        if (targets[r.target]) to.set.push_back(r);
    std::sort(to.set.begin(), to.set.end(), before_other);
    const auto same = [](const route& a, const route& b) { return a.to == b.to; };
    to.set.erase(std::unique(to.set.begin(), to.set.end(), same), to.set.end());
}

}  // namespace

route_changes diff(const route_set& before, const route_set& after) {
    // Compare targets once, not once per route. A route unchanged in both sets has the same target index: neither set
    // has reused it.
    std::vector<uint32_t> same_as;
    for (const route_target& t : before.targets()) {
        const auto at = static_cast<uint32_t>(same_as.size());  // mostly the same index
        const bool stays = at < after.targets().size() && after.targets()[at] == t;
        same_as.push_back(stays ? at : after.find_target(t).value_or(none));
    }
    route_changes out;
    const auto compare = [&](const ip_prefix& to, uint32_t was, uint32_t is) {
        if (is == none) {
            if (was != none) out.removed.push_back(to);
        } else if (was == none || same_as[was] != is) {
            out.set.push_back({to, is});
        }
    };
    if (before.at_ != nullptr && after.at_ != nullptr && before.at_->in == after.at_->in) {
        route_set::version::make_current(after.at_);
        std::vector<edit> all;
        std::vector<uint32_t> unchanged(same_as.size());  // routes, by target
        for (uint32_t t = 0; t < same_as.size(); ++t) unchanged[t] = before.uses_of(t);
        for (const auto* v = before.at_.get(); v != after.at_.get(); v = v->toward.get())
            all.insert(all.end(), v->edits.begin(), v->edits.end());
        if (!std::is_sorted(all.begin(), all.end(), before_other))
            std::stable_sort(all.begin(), all.end(), before_other);
        out.set.reserve(all.size());
        for (auto e = all.begin(); e != all.end();) {
            // A prefix's first edit has the old target, its last edit the new one.
            const uint32_t was = e->before;
            const auto first = e;
            while (e + 1 != all.end() && (e + 1)->to == first->to) ++e;
            compare(first->to, was, e->after);
            if (was != none) --unchanged[was];
            ++e;
        }
        std::vector<bool> replaced(after.targets().size());
        for (uint32_t t = 0; t < same_as.size(); ++t)
            if (unchanged[t] != 0 && same_as[t] != t) replaced[t] = true;
        if (std::ranges::find(replaced, true) != replaced.end())
            add_routes_of(replaced, after, out);
        return out;
    }
    auto b = before.begin(), a = after.begin();
    const auto b_end = before.end(), a_end = after.end();
    while (b != b_end || a != a_end) {
        if (a == a_end || (b != b_end && b->to < a->to)) {
            compare(b->to, b->target, none);
            ++b;
        } else if (b == b_end || a->to < b->to) {
            compare(a->to, none, a->target);
            ++a;
        } else {
            compare(a->to, b->target, a->target);
            ++a;
            ++b;
        }
    }
    return out;
}

}  // namespace turnpike::state
