// SPDX-License-Identifier: BSD-3-Clause
#include "fib/short_table.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <tuple>

#include "fib/interval_tree.hpp"

namespace turnpike::fib {
namespace {

/// An interval from an address up to the next interval.
struct interval {
    address from;
    uint32_t handle;
};

/// The last address of a prefix.
address last_of(const address& a, unsigned length) {
    const auto rest = [](unsigned bits) {
        return bits == 0 ? ~uint64_t{0} : bits >= 64 ? 0 : ~uint64_t{0} >> bits;
    };
    return {a.high | rest(length), a.low | rest(length <= 64 ? 0 : length - 64)};
}

/// The next address; 0 after the last.
address next_of(const address& a) { return {a.high + (a.low == ~uint64_t{0}), a.low + 1}; }

/// Append an interval; of several with the same start, the last one wins.
template <class Intervals, class Interval>
void append(Intervals& to, const Interval& i) {
    if (!to.empty() && to.back().from == i.from) to.pop_back();
    to.push_back(i);
}

/// Levels of a search of so many intervals; 0: too many.
unsigned search_levels_for(size_t intervals) {
    unsigned levels = layout::search_least_levels;
    while (levels <= layout::search_levels && size_t{1} << levels < intervals) ++levels;
    return levels <= layout::search_levels ? levels : 0;
}

size_t search_bytes(unsigned levels, bool ipv4) {
    if (levels == 0) return 0;
    const size_t bounds = layout::search_level_at(levels) * sizeof(uint32_t);
    const size_t words = in_lines((size_t{1} << levels) * sizeof(uint32_t));
    return in_lines(bounds) * (ipv4 ? 1 : 2) +
           4 * words;  // entries and nexthops32, twice that for hops
}

/// Write a search to `at`.
interval_search lay_search(std::span<const interval64> intervals, unsigned levels, bool ipv4,
                           const view& nodes, uint8_t* at) {
    const size_t count = size_t{1} << levels;
    const auto allocate = [&](size_t bytes) {
        uint8_t* const from = at;
        at += in_lines(bytes);
        return from;
    };
    auto* const high = reinterpret_cast<uint32_t*>(allocate(layout::search_level_at(levels) * 4));
    auto* const low =
        ipv4 ? nullptr : reinterpret_cast<uint32_t*>(allocate(layout::search_level_at(levels) * 4));
    auto* const entries = reinterpret_cast<uint32_t*>(allocate(count * sizeof(uint32_t)));
    auto* const nexthops = reinterpret_cast<uint64_t*>(allocate(count * sizeof(uint64_t)));
    auto* const nexthops32 = reinterpret_cast<uint32_t*>(allocate(count * sizeof(uint32_t)));
    for (unsigned level = 0; level < levels; ++level) {
        const unsigned first = layout::search_level_at(level);
        for (unsigned i = 0; i < layout::search_level_at(level + 1) - first; ++i) {
            const size_t behind = (2 * size_t{i} + 1) << (levels - level - 1);
            // No key is above the highest bound.
            const uint64_t bound =
                behind < intervals.size() ? intervals[behind].from - 1 : ~uint64_t{0};
            const int64_t key = layout::tree_key(bound);
            high[first + i] = static_cast<uint32_t>(key >> 32);
            if (low != nullptr)
                low[first + i] = static_cast<uint32_t>(key) ^ static_cast<uint32_t>(1) << 31;
        }
    }
    bool leaves = true, narrow = true;
    for (size_t i = 0; i < count; ++i) {
        const slot_entry entry = entries[i] = intervals[std::min(i, intervals.size() - 1)].entry;
        const uint32_t id = entry >> 1;
        const bool leaf = (entry & layout::node_bit) == 0;
        nexthops[i] = !leaf ? 0 : nodes.nexthops != nullptr ? nodes.nexthops[id] : id - 1;
        nexthops32[i] = static_cast<uint32_t>(nexthops[i]);
        leaves &= leaf;
        narrow &= nexthops[i] >> 32 == 0;
    }
    return {high, low, entries, nexthops, narrow ? nexthops32 : nullptr, levels, leaves};
}

}  // namespace

std::vector<short_table::route>::iterator short_table::position(const address& a,
                                                                unsigned length) noexcept {
    return std::lower_bound(routes_.begin(), routes_.end(), std::tuple(a.high, a.low, length),
                            [](const route& r, const auto& key) {
                                return std::tuple(r.prefix.high, r.prefix.low, r.length) < key;
                            });
}

void short_table::know(const rib& all, bool replaced) noexcept {
    if (known_ || all.size() > (replaced && !ipv4_ ? most_ : most_ / 2)) return;
    try {
        routes_.reserve(all.size());
        all.for_each([&](const address& a, unsigned length, uint32_t handle) {
            routes_.push_back({a, length, handle});
        });
        known_ = true;
    } catch (const std::bad_alloc&) {
        forget();
    }
}

void short_table::forget() noexcept {
    known_ = false;
    std::vector<route>().swap(routes_);
}

void short_table::put(const address& a, unsigned length, uint32_t handle) noexcept {
    if (!known_) return;
    const auto at = position(a, length);
    if (at != routes_.end() && at->prefix == a && at->length == length) {
        at->handle = handle;
    } else if (routes_.size() == most_) {
        forget();
    } else {
        try {
            routes_.insert(at, {a, length, handle});
        } catch (const std::bad_alloc&) {
            forget();
        }
    }
}

void short_table::erase(const address& a, unsigned length) noexcept {
    if (!known_) return;
    const auto at = position(a, length);
    if (at != routes_.end() && at->prefix == a && at->length == length) routes_.erase(at);
}

std::unique_ptr<interval_trees> short_table::build(const memory& from, generation& g,
                                                   const next_hops& nexthops,
                                                   uint32_t default_handle) const noexcept try {
    if (!known_ || most_ == 0) return nullptr;
    // Nested prefixes, the innermost last: when one ends, the one around it continues.
    struct open {
        address last;
        uint32_t handle;
    };
    std::array<open, 129> around;
    size_t depth = 0;
    std::vector<interval> all;
    all.reserve(2 * routes_.size() + 1);
    all.push_back({{}, default_handle});
    const auto close = [&] {
        const address behind = next_of(around[--depth].last);
        if (behind != address{})
            append(all, interval{behind, depth > 0 ? around[depth - 1].handle : default_handle});
    };
    for (const route& r : routes_) {
        const auto behind = [&](const address& last) {
            return std::tuple(r.prefix.high, r.prefix.low) > std::tuple(last.high, last.low);
        };
        while (depth > 0 && behind(around[depth - 1].last)) close();
        append(all, interval{r.prefix, r.handle});
        around[depth++] = {last_of(r.prefix, r.length), r.handle};
    }
    while (depth > 0) close();

    const auto leaf = [&](uint32_t handle) { return g.leaf(handle, nexthops.value(handle)); };
    std::vector<std::vector<interval64>> trees(1);
    uint32_t before = default_handle;
    for (size_t i = 0; i < all.size();) {
        const uint64_t high = all[i].from.high;
        size_t end = i + 1;
        while (end < all.size() && all[end].from.high == high) ++end;
        if (end == i + 1 && all[i].from.low == 0) {
            append(trees[0], interval64{high, leaf(all[i].handle)});
        } else {
            append(trees[0],
                   interval64{high, static_cast<slot_entry>(trees.size()) << 1 | layout::node_bit});
            std::vector<interval64>& low = trees.emplace_back();
            if (all[i].from.low != 0) low.push_back({0, leaf(before)});
            for (size_t k = i; k < end; ++k) low.push_back({all[k].from.low, leaf(all[k].handle)});
            if (high != ~uint64_t{0}) trees[0].push_back({high + 1, leaf(all[end - 1].handle)});
        }
        before = all[end - 1].handle;
        i = end;
    }
    const unsigned search_levels = search_levels_for(trees[0].size());
    if (ipv4_ && search_levels == 0) return nullptr;
    size_t bytes = search_bytes(search_levels, ipv4_);
    if (!ipv4_) bytes += in_lines(trees.size() * sizeof(tree));
    for (const auto& t : trees) {
        if (t.size() > layout::tree_entries(layout::tree_levels)) return nullptr;
        if (!ipv4_) bytes += tree_bytes(tree_levels_for(t.size()));
    }
    auto* const block = static_cast<uint8_t*>(from.allocate(from.context, bytes, 64));
    if (block == nullptr) return nullptr;
    std::unique_ptr<interval_trees> made;
    try {
        made = std::make_unique<interval_trees>(from, block);
    } catch (const std::bad_alloc&) {
        from.release(from.context, block);
        return nullptr;
    }
    made->seen = *g.published();
    if (search_levels > 0)
        made->seen.search = lay_search(trees[0], search_levels, ipv4_, *g.published(), block);
    if (ipv4_) return made;
    uint8_t* const all_trees = block + search_bytes(search_levels, ipv4_);
    uint8_t* at = all_trees + in_lines(trees.size() * sizeof(tree));
    for (size_t i = 0; i < trees.size(); ++i) {
        new (all_trees + i * sizeof(tree)) tree(lay_tree(trees[i], at));
        at += tree_bytes(tree_levels_for(trees[i].size()));
    }
    made->seen.trees = reinterpret_cast<const tree*>(all_trees);
    return made;
} catch (const std::bad_alloc&) {
    return nullptr;
}

}  // namespace turnpike::fib
