// SPDX-License-Identifier: BSD-3-Clause
// The frames of a trial: flows by MAC or by IP addresses, both incremented pairwise frame by frame, UDP with a stamp.
// Source: RFC 2544 sections 9, 12 and C.2.6.4 (addresses, UDP port 9), RFC 5180 (IPv6), RFC 6985 (IMIX); the paper's section
// 13.4: 3,125 L2 flows and 62,500 L3 flows.
//
//   stream 0: port 0 -> port 1    MAC 06:00:00:.. -> 02:00:00:..   IPv4 198.18.0.0 + f -> 198.19.0.0 + f, or drawn from a table
//   stream 1: port 1 -> port 0    the same flows in the other direction
//   stream 2: port 2 -> port 3    MAC 06:00:01:.. -> 02:00:01:..   IPv4 10.130.0.0 + f -> 10.131.0.0 + f, and so on
//
// Or the frames of captures (replay.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "destinations.hpp"
#include "frame_source.hpp"
#include "net/ip.hpp"
#include "net/mac.hpp"
#include "replay.hpp"

namespace turnpike::throughput {

inline constexpr uint32_t fcs_bytes = 4;
inline constexpr uint32_t line_overhead_bytes = 20;  ///< preamble, start of frame, inter-frame gap
inline constexpr uint32_t largest_frame_bytes = 9018;
inline constexpr unsigned max_ports = 16;
inline constexpr uint32_t l2_flows_of_paper = 3125, l3_flows_of_paper = 62500;

/// The port to which a port's frames go through the device.
[[nodiscard]] constexpr unsigned peer_of(unsigned port) noexcept { return port ^ 1u; }

struct traffic {
    bool by_mac = false;  ///< flows differ by MAC addresses, not by IP addresses
    bool ipv6 = false;
    uint32_t flows = l3_flows_of_paper;
    uint16_t vlan = 0;  ///< 0: untagged; a tag is part of the frame's size
    std::shared_ptr<const destination_list> destinations{};  ///< at port 1, one for each flow
    /// Instead of everything else: by the sending port, both or none.
    std::array<std::shared_ptr<const capture>, 2> captured{};
};

/// A frame size, or a mix: sizes by turns.
struct frame_size {
    std::string name{};
    std::vector<uint32_t> turns{};  ///< bytes, FCS included

    [[nodiscard]] double mean_bytes() const noexcept;
    [[nodiscard]] uint32_t largest() const noexcept;
    /// Frames per second of a full line. Encapsulated frames are longer.
    [[nodiscard]] double line_rate_fps(double bits_per_second,
                                       uint32_t encapsulation_bytes = 0) const noexcept {
        return bits_per_second / 8 / (mean_bytes() + encapsulation_bytes + line_overhead_bytes);
    }
};

/// The shortest frame that has room for the stamp, FCS included.
[[nodiscard]] uint32_t smallest_frame_bytes(const traffic& t) noexcept;
/// "64", "1518", "imix" (7 x 64, 4 x 570, 1 x 1518 by turns; frames too short for the stamp are longer).
///
/// Errors  EINVAL without an object
[[nodiscard]] result<frame_size> parse_frame_size(std::string_view text, const traffic& t);
/// The sizes of a capture's frames, in their order; its name is "capture".
[[nodiscard]] frame_size size_of(const capture& c);
/// The direction with the larger mean.
[[nodiscard]] frame_size size_of(const std::array<std::shared_ptr<const capture>, 2>& both);

/// An address of a flow's end at a port, without a table.
[[nodiscard]] uint32_t ipv4_of(unsigned port, uint32_t flow) noexcept;
[[nodiscard]] ipv6_address ipv6_of(unsigned port, uint32_t flow) noexcept;
/// The port has a flow's end of this address.
[[nodiscard]] bool is_flow_address(const traffic& t, unsigned port, const ip_address& a) noexcept;

/// Frames of flows.
class stream final : public frame_source {
  public:
    /// id              the sending port
    /// source, destination  MAC addresses; with flows by MAC they are not used
    stream(const traffic& t, uint8_t id, const frame_size& size, const mac_address& source,
           const mac_address& destination);

    [[nodiscard]] uint32_t bytes_of(uint64_t sequence) const noexcept override {
        return size_.turns[sequence % size_.turns.size()] - fcs_bytes;
    }
    [[nodiscard]] uint32_t flow_of(uint64_t sequence) const noexcept override {
        return static_cast<uint32_t>(sequence % traffic_.flows);
    }
    void build(uint8_t* at, uint64_t sequence, uint16_t trial,
               uint64_t tsc) const noexcept override;
    [[nodiscard]] bool is_intact(std::span<const uint8_t> frame,
                                 uint64_t sequence) const noexcept override;

  private:
    [[nodiscard]] uint32_t ipv4_at(unsigned port, uint32_t flow) const noexcept {
        return port % 2 == 1 && traffic_.destinations ? traffic_.destinations->v4(flow)
                                                      : ipv4_of(port, flow);
    }
    [[nodiscard]] ipv6_address ipv6_at(unsigned port, uint32_t flow) const noexcept {
        return port % 2 == 1 && traffic_.destinations ? traffic_.destinations->v6(flow)
                                                      : ipv6_of(port, flow);
    }

    const traffic traffic_;
    const uint8_t id_;
    const frame_size size_;
    const uint32_t l3_at_, l4_at_, stamp_at_;
    std::vector<uint8_t> template_{};
};

/// The frames of one direction: a stream, or the replay of a capture.
///
/// routed  the destination is the device: the frames of a capture get these MAC addresses, too
[[nodiscard]] std::unique_ptr<frame_source> source_of(const traffic& t, uint8_t id,
                                                      const frame_size& size,
                                                      const mac_address& source,
                                                      const mac_address& destination, bool routed);

/// Classify a received frame by its headers and stamp. A frame whose tag a port stripped is accepted.
[[nodiscard]] arrival read_frame(const traffic& t, std::span<const uint8_t> frame,
                                 stamp& out) noexcept;

}  // namespace turnpike::throughput
