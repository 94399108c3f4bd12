// SPDX-License-Identifier: BSD-3-Clause
// fib6.hpp: IPv6 longest-prefix match that fits the L1 and L2 caches.
//
// Layout: README.md draws it. Design: a direct table of the first 16 bits, run-length compressed
// nodes of one address byte below it (doc/design/0004-fib.md).
#pragma once

#include "base/byte_order.hpp"
#include "fib/prefix_fib.hpp"
#include "net/ip.hpp"

namespace turnpike::fib {

using lookup6_function = void(const view&, const uint8_t* dst, uint64_t* next_hop,
                              uint32_t n) noexcept;

/// The kernels, best first.
std::span<const isa::kernel<lookup6_function>> lookup6_kernels() noexcept;

struct ipv6_family {
    using address_type = ipv6_address;
    using lookup_function = lookup6_function;
    static constexpr shape table_shape{128, layout::root6_bits, 8};
    static constexpr bool is_ipv4 = false;

    static auto kernels() noexcept { return lookup6_kernels(); }
    static address left_aligned(const ipv6_address& a) noexcept {
        return {load_be<uint64_t>(a.bytes), load_be<uint64_t>(a.bytes + 8)};
    }
    static ipv6_address address_of(const address& a) noexcept {
        ipv6_address out{};
        store_be(out.bytes, a.high);
        store_be(out.bytes + 8, a.low);
        return out;
    }
    static const uint8_t* first_word(std::span<const ipv6_address> all) noexcept {
        return reinterpret_cast<const uint8_t*>(all.data());
    }
};
extern template class prefix_fib<ipv6_family>;

using fib6 = prefix_fib<ipv6_family>;
using route6 = fib6::route_type;
using change6 = fib6::change_type;

}  // namespace turnpike::fib
