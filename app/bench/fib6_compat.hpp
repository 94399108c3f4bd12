// SPDX-License-Identifier: BSD-3-Clause
// IPv6 addresses for rte_fib6: 16 bytes in DPDK 22.11, rte_ipv6_addr from 24.11 on.
#pragma once

#include <rte_fib6.h>
#include <rte_version.h>

#include <cstdint>

namespace turnpike::bench {

#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)

inline const rte_ipv6_addr* fib6_address(const uint8_t* bytes) noexcept {
    return reinterpret_cast<const rte_ipv6_addr*>(bytes);
}
/// A consecutive array of addresses.
inline const rte_ipv6_addr* fib6_addresses(const uint8_t* bytes) noexcept {
    return fib6_address(bytes);
}

#else

inline const uint8_t* fib6_address(const uint8_t* bytes) noexcept { return bytes; }
/// rte_fib6 does not declare them const, but only reads them.
inline uint8_t (*fib6_addresses(const uint8_t* bytes) noexcept)[16] {
    return reinterpret_cast<uint8_t(*)[16]>(const_cast<uint8_t*>(bytes));
}

#endif

}  // namespace turnpike::bench
