// SPDX-License-Identifier: BSD-3-Clause
#include "sources/edits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "sources/fields.hpp"
#include "sources/old_keys.hpp"
#include "sources/route_file.hpp"
#include "sources/route_stream.hpp"
#include "sources/set_edits.hpp"
#include "sources/yaml_acl.hpp"
#include "sources/yaml_bridges.hpp"
#include "sources/yaml_objects.hpp"
#include "sources/yaml_routing.hpp"
#include "state/validate.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using yaml::complaint;
using yaml::reader;

constexpr const char* source_name = "socket";  ///< origin of edited objects

enum verb : size_t { add, replace, del, set, unset, verbs };
constexpr std::array<std::string_view, verbs> verb_names = {"add", "replace", "del", "set",
                                                            "unset"};

template <class... Values>
[[noreturn]] void refuse(const reader& from, int code, fmt::format_string<Values...> text,
                         Values&&... values) {
    throw complaint{error{code, from.where(), fmt::format(text, std::forward<Values>(values)...)}};
}

[[noreturn]] void is_there(const reader& from, const std::string& what) {
    refuse(from, EEXIST, "{} is there already; replace changes it", what);
}
[[noreturn]] void is_missing(const reader& from, const std::string& what) {
    refuse(from, ENOENT, "{} is not there", what);
}
/// Refuses to add an object that is there, and to delete one that is not.
void check_there(const reader& from, verb v, bool there, const std::string& what) {
    if (v == add && there) is_there(from, what);
    if (v == del && !there) is_missing(from, what);
}
/// The same for an object of a list that its name selects. Answers the name.
template <class List>
std::string checked_name(const reader& from, verb v, const List& list, const char* kind) {
    if (v == del) from.expect_map({"name"});
    std::string name = from.at("name").text();
    const bool there = list.find(name) != nullptr;
    check_there(from, v, there, fmt::format("{} '{}'", kind, name.substr(0, 80)));
    // `capture any`, `acl.in none`: an object of the name would be out of their reach. A file may have one.
    if (!there && (name == "any" || name == "none"))
        from.at("name").refuse("is '" + name + "', a word of commands; choose another name");
    return name;
}

/// A configuration being edited. The first edit of an ACL extracts its rules; they are put back, and count rules
/// divided into categories, once at the end.
struct edit_session {
    configuration& into;
    std::map<std::string, std::vector<state::acl_rule>, std::less<>> rules{};

    /// Current number of rules of an ACL.
    [[nodiscard]] size_t rules_of(const std::string& list) const {
        const auto there = rules.find(list);
        if (there != rules.end()) return there->second.size();
        const auto* const known = into.acls.find(list);
        return known == nullptr ? 0 : (*known)->rules.size();
    }
    void put_back() {
        for (auto& [list, all] : rules) put_rules(into.acls.find(list)->edit(), std::move(all));
        rules.clear();
    }
};

void edit_route(configuration& into, verb v, const reader& from) {
    if (v == del) {
        from.expect_map({"to", "vrf"});
        const ip_prefix to = from.at("to").taken(parse_destination(from.at("to").text()));
        if (!into.routes_of(read_vrf_of_routes(from, into)).remove(to))
            refuse(from, ENOENT, "the route to {} is {}", to.text(), route_not_configured);
        return;
    }
    const std::string vrf = read_vrf_of_routes(from, into);
    state::neighbour_finder find(into, vrf);
    const auto [to, target] = read_route(from, into, find);
    state::route_set& routes = into.routes_of(vrf);
    if (v == add && routes.at(to)) is_there(from, "the route to " + to.text());
    routes.set(to, target);
}

void edit_neighbour(configuration& into, verb v, const reader& from) {
    if (v == del) {
        from.expect_map({"address", "port"});
        const state::neighbour_name name = read_neighbour_name(from, into);
        if (into.neighbours.erase(name) == 0)
            is_missing(from, fmt::format("the static neighbour {} on '{}'", name.address.text(),
                                         name.interface));
        return;
    }
    if (v == add && into.neighbours.contains(read_neighbour_name(from, into)))
        is_there(from, "the static neighbour " + from.at("address").text());
    read_neighbour(from, into, v == replace);
}

state::interface& interface_of(configuration& in, const reader& from) {
    return named_object(from, in.interfaces, "a port");
}

/// replace: replaces all addresses of a port.
void edit_address(configuration& into, verb v, const reader& from) {
    if (v == replace) {
        from.expect_map({"port", "addresses"});
        state::interface& i = interface_of(into, from.at("port"));
        i.addresses = read_addresses(from.at("addresses"));
        i.where.text = from.where();
        return;
    }
    from.expect_map({"port", "address"});
    state::interface& i = interface_of(into, from.at("port"));
    auto& all = i.addresses;
    const ip_prefix a = read_address(from.at("address"));
    const auto there = std::find(all.begin(), all.end(), a);
    const std::string what =
        fmt::format("the address {} of port '{}'", a.text(), from.at("port").text());
    check_there(from, v, there != all.end(), what);
    if (v == add)
        all.push_back(a);
    else
        all.erase(there);
    i.where.text = from.where();  // an error of the change is no error of the file
}

void edit_port(configuration& into, verb v, const reader& from) {
    if (v == replace) return read_port_changes(from, into);
    const std::string name = checked_name(from, v, into.ports, "port");
    if (v == add) return read_port(from, into);
    if (const std::string& peer = into.interfaces.at(name).peer; !peer.empty())
        refuse(from, EBUSY, "port '{}' is in a patch with '{}'; del that first", name, peer);
    for (const auto& [neighbour, n] : into.neighbours)
        if (neighbour.interface == name)
            refuse(from, EBUSY, "port '{}' has the static neighbour {}; del that first", name,
                   neighbour.address.text());
    if (const std::string& bridge = into.interfaces.at(name).bridge; !bridge.empty())
        refuse(from, EBUSY, "port '{}' is a member of bridge '{}'; del that first", name, bridge);
    for (const auto& [interface, i] : into.interfaces)
        if (i.port == name && i.vlan != 0)
            refuse(from, EBUSY, "port '{}' has the interface '{}'; del that first", name,
                   interface);
    into.ports.remove(name);
    into.interfaces.remove(name);
}

/// replace: removes the two ports from their current patches.
void edit_patch(configuration& into, verb v, const reader& from) {
    const auto split_end = [&](const reader& end) {
        state::interface& i = interface_of(into, end);
        if (i.kind != state::interface_kind::patched) return;  // also for bridge ports
        state::interface& other = *into.interfaces.find(i.peer);
        for (state::interface* one : {&i, &other}) {
            one->kind = state::interface_kind::routed;
            one->peer.clear();
        }
    };
    const auto ends = from.list("two ports");
    if (ends.size() != 2) from.refuse("should name two ports");
    if (v == del) {
        if (interface_of(into, ends[0]).peer != ends[1].text())
            is_missing(from, fmt::format("the patch of '{}' and '{}'", ends[0].text().substr(0, 80),
                                         ends[1].text().substr(0, 80)));
        return split_end(ends[0]);
    }
    if (v == replace)
        for (const reader& end : ends) split_end(end);
    read_patch(from, into);
}

/// replace: replaces the bridge with its routed interfaces.
void edit_bridge(configuration& into, verb v, const reader& from) {
    const std::string name = checked_name(from, v, into.bridges, "bridge");
    if (into.bridges.find(name) != nullptr) remove_bridge(name, into);
    if (v != del) read_bridge(from, into);
}

void edit_member(configuration& into, verb v, const reader& from) {
    const reader name = from.at("bridge");
    const state::bridge& b = named_object(name, into.bridges, "a bridge");
    const std::string port = from.at("port").text(), bridge = name.text();
    const std::string what = fmt::format("member '{}' of bridge '{}'", port.substr(0, 80), bridge);
    if (v == del) from.expect_map({"bridge", "port"});
    check_there(from, v, b.member(port) != nullptr, what);
    if (v != del) return read_member(from, bridge, into, v == replace);
    remove_member(port, bridge, into);
}

/// A static FDB entry.
void edit_fdb(configuration& into, verb v, const reader& from) {
    state::bridge& b = named_object(from.at("bridge"), into.bridges, "a bridge");
    if (v == del)
        from.expect_map({"bridge", "mac", "vlan"});
    else
        from.expect_map({"bridge", "mac", "vlan", "port"});
    const auto [fdb_entry, port] = read_static_fdb_entry(from);
    const std::string what =
        fmt::format("station {} of bridge '{}'", fdb_entry.mac.text(), from.at("bridge").text());
    check_there(from, v, b.fixed.contains(fdb_entry), what);
    if (v != del && port.empty()) (void)from.at("port");  // reports the missing member
    if (v != del)
        b.fixed[fdb_entry] = port;
    else
        b.fixed.erase(fdb_entry);
    b.where.text = from.where();
}

void edit_vrf(configuration& into, verb v, const reader& from) {
    const std::string name = checked_name(from, v, into.vrfs, "VRF");
    if (v != del) {
        read_vrf(from, into, v == replace);
        return assign_tables(into);
    }
    for (const auto& [interface, i] : into.interfaces)
        if (i.vrf == name)
            refuse(from, EBUSY, "VRF '{}' has the interface '{}'; take that out first", name,
                   interface);
    into.vrfs.remove(name);
}

void edit_tunnel(configuration& into, verb v, const reader& from) {
    const std::string name = checked_name(from, v, into.tunnels, "tunnel");
    if (v != del) return read_tunnel(from, into, v == replace);
    if (const std::string& bridge = into.interfaces.at(name).bridge; !bridge.empty())
        refuse(from, EBUSY, "tunnel '{}' is a member of bridge '{}'; del that first", name, bridge);
    into.tunnels.remove(name);
    into.interfaces.remove(name);
}

/// A VLAN sub-interface of a port, or a bridge's routed interface for a VLAN.
void edit_interface(configuration& into, verb v, const reader& from) {
    if (v == del) from.expect_map({"port", "vlan"});
    const std::string port = from.at("port").text();
    const bool of_a_bridge = into.bridges.find(port) != nullptr;
    const auto vlan = static_cast<uint16_t>(from.at("vlan").number(1, state::last_vlan));
    const std::string name = state::interface_name(port, vlan);
    const state::interface* const i = into.interfaces.find(name);
    const bool there = i != nullptr && i->vlan == vlan &&
                       (of_a_bridge ? i->port.empty() && i->bridge == port : i->port == port);
    check_there(from, v, there, "interface '" + name.substr(0, 80) + "'");
    if (there) into.interfaces.remove(name);
    if (v == del) return;
    if (!of_a_bridge) return read_vlan_interface(from, into);
    key_list().add(interface_fields(), of_bridge).expect(from, {"port", "vlan"});
    add_routed_interface(from, port, vlan, into);
}

/// Bindings refer to ACLs by name, so validate() finds a deleted ACL.
void edit_acl(configuration& into, verb v, const reader& from) {
    const std::string name = checked_name(from, v, into.acls, "access list");
    if (v == del) {
        for (const auto& [port, i] : into.interfaces)
            for (const state::acl_binding& at : state::acl_bindings)
                if (i.*at.list == name)
                    refuse(from, EBUSY,
                           "access list '{}' is bound to port '{}'; replace that first", name,
                           port);
        into.acls.remove(name);
        return;
    }
    read_acl(from, into);
}

/// A rule, by its name or its position among the configured rules, from 1.
void edit_rule(edit_session& now, verb v, const reader& from) {
    auto& list = named_object(from.at("list"), now.into.acls, "an access list");
    if (v == del)
        from.expect_map({"list", "at", "name"});
    else if (v == add)
        from.expect_map({"list", "at", "rule"});
    else
        from.expect_map({"list", "at", "name", "rule"});
    const std::string name = from.at("list").text();
    auto at = now.rules.find(name);
    if (at == now.rules.end()) at = now.rules.emplace(name, extract_rules(list.edit())).first;
    edit_rules(at->second, from,
               v == add       ? list_edit::insert
               : v == replace ? list_edit::exchange
                              : list_edit::erase,
               list->l2);
}

void edit_mirror(configuration& into, verb v, const reader& from) {
    const std::string name = checked_name(from, v, into.mirrors, "mirror");
    if (v != del) return read_mirror(from, into, v == replace);
    into.mirrors.remove(name);
}

struct object_edit {
    std::string_view name;
    void (*make)(configuration&, verb, const reader&);
};
constexpr object_edit object_edits[] = {{"route", edit_route},     {"neighbour", edit_neighbour},
                                        {"address", edit_address}, {"port", edit_port},
                                        {"patch", edit_patch},     {"acl", edit_acl},
                                        {"bridge", edit_bridge},   {"member", edit_member},
                                        {"fdb", edit_fdb},         {"interface", edit_interface},
                                        {"vrf", edit_vrf},         {"tunnel", edit_tunnel},
                                        {"mirror", edit_mirror}};

/// {verb: {kind: object}}, each map with one entry.
void make_edit(edit_session& now, const reader& from) {
    from.expect_map({}, verb_names);
    const auto v = std::find_if(verb_names.begin(), verb_names.end(),
                                [&](std::string_view name) { return from.has(name); });
    if (from.size() != 1) from.refuse("should have one of add, replace, del, set and unset, alone");
    const reader what = from.at(*v);
    if (what.is_map() && what.size() != 1) what.refuse("should have one object, alone");
    if (*v == verb_names[unset]) return edit_unset(now.into, what);
    if (*v == verb_names[set]) return edit_set(now.into, what);
    what.expect_map({"route", "neighbour", "address", "port", "patch", "acl", "rule", "bridge",
                     "member", "fdb", "interface", "vrf", "tunnel", "mirror"});
    const auto does = static_cast<verb>(v - verb_names.begin());
    if (what.has("rule")) return edit_rule(now, does, what.at("rule"));
    if (what.has("acl")) now.put_back();
    for (const object_edit& k : object_edits)
        if (what.has(k.name)) k.make(now.into, does, what.at(k.name));
}

/// Number of rules that an edit scans; 0: not a rule edit.
size_t rules_of(const edit_session& now, const reader& from) {
    for (const std::string_view v : verb_names)
        if (from.has(v) && from.at(v).has("rule") && from.at(v).at("rule").has("list"))
            return now.rules_of(from.at(v).at("rule").at("list").text());
    return 0;
}

}  // namespace

result<void> edit_unchecked(configuration& into, std::string_view list) {
    constexpr size_t most = 65536;
    // Sum of all edits: 40 million block the control thread for 0.4 s.
    constexpr size_t max_rules = 50'000'000;
    auto root = yaml::parse_yaml(list, source_name, "do");
    if (!root) return tl::unexpected<error>(root.error());
    auto old_keys = rename_old_keys(*root);
    if (!old_keys) return tl::unexpected<error>(old_keys.error());
    into.old_keys = std::move(*old_keys);
    try {
        const auto edits = reader(*root).list("changes");
        if (edits.size() > most)
            return fail(EINVAL, source_name, fmt::format("more than {} changes in one", most));
        size_t rules = 0;
        edit_session now{into};
        for (const reader& one : edits) {
            make_edit(now, one);
            rules += rules_of(now, one);
            if (rules > max_rules)
                refuse(one, EINVAL,
                       "so many changes of single rules in a list so long would hold up all else; "
                       "replace the list's rules instead");
        }
        now.put_back();
    } catch (const complaint& c) {
        return tl::unexpected<error>(c.what);
    }
    return {};
}

result<void> edit(configuration& into, std::string_view list) {
    if (auto made = edit_unchecked(into, list); !made) return made;
    return state::validate(into);
}

}  // namespace turnpike::sources
