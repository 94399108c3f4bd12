// SPDX-License-Identifier: BSD-3-Clause
// Writes a capture file frame by frame, for simnic's wire=pcap.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "net/mac.hpp"

namespace turnpike::bench {

/// The header fields that a forwarder reads. The addresses are big-endian, IPv4 in the first four
/// bytes.
struct flow {
    int family = 4;
    std::span<const uint8_t> source, destination;
    uint8_t protocol = 17;  ///< TCP (6) or UDP (17)
    uint16_t source_port = 9, destination_port = 9;
};

/// Ethernet addresses.
struct mac_pair {
    mac_address to, from;
};

class capture_writer {
  public:
    /// port  the device that sends the capture: frames are addressed to 02:53:4e:00:00:PORT
    /// imix  sizes of the simple IMIX 7:4:1 in turn; otherwise the minimum: 64, for IPv6 and TCP
    ///       the length of the headers
    /// Throws std::runtime_error if the file cannot be written.
    capture_writer(const std::string& file, unsigned port, bool imix);
    void add(const flow& f);
    /// Add a frame with an 802.1Q tag.
    void add_tagged(const flow& f, uint16_t vlan);
    /// Add a frame between two stations behind bridges.
    void add(const flow& f, const mac_pair& between);
    /// Add the frame in a VXLAN packet (RFC 7348) to the device: VNI 100, from 10.0.PORT.(2 +
    /// endpoint) to 10.0.PORT.1.
    void add_tunnelled(const flow& f, const mac_pair& between, uint32_t endpoint);
    /// Throws std::runtime_error if not everything could be written.
    void close();

  private:
    std::vector<uint8_t> frame_of(const flow& f, const mac_pair& between);
    void write(std::span<const uint8_t> frame);
    [[nodiscard]] mac_pair to_device() const;

    std::string name_;
    std::ofstream file_;
    unsigned port_;
    bool imix_;
    uint32_t count_ = 0;
};

}  // namespace turnpike::bench
