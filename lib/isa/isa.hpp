// SPDX-License-Identifier: BSD-3-Clause
// Selection of an instruction set: the CPU's features, the operator's limit, the table's kernels.
//
// A kernel is compiled once per instruction set (root meson.build, isa_flags); each object exports
// one function, and a library lists them in an ordered table of `kernel` rows, best first. choose()
// takes the first row that the CPU supports and the permitted SIMD width allows, which is DPDK's
// rule (rte_vect_get_max_simd_bitwidth: 64 scalar, 128 SSE and NEON, 256 AVX2, 512 AVX-512), or the row
// named.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::isa {

/// CPU features usable under this OS (__builtin_cpu_supports checks XSAVE; on AArch64 the kernel's
/// auxiliary vector lists them). One bit per set of compiler flags in isa_flags: a kernel may use every instruction that its flags permit, whatever
/// the CPU model implies (a virtual machine may mask any of them).
enum feature : uint32_t {
    feature_none = 0,
    feature_scalar = feature_none,
    feature_sse42 = 1u << 0,   ///< SSE4.2, POPCNT
    feature_avx2 = 1u << 1,    ///< AVX2, BMI1, BMI2, POPCNT
    feature_avx512 = 1u << 2,  ///< feature_avx2 and AVX-512 F, BW, DQ, VL, CD
    feature_neon = 1u << 3,    ///< AArch64's Advanced SIMD
};
using features = uint32_t;

/// The features of this CPU and OS. Threads: any.
features detect() noexcept;

/// The CPU flags of a feature, by the compiler's names ("bmi2" is -mbmi2, "simd" -march=armv8-a+simd), as in isa_flags.
std::span<const std::string_view> cpu_flags(feature of) noexcept;
/// The features of a CPU with these flags.
features features_of(std::span<const std::string_view> cpu) noexcept;

/// The tokens of `have`, narrowest first: {"scalar", "sse42", "avx2", "avx512"} or {"scalar", "neon"} at most.
std::span<const std::string_view> tokens(features have) noexcept;

/// Default of --max-simd-bitwidth for programs without EAL: no limit.
inline constexpr uint16_t any_simd_bitwidth = 512;

/// One row of a library's selection table.
template <class Function>
struct kernel {
    std::string_view name;   ///< ISA token, or token + variant ("avx512x16")
    features needs;          ///< required features
    uint16_t simd_bitwidth;  ///< minimum permitted SIMD width; 64 for scalar
    Function* function;
};

/// Threads any; allocates nothing.
template <class Function>
bool may_run(const kernel<Function>& row, uint16_t max_simd_bitwidth,
             features have = detect()) noexcept {
    return (row.needs & have) == row.needs && row.simd_bitwidth <= max_simd_bitwidth;
}

namespace detail {
error forbidden(std::string_view object, std::string_view name, bool cpu_lacks,
                uint16_t needs_bitwidth, uint16_t max_simd_bitwidth);
error unknown(std::string_view object, std::string_view name, const std::string& names);
error no_width(std::string_view object);
}  // namespace detail

/// Choose a kernel.
///
/// table               best first; must have a row that runs on any CPU ("scalar")
/// object              name of the kernel's user, for messages ("ipv4_checksum")
/// max_simd_bitwidth   64, 128, 256 or 512
/// forced              a row's name; empty or "auto": automatic
/// have                the CPU's features; a parameter for tests
/// Errors  ENOTSUP: the CPU lacks a feature of the forced row, or the width forbids it
///         EINVAL: no row has the forced name; a width of 0, which EAL has before rte_eal_init
/// Throws  std::bad_alloc, for an error's text only
template <class Function>
[[nodiscard]] result<const kernel<Function>*> choose(std::span<const kernel<Function>> table,
                                                     std::string_view object,
                                                     uint16_t max_simd_bitwidth,
                                                     std::string_view forced = {},
                                                     features have = detect()) {
    if (max_simd_bitwidth == 0) return tl::unexpected<error>(detail::no_width(object));
    const bool automatic = forced.empty() || forced == "auto";
    for (const auto& row : table) {
        if (!automatic && row.name != forced) continue;
        if (may_run(row, max_simd_bitwidth, have)) return &row;
        if (!automatic)
            return tl::unexpected<error>(detail::forbidden(object, forced,
                                                           (row.needs & have) != row.needs,
                                                           row.simd_bitwidth, max_simd_bitwidth));
    }
    std::string names;
    for (const auto& row : table) names += (names.empty() ? "" : ", ") + std::string(row.name);
    return tl::unexpected<error>(detail::unknown(object, forced, names));
}

}  // namespace turnpike::isa
