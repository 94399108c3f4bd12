// SPDX-License-Identifier: BSD-3-Clause
// fib4.hpp: IPv4 longest-prefix match that fits the L1 and L2 caches.
//
// Layout: README.md draws it. Design: a direct table of the first 18 bits, run-length compressed
// blocks of 64 /24s below it, next hops as narrow IDs (doc/design/0004-fib.md).
#pragma once

#include "fib/prefix_fib.hpp"

namespace turnpike::fib {

using lookup4_function = void(const view&, const uint32_t* dst, uint64_t* next_hop,
                              uint32_t n) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<lookup4_function>> lookup4_kernels() noexcept;

struct ipv4_family {
    using address_type = uint32_t;  ///< host byte order
    using lookup_function = lookup4_function;
    static constexpr shape table_shape{32, layout::root4_bits, 6};
    static constexpr bool is_ipv4 = true;

    static auto kernels() noexcept { return lookup4_kernels(); }
    static address left_aligned(uint32_t a) noexcept { return {uint64_t{a} << 32, 0}; }
    static uint32_t address_of(const address& a) noexcept {
        return static_cast<uint32_t>(a.high >> 32);
    }
    static const uint32_t* first_word(std::span<const uint32_t> all) noexcept { return all.data(); }
};
extern template class prefix_fib<ipv4_family>;

using fib4 = prefix_fib<ipv4_family>;
using route4 = fib4::route_type;
using change4 = fib4::change_type;

}  // namespace turnpike::fib
