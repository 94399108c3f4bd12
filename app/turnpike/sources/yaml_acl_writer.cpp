// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_acl_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/printable.hpp"
#include "net/ip.hpp"
#include "packet/headers.hpp"
#include "sources/yaml_acl_rule.hpp"
#include "state/l2_match.hpp"

namespace turnpike::sources {
namespace {

using namespace state;

ip_prefix prefix_of(const acl::address_match& m, bool v6) {
    unsigned length = 0;
    for (const uint8_t byte : m.mask) length += static_cast<unsigned>(std::popcount(byte));
    ip_prefix out{.length = static_cast<uint8_t>(length)};
    out.address.v6 = v6;
    out.address.bytes = m.value;
    return out;
}

std::string text_of(const acl::port_range& r) {
    return r.first == r.last ? fmt::format("{}", r.first) : fmt::format("{}-{}", r.first, r.last);
}

bool asks(const acl::rule& r, uint16_t bit) { return (r.tcp_flags.mask & bit) != 0; }

/// Rules with ports and any protocol, protocol masks, and ICMP of the other IP version need the ClassBench format.
bool needs_classbench(const acl_rule& rule) {
    const acl::masked<uint8_t>& protocol = rule.match.protocol;
    const bool is_exact = protocol.mask == 0xff;
    if (protocol.mask != 0 && !is_exact) return true;
    if (is_exact && ((protocol.value == packet::protocol_icmp && rule.ipv6) ||
                     (protocol.value == packet::protocol_icmpv6 && rule.ipv4)))
        return true;
    return asks(rule.match, acl_key::has_ports) && !(is_exact && has_ports(protocol.value));
}

std::string flags_text(const acl::masked<uint16_t>& flags) {
    if ((flags.mask & 0xff) == 0) return " ";  // any flags: only requires a TCP header
    std::string out;
    for (size_t i = 0; i < tcp_flag_names.size(); ++i) {
        if ((flags.mask >> i & 1) == 0) continue;
        if (!out.empty()) out += ' ';
        out += (flags.value >> i & 1) != 0 ? '+' : '-';
        out += tcp_flag_names[i];
    }
    return out;
}

using condition_list = std::vector<std::pair<std::string_view, std::string>>;

void add_vlan(condition_list& to, const acl::masked<uint16_t>& vlan) {
    if (vlan.mask == 0) return;
    to.emplace_back("vlan", vlan.mask == acl_key::tagged
                                ? std::string("untagged")
                                : fmt::format("{}", vlan.value & ~acl_key::tagged));
}

/// Conditions on the upper-layer header and other fields.
void add_details(condition_list& to, const acl::rule& r) {
    const bool ports = asks(r, acl_key::has_ports), any = r.destination_port == acl::port_range{};
    if (r.source_port != acl::port_range{} || (ports && any))
        to.emplace_back("source_ports", text_of(r.source_port));
    if (!any) to.emplace_back("destination_ports", text_of(r.destination_port));
    if (asks(r, acl_key::has_tcp_flags))
        to.emplace_back("tcp_flags", quoted(flags_text(r.tcp_flags)));
    if (r.icmp_type) to.emplace_back("icmp_type", fmt::format("{}", *r.icmp_type));
    if (r.icmp_code) to.emplace_back("icmp_code", fmt::format("{}", *r.icmp_code));
    if (r.dscp.mask != 0) to.emplace_back("dscp", fmt::format("{}", r.dscp.value >> 2));
    add_vlan(to, r.vlan);
    if (asks(r, acl_key::later_fragment))
        to.emplace_back("fragments",
                        fmt::format("{}", (r.tcp_flags.value & acl_key::later_fragment) != 0));
}

condition_list frame_conditions(const acl_rule& r) {
    const l2_match m = l2_of(r.match);
    condition_list out;
    for (const auto& [key, of] :
         {std::pair{"source_mac", &m.source}, {"destination_mac", &m.destination}}) {
        if (*of == mac_match{}) continue;
        const std::string mask = of->mask == broadcast_mac ? "" : '/' + of->mask.text();
        out.emplace_back(key, quoted(of->value.text() + mask));
    }
    if (m.type != acl::port_range{}) {
        const auto named = std::find_if(named_ethertypes.begin(), named_ethertypes.end(),
                                        [&](const auto& n) { return n.type == m.type; });
        out.emplace_back("ethertype", named == named_ethertypes.end()
                                          ? fmt::format("{:#06x}", m.type.first)
                                          : std::string(named->name));
    }
    add_vlan(out, m.vlan);
    return out;
}

condition_list packet_conditions(const acl_rule& r) {
    condition_list out;
    if (r.ipv4 != r.ipv6) out.emplace_back("family", r.ipv6 ? "ipv6" : "ipv4");
    if (r.match.protocol.mask != 0)
        out.emplace_back("protocol", protocol_text(r.match.protocol.value));
    const acl::address_match any{};
    if (r.match.source != any)
        out.emplace_back("source", quoted(prefix_of(r.match.source, r.ipv6).text()));
    if (r.match.destination != any)
        out.emplace_back("destination", quoted(prefix_of(r.match.destination, r.ipv6).text()));
    add_details(out, r.match);
    return out;
}

/// ClassBench's last field: the inverse of extract_extra_field() of yaml_acl_rule.cpp.
std::string extra_text(const acl::rule& r) {
    if (asks(r, acl_key::has_tcp_flags))
        return fmt::format("0x{:04x}/0x{:04x}", (r.tcp_flags.value & 0xff) << 8,
                           (r.tcp_flags.mask & 0xff) << 8);
    if (r.icmp_type)
        return fmt::format("0x{:04x}/0x{:04x}", *r.icmp_type << 8 | r.icmp_code.value_or(0),
                           r.icmp_code ? 0xffff : 0xff00);
    return "0x0000/0x0000";
}

std::string classbench_text(const acl_rule& r) {
    return fmt::format("@{}\t{}\t{} : {}\t{} : {}\t0x{:02x}/0x{:02x}\t{}",
                       prefix_of(r.match.source, r.ipv6).text(),
                       prefix_of(r.match.destination, r.ipv6).text(), r.match.source_port.first,
                       r.match.source_port.last, r.match.destination_port.first,
                       r.match.destination_port.last, r.match.protocol.value, r.match.protocol.mask,
                       extra_text(r.match));
}

}  // namespace

std::string protocol_text(uint8_t number) {
    const auto named = std::ranges::find(named_protocols, number, &named_protocol::number);
    return named == named_protocols.end() ? fmt::format("{}", number) : std::string(named->name);
}

namespace {

/// Characters that libyaml's reader refuses, or takes for the end of a line (YAML 1.1, sections 5.1 and 5.4).
bool is_escaped(std::string_view character) noexcept {
    return character == "\u2028" || character == "\u2029" || character == "\ufeff" ||
           character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
}

/// The code point of a character of two or three bytes.
unsigned code_point_of(std::string_view c) noexcept {
    unsigned out = static_cast<unsigned char>(c[0]) & (c.size() == 2 ? 0x1f : 0x0f);
    for (const char next : c.substr(1)) out = out << 6 | (static_cast<unsigned char>(next) & 0x3f);
    return out;
}

}  // namespace

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (std::string_view left = text; !left.empty();) {
        size_t bytes = detail::printable_front(left);
        const std::string_view c = left.substr(0, std::max<size_t>(bytes, 1));
        if (c == "\"" || c == "\\") {
            (out += '\\') += c;
        } else if (bytes == 0 && static_cast<unsigned char>(c[0]) < 0x80) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c[0]));
        } else if (bytes == 0 && left.starts_with('\xc2') && left.size() > 1 &&
                   (left[1] & 0xe0) == 0x80) {  // C1 control codes
            bytes = 2;
            out += fmt::format("\\u{:04x}", code_point_of(left.substr(0, bytes)));
        } else if (bytes == 0) {
            out += "\\ufffd";  // no UTF-8
        } else if (is_escaped(c)) {
            out += fmt::format("\\u{:04x}", code_point_of(c));
        } else {
            out += c;
        }
        left.remove_prefix(std::max<size_t>(bytes, 1));
    }
    return out + '"';
}

std::vector<std::pair<std::string_view, std::string>> conditions(const acl_rule& r, bool l2) {
    return l2 ? frame_conditions(r) : packet_conditions(r);
}

std::string rule_text(const acl_rule& r, bool l2) {
    std::string out = fmt::format("{{action: {}", acl_action_names[static_cast<size_t>(r.action)]);
    if (!r.name.empty()) out += ", name: " + quoted(r.name);
    for (const auto& [key, value] : conditions(r, l2)) out += fmt::format(", {}: {}", key, value);
    return out + "}";
}

void add_list(std::string& out, const acl_list& list, written_fields which) {
    out += fmt::format("  - name: {}\n{}    default: {}\n", quoted(list.name),
                       list.l2 ? "    layer: 2\n" : "", list.default_permits ? "permit" : "deny");
    if (list.memory_mb != acl_list{}.memory_mb || which == written_fields::compared)
        out += fmt::format("    memory_mb: {}\n", list.memory_mb);
    bool any = false;
    const acl_rule* block = nullptr;  // the previous rule of a block in ClassBench format
    for (const acl_rule& r : list.rules) {
        if (r.where.text.empty()) continue;
        if (!any) out += "    rules:\n";
        any = true;
        if (list.l2 || !needs_classbench(r)) {
            out += "      - " + rule_text(r, list.l2) + "\n";
            block = nullptr;
            continue;
        }
        if (block == nullptr || block->action != r.action || block->ipv6 != r.ipv6)
            out += fmt::format("      - action: {}\n        lines: |\n",
                               acl_action_names[static_cast<size_t>(r.action)]);
        out += "          " + classbench_text(r) + "\n";
        block = &r;
    }
    if (!any) out += "    rules: []\n";
}

}  // namespace turnpike::sources
