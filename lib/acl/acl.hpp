// SPDX-License-Identifier: BSD-3-Clause
// acl.hpp: packet classification: finds the matching rule with the highest priority.
//
// Layout: README.md draws it. Design: a few shallow trees that cut on bits of the key, leaves
// scanned with SIMD, the packets of a burst processed in parallel; and beside them bit vectors of
// groups of rules, where these are faster (doc/design/0006-acl.md).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "acl/table.hpp"
#include "isa/isa.hpp"

namespace turnpike::acl {

/// The kernels, best first.
std::span<const isa::kernel<classify_function>> classify_kernels() noexcept;

/// All rules that match a key.
struct explanation {
    std::optional<rule_id> winner;  ///< in the requested category
    std::vector<rule_id> others;    ///< other matching rules, in any category; the best first
};

/// Key      key4 or key6
/// Threads  one writer (all non-const functions) and many concurrent readers (classify), each of
///          which reports quiescence between its calls
template <class Key>
class classifier {
  public:
    static constexpr unsigned words = sizeof(Key) / 4;

    /// Errors  ENOTSUP: the kernel cannot run here; ENOMEM
    [[nodiscard]] static result<std::unique_ptr<classifier>> create(const config& c);

    /// Replace all rules at once; a rule's ID is its index in the list. Readers see the old set or
    /// the new one.
    ///
    /// Errors  EINVAL: names the invalid rule; ENOSPC, ENOMEM. The set is unchanged.
    [[nodiscard]] result<void> build(std::span<const rule> rules);
    /// Errors  EINVAL, ENOSPC, ENOMEM: the set is unchanged
    [[nodiscard]] result<rule_id> add(const rule& r);
    /// Errors  ENOENT; ENOMEM: the set is unchanged
    [[nodiscard]] result<void> remove(rule_id id);
    /// Call it after the last of some changes: the rules are classified faster again (bit_vectors.hpp). Takes some 1 ms for
    /// 1,000 rules. The rules are the same.
    void optimize() noexcept;
    /// Free the bit vectors that a list has beside its trees, until the next build: packets are classified by the trees.
    void drop_vectors() noexcept;
    /// Another config::max_bytes, for changes from now on.
    void limit_bytes(uint64_t max_bytes) noexcept { table_.limit_bytes(max_bytes); }
    /// Bytes reserved for the trees that readers use.
    [[nodiscard]] uint64_t tree_bytes() const noexcept { return table_.tree_bytes(); }
    /// Bytes of the bit vectors beside them.
    [[nodiscard]] uint64_t vector_bytes() const noexcept { return table_.vector_bytes(); }

    /// Classify a burst.
    ///
    /// keys        [n]; any alignment
    /// results     [n * categories] out: the best rule's user data for each category, 0 for none
    /// categories  1, or a multiple of 4 up to 16
    /// Requires    equal sizes; any n, processed in chunks
    /// Threads     many. Errors none.
    void classify(std::span<const Key* const> keys, std::span<uint32_t> results,
                  uint32_t categories = 1) const noexcept {
        kernel_.load(std::memory_order_relaxed)
            ->function(*table_.readers_view(), reinterpret_cast<const uint8_t* const*>(keys.data()),
                       results.data(), static_cast<uint32_t>(keys.size()), categories);
    }

    /// Compare a key with every rule. Writer's thread.
    [[nodiscard]] explanation explain(const Key& key, unsigned category = 0) const;
    /// Writer's thread; visits every node and leaf.
    [[nodiscard]] statistics stats() const { return table_.stats(); }
    uint32_t size() const noexcept { return table_.size(); }
    /// Argument for the kernels of classify_kernels(); valid until the reader's next quiescence.
    const view* readers_view() const noexcept { return table_.readers_view(); }
    /// The name of the selected kernel. Threads any.
    std::string_view kernel() const noexcept {
        return kernel_.load(std::memory_order_relaxed)->name;
    }
    /// Select another kernel, for a name at once, else at the next build. Errors as create().
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name);

  private:
    explicit classifier(const config& c)
        : name_(c.name), measure_kernels_(c.measure_kernels), table_(c, {}) {}
    std::string name_;
    const bool measure_kernels_;
    uint16_t max_simd_bitwidth_ = 0;
    bool automatic_ = true;
    bool vectors_pay_ = true;  ///< measured in the last build, and not dropped since
    table<words> table_;
    std::atomic<const isa::kernel<classify_function>*> kernel_{nullptr};
};

using classifier4 = classifier<key4>;
using classifier6 = classifier<key6>;

}  // namespace turnpike::acl
