// SPDX-License-Identifier: BSD-3-Clause
#include "state/tunnel_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace turnpike::state {
namespace {

constexpr size_t max_ends = 255;  ///< per family: endpoint4 (lib/tunnel) has 8 bits for the index

/// Rules of a single tunnel to a multicast group.
result<void> check_group(const configuration& in, const std::string& name, const tunnel& t) {
    const auto wrong = [&](std::string_view what) {
        return refuse(t.where, "tunnel '{}' reaches the group {} by '{}', which {}", name,
                      t.remote.text(), t.interface, what);
    };
    const interface* const by = in.interfaces.find(t.interface);
    if (by == nullptr) return wrong("is no interface: should be a port, a VLAN or a bridge");
    if (!by->has_ip()) return wrong("has no addresses of its own");
    if (by->vrf != t.vrf)
        return wrong(t.vrf.empty() ? "is in VRF '" + by->vrf + "'"
                                   : "is not in VRF '" + t.vrf + "'");
    // MLD uses the link-local address.
    const bool speaks =
        t.remote.v6 || std::any_of(by->addresses.begin(), by->addresses.end(),
                                   [](const ip_prefix& p) { return !p.address.v6; });
    if (!speaks) return wrong("has no IPv4 address to join it from");
    return {};
}

/// Rules of groups and other tunnels: a group has one interface, and one tunnel per VNI, local address and port.
class group_users {
  public:
    result<void> add(const std::string& name, const tunnel& t) {
        const auto [path, first] = paths_.emplace(std::tuple(t.vrf, t.remote), &t.interface);
        if (!first && *path->second != t.interface)
            return refuse(
                t.where,
                "tunnel '{}' reaches the group {} by '{}', and another by '{}': should be one",
                name, t.remote.text(), t.interface, *path->second);
        const auto [there, fresh] =
            of_group_.emplace(std::tuple(t.vrf, t.remote, t.udp_port, t.vni), name);
        if (!fresh)
            return refuse(t.where,
                          "tunnel '{}' has the group {}, the port and the VNI of tunnel '{}'", name,
                          t.remote.text(), there->second);
        const auto [other, alone] =
            of_local_.emplace(std::tuple(t.vrf, t.local, t.udp_port, t.vni), name);
        if (!alone)
            return refuse(t.where,
                          "tunnel '{}' leads from {} to a group, with the port and the VNI of "
                          "tunnel '{}' to a group: frames would be flooded twice",
                          name, t.local.text(), other->second);
        return {};
    }

  private:
    using user = std::tuple<std::string, ip_address, uint16_t, uint32_t>;
    std::map<std::tuple<std::string, ip_address>, const std::string*> paths_;
    std::map<user, std::string> of_group_, of_local_;
};

result<void> check_tunnel(const configuration& in, const std::string& name, const tunnel& t) {
    if (t.local.v6 != t.remote.v6)
        return refuse(t.where, "tunnel '{}' is from {} to {}: both should be of one family", name,
                      t.local.text(), t.remote.text());
    if (!t.vrf.empty() && in.vrfs.find(t.vrf) == nullptr)
        return refuse(t.where, "tunnel '{}' is in '{}', which is not a VRF", name, t.vrf);
    if (owner_of(in, t.vrf, t.local) == nullptr)
        return refuse(t.where, "tunnel '{}' ends at {}, which is not an address of ours{}", name,
                      t.local.text(), t.vrf.empty() ? "" : " in VRF '" + t.vrf + "'");
    if (const std::string* const ours = owner_of(in, t.vrf, t.remote))
        return refuse(t.where, "tunnel '{}' leads to {}, which is our own address on '{}'", name,
                      t.remote.text(), *ours);
    return t.to_group() ? check_group(in, name, t) : result<void>{};
}

}  // namespace

const std::string* owner_of(const configuration& in, const std::string& vrf, const ip_address& a) {
    for (const auto& [name, i] : in.interfaces) {
        if (i.vrf != vrf) continue;
        for (const ip_prefix& p : i.addresses)
            if (p.address == a) return &name;
    }
    return nullptr;
}

joined_groups groups_of(const configuration& in) {
    joined_groups out;
    for (const auto& [name, t] : in.tunnels)
        if (t.to_group()) out.emplace(t.interface, t.remote);
    return out;
}

namespace {

/// Rules of several tunnels.
class tunnel_set {
  public:
    result<void> add(const std::string& name, const tunnel& t) {
        if (t.to_group())
            if (auto good = groups_.add(name, t); !good) return good;
        const auto [there, fresh] =
            whose_.emplace(std::tuple(t.vrf, t.local, t.udp_port, t.remote, t.vni), name);
        if (!fresh)
            return refuse(t.where, "tunnel '{}' has the ends, the port and the VNI of tunnel '{}'",
                          name, there->second);
        auto& ends = ends_[t.local.v6];
        ends.emplace(t.vrf, t.local, t.udp_port);
        if (t.to_group()) ends.emplace(t.vrf, t.remote, t.udp_port);
        if (ends.size() > max_ends)
            return refuse(
                t.where,
                "tunnel '{}' ends at one more than {} addresses and ports of ours and groups", name,
                max_ends);
        return {};
    }

  private:
    std::map<std::tuple<std::string, ip_address, uint16_t, ip_address, uint32_t>, std::string>
        whose_;
    std::set<std::tuple<std::string, ip_address, uint16_t>> ends_[2];
    group_users groups_;
};

}  // namespace

void check_tunnels(const configuration& in, errors& found) {
    tunnel_set all;
    for (const auto& [name, t] : in.tunnels) {
        auto good = check_tunnel(in, name, t);
        add_error(found, good ? all.add(name, t) : std::move(good));
    }
}

}  // namespace turnpike::state
