// SPDX-License-Identifier: BSD-3-Clause
// What a profile of lib/pcie asks of an Intel-style ring: the few numbers that driver and device
// follow. The numbers come from the profile; when and how often something happens comes from the
// code that does it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "pcie/profile.hpp"

namespace turnpike::simnic {

struct rx_policy {
    uint32_t descriptor_bytes = 16;  ///< 16 or 32
    uint32_t fetch_batch = 8;        ///< descriptors that a fetch reads at most
    pcie::write_back_policy write_back = pcie::write_back_policy::per_packet;
    uint32_t write_back_packets = 1;  ///< of `batch`; of `by_line`: what fills a line
    double full_line_share = 0;       ///< of `by_line`
    uint32_t free_threshold = 32;     ///< default rx_free_thresh
    uint32_t doorbell_packets = 32;   ///< descriptors posted per tail write
    bool refill_all = false;          ///< refill whatever is free at once (em, igb), not by blocks
};

struct tx_policy {
    uint32_t fetch_batch = 32;
    bool fetch_waits = false;         ///< a fetch waits until the batch is full
    uint32_t write_back_packets = 0;  ///< answers per write; 0: only descriptors with RS, singly
    uint32_t doorbell_packets = 32;   ///< a longer burst is sent in such pieces; 0: never cut
    bool report_all = false;          ///< RS on every descriptor
};

struct policy {
    std::string_view profile;
    rx_policy rx;
    tx_policy tx;
};

/// Descriptors that the device can hold fetched.
inline constexpr uint32_t most_fetched = 64;

/// The profiles that an Intel-style ring can show, for messages.
inline constexpr std::string_view emulated_profiles = "ixgbe, i40e, ice, e1000, igb, niantic-dpdk";

/// Errors  EINVAL: unknown, or a profile whose device has no such ring
[[nodiscard]] result<policy> policy_of(std::string_view profile);

}  // namespace turnpike::simnic
