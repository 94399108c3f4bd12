// SPDX-License-Identifier: BSD-3-Clause
// Configuration for a table in a DPDK application: rte_malloc's memory, EAL's SIMD width.
#pragma once

#include "hash/store.hpp"

namespace turnpike::hash {

/// socket  the NUMA node of the table's readers; SOCKET_ID_ANY (-1): any
/// Requires EAL started (rte_eal_init): before it, create() fails with EINVAL
config eal_config(std::string name, int socket);

}  // namespace turnpike::hash
