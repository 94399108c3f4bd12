// SPDX-License-Identifier: BSD-3-Clause
// Traffic from a capture: its frames in their order, again and again, each with a stamp.
//
//   IP      | Ethernet, tags | IP | TCP, UDP, ICMP | payload ...  stamp |      the end of the IP packet: routers strip padding
//   other   | Ethernet, tags | payload                           | stamp |     appended
//
// The stamp replaces the end of the payload. A packet whose payload is shorter is lengthened by the bytes that are missing.
// Each of two directions has its capture: another file, the frames of one side's senders, or the same frames with exchanged
// addresses.
#pragma once

#include <array>
#include <cstdint>
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
        bool has_ports = false;  ///< of TCP or UDP
        bool lengthened = false;
    };
    [[nodiscard]] const frame& frame_of(uint64_t sequence) const noexcept {
        return frames_[sequence % frames_.size()];
    }
    [[nodiscard]] const uint8_t* bytes_of(const frame& f) const noexcept { return &bytes_[f.at]; }
    [[nodiscard]] const std::vector<frame>& frames() const noexcept { return frames_; }
    [[nodiscard]] uint64_t lengthened() const noexcept { return lengthened_; }
    [[nodiscard]] uint64_t skipped() const noexcept { return skipped_; }
    [[nodiscard]] bool has_source(const ip_address& a) const noexcept { return has(0, a); }
    [[nodiscard]] bool has_destination(const ip_address& a) const noexcept { return has(1, a); }
    /// The first frames, at most `max_frames`, as the other end would send them: MAC addresses, IP addresses, and ports of TCP
    /// and UDP are exchanged.
    /// groups  also frames to broadcast and multicast addresses, which are then their source: devices drop them. Else these
    ///         are skipped, and the answer may have no frames
    [[nodiscard]] std::shared_ptr<const capture> exchanged(size_t max_frames, bool groups) const;
    /// Two captures by the frames' sources: the first has the sources within the prefixes. A frame without IP is with the
    /// packets of its source MAC address.
    ///
    /// Errors  EINVAL: one of the two has no frames. Without an object
    [[nodiscard]] result<std::array<std::shared_ptr<const capture>, 2>> split(
        std::span<const ip_prefix> prefixes) const;
    /// Classify a received frame. Tags may have been stripped or pushed.
    [[nodiscard]] arrival read(std::span<const uint8_t> received, stamp& out) const noexcept;

    static constexpr size_t max_bytes = size_t{1} << 30;

  private:
    /// False: the frame is skipped.
    bool append(std::span<const uint8_t> captured);
    /// Add a frame whose bytes are the last of bytes_.
    void add(const frame& f);
    /// Add a frame of another capture.
    void copy(const capture& from, const frame& f);
    /// No further frame is added.
    void finish();
    [[nodiscard]] ip_address end_of(const frame& f, unsigned end) const noexcept;
    [[nodiscard]] bool has(unsigned end, const ip_address& a) const noexcept;

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

/// The frames of a capture as a stream.
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
