// SPDX-License-Identifier: BSD-3-Clause
#include "packet/igmp.hpp"

#include <cstring>

#include "packet/checksum.hpp"
#include "packet/ipv4.hpp"
#include "packet/rewrite.hpp"
#include "packet/router_alert.hpp"

namespace turnpike::packet {
namespace {

constexpr uint8_t igmp_query_type = 0x11, igmp3_report = 0x22;
constexpr uint32_t ipv4_all_routers = 0xe000'0002, all_igmp3_routers = 0xe000'0016;
constexpr size_t igmp_head_bytes = 8, igmp_record_bytes = 8, igmp3_query_bytes = 12;
constexpr uint8_t network_control = 0xc0;  // RFC 3376 section 4: TOS

/// RFC 2113: the option's type, its length 4, and 0.
constexpr uint8_t ipv4_router_alert[4] = {ipv4_option_router_alert, 4, 0, 0};

/// Write the headers before the message; returns the message, zeroed except for its type.
std::span<uint8_t> write_igmp_head(std::span<uint8_t> frame, const igmp_host& sender, uint32_t to,
                                   uint8_t type) noexcept {
    write_ethernet(header_at<ethernet_header>(frame.data()), multicast_mac(to), sender.mac,
                   ether_type_ipv4);
    const auto l3 = frame.subspan(sizeof(ethernet_header));
    constexpr size_t header_bytes = sizeof(ipv4_header) + sizeof ipv4_router_alert;
    std::memset(l3.data(), 0, l3.size());
    auto& ip = header_at<ipv4_header>(l3.data());
    ip.version_ihl = 4 << 4 | header_bytes / 4;
    ip.tos = network_control;
    ip.total_bytes = static_cast<uint16_t>(l3.size());
    ip.fragment = ipv4_dont_fragment;
    ip.ttl = 1;
    ip.protocol = protocol_igmp;
    ip.source = sender.address;
    ip.destination = to;
    std::memcpy(&l3[sizeof ip], ipv4_router_alert, sizeof ipv4_router_alert);
    ip.checksum = checksum(l3.first(header_bytes));
    const auto message = l3.subspan(header_bytes);
    message[0] = type;
    return message;
}

void write_igmp_sum(std::span<uint8_t> message) noexcept {
    store_be(&message[2], checksum(message));
}

/// RFC 3376 section 4.1.1: milliseconds, from units of 0.1 s.
constexpr uint32_t response_ms(uint8_t code) noexcept {
    const uint32_t tenths = code < 0x80 ? code : (0x10U | (code & 0xf)) << ((code >> 4 & 7) + 3);
    return tenths * 100;
}

}  // namespace

uint32_t write_igmp_report(std::span<uint8_t> frame, const igmp_host& sender,
                           std::span<const uint32_t> groups, group_record kind) noexcept {
    if (groups.empty() || groups.size() > igmp_groups_max ||
        frame.size() < igmp_report_bytes(groups.size()))
        return 0;
    frame = frame.first(igmp_report_bytes(groups.size()));
    const auto message = write_igmp_head(frame, sender, all_igmp3_routers, igmp3_report);
    store_be(&message[6], static_cast<uint16_t>(groups.size()));
    for (size_t i = 0; i < groups.size(); ++i) {
        uint8_t* const record = &message[igmp_head_bytes + i * igmp_record_bytes];
        record[0] = static_cast<uint8_t>(kind);
        store_be(record + 4, groups[i]);
    }
    write_igmp_sum(message);
    return static_cast<uint32_t>(frame.size());
}

uint32_t write_igmp_older(std::span<uint8_t> frame, const igmp_host& sender, uint32_t group,
                          igmp_older kind) noexcept {
    if (frame.size() < igmp_older_bytes) return 0;
    frame = frame.first(igmp_older_bytes);
    const uint32_t to = kind == igmp_older::leave_2 ? ipv4_all_routers : group;
    const auto message = write_igmp_head(frame, sender, to, static_cast<uint8_t>(kind));
    store_be(&message[4], group);
    write_igmp_sum(message);
    return igmp_older_bytes;
}

std::optional<igmp_query> read_igmp_query(std::span<const uint8_t> lead, const parsed& p) noexcept {
    if (!p.is_ipv4() || p.upper_protocol != protocol_igmp || p.is(flag_fragment))
        return std::nullopt;
    const uint32_t bytes = p.l2_bytes + p.l3_bytes - p.upper_offset;
    if (bytes < igmp_head_bytes || lead.size() < p.upper_offset + bytes) return std::nullopt;
    const auto message = lead.subspan(p.upper_offset, bytes);
    if (message[0] != igmp_query_type || checksum(message) != 0) return std::nullopt;
    igmp_query q{3, response_ms(message[1]), load_be<uint32_t>(&message[4])};
    if (bytes == igmp_head_bytes)
        q = message[1] == 0 ? igmp_query{1, response_ms(100), 0}
                            : igmp_query{2, message[1] * 100U, q.group};
    else if (bytes < igmp3_query_bytes)
        return std::nullopt;
    if (header_at<ipv4_header>(&lead[p.l2_bytes]).ttl != 1) return std::nullopt;
    if (q.version > 1 &&
        !has_router_alert(&lead[p.l2_bytes], static_cast<uint32_t>(lead.size() - p.l2_bytes), p))
        return std::nullopt;
    if (q.group != 0 && !is_ipv4_multicast(q.group)) return std::nullopt;
    return q;
}

}  // namespace turnpike::packet
