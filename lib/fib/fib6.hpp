// SPDX-License-Identifier: BSD-3-Clause
// fib6.hpp: IPv6 longest-prefix match that stays in the near caches.
// Layout: README.md draws it. Idea: a direct table of the first 16 bits, run-compressed nodes of
// one address byte below it (doc/design/0004-fib.md).
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

/// What a prefix is to lead to, for exchange().
struct change6 {
    ipv6_address address;
    uint8_t length;
    std::optional<uint64_t> next_hop;  ///< none: it is to have no route
};

/// Threads  one writer (everything that is not const) beside many readers (lookup_bulk), each of
///          which reports quiescence between its calls; doc/design/0004-fib.md.
class fib6 {
  public:
    /// Errors  EINVAL: sizes; ENOTSUP: the kernel cannot run here; ENOMEM
    [[nodiscard]] static result<std::unique_ptr<fib6>> create(const config& c);

    /// Add a route; replace its next hop where it is there.
    /// address  no bits behind `length`
    /// Errors   EINVAL, ENOSPC (max_routes), ENOMEM: the table is exactly as it was
    [[nodiscard]] result<void> add(const ipv6_address& address, unsigned length, uint64_t next_hop);
    /// Errors  ENOENT, EINVAL; ENOMEM: the table is exactly as it was
    [[nodiscard]] result<void> remove(const ipv6_address& address, unsigned length);
    /// Many changes as one, made as if in this order; fastest where they are sorted. Readers see each of them
    /// or none at all. A route that is to go need not be there. Each change becomes what takes it back: made
    /// again in the opposite order, they undo it.
    /// Errors  EINVAL, ENOSPC, ENOMEM: the table and the changes are exactly as they were
    [[nodiscard]] result<void> exchange(std::span<change6> changes);
    /// Replace the whole table at once; readers see the old one or the new one.
    /// Errors  as add(); the table is exactly as it was
    [[nodiscard]] result<void> load(std::span<const route6> routes);

    /// Look up a burst.
    /// dst       [n] addresses
    /// next_hop  [n] out; the default next hop where nothing matches
    /// Requires  equal sizes; any n, worked in chunks inside
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
    /// Walks the whole table. Writer's thread.
    [[nodiscard]] level_bytes bytes_by_level() const noexcept { return table_.bytes_by_level(); }
    /// What a kernel of lookup6_kernels() takes; valid until the reader's next quiescence.
    const view* readers_view() const noexcept { return table_.readers_view(); }
    /// The name of the kernel that runs.
    std::string_view kernel() const noexcept { return kernel_; }
    /// Run another kernel; before readers start. Errors as create().
    [[nodiscard]] result<void> select_kernel(uint16_t max_simd_bitwidth, std::string_view name);

  private:
    explicit fib6(const config& c);
    mutable table table_;
    std::string name_;
    lookup6_function* lookup_ = nullptr;
    std::string_view kernel_;
};

}  // namespace turnpike::fib
