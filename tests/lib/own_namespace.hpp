// SPDX-License-Identifier: BSD-3-Clause
// A separate network namespace for the thread of a test.
#pragma once

#include <sched.h>

#include "lib/require.hpp"

namespace turnpike::test {

/// Needs root.
struct own_namespace {
    own_namespace() { REQUIRE(::unshare(CLONE_NEWNET) == 0); }
};

}  // namespace turnpike::test
