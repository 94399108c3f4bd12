// SPDX-License-Identifier: BSD-3-Clause
// One built classifier: a few trees over one store, and the view that readers hold.
//
// Rules are divided by width (few bits of source or destination given): a node that suits narrow
// rules would copy a wide rule into most children. Each part is a tree; trials on a sample choose
// the division. The last tree takes rules that would need too many copies in their own tree: rules
// added later and, in a large set, rules of the build.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "acl/bit_vectors.hpp"
#include "acl/builder.hpp"

namespace turnpike::acl {

/// Assigns rules to trees: an address with fewer bits than these is wide.
struct division {
    uint8_t source_bits = 0, destination_bits = 0;
    std::array<uint8_t, 4> tree_of{};  ///< by source wide * 2 + destination wide
    uint8_t trees = 1;
};

/// A change that is not yet visible to readers.
struct pending_update {
    struct assignment {
        uint32_t granule;  ///< the entry's
        bool data;         ///< the entry's second word
        uint64_t value;
    };
    std::vector<assignment> ranks;        ///< first: raise the ranks above
    std::vector<assignment> assignments;  ///< then these, in order
    std::vector<uint64_t> made, gone;     ///< leaves, each link of a chain
};

/// Threads  the writer's only, except *published()
template <unsigned Words>
class generation {
  public:
    using rule_type = packed_rule<Words>;
    /// Offsets of Key's words in the input buffers; no pieces: consecutive words.
    struct key_layout {
        uint8_t pieces = 0;
        std::array<piece, max_pieces> at{};
    };

    /// rules   highest priority first
    /// thrift  0: fastest; each step more uses less memory, down to plain lists
    /// like    reuse this generation's division if it had about as many rules: trials take longer
    ///         than building. nullptr: run the trials
    /// Throws  std::bad_alloc
    generation(const std::vector<rule_type>& rules, const key_layout& key, unsigned thrift,
               const generation* like);
    /// Move the build to memory that readers use, with room for changes. Returns false if there is
    /// no memory.
    bool settle(const memory& from, uint64_t max_bytes);
    const view* published() const noexcept { return &view_; }
    /// Readers search these in place of the trees from now on; null: the trees. Returns the ones before.
    owned_bit_vectors exchange_vectors(owned_bit_vectors with) noexcept;
    const bit_vectors* vectors() const noexcept { return vectors_.get(); }

    bool fits(const rule_type& r) const noexcept { return coding_.fits(r); }
    /// The tree of each rule of the build, in their order; moves the result out.
    std::vector<uint8_t> release_homes() noexcept { return std::move(homes_); }
    /// The tree that a rule would be added to.
    unsigned tree_for(const rule_type& r);
    unsigned late_tree() const noexcept { return view_.trees - 1; }
    /// Plan a change; throws std::bad_alloc if the store is full, after undoing its parts.
    void plan_insert(unsigned tree, const rule_type& r, pending_update& c);
    void plan_remove(unsigned tree, const rule_type& r, pending_update& c);
    /// Make it visible to readers. Release `gone` when no reader can hold it.
    void publish(const pending_update& c) noexcept;
    void undo(const pending_update& c);
    void release_leaf(uint64_t word) { leaves_.release_one(word); }

    struct shape {
        uint32_t nodes = 0, leaves = 0, depth = 0, longest_leaf = 0;
        uint64_t copies = 0;
    };
    shape measure();
    uint64_t reserved_bytes() const noexcept { return store_.reserved_bytes(); }
    uint64_t used_bytes() const noexcept { return store_.used_bytes(); }
    uint64_t live_bytes() const noexcept { return store_.live_bytes(); }

    /// Bytes of all generations of a table; this generation's are subtracted when it is destroyed.
    std::shared_ptr<uint64_t> held_bytes;

  private:
    using region_type = region<Words>;
    struct leaf_position {  ///< location of a leaf's entry
        uint32_t granule;
        region_type where;
    };

    /// A trial build, on a sample.
    generation(const std::vector<rule_type>& rules, const division& d, double growth,
               uint64_t copies);
    void lay_out(const std::vector<rule_type>& rules, const division& d, double growth,
                 uint64_t copies);
    bool find_wide_rules();
    const division* choose_division(const std::vector<rule_type>& rules) const;
    void describe() noexcept;
    unsigned division_tree(const rule_type& r) const noexcept;
    unsigned best_filter_word(std::span<const rule_type> rules,
                              std::span<const uint32_t> set) const;
    uint64_t load(uint32_t granule, bool data = false) noexcept;
    void put(uint32_t granule, const entry& e) noexcept;
    /// Find the leaf entries that a rule's keys can reach; stores nodes on the path in `above`.
    void find(uint32_t granule, const region_type& where, const rule_type& r, size_t at_most,
              std::vector<leaf_position>& found, std::vector<uint32_t>* above);
    /// Replace one link of a long leaf's chain; returns false if the leaf is not chained.
    bool replace_link(const leaf_position& at, unsigned tree, const rule_type& r, bool insert,
                      pending_update& c);
    void replace(const leaf_position& at, unsigned tree, std::vector<rule_type> rules, bool grown,
                 pending_update& c);
    void measure(uint32_t granule, uint32_t depth, shape& s);

    store store_;
    leaf_coding<Words> coding_;
    leaves<Words> leaves_;
    builder<Words> builder_;
    unsigned thrift_ = 0;
    view view_{};
    owned_bit_vectors vectors_;
    division division_;
    // Only used while building:
    bool starved_ = false;          ///< too few copies were allowed
    std::vector<uint32_t> copies_;  ///< leaves per rule
    std::vector<bool> wide_;        ///< rules for the late tree; empty: none
    std::vector<uint8_t> homes_;
    const division* chosen_ = nullptr;
    size_t chosen_for_ = 0;  ///< rules
};

}  // namespace turnpike::acl
