// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for a driver's parts that know no DPDK (cpp_pch).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>
