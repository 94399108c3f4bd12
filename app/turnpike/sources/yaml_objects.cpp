// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_objects.hpp"

#include <fmt/format.h>

#include "sources/fields.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using yaml::reader;

/// The keys of a port and of its untagged interface.
void read_members(const reader& from, const configuration& in, state::port& port,
                  state::interface& on_it) {
    key_list().add(port_fields(), of_port).add(interface_fields(), of_port).expect(from, {"name"});
    read_fields(from, port_fields(), of_port, in, port);
    read_fields(from, interface_fields(), of_port, in, on_it);
    port.where.text = on_it.where.text = from.where();
}

}  // namespace

void read_port(const reader& from, configuration& into) {
    if (into.ports.size() == state::max_ports) from.refuse("is one more than {}", state::max_ports);
    state::port port;
    state::interface on_it;
    const std::string name = from.at("name").name();
    read_members(from, into, port, on_it);
    from.attempt([&] { (void)from.at("device"); });
    on_it.port = name;
    const bool taken = into.ports.find(name) == nullptr && (into.interfaces.find(name) != nullptr ||
                                                            into.bridges.find(name) != nullptr);
    if (taken)
        from.at("name").refuse("is '{}', which a bridge or a VLAN's interface is called already",
                               name);
    if (!into.ports.add(name, std::move(port)))
        from.at("name").refuse("is '{}' again; port names are unique", name);
    into.interfaces.add(name, std::move(on_it));
}

void read_port_changes(const reader& from, configuration& into) {
    state::port& port = named_object(from.at("name"), into.ports, "a port");
    read_members(from, into, port, *into.interfaces.find(from.at("name").text()));
}

void read_patch(const reader& from, configuration& into) {
    const auto ends = from.list("two ports");
    if (ends.size() != 2) from.refuse("should name two ports");
    for (const reader& end : ends) {
        (void)named_object(end, into.ports, "a port");
        const state::interface& i = into.interfaces.at(end.text());
        if (i.kind == state::interface_kind::bridged)
            end.refuse("names '{}', which is in bridge '{}'", end.text(), i.bridge);
        if (!i.peer.empty() || (&end == &ends[1] && end.text() == ends[0].text()))
            end.refuse("uses '{}' again; a port has one patch", end.text());
    }
    for (const size_t n : {size_t{0}, size_t{1}}) {
        state::interface& i = *into.interfaces.find(ends[n].text());
        i.kind = state::interface_kind::patched;
        i.peer = ends[1 - n].text();
    }
}

void check_tunnel(const reader& from, const state::tunnel& t) {
    if (t.to_group() && t.interface.empty())
        place_of(from, "remote")
            .refuse(
                "is the group {}, which needs the key 'interface': the port, VLAN or bridge that "
                "it is reached by",
                t.remote.text());
    if (!t.to_group() && !t.interface.empty())
        place_of(from, "interface")
            .refuse(
                "is how a group is reached; 'remote' is {}, one host, whose packets go by the "
                "routes",
                t.remote.text());
    if (t.local.v6 && from.has("dont_fragment"))
        from.at("dont_fragment").refuse("has no meaning over IPv6: routers do not fragment there");
}

void read_tunnel(const reader& from, configuration& into, bool replace) {
    key_list()
        .add(tunnel_fields(), of_tunnel)
        .add(interface_fields(), of_tunnel)
        .expect(from, {"name"});
    const std::string name = from.at("name").name();
    const size_t complaints = from.complaints();
    require_fields(from, tunnel_fields());
    state::tunnel t;
    t.where.text = from.where();
    read_fields(from, tunnel_fields(), of_tunnel, into, t);
    for (const std::string_view key : tunnel_keys_of_family)
        if (!from.has(key)) find_row(tunnel_fields(), of_tunnel, key)->at.reset(t);
    if (from.complaints() == complaints) from.attempt([&] { check_tunnel(from, t); });
    if (state::tunnel* const there = into.tunnels.find(name); there != nullptr && replace) {
        state::interface& on_it = *into.interfaces.find(name);
        for (const field<state::interface>& f : interface_fields())
            if ((f.kinds & of_tunnel) != 0) f.at.reset(on_it);
        on_it.where = t.where;
        *there = std::move(t);
        read_fields(from, interface_fields(), of_tunnel, into, on_it);
        return;
    }
    state::interface on_it;
    on_it.port = name;
    on_it.where = t.where;
    read_fields(from, interface_fields(), of_tunnel, into, on_it);
    const bool taken = into.ports.find(name) != nullptr || into.bridges.find(name) != nullptr ||
                       !into.interfaces.add(name, std::move(on_it));
    if (taken) from.at("name").refuse("is '{}', which something else is called already", name);
    into.tunnels.add(name, std::move(t));
}

void read_mirror(const reader& from, configuration& into, bool replace) {
    key_list().add(mirror_fields(), of_mirror).expect(from, {"name"});
    require_fields(from, mirror_fields());
    state::mirror m;
    m.where.text = from.where();
    read_fields(from, mirror_fields(), of_mirror, into, m);
    const std::string name = from.at("name").name();
    state::mirror* const there = into.mirrors.find(name);
    if (there != nullptr && !replace)
        from.at("name").refuse("is '{}', which another mirror is called", name);
    if (there != nullptr)
        *there = std::move(m);
    else
        into.mirrors.add(name, std::move(m));
}

}  // namespace turnpike::sources
