// SPDX-License-Identifier: BSD-3-Clause
// Traffic parameters of wire=gen. Source: Intel, "Benchmarking and Analysis of Software Data
// Planes" (2017), section 13.4: 3,125 flows by MAC addresses or 62,500 by IPv4 addresses, both
// addresses incremented pairwise by 1 from packet to packet, equally spaced, one frame size.
#pragma once

#include <cstdint>
#include <optional>

#include "packet/headers.hpp"

namespace turnpike::simnic {

struct traffic {
    enum class sizes : uint8_t { range, imix };

    uint32_t l2_flows = 0;      ///< flows by MAC address; 0: flows by IP address
    uint32_t l3_flows = 62500;  ///< if l2_flows is 0
    uint32_t l2_peers = 0;      ///< destinations that l2_flows share, in turn; 0: as many as flows
    bool zipf =
        false;  ///< each flow once in turn; then random, the n-th about 1/n as often as the first
    bool ipv6 = false;
    sizes size = sizes::range;
    uint32_t smallest = 64, largest = 64;  ///< frame bytes, FCS included; in turn, in steps of 1
    uint16_t vlan = 0;    ///< VLAN ID of an 802.1Q tag, which adds to the sizes; 0: untagged
    double rate_pps = 0;  ///< 0: paced by the link, or as fast as the host receives
    packet::mac_address dst_mac{};  ///< zero: the port's (IP flows), 02:... (MAC flows)
    std::optional<uint32_t> src_ip{},
        dst_ip{};  ///< the first flow's; default_src_ip, default_dst_ip
};
inline constexpr uint32_t default_src_ip = 0xc612'0000, default_dst_ip = 0xc613'0000;  // RFC 2544

/// The length, FCS included, of the n-th frame of the simple IMIX 7:4:1.
constexpr uint32_t imix_bytes(uint32_t nth) noexcept {
    constexpr uint16_t turn[12] = {64, 570, 64, 570, 64, 64, 1518, 64, 570, 64, 570, 64};
    return turn[nth % 12];
}

constexpr uint32_t tag_bytes_of(const traffic& t) noexcept { return t.vlan != 0 ? 4 : 0; }

/// The length of the longest frame of the traffic, FCS included.
constexpr uint32_t largest_generated_bytes(const traffic& t) noexcept {
    return (t.size == traffic::sizes::imix ? 1518 : t.largest) + tag_bytes_of(t);
}

/// The length of the shortest frame that has room for the headers and the stamp, FCS included.
constexpr uint32_t least_generated_bytes(bool ipv6) noexcept { return ipv6 ? 84 : 64; }

}  // namespace turnpike::simnic
