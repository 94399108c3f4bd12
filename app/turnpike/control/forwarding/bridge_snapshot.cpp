// SPDX-License-Identifier: BSD-3-Clause
// Transactions of bridges: the tables for workers. bridges.cpp: the FDB.
#include <fmt/format.h>
#include <rte_cycles.h>

#include <algorithm>

#include "control/forwarding/bridges.hpp"
#include "hash/table_dpdk.hpp"
#include "observe/report.hpp"
#include "packet/headers.hpp"

namespace turnpike::control {
namespace {

using datapath::bridge_domain;
using datapath::bridge_member;
using datapath::bridge_tables;
using datapath::domains_of_bridge;
using datapath::flood_kind;
using state::vlan_mode;

constexpr size_t vlan_ids = 4096;

datapath::reserved_choice choice_of(state::reserved_frames f) {
    static_assert(static_cast<int>(state::reserved_frames::punt) ==
                  static_cast<int>(datapath::reserved_choice::punt));
    return static_cast<datapath::reserved_choice>(f);
}

datapath::bridge_policy policy_of(const state::reserved_groups& config) {
    datapath::bridge_policy out;
    out.reserved.fill(choice_of(config.other));
    out.reserved[0x00] = choice_of(config.stp);
    out.reserved[0x02] = choice_of(config.lacp);
    out.reserved[0x0e] = choice_of(config.lldp);
    return out;
}

/// Burst size: a twentieth of a second, at least one RX burst.
token_rate limit_of(uint32_t packets_per_s) {
    const uint64_t hz = rte_get_tsc_hz(), cycles = std::max<uint64_t>(1, hz / packets_per_s);
    return {cycles, std::max(hz / 20, cycles * datapath::burst_max)};
}

static_assert(datapath::max_ports <= 32);
constexpr auto all_ports = static_cast<uint32_t>((uint64_t{1} << datapath::max_ports) - 1);

/// Builds the tables of all bridges.
class table_maker {
  public:
    /// before  the published tables; null: none
    table_maker(const transaction& c, const bridge_tables* before, bridge_tables& to)
        : c_(c), before_(before), to_(to) {
        to_.domains.resize(domains_of_bridge);
        to_.bridges.emplace_back();  // index 0 is unused
        std::map<std::string, uint32_t> of_bridge;
        for (const auto& [name, b] : c.after.bridges) of_bridge.emplace(name, ports_of_members(b));
        for (const auto& [name, i] : c.after.interfaces)
            if (i.kind == state::interface_kind::routed)
                ports_of_vrf_[i.vrf] |= i.port.empty() ? of_bridge.at(i.bridge) : port_bit(i.port);
    }

    void add(const std::string& name, const state::bridge& b, uint16_t number,
             uint16_t first_domain) {
        const size_t domains = b.vlan_aware() ? domains_of_bridge : 1;
        to_.domains.resize(std::max(to_.domains.size(), first_domain + domains));
        to_.bridges.resize(std::max<size_t>(to_.bridges.size(), number + 1u));
        to_.bridges[number] = policy_of(b.reserved);
        to_.bridges[number].ports = to_.bridges[number].possible_ports = ports_of_members(b);
        for (size_t d = 0; d < domains; ++d) to_.domains[first_domain + d].bridge = number;
        const auto groups = groups_with_suppress_of(b);
        for (const state::bridge_member& m : b.members) add_member(m, number, first_domain, groups);
        add_routing(name, number, first_domain);
        const auto members = flooded_members(b);
        for (size_t d = 0; d < domains; ++d)
            fill_flooded(members, static_cast<uint16_t>(first_domain + d));
    }

  private:
    /// A mask; 0: a tunnel.
    [[nodiscard]] uint32_t port_bit(const std::string& port) const {
        const uint16_t index = c_.port_index_of.at(port);
        return index == datapath::tunnel_port ? 0 : uint32_t{1} << index;
    }
    [[nodiscard]] uint32_t ports_of_members(const state::bridge& b) const {
        uint32_t out = 0;
        for (const state::bridge_member& m : b.members) out |= port_bit(m.port);
        return out;
    }
    using tunnels_of_groups = std::vector<const state::tunnel*>;
    [[nodiscard]] tunnels_of_groups groups_with_suppress_of(const state::bridge& b) const {
        tunnels_of_groups out;
        for (const state::bridge_member& m : b.members) {
            const state::tunnel* const t =
                m.neigh_suppress ? c_.after.tunnels.find(m.port) : nullptr;
            if (t != nullptr && t->to_group()) out.push_back(t);
        }
        return out;
    }
    /// Floods for a VTEP behind a multicast group are sent to the group.
    [[nodiscard]] bool is_behind(const tunnels_of_groups& groups,
                                 const state::bridge_member& of) const {
        const state::tunnel* const t = groups.empty() ? nullptr : c_.after.tunnels.find(of.port);
        return t != nullptr && std::ranges::any_of(groups, [&](const state::tunnel* group) {
                   return t->is_behind(*group);
               });
    }
    void add_member(const state::bridge_member& m, uint16_t number, uint16_t first,
                    const tunnels_of_groups& groups_with_suppress) {
        const uint16_t ifindex = c_.ifindex_of.at(m.port);
        const state::interface& on = c_.after.interfaces.at(m.port);
        bridge_member& to = to_.members[ifindex];
        to.bridge = number;
        to.first_domain = first;
        to.learns = m.learning;
        to.floods_unknown = m.flood_unknown;
        to.neigh_suppress = m.neigh_suppress || is_behind(groups_with_suppress, m);
        to.locked = m.locked;
        to.max_addresses = m.max_addresses;
        to_.exits[ifindex] = {.port = c_.port_index_of.at(m.port),
                              .isolation = m.isolation,
                              .is = datapath::bridge_exit::member};
        if (!c_.after.is_tunnel(on)) {
            constexpr uint32_t headers =
                sizeof(packet::ethernet_header) + 2 * sizeof(packet::vlan_tag);
            to_.bridges[number].max_bytes = c_.after.mtu_of(on) + headers;
            to_.min_max_bytes = std::min(to_.min_max_bytes, to_.bridges[number].max_bytes);
        } else {
            // Remote VTEPs replicate to each other themselves (RFC 7348 section 4.2): split
            // horizon.
            constexpr uint8_t tunnels_of_all = state::max_isolation + 1;
            to_.exits[ifindex].is = datapath::bridge_exit::tunnel;
            to_.bridges[number].ports |= ports_of_vrf_[c_.after.tunnels.find(m.port)->vrf];
            to_.bridges[number].possible_ports = all_ports;
            if (m.isolation == 0) to_.exits[ifindex].isolation = tunnels_of_all;
        }
        to_.any_locked |= m.locked;
        to.storm[static_cast<size_t>(flood_kind::broadcast)] =
            storm_limit(ifindex, flood_kind::broadcast, m.storm.broadcast);
        to.storm[static_cast<size_t>(flood_kind::multicast)] =
            storm_limit(ifindex, flood_kind::multicast, m.storm.multicast);
        to.storm[static_cast<size_t>(flood_kind::unknown)] =
            storm_limit(ifindex, flood_kind::unknown, m.storm.unknown);
        if (m.mode == vlan_mode::unaware)
            to.untagged = first;
        else
            add_vlans(m, first, to);
    }
    /// The bucket stays as long as the rate does: other changes do not fill it.
    shared_token_bucket* storm_limit(uint16_t ifindex, flood_kind kind, uint32_t packets_per_s) {
        if (packets_per_s == 0) return nullptr;
        const token_rate rate = limit_of(packets_per_s);
        auto& bucket = to_.storms[{ifindex, kind}];
        if (before_ != nullptr)
            if (const auto at = before_->storms.find({ifindex, kind});
                at != before_->storms.end() && at->second->rate() == rate)
                bucket = at->second;
        if (bucket == nullptr) bucket = std::make_shared<shared_token_bucket>(rate);
        return bucket.get();
    }

    /// Ingress domain by VLAN, and egress tag by domain.
    void add_vlans(const state::bridge_member& m, uint16_t first, bridge_member& to) {
        const bool tunnel = m.mode == vlan_mode::dot1q_tunnel;
        auto tags = std::make_unique<uint32_t[]>(domains_of_bridge);
        std::fill_n(tags.get(), domains_of_bridge, bridge_member::not_here);
        if (m.vlan != 0) to.untagged = static_cast<uint16_t>(first + m.vlan);
        if (m.mode == vlan_mode::access || tunnel) tags[m.vlan] = 0;
        auto vlans = std::make_unique<uint16_t[]>(vlan_ids);
        const uint32_t type = m.service_tags ? packet::ether_type_service : packet::ether_type_vlan;
        const state::vlan_set tagged = m.tagged_vlans();
        for (uint16_t id = 1; id <= state::last_vlan; ++id) {
            if (!tagged.test(id)) continue;
            vlans[id] = static_cast<uint16_t>(first + id);
            tags[id] = type << 16 | id;
        }
        // A translated VLAN is accepted by its wire VID only.
        for (const auto& [wire, id] : m.translate) vlans[id] = 0;
        for (const auto& [wire, id] : m.translate) {
            vlans[wire] = static_cast<uint16_t>(first + id);
            tags[id] = type << 16 | wire;
        }
        if (m.mode == vlan_mode::native_untagged) tags[m.vlan] = 0;
        to.tag_out = tags.get();
        to_.tags.push_back(std::move(tags));
        if (tunnel) return;  // a tunnel carries frames with their tags as payload
        to.by_vlan = vlans.get();
        to_.vlans.push_back(std::move(vlans));
    }

    void add_routing(const std::string& name, uint16_t number, uint16_t first) {
        for (const auto& [interface, i] : c_.after.interfaces) {
            if (!i.port.empty() || i.bridge != name) continue;
            const uint16_t ifindex = c_.ifindex_of.at(interface);
            const auto domain = static_cast<uint16_t>(first + i.vlan);
            to_.domains[domain].routing = ifindex;
            bridge_member& to = to_.members[ifindex];
            to.bridge = number;
            to.first_domain = first;
            to.untagged = domain;
            to_.exits[ifindex] = {.port = c_.snapshot->interfaces[ifindex].port,
                                  .is = datapath::bridge_exit::local};
            c_.snapshot->interfaces[ifindex].bridge = number;
        }
    }

    struct flooded_member {
        uint16_t ifindex;
        uint16_t group;  ///< the group's member that floods to it (RFC 7348 section 4.2); 0: none
    };
    [[nodiscard]] std::vector<flooded_member> flooded_members(const state::bridge& b) const {
        std::vector<std::pair<const state::tunnel*, uint16_t>> groups;
        for (const state::bridge_member& m : b.members)
            if (const state::tunnel* const t = c_.after.tunnels.find(m.port);
                t != nullptr && t->to_group())
                groups.emplace_back(t, c_.ifindex_of.at(m.port));
        std::vector<flooded_member> out;
        for (const state::bridge_member& m : b.members) {
            out.push_back({c_.ifindex_of.at(m.port), 0});
            const state::tunnel* const t = groups.empty() ? nullptr : c_.after.tunnels.find(m.port);
            for (const auto& [group, ifindex] : groups)
                if (t != nullptr && t->is_behind(*group)) out.back().group = ifindex;
        }
        return out;
    }
    [[nodiscard]] bool is_in(uint16_t ifindex, uint16_t domain) const {
        const bridge_member& member = to_.members[ifindex];
        return member.tag_out == nullptr ||
               member.tag_out[domain - member.first_domain] != bridge_member::not_here;
    }

    void fill_flooded(const std::vector<flooded_member>& members, uint16_t domain) {
        bridge_domain& d = to_.domains[domain];
        d.first_flooded = static_cast<uint32_t>(to_.flooded.size());
        for (const flooded_member& m : members)
            if (is_in(m.ifindex, domain) && (m.group == 0 || !is_in(m.group, domain)))
                to_.flooded.push_back(m.ifindex);
        d.flooded = static_cast<uint16_t>(to_.flooded.size() - d.first_flooded);
    }

    const transaction& c_;
    const bridge_tables* const before_;
    bridge_tables& to_;
    std::map<std::string, uint32_t> ports_of_vrf_;
};

/// The lowest free number.
template <class Taken>
std::optional<uint16_t> first_free(uint16_t from, uint16_t step, uint32_t end, const Taken& taken) {
    for (uint32_t n = from; n < end; n += step)
        if (!taken(static_cast<uint16_t>(n))) return static_cast<uint16_t>(n);
    return std::nullopt;
}

}  // namespace

class bridges::prepared_bridges : public prepared_change {
  public:
    explicit prepared_bridges(bridges& of) : of_(of) {}

    result<void> make(transaction& c) {
        if (c.after.bridges.empty() && of_.rows_.empty()) return {};
        if (auto good = of_.ready_table(); !good) return good;
        if (auto good = number(c); !good) return good;
        tables_ = std::make_unique<bridge_tables>();
        tables_->fdb_entries = of_.table_.get();
        tables_->fdb_changes = &of_.changes_;
        table_maker maker(c, of_.shown_.get(), *tables_);
        for (const auto& [name, b] : c.after.bridges) {
            const bridge_row& row = rows_.at(name);
            maker.add(name, b, row.number, row.first_domain);
        }
        if (std::any_of(tables_->members.begin(), tables_->members.end(),
                        [](const bridge_member& m) { return m.neigh_suppress; })) {
            if (auto good = of_.ready_addresses(); !good) return good;
            tables_->addresses = &of_.addresses_->table();
        }
        find_wanted(c);
        c.snapshot->bridges = tables_.get();
        changes_ = true;
        return {};
    }
    void reuse(transaction& c) {
        c.snapshot->bridges = of_.shown_.get();
        for (const auto& [name, i] : c.after.interfaces)
            if (i.port.empty())
                c.snapshot->interfaces[c.ifindex_of.at(name)].bridge =
                    of_.rows_.at(i.bridge).number;
    }

    /// Delete FDB entries before the new snapshot, in which they would be on another interface.
    void commit() noexcept override {
        if (!changes_) return;
        of_.drop_of_removed(by_domain_);
        // Without neigh_suppress, workers report no messages: the bindings from before may have changed.
        if (tables_->addresses != nullptr &&
            (of_.shown_ == nullptr || of_.shown_->addresses == nullptr))
            of_.addresses_->drop_domains([](uint16_t) { return true; });
        of_.rows_.swap(rows_);
        of_.by_domain_.swap(by_domain_);
        of_.configured_.swap(configured_);
        of_.shown_.swap(tables_);
        of_.drop_misplaced();
    }
    void retire() noexcept override {
        if (changes_) of_.reconcile();
    }

  private:
    /// A bridge keeps its domains and statistics as long as it stays VLAN-aware, or not.
    result<void> number(const transaction& c) {
        constexpr uint16_t most = datapath::vlan_bridges_max + domains_of_bridge;
        by_domain_.assign(most, nullptr);
        std::vector<bool> taken(most);
        for (const auto& [name, b] : c.after.bridges) {
            const auto was = of_.rows_.find(name);
            if (was != of_.rows_.end() && was->second.vlan_aware == b.vlan_aware()) {
                rows_.emplace(name, was->second);
                taken[was->second.number] = true;
            }
        }
        for (const auto& [name, b] : c.after.bridges) {
            bridge_row& row = rows_[name];
            if (row.number == 0) {
                // Domains up to 4095 belong to bridges without VLAN filtering, the others to
                // VLAN-aware ones.
                const bool with = b.vlan_aware();
                const auto free =
                    first_free(with ? domains_of_bridge : 1, 1, with ? most : domains_of_bridge,
                               [&](uint16_t n) { return taken[n]; });
                if (!free) return fail(ENOSPC, b.where.text, "too many bridges at a time");
                taken[*free] = true;
                row.number = *free;
                row.vlan_aware = with;
                row.first_domain =
                    with
                        ? static_cast<uint16_t>((*free - domains_of_bridge + 1) * domains_of_bridge)
                        : *free;
                row.life = observe::new_life();
                row.before = counts_before(row);
            }
            row.max_addresses = b.max_addresses;
            row.ageing_s = b.ageing_s;
            row.damping = b.damping;
            by_domain_[row.number] = &row;
        }
        return {};
    }
    [[nodiscard]] std::shared_ptr<const std::vector<counts>> counts_before(
        const bridge_row& row) const {
        std::vector<counts> out(row.vlan_aware ? domains_of_bridge : 1);
        for (size_t d = 0; d < out.size(); ++d)
            out[d] = of_.sum_of(static_cast<uint16_t>(row.first_domain + d));
        return std::make_shared<const std::vector<counts>>(std::move(out));
    }
    /// The entries of the FDB that are not learned.
    void find_wanted(const transaction& c) {
        for (const auto& [name, b] : c.after.bridges) {
            const uint16_t first = rows_.at(name).first_domain;
            for (const auto& [fdb_entry, port] : b.fixed)
                configured_[datapath::fdb_key_of(fdb_entry.mac,
                                                 static_cast<uint16_t>(first + fdb_entry.vlan))] = {
                    c.ifindex_of.at(port), kind::fixed};
        }
        for (const auto& [name, i] : c.after.interfaces) {
            if (!i.port.empty()) continue;
            const uint16_t ifindex = c.ifindex_of.at(name);
            const auto domain = static_cast<uint16_t>(rows_.at(i.bridge).first_domain + i.vlan);
            configured_[datapath::fdb_key_of(c.snapshot->interfaces[ifindex].mac, domain)] = {
                ifindex, kind::local};
            for (const mac_address& mac : i.extra_macs)
                configured_[datapath::fdb_key_of(mac, domain)] = {ifindex, kind::local};
        }
    }

    bridges& of_;
    bool changes_ = false;
    rows rows_;
    std::vector<bridge_row*> by_domain_;
    configured configured_;
    std::unique_ptr<bridge_tables> tables_;
};

result<void> bridges::ready_table() {
    if (table_ != nullptr) return {};
    hash::config c = hash::eal_config("fdb", SOCKET_ID_ANY);
    c.max_entries = datapath::max_fdb_entries;
    c.defer_free = rcu_.hook();
    auto made = datapath::fdb_table::create(c);
    if (!made) return tl::unexpected<error>(made.error());
    table_ = std::move(*made);
    talked_.resize(datapath::bridge_worker_state::map_words);
    return {};
}

result<void> bridges::ready_addresses() {
    if (addresses_ != nullptr) return {};
    auto made = neigh_binding_table::create(rcu_);
    if (!made) return tl::unexpected<error>(made.error());
    addresses_ = std::move(*made);
    return {};
}

result<std::unique_ptr<prepared_change>> bridges::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_bridges>(*this);
    const state::changes& w = c.what;
    const bool same = shown_ != nullptr && w.ports.empty() && w.interfaces.empty() &&
                      w.bridges.empty() && w.tunnels.empty() && !w.workers;
    if (same)
        ready->reuse(c);
    else if (auto done = ready->make(c); !done)
        return tl::unexpected<error>(done.error());
    return ready;
}

}  // namespace turnpike::control
