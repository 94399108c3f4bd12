// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sources/route_file.hpp"
#include "state/next_hop_rules.hpp"
#include "state/validate.hpp"

namespace turnpike::sources {
namespace {

using config::complaint;
using config::reader;
using state::check_routed_prefix;
using state::desired;
using state::is_network_or_broadcast;
using state::neighbour_finder;
using state::route_type;

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
        if (from.is_map()) return read_many(from);
        for (const reader& element : from.list("routes")) {
            if (element.has("file") || element.has("lines"))
                read_many(element);
            else
                read_one(element);
        }
    }

    void finish() {
        std::sort(routes_.begin(), routes_.end(), [](const placed_route& a, const placed_route& b) {
            return std::tie(a.to, a.file, a.line) < std::tie(b.to, b.file, b.line);
        });
        const auto twice = std::adjacent_find(
            routes_.begin(), routes_.end(),
            [](const placed_route& a, const placed_route& b) { return a.to == b.to; });
        if (twice != routes_.end()) refuse(twice[1], "is there twice; a prefix has one route");
        into_.routes.reserve(routes_.size());
        for (const placed_route& r : routes_) into_.routes.add(r.to, r.target);
        into_.routes.finish();
        if (const auto wrong = state::find_wrong_route(into_)) refuse(*at(wrong->to), wrong->why);
    }

  private:
    void read_one(const reader& from) {
        const auto [to, target] = read_route(from, into_, find_);
        routes_.push_back({to, into_.routes.target_index(target), 0, from.line()});
    }

    void read_many(const reader& from) {
        if (from.has("lines")) return read_lines(from.at("lines"));
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
    /// A block of lines in the configuration itself; its first is the one behind "lines: |".
    void read_lines(const reader& from) {
        const std::string text = from.text();
        auto read = read_route_lines(text, from.line() + 1, into_.file, find_, into_.routes,
                                     [&](const ip_prefix& to, uint32_t target, uint32_t line) {
                                         routes_.push_back({to, target, 0, line});
                                     });
        if (!read) throw complaint{read.error()};
    }

    [[nodiscard]] const placed_route* at(const ip_prefix& p) const {
        const auto r = std::lower_bound(
            routes_.begin(), routes_.end(), p,
            [](const placed_route& a, const ip_prefix& wanted) { return a.to < wanted; });
        return r != routes_.end() && r->to == p ? &*r : nullptr;
    }
    [[noreturn]] void refuse(const placed_route& r, const std::string& why) const {
        throw complaint{error{EINVAL, fmt::format("{}:{}", files_[r.file], r.line),
                              fmt::format("routes: {} {}", r.to.text(), why)}};
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

void read_routes(const reader& from, desired& into) {
    route_reader routes(into);
    routes.read(from);
    routes.finish();
}

std::pair<ip_prefix, state::route_target> read_route(const reader& from, const desired& in,
                                                     neighbour_finder& find) {
    from.expect_map({"to", "via", "port", "type"});
    const ip_prefix to = from.at("to").taken(parse_prefix(from.at("to").text()));
    if (auto good = check_routed_prefix(to); !good) from.at("to").refuse(good.error().text);
    state::route_target target;
    if (from.has("type"))
        target.type =
            static_cast<route_type>(from.at("type").word({"unicast", "blackhole", "unreachable"}));
    if (target.type != route_type::unicast) {
        for (const char* key : {"via", "port"})
            if (from.has(key))
                from.at(key).refuse("says where packets go, but a route of this type sends none");
        return {to, target};
    }
    target.via = from.at("via").taken(parse_address(from.at("via").text()));
    if (target.via.v6 != to.address.v6)
        from.at("via").refuse(
            fmt::format("is {}, not of the same IP version as {}", target.via.text(), to.text()));
    target.interface = read_interface(in, find, from, "via", target.via);
    return {to, target};
}

state::neighbour_name read_neighbour_name(const reader& from, const desired& in) {
    const auto address = from.at("address").taken(parse_address(from.at("address").text()));
    neighbour_finder find(in);
    return {read_interface(in, find, from, "address", address), address};
}

void read_neighbour(const reader& from, desired& into, bool replace) {
    from.expect_map({"address", "port", "mac"});
    const state::neighbour_name name = read_neighbour_name(from, into);
    state::neighbour says{read_mac(from.at("mac")), {from.where()}};
    if (const auto [there, fresh] = into.neighbours.try_emplace(name, says); !fresh) {
        if (!replace) from.at("address").refuse("is " + name.address.text() + " again");
        there->second = std::move(says);
    }
}

}  // namespace turnpike::sources
