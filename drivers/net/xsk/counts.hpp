// SPDX-License-Identifier: BSD-3-Clause
// A port's counters, as an array of named numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "uapi.hpp"

namespace turnpike::xsk {

class rx_queue;
class tx_queue;

/// ethdev's basic statistics first, extended statistics after them.
enum class count : uint8_t {
    rx_packets,
    rx_bytes,
    rx_no_buffer,
    tx_packets,
    tx_bytes,
    rx_system_calls,
    rx_wakeups,
    rx_starved,
    rx_invalid,
    tx_system_calls,
    tx_failed_calls,
    tx_wakeups,
    tx_descriptors,
    tx_descriptors_per_doorbell,
    tx_copied,
    tx_no_buffer,
    tx_refused,
    tx_invalid,
    kernel_rx_dropped,
    kernel_rx_invalid_descs,
    kernel_tx_invalid_descs,
    kernel_rx_ring_full,
    kernel_rx_fill_ring_empty,
    kernel_tx_ring_empty,
    filter_kept,
};
inline constexpr size_t all_counts = static_cast<size_t>(count::filter_kept) + 1;
inline constexpr size_t first_xstat = static_cast<size_t>(count::rx_system_calls);

inline constexpr std::array<std::string_view, all_counts> count_names{
    "",
    "",
    "",
    "",
    "",
    "rx_system_calls",
    "rx_wakeups",
    "rx_fill_ring_starved",
    "rx_invalid_descriptors",
    "tx_system_calls",
    "tx_failed_calls",
    "tx_wakeups",
    "tx_descriptors",
    "tx_descriptors_per_doorbell",
    "tx_copied",
    "tx_copy_no_buffer",
    "tx_refused",
    "tx_invalid_completions",
    "kernel_rx_dropped",
    "kernel_rx_invalid_descs",
    "kernel_tx_invalid_descs",
    "kernel_rx_ring_full",
    "kernel_rx_fill_ring_empty_descs",
    "kernel_tx_ring_empty_descs",
    "filter_kept_by_kernel"};

class totals {
  public:
    [[nodiscard]] uint64_t operator[](count c) const noexcept {
        return values_[static_cast<size_t>(c)];
    }
    [[nodiscard]] uint64_t at(size_t i) const noexcept { return values_[i]; }
    void add(count c, uint64_t n) noexcept { values_[static_cast<size_t>(c)] += n; }
    void add(const rx_queue& queue) noexcept;
    void add(const tx_queue& queue) noexcept;
    void add(const xdp_statistics& kernels) noexcept;
    /// The difference to `base`.
    [[nodiscard]] totals since(const totals& base) const noexcept;

  private:
    std::array<uint64_t, all_counts> values_{};
};

}  // namespace turnpike::xsk
