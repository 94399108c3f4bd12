// SPDX-License-Identifier: BSD-3-Clause
// The kernels' entry points, for the selection table in plain_ipv4.cpp.
#pragma once

#include "packet/plain_ipv4.hpp"

namespace turnpike::packet {
namespace scalar {
plain_ipv4_function find_plain_ipv4;
}
namespace sse42 {
plain_ipv4_function find_plain_ipv4;
}
namespace avx2 {
plain_ipv4_function find_plain_ipv4;
}
namespace avx512 {
plain_ipv4_function find_plain_ipv4;
}
}  // namespace turnpike::packet
