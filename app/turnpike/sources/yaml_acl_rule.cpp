// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_acl_rule.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <span>

#include "acl/rule_file.hpp"
#include "packet/headers.hpp"
#include "sources/yaml_routing.hpp"
#include "state/l2_match.hpp"
#include "yaml/byte_order_mark.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {
namespace {

using namespace packet;  // protocol numbers
using namespace state;   // rules
using yaml::reader;

template <class T>
void require(acl::masked<T>& field, T bits) {
    field.value = static_cast<T>(field.value | bits);
    field.mask = static_cast<T>(field.mask | bits);
}

/// Removes and returns a number at the start of the text.
std::optional<uint16_t> extract_port(std::string_view& text) {
    uint16_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
}

acl::port_range read_ports(const reader& from) {
    const std::string text = from.text();
    std::string_view left = text;
    auto first = extract_port(left), last = first;
    if (first && !left.empty() && left[0] == '-') {
        left.remove_prefix(1);
        last = extract_port(left);
    }
    if (!first || !last || !left.empty())
        from.refuse("should be a port or a range, as in 80 or 1024-65535, not '{}'",
                    text.substr(0, 80));
    if (*last < *first) from.refuse("is {}, which ends before it begins", text);
    return {*first, *last};
}

uint8_t read_protocol(const reader& from) {
    const std::string text = from.text();
    std::string names;
    for (const auto& [name, number] : named_protocols) {
        if (name == text) return number;
        names += fmt::format(", {}", name);
    }
    if (text[0] >= '0' && text[0] <= '9') return static_cast<uint8_t>(from.number(0, 255));
    from.refuse("should be a number from 0 to 255{}, not '{}'", names, text.substr(0, 80));
}

/// "+syn -ack": flags that must be set or clear.
acl::masked<uint16_t> read_tcp_flags(const reader& from) {
    const std::string text = from.text();
    acl::masked<uint16_t> out;
    for (std::string_view left = text; !left.empty();) {
        const std::string_view word = left.substr(0, left.find(' '));
        left.remove_prefix(std::min(left.size(), word.size() + 1));
        if (word.empty()) continue;
        uint16_t bit = 0;
        for (size_t i = 0; i < std::size(tcp_flag_names); ++i)
            if (word.substr(1) == tcp_flag_names[i]) bit = static_cast<uint16_t>(1 << i);
        if (bit == 0 || (word[0] != '+' && word[0] != '-') || (out.mask & bit) != 0)
            from.refuse(
                "should be flags that are set or clear, each once, as in \"+syn -ack\" (fin, syn, "
                "rst, psh, ack, urg, ece, cwr), not '{}'",
                text.substr(0, 80));
        out.mask |= bit;
        if (word[0] == '+') out.value |= bit;
    }
    return out;
}

/// The IP version implied by the members of a rule.
class version {
  public:
    void is(const reader& said_by, std::string_view key, bool v6) {
        if (v6_ && *v6_ != v6)
            said_by.refuse("is of IPv{}, and {} is of IPv{}", v6 ? 6 : 4, by_, *v6_ ? 6 : 4);
        v6_ = v6;
        by_ = key;
    }
    void settle(acl_rule& r) const {
        r.ipv4 = !v6_ || !*v6_;
        r.ipv6 = !v6_ || *v6_;
    }

  private:
    std::optional<bool> v6_;
    std::string by_;
};

void read_addresses_of(const reader& from, acl_rule& r, version& v) {
    for (const auto& [key, into] :
         {std::pair{"source", &r.match.source}, std::pair{"destination", &r.match.destination}}) {
        if (!from.has(key)) continue;
        const ip_prefix p = read_network(from.at(key));
        v.is(from.at(key), key, p.address.v6);
        *into = acl::prefix(std::span(p.address.bytes).first(p.address.bits() / 8), p.length);
    }
}

/// Conditions on the upper-layer header, which imply that the packet has one.
void read_upper_layer(const reader& from, acl_rule& r, version& v) {
    const uint8_t protocol = r.match.protocol.mask == 0 ? 0 : r.match.protocol.value;
    const bool ports = has_ports(protocol);
    const auto needs = [&](const char* key, bool there, const char* what) {
        if (!from.has(key)) return false;
        if (!there) from.at(key).refuse("needs {}", what);
        return true;
    };
    for (const auto& [key, into] : {std::pair{"source_ports", &r.match.source_port},
                                    std::pair{"destination_ports", &r.match.destination_port}})
        if (needs(key, ports, "protocol: tcp, udp, udp-lite or sctp")) {
            *into = read_ports(from.at(key));
            require(r.match.tcp_flags, acl_key::has_ports);
        }
    if (needs("tcp_flags", protocol == protocol_tcp, "protocol: tcp")) {
        const auto flags = read_tcp_flags(from.at("tcp_flags"));
        r.match.tcp_flags.value |= flags.value;
        r.match.tcp_flags.mask |= flags.mask;
        require(r.match.tcp_flags, acl_key::has_tcp_flags);
    }
    if (needs("icmp_type", protocol == protocol_icmp || protocol == protocol_icmpv6,
              "protocol: icmp or icmpv6")) {
        r.match.icmp_type = static_cast<uint8_t>(from.at("icmp_type").number(0, 255));
        require(r.match.tcp_flags, acl_key::has_icmp_type);
        v.is(from.at("icmp_type"), "icmp_type", protocol == protocol_icmpv6);
    }
    if (needs("icmp_code", r.match.icmp_type.has_value(), "an icmp_type"))
        r.match.icmp_code = static_cast<uint8_t>(from.at("icmp_code").number(0, 255));
}

void read_fragments(const reader& from, acl_rule& r) {
    if (!from.has("fragments")) return;
    const bool only = from.at("fragments").truth();
    if (only && r.match.tcp_flags.mask != 0)
        from.at("fragments")
            .refuse("asks for later fragments, which have no ports, flags or ICMP type to match");
    r.match.tcp_flags.mask |= acl_key::later_fragment;
    if (only) r.match.tcp_flags.value |= acl_key::later_fragment;
}

acl::masked<uint16_t> read_vlan_match(const reader& from) {
    constexpr uint16_t identifier = 0x0fff;
    if (from.text() == "untagged") return {0, acl_key::tagged};
    acl::masked<uint16_t> out{static_cast<uint16_t>(from.number(0, 4094)), identifier};
    require(out, acl_key::tagged);
    return out;
}

/// The last field of ClassBench's rules: TCP's flags in the high byte; ICMP's type in the high byte
/// and its code in the low one. Returns an error text, or an empty one.
std::string extract_extra_field(acl::rule& r) {
    const acl::masked<uint16_t> extra = std::exchange(r.tcp_flags, {});
    if (r.source_port != acl::port_range{} || r.destination_port != acl::port_range{})
        require(r.tcp_flags, acl_key::has_ports);
    if (extra.mask == 0) return {};
    const uint8_t protocol = r.protocol.mask == 0xff ? r.protocol.value : 0;
    if (protocol == protocol_tcp && (extra.mask & 0xff) == 0) {
        r.tcp_flags.value |= static_cast<uint16_t>(extra.value >> 8);
        r.tcp_flags.mask |= static_cast<uint16_t>(extra.mask >> 8);
        require(r.tcp_flags, acl_key::has_tcp_flags);
        return {};
    }
    const bool code = extra.mask == 0xffff;
    if ((protocol == protocol_icmp || protocol == protocol_icmpv6) &&
        (code || extra.mask == 0xff00)) {
        r.icmp_type = static_cast<uint8_t>(extra.value >> 8);
        if (code) r.icmp_code = static_cast<uint8_t>(extra.value);
        require(r.tcp_flags, acl_key::has_icmp_type);
        return {};
    }
    return "the last field should be TCP flags in the high byte (0x0200/0x1200) or an ICMP type "
           "and code (0x0303/0xffff), of a rule for that protocol";
}

acl_action read_action(const reader& from) {
    return static_cast<acl_action>(from.at("action").word({"permit", "deny", "count"}));
}

/// "02:00:00:00:00:01", or with a mask: "02:00:00:00:00:00/ff:ff:ff:00:00:00".
mac_match read_mac_match(const reader& from) {
    const std::string text = from.text();
    const size_t slash = text.find('/');
    mac_match out{.value = from.taken(parse_mac(text.substr(0, slash))), .mask = broadcast_mac};
    if (slash != std::string::npos) out.mask = from.taken(parse_mac(text.substr(slash + 1)));
    for (size_t i = 0; i < sizeof out.mask.bytes; ++i)
        if ((out.value.bytes[i] & ~out.mask.bytes[i]) != 0)
            from.refuse("is {}, which has bits that its mask leaves out", text);
    return out;
}

acl::port_range read_ethertype(const reader& from) {
    const std::string text = from.text();
    std::string names;
    for (const auto& [name, type] : named_ethertypes) {
        if (name == text) return type;
        names += fmt::format(", {}", name);
    }
    constexpr uint16_t first = packet::ether_type_first;
    uint16_t type = 0;
    const char* const end = text.data() + text.size();
    const bool hex = text.starts_with("0x");
    const auto [last, code] =
        std::from_chars(text.data() + (hex ? 2 : 0), end, type, hex ? 16 : 10);
    if (code != std::errc() || last != end || type < first)
        from.refuse("should be a number from 0x0600 to 0xffff{}, not '{}'", names,
                    text.substr(0, 80));
    return {type, type};
}

acl_rule read_l2_rule(const reader& from) {
    if (from.has("file") || from.has("lines"))
        from.refuse("names rules of IP packets, and its list is one of layer 2");
    from.expect_map({"action", "name", "source_mac", "destination_mac", "ethertype", "vlan"});
    acl_rule r{.action = read_action(from), .ipv6 = false};
    r.where.text = from.where();
    if (from.has("name")) r.name = from.at("name").name();
    l2_match match;
    if (from.has("source_mac")) match.source = read_mac_match(from.at("source_mac"));
    if (from.has("destination_mac")) match.destination = read_mac_match(from.at("destination_mac"));
    if (from.has("ethertype")) match.type = read_ethertype(from.at("ethertype"));
    if (from.has("vlan")) match.vlan = read_vlan_match(from.at("vlan"));
    put_l2(match, r.match);
    return r;
}

/// The text of the file, or the block preceded by empty lines so that line numbers match the configuration.
std::string rules_text(const reader& from, const std::string& config_file,
                       const std::string& name) {
    if (from.has("lines"))
        return std::string(from.at("lines").line(), '\n') + from.at("lines").text();
    auto text = yaml::read_file(std::filesystem::path(config_file).parent_path() / name);
    if (!text) from.at("file").refuse("cannot be taken: " + text.error().message());
    const auto marked = yaml::without_byte_order_mark(*text);
    if (!marked) from.at("file").refuse("cannot be taken: " + name + " " + marked.error().text);
    return std::string(*marked);
}

}  // namespace

bool has_ports(uint8_t protocol) noexcept {
    return protocol == protocol_tcp || protocol == protocol_udp || protocol == protocol_udp_lite ||
           protocol == protocol_sctp;
}

acl_rule read_acl_rule(const reader& from, bool l2) {
    if (l2) return read_l2_rule(from);
    from.expect_map({"action", "name", "family", "protocol", "source", "destination",
                     "source_ports", "destination_ports", "tcp_flags", "icmp_type", "icmp_code",
                     "dscp", "vlan", "fragments"});
    acl_rule r;
    r.action = read_action(from);
    r.where.text = from.where();
    if (from.has("name")) r.name = from.at("name").name();
    version v;
    if (from.has("family"))
        v.is(from.at("family"), "family", from.at("family").word({"ipv4", "ipv6"}) == 1);
    if (from.has("protocol")) {
        r.match.protocol = {read_protocol(from.at("protocol")), 0xff};
        if (r.match.protocol.value == protocol_icmp) v.is(from.at("protocol"), "protocol", false);
        if (r.match.protocol.value == protocol_icmpv6) v.is(from.at("protocol"), "protocol", true);
    }
    read_addresses_of(from, r, v);
    read_upper_layer(from, r, v);
    read_fragments(from, r);
    if (from.has("dscp"))
        r.match.dscp = {static_cast<uint8_t>(from.at("dscp").number(0, 63) << 2),
                        acl_key::dscp_mask};
    if (from.has("vlan")) r.match.vlan = read_vlan_match(from.at("vlan"));
    v.settle(r);
    return r;
}

std::vector<acl_rule> read_acl_file(const reader& from, const std::string& config_file) {
    const bool block = from.has("lines");
    from.expect_map({"action", block ? "lines" : "file"});
    const acl_action action = read_action(from);
    const std::string name = block ? config_file : from.at("file").text();
    const auto refuse = [&](const error& e) {
        from.at(block ? "lines" : "file").refuse("cannot be taken: " + e.message());
    };
    auto file = acl::parse_rules(rules_text(from, config_file, name), name);
    if (!file) refuse(file.error());
    std::vector<acl_rule> out;
    for (size_t i = 0; i < file->rules.size(); ++i) {
        acl_rule r{.action = action,
                   .ipv4 = file->kind == acl::family::ipv4,
                   .ipv6 = file->kind == acl::family::ipv6,
                   .match = file->rules[i],
                   .where = {fmt::format("{}:{}", name, file->lines[i])}};
        r.match.priority = r.match.user_data = acl::rule{}.priority;  // assigned by position
        std::string wrong = extract_extra_field(r.match);
        if (wrong.empty())
            if (const auto packed = acl::pack<acl::ipv6_words>(r.match); !packed)
                wrong = packed.error().text;
        if (!wrong.empty()) refuse({EINVAL, r.where.text, wrong});
        out.push_back(std::move(r));
    }
    return out;
}

}  // namespace turnpike::sources
