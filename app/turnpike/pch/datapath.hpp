// SPDX-License-Identifier: BSD-3-Clause
// Precompiled header of the datapath (cpp_pch): headers that all of its sources include, except DPDK's. Each source
// still includes the headers that it uses.
#include <algorithm>

#include "datapath/graph.hpp"
