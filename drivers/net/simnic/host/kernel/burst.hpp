// SPDX-License-Identifier: BSD-3-Clause
// The driver's inner loops: between descriptors and mbufs. One set an instruction set; no EAL, so
// that they are tested over any memory that looks like rings and mbufs.
#pragma once

#include <cstdint>
#include <span>

#include "descriptor.hpp"
#include "isa/isa.hpp"

struct rte_mbuf;

namespace turnpike::simnic {

struct burst_kernels {
    /// Take what the device has answered, up to the first descriptor that is not done or bears an
    /// error.
    /// ring    first descriptor; `words` apart (1: 16 bytes, 2: 32 bytes)
    /// posted  [n] the mbufs that were posted there
    /// out     [n] out; filled mbufs. More than the result may be written.
    /// rearm   data_off, refcnt, nb_segs and port of a fresh mbuf, as they lie in it
    /// Returns how many
    using rx_take_function = uint32_t(const descriptor* ring, rte_mbuf* const* posted,
                                      rte_mbuf** out, uint32_t n, uint64_t rearm) noexcept;
    /// Post n buffers: their address and headroom, no answer.
    using rx_post_function = void(descriptor* ring, rte_mbuf* const* buffers, uint32_t n,
                                  uint64_t headroom) noexcept;
    /// Post n whole frames of one segment each, and remember them in `posted`.
    using tx_post_function = void(descriptor* ring, rte_mbuf** posted, rte_mbuf* const* frames,
                                  uint32_t n, uint64_t command) noexcept;

    rx_take_function* take_16;
    rx_take_function* take_32;
    rx_post_function* post_16;
    rx_post_function* post_32;
    tx_post_function* send;
};

using burst_kernels_function = const burst_kernels&() noexcept;

// clang-format off
namespace scalar { const burst_kernels& burst() noexcept; }
namespace sse42 { const burst_kernels& burst() noexcept; }
namespace avx2 { const burst_kernels& burst() noexcept; }
namespace avx512 { const burst_kernels& burst() noexcept; }
// clang-format on

/// The kernels, best first.
std::span<const isa::kernel<burst_kernels_function>> burst_kernel_table() noexcept;

}  // namespace turnpike::simnic
