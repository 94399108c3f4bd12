// SPDX-License-Identifier: BSD-3-Clause
// TEST_P over every row of a library's kernel table; skips kernels that the CPU lacks, by name.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/isa.hpp"

namespace turnpike::test {

template <class Function>
std::vector<std::string> kernel_names(std::span<const isa::kernel<Function>> table) {
    std::vector<std::string> names;
    for (const auto& row : table) names.emplace_back(row.name);
    return names;
}

/// The table's kernel of the narrowest vectors: of 128 bits.
template <class Function>
std::string narrowest_vectors(std::span<const isa::kernel<Function>> table) {
    return std::string(table[table.size() - 2].name);
}

inline std::string isa_name(const ::testing::TestParamInfo<std::string>& info) {
    return info.param;
}

/// The kernel `name`, or nullptr if this CPU lacks it (the caller skips then).
template <class Function>
const isa::kernel<Function>* kernel_or_null(std::span<const isa::kernel<Function>> table,
                                            const std::string& name) {
    const auto chosen = isa::choose(table, "test", isa::any_simd_bitwidth, name);
    return chosen ? *chosen : nullptr;
}

}  // namespace turnpike::test

/// First line of a TEST_P body: binds `kernel` or skips.
#define TURNPIKE_KERNEL_OR_SKIP(kernel, table)                                \
    const auto* kernel = ::turnpike::test::kernel_or_null(table, GetParam()); \
    if (kernel == nullptr) GTEST_SKIP() << "this CPU lacks " << GetParam();   \
    ASSERT_EQ(kernel->name, GetParam())
