// SPDX-License-Identifier: BSD-3-Clause
// rte_malloc as the memory hook that tables take.
#pragma once

#include "base/memory.hpp"

namespace turnpike::eal {

/// Memory of one NUMA node; SOCKET_ID_ANY (-1): any.
/// Threads  any. Errors: allocate gives nullptr
memory memory_on(int socket) noexcept;

}  // namespace turnpike::eal
