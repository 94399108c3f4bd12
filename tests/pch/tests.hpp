// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for tests (cpp_pch): what nearly all of them include, and takes long to read. A test
// includes what it uses all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
