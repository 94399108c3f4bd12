// SPDX-License-Identifier: BSD-3-Clause
#include "sources/set_edits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "sources/fields.hpp"
#include "sources/settings.hpp"
#include "sources/yaml_bridges.hpp"
#include "sources/yaml_objects.hpp"
#include "sources/yaml_routing.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using yaml::reader;

/// An object, or the settings, with the tables of its keys.
class target {
  public:
    /// names  the keys that name the object
    explicit target(std::initializer_list<std::string_view> names) : names_(names) {}

    template <class Object>
    void add(std::span<const field<Object>> table, unsigned kinds, const configuration& in,
             Object& of) {
        list_.add(table, kinds);
        add_keys(keys_, table, kinds);
        read_.push_back([table, kinds, &in, &of](const reader& from) {
            read_fields(from, table, kinds, in, of);
        });
        reset_.push_back([table, kinds, &of](const reader& key) {
            const field<Object>* const f = find_row(table, kinds, key.text());
            if (f == nullptr) return false;
            if (f->required) key.refuse("names '{}', which has no default", f->key);
            f->at.reset(of);
            return true;
        });
        if constexpr (requires { of.where; }) origins_.push_back(&of.where);
    }
    /// Calls a function after a change, with the map of the edit, which is the objects' origin. It may remove the objects.
    void then(std::function<void(const reader&)> finish) { finish_ = std::move(finish); }

    void set(const reader& from) const {
        list_.expect(from, names_);
        for (const auto& read : read_) read(from);
        complete(from);
    }
    void unset(const reader& from) const {
        std::vector<std::string_view> allowed = names_;
        allowed.push_back("keys");
        from.expect_map({}, allowed);
        for (const reader& key : from.at("keys").list("keys"))
            if (std::ranges::none_of(reset_, [&](const auto& reset) { return reset(key); }))
                key.refuse("is '{}', which is no key of {}; keys are {}{}",
                           key.text().substr(0, 80), name_, fmt::join(keys_, ", "),
                           yaml::suggestion(key.text(), keys_));
        complete(from);
    }
    void call(std::string name) { name_ = std::move(name); }

  private:
    void complete(const reader& from) const {
        for (state::origin* const one : origins_) one->text = from.where();
        if (finish_) finish_(from);
    }

    std::vector<std::string_view> names_;
    std::string name_{};
    std::vector<state::origin*> origins_{};
    key_list list_{};
    std::vector<std::string_view> keys_{};
    std::vector<std::function<void(const reader&)>> read_{};
    std::vector<std::function<bool(const reader&)>> reset_{};
    std::function<void(const reader&)> finish_{};
};

target port_target(configuration& in, const reader& from) {
    const reader name = from.at("name");
    target out({"name"});
    out.add(port_fields(), of_port, in, named_object(name, in.ports, "a port"));
    out.add(interface_fields(), of_port, in, *in.interfaces.find(name.text()));
    return out;
}

target interface_target(configuration& in, const reader& from) {
    state::interface& i = named_object(from.at("name"), in.interfaces, "an interface");
    const unsigned mask = kind_of(i, in);
    for (const field<state::port>& f : port_fields())
        if (find_field(from, f.key) && find_row(interface_fields(), mask, f.key) == nullptr)
            from.at(top_key(f.key)).refuse("is a key of the port: set port, not interface");
    target out({"name"});
    out.add(interface_fields(), mask, in, i);
    return out;
}

/// Whether an edit unsets the keys without which a bridge has no routed interface.
bool unsets_use(const reader& at) {
    if (!at.has("keys")) return false;
    return std::ranges::any_of(at.at("keys").list("keys"), [](const reader& key) {
        return key.text() == "addresses" || key.text() == "host_interface";
    });
}

/// A bridge, and its routed interface for untagged frames.
target bridge_target(configuration& in, const reader& from) {
    const std::string name = from.at("name").text();
    state::bridge& b = named_object(from.at("name"), in.bridges, "a bridge");
    const bool is_new = in.interfaces.find(name) == nullptr;
    if (is_new) in.interfaces.add(name, {.bridge = name});
    target out({"name"});
    out.add(bridge_fields(), of_bridge, in, b);
    out.add(interface_fields(), of_bridge, in, *in.interfaces.find(name));
    out.then([&in, name, is_new](const reader& at) {
        const state::interface& routed = *in.interfaces.find(name);
        if (!routed.addresses.empty() || routed.host_interface) return;
        for (const field<state::interface>& f : interface_fields())
            if (is_new && f.key != "host_interface" && find_field(at, f.key))
                at.at(top_key(f.key)).refuse("needs addresses of the bridge");
        // The last use is gone. An interface with other keys stays, as a later edit may give it addresses again.
        if ((is_new || unsets_use(at)) && routed == state::interface{.bridge = name})
            in.interfaces.remove(name);
    });
    return out;
}

target member_target(configuration& in, const reader& from) {
    state::bridge& b = named_object(from.at("bridge"), in.bridges, "a bridge");
    const std::string port = from.at("port").text();
    const auto m = std::ranges::find(b.members, port, &state::bridge_member::port);
    if (m == b.members.end()) {
        std::vector<std::string_view> ports;
        for (const state::bridge_member& other : b.members) ports.push_back(other.port);
        from.at("port").refuse("names '{}', which is not a member of bridge '{}'{}",
                               port.substr(0, 80), from.at("bridge").text(),
                               yaml::suggestion(port, ports));
    }
    target out({"bridge", "port"});
    out.add(member_fields(), of_member, in, *m);
    out.then([&member = *m, &b](const reader& at) {
        fit_member(at, member);
        b.where.text = at.where();
    });
    return out;
}

/// After a change of the address family: the values that were the other family's defaults.
void reset_defaults_of_family(const reader& at, const state::tunnel& before, state::tunnel& t) {
    state::tunnel usual = before;
    for (const std::string_view key : tunnel_keys_of_family) {
        const field<state::tunnel>& f = *find_row(tunnel_fields(), of_tunnel, key);
        f.at.reset(usual);
        if (!at.has(key) && f.at.write(before, f.type) == f.at.write(usual, f.type)) f.at.reset(t);
    }
}

target tunnel_target(configuration& in, const reader& from) {
    state::tunnel& t = named_object(from.at("name"), in.tunnels, "a tunnel");
    target out({"name"});
    out.add(tunnel_fields(), of_tunnel, in, t);
    out.add(interface_fields(), of_tunnel, in, *in.interfaces.find(from.at("name").text()));
    out.then([&t, before = t](const reader& at) {
        if (t.local.v6 != before.local.v6) reset_defaults_of_family(at, before, t);
        check_tunnel(at, t);
    });
    return out;
}

target mirror_target(configuration& in, const reader& from) {
    target out({"name"});
    out.add(mirror_fields(), of_mirror, in, named_object(from.at("name"), in.mirrors, "a mirror"));
    return out;
}

target vrf_target(configuration& in, const reader& from) {
    target out({"name"});
    out.add(vrf_fields(), of_vrf, in, named_object(from.at("name"), in.vrfs, "a VRF"));
    out.then([&](const reader&) { assign_tables(in); });
    return out;
}

target neighbour_target(configuration& in, const reader& from) {
    const auto there = in.neighbours.find(read_neighbour_name(from, in));
    if (there == in.neighbours.end())
        from.at("address").refuse("is {}, which is no static neighbour", from.at("address").text());
    target out({"address", "port"});
    out.add(neighbour_fields(), of_neighbour, in, there->second);
    return out;
}

struct settable {
    std::string_view kind;
    target (*find)(configuration& in, const reader& from);
};
constexpr settable settables[] = {{"port", port_target},     {"interface", interface_target},
                                  {"bridge", bridge_target}, {"member", member_target},
                                  {"tunnel", tunnel_target}, {"mirror", mirror_target},
                                  {"vrf", vrf_target},       {"neighbour", neighbour_target}};

/// The object of an edit; its kind is the map's only key. None: the edit is of settings.
std::optional<std::pair<target, reader>> object_target(configuration& into, const reader& what) {
    for (const settable& kind : settables) {
        if (!what.has(kind.kind)) continue;
        const reader from = what.at(kind.kind);
        target out = kind.find(into, from);
        const char* const key = from.has("name") ? "name" : from.has("port") ? "port" : "address";
        out.call("'" + from.at(key).text() + "'");
        return std::pair(std::move(out), from);
    }
    return std::nullopt;
}

}  // namespace

void edit_set(configuration& into, const reader& what) {
    if (const auto object = object_target(into, what)) return object->first.set(object->second);
    key_list keys = settings_keys();
    for (const settable& kind : settables) keys.add(kind.kind);
    keys.expect(what, {});
    if (what.has("neighbours") && what.at("neighbours").has("static"))
        what.at("neighbours")
            .at("static")
            .refuse("is not a setting: add, replace or del a neighbour");
    read_settings(what, into);
}

void edit_unset(configuration& into, const reader& what) {
    std::vector<std::string_view> kinds;
    for (const settable& kind : settables) kinds.push_back(kind.kind);
    kinds.push_back("settings");
    what.expect_map({}, kinds);
    if (const auto object = object_target(into, what)) return object->first.unset(object->second);
    target settings({});
    settings.add(process_fields(), of_process, into, into);
    settings.add(settings_fields(), of_settings, into, into);
    settings.call("the settings");
    settings.unset(what.at("settings"));
}

}  // namespace turnpike::sources
