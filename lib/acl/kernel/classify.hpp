// SPDX-License-Identifier: BSD-3-Clause
// The kernels' entry points, for the selection table in acl.cpp.
#pragma once

#include <cstdint>

#include "acl/layout.hpp"

namespace turnpike::acl {

// clang-format off
namespace scalar { classify_function classify; }
namespace sse42 { classify_function classify; }
namespace avx2 { classify_function classify; }
namespace avx512 { classify_function classify_x16, classify_x32; }
// clang-format on
}  // namespace turnpike::acl
