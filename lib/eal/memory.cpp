// SPDX-License-Identifier: BSD-3-Clause
#include "eal/memory.hpp"

#include <rte_malloc.h>

#include <cstdint>

namespace turnpike::eal {

memory memory_on(int socket) noexcept {
    return {reinterpret_cast<void*>(static_cast<intptr_t>(socket)),
            [](void* context, size_t bytes, size_t alignment) {
                const auto node = static_cast<int>(reinterpret_cast<intptr_t>(context));
                return rte_malloc_socket("turnpike", bytes, static_cast<unsigned>(alignment), node);
            },
            [](void*, void* what) { rte_free(what); }};
}

}  // namespace turnpike::eal
