// SPDX-License-Identifier: BSD-3-Clause
// Places a pool's objects so that their hot lines (of a packet buffer: the mbuf and the first
// packet line) spread evenly over all cache sets, with the least memory.
//
// Source: K. Aligeri, "Cache Awareness in DPDK Mempool" (dpdk.org blog, June 2024), which adds one
// line of padding after as many objects as fill the cache. Here the padding is a fraction of a line
// per object, and one grid covers the whole address space:
//
//   object i starts at line floor(i * step_lines / step_objects)       the grid
//   ....|obj|obj|.|obj|obj|.|obj|ob#page#j|obj|.|obj|obj|.|            a place across a page is unused
//
// so that all chunks of memory, in any order, continue the same pattern. If a page holds so few
// objects that skipping one would cost more than max_overhead, they are adjacent instead, at an
// offset that changes from page to page within the unused rest:  |obj obj ...|.obj obj ..|..obj obj
// .|
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/geometry.hpp"

namespace turnpike::cache {

inline constexpr double max_overhead = 0.04;

struct object_layout {
    uint32_t bytes = 0;           ///< header, element and trailer
    std::vector<uint32_t> hot{};  ///< byte offsets of the hot lines
    uint32_t align = 64;          ///< bytes, a power of two: alignment of every object
};

/// One pattern of slots. All counts are in units of `align` bytes.
struct placement {
    enum class kind : uint8_t { grid, pages };
    kind how = kind::grid;
    uint32_t align = 64;
    uint32_t object = 1;        ///< an object's length
    uint32_t step = 1;          ///< grid: units from one object to the next, `step_objects` times
    uint32_t step_objects = 1;  ///< pages: 1
    uint64_t page = 0;          ///< no object crosses a multiple of it; 0: no limit
    uint32_t per_page = 0;      ///< pages: objects per page
    uint32_t turn = 0;          ///< pages: offset increment of the first object from page to page

    /// The address of the first slot at or after an address.
    [[nodiscard]] uint64_t next(uint64_t address) const noexcept;
    /// Bytes that hold `objects` at any start address.
    [[nodiscard]] uint64_t bytes_for(uint64_t objects) const noexcept;
    /// Memory per object relative to the densest packing for these pages, less 1.
    [[nodiscard]] double overhead() const noexcept;
    /// "37 + 1/2 lines", "1 in a page of 64 lines, turning by 17": for messages.
    [[nodiscard]] std::string text() const;

  private:
    [[nodiscard]] uint64_t slack() const noexcept;
};

/// Choose the placement.
///
/// page_bytes  no object may cross a multiple of it; 0: no limit. Ignores a cache level whose way
///             is longer than a page: its sets depend on the kernel's choice of physical pages.
/// objects     number in the pool: the spread is judged at this number, and while the pool fills up
/// Requires    layout.bytes > 0, offsets within it
[[nodiscard]] placement place(const object_layout& layout, const geometry& caches,
                              uint64_t page_bytes, uint64_t objects);

/// Adjacent objects, from each page's start: DPDK's RTE_MEMPOOL_F_NO_SPREAD.
[[nodiscard]] placement packed(const object_layout& layout, uint64_t page_bytes);

/// packed() with an odd number of lines: DPDK's default on x86 with four memory channels.
[[nodiscard]] placement odd_lines(const object_layout& layout, uint64_t page_bytes);

}  // namespace turnpike::cache
