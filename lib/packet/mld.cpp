// SPDX-License-Identifier: BSD-3-Clause
#include "packet/mld.hpp"

#include "packet/icmp.hpp"
#include "packet/ipv6.hpp"
#include "packet/rewrite.hpp"
#include "packet/router_alert.hpp"

namespace turnpike::packet {
namespace {

constexpr uint8_t query_type = 130, mld1_report = 131, mld1_done = 132, mld2_report = 143;
constexpr ipv6_address all_ipv6_routers{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
constexpr ipv6_address all_mld2_routers{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16}};

/// RFC 8200 section 4.3 and RFC 2711: next header, length 0, router alert (5, 2 bytes: 0, MLD), PadN.
constexpr uint8_t router_alert[8] = {protocol_icmpv6, 0, 5, 2, 0, 0, 1, 0};
constexpr size_t mld1_bytes = 24, mld2_query_bytes = 28, report_head_bytes = 8, record_bytes = 20;

/// Write the headers before the message; returns the message, zeroed except for its type.
std::span<uint8_t> write_head(std::span<uint8_t> frame, const nd_host& sender,
                              const ipv6_address& to, uint8_t type) noexcept {
    write_ethernet(header_at<ethernet_header>(frame.data()), multicast_mac(to), sender.mac,
                   ether_type_ipv6);
    auto& header = header_at<ipv6_header>(&frame[sizeof(ethernet_header)]);
    const auto after = frame.subspan(sizeof(ethernet_header) + sizeof header);
    header.version_class_flow = 6U << 28;
    header.payload_bytes = static_cast<uint16_t>(after.size());
    header.next_header = 0;  // hop-by-hop
    header.hop_limit = 1;
    header.source = sender.address;
    header.destination = to;
    std::memcpy(after.data(), router_alert, sizeof router_alert);
    const auto message = after.subspan(sizeof router_alert);
    std::memset(message.data(), 0, message.size());
    message[0] = type;
    return message;
}

void write_sum(std::span<uint8_t> frame, std::span<uint8_t> message) noexcept {
    const auto& header = header_at<ipv6_header>(&frame[sizeof(ethernet_header)]);
    const uint16_t sum = icmp6_sum(header.source, header.destination, message);
    store_be(&message[offsetof(icmp_header, checksum)], static_cast<uint16_t>(~sum));
}

uint32_t write_mld1(std::span<uint8_t> frame, const nd_host& sender, const ipv6_address& to,
                    const ipv6_address& group, uint8_t type) noexcept {
    if (frame.size() < mld1_report_bytes) return 0;
    frame = frame.first(mld1_report_bytes);
    const auto message = write_head(frame, sender, to, type);
    std::memcpy(&message[8], group.bytes, sizeof group.bytes);
    write_sum(frame, message);
    return mld1_report_bytes;
}

}  // namespace

uint32_t write_mld_report(std::span<uint8_t> frame, const nd_host& sender,
                          std::span<const ipv6_address> groups, group_record kind) noexcept {
    if (groups.empty() || groups.size() > mld_groups_max ||
        frame.size() < mld_report_bytes(groups.size()))
        return 0;
    frame = frame.first(mld_report_bytes(groups.size()));
    const auto message = write_head(frame, sender, all_mld2_routers, mld2_report);
    store_be(&message[6], static_cast<uint16_t>(groups.size()));
    for (size_t i = 0; i < groups.size(); ++i) {
        uint8_t* record = &message[report_head_bytes + i * record_bytes];
        record[0] = static_cast<uint8_t>(kind);
        std::memcpy(record + 4, groups[i].bytes, sizeof groups[i].bytes);
    }
    write_sum(frame, message);
    return static_cast<uint32_t>(frame.size());
}

uint32_t write_mld1_report(std::span<uint8_t> frame, const nd_host& sender,
                           const ipv6_address& group) noexcept {
    return write_mld1(frame, sender, group, group, mld1_report);
}

uint32_t write_mld1_done(std::span<uint8_t> frame, const nd_host& sender,
                         const ipv6_address& group) noexcept {
    return write_mld1(frame, sender, all_ipv6_routers, group, mld1_done);
}

std::optional<mld_query> read_mld_query(std::span<const uint8_t> lead, const parsed& p) noexcept {
    if (p.is_ipv4() || !p.is(flag_icmp) || p.icmp_type != query_type) return std::nullopt;
    const auto& header = header_at<ipv6_header>(&lead[p.l2_bytes]);
    // RFC 3810 section 6.2.
    if (header.hop_limit != 1 || !is_link_local(header.source) ||
        !has_router_alert(&lead[p.l2_bytes], static_cast<uint32_t>(lead.size()) - p.l2_bytes, p))
        return std::nullopt;
    // RFC 3810 section 8.1: the message's length determines its version.
    const uint32_t bytes = p.l2_bytes + p.l3_bytes - p.upper_offset;
    if (bytes != mld1_bytes && bytes < mld2_query_bytes) return std::nullopt;
    if (lead.size() < p.upper_offset + mld1_bytes) return std::nullopt;
    const uint32_t code = header_at<icmp_header>(&lead[p.upper_offset]).rest >> 16;
    const auto& group = header_at<ipv6_address>(&lead[p.upper_offset + sizeof(icmp_header)]);
    if (bytes == mld1_bytes) return mld_query{1, code, group};
    const uint32_t ms = code < 0x8000 ? code : (0x1000 | (code & 0xfff)) << ((code >> 12 & 7) + 3);
    return mld_query{2, ms, group};
}

}  // namespace turnpike::packet
