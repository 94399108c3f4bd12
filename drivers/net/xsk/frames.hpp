// SPDX-License-Identifier: BSD-3-Clause
// A mempool's packet buffers as the frames of a UMEM.
//
//   mempool object  | header | rte_mbuf | private | buffer (buf_len)            | trailer |
//   UMEM chunk                                    | 256: XDP's own | frame ...  |
//
// A chunk is exactly a buffer, so that nothing the kernel or an XDP program may do to a frame's headroom
// reaches an mbuf. Chunks are unaligned ones (XDP_UMEM_UNALIGNED_CHUNK_FLAG): in front of every buffer lies
// its mbuf, so no pool's buffers are side by side. An address in a descriptor is the buffer's offset from
// the UMEM's start, and in the top 16 bits where in the buffer the frame begins.
// Source: Documentation/networking/af_xdp.rst; net/xdp/xdp_umem.c has the limits.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "uapi.hpp"

namespace turnpike::xsk {

inline constexpr uint32_t xdp_headroom_bytes = 256;  // XDP_PACKET_HEADROOM of linux/bpf.h
/// Of a frame to send. net/xdp/xsk.c: one linear part and MAX_SKB_FRAGS (17) more.
inline constexpr uint32_t most_frame_parts = 17;
inline constexpr uint32_t least_chunk_bytes = 2048, most_chunk_bytes = 4096;

inline constexpr uint64_t buffer_of(uint64_t address) noexcept {
    return address & XSK_UNALIGNED_BUF_ADDR_MASK;
}
inline constexpr uint32_t offset_in_buffer(uint64_t address) noexcept {
    return static_cast<uint32_t>(address >> XSK_UNALIGNED_BUF_OFFSET_SHIFT);
}

struct frame_layout {
    rte_mempool* pool = nullptr;
    uintptr_t base = 0;  ///< where the UMEM begins: page aligned
    uint64_t bytes = 0;
    uint32_t chunk_bytes = 0;     ///< of a frame with XDP's headroom; may be less than a buffer has
    uint32_t mbuf_to_buffer = 0;  ///< bytes
    uint32_t pieces = 0;          ///< of memory, with or without gaps between

    /// Bytes of a received frame (a part of one) in a buffer.
    [[nodiscard]] uint32_t room() const noexcept { return chunk_bytes - xdp_headroom_bytes; }
    [[nodiscard]] uint64_t buffer_of(const rte_mbuf* m) const noexcept {
        return reinterpret_cast<uintptr_t>(m) + mbuf_to_buffer - base;
    }
    [[nodiscard]] rte_mbuf* mbuf_of(uint64_t buffer) const noexcept {
        return reinterpret_cast<rte_mbuf*>(base + buffer - mbuf_to_buffer);
    }
    friend bool operator==(const frame_layout&, const frame_layout&) = default;
};

/// Errors  EINVAL, `object` is the pool, where no UMEM can be made of it
[[nodiscard]] result<frame_layout> layout_of(rte_mempool& pool);

/// The frames that the kernel has. A chunk has 2048 bytes or more, so its number is its offset / 2048. A
/// byte each: of neighbours in one word each would wait for the one before (bench xsk).
/// Threads  one at a time
class frame_set {
  public:
    frame_set() = default;
    explicit frame_set(const frame_layout& layout) : there_(layout.bytes / least_chunk_bytes + 1) {}

    /// False: it is there already.
    bool insert(uint64_t buffer) noexcept {
        uint8_t& one = there_[buffer >> 11];
        const bool fresh = one == 0;
        one = 1;
        return fresh;
    }
    /// False: it is not there, or no such buffer can be.
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
    /// The kernel has let go of all: those left are freed. Returns how many.
    uint32_t free_all(const frame_layout& layout) noexcept;

  private:
    std::vector<uint8_t> there_{};
};

}  // namespace turnpike::xsk
