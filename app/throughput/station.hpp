// SPDX-License-Identifier: BSD-3-Clause
// The hosts behind a port: answers ARP requests (RFC 826) and neighbour solicitations (RFC 4861) for the station's address and
// for the flows' addresses at this port, and resolves the device's address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "run_file.hpp"

namespace turnpike::throughput {

inline constexpr uint32_t max_reply_bytes = 128;

class station {
  public:
    station(const traffic& t, const run_port& settings, unsigned port, const mac_address& mac)
        : traffic_(t),
          address_(settings.address),
          gateway_(settings.gateway),
          port_(port),
          vlan_(settings.vxlan ? uint16_t{0} : t.vlan),
          mac_(mac) {}

    struct answer {
        bool control = false;      ///< the frame is ARP or ICMPv6
        uint32_t reply_bytes = 0;  ///< a reply to send; 0: none
    };
    /// frame  untagged, or with a tag that the reply gets, too
    [[nodiscard]] answer receive(std::span<const uint8_t> frame, std::span<uint8_t> reply) noexcept;
    /// Write a request for the gateway, with the traffic's tag unless the port is in a tunnel. Returns its bytes.
    [[nodiscard]] uint32_t write_request(std::span<uint8_t> frame) const noexcept;
    /// The gateway's MAC address, once it has answered.
    [[nodiscard]] const std::optional<mac_address>& gateway_mac() const noexcept {
        return gateway_mac_;
    }

  private:
    [[nodiscard]] bool owns(const ip_address& a) const noexcept {
        return a == address_ || is_flow_address(traffic_, port_, a);
    }
    [[nodiscard]] uint32_t write_untagged_request(std::span<uint8_t> frame) const noexcept;
    uint32_t receive_arp(std::span<const uint8_t> frame, std::span<uint8_t> reply) noexcept;
    uint32_t receive_icmp6(std::span<const uint8_t> frame, std::span<uint8_t> reply) noexcept;

    const traffic traffic_;
    const std::optional<ip_address> address_, gateway_;
    const unsigned port_;
    const uint16_t vlan_;  ///< of requests; 0: untagged
    const mac_address mac_;
    std::optional<mac_address> gateway_mac_{};
};

}  // namespace turnpike::throughput
