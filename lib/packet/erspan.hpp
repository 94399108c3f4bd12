// SPDX-License-Identifier: BSD-3-Clause
// Wire formats of mirrored frames in GRE: ERSPAN types II and III (draft-foschiano-erspan-03 sections 4.2 and 4.3).
//
//   GRE, RFC 2784 and RFC 2890   | 0x1000: sequence number present | protocol | sequence number |
//   type II                      | 1 : 4, VLAN ID : 12 | COS : 3, En : 2, T : 1, session : 10 | reserved : 12, index : 20 |
//   type III                     | 2 : 4, VLAN ID : 12 | COS : 3, BSO : 2, T : 1, session : 10 | timestamp : 32 |
//                                | SGT : 16 | P : 1, FT : 5, HwID : 6, D : 1, Gra : 2, O : 1 |
#pragma once

#include "packet/headers.hpp"

namespace turnpike::packet {

inline constexpr uint8_t protocol_gre = 47;

struct gre_header {
    be16 flags;
    be16 protocol;
    be32 sequence;
};
static_assert(sizeof(gre_header) == 8);
inline constexpr uint16_t gre_sequence_present = 0x1000;
inline constexpr uint16_t gre_erspan_2 = 0x88be, gre_erspan_3 = 0x22eb;

struct erspan2_header {
    be16 version_vlan;
    be16 session;  ///< with COS, En and T
    be32 index;
};
static_assert(sizeof(erspan2_header) == 8);

struct erspan3_header {
    be16 version_vlan;
    be16 session;  ///< with COS, BSO and T
    be32 timestamp;
    be16 security_group;
    be16 flags;
};
static_assert(sizeof(erspan3_header) == 12);

inline constexpr uint16_t erspan_tag_in_frame =
    3u << 11;  ///< En of type II: the VLAN tag is in the frame
inline constexpr uint16_t erspan_truncated = 1u << 10;
inline constexpr uint16_t erspan_egress = 1u << 3;        ///< D of type III
inline constexpr uint16_t erspan_units_100_ns = 1u << 1;  ///< Gra of type III
inline constexpr uint16_t max_erspan_session = 1023;

/// About a mirrored frame.
struct erspan_facts {
    bool tagged = false;
    uint16_t tci = 0;  ///< of its outer VLAN tag
    bool truncated = false;
    bool sent = false;       ///< leaves by the mirrored port; else it arrived there
    uint16_t port = 0;       ///< number of the mirrored port
    uint32_t timestamp = 0;  ///< type III: in units of 100 ns
};

/// GRE and ERSPAN headers.
/// type     2 or 3
/// Answers  the bytes written: at most max_erspan_bytes
inline constexpr uint32_t max_erspan_bytes = sizeof(gre_header) + sizeof(erspan3_header);
inline constexpr uint32_t erspan_bytes(uint8_t type) noexcept {
    return static_cast<uint32_t>(sizeof(gre_header)) +
           static_cast<uint32_t>(type == 2 ? sizeof(erspan2_header) : sizeof(erspan3_header));
}
inline void write_erspan(uint8_t* to, uint8_t type, uint16_t session, uint32_t sequence,
                         const erspan_facts& of) noexcept {
    auto& gre = header_at<gre_header>(to);
    gre.flags = gre_sequence_present;
    gre.protocol = type == 2 ? gre_erspan_2 : gre_erspan_3;
    gre.sequence = sequence;
    const unsigned vlan = of.tagged ? of.tci & vlan_id_mask : 0;
    unsigned bits = session & max_erspan_session;
    if (of.tagged) bits |= of.tci & 0xe000u;  // COS is the priority of the tag, in the same place
    if (of.truncated) bits |= erspan_truncated;
    if (type == 2) {
        if (of.tagged) bits |= erspan_tag_in_frame;
        auto& h = header_at<erspan2_header>(to + sizeof gre);
        h.version_vlan = static_cast<uint16_t>(1u << 12 | vlan);
        h.session = static_cast<uint16_t>(bits);
        h.index = uint32_t{of.port} << 1 | (of.sent ? 1 : 0);
        return;
    }
    auto& h = header_at<erspan3_header>(to + sizeof gre);
    h.version_vlan = static_cast<uint16_t>(2u << 12 | vlan);
    h.session = static_cast<uint16_t>(bits);
    h.timestamp = of.timestamp;
    h.security_group = uint16_t{0};
    h.flags = static_cast<uint16_t>(erspan_units_100_ns | (of.sent ? erspan_egress : 0));
}

}  // namespace turnpike::packet
