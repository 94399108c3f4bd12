// SPDX-License-Identifier: BSD-3-Clause
// The functions of prefix_fib, which fib4.cpp and fib6.cpp instantiate.
#pragma once

#include <new>
#include <utility>

#include "fib/prefix_fib.hpp"
#include "isa/fastest.hpp"
#include "isa/kernel_table.hpp"

namespace turnpike::fib {

template <class Family>
prefix_fib<Family>::prefix_fib(const config& c)
    : table_(c, Family::table_shape, Family::is_ipv4),
      name_(c.name),
      measures_(c.measure_kernels) {}

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
    max_simd_bitwidth_ = max_simd_bitwidth;
    automatic_ = name.empty() || name == "auto";
    kernel_.store(*row, std::memory_order_relaxed);
    measured_form_ = {};
    return table_.readers_view() != nullptr ? measured({}) : result<void>{};
}

/// Passes on the result of a change, after which the table may have another form.
template <class Family>
result<void> prefix_fib<Family>::measured(result<void> changed) noexcept {
    if (!changed || !measures_ || !automatic_ || measured_form_ == table_.form()) return changed;
    measured_form_ = table_.form();
    try {
        measure_kernels();
    } catch (const std::bad_alloc&) {  // the kernel stays
    }
    return changed;
}

template <class Family>
void prefix_fib<Family>::measure_kernels() {
    constexpr size_t burst = 32;
    const std::span<const kernel_type> all = Family::kernels();
    if (table_.size() == 0 || !isa::has_choice(all, max_simd_bitwidth_)) return;
    const auto addresses = trial_addresses();
    view seen = *table_.readers_view();
    seen.network_order = false;
    const auto& fastest = isa::fastest(all, max_simd_bitwidth_, [&](const kernel_type& row) {
        return isa::nanoseconds_of([&] {
            uint64_t next_hop[burst];
            for (size_t i = 0; i < addresses.size(); i += burst)
                row.function(seen, Family::first_word(std::span(addresses).subspan(i, burst)),
                             next_hop, burst);
        });
    });
    kernel_.store(&fastest, std::memory_order_relaxed);
}

/// Addresses in random order, seven of eight within routes: the same for the same table.
template <class Family>
std::vector<typename Family::address_type> prefix_fib<Family>::trial_addresses() const {
    constexpr size_t trials = 2048, samples = 1024;
    struct sample {
        address prefix;
        unsigned length;
    };
    std::vector<sample> sampled;
    const size_t every = table_.size() / samples + 1;
    size_t number = 0;
    table_.for_each([&](const address& a, unsigned length, uint64_t) {
        if (number++ % every == 0) sampled.push_back({a, length});
    });
    uint64_t x = 88172645463325252;  // xorshift
    const auto next = [&x] { return x ^= x << 13, x ^= x >> 7, x ^= x << 17; };
    std::vector<address_type> out;
    for (size_t i = 0; i < trials; ++i) {
        const sample& s = sampled[next() % sampled.size()];
        out.push_back(address_within(s.prefix, i % 8 == 0 ? 0 : s.length, next(), next()));
    }
    return out;
}

template <class Family>
typename Family::address_type prefix_fib<Family>::address_within(const address& prefix,
                                                                 unsigned length, uint64_t high,
                                                                 uint64_t low) const {
    const address any{high, low}, kept = any.masked(length), first = prefix.masked(length);
    return Family::address_of(
        {first.high | (any.high ^ kept.high), first.low | (any.low ^ kept.low)});
}

template <class Family>
result<void> prefix_fib<Family>::add(const address_type& address, unsigned length,
                                     uint64_t next_hop) {
    return measured(table_.add(Family::left_aligned(address), length, next_hop));
}

template <class Family>
result<void> prefix_fib<Family>::remove(const address_type& address, unsigned length) {
    return measured(table_.remove(Family::left_aligned(address), length));
}

template <class Family>
result<void> prefix_fib<Family>::exchange(std::span<change_type> changes, bool undoes) {
    std::vector<route_change> all;
    try {
        all.reserve(changes.size());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, "no memory");  // short strings, which do not allocate
    }
    for (const change_type& c : changes)
        all.push_back({Family::left_aligned(c.address), c.length, c.next_hop});
    auto made = table_.exchange(all, undoes);
    if (made)
        for (size_t i = 0; i < all.size(); ++i) changes[i].next_hop = all[i].next_hop;
    return measured(std::move(made));
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
    return measured(table_.load(std::move(entries)));
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
