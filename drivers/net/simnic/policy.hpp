// SPDX-License-Identifier: BSD-3-Clause
// Parameters of an Intel-style ring, taken from a profile of lib/pcie: driver and device use them
// to decide how much to batch. The code that acts on them decides when.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "pcie/profile.hpp"

namespace turnpike::simnic {

struct rx_policy {
    uint32_t descriptor_bytes = 16;  ///< 16 or 32
    uint32_t fetch_batch = 8;        ///< maximum descriptors per fetch
    pcie::write_back_policy write_back = pcie::write_back_policy::per_packet;
    uint32_t write_back_packets = 1;  ///< for `batch`; for `by_line`: descriptors that fill a line
    double full_line_share = 0;       ///< for `by_line`
    uint32_t free_threshold = 32;     ///< default rx_free_thresh
    uint32_t doorbell_packets = 32;   ///< descriptors posted per tail write
    bool refill_all = false;  ///< refill all missing buffers at once (em, igb), not by blocks
};

struct tx_policy {
    uint32_t fetch_batch = 32;
    bool fetch_waits = false;  ///< a fetch waits until the batch is full
    uint32_t write_back_packets =
        0;  ///< descriptors per write-back; 0: only descriptors with RS, singly
    uint32_t doorbell_packets = 32;  ///< splits longer bursts; 0: no splitting
    bool report_all = false;         ///< RS on every descriptor
};

struct policy {
    std::string_view profile;
    rx_policy rx;
    tx_policy tx;
};

/// Maximum fetched descriptors that the device can hold.
inline constexpr uint32_t max_fetched = 64;

/// Profiles that an Intel-style ring can emulate, for messages.
inline constexpr std::string_view emulated_profiles = "ixgbe, i40e, ice, e1000, igb, niantic-dpdk";

/// Errors  EINVAL: unknown profile, or its device has no such ring
[[nodiscard]] result<policy> policy_of(std::string_view profile);

}  // namespace turnpike::simnic
