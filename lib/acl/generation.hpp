// SPDX-License-Identifier: BSD-3-Clause
// One built classifier: a few trees over one store, and the view that readers hold.
//
// Rules are divided by how wide they are (few bits of source or destination asked for): a wide rule
// would be copied into most children of a node that narrow rules call for. Each part is a tree;
// which division is best is tried on a sample. The last tree takes rules that would be copied too
// often in their own: such that come later, and in a large set those that were.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "acl/builder.hpp"

namespace turnpike::acl {

/// Which tree a rule belongs to: fewer bits than these asked for make an address wide.
struct division {
    uint8_t source_bits = 0, destination_bits = 0;
    std::array<uint8_t, 4> tree_of{};  ///< by source wide * 2 + destination wide
    uint8_t trees = 1;
};

/// A change that readers have not seen yet.
struct change {
    struct assignment {
        uint32_t granule;  ///< of the entry
        bool data;         ///< its second word
        uint64_t value;
    };
    std::vector<assignment> ranks;        ///< first: raise what stands above
    std::vector<assignment> assignments;  ///< then these, in order
    std::vector<uint64_t> made, gone;     ///< leaves, each link of a chain
};

/// Threads  the writer's only, except for what *published() points to
template <unsigned Words>
class generation {
  public:
    using rule_type = packed_rule<Words>;
    /// Key's place in the buffers that are classified; no pieces: words one after the other.
    struct key_layout {
        uint8_t pieces = 0;
        std::array<piece, max_pieces> at{};
    };

    /// rules   highest priority first
    /// thrift  0: as fast as can be; each step more takes less memory, down to plain lists
    /// like    divide the rules as this one did, where it held about as many: trying takes longer
    ///         than building. nullptr: try
    /// Throws  std::bad_alloc
    generation(const std::vector<rule_type>& rules, const key_layout& key, unsigned thrift,
               const generation* like);
    /// Move what was built to where readers will find it, with room for changes. False: no memory.
    bool settle(const memory& from, uint64_t max_bytes);
    const view* published() const noexcept { return &view_; }

    bool fits(const rule_type& r) const noexcept { return coding_.fits(r); }
    /// The trees that the rules it was built from lie in, in their order; told once.
    std::vector<uint8_t> take_homes() noexcept { return std::move(homes_); }
    /// The tree that a rule would be added to.
    unsigned tree_for(const rule_type& r);
    unsigned late_tree() const noexcept { return view_.trees - 1; }
    /// Plan a change; throws std::bad_alloc where the store is full, after undoing its parts.
    void plan_insert(unsigned tree, const rule_type& r, change& c);
    void plan_remove(unsigned tree, const rule_type& r, change& c);
    /// Show it. What is gone is to be released when no reader can hold it.
    void publish(const change& c) noexcept;
    void undo(const change& c);
    void release_leaf(uint64_t word) { leaves_.release_one(word); }

    struct shape {
        uint32_t nodes = 0, leaves = 0, depth = 0, longest_leaf = 0;
        uint64_t copies = 0;
    };
    shape measure();
    uint64_t reserved_bytes() const noexcept { return store_.reserved_bytes(); }
    uint64_t used_bytes() const noexcept { return store_.used_bytes(); }
    uint64_t live_bytes() const noexcept { return store_.live_bytes(); }

    /// What all generations of a table take, given back with this one.
    std::shared_ptr<uint64_t> held_bytes;

  private:
    using region_type = region<Words>;
    struct place {  ///< where a leaf's entry lies
        uint32_t granule;
        region_type where;
    };

    /// A trial, on a sample.
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
    /// Leaves' entries that a rule's keys can come to; nodes on the way into `above`.
    void find(uint32_t granule, const region_type& where, const rule_type& r, size_t at_most,
              std::vector<place>& found, std::vector<uint32_t>* above);
    /// One link of a long leaf's chain, or nothing: the leaf is not chained.
    bool replace_link(const place& at, unsigned tree, const rule_type& r, bool insert, change& c);
    void replace(const place& at, unsigned tree, std::vector<rule_type> rules, bool grown,
                 change& c);
    void measure(uint32_t granule, uint32_t depth, shape& s);

    store store_;
    leaf_coding<Words> coding_;
    leaves<Words> leaves_;
    builder<Words> builder_;
    unsigned thrift_ = 0;
    view view_{};
    division division_;
    // While it is built:
    bool starved_ = false;          ///< of copies
    std::vector<uint32_t> copies_;  ///< of each rule in leaves
    std::vector<bool> wide_;        ///< rules for the late tree; empty: none
    std::vector<uint8_t> homes_;
    const division* chosen_ = nullptr;
    size_t chosen_for_ = 0;  ///< rules
};

}  // namespace turnpike::acl
