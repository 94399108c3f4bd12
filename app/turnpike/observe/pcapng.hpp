// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a pcapng file. Source: draft-ietf-opsawg-pcapng-02 (PCAP Next Generation Capture File Format); block
// and option numbers are from its sections 3.5 and 4.
//
//   block   type, total length, body and options padded to 32 bits, total length again
//   file    section header, interface descriptions, packets (interface descriptions may follow later), statistics
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace turnpike::observe::pcapng {

/// Byte order of this machine throughout: the section header has a magic number for the reader.
struct section {
    std::string_view hardware{}, os{}, application{};
};
struct interface_description {
    std::string_view name{}, description{}, filter{};
    uint32_t snaplen = 0;  ///< 0: no limit
    uint64_t bits_per_second = 0;
};
enum class direction : uint8_t { unknown = 0, inbound = 1, outbound = 2 };
struct enhanced_packet {
    uint32_t interface = 0;
    uint64_t time_ns = 0;  ///< since 1970
    std::span<const uint8_t> bytes{};
    uint32_t frame_bytes = 0;  ///< as on the wire, without FCS
    direction side = direction::unknown;
    std::string_view comment{};
};
struct statistics {
    uint32_t interface = 0;
    uint64_t begin_ns = 0, end_ns = 0;
    uint64_t received = 0;   ///< packets that the filter saw
    uint64_t accepted = 0;   ///< packets that passed the filter
    uint64_t lost = 0;       ///< accepted packets that were not written
    uint64_t delivered = 0;  ///< packets written
};

/// Appends a block. A text longer than an option, 65535 bytes, is cut.
void append(std::string& to, const section& s);
void append(std::string& to, const interface_description& i);
void append(std::string& to, const enhanced_packet& p);
void append(std::string& to, const statistics& s);

/// The whole blocks at the beginning of a text that append() made, of which a part was written.
struct whole_blocks {
    size_t bytes = 0, packets = 0;
};
[[nodiscard]] whole_blocks whole_blocks_of(std::string_view text) noexcept;

}  // namespace turnpike::observe::pcapng
