// SPDX-License-Identifier: BSD-3-Clause
// Precompiled header of the benchmarks (cpp_pch): headers that harness.hpp includes and that are
// slow to parse.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
