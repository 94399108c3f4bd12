// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for turnpike's libraries (cpp_pch): what nearly all of them include, and takes long to
// read. A source includes what it uses all the same.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>
