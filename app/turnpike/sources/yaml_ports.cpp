// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_ports.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sources/yaml_acl.hpp"
#include "sources/yaml_interface.hpp"

namespace turnpike::sources {
namespace {

using state::configuration;
using yaml::reader;

state::pcie read_pcie(const reader& from) {
    from.expect_map({"profile", "link", "mps", "mrrs"});
    state::pcie out;
    if (from.has("profile")) out.profile = from.at("profile").text();
    if (from.has("link")) out.link = from.at("link").text();
    out.mps = from.number_or("mps", out.mps, 128, 4096);
    out.mrrs = from.number_or("mrrs", out.mrrs, 128, 4096);
    return out;
}

/// Canonical spelling of a device: "0000:3b:00.0" for "3b:00.0" and "3B:0.0", with its arguments.
std::string one_spelling(const std::string& device) {
    const std::string name = device.substr(0, device.find(','));
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    int used = 0;
    const auto whole = [&](int fields, int wanted) {
        return fields == wanted && static_cast<size_t>(used) == name.size();
    };
    if (!whole(std::sscanf(name.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &used),
               4)) {
        domain = 0;
        if (!whole(std::sscanf(name.c_str(), "%x:%x.%x%n", &bus, &slot, &function, &used), 3))
            return device;
    }
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}{}", domain, bus, slot, function,
                       device.substr(name.size()));
}

/// Members of a port and of its interface.
void read_members(const reader& from, const configuration& in, state::port& port,
                  state::interface& on_it) {
    from.expect_map({"name", "device", "mtu", "rx_queues", "rx_workers", "descriptors",
                     "udp_checksums", "pcie", "acl", "addresses"},
                    routing_keys);
    if (from.has("device")) {
        port.device = from.at("device").text();
        if (port.device.size() > 512) from.at("device").refuse("is longer than 512 characters");
        port.device = one_spelling(port.device);
    }
    port.mtu = from.number_or("mtu", port.mtu, 68, 65535 - 18);
    port.rx_queues = from.number_or("rx_queues", port.rx_queues, 1, 1024);
    port.descriptors = from.number_or("descriptors", port.descriptors, 32, 32768);
    if (from.has("udp_checksums"))
        port.device_sums_udp = from.at("udp_checksums").word({"software", "device"}) == 1;
    if (from.has("rx_workers")) {
        port.rx_workers.clear();
        for (const reader& lcore : from.at("rx_workers").list("lcores"))
            port.rx_workers.push_back(static_cast<unsigned>(lcore.number(0, state::max_lcore)));
    }
    if (from.has("pcie")) port.bill = read_pcie(from.at("pcie"));
    read_routing(from, on_it);
    if (from.has("acl")) read_bindings(in, from.at("acl"), on_it);
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
    (void)from.at("device");
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
