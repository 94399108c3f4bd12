// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for the datapath (cpp_pch): what all of its sources include, DPDK's headers below it. A source
// includes what it uses all the same.
#include <algorithm>

#include "datapath/graph.hpp"
