// SPDX-License-Identifier: BSD-3-Clause
// What the device sees in a frame: its type for the descriptor, checksums to verify or insert.
#pragma once

#include <cstdint>

namespace turnpike::simnic {

struct frame_class {
    uint16_t ptype = 0;
    uint8_t protocol = 0;  ///< of the IP header; 0 where there is none
    bool fragment = false;
    uint16_t l3_at = 0, l4_at = 0;  ///< offsets; 0: no such header
    uint32_t end = 0;               ///< where the IP packet ends (what follows is padding)
};

/// Any bytes are fine. Threads any. Errors none.
[[nodiscard]] frame_class classify(const uint8_t* frame, uint32_t bytes) noexcept;

/// The checksum bits of an RX answer.
[[nodiscard]] uint32_t verify_checksums(const frame_class& c, const uint8_t* frame) noexcept;

/// What a TX command asks for, where the headers it names are there.
void insert_checksums(uint64_t command, uint8_t* frame, uint32_t bytes) noexcept;

}  // namespace turnpike::simnic
