// SPDX-License-Identifier: BSD-3-Clause
// rte_ring_elem.h of DPDK 24.11 and 25.11 lacks extern "C", so a C++ caller would link against another
// rte_ring_create_elem().
#pragma once

#include <rte_ring_elem.h>

namespace turnpike::control {

/// rte_ring_create_elem() of every DPDK version.
extern "C" rte_ring* create_ring_of(const char* name, unsigned element_bytes, unsigned count,
                                    int socket_id, unsigned flags) __asm__("rte_ring_create_elem");

}  // namespace turnpike::control
