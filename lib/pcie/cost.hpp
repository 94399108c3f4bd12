// SPDX-License-Identifier: BSD-3-Clause
// The PCIe cost of a packet: a profile's policies, priced on a link (access.hpp) and divided by the
// packets that share each transaction; and the resulting maximum throughput of the link.
//
// Source: "Understanding PCIe performance for end host networking", section 3 and Figure 1; Intel,
// "Benchmarking and Analysis of Software Data Planes" (2017), equations 23 and 24, section 8.5.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pcie/access.hpp"
#include "pcie/link.hpp"
#include "pcie/profile.hpp"

namespace turnpike::pcie {

/// Purpose of a transaction. Each belongs to receive or to transmit, except the last three, which
/// belong to both.
enum class purpose : uint8_t {
    rx_data,
    rx_descriptor_fetch,
    rx_write_back,
    tx_data,
    tx_descriptor_fetch,
    tx_write_back,
    doorbells,
    register_reads,
    interrupts,
};
inline constexpr std::array<std::string_view, 9> purpose_names{
    "rx_data",       "rx_descriptor_fetch", "rx_write_back",  "tx_data",   "tx_descriptor_fetch",
    "tx_write_back", "doorbells",           "register_reads", "interrupts"};

struct frame_share {
    uint32_t frame_bytes;  ///< on Ethernet, including 4 bytes of FCS (an mbuf's pkt_len + 4)
    double weight = 1;     ///< packets of this size, in any unit
};

/// The traffic of one direction.
struct load {
    std::vector<frame_share> frames;
    double burst = 32;  ///< packets per driver call, a mean
};

/// Cost of one direction, per packet received or per packet sent.
struct direction_bill {
    std::array<transactions_per_packet, purpose_names.size()> by_purpose{};
    double data_bytes = 0;  ///< mean frame bytes that cross PCIe, without FCS
    double wire_bytes = 0;  ///< mean bytes per frame on Ethernet, including preamble and gap

    [[nodiscard]] const transactions_per_packet& operator[](purpose p) const {
        return by_purpose[static_cast<size_t>(p)];
    }
    [[nodiscard]] transactions_per_packet& operator[](purpose p) {
        return by_purpose[static_cast<size_t>(p)];
    }
    [[nodiscard]] transactions_per_packet total() const;
};

struct bill {
    nic_profile profile;
    pcie::link link;
    direction_bill rx;
    direction_bill tx;

    /// Mean over rx_packets received and tx_packets sent, per packet of `per` (forwarding: one
    /// received and one sent make one packet forwarded).
    [[nodiscard]] direction_bill combined(double rx_packets = 1, double tx_packets = 1,
                                          double per = 1) const;
};

/// Reproduces, on request, an error in the paper's published Figure 1: its code omitted the read
/// request of the receive descriptor fetch.
enum class published_slip { corrected, reproduced };

/// Price a profile on a link. One load for both directions, or one each. Assumes that buffers start
/// at a cache line and lie within a page, with the prefix in front.
///
/// Errors  EINVAL: a link or profile that does not pass validate(); no frames, a frame outside 5 to
///         65535 bytes, a weight below 0 or none above, a burst below 1. `object` names the field.
[[nodiscard]] result<bill> cost(const nic_profile& profile, const link& l, const load& both,
                                published_slip slip = published_slip::corrected);
[[nodiscard]] result<bill> cost(const nic_profile& profile, const link& l, const load& rx,
                                const load& tx, published_slip slip = published_slip::corrected);

enum class traffic_direction { tx, rx, both };  ///< both: one packet received per packet sent
enum class resource { link_up, link_down, ethernet };
inline constexpr std::array<std::string_view, 3> resource_names{"link_up", "link_down", "ethernet"};

struct throughput {
    double mpps = 0;  ///< packets per direction, in millions per second
    double gbps = 0;  ///< frame bytes that cross PCIe per direction, without FCS
    resource binds = resource::link_up;
    double up_utilisation = 0;  ///< share of the link's capacity at that rate: 0 to 1
    double down_utilisation = 0;
};

/// The maximum throughput of link and port.
///
/// ethernet_gbps  the port's speed; 0: the link alone
[[nodiscard]] throughput achievable(const bill& b, traffic_direction d, double ethernet_gbps = 0);

/// The maximum payload rate of Ethernet for a frame size, in the unit of throughput::gbps.
[[nodiscard]] double ethernet_payload_gbps(double ethernet_gbps, uint32_t frame_bytes) noexcept;

}  // namespace turnpike::pcie
