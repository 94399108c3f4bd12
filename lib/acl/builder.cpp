// SPDX-License-Identifier: BSD-3-Clause
#include "acl/builder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>

namespace turnpike::acl {
namespace {

constexpr size_t small_leaf = 8;
constexpr double spare_copies = 8;  ///< copies per rule that a node may make beyond its growth
constexpr unsigned root_bits = 14, wide_root_bits = 12, node_bits = 10, max_depth = 24;

}  // namespace

template <unsigned Words>
region<Words> region<Words>::inside(const cut& c, uint32_t child) const noexcept {
    region out = *this;
    const auto fix = [&out](const bit_run& r, uint32_t bits) {
        out.mask[r.word] |= r.mask() << r.shift;
        out.value[r.word] = (out.value[r.word] & ~(r.mask() << r.shift)) | bits << r.shift;
    };
    fix(c.first, child & c.first.mask());
    if (c.second.bits != 0) fix(c.second, child >> c.first.bits);
    return out;
}

template <unsigned Words>
bool region<Words>::touches(const packed_rule<Words>& r) const noexcept {
    for (unsigned w = 0; w < Words; ++w)
        if (((r.value[w] ^ value[w]) & r.mask[w] & mask[w]) != 0) return false;
    constexpr unsigned ports = packed_rule<Words>::ports_word;
    const uint32_t low = value[ports], high = value[ports] | ~mask[ports];
    const uint32_t rule_high = r.ports_low + r.ports_more;  // the sum never carries
    return low >> 16 <= rule_high >> 16 && high >> 16 >= r.ports_low >> 16 &&
           (low & 0xffff) <= (rule_high & 0xffff) && (high & 0xffff) >= (r.ports_low & 0xffff);
}

template <unsigned Words>
entry builder<Words>::leaf_of(std::span<const rule_type> rules, std::span<const uint32_t> set,
                              unsigned filter_word, std::vector<uint32_t>& copies) {
    std::vector<rule_type> own;
    own.reserve(set.size());
    for (const uint32_t i : set) {
        own.push_back(rules[i]);
        ++copies[i];
    }
    const uint64_t word = leaves_.write(own);
    return {word, leaves<Words>::filter(own, filter_word)};
}

template <unsigned Words>
double builder<Words>::copies_for(size_t rules) const noexcept {
    const double left = static_cast<double>(copies_left_) / static_cast<double>(copies_ + 1);
    return (1 + (growth_ - 1) * left) * static_cast<double>(rules) + spare_copies * left;
}

template <unsigned Words>
std::optional<cut> builder<Words>::useful_cut(std::span<const rule_type> rules,
                                              const part<Words>& p, unsigned max_bits) const {
    const size_t n = p.set.size();
    if (n <= small_leaf || p.depth >= max_depth || growth_ < 1) return {};
    auto bits = static_cast<unsigned>(std::bit_width(2 * n) - 1);
    // Every packet visits the root: a wide root saves steps, as long as it fits the caches.
    if (p.depth == 0) bits = std::max(bits, std::min(bits + 2, wide_root_bits));
    return choose_cut<Words>(rules, p.set, {std::min(bits, max_bits), copies_for(n)});
}

template <unsigned Words>
entry builder<Words>::build(std::span<const rule_type> rules, const part<Words>& p,
                            unsigned filter_word, std::vector<uint32_t>& copies) {
    // The cut was chosen on a sample: shrink it if it makes too many copies of the whole set.
    for (unsigned bits = p.depth == 0 ? root_bits : node_bits; bits != 0;) {
        const auto c = useful_cut(rules, p, bits);
        if (!c) break;
        const entry made = node_of(rules, p, *c, filter_word, copies);
        if (made.word != 0) return made;
        bits = c->bits() - 1;
    }
    return leaf_of(rules, p.set, filter_word, copies);
}

/// Build a node and its subtree; returns nothing if the cut does not divide the rules.
template <unsigned Words>
entry builder<Words>::node_of(std::span<const rule_type> rules, const part<Words>& p, const cut& c,
                              unsigned filter_word, std::vector<uint32_t>& copies) {
    // (child, rule) pairs, sorted by child with a counting sort, which keeps rules in order.
    const uint32_t children = c.children();
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    std::vector<uint32_t> starts(children + 1);
    // More copies mean that the cut is refused: the sample that it was chosen on may have seen one kind of rules only, of
    // which another one is in all children.
    const size_t before = p.set.size();
    const auto max_pairs = static_cast<size_t>(
        std::min(1.3 * copies_for(before), static_cast<double>(before + copies_left_)));
    for (const uint32_t i : p.set) {
        if (pairs.size() > max_pairs) return {};
        const uint32_t open = c.index(rules[i].mask) ^ (children - 1);
        const uint32_t fixed = c.index(rules[i].value) & ~open;
        for (uint32_t bits = open;; bits = (bits - 1) & open) {
            const uint32_t child = fixed | bits;
            if (p.where.inside(c, child).touches(rules[i])) {
                pairs.emplace_back(child, i);
                ++starts[child + 1];
            }
            if (bits == 0) break;
        }
    }
    const uint32_t most = *std::max_element(starts.begin(), starts.end());
    const size_t more = pairs.size() - std::min(pairs.size(), before);
    if (most == before || (before <= usual_leaf && 2 * most > before) || pairs.size() > max_pairs)
        return {};
    copies_left_ -= more;
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<uint32_t> sorted(pairs.size()), next(starts.begin(), starts.end() - 1);
    for (const auto& [child, i] : pairs) sorted[next[child]++] = i;
    pairs = {};
    const uint32_t granule = store_.allocate(children * layout::entry_bytes);
    if (granule == store::none) throw std::bad_alloc();
    for (uint32_t child = 0; child < children; ++child) {
        const std::span<const uint32_t> set(sorted.data() + starts[child],
                                            starts[child + 1] - starts[child]);
        if (set.empty()) continue;
        const part<Words> below{set, p.where.inside(c, child), p.depth + 1};
        const entry made = build(rules, below, filter_word, copies);
        std::memcpy(store_.at(granule + child), &made, sizeof made);
    }
    const uint32_t rank = coding_.rank(rules[p.set[0]].priority);
    return {
        entry_word(granule, layout::node_bit | uint32_t{c.first.bits} << layout::count_at | rank),
        c.data()};
}

template struct region<ipv4_words>;
template struct region<ipv6_words>;
template class builder<ipv4_words>;
template class builder<ipv6_words>;

}  // namespace turnpike::acl
