// SPDX-License-Identifier: BSD-3-Clause
// Rules of an ACL, to find one that may match the same packets as another rule.
//
// A decision tree: an inner node divides its rules by one bit of the key: rules that need 0, rules that need 1, and rules
// that match both. A search follows the branches that its rule can match, and ends at nodes whose rules all differ from it in
// something else: a node has a hull, a rule that matches what its rules match. A leaf has few rules, or rules that no bit
// divides, and is searched one by one. So n rules that differ in their addresses or ports cost about n log n, not n^2.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "acl/layout.hpp"
#include "acl/rule.hpp"

namespace turnpike::state {

class overlap_index {
  public:
    using packed = acl::packed_rule<acl::ipv6_words>;

    /// Whether a packet can match `rule` and a rule of the index.
    [[nodiscard]] bool overlaps(const packed& rule) const { return overlaps(root_, rule); }
    void add(const packed& rule);

  private:
    /// A bit of the key: word * 32 + position.
    using bit = unsigned;
    struct node {
        static constexpr bit none = ~0U;
        bit by = none;                ///< of an inner node
        bool empty = true;            ///< no rule is below
        packed hull{};                ///< matches every packet that a rule below matches
        std::vector<packed> rules{};  ///< of a leaf
        size_t divide_at = 16;        ///< rules of the leaf, before the next attempt to divide it
        std::array<std::unique_ptr<node>, 3> children{};  ///< by branch
    };
    /// 0 or 1: the bit that the rule needs; 2: both match.
    [[nodiscard]] static unsigned branch(const packed& rule, bit b) noexcept;
    [[nodiscard]] static bit best_bit(const std::vector<packed>& rules) noexcept;
    static void divide(node& leaf);
    /// A rule is added below.
    static void widen(node& n, const packed& rule) noexcept;
    [[nodiscard]] static bool overlaps(const node& n, const packed& rule);

    node root_{};
};

}  // namespace turnpike::state
