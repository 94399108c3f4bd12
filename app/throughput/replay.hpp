// SPDX-License-Identifier: BSD-3-Clause
// Traffic from a capture: its frames in their order, again and again, each with a stamp.
//
//   IP      | Ethernet, tags | IP | TCP, UDP, ICMP | payload ...  stamp |      the end of the IP packet: routers strip padding
//   other   | Ethernet, tags | payload                           | stamp |     appended
//
// The stamp replaces the end of the payload. A packet whose payload is shorter is lengthened by the bytes that are missing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "frame_source.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"

namespace turnpike::throughput {

/// The frames of a pcap or pcapng file, with room for stamps and with valid checksums.
class capture {
  public:
    /// Frames that the tester cannot send are skipped: shorter than 14 bytes, longer than 9014, or with an invalid IP header.
    ///
    /// Errors  EINVAL: libpcap's, not Ethernet, no frames, a truncated frame; EFBIG: more than `max_bytes`. Without an object
    [[nodiscard]] static result<std::shared_ptr<const capture>> open(const std::string& file);

    struct frame {
        size_t at = 0;             ///< in the bytes of all frames
        uint32_t bytes = 0;        ///< without FCS
        uint32_t flow = 0;         ///< a hash of addresses and protocol
        uint32_t partial_sum = 0;  ///< of the checksum, without the stamp
        uint16_t l3_at = 0;
        uint16_t upper_at = 0;  ///< 0: not IP
        uint16_t stamp_at = 0;
        uint16_t checksum_at = 0;  ///< TCP, UDP, ICMP; 0: none that covers the stamp
        bool ipv6 = false;
    };
    [[nodiscard]] const frame& frame_of(uint64_t sequence) const noexcept {
        return frames_[sequence % frames_.size()];
    }
    [[nodiscard]] const uint8_t* bytes_of(const frame& f) const noexcept { return &bytes_[f.at]; }
    [[nodiscard]] const std::vector<frame>& frames() const noexcept { return frames_; }
    [[nodiscard]] uint64_t lengthened() const noexcept { return lengthened_; }
    [[nodiscard]] uint64_t skipped() const noexcept { return skipped_; }
    /// Whether an address is a frame's source (port 0) or destination (port 1).
    [[nodiscard]] bool has_address(unsigned port, const ip_address& a) const noexcept;
    /// Classify a received frame. Tags may have been stripped or pushed.
    [[nodiscard]] arrival read(std::span<const uint8_t> received, stamp& out) const noexcept;

    static constexpr size_t max_bytes = size_t{1} << 30;

  private:
    /// False: the frame is skipped.
    bool append(std::span<const uint8_t> captured);

    std::vector<uint8_t> bytes_{};
    std::vector<frame> frames_{};
    std::vector<ip_address> ends_[2]{};  ///< sorted: sources, destinations
    std::unordered_set<uint64_t> flows_{};
    uint64_t lengthened_ = 0, skipped_ = 0;
};

/// MAC addresses that replace the captured ones: the device is a router.
struct mac_pair {
    mac_address source, destination;
};

/// Stream 1 has the addresses exchanged: only its learning frames are sent.
class replay final : public frame_source {
  public:
    replay(std::shared_ptr<const capture> of, uint8_t id, std::optional<mac_pair> macs)
        : capture_(std::move(of)), id_(id), macs_(macs) {}

    [[nodiscard]] uint32_t bytes_of(uint64_t sequence) const noexcept override {
        return capture_->frame_of(sequence).bytes;
    }
    [[nodiscard]] uint32_t flow_of(uint64_t sequence) const noexcept override {
        return capture_->frame_of(sequence).flow;
    }
    void build(uint8_t* at, uint64_t sequence, uint16_t trial,
               uint64_t tsc) const noexcept override;
    [[nodiscard]] bool is_intact(std::span<const uint8_t> received,
                                 uint64_t sequence) const noexcept override;

  private:
    const std::shared_ptr<const capture> capture_;
    const uint8_t id_;
    const std::optional<mac_pair> macs_;
};

}  // namespace turnpike::throughput
