// SPDX-License-Identifier: BSD-3-Clause
// fib6.hpp: IPv6 longest-prefix match that fits the L1 and L2 caches.
//
// Layout: README.md draws it. Design: a direct table of the first 16 bits, run-length compressed
// nodes of one address byte below it (doc/design/0004-fib.md).
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "fib/table.hpp"
#include "net/ip.hpp"

namespace turnpike::fib {

using lookup6_function = void(const view&, const uint8_t* dst, uint64_t* next_hop,
                              uint32_t n) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<lookup6_function>> lookup6_kernels() noexcept;

struct route6 {
    ipv6_address address;
    uint8_t length;
    uint64_t next_hop;
};

/// A change of one prefix, for exchange().
struct change6 {
    ipv6_address address;
    uint8_t length;
    std::optional<uint64_t> next_hop;  ///< nullopt: remove the route
};

/// Threads  one writer (all non-const functions) and many concurrent readers (lookup_bulk), each of
///          which reports quiescence between its calls; doc/design/0004-fib.md.
class fib6 {
  public:
    /// Errors  EINVAL: sizes; ENOTSUP: the kernel cannot run here; ENOMEM
    [[nodiscard]] static result<std::unique_ptr<fib6>> create(const config& c);

    /// Add a route, or replace its next hop.
    ///
    /// address  bits after `length` are zero
    /// Errors   EINVAL, ENOSPC (max_routes), ENOMEM: the table is unchanged
    [[nodiscard]] result<void> add(const ipv6_address& address, unsigned length, uint64_t next_hop);
    /// Errors  ENOENT, EINVAL; ENOMEM: the table is unchanged
    [[nodiscard]] result<void> remove(const ipv6_address& address, unsigned length);
    /// Apply many changes as one transaction, in this order; fastest if sorted. Readers see each
    /// change or none. Removal of a missing route is no error. Replaces each change by its inverse:
    /// applied in reverse order, they undo the transaction.
    ///
    /// Errors  EINVAL, ENOSPC, ENOMEM: the table and the changes are unchanged
    [[nodiscard]] result<void> exchange(std::span<change6> changes);
    /// Replace the whole table at once; readers see the old one or the new one.
    ///
    /// Errors  as add(); the table is unchanged
    [[nodiscard]] result<void> load(std::span<const route6> routes);

    /// Look up a burst.
    ///
    /// dst       [n] addresses
    /// next_hop  [n] out; the default next hop if no route matches
    /// Requires  equal sizes; any n, processed in chunks
    /// Threads   many. Errors none.
    void lookup_bulk(std::span<const ipv6_address> dst,
                     std::span<uint64_t> next_hop) const noexcept {
        if (!dst.empty())
            lookup_(*table_.readers_view(), dst.data()->bytes, next_hop.data(),
                    static_cast<uint32_t>(dst.size()));
    }

    /// The next hop of exactly this prefix. Writer's thread.
    [[nodiscard]] std::optional<uint64_t> get(const ipv6_address& address, unsigned length) const;
    /// In order of (address, length). Writer's thread.
    void for_each(const std::function<void(const route6&)>& visit) const;
    [[nodiscard]] statistics stats() const noexcept { return table_.stats(); }
    /// Visits the whole table. Writer's thread.
    [[nodiscard]] level_bytes bytes_by_level() const noexcept { return table_.bytes_by_level(); }
    /// Argument for the kernels of lookup6_kernels(); valid until the reader's next quiescence.
    const view* readers_view() const noexcept { return table_.readers_view(); }
    /// The name of the selected kernel.
    std::string_view kernel() const noexcept { return kernel_; }
    /// Select another kernel; call it before readers start. Errors as create().
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name);

  private:
    explicit fib6(const config& c);
    mutable table table_;
    std::string name_;
    lookup6_function* lookup_ = nullptr;
    std::string_view kernel_;
};

}  // namespace turnpike::fib
