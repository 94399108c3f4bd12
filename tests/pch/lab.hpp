// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for the tests of app/turnpike (cpp_pch): most of them stand on the lab, which includes all of it.
#include "lib/path_lab.hpp"
#include "tests.hpp"
