// SPDX-License-Identifier: BSD-3-Clause
// Locations of test files: the source tree (TURNPIKE_SOURCE_ROOT, set by Meson), and third-party data that
// may be absent (environment variable TURNPIKE_SHARED, else ../shared beside the
// tree).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace turnpike::test {

inline std::filesystem::path source_path(const std::filesystem::path& relative) {
    return std::filesystem::path(TURNPIKE_SOURCE_ROOT) / relative;
}

inline std::filesystem::path shared_path(const std::filesystem::path& relative) {
    const char* const root = std::getenv("TURNPIKE_SHARED");
    return (root != nullptr ? std::filesystem::path(root) : source_path("../shared")) / relative;
}

}  // namespace turnpike::test

/// Binds `path` to a file of the shared data, or skips by its name.
#define TURNPIKE_SHARED_OR_SKIP(path, relative)                                           \
    const auto path = ::turnpike::test::shared_path(relative);                            \
    if (!std::filesystem::exists(path))                                                   \
    GTEST_SKIP() << path << " is not here (set TURNPIKE_SHARED to the folder that holds " \
                 << (relative) << ")"
