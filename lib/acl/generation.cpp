// SPDX-License-Identifier: BSD-3-Clause
#include "acl/generation.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>

#include "acl/trial.hpp"

namespace turnpike::acl {
namespace {

constexpr size_t trial_rules = 1024,
                 sample_rules = 384;  ///< up to the first, try with all rules; above, with a sample

/// Limits of rule copies, by thrift (builder::allow).
constexpr double growths[] = {4, 1.2, 0};
constexpr unsigned plain_thrift = std::size(growths) - 1;

/// Arena size that needs no prefetch: half of a typical L2.
constexpr uint64_t near_bytes = 512 * 1024;

/// Limit of copies for all nodes together: larger for small trees.
uint64_t allowed_copies(size_t rules) {
    return std::max(5 * rules, std::min<size_t>(12 * rules, 8000));
}

unsigned bits_asked(std::span<const uint32_t> mask) {
    unsigned bits = 0;
    for (const uint32_t m : mask) bits += static_cast<unsigned>(std::popcount(m));
    return bits;
}

/// Candidate divisions of rules with a wide source (2), a wide destination (1), both (3) or neither
/// (0) into trees. The first suits most sets, the second never makes many copies.
constexpr division divisions[] = {
    {8, 8, {0, 1, 0, 2}, 3}, {8, 8, {0, 1, 2, 3}, 4}, {8, 8, {0, 0, 1, 2}, 3},
    {8, 0, {0, 0, 1, 1}, 2}, {0, 8, {0, 1, 0, 1}, 2}, {0, 0, {0, 0, 0, 0}, 1},
};
constexpr const division& few_copies = divisions[1];
constexpr const division& together = divisions[5];
constexpr double clearly_better = 0.97;

constexpr double late_growth = 2;
constexpr uint32_t wide_copies =
    256;  ///< leaves per rule in a build; a rule in more goes to the late tree
constexpr double wide_growth = 2;
constexpr size_t max_copies = 64;  ///< leaves per added rule; a rule in more goes to the late tree
constexpr size_t long_leaf =
    24;  ///< divide a leaf when it reaches this length, twice this length, ...

bool grown_long(size_t rules) {
    return rules >= long_leaf && rules % long_leaf == 0 && std::has_single_bit(rules / long_leaf);
}

/// Position of a rule in a list, highest priority first.
template <class Rules, class Rule>
auto above_lower(Rules& rules, const Rule& r) {
    return std::find_if(rules.begin(), rules.end(),
                        [&r](const auto& other) { return other.priority < r.priority; });
}

}  // namespace

template <unsigned Words>
generation<Words>::generation(const std::vector<rule_type>& rules, const key_layout& key,
                              unsigned thrift, const generation* like)
    : coding_(leaf_coding<Words>::fitting(rules)),
      leaves_(store_, coding_),
      builder_(store_, leaves_, coding_),
      thrift_(thrift) {
    describe();
    view_.pieces = key.pieces;
    std::copy(key.at.begin(), key.at.end(), view_.piece_at);
    if (thrift == plain_thrift || rules.size() <= usual_leaf) {
        lay_out(rules, together, 0, 0);
        return;
    }
    if (like != nullptr && like->chosen_ != nullptr && rules.size() < 2 * like->chosen_for_ &&
        2 * rules.size() > like->chosen_for_) {
        chosen_ = like->chosen_;
        chosen_for_ = like->chosen_for_;
    } else {
        chosen_ = choose_division(rules);
        chosen_for_ = rules.size();
    }
    const auto build = [&] {
        lay_out(rules, *chosen_, growths[thrift], allowed_copies(rules.size()));
    };
    build();
    if (rules.size() <= trial_rules) return;
    // The division chosen by a sample may need too many copies of the whole set.
    if (starved_ && chosen_ != &few_copies) {
        chosen_ = &few_copies;
        build();
    }
    if (find_wide_rules()) build();
    wide_ = {};
    copies_ = {};
}

/// Mark rules with too many copies for single-rule changes; they go to the late tree.
template <unsigned Words>
bool generation<Words>::find_wide_rules() {
    wide_.resize(copies_.size());
    std::transform(copies_.begin(), copies_.end(), wide_.begin(),
                   [](uint32_t copies) { return copies > wide_copies; });
    return std::find(wide_.begin(), wide_.end(), true) != wide_.end();
}

template <unsigned Words>
void generation<Words>::describe() noexcept {
    view_.key_words = Words;
    view_.stored_words = coding_.stored_words;
    std::copy(coding_.stored.begin(), coding_.stored.end(), view_.stored);
    view_.rank_shift = coding_.rank_shift;
    view_.categories = coding_.categories;
}

template <unsigned Words>
unsigned generation<Words>::division_tree(const rule_type& r) const noexcept {
    constexpr unsigned half = (Words - ports_from_end) / 2;
    const bool source = bits_asked({r.mask.data(), half}) < division_.source_bits;
    const bool destination = bits_asked({r.mask.data() + half, half}) < division_.destination_bits;
    return division_.tree_of[source * 2u + destination];
}

/// Build the trees of one division, the one with the highest priority first.
template <unsigned Words>
void generation<Words>::lay_out(const std::vector<rule_type>& rules, const division& d,
                                double growth, uint64_t copies) {
    store_.clear();
    builder_.allow(growth, copies);
    division_ = d;
    copies_.assign(rules.size(), 0);
    const bool any_wide = !wide_.empty();
    std::vector<std::vector<uint32_t>> sets(d.trees + 1u);
    for (uint32_t i = 0; i < rules.size(); ++i)
        sets[any_wide && wide_[i] ? d.trees : division_tree(rules[i])].push_back(i);
    std::vector<uint8_t> order(d.trees + 1u);
    std::iota(order.begin(), order.end(), uint8_t{0});
    const auto top = [&sets](uint8_t tree) { return sets[tree].empty() ? ~0u : sets[tree][0]; };
    std::sort(order.begin(), order.end() - 1,
              [&](uint8_t a, uint8_t b) { return top(a) < top(b); });
    for (uint8_t& tree : division_.tree_of)
        tree = static_cast<uint8_t>(std::find(order.begin(), order.end(), tree) - order.begin());
    view_.trees = d.trees + 1u;
    view_.roots = store_.allocate(view_.trees * layout::entry_bytes);
    if (view_.roots == store::none) throw std::bad_alloc();
    homes_.resize(rules.size());
    for (unsigned t = 0; t <= d.trees; ++t) {
        const auto& set = sets[order[t]];
        if (t == d.trees) {
            starved_ = builder_.starved();
            builder_.allow(std::min(growth, wide_growth), 2 * set.size());
        }
        view_.filter_word[t] = static_cast<uint8_t>(best_filter_word(rules, set));
        put(view_.roots + t, builder_.build(rules, {set, {}, 0}, view_.filter_word[t], copies_));
        for (const uint32_t i : set) homes_[i] = static_cast<uint8_t>(t);
    }
    view_.arena = store_.base();
}

template <unsigned Words>
unsigned generation<Words>::best_filter_word(std::span<const rule_type> rules,
                                             std::span<const uint32_t> set) const {
    std::array<uint64_t, Words> asked{};
    for (const uint32_t i : set)
        for (unsigned w = 0; w < Words; ++w)
            asked[w] += static_cast<unsigned>(std::popcount(rules[i].mask[w]));
    return static_cast<unsigned>(std::max_element(asked.begin(), asked.end()) - asked.begin());
}

/// Try the divisions on a sample, with headers drawn from its rules.
template <unsigned Words>
const division* generation<Words>::choose_division(const std::vector<rule_type>& rules) const {
    std::vector<rule_type> sample;
    const auto n = static_cast<double>(rules.size());
    const double stride = rules.size() <= trial_rules ? 1.0 : n / sample_rules;
    for (double at = 0; at < static_cast<double>(rules.size()); at += stride)
        sample.push_back(rules[static_cast<size_t>(at)]);
    const uint64_t copies = allowed_copies(rules.size()) * sample.size() / rules.size();
    const division* best = divisions;
    double least = 0;
    for (const division& d : divisions) {
        const generation tried(sample, d, growths[0], copies);
        const double cycles = trial_cycles<Words>(tried.view_, sample);
        if (&d == divisions)
            least = cycles * clearly_better;
        else if (cycles < least)
            least = cycles, best = &d;
    }
    return best;
}

template <unsigned Words>
generation<Words>::generation(const std::vector<rule_type>& rules, const division& d, double growth,
                              uint64_t copies)
    : coding_(leaf_coding<Words>::fitting(rules)),
      leaves_(store_, coding_),
      builder_(store_, leaves_, coding_) {
    describe();
    lay_out(rules, d, growth, copies);
}

template <unsigned Words>
uint64_t generation<Words>::load(uint32_t granule, bool data) noexcept {
    return reinterpret_cast<const uint64_t*>(store_.at(granule))[data];
}

template <unsigned Words>
void generation<Words>::put(uint32_t granule, const entry& e) noexcept {
    auto* to = reinterpret_cast<uint64_t*>(store_.at(granule));
    to[0] = e.word;
    to[1] = e.data;
}

template <unsigned Words>
bool generation<Words>::settle(const memory& from, uint64_t max_bytes) {
    const uint64_t reserve = coding_.bytes(layout::leaf_rules, true);
    const uint64_t fixed = store_.used_bytes() + reserve + layout::guard_bytes;
    const uint64_t wanted = store_.used_bytes() / 4 + 16 * 1024;
    // With too little spare room, every change would rebuild the generation: increase thrift
    // instead.
    const uint64_t least = thrift_ == plain_thrift ? 0 : wanted / 2;
    if (fixed + least > max_bytes) return false;
    if (!store_.settle(from, std::min(wanted, max_bytes - fixed), reserve)) return false;
    view_.arena = store_.base();
    view_.large = store_.used_bytes() > near_bytes;
    return true;
}

template <unsigned Words>
owned_bit_vectors generation<Words>::exchange_vectors(owned_bit_vectors with) noexcept {
    __atomic_store_n(&view_.vectors, with.get(), __ATOMIC_RELEASE);
    vectors_.swap(with);
    return with;
}

template <unsigned Words>
void generation<Words>::find(uint32_t granule, const region_type& where, const rule_type& r,
                             size_t at_most, std::vector<leaf_position>& found,
                             std::vector<uint32_t>* above) {
    const uint64_t word = load(granule);
    if (found.size() > at_most) return;
    if (word == 0 || (info_of(word) & layout::leaf_bit) != 0) {
        found.push_back({granule, where});
        return;
    }
    if (above != nullptr) above->push_back(granule);
    if ((info_of(word) & layout::indirect_bit) != 0)
        return find(granule_of(word), where, r, at_most, found, above);
    const cut c = cut::from(load(granule, true));
    const uint32_t open = c.index(r.mask) ^ (c.children() - 1);
    const uint32_t fixed = c.index(r.value) & ~open;
    for (uint32_t bits = open;; bits = (bits - 1) & open) {
        const region_type child = where.inside(c, fixed | bits);
        if (child.touches(r))
            find(granule_of(word) + (fixed | bits), child, r, at_most, found, above);
        if (bits == 0) break;
    }
}

template <unsigned Words>
unsigned generation<Words>::tree_for(const rule_type& r) {
    const unsigned tree = division_tree(r);
    std::vector<leaf_position> found;
    find(view_.roots + tree, {}, r, max_copies, found, nullptr);
    return found.size() > max_copies ? late_tree() : tree;
}

/// Plan new contents for a leaf's entry. A long leaf becomes a node, if that helps, behind an
/// indirect entry: a reader that loaded the entry's old data must not use it as the node's.
template <unsigned Words>
void generation<Words>::replace(const leaf_position& at, unsigned tree,
                                std::vector<rule_type> rules, bool grown, pending_update& c) {
    const uint64_t before = load(at.granule);
    const unsigned filter_word = view_.filter_word[tree];
    if (grown && grown_long(rules.size())) {
        std::vector<uint32_t> all(rules.size());
        for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
        builder_.allow(late_growth, 4 * all.size());
        std::vector<uint32_t> copies(all.size());
        {
            const entry below = builder_.build(rules, {all, at.where, 1}, filter_word, copies);
            if ((info_of(below.word) & layout::node_bit) != 0) {
                const uint32_t granule = store_.allocate(layout::entry_bytes);
                if (granule == store::none) throw std::bad_alloc();
                put(granule, below);
                c.assignments.push_back(
                    {at.granule, false,
                     entry_word(granule, layout::node_bit | layout::indirect_bit |
                                             (info_of(below.word) & layout::rank_mask))});
                for (const uint64_t word : leaves_.chain(before)) c.gone.push_back(word);
                return;
            }
            for (const uint64_t word : leaves_.chain(below.word)) leaves_.release_one(word);
        }
    }
    const uint64_t word = leaves_.write(rules);
    for (const uint64_t one : leaves_.chain(word)) c.made.push_back(one);
    // Publish a weaker filter before the leaf that needs it: it is also correct for the old leaf.
    // Keep it weak after removals: a stronger filter would not be correct for the old leaf.
    if (grown)
        c.assignments.push_back({at.granule, true, leaves<Words>::filter(rules, filter_word)});
    c.assignments.push_back({at.granule, false, word});
    for (const uint64_t one : leaves_.chain(before)) c.gone.push_back(one);
}

template <unsigned Words>
bool generation<Words>::replace_link(const leaf_position& at, unsigned tree, const rule_type& r,
                                     bool insert, pending_update& c) {
    const uint64_t head = load(at.granule);
    if ((info_of(head) & layout::chained_bit) == 0) return false;
    const std::vector<uint64_t> chain = leaves_.chain(head);
    for (size_t i = 0; i < chain.size(); ++i) {
        std::vector<rule_type> rules = leaves_.read_one(chain[i]);
        const bool last = i + 1 == chain.size();
        if (insert) {
            if (!last && rules.back().priority >= r.priority) continue;
            rules.insert(above_lower(rules, r), r);
            const unsigned word = view_.filter_word[tree];
            c.assignments.push_back(
                {at.granule, true, leaves<Words>::filter(load(at.granule, true), r, word)});
        } else {
            const auto it = std::find(rules.begin(), rules.end(), r);
            if (it == rules.end()) continue;
            rules.erase(it);
        }
        const uint64_t next = last ? 0 : chain[i + 1];
        const uint64_t word = leaves_.write_before(rules, next);
        for (uint64_t one : leaves_.chain(word)) {
            if (one == next) break;
            c.made.push_back(one);
        }
        const auto [granule, half] =
            i == 0 ? std::pair{at.granule, false} : leaves_.link_of(chain[i - 1]);
        c.assignments.push_back({granule, half, word});
        c.gone.push_back(chain[i]);
        return true;
    }
    return true;
}

template <unsigned Words>
void generation<Words>::plan_insert(unsigned tree, const rule_type& r, pending_update& c) {
    try {
        std::vector<leaf_position> found;
        std::vector<uint32_t> above;
        find(view_.roots + tree, {}, r, ~size_t{0} - 1, found, &above);
        const uint32_t rank = coding_.rank(r.priority);
        for (const uint32_t granule : above) {
            const uint64_t word = load(granule);
            if ((info_of(word) & layout::rank_mask) < rank)
                c.ranks.push_back({granule, false, (word & ~uint64_t{layout::rank_mask}) | rank});
        }
        for (const leaf_position& at : found) {
            if (replace_link(at, tree, r, true, c)) continue;
            std::vector<rule_type> rules = leaves_.read(load(at.granule));
            rules.insert(above_lower(rules, r), r);
            replace(at, tree, std::move(rules), true, c);
        }
    } catch (const std::bad_alloc&) {
        undo(c);
        throw;
    }
}

template <unsigned Words>
void generation<Words>::plan_remove(unsigned tree, const rule_type& r, pending_update& c) {
    store_.open_reserve(true);
    try {
        std::vector<leaf_position> found;
        find(view_.roots + tree, {}, r, ~size_t{0} - 1, found, nullptr);
        for (const leaf_position& at : found) {
            if (replace_link(at, tree, r, false, c)) continue;
            std::vector<rule_type> rules = leaves_.read(load(at.granule));
            const auto it = std::find(rules.begin(), rules.end(), r);
            if (it == rules.end()) continue;
            rules.erase(it);
            replace(at, tree, std::move(rules), false, c);
        }
    } catch (const std::bad_alloc&) {
        store_.open_reserve(false);
        undo(c);
        throw;
    }
    store_.open_reserve(false);
}

template <unsigned Words>
void generation<Words>::publish(const pending_update& c) noexcept {
    const auto show = [this](const pending_update::assignment& a) {
        auto* to = reinterpret_cast<uint64_t*>(store_.at(a.granule)) + a.data;
        __atomic_store_n(to, a.value, __ATOMIC_RELEASE);
    };
    for (const auto& a : c.ranks) show(a);
    for (const auto& a : c.assignments) show(a);
}

template <unsigned Words>
void generation<Words>::undo(const pending_update& c) {
    for (const uint64_t word : c.made) leaves_.release_one(word);
}

template <unsigned Words>
void generation<Words>::measure(uint32_t granule, uint32_t depth, shape& s) {
    const uint64_t word = load(granule);
    if (word == 0) return;
    s.depth = std::max(s.depth, depth);
    if ((info_of(word) & layout::leaf_bit) != 0) {
        const auto rules = static_cast<uint32_t>(leaves_.read(word).size());
        ++s.leaves;
        s.copies += rules;
        s.longest_leaf = std::max(s.longest_leaf, rules);
        return;
    }
    if ((info_of(word) & layout::indirect_bit) != 0) return measure(granule_of(word), depth, s);
    ++s.nodes;
    const uint32_t children = cut::from(load(granule, true)).children();
    for (uint32_t i = 0; i < children; ++i) measure(granule_of(word) + i, depth + 1, s);
}

template <unsigned Words>
typename generation<Words>::shape generation<Words>::measure() {
    shape s;
    for (unsigned t = 0; t < view_.trees; ++t) measure(view_.roots + t, 0, s);
    return s;
}

template class generation<ipv4_words>;
template class generation<ipv6_words>;

}  // namespace turnpike::acl
