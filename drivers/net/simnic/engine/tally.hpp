// SPDX-License-Identifier: BSD-3-Clause
// The count of what the device does on PCIe. An access is noted where it happens, by its place in a
// line and its length; what it costs in TLPs and lines is worked out (pcie/access.hpp) when somebody
// reads. So noting one is an increment, and the count is exact.
#pragma once

#include <array>
#include <cstdint>

#include "cost/counter.hpp"
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
        // From a line's start and within a page, length alone decides; otherwise it is priced now.
        if (in_page % pcie::line_bytes == 0 && in_page + bytes <= pcie::page_bytes) [[likely]]
            frames_[D][bytes].add(1);
        else
            odd_frame<D>(iova, bytes);
    }

    /// What frames one after another have in common, seen while they are moved.
    class run {
      public:
        /// bytes  of the first
        explicit run(uint32_t bytes) noexcept : bytes_(bytes) {}
        /// bytes  0: not moved after all
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

    /// A run of n frames; access_of(i) says again where each was and how long.
    template <direction D, class AccessOf>
    void frames(const run& r, uint32_t n, AccessOf access_of) noexcept {
        if constexpr (!counting) return;
        // All alike, and within a line from its start: small frames, mostly.
        if (r.places_ % pcie::line_bytes == 0 && r.differ_ == 0 && r.bytes_ <= pcie::line_bytes)
            [[likely]]
            frames_[D][r.bytes_].add(n);
        else
            for (uint32_t i = 0; i < n; ++i) frame<D>(access_of(i).iova, access_of(i).bytes);
    }

    /// Descriptors: 16 bytes each or a multiple, aligned so.
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

    /// RX answers of `each` bytes (16 or 32), n one behind another, each written by itself.
    void answers_singly(uint64_t iova, uint32_t n, uint32_t each) noexcept {
        if constexpr (!counting) return;
        auto& of = answers_singly_[each / unit - 1][iova / unit % line_units];
        if (iova % each == 0 && n < of.size()) [[likely]]
            of[n].add(1);
        else
            for (uint32_t i = 0; i < n; ++i)
                descriptors<device_writes>(pcie::purpose::rx_write_back, iova + i * each, each);
    }

    /// What has been counted, and `register_writes` doorbells of 4 bytes.
    [[nodiscard]] pcie_bill read(uint64_t register_writes) const noexcept;

  private:
    static constexpr uint32_t unit = 16;
    static constexpr uint32_t line_units = pcie::line_bytes / unit;

    /// Transactions priced at once; relaxed counters, for readers in other threads.
    struct odd_total {
        cost::counter mrd, mwr, cpld, up, down, rd_cur, itom, rfo, read, written;
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
    std::array<std::array<cost::counter, pcie::page_bytes + 1>, 2> frames_{};
    std::array<std::array<std::array<cost::counter, 129>, line_units>, 4> descriptors_{};
    /// by size, place and number
    std::array<std::array<std::array<cost::counter, 129>, line_units>, 2> answers_singly_{};
    std::array<odd_total, pcie::purpose_names.size()> odd_{};
};

}  // namespace turnpike::simnic
