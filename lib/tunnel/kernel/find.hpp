// SPDX-License-Identifier: BSD-3-Clause
// The kernels' entry points, for the selection table in last_endpoints.cpp.
#pragma once

#include "tunnel/last_endpoints.hpp"

namespace turnpike::tunnel {
namespace scalar {
find_function find;
same_function same;
}  // namespace scalar
namespace sse42 {
find_function find;
same_function same;
}  // namespace sse42
namespace avx2 {
find_function find;
same_function same;
}  // namespace avx2
namespace avx512 {
find_function find;
same_function same;
}  // namespace avx512
}  // namespace turnpike::tunnel
