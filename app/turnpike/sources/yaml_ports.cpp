// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_ports.hpp"

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
    if (into.ports.size() == state::max_ports)
        from.refuse(fmt::format("is one more than {}", state::max_ports));
    state::port port;
    state::interface on_it;
    const std::string name = from.at("name").name();
    read_members(from, into, port, on_it);
    from.attempt([&] { (void)from.at("device"); });
    on_it.port = name;
    const bool taken = into.ports.find(name) == nullptr && (into.interfaces.find(name) != nullptr ||
                                                            into.bridges.find(name) != nullptr);
    if (taken)
        from.at("name").refuse(
            fmt::format("is '{}', which a bridge or a VLAN's interface is called already", name));
    if (!into.ports.add(name, std::move(port)))
        from.at("name").refuse(fmt::format("is '{}' again; port names are unique", name));
    into.interfaces.add(name, std::move(on_it));
}

void read_port_changes(const reader& from, configuration& into) {
    const std::string name = from.at("name").text();
    state::port* port = into.ports.find(name);
    if (port == nullptr)
        from.at("name").refuse(fmt::format("names '{}', which is not a port", name.substr(0, 80)));
    read_members(from, into, *port, *into.interfaces.find(name));
}

void read_patch(const reader& from, configuration& into) {
    const auto ends = from.list("two ports");
    if (ends.size() != 2) from.refuse("should name two ports");
    std::string name[2];
    for (size_t i = 0; i < 2; ++i) {
        name[i] = ends[i].text();
        const state::interface* at = into.interfaces.find(name[i]);
        if (at == nullptr || at->port != name[i] || into.ports.find(name[i]) == nullptr)
            ends[i].refuse(fmt::format("names '{}', which is not a port", name[i].substr(0, 80)));
        if (at->kind == state::interface_kind::bridged)
            ends[i].refuse(fmt::format("names '{}', which is in bridge '{}'", name[i], at->bridge));
        if (!at->peer.empty() || (i == 1 && name[0] == name[1]))
            ends[i].refuse(fmt::format("uses '{}' again; a port has one patch", name[i]));
    }
    for (size_t i = 0; i < 2; ++i) {
        state::interface& end = *into.interfaces.find(name[i]);
        end.kind = state::interface_kind::patched;
        end.peer = name[1 - i];
    }
}

}  // namespace turnpike::sources
