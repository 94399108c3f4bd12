// SPDX-License-Identifier: BSD-3-Clause
#include "fib/fib_dpdk.hpp"

#include "eal/memory.hpp"
#include "eal/simd_bitwidth.hpp"

namespace turnpike::fib {

config eal_config(std::string name, int socket) {
    config c;
    c.name = std::move(name);
    c.max_simd_bitwidth = eal::max_simd_bitwidth();
    c.measure_kernels = true;
    c.allocator = eal::memory_on(socket);
    return c;
}

}  // namespace turnpike::fib
