// SPDX-License-Identifier: BSD-3-Clause
#include "fib/fib4.hpp"

#include <new>

#include "isa/kernel_table.hpp"

namespace turnpike::fib {

TURNPIKE_KERNEL(lookup4_function, lookup4)

namespace {

constexpr shape ipv4_shape{32, layout::root4_bits, 6};

address left_aligned(uint32_t a) { return {uint64_t{a} << 32, 0}; }

}  // namespace

std::span<const isa::kernel<lookup4_function>> lookup4_kernels() noexcept {
    // Ordered by the results of `turnpike-bench-fib` (doc/bench-fib.md).
    static constexpr isa::kernel<lookup4_function> table[] = {
        TURNPIKE_KERNEL_ROWS(lookup4),
    };
    return table;
}

fib4::fib4(const config& c) : table_(c, ipv4_shape, true), name_(c.name) {}

result<std::unique_ptr<fib4>> fib4::create(const config& c) {
    try {
        std::unique_ptr<fib4> made(new fib4(c));
        if (auto ok = made->select_kernel(c.max_simd_bitwidth, c.kernel); !ok)
            return tl::unexpected<error>(ok.error());
        if (auto ok = made->table_.start(); !ok) return tl::unexpected<error>(ok.error());
        return made;
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, {});  // no memory even for the text
    }
}

result<void> fib4::select_kernel(uint16_t max_simd_bitwidth, std::string_view name) {
    const auto row = isa::choose(lookup4_kernels(), name_, max_simd_bitwidth, name);
    if (!row) return tl::unexpected<error>(row.error());
    lookup_ = (*row)->function;
    kernel_ = (*row)->name;
    return {};
}

result<void> fib4::add(uint32_t address, unsigned length, uint64_t next_hop) {
    return table_.add(left_aligned(address), length, next_hop);
}

result<void> fib4::remove(uint32_t address, unsigned length) {
    return table_.remove(left_aligned(address), length);
}

result<void> fib4::exchange(std::span<change4> changes) {
    std::vector<route_change> all;
    try {
        all.reserve(changes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const change4& c : changes) all.push_back({left_aligned(c.address), c.length, c.next_hop});
    auto made = table_.exchange(all);
    if (made)
        for (size_t i = 0; i < all.size(); ++i) changes[i].next_hop = all[i].next_hop;
    return made;
}

result<void> fib4::load(std::span<const route4> routes) {
    std::vector<entry> entries;
    try {
        entries.reserve(routes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const route4& r : routes)
        entries.push_back({left_aligned(r.address), r.length, r.next_hop});
    return table_.load(std::move(entries));
}

std::optional<uint64_t> fib4::get(uint32_t address, unsigned length) const {
    return table_.get(left_aligned(address), length);
}

void fib4::for_each(const std::function<void(const route4&)>& visit) const {
    table_.for_each([&](const address& a, unsigned length, uint64_t next_hop) {
        visit({static_cast<uint32_t>(a.high >> 32), static_cast<uint8_t>(length), next_hop});
    });
}

}  // namespace turnpike::fib
