// SPDX-License-Identifier: BSD-3-Clause
// A table as a DPDK application makes it: rte_malloc's memory, EAL's SIMD width.
#pragma once

#include "acl/table.hpp"

namespace turnpike::acl {

/// socket  the NUMA node of the table's readers; SOCKET_ID_ANY (-1): any
config eal_config(std::string name, int socket);
/// max_size  config::max_bytes as rte_acl_config has it: 0 is no limit
config eal_config(std::string name, int socket, size_t max_size);

}  // namespace turnpike::acl
