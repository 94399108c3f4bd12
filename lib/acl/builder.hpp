// SPDX-License-Identifier: BSD-3-Clause
// Builds a tree of nodes and leaves in a store from rules.
#pragma once

#include <span>

#include "acl/cut.hpp"
#include "acl/leaf.hpp"

namespace turnpike::acl {

inline constexpr size_t usual_leaf = 16;  ///< rules; larger sets are divided

/// Part of the key space: the key bits fixed on the path down a tree.
template <unsigned Words>
struct region {
    std::array<uint32_t, Words> value{}, mask{};
    region inside(const cut& c, uint32_t child) const noexcept;
    /// True if a key of this region may match; false is exact.
    bool touches(const packed_rule<Words>& r) const noexcept;
};

/// Part of a rule set while the tree is built.
template <unsigned Words>
struct part {
    std::span<const uint32_t> set;  ///< indices of rules, highest priority first
    region<Words> where;
    unsigned depth;
};

template <unsigned Words>
class builder {
  public:
    using rule_type = packed_rule<Words>;
    builder(store& in, leaves<Words>& to, const leaf_coding<Words>& coding)
        : store_(in), leaves_(to), coding_(coding) {}

    /// Budget for rule copies.
    ///
    /// growth  initial limit of rules in a node's children per rule of the node; below 1: no nodes
    /// copies  limit for all nodes together
    void allow(double growth, uint64_t copies) noexcept {
        growth_ = growth;
        copies_ = copies_left_ = copies;
    }
    /// Most of the budget for copies is used.
    bool starved() const noexcept { return 4 * copies_left_ < copies_; }

    /// filter_word  word of the key that leaf filters test
    /// copies       per rule, incremented for each leaf that contains it
    /// Throws  std::bad_alloc if the store is full
    entry build(std::span<const rule_type> rules, const part<Words>& p, unsigned filter_word,
                std::vector<uint32_t>& copies);
    /// The best cut, if one is worth it.
    std::optional<cut> useful_cut(std::span<const rule_type> rules, const part<Words>& p,
                                  unsigned max_bits) const;

  private:
    /// Shrinks with the remaining budget, so that a set that needs many copies gets fewer and
    /// fewer.
    double copies_for(size_t rules) const noexcept;
    entry leaf_of(std::span<const rule_type> rules, std::span<const uint32_t> set,
                  unsigned filter_word, std::vector<uint32_t>& copies);
    entry node_of(std::span<const rule_type> rules, const part<Words>& p, const cut& c,
                  unsigned filter_word, std::vector<uint32_t>& copies);

    store& store_;
    leaves<Words>& leaves_;
    const leaf_coding<Words>& coding_;
    double growth_ = 0;
    uint64_t copies_ = 0, copies_left_ = 0;
};

}  // namespace turnpike::acl
