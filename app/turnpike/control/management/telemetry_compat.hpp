// SPDX-License-Identifier: BSD-3-Clause
// DPDK's telemetry data: differences between 22.11 and later versions.
#pragma once

#include <rte_telemetry.h>
#include <rte_version.h>

namespace turnpike::control {

// 23.03 renamed u64 to uint.
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
inline int add_number(rte_tel_data* to, const char* name, uint64_t n) noexcept {
    return rte_tel_data_add_dict_uint(to, name, n);
}
#else
inline int add_number(rte_tel_data* to, const char* name, uint64_t n) noexcept {
    return rte_tel_data_add_dict_u64(to, name, n);
}
#endif

}  // namespace turnpike::control
