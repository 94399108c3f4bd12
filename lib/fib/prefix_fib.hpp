// SPDX-License-Identifier: BSD-3-Clause
// Longest-prefix match of an address family: what fib4.hpp and fib6.hpp share.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fib/table.hpp"

namespace turnpike::fib {

template <class Address>
struct route_of {
    Address address;
    uint8_t length;
    uint64_t next_hop;
};

/// A change of one prefix, for exchange().
template <class Address>
struct change_of {
    Address address;
    uint8_t length;
    std::optional<uint64_t> next_hop;  ///< nullopt: remove the route
};

/// Family   address_type, lookup_function, the table's shape, and functions between addresses and the table's
/// Threads  one writer (all non-const functions) and many concurrent readers (lookup_bulk), each of
///          which reports quiescence between its calls; doc/design/0004-fib.md.
template <class Family>
class prefix_fib {
  public:
    using address_type = typename Family::address_type;
    using route_type = route_of<address_type>;
    using change_type = change_of<address_type>;

    /// Errors  EINVAL: sizes; ENOTSUP: the kernel cannot run here; ENOMEM
    [[nodiscard]] static result<std::unique_ptr<prefix_fib>> create(const config& c);

    /// Add a route, or replace its next hop.
    ///
    /// address  IPv4: host byte order; bits after `length` are zero
    /// Errors   EINVAL, ENOSPC (max_routes), ENOMEM: the table is unchanged
    [[nodiscard]] result<void> add(const address_type& address, unsigned length, uint64_t next_hop);
    /// Errors  ENOENT, EINVAL; ENOMEM: the table is unchanged
    [[nodiscard]] result<void> remove(const address_type& address, unsigned length);
    /// Apply many changes as one transaction, in this order; fastest if sorted. Readers see each
    /// change or none. Removal of a missing route is no error. Replaces each change by its inverse:
    /// applied in reverse order, they undo the transaction.
    ///
    /// undoes  the changes are such inverses: they may use memory that additions leave for removals
    /// Errors  EINVAL, ENOSPC, ENOMEM: the table and the changes are unchanged
    [[nodiscard]] result<void> exchange(std::span<change_type> changes, bool undoes = false);
    /// Replace the whole table at once; readers see the old one or the new one.
    ///
    /// Errors  as add(); the table is unchanged
    [[nodiscard]] result<void> load(std::span<const route_type> routes);

    /// Look up a burst.
    ///
    /// dst       [n] addresses; IPv4: host byte order, or network byte order (config::network_order)
    /// next_hop  [n] out; the default next hop if no route matches
    /// Requires  equal sizes; any n, processed in chunks
    /// Threads   many. Errors none.
    void lookup_bulk(std::span<const address_type> dst,
                     std::span<uint64_t> next_hop) const noexcept {
        kernel_.load(std::memory_order_relaxed)
            ->function(*table_.readers_view(), Family::first_word(dst), next_hop.data(),
                       static_cast<uint32_t>(dst.size()));
    }

    /// The next hop of exactly this prefix. Writer's thread.
    [[nodiscard]] std::optional<uint64_t> get(const address_type& address, unsigned length) const;
    /// In order of (address, length). Writer's thread.
    void for_each(const std::function<void(const route_type&)>& visit) const;
    /// Memory may have become free. After a growth without memory, up to 64 changes that need one fail with
    /// ENOMEM at once; now the next change attempts it.
    void retry_growth() noexcept { table_.retry_growth(); }
    [[nodiscard]] statistics stats() const noexcept { return table_.stats(); }
    /// Visits the whole table. Writer's thread.
    [[nodiscard]] level_bytes bytes_by_level() const noexcept { return table_.bytes_by_level(); }
    /// Argument for the family's kernels; valid until the reader's next quiescence.
    const view* readers_view() const noexcept { return table_.readers_view(); }
    /// The name of the selected kernel. Threads any.
    std::string_view kernel() const noexcept {
        return kernel_.load(std::memory_order_relaxed)->name;
    }
    /// Select another kernel. Errors as create().
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name);

  private:
    using kernel_type = isa::kernel<typename Family::lookup_function>;

    explicit prefix_fib(const config& c);
    result<void> measured(result<void> changed) noexcept;
    void measure_kernels();
    std::vector<address_type> trial_addresses() const;
    address_type address_within(const address& prefix, unsigned length, uint64_t high,
                                uint64_t low) const;

    mutable table table_;
    std::string name_;
    const bool measures_;
    bool automatic_ = true;
    uint16_t max_simd_bitwidth_ = 0;
    table_form measured_form_;
    std::atomic<const kernel_type*> kernel_{nullptr};
};

}  // namespace turnpike::fib
