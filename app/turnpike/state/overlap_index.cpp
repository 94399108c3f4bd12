// SPDX-License-Identifier: BSD-3-Clause
#include "state/overlap_index.hpp"

#include <algorithm>
#include <utility>

namespace turnpike::state {
namespace {

/// Ports: of the destination in the low half, of the source in the high one.
constexpr unsigned halves[] = {0, 16};
uint32_t first_port(const overlap_index::packed& p, unsigned half) noexcept {
    return p.ports_low >> half & 0xffff;
}
uint32_t last_port(const overlap_index::packed& p, unsigned half) noexcept {
    return first_port(p, half) + (p.ports_more >> half & 0xffff);
}

bool both_match(const overlap_index::packed& a, const overlap_index::packed& b) noexcept {
    for (size_t w = 0; w < a.value.size(); ++w)
        if (((a.value[w] ^ b.value[w]) & a.mask[w] & b.mask[w]) != 0) return false;
    return std::ranges::all_of(halves, [&](unsigned half) {
        return first_port(a, half) <= last_port(b, half) &&
               first_port(b, half) <= last_port(a, half);
    });
}

}  // namespace

unsigned overlap_index::branch(const packed& rule, bit b) noexcept {
    const uint32_t one = uint32_t{1} << b % 32;
    if ((rule.mask[b / 32] & one) == 0) return 2;
    return (rule.value[b / 32] & one) != 0 ? 1 : 0;
}

/// The bit after which a search has the fewest rules left; none: no bit makes them fewer.
overlap_index::bit overlap_index::best_bit(const std::vector<packed>& rules) noexcept {
    bit best = node::none;
    size_t fewest = rules.size();
    for (bit b = 0; b < acl::ipv6_words * 32; ++b) {
        std::array<size_t, 3> count{};
        for (const packed& rule : rules) ++count[branch(rule, b)];
        const size_t left = std::max(count[0], count[1]) + count[2];
        if (left >= fewest) continue;
        fewest = left;
        best = b;
    }
    return best;
}

void overlap_index::divide(node& leaf) {
    const bit by = best_bit(leaf.rules);
    leaf.divide_at = 2 * leaf.rules.size();
    if (by == node::none) return;
    for (auto& child : leaf.children) child = std::make_unique<node>();
    for (const packed& rule : leaf.rules) {
        node& child = *leaf.children[branch(rule, by)];
        widen(child, rule);
        child.rules.push_back(rule);
    }
    leaf.rules = {};
    leaf.by = by;
}

void overlap_index::widen(node& n, const packed& rule) noexcept {
    if (std::exchange(n.empty, false)) {
        n.hull = rule;
        return;
    }
    packed& hull = n.hull;
    for (size_t w = 0; w < hull.mask.size(); ++w)
        hull.mask[w] &= rule.mask[w] & ~(hull.value[w] ^ rule.value[w]);
    uint32_t low = 0, more = 0;
    for (const unsigned half : halves) {
        const uint32_t first = std::min(first_port(hull, half), first_port(rule, half)),
                       last = std::max(last_port(hull, half), last_port(rule, half));
        low |= first << half;
        more |= (last - first) << half;
    }
    hull.ports_low = low;
    hull.ports_more = more;
}

void overlap_index::add(const packed& rule) {
    node* at = &root_;
    widen(*at, rule);
    while (at->by != node::none) {
        at = at->children[branch(rule, at->by)].get();
        widen(*at, rule);
    }
    at->rules.push_back(rule);
    if (at->rules.size() > at->divide_at) divide(*at);
}

bool overlap_index::overlaps(const node& n, const packed& rule) {
    if (n.empty || !both_match(rule, n.hull)) return false;
    if (n.by == node::none)
        return std::ranges::any_of(n.rules,
                                   [&](const packed& other) { return both_match(rule, other); });
    const unsigned to = branch(rule, n.by);
    for (unsigned child = 0; child < 3; ++child)
        if ((to == 2 || child == to || child == 2) && overlaps(*n.children[child], rule))
            return true;
    return false;
}

}  // namespace turnpike::state
