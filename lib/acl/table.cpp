// SPDX-License-Identifier: BSD-3-Clause
#include "acl/table.hpp"

#include <algorithm>
#include <new>

namespace turnpike::acl {
namespace {

constexpr unsigned thrifts = 3;

template <unsigned Words>
bool matches_all(const packed_rule<Words>& r) noexcept {
    return r.mask == std::array<uint32_t, Words>{} && r.ports_low == 0 && r.ports_more == ~0u;
}

template <unsigned Words>
void raise(std::array<uint32_t, max_categories>& covers, const packed_rule<Words>& r) noexcept {
    for (unsigned c = 0; c < max_categories; ++c)
        if ((r.categories >> c & 1) != 0) covers[c] = std::max(covers[c], r.priority);
}

template <unsigned Words>
bool is_hidden(const std::array<uint32_t, max_categories>& covers,
               const packed_rule<Words>& r) noexcept {
    for (unsigned c = 0; c < max_categories; ++c)
        if ((r.categories >> c & 1) != 0 && covers[c] <= r.priority) return false;
    return true;
}

}  // namespace

template <unsigned Words>
table<Words>::~table() {
    retire(generation_.release());
}

/// A generation is freed when no reader can hold it; until then its bytes count towards the limit.
template <unsigned Words>
void table<Words>::retire(generation_type* old) noexcept {
    if (old == nullptr) return;
    config_.defer_free({[](void* owner, uint64_t) {
                            auto* gone = static_cast<generation_type*>(owner);
                            *gone->held_bytes -= gone->reserved_bytes();
                            delete gone;
                        },
                        old, 0});
}

template <unsigned Words>
tl::unexpected<error> table<Words>::out_of_memory() const {
    try {
        return fail(ENOMEM, config_.name,
                    "the rules need more memory than " + std::to_string(config_.max_bytes) +
                        " bytes, or memory is short; the table is unchanged");
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
}

template <unsigned Words>
typename table<Words>::covers table<Words>::find_covers() const noexcept {
    covers found{};
    for (const slot& s : slots_)
        if (s.tree != unused && matches_all(s.rule)) raise(found, s.rule);
    return found;
}

template <unsigned Words>
bool table<Words>::rebuild(bool fresh) noexcept {
    for (unsigned thrift = 0; thrift < thrifts; ++thrift) {
        try {
            if (rebuild_with(thrift, fresh)) return true;
        } catch (const std::bad_alloc&) {
        }
    }
    return false;
}

/// The rules that packets can reach, highest priority first, and their slots.
template <unsigned Words>
std::vector<typename table<Words>::rule_type> table<Words>::ordered_rules(
    const covers& found, std::vector<slot*>& order) {
    order.reserve(live_);
    for (slot& s : slots_)
        if (s.tree != unused && !is_hidden(found, s.rule)) order.push_back(&s);
    std::stable_sort(order.begin(), order.end(), [](const slot* a, const slot* b) {
        return a->rule.priority > b->rule.priority;
    });
    std::vector<rule_type> sorted;
    sorted.reserve(order.size());
    for (const slot* s : order) sorted.push_back(s->rule);
    return sorted;
}

template <unsigned Words>
void table<Words>::add_vectors(generation_type& to, const std::vector<rule_type>& rules) noexcept {
    if (rules.size() > config_.vector_rules) return;
    // The next generation's trees come first: they have to fit beside this one's.
    const uint64_t taken = *held_bytes_ + to.reserved_bytes();
    const uint64_t left = config_.max_bytes - std::min(config_.max_bytes, taken);
    to.exchange_vectors(
        make_bit_vectors<Words>(rules, *to.published(), config_.allocator, left, held_bytes_));
}

template <unsigned Words>
void table<Words>::drop_vectors() noexcept {
    if (generation_->vectors() == nullptr) return;
    const bit_vectors* const gone = generation_->exchange_vectors(nullptr).release();
    config_.defer_free(
        {[](void* owner, uint64_t) { bit_vectors_owner()(static_cast<const bit_vectors*>(owner)); },
         const_cast<bit_vectors*>(gone), 0});
}

template <unsigned Words>
void table<Words>::optimize() noexcept {
    if (generation_ == nullptr || generation_->vectors() != nullptr ||
        live_ - hidden_ > config_.vector_rules)
        return;
    try {
        std::vector<slot*> order;
        add_vectors(*generation_, ordered_rules(covers_, order));
    } catch (const std::bad_alloc&) {
        // The trees classify without them.
    }
}

template <unsigned Words>
bool table<Words>::rebuild_with(unsigned thrift, bool fresh) {
    const covers found = find_covers();
    std::vector<slot*> order;
    const std::vector<rule_type> sorted = ordered_rules(found, order);
    auto next = std::make_unique<generation_type>(sorted, key_, thrift,
                                                  fresh ? nullptr : generation_.get());
    const uint64_t left = config_.max_bytes - std::min(config_.max_bytes, *held_bytes_);
    if (!next->settle(config_.allocator, left)) return false;
    *held_bytes_ += next->reserved_bytes();
    next->held_bytes = held_bytes_;
    if (fresh) add_vectors(*next, sorted);
    const std::vector<uint8_t> homes = next->release_homes();
    covers_ = found;
    hidden_ = live_ - static_cast<uint32_t>(order.size());
    for (slot& s : slots_)
        if (s.tree != unused) s.tree = hidden;
    late_ = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        order[i]->tree = homes[i];
        late_ += order[i]->tree == next->late_tree();
    }
    late_limit_ = late_ + std::max(256U, live_ / 8);
    ++rebuilds_;
    view_.store(next->published(), std::memory_order_release);
    retire(generation_.release());
    generation_ = std::move(next);
    return true;
}

template <unsigned Words>
result<void> table<Words>::build(std::vector<rule_type> rules) {
    if (rules.size() > config_.max_rules)
        return fail(ENOSPC, config_.name,
                    std::to_string(rules.size()) + " rules, and at most " +
                        std::to_string(config_.max_rules) + " are allowed (max_rules)");
    std::vector<slot> fresh;
    try {
        fresh.reserve(rules.size());
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
    for (const rule_type& r : rules) fresh.push_back({r, 0});
    rules = {};
    const uint32_t before = live_;
    slots_.swap(fresh);
    live_ = static_cast<uint32_t>(slots_.size());
    if (rebuild(true)) {
        free_.clear();
        return {};
    }
    slots_.swap(fresh);
    live_ = before;
    return out_of_memory();
}

template <unsigned Words>
void table<Words>::apply(const pending_update& c) noexcept {
    generation_->publish(c);
    drop_vectors();
    for (const uint64_t word : c.gone)
        config_.defer_free({[](void* owner, uint64_t what) {
                                try {
                                    static_cast<generation_type*>(owner)->release_leaf(what);
                                } catch (const std::bad_alloc&) {
                                    // The block leaks until the next generation; it does no harm.
                                }
                            },
                            generation_.get(), word});
}

/// Apply the change to the affected leaves. Returns false if that is not possible.
template <unsigned Words>
bool table<Words>::insert(slot& s) noexcept {
    if (is_hidden(covers_, s.rule)) {
        s.tree = hidden;
        ++hidden_;
        return true;
    }
    try {
        if (!generation_->fits(s.rule)) return false;
        const unsigned tree = generation_->tree_for(s.rule);
        const bool late = tree == generation_->late_tree();
        if (late && late_ >= late_limit_) return false;
        pending_update c;
        generation_->plan_insert(tree, s.rule, c);
        apply(c);
        s.tree = static_cast<uint8_t>(tree);
        late_ += late;
        if (matches_all(s.rule)) raise(covers_, s.rule);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

template <unsigned Words>
result<rule_id> table<Words>::add(const rule_type& r) {
    if (live_ >= config_.max_rules)
        return fail(
            ENOSPC, config_.name,
            "there are " + std::to_string(live_) + " rules, the limit given at create (max_rules)");
    rule_id id;
    try {
        if (free_.empty()) {
            id = static_cast<rule_id>(slots_.size());
            free_.reserve(slots_.size() + 1);  // so that release cannot fail
            slots_.push_back({r, 0});
        } else {
            id = free_.back();
            free_.pop_back();
            slots_[id] = {r, 0};
        }
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
    ++live_;
    if ((generation_ != nullptr && insert(slots_[id])) || rebuild(false)) return id;
    --live_;
    slots_[id].tree = unused;
    free_.push_back(id);
    return out_of_memory();
}

template <unsigned Words>
result<void> table<Words>::remove(rule_id id) {
    if (!has(id))
        return fail(ENOENT, config_.name, "there is no rule with id " + std::to_string(id));
    try {
        free_.reserve(slots_.size());
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
    slot& s = slots_[id];
    const uint8_t tree = s.tree;
    const bool uncovers = tree != hidden && hidden_ != 0 && matches_all(s.rule);
    bool done = tree == hidden;
    try {
        if (!done && !uncovers) {
            pending_update c;
            generation_->plan_remove(tree, s.rule, c);
            apply(c);
            late_ -= tree == generation_->late_tree();
            done = true;
        }
    } catch (const std::bad_alloc&) {
    }
    s.tree = unused;
    --live_;
    hidden_ -= tree == hidden;
    if (!done && !rebuild(false)) {
        s.tree = tree;
        ++live_;
        return out_of_memory();
    }
    if (matches_all(s.rule)) covers_ = find_covers();
    free_.push_back(id);
    return {};
}

template <unsigned Words>
std::vector<rule_id> table<Words>::matching(const std::array<uint32_t, Words>& key) const {
    std::vector<rule_id> ids;
    for (rule_id id = 0; id < slots_.size(); ++id)
        if (slots_[id].tree != unused && matches<Words>(slots_[id].rule, key)) ids.push_back(id);
    std::stable_sort(ids.begin(), ids.end(), [this](rule_id a, rule_id b) {
        return slots_[a].rule.priority > slots_[b].rule.priority;
    });
    return ids;
}

template <unsigned Words>
statistics table<Words>::stats() const {
    const auto shape = generation_->measure();
    statistics s{};
    s.rules = live_;
    s.hidden = hidden_;
    s.trees = generation_->published()->trees;
    s.nodes = shape.nodes;
    s.leaves = shape.leaves;
    s.depth = shape.depth;
    s.longest_leaf = shape.longest_leaf;
    s.replication = live_ == 0 ? 0 : static_cast<double>(shape.copies) / live_;
    const bit_vectors* const vectors = generation_->vectors();
    s.vector_bytes = vectors != nullptr ? bytes_of(*vectors) : 0;
    s.reserved_bytes = generation_->reserved_bytes() + s.vector_bytes;
    s.live_bytes = generation_->live_bytes();
    s.control_bytes = slots_.capacity() * sizeof(slot) + free_.capacity() * sizeof(rule_id);
    s.rebuilds = rebuilds_;
    return s;
}

template class table<ipv4_words>;
template class table<ipv6_words>;

}  // namespace turnpike::acl
