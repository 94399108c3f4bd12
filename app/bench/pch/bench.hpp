// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for the benches (cpp_pch): what they include by harness.hpp, and takes long to read.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
