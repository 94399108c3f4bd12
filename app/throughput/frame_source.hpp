// SPDX-License-Identifier: BSD-3-Clause
// The frames of one direction of a trial, each built and verified by its sequence number.
#pragma once

#include <cstdint>
#include <span>

#include "stamp.hpp"

namespace turnpike::throughput {

enum class arrival : uint8_t {
    ours,     ///< stamped and intact
    damaged,  ///< a frame of ours with a changed byte, or truncated
    foreign,  ///< a frame of another sender
};

class frame_source {
  public:
    virtual ~frame_source() = default;
    /// Bytes of a frame without FCS.
    [[nodiscard]] virtual uint32_t bytes_of(uint64_t sequence) const noexcept = 0;
    /// Frames of one flow have the same number.
    [[nodiscard]] virtual uint32_t flow_of(uint64_t sequence) const noexcept = 0;
    /// Write a frame of bytes_of(sequence) bytes.
    virtual void build(uint8_t* at, uint64_t sequence, uint16_t trial,
                       uint64_t tsc) const noexcept = 0;
    /// Whether a frame that read_frame() took for one of this source is as it was built: length, addresses, payload.
    [[nodiscard]] virtual bool is_intact(std::span<const uint8_t> frame,
                                         uint64_t sequence) const noexcept = 0;
};

}  // namespace turnpike::throughput
