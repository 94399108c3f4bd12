// SPDX-License-Identifier: BSD-3-Clause
#include "isa/isa.hpp"

#include <algorithm>
#include <array>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace turnpike::isa {

namespace {

constexpr std::string_view sse42_flags[] = {"sse4.2", "popcnt"};
constexpr std::string_view avx2_flags[] = {"avx2", "bmi", "bmi2", "popcnt"};
constexpr std::string_view avx512_flags[] = {
    "avx2", "bmi", "bmi2", "popcnt", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"};
constexpr std::string_view neon_flags[] = {"simd"};
constexpr feature all_features[] = {feature_sse42, feature_avx2, feature_avx512, feature_neon};

}  // namespace

std::span<const std::string_view> cpu_flags(feature of) noexcept {
    switch (of) {
        case feature_sse42:
            return sse42_flags;
        case feature_avx2:
            return avx2_flags;
        case feature_avx512:
            return avx512_flags;
        case feature_neon:
            return neon_flags;
        default:
            return {};
    }
}

features features_of(std::span<const std::string_view> cpu) noexcept {
    features have = feature_none;
    for (const feature f : all_features)
        if (std::ranges::all_of(cpu_flags(f), [cpu](std::string_view flag) {
                return std::ranges::find(cpu, flag) != cpu.end();
            }))
            have |= f;
    return have;
}

namespace {

features ask_cpu() noexcept {
#if defined(__x86_64__)
    std::array<std::string_view, std::size(avx512_flags) + 1> cpu;
    size_t n = 0;
    const auto note = [&](std::string_view flag, bool there) {
        if (there) cpu[n++] = flag;
    };
    __builtin_cpu_init();
    // The builtin accepts only literals.
    note("sse4.2", __builtin_cpu_supports("sse4.2"));
    note("popcnt", __builtin_cpu_supports("popcnt"));
    note("avx2", __builtin_cpu_supports("avx2"));
    note("bmi", __builtin_cpu_supports("bmi"));
    note("bmi2", __builtin_cpu_supports("bmi2"));
    note("avx512f", __builtin_cpu_supports("avx512f"));
    note("avx512bw", __builtin_cpu_supports("avx512bw"));
    note("avx512dq", __builtin_cpu_supports("avx512dq"));
    note("avx512vl", __builtin_cpu_supports("avx512vl"));
    note("avx512cd", __builtin_cpu_supports("avx512cd"));
    return features_of(std::span(cpu).first(n));
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0 ? features_of(neon_flags) : feature_none;
#else
    return feature_none;
#endif
}

}  // namespace

features detect() noexcept {
    static const features have = ask_cpu();
    return have;
}

std::span<const std::string_view> tokens(features have) noexcept {
    static constexpr std::array<std::string_view, 4> all{"scalar", "sse42", "avx2", "avx512"};
    static constexpr std::array<std::string_view, 2> of_arm{"scalar", "neon"};
    if (have & feature_neon) return of_arm;
    size_t n = 1;
    if (have & feature_sse42) n = 2;
    if (have & feature_avx2) n = 3;
    if (have & feature_avx512) n = 4;
    return std::span(all).first(n);
}

namespace detail {

error forbidden(std::string_view object, std::string_view name, bool cpu_lacks,
                uint16_t needs_bitwidth, uint16_t max_simd_bitwidth) {
    std::string text = "kernel '" + std::string(name) + "' cannot run: ";
    text += cpu_lacks ? "this CPU (or its operating system) does not support the instructions"
                      : "it needs a SIMD width of " + std::to_string(needs_bitwidth) +
                            " bits and at most " + std::to_string(max_simd_bitwidth) +
                            " are permitted (EAL's --force-max-simd-bitwidth)";
    return error{ENOTSUP, std::string(object), text};
}

error unknown(std::string_view object, std::string_view name, const std::string& names) {
    return error{EINVAL, std::string(object),
                 "no kernel is named '" + std::string(name) + "'; there are: " + names};
}

error no_width(std::string_view object) {
    return error{EINVAL, std::string(object),
                 "no kernel can run: EAL is not started, and permits no SIMD width yet"};
}

}  // namespace detail
}  // namespace turnpike::isa
