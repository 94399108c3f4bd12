// SPDX-License-Identifier: BSD-3-Clause
#include "state/tunnel_rules.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

namespace turnpike::state {
namespace {

constexpr size_t most_ends = 255;  ///< of ours, of each family (datapath/tunnel.hpp)

result<void> refuse(const tunnel& t, std::string text) {
    return fail(EINVAL, t.where.text, std::move(text));
}

/// On which interface of a VRF an address is ours; null: on none.
const std::string* owner_of(const desired& in, const std::string& vrf, const ip_address& a) {
    for (const auto& [name, i] : in.interfaces) {
        if (i.vrf != vrf) continue;
        for (const ip_prefix& p : i.addresses)
            if (p.address == a) return &name;
    }
    return nullptr;
}

result<void> check_tunnel(const desired& in, const std::string& name, const tunnel& t) {
    if (t.local.v6 != t.remote.v6)
        return refuse(t, fmt::format("tunnel '{}' is from {} to {}: both should be of one family",
                                     name, t.local.text(), t.remote.text()));
    if (!t.vrf.empty() && in.vrfs.find(t.vrf) == nullptr)
        return refuse(t, fmt::format("tunnel '{}' is in '{}', which is not a VRF", name, t.vrf));
    if (owner_of(in, t.vrf, t.local) == nullptr)
        return refuse(t,
                      fmt::format("tunnel '{}' ends at {}, which is not an address of ours{}", name,
                                  t.local.text(), t.vrf.empty() ? "" : " in VRF '" + t.vrf + "'"));
    if (const std::string* const ours = owner_of(in, t.vrf, t.remote))
        return refuse(t, fmt::format("tunnel '{}' leads to {}, which is our own address on '{}'",
                                     name, t.remote.text(), *ours));
    return {};
}

}  // namespace

result<void> check_tunnels(const desired& in) {
    std::map<std::tuple<std::string, ip_address, uint16_t, ip_address, uint32_t>, std::string>
        whose;
    std::set<std::tuple<std::string, ip_address, uint16_t>> ends[2];
    for (const auto& [name, t] : in.tunnels) {
        if (auto good = check_tunnel(in, name, t); !good) return good;
        const auto [there, fresh] =
            whose.emplace(std::tuple(t.vrf, t.local, t.udp_port, t.remote, t.vni), name);
        if (!fresh)
            return refuse(
                t, fmt::format("tunnel '{}' has the ends, the port and the VNI of tunnel '{}'",
                               name, there->second));
        ends[t.local.v6].emplace(t.vrf, t.local, t.udp_port);
        if (ends[t.local.v6].size() > most_ends)
            return refuse(
                t, fmt::format("tunnel '{}' ends at one more than {} addresses and ports of ours",
                               name, most_ends));
    }
    return {};
}

}  // namespace turnpike::state
