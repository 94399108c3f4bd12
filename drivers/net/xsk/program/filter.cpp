// SPDX-License-Identifier: BSD-3-Clause
#include "filter.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "base/arguments.hpp"
#include "net/ip.hpp"
#include "protocol.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::xsk {
namespace {

using yaml::reader;

/// A condition that the entry does not give is empty.
struct selection {
    std::optional<xsk::protocol> protocol{};
    bool ports = false;
    std::optional<bool> v6{};
    const char* v6_by = "";  ///< the key that implies the family
};

xsk_filter_ports read_ports(const reader& from) {
    const std::string text = from.text();
    const size_t dash = text.find('-');
    const auto number = [&](std::string_view digits) {
        uint16_t n = 0;
        if (!read_number<uint16_t>(digits, 0, UINT16_MAX, n))
            from.refuse("should be a port from 0 to 65535 or two as in 5000-5010, not '{}'",
                        text.substr(0, 80));
        return n;
    };
    const std::string_view whole = text;
    xsk_filter_ports range{number(whole.substr(0, dash)), 0};
    range.high = dash == std::string::npos ? range.low : number(whole.substr(dash + 1));
    if (range.high < range.low) from.refuse("is {}: the lower port comes first", text);
    return range;
}

xsk_filter_prefix read_prefix(const reader& from, bool& v6) {
    const std::string text = from.text();
    ip_prefix prefix;
    if (text.find('/') == std::string::npos) {
        const auto address = parse_address(text);
        if (!address) from.refuse(address.error().text);
        prefix = {*address, static_cast<uint8_t>(address->bits())};
    } else {
        const auto parsed = parse_prefix(text);
        if (!parsed) from.refuse(parsed.error().text);
        prefix = *parsed;
    }
    if (prefix != prefix.network())
        from.refuse("has bits behind its length; the network is {}", prefix.network().text());
    v6 = prefix.address.v6;
    std::array<uint8_t, 16> ones;
    ones.fill(0xff);
    const ip_prefix mask = ip_prefix{{v6, ones}, prefix.length}.network();
    xsk_filter_prefix out{};
    const size_t bytes = prefix.address.bits() / 8;
    std::memcpy(out.address, prefix.address.bytes.data(), bytes);
    std::memcpy(out.mask, mask.address.bytes.data(), bytes);
    return out;
}

void extract_family(const reader& from, selection& s, bool v6, const char* by) {
    if (s.v6 && *s.v6 != v6)
        from.refuse("is of {} and {} of {}: no packet has both", v6 ? "IPv6" : "IPv4", s.v6_by,
                    *s.v6 ? "IPv6" : "IPv4");
    s.v6 = v6;
    s.v6_by = by;
}

void read_addresses(const reader& from, xsk_filter_entry& entry, selection& s) {
    for (const auto& [key, into] : {std::pair{"address", &entry.address},
                                    {"source_address", &entry.source_address},
                                    {"destination_address", &entry.destination_address}}) {
        if (!from.has(key)) continue;
        bool v6 = false;
        *into = read_prefix(from.at(key), v6);
        extract_family(from.at(key), s, v6, key);
        entry.flags |= XSK_FILTER_ADDRESSES;
    }
}

void read_all_ports(const reader& from, xsk_filter_entry& entry, selection& s) {
    for (const auto& [key, into] : {std::pair{"port", &entry.port},
                                    {"source_port", &entry.source_port},
                                    {"destination_port", &entry.destination_port}}) {
        *into = {0, 65535};
        if (!from.has(key)) continue;
        *into = read_ports(from.at(key));
        entry.flags |= XSK_FILTER_PORTS;
        s.ports = true;
    }
}

void read_protocol(const reader& from, selection& s) {
    const std::string text = from.text();
    s.protocol = find_protocol(text);
    if (!s.protocol)
        from.refuse("should be a number from 0 to 255 or one of {}, not '{}'", all_protocol_names(),
                    text.substr(0, 80));
    if (s.protocol->number && is_extension_header(*s.protocol->number))
        from.refuse("is {}, an IPv6 extension header; name the protocol that is behind it", text);
}

/// Check combinations of keys.
void check_whole(const reader& from, const selection& s) {
    if (!s.protocol) return;
    const xsk::protocol& p = *s.protocol;
    if (s.ports && !(p.number && has_ports(*p.number)))
        from.refuse("gives ports, and {} has none; tcp, udp, udplite and sctp have", p.name);
    if (!s.v6) return;
    if (!p.number) from.refuse("gives {}, and {} is not carried in IP packets", s.v6_by, p.name);
    if (*s.v6 ? !p.ipv6 : !p.ipv4)
        from.refuse("has {} of {}, and {} is of {} only", s.v6_by, *s.v6 ? "IPv6" : "IPv4", p.name,
                    p.ipv6 ? "IPv6" : "IPv4");
}

void add_candidate(filter& f, const selection& s, uint64_t bit) {
    if (s.protocol && !s.protocol->number) {
        f.candidates[XSK_CANDIDATES_NOT_IP] |= bit;
        return;
    }
    for (const bool v6 : {false, true}) {
        if (s.v6 && *s.v6 != v6) continue;
        if (s.protocol && !(v6 ? s.protocol->ipv6 : s.protocol->ipv4)) continue;
        for (unsigned number = 0; number < 256; ++number) {
            const auto n = static_cast<uint8_t>(number);
            if (s.protocol ? *s.protocol->number == n : !s.ports || has_ports(n))
                f.candidates[(v6 ? XSK_CANDIDATES_IPV6 : 0) + number] |= bit;
        }
    }
}

void read_entry(const reader& from, filter& into) {
    from.expect_map({"protocol", "family", "port", "source_port", "destination_port", "address",
                     "source_address", "destination_address"});
    if (into.entries.size() == XSK_FILTER_MOST_ENTRIES)
        from.refuse("is one more than the {} entries that a filter can have",
                    XSK_FILTER_MOST_ENTRIES);
    xsk_filter_entry entry{};
    selection s;
    if (from.has("protocol")) read_protocol(from.at("protocol"), s);
    if (from.has("family"))
        extract_family(from.at("family"), s, from.at("family").word({"ipv4", "ipv6"}) == 1,
                       "family");
    read_addresses(from, entry, s);
    read_all_ports(from, entry, s);
    if (!s.protocol && !s.ports && !s.v6)
        from.refuse("selects nothing; it takes a protocol, ports, addresses or a family");
    check_whole(from, s);
    if (s.protocol) entry.ether_type = s.protocol->ether_type;
    add_candidate(into, s, uint64_t{1} << into.entries.size());
    into.entries.push_back(entry);
    into.where.push_back(from.where());
}

}  // namespace

result<filter> read_filter(std::string_view text, const std::string& name) {
    const auto root = yaml::parse_yaml(text, name, "entries");
    if (!root) return tl::unexpected<error>(root.error());
    try {
        filter out;
        const reader from(*root);
        for (const reader& element : from.list("packets that go to the kernel"))
            read_entry(element, out);
        if (out.entries.empty()) from.refuse("is an empty list; to keep nothing, give no filter");
        return out;
    } catch (const yaml::complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

result<filter> load_filter(const std::filesystem::path& path) {
    const auto text = yaml::read_file(path);
    if (!text) return tl::unexpected<error>(text.error());
    return read_filter(*text, path);
}

}  // namespace turnpike::xsk
