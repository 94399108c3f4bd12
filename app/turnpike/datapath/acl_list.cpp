// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/acl_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "acl/acl_dpdk.hpp"

namespace turnpike::datapath {
namespace {

constexpr int any_socket = -1;
constexpr acl::rule_id no_id = UINT32_MAX;
/// Rules that can be inserted one at a time before the list must be recompiled.
constexpr uint32_t spare_ids = 256;

}  // namespace

acl::rule acl_list::rule_of(const state::acl_rule& r, uint32_t id, bool v6) const {
    acl::rule out = state::match_in(r, v6);
    out.priority = priority_[id];
    out.user_data = acl_hit(id, r.action == state::acl_action::deny);
    return out;
}

template <class Classifier>
result<void> acl_list::build(std::unique_ptr<Classifier>& to, std::vector<acl::rule_id>& ids,
                             bool v6, uint64_t max_bytes, rcu::defer_free defer_free) {
    std::vector<acl::rule> rules;
    ids.assign(priority_.size(), no_id);
    for (size_t index = 0; index < ids_.size(); ++index) {
        const state::acl_rule& r = says_->rules[index];
        if (!(v6 ? r.ipv6 : r.ipv4)) continue;
        ids[ids_[index]] = static_cast<acl::rule_id>(rules.size());
        rules.push_back(rule_of(r, ids_[index], v6));
    }
    acl::config c = acl::eal_config("access list '" + says_->name + "'", any_socket);
    c.max_rules = static_cast<uint32_t>(priority_.size());
    c.max_bytes = max_bytes;
    c.defer_free = defer_free;
    auto made = Classifier::create(c);
    if (!made) return tl::unexpected<error>(made.error());
    to = std::move(*made);
    return to->build(rules);
}

result<std::shared_ptr<acl_list>> acl_list::compile(std::shared_ptr<const state::acl_list> says,
                                                    rcu::defer_free defer_free) {
    std::shared_ptr<acl_list> made(new acl_list());
    made->says_ = std::move(says);
    const state::acl_list& l = *made->says_;
    const auto rules = static_cast<uint32_t>(l.rules.size());
    made->categories_ = l.categories;
    made->default_hit_ = acl_hit(default_id, !l.default_permits);
    made->priority_.assign(1 + rules + spare_ids, 0);
    made->actions_.assign(made->priority_.size(), state::acl_action::count);
    made->actions_[default_id] =
        l.default_permits ? state::acl_action::permit : state::acl_action::deny;
    const uint32_t step = acl::max_priority / (rules + 1);
    for (uint32_t index = 0; index < rules; ++index) {
        made->ids_.push_back(made->next_id_);
        made->actions_[made->next_id_] = l.rules[index].action;
        made->priority_[made->next_id_++] = (rules - index) * step;
    }
    const uint64_t limit = uint64_t{l.memory_mb} << 20;
    auto built = made->build(made->v4_, made->known_as_.v4, false, limit, defer_free);
    if (built) {
        const acl::statistics v4 = made->v4_->stats();
        const uint64_t trees = std::min(limit, v4.reserved_bytes - v4.vector_bytes);
        built = made->build(made->v6_, made->known_as_.v6, true, limit - trees, defer_free);
        if (built && v4.reserved_bytes + made->v6_->stats().reserved_bytes > limit)
            made->v4_->drop_vectors();
    }
    if (built) return made;
    if (built.error().code != ENOMEM) return tl::unexpected<error>(built.error());
    return fail(ENOMEM, l.where.text,
                fmt::format("access list '{}': its {} rules do not fit in memory_mb: {}, or there "
                            "is no memory; allow it more, or reserve more hugepages",
                            l.name, l.rules.size(), l.memory_mb));
}

uint64_t acl_list::bytes() const {
    return v4_->stats().reserved_bytes + v6_->stats().reserved_bytes;
}

std::string acl_list::search_of(bool v6) const {
    const auto name = [](const auto& table) {
        if (table.size() == 0) return std::string();
        return std::string(table.kernel()) +
               (table.readers_view()->vectors != nullptr ? "/vectors" : "");
    };
    return v6 ? name(*v6_) : name(*v4_);
}

bool acl_list::insert(const state::acl_rule& r, uint32_t id) {
    if (r.ipv4) {
        const auto added = v4_->add(rule_of(r, id, false));
        if (!added) return false;
        known_as_.v4[id] = *added;
    }
    if (r.ipv6) {
        const auto added = v6_->add(rule_of(r, id, true));
        if (!added) return false;
        known_as_.v6[id] = *added;
    }
    return true;
}

bool acl_list::remove(uint32_t id) {
    if (known_as_.v4[id] != no_id) {
        if (!v4_->remove(known_as_.v4[id])) return false;
        known_as_.v4[id] = no_id;
    }
    if (known_as_.v6[id] != no_id) {
        if (!v6_->remove(known_as_.v6[id])) return false;
        known_as_.v6[id] = no_id;
    }
    return true;
}

std::optional<acl_list::rule_edit> acl_list::edit_to(const state::acl_list& to) const {
    const auto &now = says_->rules, &then = to.rules;
    if (to.l2 != says_->l2 || to.default_permits != says_->default_permits ||
        to.memory_mb != says_->memory_mb || to.categories != says_->categories)
        return std::nullopt;
    const size_t shorter = std::min(now.size(), then.size());
    size_t head = 0, tail = 0;
    while (head < shorter && now[head] == then[head]) ++head;
    while (tail < shorter - head && now[now.size() - 1 - tail] == then[then.size() - 1 - tail])
        ++tail;
    const size_t gone = now.size() - head - tail, come = then.size() - head - tail;
    if (gone > 1 || come > 1) return std::nullopt;
    const auto counts = [](const state::acl_rule& r) {
        return r.action == state::acl_action::count;
    };
    if ((gone == 1 && counts(now[head])) || (come == 1 && counts(then[head]))) return std::nullopt;
    if (come == 1 && next_id_ == priority_.size()) return std::nullopt;
    return rule_edit{head, gone, come};
}

/// The trees of a family may use the part of memory_mb that the other family's trees do not need.
void acl_list::share_limit() noexcept {
    const uint64_t limit = uint64_t{says_->memory_mb} << 20;
    v4_->limit_bytes(limit - std::min(limit, v6_->tree_bytes()));
    v6_->limit_bytes(limit - std::min(limit, v4_->tree_bytes()));
}

/// Bit vectors again, of IPv4 first, where there is room beside all trees.
void acl_list::optimize() noexcept {
    const uint64_t limit = uint64_t{says_->memory_mb} << 20;
    v4_->limit_bytes(limit - std::min(limit, v6_->tree_bytes() + v6_->vector_bytes()));
    v4_->optimize();
    v6_->limit_bytes(limit - std::min(limit, v4_->tree_bytes() + v4_->vector_bytes()));
    v6_->optimize();
}

/// Rules that are added one next to the other divide a gap: the n-th takes a share of 1 / (n + 1), and leaves a priority for
/// each spare id. Halves would be used up after log2(gap) rules. A rule between two of the compiled list halves their gap.
std::optional<uint32_t> acl_list::priority_behind(size_t head) const {
    const uint32_t above = head == 0 ? acl::max_priority : priority_[ids_[head - 1]];
    const uint32_t below = head == ids_.size() ? 0 : priority_[ids_[head]];
    const uint32_t gap = above - below;
    if (gap < 2) return std::nullopt;
    const auto first_spare = static_cast<uint32_t>(priority_.size()) - spare_ids;
    // Numbers of rules that were added in this order towards the gap, from above and from below.
    uint32_t from_above = 0, from_below = 0;
    for (uint32_t next = UINT32_MAX; from_above < head; ++from_above) {
        const uint32_t id = ids_[head - 1 - from_above];
        if (id < first_spare || id > next) break;
        next = id;
    }
    for (uint32_t next = UINT32_MAX; head + from_below < ids_.size(); ++from_below) {
        const uint32_t id = ids_[head + from_below];
        if (id < first_spare || id > next) break;
        next = id;
    }
    if (from_above == 0 && from_below == 0) return below + gap / 2;
    const bool downwards = from_below == 0 || (from_above != 0 && ids_[head - 1] > ids_[head]);
    const auto spare = static_cast<uint32_t>(priority_.size()) - next_id_;
    const uint32_t share = gap / ((downwards ? from_above : from_below) + 2),
                   step = std::clamp(share, 1U, std::max(gap, spare + 1) - spare);
    return downwards ? above - step : below + step;
}

acl_list::one_rule acl_list::change_one_rule(const std::shared_ptr<const state::acl_list>& to) {
    const auto edit = edit_to(*to);
    if (!edit) return one_rule::as_it_was;
    const auto [head, gone, come] = *edit;
    const auto& then = to->rules;
    if (gone + come == 0) {
        says_ = to;  // only positions in the file differ
        return one_rule::changed;
    }
    std::vector<uint32_t> ids = ids_;  // allocate before anything changes
    share_limit();
    uint32_t id = 0;
    if (come == 1) {
        const auto priority =
            gone == 1 ? std::optional(priority_[ids_[head]]) : priority_behind(head);
        if (!priority) return one_rule::as_it_was;
        id = next_id_++;
        priority_[id] = *priority;
        actions_[id] = then[head].action;
        if (gone == 1)
            ids[head] = id;
        else
            ids.insert(ids.begin() + static_cast<std::ptrdiff_t>(head), id);
        if (!insert(then[head], id)) {
            if (!remove(id)) return one_rule::broken;
            optimize();
            return one_rule::as_it_was;
        }
    } else {
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(head));
    }
    if (gone == 1 && !remove(ids_[head])) return one_rule::broken;
    ids_ = std::move(ids);
    says_ = to;
    optimize();
    return one_rule::changed;
}

}  // namespace turnpike::datapath
