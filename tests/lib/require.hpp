// SPDX-License-Identifier: BSD-3-Clause
// Assertions outside of GoogleTest: a failure ends the process.
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
