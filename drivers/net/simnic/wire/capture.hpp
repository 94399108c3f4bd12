// SPDX-License-Identifier: BSD-3-Clause
// wire=pcap:FILE: sends the frames of a capture in a loop; drops and counts frames that the device
// sends. Reads pcap and pcapng by libpcap.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "counters/counter.hpp"
#include "packet/headers.hpp"
#include "wire/wire.hpp"

namespace turnpike::simnic {

/// Replacements for captured fields. Checksums are updated: correct ones stay correct, wrong ones
/// wrong.
struct rewrites {
    packet::mac_address dst_mac{};  ///< zero: as captured
    std::optional<uint32_t> src_ip{}, dst_ip{};
};

class capture final : public wire {
  public:
    /// Skips and counts frames that no wire carries, shorter than 14 bytes or longer than 9728.
    ///
    /// Errors  libpcap's; EINVAL: not Ethernet, no frames, a truncated frame; EFBIG: more than
    ///         `max_bytes`
    [[nodiscard]] static result<std::unique_ptr<wire>> open(const std::string& file,
                                                            const rewrites& r, const pace& p);

    uint32_t peek(uint64_t now, std::span<outgoing> into) noexcept override;
    void pop(uint32_t n) noexcept override;
    bool waits() const noexcept override { return !pace_.limits(); }
    uint64_t skip_due(uint64_t now) noexcept override;
    void resume(uint64_t now) noexcept override { pace_.idle_until(now); }
    void send(std::span<const outgoing> frames) noexcept override { received_.add(frames.size()); }
    size_t counts(std::span<wire_count> into) const noexcept override;

    static constexpr size_t max_bytes = size_t{1} << 30;

  private:
    struct frame_position {
        size_t at;
        uint32_t length;
    };
    explicit capture(const pace& p) noexcept : pace_(p) {}
    result<void> append(const std::string& object, const uint8_t* frame, uint32_t captured,
                        uint32_t length);
    [[nodiscard]] outgoing frame(size_t ahead) const noexcept {
        const frame_position& p = positions_[(next_ + ahead) % positions_.size()];
        return {&bytes_[p.at], p.length};
    }

    pace pace_;
    std::vector<uint8_t> bytes_{};  ///< all frames, contiguous
    std::vector<frame_position> positions_{};
    size_t next_ = 0;
    uint64_t skipped_ = 0;
    counters::counter sent_{}, loops_{}, received_{};
};

/// Non-IPv4 frames keep their addresses. Threads any. Errors none.
void rewrite(const rewrites& r, uint8_t* frame, uint32_t bytes) noexcept;

}  // namespace turnpike::simnic
