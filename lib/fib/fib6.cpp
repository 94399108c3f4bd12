// SPDX-License-Identifier: BSD-3-Clause
#include "fib/fib6.hpp"

#include <new>

#include "base/byte_order.hpp"
#include "isa/kernel_table.hpp"

namespace turnpike::fib {

TURNPIKE_KERNEL(lookup6_function, lookup6)

namespace {

constexpr shape ipv6_shape{128, layout::root6_bits, 8};

address left_aligned(const ipv6_address& a) {
    return {load_be<uint64_t>(a.bytes), load_be<uint64_t>(a.bytes + 8)};
}

}  // namespace

std::span<const isa::kernel<lookup6_function>> lookup6_kernels() noexcept {
    // Ordered by the results of `turnpike-bench-fib` (doc/bench-fib.md).
    static constexpr isa::kernel<lookup6_function> table[] = {
        TURNPIKE_KERNEL_ROWS(lookup6),
    };
    return table;
}

fib6::fib6(const config& c) : table_(c, ipv6_shape, false), name_(c.name) {}

result<std::unique_ptr<fib6>> fib6::create(const config& c) {
    try {
        std::unique_ptr<fib6> made(new fib6(c));
        if (auto ok = made->select_kernel(c.max_simd_bitwidth, c.kernel); !ok)
            return tl::unexpected<error>(ok.error());
        if (auto ok = made->table_.start(); !ok) return tl::unexpected<error>(ok.error());
        return made;
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, {});  // no memory even for the text
    }
}

result<void> fib6::select_kernel(uint16_t max_simd_bitwidth, std::string_view name) {
    const auto row = isa::choose(lookup6_kernels(), name_, max_simd_bitwidth, name);
    if (!row) return tl::unexpected<error>(row.error());
    lookup_ = (*row)->function;
    kernel_ = (*row)->name;
    return {};
}

result<void> fib6::add(const ipv6_address& address, unsigned length, uint64_t next_hop) {
    return table_.add(left_aligned(address), length, next_hop);
}

result<void> fib6::remove(const ipv6_address& address, unsigned length) {
    return table_.remove(left_aligned(address), length);
}

result<void> fib6::exchange(std::span<change6> changes) {
    std::vector<route_change> all;
    try {
        all.reserve(changes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const change6& c : changes) all.push_back({left_aligned(c.address), c.length, c.next_hop});
    auto made = table_.exchange(all);
    if (made)
        for (size_t i = 0; i < all.size(); ++i) changes[i].next_hop = all[i].next_hop;
    return made;
}

result<void> fib6::load(std::span<const route6> routes) {
    std::vector<entry> entries;
    try {
        entries.reserve(routes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const route6& r : routes)
        entries.push_back({left_aligned(r.address), r.length, r.next_hop});
    return table_.load(std::move(entries));
}

std::optional<uint64_t> fib6::get(const ipv6_address& address, unsigned length) const {
    return table_.get(left_aligned(address), length);
}

void fib6::for_each(const std::function<void(const route6&)>& visit) const {
    table_.for_each([&](const address& a, unsigned length, uint64_t next_hop) {
        route6 r{{}, static_cast<uint8_t>(length), next_hop};
        store_be(r.address.bytes, a.high);
        store_be(r.address.bytes + 8, a.low);
        visit(r);
    });
}

}  // namespace turnpike::fib
