// SPDX-License-Identifier: BSD-3-Clause
#include "fib/fib_dpdk.hpp"

#include <rte_malloc.h>
#include <rte_vect.h>

namespace turnpike::fib {

memory eal_memory(int socket) {
    return {reinterpret_cast<void*>(static_cast<intptr_t>(socket)),
            [](void* context, size_t bytes, size_t alignment) {
                const auto node = static_cast<int>(reinterpret_cast<intptr_t>(context));
                return rte_malloc_socket("fib", bytes, static_cast<unsigned>(alignment), node);
            },
            [](void*, void* what) { rte_free(what); }};
}

config eal_config(std::string name, int socket) {
    config c;
    c.name = std::move(name);
    c.max_simd_bitwidth = rte_vect_get_max_simd_bitwidth();
    c.allocator = eal_memory(socket);
    return c;
}

}  // namespace turnpike::fib
