// SPDX-License-Identifier: BSD-3-Clause
// The functions of prefix_fib, which fib4.cpp and fib6.cpp instantiate.
#pragma once

#include <new>

#include "fib/prefix_fib.hpp"
#include "isa/kernel_table.hpp"

namespace turnpike::fib {

template <class Family>
prefix_fib<Family>::prefix_fib(const config& c)
    : table_(c, Family::table_shape, Family::is_ipv4), name_(c.name) {}

template <class Family>
result<std::unique_ptr<prefix_fib<Family>>> prefix_fib<Family>::create(const config& c) {
    try {
        std::unique_ptr<prefix_fib> made(new prefix_fib(c));
        if (auto ok = made->select_kernel(c.max_simd_bitwidth, c.kernel); !ok)
            return tl::unexpected<error>(ok.error());
        if (auto ok = made->table_.start(); !ok) return tl::unexpected<error>(ok.error());
        return made;
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, {});  // no memory even for the text
    }
}

template <class Family>
result<void> prefix_fib<Family>::select_kernel(uint16_t max_simd_bitwidth, std::string_view name) {
    const auto row = isa::choose(Family::kernels(), name_, max_simd_bitwidth, name);
    if (!row) return tl::unexpected<error>(row.error());
    lookup_ = (*row)->function;
    kernel_ = (*row)->name;
    return {};
}

template <class Family>
result<void> prefix_fib<Family>::add(const address_type& address, unsigned length,
                                     uint64_t next_hop) {
    return table_.add(Family::left_aligned(address), length, next_hop);
}

template <class Family>
result<void> prefix_fib<Family>::remove(const address_type& address, unsigned length) {
    return table_.remove(Family::left_aligned(address), length);
}

template <class Family>
result<void> prefix_fib<Family>::exchange(std::span<change_type> changes) {
    std::vector<route_change> all;
    try {
        all.reserve(changes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const change_type& c : changes)
        all.push_back({Family::left_aligned(c.address), c.length, c.next_hop});
    auto made = table_.exchange(all);
    if (made)
        for (size_t i = 0; i < all.size(); ++i) changes[i].next_hop = all[i].next_hop;
    return made;
}

template <class Family>
result<void> prefix_fib<Family>::load(std::span<const route_type> routes) {
    std::vector<entry> entries;
    try {
        entries.reserve(routes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const route_type& r : routes)
        entries.push_back({Family::left_aligned(r.address), r.length, r.next_hop});
    return table_.load(std::move(entries));
}

template <class Family>
std::optional<uint64_t> prefix_fib<Family>::get(const address_type& address,
                                                unsigned length) const {
    return table_.get(Family::left_aligned(address), length);
}

template <class Family>
void prefix_fib<Family>::for_each(const std::function<void(const route_type&)>& visit) const {
    table_.for_each([&](const address& a, unsigned length, uint64_t next_hop) {
        visit({Family::address_of(a), static_cast<uint8_t>(length), next_hop});
    });
}

}  // namespace turnpike::fib
