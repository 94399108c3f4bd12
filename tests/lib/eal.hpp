// SPDX-License-Identifier: BSD-3-Clause
// A test program that includes this header runs with EAL.
#pragma once

#include "lib/eal_environment.hpp"

namespace turnpike::test {

inline const ::testing::Environment* const eal =
    ::testing::AddGlobalTestEnvironment(new eal_environment);

}  // namespace turnpike::test
