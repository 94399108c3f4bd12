// SPDX-License-Identifier: BSD-3-Clause
// rte_malloc as the tables' memory hook.
#pragma once

#include "base/memory.hpp"

namespace turnpike::eal {

/// Memory of one NUMA node; SOCKET_ID_ANY (-1): any.
///
/// Threads  any. Errors: allocate returns nullptr
memory memory_on(int socket) noexcept;

}  // namespace turnpike::eal
