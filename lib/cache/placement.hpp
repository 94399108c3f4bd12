// SPDX-License-Identifier: BSD-3-Clause
// Where to put a pool's objects so that the lines which are touched of each (of a packet buffer: the
// mbuf and the first packet line) use all sets of the caches alike, at the least memory.
//
// Source: K. Aligeri, "Cache Awareness in DPDK Mempool" (dpdk.org blog, June 2024), which puts one
// line of padding after as many objects as fill the cache. Here the padding is a fraction of a line
// per object, and one grid lies over the whole address space:
//
//   object i starts at line floor(i * step_lines / step_objects)       the grid
//   ....|obj|obj|.|obj|obj|.|obj|ob#page#j|obj|.|obj|obj|.|            a place across a page is unused
//
// so that every chunk of memory, in whatever order, continues the same pattern. Where a page holds so
// few objects that skipping would cost more than max_overhead, they lie side by side instead and use
// the rest of the page, turning from page to page:  |obj obj ...|.obj obj ..|..obj obj .|
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/geometry.hpp"

namespace turnpike::cache {

inline constexpr double max_overhead = 0.04;

struct object_layout {
    uint32_t bytes = 0;           ///< all of it: header, element, trailer
    std::vector<uint32_t> hot{};  ///< byte offsets of the lines that are touched
    uint32_t align = 64;          ///< bytes, a power of two: every object starts at a multiple
};

/// One pattern of places. All counts are in units of `align` bytes.
struct placement {
    enum class kind : uint8_t { grid, pages };
    kind how = kind::grid;
    uint32_t align = 64;
    uint32_t object = 1;        ///< an object's length
    uint32_t step = 1;          ///< grid: units from one object to the next, `step_objects` times
    uint32_t step_objects = 1;  ///< pages: 1
    uint64_t page = 0;          ///< no object crosses a multiple of it; 0: they may
    uint32_t per_page = 0;      ///< pages: objects in each
    uint32_t turn = 0;          ///< pages: how much later the next page's first object starts

    /// The first place at or after an address, as an address.
    [[nodiscard]] uint64_t next(uint64_t address) const noexcept;
    /// Bytes that hold `objects` wherever they start.
    [[nodiscard]] uint64_t bytes_for(uint64_t objects) const noexcept;
    /// Memory an object takes, over what it takes packed as densely as these pages allow, less 1.
    [[nodiscard]] double overhead() const noexcept;
    /// "37 + 1/2 lines", "1 in a page of 64 lines, turning by 17": for people.
    [[nodiscard]] std::string text() const;

  private:
    [[nodiscard]] uint64_t slack() const noexcept;
};

/// The placement to use.
/// page_bytes  no object may cross a multiple of it; 0: they may. A cache level whose way is longer
///             than a page is left out: which sets its lines use is the kernel's choice of pages.
/// objects     in the pool: the spread is judged at this number, and on the way to it
/// Requires    layout.bytes > 0, offsets within it
[[nodiscard]] placement place(const object_layout& layout, const geometry& caches,
                              uint64_t page_bytes, uint64_t objects);

/// Objects side by side, from each page's start: DPDK's RTE_MEMPOOL_F_NO_SPREAD.
[[nodiscard]] placement packed(const object_layout& layout, uint64_t page_bytes);

/// packed() at an odd number of lines: what DPDK does on x86 with its default of four memory channels.
[[nodiscard]] placement odd_lines(const object_layout& layout, uint64_t page_bytes);

}  // namespace turnpike::cache
