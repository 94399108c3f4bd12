// SPDX-License-Identifier: BSD-3-Clause
// From rules to a tree of nodes and leaves in a store.
#pragma once

#include <span>

#include "acl/cut.hpp"
#include "acl/leaf.hpp"

namespace turnpike::acl {

inline constexpr size_t usual_leaf = 16;  ///< rules; more are divided

/// Part of the key's space: the bits that the way down a tree has fixed.
template <unsigned Words>
struct region {
    std::array<uint32_t, Words> value{}, mask{};
    region inside(const cut& c, uint32_t child) const noexcept;
    /// May a key of this region match? False is certain.
    bool touches(const packed_rule<Words>& r) const noexcept;
};

/// Part of a rule set, on its way into nodes.
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

    /// What copying may cost from here on.
    /// growth  rules in a node's children for each rule of the node, to begin with; below 1: no
    ///         nodes
    /// copies  that all nodes together may add
    void allow(double growth, uint64_t copies) noexcept {
        growth_ = growth;
        copies_ = copies_left_ = copies;
    }
    /// Were most of the copies made?
    bool starved() const noexcept { return 4 * copies_left_ < copies_; }

    /// filter_word  of the key, for the leaves' filters
    /// copies       of each rule in leaves: counted up
    /// Throws  std::bad_alloc where the store is full
    entry build(std::span<const rule_type> rules, const part<Words>& p, unsigned filter_word,
                std::vector<uint32_t>& copies);
    /// The cut that would be made, if one is worth it.
    std::optional<cut> useful_cut(std::span<const rule_type> rules, const part<Words>& p,
                                  unsigned most_bits) const;

  private:
    /// Shrinks with what is left, so that a set which asks for ever more copies gets ever fewer.
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
