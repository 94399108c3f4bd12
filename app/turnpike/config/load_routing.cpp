// SPDX-License-Identifier: BSD-3-Clause
#include "config/load_routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace turnpike::config {
namespace {

/// RFC 3021: a /31 has neither a network nor a broadcast address.
bool is_network_or_broadcast(const ip_prefix& p) {
    if (p.address.v6 || p.length >= 31) return false;
    const uint32_t mask = 0xffff'ffffU >> p.length;
    return (p.address.v4() & mask) == 0 || (p.address.v4() & mask) == mask;
}

/// An address that a port can have, with the length of its network.
ip_prefix read_address(const reader& from) {
    const ip_prefix p = from.taken(parse_prefix(from.text()));
    const ip_address& a = p.address;
    const bool host = a.v6 ? !a.is_multicast() && a != ip_address{.v6 = true}
                           : a.bytes[0] != 0 && a.bytes[0] != 127 && a.bytes[0] < 224;
    if (!host) from.refuse(fmt::format("is {}, which cannot be a host's address", a.text()));
    if (p.length == 0)
        from.refuse(fmt::format("is {}: a network of length 0 is everything", p.text()));
    if (a.is_link_local())
        from.refuse(
            fmt::format("is {}; a port makes its link-local address itself, of its MAC "
                        "address",
                        p.text()));
    if (is_network_or_broadcast(p))
        from.refuse(fmt::format("is {}, the network's own or broadcast address", p.text()));
    return p;
}

/// The port that a neighbour (the value of `key`) is behind: the one named, or the one on whose
/// network it is.
uint16_t port_of_neighbour(const model& in, const reader& from, std::string_view key,
                           const ip_address& via) {
    const reader at = from.at(key);
    if (via.is_link_local()) {
        if (!from.has("port"))
            at.refuse(
                fmt::format("is {}, a link-local address: say on which port, as in "
                            "{{{}: \"{}\", port: NAME}}",
                            via.text(), key, via.text()));
        const uint16_t named = port_index(in, from.at("port"));
        if (!in.ports[named].routed())
            from.at("port").refuse(
                fmt::format("names '{}', which has no addresses", in.ports[named].name));
        return named;
    }
    for (uint16_t i = 0; i < static_cast<uint16_t>(in.ports.size()); ++i)
        for (const ip_prefix& a : in.ports[i].addresses) {
            if (!a.contains(via)) continue;
            if (a.address == via) at.refuse(fmt::format("is {}, our own address", via.text()));
            if (is_network_or_broadcast({via, a.length}))
                at.refuse(fmt::format("is {}, the network's own or broadcast address of {}",
                                      via.text(), a.text()));
            if (from.has("port") && port_index(in, from.at("port")) != i)
                from.at("port").refuse(fmt::format("should be '{}', on whose network {} is",
                                                   in.ports[i].name, via.text()));
            return i;
        }
    at.refuse(fmt::format("is {}, which is on no port's network", via.text()));
}

route read_route(const model& in, const reader& from) {
    from.expect_map({"to", "via", "port", "type"});
    route out;
    out.to = read_network(from.at("to"));
    if (out.to.length >= 4 && out.to.address.is_multicast())
        from.at("to").refuse(fmt::format("is {}; multicast is not routed", out.to.text()));
    if (from.has("type")) {
        out.type =
            static_cast<route_type>(from.at("type").word({"unicast", "blackhole", "unreachable"}));
        if (out.type != route_type::unicast) {
            for (const char* key : {"via", "port"})
                if (from.has(key))
                    from.at(key).refuse(
                        "says where packets go, but a route of this type sends none");
            return out;
        }
    }
    out.via = from.at("via").taken(parse_address(from.at("via").text()));
    if (out.via.v6 != out.to.address.v6)
        from.at("via").refuse(
            fmt::format("is {}, not of the same IP version as {}", out.via.text(), out.to.text()));
    out.port = port_of_neighbour(in, from, "via", out.via);
    return out;
}

std::array<uint8_t, 6> read_mac(const reader& from) {
    const std::string text = from.text();
    std::array<uint8_t, 6> mac{};
    unsigned b[6];
    int used = 0;
    if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4],
                    &b[5], &used) != 6 ||
        static_cast<size_t>(used) != text.size())
        from.refuse("should be a MAC address as in 02:00:00:00:00:01, not '" + text.substr(0, 80) +
                    "'");
    for (size_t i = 0; i < mac.size(); ++i) mac[i] = static_cast<uint8_t>(b[i]);
    if ((mac[0] & 1) != 0)
        from.refuse("is " + text + ", a group's MAC address; no neighbour has it");
    return mac;
}

static_neighbour read_static_neighbour(const model& in, const reader& from) {
    from.expect_map({"address", "port", "mac"});
    static_neighbour out;
    out.address = from.at("address").taken(parse_address(from.at("address").text()));
    out.port = port_of_neighbour(in, from, "address", out.address);
    out.mac = read_mac(from.at("mac"));
    for (const static_neighbour& other : in.static_neighbours)
        if (other.address == out.address && other.port == out.port)
            from.at("address").refuse("is " + out.address.text() + " again");
    return out;
}

}  // namespace

std::vector<ip_prefix> read_addresses(const reader& from) {
    std::vector<ip_prefix> out;
    for (const reader& element : from.list("addresses")) out.push_back(read_address(element));
    if (out.empty()) from.refuse("is empty; leave the key out for a port that does not route");
    return out;
}

ip_prefix read_network(const reader& from) {
    const ip_prefix p = from.taken(parse_prefix(from.text()));
    if (p != p.network())
        from.refuse(fmt::format("is {}, which has host bits set: it should be {}", p.text(),
                                p.network().text()));
    return p;
}

uint16_t port_index(const model& in, const reader& from) {
    const std::string name = from.text();
    for (uint16_t i = 0; i < static_cast<uint16_t>(in.ports.size()); ++i)
        if (in.ports[i].name == name) return i;
    from.refuse(fmt::format("names '{}', which is not a port", name));
}

void check_networks(const model& in) {
    for (size_t i = 0; i < in.ports.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            for (const ip_prefix& a : in.ports[i].addresses)
                for (const ip_prefix& b : in.ports[k].addresses)
                    if (a.contains(b.address) || b.contains(a.address))
                        throw complaint{error{
                            EINVAL, in.ports[i].where,
                            fmt::format("port '{}' has {}, which overlaps {} of port '{}'",
                                        in.ports[i].name, a.text(), b.text(), in.ports[k].name)}};
}

void read_routes(const reader& from, model& into) {
    std::set<ip_prefix> seen;
    for (const port& p : into.ports)
        for (const ip_prefix& a : p.addresses) seen.insert(a.network());
    for (const reader& element : from.list("routes")) {
        into.routes.push_back(read_route(into, element));
        const ip_prefix& to = into.routes.back().to;
        for (const port& p : into.ports)
            for (const ip_prefix& a : p.addresses)
                if (to.length == to.address.bits() && to.address == a.address)
                    element.at("to").refuse(
                        fmt::format("is {}, our own address on port '{}'", to.text(), p.name));
        if (!seen.insert(to).second)
            element.at("to").refuse(
                fmt::format("is {} again; a prefix has one route (a port's own "
                            "network has one already)",
                            to.text()));
    }
}

icmp read_icmp(const reader& from) {
    from.expect_map({"rate"});
    icmp out;
    out.rate = from.number_or("rate", out.rate, 0, 10'000'000);
    return out;
}

void read_neighbours(const reader& from, model& into) {
    from.expect_map({"limit", "held", "reachable_ms", "retransmit_ms", "attempts", "failed_ms",
                     "forget_ms", "static"});
    constexpr uint64_t day_ms = 24 * 3600 * 1000;
    neighbours& out = into.neighbour_limits;
    out.limit = from.number_or("limit", out.limit, 8, 1u << 20);
    out.held = from.number_or("held", out.held, 0, 64);
    out.reachable_ms = from.number_or("reachable_ms", out.reachable_ms, 10, day_ms);
    out.retransmit_ms = from.number_or("retransmit_ms", out.retransmit_ms, 10, 60'000);
    out.attempts = from.number_or("attempts", out.attempts, 1, 100);
    out.failed_ms = from.number_or("failed_ms", out.failed_ms, 10, day_ms);
    out.forget_ms = from.number_or("forget_ms", out.forget_ms, 10, day_ms);
    if (!from.has("static")) return;
    for (const reader& element : from.at("static").list("neighbours"))
        into.static_neighbours.push_back(read_static_neighbour(into, element));
    if (into.static_neighbours.size() > out.limit / 2)
        from.at("static").refuse(
            fmt::format("has more than half of the limit of {} neighbours", out.limit));
}

}  // namespace turnpike::config
