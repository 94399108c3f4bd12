// SPDX-License-Identifier: BSD-3-Clause
// Encodes rules as leaves in a store (layout.hpp), and decodes them.
#pragma once

#include <array>
#include <vector>

#include "acl/rule.hpp"
#include "acl/store.hpp"

namespace turnpike::acl {

/// An entry's two words, before it is stored.
struct entry {
    uint64_t word = 0, data = 0;
};
constexpr uint32_t info_of(uint64_t word) { return static_cast<uint32_t>(word); }
constexpr uint32_t granule_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint64_t entry_word(uint32_t granule, uint32_t info) {
    return uint64_t{granule} << 32 | info;
}

/// Properties common to all leaves of a generation. Leaves store priorities relative to `base`, so
/// that their upper 16 bits make useful ranks, with room for later rules above and below. Stored
/// priorities are 1 to max_priority: kernels compare them as signed integers.
template <unsigned Words>
struct leaf_coding {
    std::array<uint8_t, Words> stored{};  ///< words that some rule tests, ports last
    uint8_t stored_words = 0;
    uint8_t rank_shift = 0;
    uint32_t base = 0;
    uint32_t categories = 0;  ///< common to all rules; 0: they differ

    static leaf_coding fitting(const std::vector<packed_rule<Words>>& rules);
    bool fits(const packed_rule<Words>& r) const noexcept;
    uint32_t stored_priority(uint32_t priority) const noexcept { return priority - base; }
    uint32_t rank(uint32_t priority) const noexcept {
        return stored_priority(priority) >> rank_shift;
    }
    uint32_t bytes(uint32_t rules, bool chained) const noexcept {
        return layout::leaf_bytes(rules, stored_words, categories == 0, chained);
    }
};

template <unsigned Words>
class leaves {
  public:
    using rule_type = packed_rule<Words>;
    leaves(store& in, const leaf_coding<Words>& coding) : store_(in), coding_(coding) {}

    /// rules  highest priority first. Returns 0 for none; throws std::bad_alloc if the store is
    /// full, with nothing allocated.
    uint64_t write(const std::vector<rule_type>& rules);
    /// Like write(), linked to a following leaf.
    uint64_t write_before(const std::vector<rule_type>& rules, uint64_t next);
    std::vector<rule_type> read(uint64_t word) const;
    std::vector<rule_type> read_one(uint64_t word) const;  ///< without the following ones
    /// The chain of leaves that starts here.
    std::vector<uint64_t> chain(uint64_t word) const;
    void release_one(uint64_t word);
    /// Location of the link to the next leaf: granule, and whether it is the granule's second half.
    std::pair<uint32_t, bool> link_of(uint64_t word) const noexcept;
    /// A leaf's filter over a word of the key: the bits that all rules share.
    static uint64_t filter(const std::vector<rule_type>& rules, unsigned word) noexcept;
    /// Weaken a filter so that one more rule passes.
    static uint64_t filter(uint64_t before, const rule_type& more, unsigned word) noexcept;

  private:
    uint64_t write_one(const rule_type* rules, uint32_t count, uint64_t next);
    uint64_t next_of(uint64_t word) const noexcept;

    store& store_;
    const leaf_coding<Words>& coding_;
};

}  // namespace turnpike::acl
