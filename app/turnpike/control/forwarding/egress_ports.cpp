// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/egress_ports.hpp"

#include <algorithm>

namespace turnpike::control {
namespace {

/// The ports that are routed, or in a bridge whose packets are: of a routed interface, or of a tunnel.
std::set<std::string> routed_ports(const state::configuration& in) {
    std::set<std::string> ports, bridges, out;
    for (const auto& [name, i] : in.interfaces)
        if (i.has_ip() || in.is_tunnel(i))
            i.bridge.empty() ? ports.insert(i.port) : bridges.insert(i.bridge);
    for (const auto& [name, p] : in.ports)
        if (ports.contains(name) || bridges.contains(in.interfaces.at(name).bridge))
            out.insert(name);
    return out;
}

/// Whether the mirror copies packets that the port received.
bool copies(const state::configuration& in, const state::mirror& m, const std::string& from,
            const std::set<std::string>& leave_by) {
    const auto is_mirrored = [&](const std::string& port) {
        return m.bridge.empty() ? std::ranges::find(m.ports, port) != m.ports.end()
                                : in.interfaces.at(port).bridge == m.bridge;
    };
    return (m.in && is_mirrored(from)) || (m.out && std::ranges::any_of(leave_by, is_mirrored));
}

}  // namespace

egress_ports egress_ports_of(const state::configuration& in) {
    const std::set<std::string> routed = routed_ports(in);
    egress_ports out;
    for (const auto& [from, p] : in.ports) {
        const state::interface& i = in.interfaces.at(from);
        std::set<std::string>& to = out[from];
        if (routed.contains(from)) to = routed;
        if (i.kind == state::interface_kind::patched) to.insert(i.peer);
        if (!i.bridge.empty())
            for (const auto& [other, o] : in.ports)
                if (in.interfaces.at(other).bridge == i.bridge) to.insert(other);
        const std::set<std::string> leave_by = to;  // copies are not copied
        for (const auto& [name, m] : in.mirrors)
            if (copies(in, m, from, leave_by)) {
                if (m.remote)
                    to.insert(routed.begin(), routed.end());
                else
                    to.insert(m.to);
            }
    }
    return out;
}

}  // namespace turnpike::control
