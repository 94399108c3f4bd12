// SPDX-License-Identifier: BSD-3-Clause
// The driver's inner loops: conversion between descriptors and mbufs, one set per instruction set.
// No EAL, so that unit tests run them on any memory laid out as rings and mbufs.
#pragma once

#include <cstdint>
#include <span>

#include "descriptor.hpp"
#include "isa/kernel_table.hpp"

struct rte_mbuf;

namespace turnpike::simnic {

struct burst_kernels {
    /// Receive completed descriptors, up to the first that is not done or has an error.
    ///
    /// ring    first descriptor; `words` apart (1: 16 bytes, 2: 32 bytes)
    /// posted  [n] the mbufs posted there
    /// out     [n] out; filled mbufs. More than the result may be written.
    /// rearm   data_off, refcnt, nb_segs and port of a fresh mbuf, in mbuf layout
    /// Returns how many
    using rx_receive_function = uint32_t(const descriptor* ring, rte_mbuf* const* posted,
                                         rte_mbuf** out, uint32_t n, uint64_t rearm) noexcept;
    /// Post n buffers: address plus headroom, status cleared.
    using rx_post_function = void(descriptor* ring, rte_mbuf* const* buffers, uint32_t n,
                                  uint64_t headroom) noexcept;
    /// Post n single-segment frames, and record them in `posted`.
    using tx_post_function = void(descriptor* ring, rte_mbuf** posted, rte_mbuf* const* frames,
                                  uint32_t n, uint64_t command) noexcept;

    rx_receive_function* receive_16;
    rx_receive_function* receive_32;
    rx_post_function* post_16;
    rx_post_function* post_32;
    tx_post_function* send;
    /// The same for frames of which some request a VLAN tag (RTE_MBUF_F_TX_VLAN), and nothing else.
    tx_post_function* send_tagged;
};

using burst_kernels_function = const burst_kernels&() noexcept;

TURNPIKE_KERNEL(burst_kernels_function, burst)

/// The kernels, best first.
std::span<const isa::kernel<burst_kernels_function>> burst_kernel_table() noexcept;

}  // namespace turnpike::simnic
