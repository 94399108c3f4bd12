// SPDX-License-Identifier: BSD-3-Clause
// The mbuf pool: created with the configured mempool handler, and described for the report.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "observe/report.hpp"
#include "state/configuration.hpp"

namespace turnpike::control {

/// Minimum number of mbufs to fill the ports' RX rings.
[[nodiscard]] uint32_t buffers_least(const state::configuration& config);
/// Number of mbufs: as configured, else 1.5 times the maximum that ports and workers hold.
[[nodiscard]] uint32_t buffers_for(const state::configuration& config, uint32_t workers);

/// Create the pool with the mempool handler of the configuration, else of EAL's
/// --mbuf-pool-ops-name, else our default (cache_aware).
/// Errors  EINVAL: too few mbufs, an unknown handler (the message lists the known ones), or a
///         single-thread one; ENOMEM: out of hugepages
[[nodiscard]] result<rte_mempool*> make_packet_pool(const state::configuration& config,
                                                    uint32_t workers);

/// Transmit rings whose packets return to the pool only as later ones are sent.
struct keeping_rings {
    uint64_t packets = 0;  ///< their descriptors
    std::string driver{};  ///< of one of them
};

/// Check that a pool of `buffers` has more than receive rings, these transmit rings and the mempool caches hold: otherwise
/// nothing might be received again, so that nothing is sent that frees a buffer.
///
/// Errors  EINVAL: too few buffers
[[nodiscard]] result<void> check_pool(const state::configuration& config, uint32_t buffers,
                                      const keeping_rings& rings, uint32_t workers);

/// Number of free mbufs outside of lcore caches, which only their lcore can take. Approximate while
/// workers run.
[[nodiscard]] uint32_t left_to_all(rte_mempool& pool) noexcept;

/// The pool's part of the report; the pool must be unused.
[[nodiscard]] observe::mempool_report facts_of(rte_mempool& pool);

}  // namespace turnpike::control
