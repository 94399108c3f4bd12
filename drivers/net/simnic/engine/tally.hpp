// SPDX-License-Identifier: BSD-3-Clause
// Counts the device's PCIe accesses. An access is recorded by its offset in a cache line and its
// length; its cost in TLPs and lines is computed (pcie/access.hpp) when a reader asks for it. So
// recording is one increment, and the count is exact.
#pragma once

#include <array>
#include <cstdint>

#include "counters/counter.hpp"
#include "pcie/access.hpp"
#include "pcie/cost.hpp"

namespace turnpike::simnic {

#ifdef SIMNIC_UNCOUNTED
inline constexpr bool counting = false;
#else
inline constexpr bool counting = true;
#endif

using pcie_bill = std::array<pcie::transactions, pcie::purpose_names.size()>;

/// Threads  one writer (the engine's lock), many readers.
class tally {
  public:
    explicit tally(const pcie::link& link) noexcept : link_(link) {}

    struct access {
        uint64_t iova;
        uint32_t bytes;
    };
    enum direction { device_reads, device_writes };

    /// A frame, or a part of one.
    template <direction D>
    void frame(uint64_t iova, uint32_t bytes) noexcept {
        if constexpr (!counting) return;
        const auto in_page = static_cast<uint32_t>(iova % pcie::page_bytes);
        // For an access that starts at a line and stays within a page, the length alone determines
        // the cost; any other is priced now.
        if (in_page % pcie::line_bytes == 0 && in_page + bytes <= pcie::page_bytes) [[likely]]
            frames_[D][bytes].add(1);
        else
            odd_frame<D>(iova, bytes);
    }

    /// Properties common to consecutive frames, gathered while they are copied.
    class run {
      public:
        /// bytes  length of the first frame
        explicit run(uint32_t bytes) noexcept : bytes_(bytes) {}
        /// bytes  0: the frame was not copied
        void see(uint64_t iova, uint32_t bytes) noexcept {
            places_ |= iova;
            differ_ |= bytes ^ bytes_;
        }

      private:
        friend class tally;
        uint64_t places_ = 0;
        uint32_t differ_ = 0;
        const uint32_t bytes_;
    };

    /// Record a run of n frames; access_of(i) returns the address and length of each.
    template <direction D, class AccessOf>
    void frames(const run& r, uint32_t n, AccessOf access_of) noexcept {
        if constexpr (!counting) return;
        // All equal in length and within a line from its start: mostly small frames.
        if (r.places_ % pcie::line_bytes == 0 && r.differ_ == 0 && r.bytes_ <= pcie::line_bytes)
            [[likely]]
            frames_[D][r.bytes_].add(n);
        else
            for (uint32_t i = 0; i < n; ++i) frame<D>(access_of(i).iova, access_of(i).bytes);
    }

    /// Record descriptors, whose size is a multiple of 16 bytes and whose address is aligned to it.
    template <direction D>
    void descriptors(pcie::purpose p, uint64_t iova, uint32_t bytes) noexcept {
        if constexpr (!counting) return;
        auto& of = descriptors_[slot(p)][iova / unit % line_units];
        const auto in_page = static_cast<uint32_t>(iova % pcie::page_bytes);
        if (bytes / unit < of.size() && in_page + bytes <= pcie::page_bytes) [[likely]]
            of[bytes / unit].add(1);
        else
            odd_descriptors<D>(p, iova, bytes);
    }

    /// Record n consecutive RX write-backs of `each` bytes (16 or 32), a write each.
    void answers_singly(uint64_t iova, uint32_t n, uint32_t each) noexcept {
        if constexpr (!counting) return;
        auto& of = answers_singly_[each / unit - 1][iova / unit % line_units];
        if (iova % each == 0 && n < of.size()) [[likely]]
            of[n].add(1);
        else
            for (uint32_t i = 0; i < n; ++i)
                descriptors<device_writes>(pcie::purpose::rx_write_back, iova + i * each, each);
    }

    /// The bill for the recorded accesses and `register_writes` doorbells of 4 bytes.
    [[nodiscard]] pcie_bill read(uint64_t register_writes) const noexcept;

  private:
    static constexpr uint32_t unit = 16;
    static constexpr uint32_t line_units = pcie::line_bytes / unit;

    /// Transactions priced when recorded; relaxed counters, for readers in other threads.
    struct odd_total {
        counters::counter mrd, mwr, cpld, up, down, rd_cur, itom, rfo, read, written;
        void add(const pcie::transactions& t) noexcept;
        void add_to(pcie::transactions& t) const noexcept;
    };

    template <direction D>
    void odd_frame(uint64_t iova, uint32_t bytes) noexcept;
    template <direction D>
    void odd_descriptors(pcie::purpose p, uint64_t iova, uint32_t bytes) noexcept;

    /// rx_descriptor_fetch, rx_write_back, tx_descriptor_fetch, tx_write_back
    static constexpr size_t slot(pcie::purpose p) noexcept {
        return p == pcie::purpose::rx_descriptor_fetch   ? 0
               : p == pcie::purpose::rx_write_back       ? 1
               : p == pcie::purpose::tx_descriptor_fetch ? 2
                                                         : 3;
    }

    pcie::link link_;
    std::array<std::array<counters::counter, pcie::page_bytes + 1>, 2> frames_{};
    std::array<std::array<std::array<counters::counter, 129>, line_units>, 4> descriptors_{};
    /// By size, offset and count.
    std::array<std::array<std::array<counters::counter, 129>, line_units>, 2> answers_singly_{};
    std::array<odd_total, pcie::purpose_names.size()> odd_{};
};

}  // namespace turnpike::simnic
