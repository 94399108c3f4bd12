// SPDX-License-Identifier: BSD-3-Clause
#include "hash/fastest_kernel.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "isa/fastest.hpp"

namespace turnpike::hash {
namespace {

using lookup_kernel = isa::kernel<lookup_function>;

constexpr uint32_t burst = 32, trials = 2048;
constexpr size_t shapes = 6, max_key_bytes = 40;

size_t key_bytes_of(shape form) noexcept {
    if (form == shape::k8v4 || form == shape::k8v8) return 8;
    return form == shape::k16v4 || form == shape::k16v8 ? 16 : max_key_bytes;
}

/// Half of the keys are in the table.
const lookup_kernel& measure(shape form, uint16_t max_simd_bitwidth) {
    const auto all = lookup_kernels();
    const auto made = store::create(
        {.max_entries = trials, .expected_entries = trials, .keys = secret::of(1)}, form);
    if (!made) throw std::bad_alloc();
    const size_t bytes = key_bytes_of(form);
    std::vector<uint8_t> keys(trials * bytes);
    uint64_t x = 88172645463325252;  // xorshift
    for (size_t i = 0; i < trials; ++i) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        std::memcpy(&keys[i * bytes], &x, sizeof x);
        if (x % 2 == 0 && !(*made)->put(&keys[i * bytes], i)) throw std::bad_alloc();
    }
    const view& table = *(*made)->readers_view();
    return isa::fastest(all, max_simd_bitwidth, [&](const lookup_kernel& r) {
        return isa::nanoseconds_of([&] {
            uint64_t values[burst];
            for (size_t i = 0; i < trials; i += burst)
                r.function(table, &keys[i * bytes], values, burst);
        });
    });
}

const lookup_kernel& first_permitted(uint16_t max_simd_bitwidth) noexcept {
    const auto all = lookup_kernels();
    // The scalar kernel, the last one, is always permitted.
    return *std::find_if(all.begin(), all.end() - 1, [&](const lookup_kernel& r) {
        return isa::may_run(r, max_simd_bitwidth);
    });
}

}  // namespace

const lookup_kernel& fastest_kernel(shape form, uint16_t max_simd_bitwidth) noexcept {
    if (!isa::has_choice(lookup_kernels(), max_simd_bitwidth))
        return first_permitted(max_simd_bitwidth);
    const uint16_t width = std::min(max_simd_bitwidth, isa::any_simd_bitwidth);
    static std::atomic<const lookup_kernel*>
        remembered[shapes][isa::any_simd_bitwidth / isa::measured_bits + 1];
    auto& known = remembered[static_cast<size_t>(form)][width / isa::measured_bits];
    if (const lookup_kernel* r = known.load(std::memory_order_relaxed)) return *r;
    try {
        const lookup_kernel& r = measure(form, max_simd_bitwidth);
        known.store(&r, std::memory_order_relaxed);
        return r;
    } catch (const std::bad_alloc&) {
        return first_permitted(max_simd_bitwidth);
    }
}

}  // namespace turnpike::hash
