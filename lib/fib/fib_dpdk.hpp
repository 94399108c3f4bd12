// SPDX-License-Identifier: BSD-3-Clause
// What a DPDK application gives its tables: rte_malloc's memory and EAL's SIMD width.
#pragma once

#include "base/memory.hpp"
#include "fib/table.hpp"

namespace turnpike::fib {

/// rte_malloc on a NUMA node (SOCKET_ID_ANY: any).
memory eal_memory(int socket);

/// A config with EAL's memory and rte_vect_get_max_simd_bitwidth().
config eal_config(std::string name, int socket);

}  // namespace turnpike::fib
