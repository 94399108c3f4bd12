// SPDX-License-Identifier: BSD-3-Clause
// A mempool of packet buffers for a benchmark, with any handler and flags.
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace turnpike::bench {

struct pool_wish {
    std::string ops;
    uint32_t objects = 8192;
    uint32_t object_bytes = 2368;  ///< header, mbuf, headroom and packet, without padding
    uint32_t cache = 0;
    unsigned flags = 0;  ///< RTE_MEMPOOL_F_*
};

struct pool_deleter {
    void operator()(rte_mempool* mp) const noexcept { rte_mempool_free(mp); }
};
using pool = std::unique_ptr<rte_mempool, pool_deleter>;

/// Empty: creation failed (rte_errno).
pool make_pool(const pool_wish& wish);

/// Offsets of the lines that a walk touches, from the start of the object (its header): the mbuf's
/// two and, after the headroom, the packet's first.
inline constexpr std::array<uint32_t, 3> walked{
    RTE_MEMPOOL_ALIGN, RTE_MEMPOOL_ALIGN + RTE_CACHE_LINE_MIN_SIZE,
    RTE_MEMPOOL_ALIGN + sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM};
}  // namespace turnpike::bench
