// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "state/configuration.hpp"
#include "state/mirror.hpp"
#include "state/tunnel_rules.hpp"

namespace turnpike::state {
namespace {

/// The rest of the sentence "mirror 'NAME' ..."; empty: good.
std::string wrong_with_source(const configuration& in, const mirror& m) {
    if (m.ports.empty() == m.bridge.empty()) return "should have either `ports` or `bridge`";
    for (auto port = m.ports.begin(); port != m.ports.end(); ++port) {
        if (in.ports.find(*port) == nullptr)
            return fmt::format("copies from '{}', which is no port", *port);
        if (*port == m.to) return fmt::format("copies from '{}' to itself", *port);
        if (std::find(m.ports.begin(), port, *port) != port)
            return fmt::format("names port '{}' twice", *port);
    }
    if (!m.bridge.empty()) {
        const bridge* const of = in.bridges.find(m.bridge);
        if (of == nullptr) return fmt::format("copies from '{}', which is no bridge", m.bridge);
        if (!m.to.empty() && of->member(m.to) != nullptr)
            return fmt::format("copies from the bridge '{}' to its member '{}'", m.bridge, m.to);
    }
    if (!m.list.empty() && in.acls.find(m.list) == nullptr)
        return fmt::format("copies by '{}', which is not an access list", m.list);
    return {};
}

std::string wrong_with_remote(const configuration& in, const mirror& m) {
    if (m.to_vlan) return "has `to_vlan`, which needs `to`";
    if (!m.local) return "has `remote`, which needs `local`";
    if (m.local->v6 != m.remote->v6)
        return fmt::format("copies from {} to {}: both should be of one family", m.local->text(),
                           m.remote->text());
    if (m.vni && (m.session != 0 || m.erspan_type != mirror().erspan_type))
        return fmt::format("has `{}`, which is of ERSPAN, and `vni`, which is of VXLAN",
                           m.session != 0 ? "session" : "erspan_type");
    if (!m.vni && m.udp_port != mirror().udp_port) return "has `udp_port`, which needs `vni`";
    if (!m.vrf.empty() && in.vrfs.find(m.vrf) == nullptr)
        return fmt::format("is in '{}', which is not a VRF", m.vrf);
    const std::string where = m.vrf.empty() ? "" : " in VRF '" + m.vrf + "'";
    if (owner_of(in, m.vrf, *m.local) == nullptr)
        return fmt::format("copies from {}, which is not a local address{}", m.local->text(),
                           where);
    if (const std::string* const ours = owner_of(in, m.vrf, *m.remote))
        return fmt::format("copies to {}, which is our own address on '{}'", m.remote->text(),
                           *ours);
    return {};
}

std::string wrong_with_destination(const configuration& in, const mirror& m) {
    if (m.to.empty() == !m.remote.has_value()) return "should have either `to` or `remote`";
    if (m.remote) return wrong_with_remote(in, m);
    for (const auto& [key, there] : {std::pair{"local", m.local.has_value()},
                                     {"vrf", !m.vrf.empty()},
                                     {"session", m.session != 0},
                                     {"erspan_type", m.erspan_type != mirror().erspan_type},
                                     {"vni", m.vni.has_value()},
                                     {"udp_port", m.udp_port != mirror().udp_port}})
        if (there) return fmt::format("has `{}`, which needs `remote`", key);
    if (in.ports.find(m.to) == nullptr)
        return fmt::format("copies to '{}', which is no port", m.to);
    return {};
}

}  // namespace

result<void> check_mirrors(const configuration& in) {
    for (const auto& [name, m] : in.mirrors) {
        std::string what = wrong_with_destination(in, m);
        if (what.empty()) what = wrong_with_source(in, m);
        if (!what.empty()) return refuse(m.where, "mirror '{}' {}", name, what);
    }
    if (in.mirrors.size() > max_mirrors)
        return fail(
            EINVAL, in.file,
            fmt::format("{} mirrors; at most {} are possible", in.mirrors.size(), max_mirrors));
    return {};
}

}  // namespace turnpike::state
