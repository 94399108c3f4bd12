// SPDX-License-Identifier: BSD-3-Clause
// Frames for a simnic's wire=pcap: a capture file, written frame by frame.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace turnpike::bench {

/// What a forwarder looks at. The addresses are big-endian, IPv4 in the first four bytes.
struct flow {
    int family = 4;
    std::span<const uint8_t> source, destination;
    uint8_t protocol = 17;  ///< TCP (6) or UDP (17)
    uint16_t source_port = 9, destination_port = 9;
};

class capture_writer {
  public:
    /// port  the device that plays it: frames are addressed to 02:53:4e:00:00:PORT
    /// imix  sizes of the simple IMIX 7:4:1 by turns; else the least: 64, of IPv6 and TCP what the
    ///       headers need
    /// Throws std::runtime_error where the file cannot be written.
    capture_writer(const std::string& file, unsigned port, bool imix);
    void add(const flow& f);
    /// Throws std::runtime_error where not everything could be written.
    void close();

  private:
    std::string name_;
    std::ofstream file_;
    unsigned port_;
    bool imix_;
    uint32_t count_ = 0;
};

}  // namespace turnpike::bench
