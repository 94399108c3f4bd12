// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/interfaces.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "control/routing/special_purpose.hpp"
#include "packet/ipv6.hpp"
#include "state/tunnel_rules.hpp"
#include "state/validate.hpp"

namespace turnpike::control {
namespace {

using datapath::interface_addresses;

static_assert(state::max_interfaces + 1 == datapath::max_interfaces);

constexpr ipv6_address all_routers{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
    all_routers_of_site{{0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};

interface_addresses::v4_network v4_network_of(const ip_prefix& a) noexcept {
    const uint32_t host_bits = a.length == 32 ? 0 : 0xffff'ffffU >> a.length;
    const uint32_t network = a.address.v4() & ~host_bits;
    if (a.length >= 31) return {a.address.v4(), 0, 0};  // RFC 3021
    return {a.address.v4(), network, network | host_bits};
}

void add_passes(interface_addresses& to, const state::interface& config) {
    for (const state::host_pass& one : config.passes) {
        if (const auto* const group = std::get_if<ip_address>(&one.what))
            to.passes.groups.push_back(*group);
        else if (const auto* const mac = std::get_if<mac_address>(&one.what))
            to.passes.macs.push_back(*mac);
        else
            to.passes.types.push_back(std::get<state::ether_type>(one.what).value);
    }
}

/// RFC 4291 section 2.8: groups that a router joins; and tunnels' multicast groups.
interface_addresses addresses_of(const state::interface& config, const mac_address& mac,
                                 const std::vector<ip_address>& groups) {
    interface_addresses out;
    out.prefixes = config.addresses;
    out.extra_macs = config.extra_macs;
    add_passes(out, config);
    out.v6.push_back(packet::link_local(mac));
    for (const ip_prefix& a : config.addresses) {
        if (a.address.v6)
            out.v6.push_back(a.address.v6_bytes());
        else
            out.v4.push_back(v4_network_of(a));
    }
    for (const ip_address& a : config.no_dad) out.no_dad.push_back(a.v6_bytes());
    out.v6_groups = {packet::ipv6_all_nodes, all_routers, all_routers_of_site};
    for (const ipv6_address& a : out.v6) {
        const ipv6_address group = packet::solicited_node(a);
        if (std::find(out.v6_groups.begin(), out.v6_groups.end(), group) == out.v6_groups.end())
            out.v6_groups.push_back(group);
    }
    for (const ip_address& group : groups) {
        if (group.v6)
            out.v6_groups.push_back(group.v6_bytes());
        else
            out.v4_groups.push_back(group.v4());
    }
    return out;
}

void add_own(datapath::own_addresses& own, const interface_addresses& a) {
    for (const auto& v4 : a.v4) {
        own.add(v4.address);
        if (v4.broadcast == 0) continue;
        own.add(v4.network);
        own.add(v4.broadcast);
    }
    for (const ipv6_address& v6 : a.v6) own.add(v6);
}

/// The routes derived from an interface's addresses.
void add_derived(std::map<ip_prefix, uint32_t>& into, const interface_addresses& a,
                 uint32_t glean) {
    for (const ip_prefix& p : a.prefixes) into.emplace(p.network(), glean);
    for (const auto& v4 : a.v4)
        if (v4.broadcast != 0)
            for (const uint32_t unusable : {v4.network, v4.broadcast})
                into.emplace(ip_prefix{ip_address::from_v4(unusable), 32},
                             datapath::fixed_nexthop::broadcast);
    for (const ip_prefix& p : a.prefixes)
        into[{p.address, static_cast<uint8_t>(p.address.bits())}] = datapath::fixed_nexthop::local;
}

}  // namespace

const std::string& interfaces::name_of(uint16_t ifindex) const noexcept {
    static const std::string none;
    return ifindex < names_.size() && names_[ifindex] != nullptr ? *names_[ifindex] : none;
}

class interfaces::prepared_interfaces : public prepared_change {
  public:
    explicit prepared_interfaces(interfaces& of) : of_(of), glean_(of.glean_) {}

    /// An interface keeps its index as long as its port, its VRF and its VLAN are the same, and a routed one its MAC
    /// address: next hops of its neighbours have all of these.
    result<void> assign_indexes(transaction& c) {
        std::vector<bool> used(datapath::max_interfaces);
        used[0] = true;
        for (const auto& [name, ifindex] : of_.ifindexes_) used[ifindex] = true;
        for (const auto& [name, t] : c.after.tunnels) c.port_index_of[name] = datapath::tunnel_port;
        for (const auto& [name, config] : c.after.interfaces) {
            const auto was = of_.ifindexes_.find(name);
            const datapath::interface* const running = running_as(name);
            const bool same = running != nullptr && running->port == port_of(c, name, config) &&
                              running->vrf == vrf_of(c, config) && running->vlan == config.vlan &&
                              (config.kind != state::interface_kind::routed ||
                               running->mac == mac_of(c, name, config));
            const auto free = same ? was->second
                                   : static_cast<uint16_t>(
                                         std::find(used.begin(), used.end(), false) - used.begin());
            if (free == used.size())
                return fail(ENOSPC, config.where.text,
                            fmt::format("more than {} interfaces at a time: interfaces that this "
                                        "change removes count until its end; remove them first",
                                        state::max_interfaces));
            used[free] = true;
            ifindexes_.emplace(name, free);
        }
        for (const auto& [name, ifindex] : ifindexes_) names_[ifindex] = &name;
        c.ifindex_of = ifindexes_;
        return {};
    }

    result<void> fill(transaction& c) {
        std::map<std::string, std::vector<ip_address>, std::less<>> groups;
        for (const auto& [name, group] : state::groups_of(c.after)) groups[name].push_back(group);
        for (const auto& [name, config] : c.after.interfaces) {
            const uint16_t ifindex = ifindexes_.at(name);
            datapath::interface& to = c.snapshot->interfaces[ifindex];
            to.mac = mac_of(c, name, config);
            describe(c, name, config, ifindex, to);
            c.snapshot->paths[ifindex] = path_of(c, config, to);
            if (to.kind != datapath::interface_kind::routed) continue;
            const auto glean = glean_of(ifindex, to);
            if (!glean)
                return fail(ENOSPC, config.where.text,
                            "no next hop is left; allow more neighbours (neighbours.max_entries)");
            auto own =
                std::make_unique<interface_addresses>(addresses_of(config, to.mac, groups[name]));
            own->link_nexthop = *glean;
            to.addresses = own.get();
            addresses_.push_back(std::move(own));
            add_own(c.snapshot->vrf[to.vrf].own, *to.addresses);
            add_derived(c.derived[to.vrf], *to.addresses, *glean);
        }
        if (c.after.drops_special) add_special_purpose(c);
        map_vlans(c);
        find_fast_groups(c);
        std::erase_if(glean_, [&](const auto& g) {
            return c.snapshot->interfaces[g.first].kind != datapath::interface_kind::routed;
        });
        snapshot_ = c.snapshot.get();
        return {};
    }

    void commit() noexcept override {
        of_.ifindexes_.swap(ifindexes_);
        of_.names_.swap(names_);
        of_.glean_.swap(glean_);
        // This object now owns the previous next hops and addresses, and is destroyed after a grace period.
        of_.addresses_.swap(addresses_);
        of_.vlan_maps_.swap(vlan_maps_);
        for (const auto& [ifindex, nexthop] : of_.glean_)
            of_.nexthops_[nexthop->index()].mtu.store(snapshot_->interfaces[ifindex].mtu,
                                                      std::memory_order_relaxed);
    }

    const datapath::snapshot* running_ = nullptr;

  private:
    static void add_special_purpose(transaction& c) {
        for (auto& [vrf, derived] : c.derived)
            for (const std::string_view block : special_purpose_blocks)
                derived.emplace(*parse_prefix(block), datapath::fixed_nexthop::bogon_destination);
    }
    /// All fields except addresses and the MAC address.
    void describe(const transaction& c, const std::string& name, const state::interface& config,
                  uint16_t ifindex, datapath::interface& to) const {
        using enum datapath::interface_kind;
        const uint16_t port = port_of(c, name, config);
        switch (config.kind) {
            case state::interface_kind::patched:
                to.kind = patched;
                break;
            case state::interface_kind::bridged:
                to.kind = bridged;
                break;
            case state::interface_kind::routed:
                to.kind = config.admin_down || !config.has_ip() ? none : routed;
        }
        to.port = port;
        to.ifindex = ifindex;
        to.vrf = vrf_of(c, config);
        to.mtu = c.after.mtu_of(config);
        to.urpf = config.urpf != state::reverse_path::off;
        to.send_redirects = config.send_redirects;
        to.accept_source_route = config.accept_source_route;
        to.router_alert = config.router_alert;
        to.admin_down = config.admin_down;
        to.has_extra_macs = !config.extra_macs.empty();
        to.urpf_strict = config.urpf == state::reverse_path::strict;
        if (!config.peer.empty()) to.peer = ifindexes_.at(config.peer);
        if (config.port.empty()) return;
        to.vlan = config.vlan;
        if (config.vlan != 0 || looks_at_tags(c.after, config)) {
            // A bridge matches MAC addresses, which precede the tag: the tag may stay if the egress
            // wants the same.
            const bool stays = config.vlan == 0 && !c.after.lists_look_into(config);
            to.tags = stays ? datapath::interface::known : datapath::interface::taken;
        }
        if (port == datapath::tunnel_port) return;  // a tunnel has no untagged frames
        if (config.vlan == 0) c.snapshot->port[port].untagged = ifindex;
    }
    /// Without the stages of other owners.
    static datapath::interface_paths path_of(const transaction& c, const state::interface& config,
                                             const datapath::interface& is) {
        using datapath::stage;
        const bool tunnel = is.port == datapath::tunnel_port;
        datapath::interface_paths path{.output = bit(tunnel ? stage::vxlan_output : stage::tx)};
        switch (is.kind) {
            case datapath::interface_kind::none:
                break;
            case datapath::interface_kind::patched:
                path.input = bit(stage::xconnect);
                break;
            case datapath::interface_kind::bridged:
                path.input = bit(stage::bridge);
                if (c.after.bridges.at(config.bridge).vlan_aware())
                    path.output |= bit(stage::vlan_push);
                break;
            case datapath::interface_kind::routed:
                path.input = bit(stage::ip_fast) | bit(stage::ip_input) | bit(stage::lookup);
                if (is.urpf) path.input |= bit(stage::urpf);
                if (is.vlan != 0) path.output |= bit(stage::vlan_push);
                if (config.port.empty()) path.output = bit(stage::bridge);
        }
        return path;
    }
    /// The interface before this change; null: none.
    [[nodiscard]] const datapath::interface* running_as(const std::string& name) const {
        const auto was = of_.ifindexes_.find(name);
        if (was == of_.ifindexes_.end() || running_ == nullptr) return nullptr;
        return &running_->interfaces[was->second];
    }
    /// A bridge's routing interface counts on the same port as long as that is open, also if it leaves the bridge: next hops of
    /// its neighbours have it.
    uint16_t port_of(const transaction& c, const std::string& name,
                     const state::interface& config) const {
        const datapath::interface* const there = config.port.empty() ? running_as(name) : nullptr;
        if (there != nullptr && there->bridge != 0) {
            const datapath::port_state* const state = running_->port[there->port].state;
            if (state != nullptr && state == c.snapshot->port[there->port].state)
                return there->port;
        }
        return c.port_index_of.at(c.after.port_of(config));
    }
    /// An interface has the MAC address of its port, a bridge's routing interface the one that the bridge is given, or its own
    /// one also when its port leaves the bridge: hosts have it in their caches.
    mac_address mac_of(const transaction& c, const std::string& name,
                       const state::interface& config) const {
        const mac_address& of_port =
            c.snapshot->port[c.port_index_of.at(c.after.port_of(config))].mac;
        if (!config.port.empty()) return of_port;
        if (const auto& mac = c.after.bridges.at(config.bridge).mac) return *mac;
        const datapath::interface* const there = running_as(name);
        const state::bridge* const before = c.before.bridges.find(config.bridge);
        const bool stays = there != nullptr && before != nullptr && !before->mac &&
                           there->bridge != 0 &&
                           (there->kind == datapath::interface_kind::routed || there->admin_down);
        return stays ? there->mac : of_port;
    }
    /// A tunnel's VRF, in which its packets are routed.
    static uint8_t vrf_of(const transaction& c, const state::interface& i) {
        const state::tunnel* const t = c.after.tunnels.find(i.port);
        return c.vrf_index_of.at(t != nullptr ? t->vrf : i.vrf);
    }
    /// Member of a VLAN-aware bridge.
    static bool looks_at_tags(const state::configuration& in, const state::interface& i) {
        if (i.kind != state::interface_kind::bridged) return false;
        const state::vlan_mode mode = in.bridges.at(i.bridge).member(i.port)->mode;
        return mode != state::vlan_mode::unaware && mode != state::vlan_mode::dot1q_tunnel;
    }

    /// Interface by VLAN ID, on ports with VLANs.
    void map_vlans(transaction& c) {
        std::map<uint16_t, std::shared_ptr<uint16_t[]>> maps;
        const auto map_of = [&](uint16_t port) -> uint16_t* {
            auto& map = maps[port];
            if (map == nullptr) {
                map = std::make_shared<uint16_t[]>(state::vlan_set().size());
                // Other VLANs belong to the untagged interface, unless it is routed.
                const uint16_t untagged = c.snapshot->port[port].untagged;
                const auto kind = c.snapshot->interfaces[untagged].kind;
                if (kind != datapath::interface_kind::routed)
                    std::fill_n(map.get(), state::vlan_set().size(), untagged);
                map[0] = untagged;  // priority tags
            }
            return map.get();
        };
        for (const auto& [name, config] : c.after.interfaces) {
            if (config.port.empty()) continue;
            const uint16_t ifindex = ifindexes_.at(name);
            const datapath::interface& i = c.snapshot->interfaces[ifindex];
            if (i.tags == datapath::interface::unknown || i.port == datapath::tunnel_port) continue;
            uint16_t* const map = map_of(i.port);
            if (config.vlan != 0) map[config.vlan] = ifindex;
            if (config.kind == state::interface_kind::bridged &&
                c.after.bridges.at(config.bridge).member(config.port)->service_tags)
                c.snapshot->port[i.port].tag_type = packet::ether_type_service;
        }
        for (auto& [port, map] : maps) {
            c.snapshot->port[port].by_vlan = map.get();
            vlan_maps_.push_back(std::move(map));
        }
    }

    /// Stage ip_fast forwards packets of interfaces alike in one pass: same VRF, same MAC address, and no other setting
    /// that it looks at (way_in).
    void find_fast_groups(const transaction& c) const {
        std::map<std::pair<uint8_t, mac_address>, uint16_t> first;
        for (const auto& [name, config] : c.after.interfaces) {
            datapath::interface& i = c.snapshot->interfaces[ifindexes_.at(name)];
            if (i.kind != datapath::interface_kind::routed) continue;
            const bool usual =
                config.acl_in.empty() && !i.urpf && !i.send_redirects && !i.has_extra_macs;
            i.fast_group =
                usual ? first.try_emplace({i.vrf, i.mac}, i.ifindex).first->second : i.ifindex;
        }
    }

    /// Glean next hop of an interface's connected networks and on-link routes.
    std::optional<uint32_t> glean_of(uint16_t ifindex, const datapath::interface& on) {
        if (const auto there = glean_.find(ifindex); there != glean_.end())
            return there->second->index();
        const auto nexthop = std::make_shared<const nexthop_handle>(of_.nexthops_.allocate());
        if (!*nexthop) return std::nullopt;
        datapath::next_hop& h = of_.nexthops_[nexthop->index()];
        h.out = {.port = on.port, .interface = ifindex};
        h.mtu.store(on.mtu, std::memory_order_relaxed);
        h.kind.store(datapath::nexthop_kind::glean, std::memory_order_release);
        glean_.emplace(ifindex, nexthop);
        return nexthop->index();
    }

    interfaces& of_;
    const datapath::snapshot* snapshot_ = nullptr;
    transaction::ifindexes ifindexes_;
    std::vector<const std::string*> names_ =
        std::vector<const std::string*>(datapath::max_interfaces);
    std::map<uint16_t, std::shared_ptr<const nexthop_handle>> glean_;
    std::vector<std::unique_ptr<const interface_addresses>> addresses_;
    std::vector<std::shared_ptr<uint16_t[]>> vlan_maps_;
};

result<std::unique_ptr<prepared_change>> interfaces::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_interfaces>(*this);
    ready->running_ = c.running;
    if (auto done = ready->assign_indexes(c); !done) return tl::unexpected<error>(done.error());
    if (auto done = ready->fill(c); !done) return tl::unexpected<error>(done.error());
    return ready;
}

}  // namespace turnpike::control
