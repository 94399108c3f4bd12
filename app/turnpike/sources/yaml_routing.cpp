// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sources/next_hop_rules.hpp"
#include "sources/route_file.hpp"

namespace turnpike::sources {
namespace {

using config::complaint;
using config::reader;
using state::desired;
using state::route_type;

/// An address that an interface can have, with the length of its network.
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

std::string read_interface(const desired& in, neighbour_finder& find, const reader& from,
                           std::string_view key, const ip_address& neighbour) {
    std::string named;
    if (from.has("port")) {
        named = from.at("port").text();
        const state::interface* i = in.interfaces.find(named);
        if (i == nullptr)
            from.at("port").refuse(
                fmt::format("names '{}', which is not a port", named.substr(0, 80)));
        if (i->kind != state::interface_kind::routed)
            from.at("port").refuse(fmt::format("names '{}', which has no addresses", named));
    }
    return from.at(key).taken(find.interface_of(neighbour, named));
}

/// A route on its way into the set, with its place in a file.
struct placed_route {
    ip_prefix to;
    uint32_t target;
    uint32_t file, line;
};

/// Reads all of `routes`, in whatever form; remembers where each stands until all are known.
class route_reader {
  public:
    explicit route_reader(desired& into) : into_(into), find_(into) { files_.push_back(into.file); }

    void read(const reader& from) {
        if (from.is_map()) return read_file(from);
        for (const reader& element : from.list("routes")) {
            if (element.has("file"))
                read_file(element);
            else
                read_route(element);
        }
    }

    void finish() {
        std::sort(routes_.begin(), routes_.end(), [](const placed_route& a, const placed_route& b) {
            return std::tie(a.to, a.file, a.line) < std::tie(b.to, b.file, b.line);
        });
        const auto twice = std::adjacent_find(
            routes_.begin(), routes_.end(),
            [](const placed_route& a, const placed_route& b) { return a.to == b.to; });
        if (twice != routes_.end()) refuse(twice[1], "there twice; a prefix has one route");
        for (const auto& [name, i] : into_.interfaces)
            for (const ip_prefix& a : i.addresses) {
                const auto host = static_cast<uint8_t>(a.address.bits());
                if (const placed_route* r = at({a.address, host}))
                    refuse(*r, fmt::format("our own address on port '{}'", name));
                if (const placed_route* r = at(a.network()))
                    refuse(*r, fmt::format("there twice; a prefix has one route (port '{}' is on "
                                           "that network, which makes one)",
                                           name));
            }
        into_.routes.reserve(routes_.size());
        for (const placed_route& r : routes_) into_.routes.add(r.to, r.target);
        into_.routes.finish();
    }

  private:
    void read_route(const reader& from) {
        from.expect_map({"to", "via", "port", "type"});
        const ip_prefix to = from.at("to").taken(parse_prefix(from.at("to").text()));
        if (auto good = check_routed_prefix(to); !good) from.at("to").refuse(good.error().text);
        state::route_target target;
        if (from.has("type"))
            target.type = static_cast<route_type>(
                from.at("type").word({"unicast", "blackhole", "unreachable"}));
        if (target.type != route_type::unicast) {
            for (const char* key : {"via", "port"})
                if (from.has(key))
                    from.at(key).refuse(
                        "says where packets go, but a route of this type sends none");
        } else {
            target.via = from.at("via").taken(parse_address(from.at("via").text()));
            if (target.via.v6 != to.address.v6)
                from.at("via").refuse(fmt::format("is {}, not of the same IP version as {}",
                                                  target.via.text(), to.text()));
            target.interface = read_interface(into_, find_, from, "via", target.via);
        }
        routes_.push_back({to, into_.routes.target_index(target), 0, from.line()});
    }

    void read_file(const reader& from) {
        from.expect_map({"file"});
        const std::string name = from.at("file").text();
        files_.push_back(name);
        const auto file = static_cast<uint32_t>(files_.size() - 1);
        auto read =
            read_route_file(std::filesystem::path(into_.file).parent_path() / name, find_,
                            into_.routes, [&](const ip_prefix& to, uint32_t target, uint32_t line) {
                                routes_.push_back({to, target, file, line});
                            });
        if (!read) from.at("file").refuse("cannot be taken: " + read.error().message());
    }

    [[nodiscard]] const placed_route* at(const ip_prefix& p) const {
        const auto r = std::lower_bound(
            routes_.begin(), routes_.end(), p,
            [](const placed_route& a, const ip_prefix& wanted) { return a.to < wanted; });
        return r != routes_.end() && r->to == p ? &*r : nullptr;
    }
    [[noreturn]] void refuse(const placed_route& r, const std::string& why) const {
        throw complaint{error{EINVAL, fmt::format("{}:{}", files_[r.file], r.line),
                              fmt::format("routes: {} is {}", r.to.text(), why)}};
    }

    desired& into_;
    neighbour_finder find_;
    std::vector<placed_route> routes_;
    std::vector<std::string> files_;  ///< the configuration itself first
};

mac_address read_mac(const reader& from) {
    const mac_address mac = from.taken(parse_mac(from.text()));
    if (mac.is_group())
        from.refuse("is " + mac.text() + ", a group's MAC address; no neighbour has it");
    return mac;
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

void check_networks(const desired& in) {
    for (auto i = in.interfaces.begin(); i != in.interfaces.end(); ++i)
        for (auto k = in.interfaces.begin(); k != i; ++k)
            for (const ip_prefix& a : i->second.addresses)
                for (const ip_prefix& b : k->second.addresses)
                    if (a.contains(b.address) || b.contains(a.address))
                        throw complaint{
                            error{EINVAL, i->second.where.text,
                                  fmt::format("port '{}' has {}, which overlaps {} of port '{}'",
                                              i->first, a.text(), b.text(), k->first)}};
}

void read_routes(const reader& from, desired& into) {
    route_reader routes(into);
    routes.read(from);
    routes.finish();
}

state::icmp read_icmp(const reader& from) {
    from.expect_map({"rate"});
    state::icmp out;
    out.rate = from.number_or("rate", out.rate, 0, 10'000'000);
    return out;
}

void read_neighbours(const reader& from, desired& into) {
    from.expect_map({"limit", "held", "rate", "reachable_ms", "retransmit_ms", "attempts",
                     "failed_ms", "forget_ms", "static"});
    constexpr uint64_t day_ms = 24 * 3600 * 1000;
    state::neighbour_limits& out = into.limits;
    out.limit = from.number_or("limit", out.limit, 8, 1u << 20);
    out.held = from.number_or("held", out.held, 0, 64);
    out.rate = from.number_or("rate", out.rate, 1, 10'000'000);
    out.reachable_ms = from.number_or("reachable_ms", out.reachable_ms, 10, day_ms);
    out.retransmit_ms = from.number_or("retransmit_ms", out.retransmit_ms, 10, 60'000);
    out.attempts = from.number_or("attempts", out.attempts, 1, 100);
    out.failed_ms = from.number_or("failed_ms", out.failed_ms, 10, day_ms);
    out.forget_ms = from.number_or("forget_ms", out.forget_ms, 10, day_ms);
    if (!from.has("static")) return;
    neighbour_finder find(into);
    for (const reader& element : from.at("static").list("neighbours")) {
        element.expect_map({"address", "port", "mac"});
        const auto address =
            element.at("address").taken(parse_address(element.at("address").text()));
        const state::neighbour_name name{read_interface(into, find, element, "address", address),
                                         address};
        if (!into.neighbours
                 .emplace(name, state::neighbour{read_mac(element.at("mac")), {element.where()}})
                 .second)
            element.at("address").refuse("is " + address.text() + " again");
    }
    if (into.neighbours.size() > out.limit / 2)
        from.at("static").refuse(
            fmt::format("has more than half of the limit of {} neighbours", out.limit));
}

}  // namespace turnpike::sources
