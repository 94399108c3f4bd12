// SPDX-License-Identifier: BSD-3-Clause
// What must hold where there is no GoogleTest, or nothing to go on with: the process ends there.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            std::fprintf(stderr, "%d: not so: %s\n", __LINE__, #condition); \
            std::abort();                                                   \
        }                                                                   \
    } while (false)
