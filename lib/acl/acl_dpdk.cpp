// SPDX-License-Identifier: BSD-3-Clause
#include "acl/acl_dpdk.hpp"

#include "eal/memory.hpp"
#include "eal/simd_bitwidth.hpp"

namespace turnpike::acl {

config eal_config(std::string name, int socket) {
    config c;
    c.name = std::move(name);
    c.max_simd_bitwidth = eal::max_simd_bitwidth();
    c.measure_kernels = true;
    c.allocator = eal::memory_on(socket);
    return c;
}

config eal_config(std::string name, int socket, size_t max_size) {
    config c = eal_config(std::move(name), socket);
    c.max_bytes = max_size != 0 ? max_size : UINT64_MAX;
    return c;
}

}  // namespace turnpike::acl
