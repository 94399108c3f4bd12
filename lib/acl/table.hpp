// SPDX-License-Identifier: BSD-3-Clause
// A rule set and the generation built from it: one writer, many concurrent readers.
//
// To add or remove a single rule, the writer writes the affected leaves anew and publishes them by
// release stores of their entries. If that is impossible (a full store, a field that no rule used
// before, many wide rules), it builds another generation. A change that fails is undone, and
// readers never see it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "acl/generation.hpp"
#include "rcu/defer.hpp"

namespace turnpike::acl {

using rule_id = uint32_t;

/// Parameters of a classifier.
struct config {
    std::string name = "acl";       ///< for messages
    uint32_t max_rules = 1u << 20;  ///< more: ENOSPC
    uint64_t max_bytes = 1u << 30;  ///< memory for readers; a change that needs more: ENOMEM
    uint16_t max_simd_bitwidth = 512;
    std::string kernel = {};  ///< a kernel's name; empty: automatic
    /// Automatic: the kernel that is the fastest with the rules of each build (fastest_kernel.hpp);
    /// false: the first one that is permitted.
    bool measure_kernels = false;
    /// Lists up to this size have bit vectors from each build until the first change, if they can be divided (bit_vectors.hpp);
    /// 0: none have.
    uint32_t vector_rules = bit_vectors::max_rules;
    memory allocator = {};            ///< for memory that readers use
    rcu::defer_free defer_free = {};  ///< required if readers run during changes
};

struct statistics {
    uint32_t rules;
    uint32_t hidden;  ///< rules that no packet can reach, below one that matches everything
    uint32_t trees, nodes, leaves;
    uint32_t depth;                       ///< nodes on the longest path to a leaf
    uint32_t longest_leaf;                ///< rules
    double replication;                   ///< copies in leaves per rule
    uint64_t reserved_bytes, live_bytes;  ///< memory for readers
    uint64_t vector_bytes;   ///< of these: bit vectors; 0: packets are classified by the trees
    uint64_t control_bytes;  ///< memory of the writer's list
    uint64_t rebuilds;
    uint64_t bytes() const noexcept { return reserved_bytes + control_bytes; }
};

template <unsigned Words>
class table {
  public:
    using rule_type = packed_rule<Words>;
    using generation_type = generation<Words>;
    using key_layout = typename generation_type::key_layout;

    table(const config& c, const key_layout& key) : config_(c), key_(key) {}
    /// Memory that readers may hold is freed by defer_free: reclaim after this.
    ~table();
    table(const table&) = delete;
    table& operator=(const table&) = delete;

    /// Replace all rules; IDs are 0, 1, 2, ... ENOSPC, ENOMEM: the table is unchanged.
    [[nodiscard]] result<void> build(std::vector<rule_type> rules);
    [[nodiscard]] result<rule_id> add(const rule_type& r);
    [[nodiscard]] result<void> remove(rule_id id);
    /// After changes, and before a time without any: bit vectors again, if the list is short enough and there is memory.
    void optimize() noexcept;
    /// Classify by the trees: they were measured to be faster.
    void drop_vectors() noexcept;
    void limit_bytes(uint64_t max_bytes) noexcept { config_.max_bytes = max_bytes; }
    uint64_t tree_bytes() const noexcept {
        return generation_ != nullptr ? generation_->reserved_bytes() : 0;
    }
    uint64_t vector_bytes() const noexcept {
        const bit_vectors* const v = generation_ != nullptr ? generation_->vectors() : nullptr;
        return v != nullptr ? bytes_of(*v) : 0;
    }

    /// IDs of the matching rules, the best first; among equal priorities the lowest ID first.
    std::vector<rule_id> matching(const std::array<uint32_t, Words>& key) const;
    const rule_type& rule(rule_id id) const { return slots_[id].rule; }
    bool has(rule_id id) const { return id < slots_.size() && slots_[id].tree != unused; }
    uint32_t size() const noexcept { return live_; }
    statistics stats() const;
    const view* readers_view() const noexcept { return view_.load(std::memory_order_acquire); }

  private:
    static constexpr uint8_t unused = 0xff, hidden = 0xfe;
    struct slot {
        rule_type rule;
        uint8_t tree;  ///< the tree that has the rule; unused: a free slot; hidden: no tree
    };
    /// By category: the highest priority of a rule that matches everything; 0: none. A rule with a
    /// lower priority in all its categories is hidden: no packet can reach it.
    using covers = std::array<uint32_t, max_categories>;

    covers find_covers() const noexcept;
    std::vector<rule_type> ordered_rules(const covers& found, std::vector<slot*>& order);
    void add_vectors(generation_type& to, const std::vector<rule_type>& rules) noexcept;
    bool rebuild(bool fresh) noexcept;
    bool rebuild_with(unsigned thrift, bool fresh);
    bool insert(slot& s) noexcept;
    void apply(const pending_update& c) noexcept;
    void retire(generation_type* old) noexcept;
    [[nodiscard]] tl::unexpected<error> out_of_memory() const;

    config config_;
    key_layout key_;
    std::vector<slot> slots_;
    std::vector<rule_id> free_;
    uint32_t live_ = 0;
    uint32_t hidden_ = 0;  ///< hidden rules
    covers covers_{};
    uint32_t late_ = 0,
             late_limit_ = 0;  ///< rules in the late tree, and the number that triggers a rebuild
    uint64_t rebuilds_ = 0;
    /// Bytes of all generations not freed yet, for max_bytes; readers may hold the last ones longer
    /// than the table exists.
    std::shared_ptr<uint64_t> held_bytes_ = std::make_shared<uint64_t>(0);
    std::unique_ptr<generation_type> generation_;
    std::atomic<const view*> view_{nullptr};
};

}  // namespace turnpike::acl
