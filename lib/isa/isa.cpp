// SPDX-License-Identifier: BSD-3-Clause
#include "isa/isa.hpp"

#include <array>

namespace turnpike::isa {

features detect() noexcept {
    features have = feature_none;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) have |= feature_sse42;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        have |= feature_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        have |= feature_avx512;
#endif
    return have;
}

std::span<const std::string_view> tokens(features have) noexcept {
    static constexpr std::array<std::string_view, 4> all{"scalar", "sse42", "avx2", "avx512"};
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
    text += cpu_lacks ? "this CPU (or its operating system) lacks the instructions"
                      : "it needs a SIMD width of " + std::to_string(needs_bitwidth) +
                            " bits and at most " + std::to_string(max_simd_bitwidth) +
                            " are permitted (EAL's --force-max-simd-bitwidth)";
    return error{ENOTSUP, std::string(object), text};
}

error unknown(std::string_view object, std::string_view name, const std::string& names) {
    return error{EINVAL, std::string(object),
                 "no kernel is named '" + std::string(name) + "'; there are: " + names};
}

}  // namespace detail
}  // namespace turnpike::isa
