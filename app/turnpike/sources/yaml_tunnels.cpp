// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_tunnels.hpp"

#include <fmt/format.h>

#include "sources/fields.hpp"

namespace turnpike::sources {

using yaml::reader;

void check_tunnel(const reader& from, const state::tunnel& t) {
    if (t.to_group() && t.interface.empty())
        place_of(from, "remote")
            .refuse(
                fmt::format("is the group {}, which needs the key 'interface': the port, VLAN or "
                            "bridge that it is reached by",
                            t.remote.text()));
    if (!t.to_group() && !t.interface.empty())
        place_of(from, "interface")
            .refuse(
                fmt::format("is how a group is reached; 'remote' is {}, one host, whose packets "
                            "go by the routes",
                            t.remote.text()));
    if (t.local.v6 && from.has("dont_fragment"))
        from.at("dont_fragment").refuse("has no meaning over IPv6: routers do not fragment there");
}

void read_tunnel(const reader& from, state::configuration& into, bool replace) {
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
    for (const char* key : {"mtu", "checksum"})  // their defaults depend on the address family
        if (!from.has(key)) find_row(tunnel_fields(), of_tunnel, key)->at.reset(t);
    if (from.complaints() == complaints) from.attempt([&] { check_tunnel(from, t); });
    if (state::tunnel* const there = into.tunnels.find(name); there != nullptr && replace) {
        *there = std::move(t);
        read_fields(from, interface_fields(), of_tunnel, into, *into.interfaces.find(name));
        return;
    }
    state::interface on_it;
    on_it.port = name;
    on_it.where = t.where;
    read_fields(from, interface_fields(), of_tunnel, into, on_it);
    const bool taken = into.ports.find(name) != nullptr || into.bridges.find(name) != nullptr ||
                       !into.interfaces.add(name, std::move(on_it));
    if (taken)
        from.at("name").refuse(
            fmt::format("is '{}', which something else is called already", name));
    into.tunnels.add(name, std::move(t));
}

}  // namespace turnpike::sources
