// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sources/fields.hpp"
#include "sources/route_file.hpp"
#include "state/next_hop_rules.hpp"
#include "state/validate.hpp"

namespace turnpike::sources {
namespace {

using state::check_routed_prefix;
using state::configuration;
using state::is_network_or_broadcast;
using state::neighbour_finder;
using state::route_type;
using yaml::complaint;
using yaml::reader;

/// A routed interface.
/// at  where the name is
void check_routed(const configuration& in, const reader& at, const std::string& name) {
    const state::interface* const i = in.interfaces.find(name);
    if (i == nullptr) at.refuse("names '{}', which is not a port", name.substr(0, 80));
    if (!i->has_ip()) at.refuse("names '{}', which has no addresses", name);
}

std::string read_interface(const configuration& in, neighbour_finder& find, const reader& from,
                           std::string_view key, const ip_address& neighbour, bool onlink = false) {
    std::string named;
    if (from.has("port")) {
        named = from.at("port").text();
        check_routed(in, from.at("port"), named);
    }
    return from.at(key).taken(find.interface_of(neighbour, named, onlink));
}

/// A route before insertion into the set, with its position in a file.
struct placed_route {
    ip_prefix to;
    uint32_t target;
    uint32_t file, line;
};

/// Reads all forms of `routes`; stores the position of each route until all are read.
class route_reader {
  public:
    explicit route_reader(configuration& into) : into_(into) { files_.push_back(into.file); }

    void read(const reader& from) {
        if (from.is_map()) return read_many(from);
        for (const reader& element : from.list("routes"))
            element.attempt([&] {
                if (element.has("file") || element.has("lines"))
                    read_many(element);
                else
                    read_one(element);
            });
    }

    void finish() {
        for (auto& [vrf, of] : by_vrf_) finish(vrf, of.routes);
        if (const auto wrong = state::find_wrong_route(into_))
            refuse(*at(by_vrf_.at(wrong->vrf).routes, wrong->to), wrong->vrf, wrong->why);
    }

  private:
    struct of_vrf {
        neighbour_finder find;
        state::route_set& set;
        std::vector<placed_route> routes{};
    };

    /// The routes of the VRF of an element.
    of_vrf& vrf_of(const reader& from) {
        const std::string name = read_vrf_of_routes(from, into_);
        const auto there = by_vrf_.find(name);
        if (there != by_vrf_.end()) return there->second;
        return by_vrf_.emplace(name, of_vrf{neighbour_finder(into_, name), into_.routes_of(name)})
            .first->second;
    }
    void read_one(const reader& from) {
        of_vrf& of = vrf_of(from);
        const auto [to, target] = read_route(from, into_, of.find);
        of.routes.push_back({to, of.set.target_index(target), 0, from.line()});
    }

    void read_many(const reader& from) {
        from.expect_map({from.has("lines") ? "lines" : "file", "vrf"});
        of_vrf& of = vrf_of(from);
        if (from.has("lines")) return read_lines(from.at("lines"), of);
        const std::string name = from.at("file").text();
        files_.push_back(name);
        const auto file = static_cast<uint32_t>(files_.size() - 1);
        auto read =
            read_route_file(std::filesystem::path(into_.file).parent_path() / name, of.find, of.set,
                            [&](const ip_prefix& to, uint32_t target, uint32_t line) {
                                of.routes.push_back({to, target, file, line});
                            });
        if (!read) from.at("file").refuse("cannot be taken: " + read.error().message());
    }
    /// A block of lines in the configuration; the first line follows "lines: |".
    void read_lines(const reader& from, of_vrf& of) {
        const std::string text = from.text();
        auto read = read_route_lines(text, from.line() + 1, into_.file, of.find, of.set,
                                     [&](const ip_prefix& to, uint32_t target, uint32_t line) {
                                         of.routes.push_back({to, target, 0, line});
                                     });
        if (!read) throw complaint{read.error()};
    }

    void finish(const std::string& vrf, std::vector<placed_route>& routes) {
        std::sort(routes.begin(), routes.end(), [](const placed_route& a, const placed_route& b) {
            return std::tie(a.to, a.file, a.line) < std::tie(b.to, b.file, b.line);
        });
        const auto twice = std::adjacent_find(
            routes.begin(), routes.end(),
            [](const placed_route& a, const placed_route& b) { return a.to == b.to; });
        if (twice != routes.end()) refuse(twice[1], vrf, "is there twice; a prefix has one route");
        state::route_set& set = into_.routes_of(vrf);
        set.reserve(routes.size());
        for (const placed_route& r : routes) set.add(r.to, r.target);
        set.finish();
    }
    [[nodiscard]] static const placed_route* at(const std::vector<placed_route>& routes,
                                                const ip_prefix& p) {
        const auto r = std::lower_bound(
            routes.begin(), routes.end(), p,
            [](const placed_route& a, const ip_prefix& wanted) { return a.to < wanted; });
        return r != routes.end() && r->to == p ? &*r : nullptr;
    }
    [[noreturn]] void refuse(const placed_route& r, const std::string& vrf,
                             const std::string& why) const {
        const std::string of = vrf.empty() ? "" : " of VRF '" + vrf + "'";
        throw complaint{error{EINVAL, fmt::format("{}:{}", files_[r.file], r.line),
                              fmt::format("routes{}: {} {}", of, r.to.text(), why)}};
    }

    configuration& into_;
    std::map<std::string, of_vrf> by_vrf_;
    std::vector<std::string> files_;  ///< the configuration itself first
};

}  // namespace

ip_prefix read_address(const reader& from) {
    const ip_prefix p = from.taken(parse_prefix(from.text()));
    const ip_address& a = p.address;
    if (!a.is_host()) from.refuse("is {}, which cannot be a host's address", a.text());
    if (p.length == 0) from.refuse("is {}: a network of length 0 is everything", p.text());
    if (a.is_link_local())
        from.refuse("is {}; a port makes its link-local address itself, of its MAC address",
                    p.text());
    if (is_network_or_broadcast(p))
        from.refuse("is {}, the network's own or broadcast address", p.text());
    if (a.v6 && p.length < 127 && a == p.network().address)
        from.refuse("is {}, the subnet-router anycast address (RFC 4291 section 2.6.1)", p.text());
    return p;
}

std::vector<ip_prefix> read_addresses(const reader& from) {
    std::vector<ip_prefix> out;
    for (const reader& element : from.list("addresses")) out.push_back(read_address(element));
    if (out.empty()) from.refuse("is empty; leave the key out for a port that does not route");
    return out;
}

ip_prefix read_network(const reader& from) {
    const std::string text = from.text();
    if (text.find('/') == std::string::npos) {
        const ip_address host = from.taken(parse_address(text));
        return {host, static_cast<uint8_t>(host.bits())};
    }
    const ip_prefix p = from.taken(parse_prefix(text));
    if (p != p.network())
        from.refuse("is {}, which has host bits set: it should be {}", p.text(),
                    p.network().text());
    return p;
}

namespace {

/// A next hop: a map with `via`, or an address. "fe80::1%east" is the gateway fe80::1 at port east (RFC 4007 section 11).
state::route_member read_member(const reader& from, const ip_prefix& to, const configuration& in,
                                neighbour_finder& find) {
    const reader via = from.is_map() ? from.at("via") : from;
    const std::string text = via.text();
    const size_t zone = std::min(text.find('%'), text.size());
    const std::string port = text.substr(std::min(zone + 1, text.size()));
    state::route_member out{.via = via.taken(parse_address(text.substr(0, zone)))};
    via.taken(state::check_family(*out.via, to));
    if (from.is_map() && from.has("onlink")) out.onlink = from.at("onlink").truth();
    if (zone != text.size()) {
        if (from.is_map() && from.has("port"))
            from.at("port").refuse("is given by the zone of via, too: one of them");
        check_routed(in, via, port);
    }
    if (!from.is_map() || zone != text.size()) {
        out.interface = via.taken(find.interface_of(*out.via, port, out.onlink));
        if (!from.is_map()) return out;
    } else {
        out.interface = read_interface(in, find, from, "via", *out.via, out.onlink);
    }
    out.weight = from.number_or("weight", out.weight, 1, state::max_member_weight);
    return out;
}

/// The gateway of a recursive route, likewise.
state::route_member read_beyond(const reader& from, const ip_prefix& to) {
    const reader via = from.is_map() ? from.at("via") : from;
    state::route_member out{.via = via.taken(parse_address(via.text()))};
    via.taken(state::check_family(*out.via, to));
    via.taken(state::check_recursive(*out.via));
    if (!from.is_map()) return out;
    for (const char* key : {"port", "onlink"})
        if (from.has(key))
            from.at(key).refuse(
                "says on which link the gateway is, and recursive that other routes do: one of "
                "them");
    out.weight = from.number_or("weight", out.weight, 1, state::max_member_weight);
    return out;
}

}  // namespace

std::string read_vrf_of(const reader& from) {
    const std::string name = from.text();
    return name == "main" ? std::string() : name;
}

void read_vrf(const reader& from, configuration& into, bool replace) {
    key_list().add(vrf_fields(), of_vrf).expect(from, {"name"});
    const std::string name = from.at("name").name();
    if (name == "main") from.at("name").refuse("is 'main', which is where routes of no VRF are");
    state::vrf* const there = into.vrfs.find(name);
    if (there != nullptr && !replace)
        from.at("name").refuse("is '{}' again; VRF names are unique", name);
    if (there == nullptr) into.vrfs.add(name, {.where = {from.where()}});
    read_fields(from, vrf_fields(), of_vrf, into, *into.vrfs.find(name));
}

void assign_tables(configuration& in) {
    std::set<uint32_t> taken{253, 254, 255};
    std::vector<std::string> without;
    for (const auto& [name, v] : in.vrfs) {
        taken.insert(v.table);
        if (v.table == 0) without.push_back(name);
    }
    uint32_t table = 1;
    for (const std::string& name : without) {
        while (taken.contains(table)) ++table;
        in.vrfs.find(name)->table = table++;
    }
}

std::string read_vrf_of_routes(const reader& from, const configuration& in) {
    if (!from.is_map() || !from.has("vrf")) return {};
    std::string name = read_vrf_of(from.at("vrf"));
    if (!name.empty()) (void)named_object(from.at("vrf"), in.vrfs, "a VRF");
    return name;
}

void read_routes(const reader& from, configuration& into) {
    route_reader routes(into);
    routes.read(from);
    routes.finish();
}

namespace {

/// `default` is of the family of its first gateway.
ip_prefix read_destination(const reader& from) {
    const reader to = from.at("to");
    const std::string text = to.text();
    if (text == "default" && from.has("via")) {
        const auto is_v6 = [](const reader& via) {
            return (via.is_map() ? via.at("via") : via).text().find(':') != std::string::npos;
        };
        const reader via = from.at("via");
        const auto all = via.is_list() ? via.list("next hops") : std::vector<reader>{via};
        if (!all.empty()) return {{.v6 = is_v6(all.front())}, 0};
    }
    return to.taken(parse_destination(text));
}

}  // namespace

std::pair<ip_prefix, state::route_target> read_route(const reader& from, const configuration& in,
                                                     neighbour_finder& find) {
    from.expect_map({"to", "via", "port", "type", "vrf", "onlink", "recursive", "mtu"});
    const ip_prefix to = read_destination(from);
    from.at("to").taken(check_routed_prefix(to));
    state::route_target target;
    if (from.has("type"))
        target.type = static_cast<route_type>(
            from.at("type").word({"unicast", "blackhole", "unreachable", "prohibit"}));
    if (target.type != route_type::unicast) {
        for (const char* key : {"via", "port", "onlink", "recursive", "mtu"})
            if (from.has(key))
                from.at(key).refuse("says where packets go, but a route of this type sends none");
        return {to, target};
    }
    if (from.has("recursive")) target.recursive = from.at("recursive").truth();
    if (from.has("mtu")) {
        target.mtu = static_cast<uint16_t>(from.at("mtu").number(1, UINT16_MAX));
        from.at("mtu").taken(state::check_mtu(target.mtu, to));
        if (!from.has("via")) from.at("mtu").refuse("needs a gateway: no via");
    }
    if (!from.has("via") && from.has("port") && !target.recursive) {
        const reader port = from.at("port");
        if (from.has("onlink"))
            from.at("onlink").refuse("says where a gateway is, and there is none: no via");
        port.taken(find.check_link(port.text()));
        return {to, state::target_on_link(port.text())};
    }
    const reader via = from.at("via");
    if (!via.is_list()) {
        target.members.push_back(target.recursive ? read_beyond(from, to)
                                                  : read_member(from, to, in, find));
        return {to, target};
    }
    if (from.has("port"))
        from.at("port").refuse("is one port of several next hops; say it in each: {via, port}");
    if (from.has("onlink"))
        from.at("onlink").refuse("is for one of several next hops; say it in each: {via, port}");
    for (const reader& one : via.list("next hops")) {
        if (one.is_map()) one.expect_map({"via", "port", "weight", "onlink"});
        target.members.push_back(target.recursive ? read_beyond(one, to)
                                                  : read_member(one, to, in, find));
    }
    via.taken(state::arrange_members(target.members));
    return {to, target};
}

state::neighbour_name read_neighbour_name(const reader& from, const configuration& in) {
    const auto address = from.at("address").taken(parse_address(from.at("address").text()));
    neighbour_finder find(in);
    return {read_interface(in, find, from, "address", address), address};
}

void read_neighbour(const reader& from, configuration& into, bool replace) {
    key_list().add(neighbour_fields(), of_neighbour).expect(from, {"address", "port"});
    const state::neighbour_name name = read_neighbour_name(from, into);
    require_fields(from, neighbour_fields());
    state::neighbour says{.where = {from.where()}};
    read_fields(from, neighbour_fields(), of_neighbour, into, says);
    if (const auto [there, fresh] = into.neighbours.try_emplace(name, says); !fresh) {
        if (!replace) from.at("address").refuse("is " + name.address.text() + " again");
        there->second = std::move(says);
    }
}

}  // namespace turnpike::sources
