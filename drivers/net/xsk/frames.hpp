// SPDX-License-Identifier: BSD-3-Clause
// A mempool's packet buffers as the frames of a UMEM.
//
//   mempool object  | header | rte_mbuf | private | buffer (buf_len)            | trailer |
//   UMEM chunk                                    | 256: XDP's own | frame ...  |
//
// A chunk is exactly one buffer, so that neither the kernel nor an XDP program can write into an
// mbuf through a frame's headroom. Chunks are unaligned ones (XDP_UMEM_UNALIGNED_CHUNK_FLAG): in
// front of every buffer lies its mbuf, so no pool's buffers are side by side. An address in a
// descriptor is the buffer's offset from the UMEM's start, and in the top 16 bits where in the
// buffer the frame begins. Source: Documentation/networking/af_xdp.rst; net/xdp/xdp_umem.c has the
// limits.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "uapi.hpp"

namespace turnpike::xsk {

inline constexpr uint32_t xdp_headroom_bytes = 256;  // XDP_PACKET_HEADROOM of linux/bpf.h
/// Maximum segments of a frame to send. net/xdp/xsk.c: one linear part and MAX_SKB_FRAGS (17) more.
inline constexpr uint32_t max_frame_parts = 17;
inline constexpr uint32_t least_chunk_bytes = 2048, max_chunk_bytes = 4096;

inline constexpr uint64_t buffer_of(uint64_t address) noexcept {
    return address & XSK_UNALIGNED_BUF_ADDR_MASK;
}
inline constexpr uint32_t offset_in_buffer(uint64_t address) noexcept {
    return static_cast<uint32_t>(address >> XSK_UNALIGNED_BUF_OFFSET_SHIFT);
}

struct frame_layout {
    rte_mempool* pool = nullptr;
    uintptr_t base = 0;  ///< start of the UMEM, page aligned
    uint64_t bytes = 0;
    uint32_t chunk_bytes = 0;     ///< a chunk, XDP's headroom included; may be less than the buffer
    uint32_t mbuf_to_buffer = 0;  ///< bytes from the mbuf to its buffer
    uint32_t pieces = 0;          ///< memory chunks of the pool, with or without gaps between

    /// Bytes of a received frame (or a part of it) per buffer.
    [[nodiscard]] uint32_t room() const noexcept { return chunk_bytes - xdp_headroom_bytes; }
    [[nodiscard]] uint64_t buffer_of(const rte_mbuf* m) const noexcept {
        return reinterpret_cast<uintptr_t>(m) + mbuf_to_buffer - base;
    }
    [[nodiscard]] rte_mbuf* mbuf_of(uint64_t buffer) const noexcept {
        return reinterpret_cast<rte_mbuf*>(base + buffer - mbuf_to_buffer);
    }
    friend bool operator==(const frame_layout&, const frame_layout&) = default;
};

/// Errors  EINVAL: the pool cannot be a UMEM; `object` is the pool
[[nodiscard]] result<frame_layout> layout_of(rte_mempool& pool);

/// Buffers owned by the kernel. A chunk has at least 2048 bytes, so offset / 2048 identifies it.
/// One byte per chunk: with one bit per chunk, updates of adjacent chunks depend on each other
/// (bench xsk).
///
/// Threads  one at a time
class frame_set {
  public:
    frame_set() = default;
    explicit frame_set(const frame_layout& layout) : there_(layout.bytes / least_chunk_bytes + 1) {}

    /// Returns false if the set contains the buffer already.
    bool insert(uint64_t buffer) noexcept {
        uint8_t& one = there_[buffer >> 11];
        const bool fresh = one == 0;
        one = 1;
        return fresh;
    }
    /// Returns false if the set does not contain the buffer, or if the address is no buffer of the
    /// pool.
    bool erase(uint64_t buffer) noexcept {
        if (buffer >> 11 >= there_.size()) [[unlikely]]
            return false;
        uint8_t& one = there_[buffer >> 11];
        const bool there = one != 0;
        one = 0;
        return there;
    }
    [[nodiscard]] bool contains(uint64_t buffer) const noexcept {
        return there_[buffer >> 11] != 0;
    }
    /// Free every buffer left in the set, after the kernel released them all. Returns how many.
    uint32_t free_all(const frame_layout& layout) noexcept;

  private:
    std::vector<uint8_t> there_{};
};

}  // namespace turnpike::xsk
