// SPDX-License-Identifier: BSD-3-Clause
#include "packet/mld.hpp"

#include "packet/icmp.hpp"
#include "packet/ipv6.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::packet {
namespace {

constexpr uint8_t mld_query = 130, mld2_report = 143;
constexpr ipv6_address all_mld2_routers{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16}};

/// RFC 8200 section 4.3 and RFC 2711: next header, length 0, router alert (5, 2 bytes: 0, MLD), PadN.
constexpr uint8_t router_alert[8] = {protocol_icmpv6, 0, 5, 2, 0, 0, 1, 0};
constexpr size_t report_head_bytes = 8, record_bytes = 20;

}  // namespace

uint32_t write_mld_report(std::span<uint8_t> frame, const nd_host& sender,
                          std::span<const ipv6_address> groups, mld_record kind) noexcept {
    if (groups.empty() || groups.size() > mld_groups_max ||
        frame.size() < mld_report_bytes(groups.size()))
        return 0;
    frame = frame.first(mld_report_bytes(groups.size()));
    write_ethernet(view<ethernet_header>(frame.data()), multicast_mac(all_mld2_routers), sender.mac,
                   ether_type_ipv6);
    auto& header = view<ipv6_header>(&frame[sizeof(ethernet_header)]);
    const auto after = frame.subspan(sizeof(ethernet_header) + sizeof header);
    header.version_class_flow = 6U << 28;
    header.payload_bytes = static_cast<uint16_t>(after.size());
    header.next_header = 0;  // hop-by-hop
    header.hop_limit = 1;
    header.source = sender.address;
    header.destination = all_mld2_routers;
    std::memcpy(after.data(), router_alert, sizeof router_alert);
    const auto message = after.subspan(sizeof router_alert);
    std::memset(message.data(), 0, message.size());
    message[0] = mld2_report;
    store_be(&message[6], static_cast<uint16_t>(groups.size()));
    for (size_t i = 0; i < groups.size(); ++i) {
        uint8_t* record = &message[report_head_bytes + i * record_bytes];
        record[0] = static_cast<uint8_t>(kind);
        std::memcpy(record + 4, groups[i].bytes, sizeof groups[i].bytes);
    }
    const uint16_t sum = icmp6_sum(header.source, header.destination, message);
    store_be(&message[offsetof(icmp_header, checksum)], static_cast<uint16_t>(~sum));
    return static_cast<uint32_t>(frame.size());
}

bool is_mld_query(std::span<const uint8_t> lead, const parsed& p) noexcept {
    if (p.is_ipv4() || !p.is(flag_icmp) || p.icmp_type != mld_query) return false;
    const auto& header = view<ipv6_header>(&lead[p.l2_bytes]);
    return header.hop_limit == 1 && is_link_local(header.source);
}

}  // namespace turnpike::packet
