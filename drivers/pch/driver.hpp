// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for drivers (cpp_pch): what most of their sources include, and takes long to read. A source
// includes what it uses all the same.
#include <ethdev_driver.h>

#include "engine.hpp"
