// SPDX-License-Identifier: BSD-3-Clause
// Configuration for a classifier in a DPDK application: rte_malloc's memory, EAL's SIMD width.
#pragma once

#include "acl/table.hpp"

namespace turnpike::acl {

/// socket  the NUMA node of the table's readers; SOCKET_ID_ANY (-1): any
/// Requires EAL started (rte_eal_init): before it, create() fails with EINVAL
config eal_config(std::string name, int socket);
/// max_size  config::max_bytes with rte_acl_config's convention: 0 is no limit
config eal_config(std::string name, int socket, size_t max_size);

}  // namespace turnpike::acl
