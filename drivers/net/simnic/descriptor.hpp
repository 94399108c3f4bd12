// SPDX-License-Identifier: BSD-3-Clause
// Descriptors, modelled on Intel's NICs (two 64-bit words; the device writes back over the request)
// with a different layout.
//
//                word 0                                   word 1
//   RX, posted   IOVA of a buffer                         0
//   RX, answered hash (32) | VLAN tag (16) | ptype (16)   status (32) | frame bytes (16) | 0 (16)
//   TX, posted   IOVA of a segment                        command (32) | VLAN tag (16) | bytes (16)
//   TX, answered as posted                                low 4 bits: tx_type_done
//
// A profile with 32-byte RX descriptors has two more words: the time of arrival in TSC cycles, if
// the host enabled timestamps, and zero. A frame longer than a buffer spans several descriptors;
// the last has rx_end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace turnpike::simnic {

struct descriptor {
    uint64_t word[2];
};
static_assert(sizeof(descriptor) == 16 && alignof(descriptor) == 8);

// RX status. The four checksum bits are adjacent: a kernel maps them to mbuf flags by table.
inline constexpr uint32_t rx_done = 1u << 0;
inline constexpr uint32_t rx_end = 1u << 1;    ///< the frame ends in this buffer
inline constexpr uint32_t rx_error = 1u << 2;  ///< the device could not access the buffer; no frame
inline constexpr uint32_t rx_checksum_shift = 4;
inline constexpr uint32_t rx_ip_good = 1u << 4;
inline constexpr uint32_t rx_ip_bad = 1u << 5;
inline constexpr uint32_t rx_l4_good = 1u << 6;
inline constexpr uint32_t rx_l4_bad = 1u << 7;
inline constexpr uint32_t rx_extra_shift = 8;
inline constexpr uint32_t rx_hashed = 1u << 8;    ///< word 0 has the frame's RSS hash
inline constexpr uint32_t rx_stripped = 1u << 9;  ///< word 0 has the stripped VLAN tag

/// Packet type of a received frame: L2 | L3 | L4, a nibble each, numbered as RTE_PTYPE (host/rx.cpp
/// asserts that).
enum rx_ptype : uint16_t {
    ptype_l2_ether = 0x001,
    ptype_l2_arp = 0x003,
    ptype_l2_vlan = 0x006,
    ptype_l2_qinq = 0x007,
    ptype_l3_ipv4 = 0x010,
    ptype_l3_ipv4_options = 0x030,
    ptype_l3_ipv6 = 0x040,
    ptype_l3_ipv6_extensions = 0x0c0,
    ptype_l4_tcp = 0x100,
    ptype_l4_udp = 0x200,
    ptype_l4_fragment = 0x300,
    ptype_l4_sctp = 0x400,
    ptype_l4_icmp = 0x500,
};

constexpr uint64_t rx_answer_0(uint32_t ptype, uint32_t tag = 0, uint32_t hash = 0) noexcept {
    return uint64_t{ptype} << 48 | uint64_t{tag} << 32 | hash;
}
constexpr uint64_t rx_answer_1(uint32_t status, uint32_t bytes) noexcept {
    return status | uint64_t{bytes} << 32;
}

/// Frame bytes of a write-back; 0 if the device could not access the buffer.
constexpr uint32_t rx_bytes(const descriptor& answer) noexcept {
    return static_cast<uint32_t>(answer.word[1] >> 32);
}

// TX command.
inline constexpr uint64_t tx_type_mask = 0xf;
inline constexpr uint64_t tx_type_data = 0x0;
inline constexpr uint64_t tx_type_done = 0xf;
inline constexpr uint64_t tx_end = 1u << 4;            ///< the frame ends with this segment
inline constexpr uint64_t tx_report = 1u << 5;         ///< RS: write back this descriptor
inline constexpr uint64_t tx_ipv4_checksum = 1u << 6;  ///< insert the IPv4 header checksum
inline constexpr uint64_t tx_l4_shift = 7;             ///< two bits: which checksum to insert
inline constexpr uint64_t tx_l4_mask = 3u << 7;
inline constexpr uint64_t tx_l4_tcp = 1u << 7;
inline constexpr uint64_t tx_l4_udp = 2u << 7;
inline constexpr uint64_t tx_insert_tag = 1u << 9;  ///< insert a VLAN tag after the addresses
inline constexpr unsigned tx_l2_shift = 16;         ///< 7 bits: bytes of the Ethernet header
inline constexpr unsigned tx_l3_shift = 23;         ///< 9 bits: bytes of the IP header
inline constexpr unsigned tx_tag_shift = 32;
inline constexpr unsigned tx_bytes_shift = 48;

constexpr uint32_t tx_l2_bytes(uint64_t command) noexcept { return command >> tx_l2_shift & 0x7f; }
constexpr uint32_t tx_l3_bytes(uint64_t command) noexcept { return command >> tx_l3_shift & 0x1ff; }
constexpr uint32_t tx_bytes(uint64_t command) noexcept {
    return static_cast<uint32_t>(command >> tx_bytes_shift);
}

/// Maximum frame length of the device, without FCS.
inline constexpr uint32_t max_frame_bytes = 9728;
/// Maximum number of a sent frame's buffers.
inline constexpr uint16_t max_segments = 32;
inline constexpr uint32_t fcs_bytes = 4;  ///< the frame check sequence, which is not in the buffers
/// Minimum Ethernet frame length, without FCS; the device pads shorter frames.
inline constexpr uint32_t min_frame_bytes = 60;

}  // namespace turnpike::simnic
