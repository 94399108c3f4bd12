// SPDX-License-Identifier: BSD-3-Clause
// fib4.hpp: IPv4 longest-prefix match that fits the L1 and L2 caches.
//
// Layout: README.md draws it. Design: a direct table of the first 18 bits, run-length compressed
// blocks of 64 /24s below it, next hops as narrow IDs (doc/design/0004-fib.md).
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "fib/table.hpp"

namespace turnpike::fib {

using lookup4_function = void(const view&, const uint32_t* dst, uint64_t* next_hop,
                              uint32_t n) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<lookup4_function>> lookup4_kernels() noexcept;

/// A route of 4-byte addresses, host byte order.
struct route4 {
    uint32_t address;
    uint8_t length;
    uint64_t next_hop;
};

/// A change of one prefix, for exchange().
struct change4 {
    uint32_t address;
    uint8_t length;
    std::optional<uint64_t> next_hop;  ///< nullopt: remove the route
};

/// Threads  one writer (all non-const functions) and many concurrent readers (lookup_bulk), each of
///          which reports quiescence between its calls; doc/design/0004-fib.md.
class fib4 {
  public:
    /// Errors  EINVAL: sizes; ENOTSUP: the kernel cannot run here; ENOMEM
    [[nodiscard]] static result<std::unique_ptr<fib4>> create(const config& c);

    /// Add a route, or replace its next hop.
    ///
    /// address  host byte order, bits after `length` are zero
    /// Errors   EINVAL, ENOSPC (max_routes), ENOMEM: the table is unchanged
    [[nodiscard]] result<void> add(uint32_t address, unsigned length, uint64_t next_hop);
    /// Errors  ENOENT, EINVAL; ENOMEM: the table is unchanged
    [[nodiscard]] result<void> remove(uint32_t address, unsigned length);
    /// Apply many changes as one transaction, in this order; fastest if sorted. Readers see each
    /// change or none. Removal of a missing route is no error. Replaces each change by its inverse:
    /// applied in reverse order, they undo the transaction.
    ///
    /// Errors  EINVAL, ENOSPC, ENOMEM: the table and the changes are unchanged
    [[nodiscard]] result<void> exchange(std::span<change4> changes);
    /// Replace the whole table at once; readers see the old one or the new one.
    ///
    /// Errors  as add(); the table is unchanged
    [[nodiscard]] result<void> load(std::span<const route4> routes);

    /// Look up a burst.
    ///
    /// dst       [n] addresses, host byte order, or network byte order (yaml::network_order)
    /// next_hop  [n] out; the default next hop if no route matches
    /// Requires  equal sizes; any n, processed in chunks
    /// Threads   many. Errors none.
    void lookup_bulk(std::span<const uint32_t> dst, std::span<uint64_t> next_hop) const noexcept {
        lookup_(*table_.readers_view(), dst.data(), next_hop.data(),
                static_cast<uint32_t>(dst.size()));
    }

    /// The next hop of exactly this prefix. Writer's thread.
    [[nodiscard]] std::optional<uint64_t> get(uint32_t address, unsigned length) const;
    /// In order of (address, length). Writer's thread.
    void for_each(const std::function<void(const route4&)>& visit) const;
    [[nodiscard]] statistics stats() const noexcept { return table_.stats(); }
    /// Visits the whole table. Writer's thread.
    [[nodiscard]] level_bytes bytes_by_level() const noexcept { return table_.bytes_by_level(); }
    /// Argument for the kernels of lookup4_kernels(); valid until the reader's next quiescence.
    const view* readers_view() const noexcept { return table_.readers_view(); }
    /// The name of the selected kernel.
    std::string_view kernel() const noexcept { return kernel_; }
    /// Select another kernel; call it before readers start. Errors as create().
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name);

  private:
    explicit fib4(const config& c);
    mutable table table_;
    std::string name_;
    lookup4_function* lookup_ = nullptr;
    std::string_view kernel_;
};

}  // namespace turnpike::fib
