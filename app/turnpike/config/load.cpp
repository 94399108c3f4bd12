// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "config/model.hpp"
#include "config/reader.hpp"
#include "config/yaml_file.hpp"

namespace turnpike::config {
namespace {

constexpr unsigned max_lcore = 1023;
constexpr size_t max_ports = 32;  // RTE_MAX_ETHPORTS

eal read_eal(const reader& from) {
    from.expect_map({"args", "hugepages"});
    eal out;
    if (from.has("args")) {
        auto args = split_arguments(from.at("args").text());
        if (!args) from.at("args").refuse(args.error().text);
        out.args = std::move(*args);
        if (std::find(out.args.begin(), out.args.end(), "--") != out.args.end())
            from.at("args").refuse("holds '--': only EAL options belong here");
    }
    if (from.has("hugepages"))
        out.hugepages_optional = from.at("hugepages").word({"required", "optional"}) == 1;
    return out;
}

std::vector<unsigned> read_workers(const reader& from) {
    std::vector<unsigned> out;
    for (const reader& element : from.list("lcores")) {
        const auto lcore = static_cast<unsigned>(element.number(0, max_lcore));
        if (std::find(out.begin(), out.end(), lcore) != out.end())
            element.refuse(fmt::format("names lcore {} again", lcore));
        out.push_back(lcore);
    }
    if (out.empty()) from.refuse("is empty; leave the key out to use all lcores but the main one");
    return out;
}

mempool read_mempool(const reader& from) {
    from.expect_map({"buffers", "buffer_size"});
    mempool out;
    out.buffers = from.number_or("buffers", out.buffers, 512, 1u << 27);
    out.buffer_size = from.number_or("buffer_size", out.buffer_size, 128 + 64, 65535);
    return out;
}

tx read_tx(const reader& from) {
    from.expect_map({"drain_us"});
    tx out;
    out.drain_us = from.number_or("drain_us", out.drain_us, 0, 1'000'000);
    return out;
}

std::string read_port_name(const reader& from) {
    const std::string name = from.text();
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    };
    if (name.size() > 32 || !std::all_of(name.begin(), name.end(), plain))
        from.refuse("should be at most 32 letters, digits, '-', '_' and '.'");
    return name;
}

/// The value of a parse, or a complaint at its place.
template <class T>
T taken(const reader& from, result<T> parsed) {
    if (!parsed) from.refuse(parsed.error().text);
    return *parsed;
}

/// An address that a port can have, with the length of its network.
ip_prefix read_address(const reader& from) {
    const ip_prefix p = taken(from, parse_prefix(from.text()));
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
    // RFC 3021: /31 has neither a network nor a broadcast address.
    if (!a.v6 && p.length < 31) {
        const uint32_t mask = 0xffff'ffffU >> p.length;
        if ((a.v4() & mask) == 0 || (a.v4() & mask) == mask)
            from.refuse(fmt::format("is {}, the network's own or broadcast address", p.text()));
    }
    return p;
}

std::vector<ip_prefix> read_addresses(const reader& from) {
    std::vector<ip_prefix> out;
    for (const reader& element : from.list("addresses")) out.push_back(read_address(element));
    if (out.empty()) from.refuse("is empty; leave the key out for a port that does not route");
    return out;
}

port read_port(const reader& from) {
    from.expect_map({"name", "device", "mtu", "rx_queues", "descriptors", "addresses"});
    port out;
    out.name = read_port_name(from.at("name"));
    out.device = from.at("device").text();
    if (out.device.size() > 512) from.at("device").refuse("is longer than 512 characters");
    out.mtu = from.number_or("mtu", out.mtu, 68, 65535 - 18);
    out.rx_queues = from.number_or("rx_queues", out.rx_queues, 1, 1024);
    out.descriptors = from.number_or("descriptors", out.descriptors, 32, 32768);
    if (from.has("addresses")) out.addresses = read_addresses(from.at("addresses"));
    if (out.routed() && out.mtu < 1280 &&
        std::any_of(out.addresses.begin(), out.addresses.end(),
                    [](const ip_prefix& p) { return p.address.v6; }))
        from.at("mtu").refuse("should be at least 1280 on a port with IPv6 (RFC 8200 section 5)");
    out.where = from.where();
    return out;
}

/// The part of an EAL device string that names the device: "net_tap0" of "net_tap0,iface=x".
std::string_view device_name(std::string_view device) { return device.substr(0, device.find(',')); }

std::vector<port> read_ports(const reader& from) {
    std::vector<port> out;
    std::set<std::string, std::less<>> names, devices;
    for (const reader& element : from.list("ports")) {
        if (out.size() == max_ports) element.refuse(fmt::format("is one more than {}", max_ports));
        port next = read_port(element);
        if (!names.insert(next.name).second)
            element.at("name").refuse(
                fmt::format("is '{}' again; each port has its own", next.name));
        if (!devices.insert(std::string(device_name(next.device))).second)
            element.at("device").refuse(
                fmt::format("is '{}' again; each port has its own", device_name(next.device)));
        out.push_back(std::move(next));
    }
    if (out.empty()) from.refuse("is empty; there is nothing to forward");
    return out;
}

uint16_t port_index(const model& in, const reader& from) {
    const std::string name = from.text();
    for (uint16_t i = 0; i < in.ports.size(); ++i)
        if (in.ports[i].name == name) return i;
    from.refuse(fmt::format("names '{}', which is not a port", name));
}

/// Two ports on one network could not tell which of them a neighbour is behind.
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

/// The port that a next hop is behind: the one named, or the one on whose network it is.
uint16_t port_of_next_hop(const model& in, const reader& from, const ip_address& via) {
    const reader at = from.at("via");
    if (via.is_link_local()) {
        if (!from.has("port"))
            at.refuse(
                fmt::format("is {}, a link-local address: say on which port, as in "
                            "{{via: \"{}\", port: NAME}}",
                            via.text(), via.text()));
        const uint16_t named = port_index(in, from.at("port"));
        if (!in.ports[named].routed())
            from.at("port").refuse(
                fmt::format("names '{}', which has no addresses", in.ports[named].name));
        return named;
    }
    for (uint16_t i = 0; i < in.ports.size(); ++i)
        for (const ip_prefix& a : in.ports[i].addresses) {
            if (!a.contains(via)) continue;
            if (a.address == via) at.refuse(fmt::format("is {}, our own address", via.text()));
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
    out.to = taken(from.at("to"), parse_prefix(from.at("to").text()));
    if (out.to != out.to.network())
        from.at("to").refuse(fmt::format("is {}, which has host bits set: it should be {}",
                                         out.to.text(), out.to.network().text()));
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
    out.via = taken(from.at("via"), parse_address(from.at("via").text()));
    if (out.via.v6 != out.to.address.v6)
        from.at("via").refuse(
            fmt::format("is {}, not of the same IP version as {}", out.via.text(), out.to.text()));
    out.port = port_of_next_hop(in, from, out.via);
    return out;
}

void read_routes(const reader& from, model& into) {
    std::set<ip_prefix> seen;
    for (const port& p : into.ports)
        for (const ip_prefix& a : p.addresses) seen.insert(a.network());
    for (const reader& element : from.list("routes")) {
        into.routes.push_back(read_route(into, element));
        const ip_prefix& to = into.routes.back().to;
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

neighbours read_neighbours(const reader& from) {
    from.expect_map(
        {"limit", "held", "reachable_ms", "retransmit_ms", "attempts", "failed_ms", "forget_ms"});
    constexpr uint64_t day_ms = 24 * 3600 * 1000;
    neighbours out;
    out.limit = from.number_or("limit", out.limit, 8, 1u << 20);
    out.held = from.number_or("held", out.held, 0, 64);
    out.reachable_ms = from.number_or("reachable_ms", out.reachable_ms, 10, day_ms);
    out.retransmit_ms = from.number_or("retransmit_ms", out.retransmit_ms, 10, 60'000);
    out.attempts = from.number_or("attempts", out.attempts, 1, 100);
    out.failed_ms = from.number_or("failed_ms", out.failed_ms, 10, day_ms);
    out.forget_ms = from.number_or("forget_ms", out.forget_ms, 10, day_ms);
    return out;
}

void read_patches(const reader& from, model& into) {
    std::vector<bool> used(into.ports.size());
    for (const reader& element : from.list("pairs of ports")) {
        const auto ends = element.list("two ports");
        if (ends.size() != 2) element.refuse("should name two ports");
        uint16_t index[2];
        for (size_t i = 0; i < 2; ++i) {
            index[i] = port_index(into, ends[i]);
            if (used[index[i]])
                ends[i].refuse(fmt::format("uses '{}' again; a port has one patch",
                                           into.ports[index[i]].name));
            used[index[i]] = true;
        }
        into.patches.emplace_back(index[0], index[1]);
    }
}

/// Every port has one thing to do, and no address is anywhere twice.
void check_ports(const model& in) {
    std::vector<bool> patched(in.ports.size());
    for (const auto& [a, b] : in.patches) patched[a] = patched[b] = true;
    std::map<ip_address, const port*> owners;
    for (size_t i = 0; i < in.ports.size(); ++i) {
        const port& p = in.ports[i];
        const auto refuse = [&](const std::string& text) {
            throw complaint{error{EINVAL, p.where, fmt::format("port '{}' {}", p.name, text)}};
        };
        if (!patched[i] && !p.routed())
            refuse("has no addresses and is in no patch: nothing could be done with its packets");
        if (patched[i] && p.routed())
            refuse("has addresses and is in a patch: it can route or be patched, not both");
        for (const ip_prefix& a : p.addresses)
            if (const auto [there, fresh] = owners.emplace(a.address, &p); !fresh)
                refuse(fmt::format("has {}, which port '{}' has already", a.address.text(),
                                   there->second->name));
    }
    check_networks(in);
}

model read_model(const reader& from, const std::string& name) {
    from.expect_map(
        {"eal", "workers", "mempool", "tx", "ports", "patches", "routes", "icmp", "neighbours"});
    model out;
    out.file = name;
    if (from.has("eal")) out.eal_options = read_eal(from.at("eal"));
    if (from.has("workers")) out.workers = read_workers(from.at("workers"));
    if (from.has("mempool")) out.pool = read_mempool(from.at("mempool"));
    if (from.has("tx")) out.sending = read_tx(from.at("tx"));
    out.ports = read_ports(from.at("ports"));
    if (from.has("patches")) read_patches(from.at("patches"), out);
    check_ports(out);
    if (from.has("routes")) read_routes(from.at("routes"), out);
    if (from.has("icmp")) out.messages = read_icmp(from.at("icmp"));
    if (from.has("neighbours")) out.neighbour_limits = read_neighbours(from.at("neighbours"));
    return out;
}

}  // namespace

result<model> load_text(std::string_view text, const std::string& name) {
    const auto root = parse_yaml(text, name);
    if (!root) return tl::unexpected<error>(root.error());
    try {
        return read_model(reader(*root, name, ""), name);
    } catch (const complaint& c) {
        return tl::unexpected<error>(c.what);
    } catch (const YAML::Exception& e) {
        return fail(EINVAL, name, std::string("cannot be read: ") + e.what());
    }
}

result<model> load(const std::filesystem::path& path) {
    const auto text = read_file(path);
    if (!text) return tl::unexpected<error>(text.error());
    return load_text(*text, path.string());
}

result<std::vector<std::string>> split_arguments(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    char quote = 0;
    for (const char c : line) {
        if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            inside = true;
        } else if (c == ' ' || c == '\t' || c == '\n') {
            if (inside) words.push_back(std::move(word));
            word.clear();
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    if (quote != 0)
        return fail(EINVAL, "", fmt::format("has a quote ({}) that is not closed", quote));
    if (inside) words.push_back(std::move(word));
    return words;
}

}  // namespace turnpike::config
