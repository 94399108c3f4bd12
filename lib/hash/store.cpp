// SPDX-License-Identifier: BSD-3-Clause
#include "hash/store.hpp"

#include <sys/random.h>

#include "hash/fastest_kernel.hpp"
#include "hash/writer.hpp"
#include "isa/kernel_table.hpp"

namespace turnpike::hash {

TURNPIKE_KERNEL(lookup_function, lookup)

namespace {

constexpr uint32_t max_entries = 1u << 30;

template <class B>
result<std::unique_ptr<store>> make(const config& c, shape form, const secret& keys) {
    auto made = std::make_unique<writer<B>>(c, form, keys);
    if (auto ok = made->select_kernel(c.max_simd_bitwidth, c.kernel); !ok)
        return tl::unexpected<error>(ok.error());
    if (auto ok = made->start(); !ok) return tl::unexpected<error>(ok.error());
    return made;
}

result<std::unique_ptr<store>> make(const config& c, shape form) {
    if (c.max_entries == 0 || c.max_entries > max_entries)
        return fail(EINVAL, c.name,
                    "max_entries is " + std::to_string(c.max_entries) + "; it must be 1 to " +
                        std::to_string(max_entries));
    if (c.expected_entries > c.max_entries)
        return fail(EINVAL, c.name,
                    "expected_entries (" + std::to_string(c.expected_entries) +
                        ") is more than max_entries (" + std::to_string(c.max_entries) + ")");
    secret keys;
    if (c.keys)
        keys = *c.keys;
    else if (!secret::draw(keys))
        return fail(errno, c.name, "cannot draw random numbers for the hash's secret");
    switch (form) {
        case shape::k8v4:
            return make<bucket_k8v4>(c, form, keys);
        case shape::k8v8:
            return make<bucket_k8v8>(c, form, keys);
        case shape::k16v4:
            return make<bucket_k16v4>(c, form, keys);
        case shape::k16v8:
            return make<bucket_k16v8>(c, form, keys);
        case shape::k40v4:
            return make<bucket_k40v4>(c, form, keys);
        case shape::k40v8:
            return make<bucket_k40v8>(c, form, keys);
    }
    return fail(EINVAL, c.name, "unknown shape of keys and values");
}

}  // namespace

std::span<const isa::kernel<lookup_function>> lookup_kernels() noexcept {
    // Ordered by the results of `turnpike-bench-hash` (doc/bench-hash.md).
    static constexpr isa::kernel<lookup_function> table[] = {
        TURNPIKE_KERNEL_ROWS(lookup),
    };
    return table;
}

bool secret::draw(secret& into) noexcept {
    return getrandom(&into, sizeof into, 0) == static_cast<ssize_t>(sizeof into);
}

secret secret::of(uint64_t seed) noexcept {
    // SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
    const auto next = [&seed] {
        uint64_t x = seed += 0x9e3779b97f4a7c15;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    };
    secret made;
    for (uint64_t& m : made.multiply) m = next();
    for (uint32_t& a : made.add) a = static_cast<uint32_t>(next());
    return made;
}

result<std::unique_ptr<store>> store::create(const config& c, shape form) {
    try {
        return make(c, form);
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, {}, {});  // no memory even for the text
    }
}

result<void> store::select_kernel(uint16_t max_simd_bitwidth, std::string_view name) {
    const auto row = isa::choose(lookup_kernels(), config_.name, max_simd_bitwidth, name);
    if (!row) return tl::unexpected<error>(row.error());
    const bool automatic = name.empty() || name == "auto";
    const auto* chosen =
        config_.measure_kernels && automatic ? &fastest_kernel(form_, max_simd_bitwidth) : *row;
    lookup = chosen->function;
    kernel = chosen->name;
    return {};
}

tl::unexpected<error> store::refused(int code, const char* text) const noexcept {
    try {
        return fail(code, config_.name, text);
    } catch (const std::bad_alloc&) {
        return fail(code, {}, {});
    }
}

}  // namespace turnpike::hash
