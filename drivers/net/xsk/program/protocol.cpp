// SPDX-License-Identifier: BSD-3-Clause
#include "protocol.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace turnpike::xsk {
namespace {

struct row {
    std::string_view name;
    uint16_t number;
    enum : uint8_t { ip, ipv4, ipv6, ether } of;
};

constexpr row table[] = {
    {"ah", 51, row::ip},           {"arp", 0x0806, row::ether},  {"dccp", 33, row::ip},
    {"eapol", 0x888e, row::ether}, {"eigrp", 88, row::ip},       {"esp", 50, row::ip},
    {"gre", 47, row::ip},          {"icmp", 1, row::ipv4},       {"icmpv6", 58, row::ipv6},
    {"igmp", 2, row::ipv4},        {"ipip", 4, row::ip},         {"l2tp", 115, row::ip},
    {"lacp", 0x8809, row::ether},  {"lldp", 0x88cc, row::ether}, {"ospf", 89, row::ip},
    {"pim", 103, row::ip},         {"ptp", 0x88f7, row::ether},  {"rsvp", 46, row::ip},
    {"sctp", 132, row::ip},        {"tcp", 6, row::ip},          {"udp", 17, row::ip},
    {"udplite", 136, row::ip},     {"vrrp", 112, row::ip}};

constexpr uint8_t with_ports[] = {6, 17, 132, 136};

}  // namespace

std::optional<protocol> find_protocol(std::string_view text) {
    for (const row& r : table) {
        if (r.name != text) continue;
        protocol p{.name = std::string(text)};
        if (r.of == row::ether) {
            p.ether_type = r.number;
            p.ipv4 = p.ipv6 = false;
            return p;
        }
        p.number = static_cast<uint8_t>(r.number);
        p.ipv4 = r.of != row::ipv6;
        p.ipv6 = r.of != row::ipv4;
        return p;
    }
    uint8_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return protocol{.name = std::string(text), .number = number};
}

std::string all_protocol_names() {
    std::string names;
    for (const row& r : table) names += (names.empty() ? "" : ", ") + std::string(r.name);
    return names;
}

bool has_ports(uint8_t number) noexcept {
    return std::find(std::begin(with_ports), std::end(with_ports), number) != std::end(with_ports);
}

bool is_extension_header(uint8_t number) noexcept {
    return number == 0 || number == 43 || number == 44 || number == 60;
}

}  // namespace turnpike::xsk
