// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/mirrors.hpp"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "control/controller.hpp"
#include "control/management/inventory.hpp"
#include "control/management/show.hpp"
#include "packet/headers.hpp"
#include "sources/fields.hpp"

namespace turnpike::control {
namespace {

using datapath::mirror_tables;
using datapath::stage;

/// Headers in front of copies to an address. The interface that has the local address exists (check_mirrors), and may be
/// down.
std::shared_ptr<const datapath::mirror_remote> remote_of(const transaction& c,
                                                         const state::mirror& m) {
    auto to = std::make_shared<datapath::mirror_remote>();
    const auto& interfaces = (c.operators_after ? *c.operators_after : c.after).interfaces;
    for (const auto& [name, i] : interfaces)
        if (i.vrf == m.vrf &&
            std::any_of(i.addresses.begin(), i.addresses.end(),
                        [&](const ip_prefix& p) { return p.address == *m.local; }))
            to->interface = c.ifindex_of.at(name);
    to->type = static_cast<uint8_t>(m.erspan_type);
    to->v6 = m.remote->v6;
    to->session = m.session;
    to->vni = m.vni;
    to->udp_port = m.udp_port;
    to->remote = *m.remote;
    using namespace std::chrono;
    using units = duration<uint64_t, std::ratio<1, 10'000'000>>;
    to->tsc = rte_rdtsc();
    to->begun = duration_cast<units>(system_clock::now().time_since_epoch()).count();
    to->units_per_cycle = 1e7 / static_cast<double>(rte_get_tsc_hz());
    constexpr uint8_t ttl = 64 + 1;  // stage ip_forward decrements it
    if (to->v6) {
        auto& ip = packet::header_at<packet::ipv6_header>(to->ip.data());
        ip.version_class_flow = 6u << 28;
        ip.next_header = m.vni ? uint8_t{packet::protocol_udp} : packet::protocol_gre;
        ip.hop_limit = ttl;
        ip.source = m.local->v6_bytes();
        ip.destination = m.remote->v6_bytes();
    } else {
        auto& ip = packet::header_at<packet::ipv4_header>(to->ip.data());
        ip.version_ihl = 0x45;
        ip.ttl = ttl;
        ip.protocol = m.vni ? uint8_t{packet::protocol_udp} : packet::protocol_gre;
        ip.source = m.local->v4();
        ip.destination = m.remote->v4();
    }
    return to;
}

/// The list with counters, which nothing shows: classification needs them.
std::shared_ptr<const datapath::bound_acl> bound_list_of(const transaction& c,
                                                         const std::string& name) {
    auto bound = std::make_shared<datapath::bound_acl>();
    bound->list = c.lists.at(name);
    for (size_t w = 0; w < max_workers(); ++w)
        bound->counters.push_back(
            std::make_unique<datapath::acl_counter[]>(bound->list->id_limit()));
    return bound;
}

datapath::mirror mirror_of(const transaction& c, const state::mirror& m,
                           datapath::mirror_state* state) {
    datapath::mirror to;
    if (m.remote)
        to.remote = remote_of(c, m);
    else
        to.to = c.port_index_of.at(m.to);
    if (!m.list.empty()) to.list = bound_list_of(c, m.list);
    if (m.to_vlan) to.tag = uint32_t{packet::ether_type_vlan} << 16 | *m.to_vlan;
    to.one_in = m.sample;
    to.max_bytes = m.max_bytes.value_or(UINT32_MAX);
    to.vlan = m.vlan;
    to.state = state;
    return to;
}

/// The interfaces of a bridge that are ports' untagged ones; and of the ports of a mirror of whole ports, index 0.
std::vector<std::pair<uint16_t, uint16_t>> mirrored_by(const transaction& c,
                                                       const state::mirror& m) {
    std::vector<std::pair<uint16_t, uint16_t>> ports_and_interfaces;
    for (const std::string& port : m.ports)
        ports_and_interfaces.emplace_back(c.port_index_of.at(port), uint16_t{0});
    if (m.bridge.empty()) return ports_and_interfaces;
    for (const state::bridge_member& member : c.after.bridges.at(m.bridge).members)
        if (c.after.tunnels.find(member.port) == nullptr)
            ports_and_interfaces.emplace_back(c.port_index_of.at(member.port),
                                              c.ifindex_of.at(member.port));
    return ports_and_interfaces;
}

/// The stages of mirrored ports. A frame with its UDP checksum left to the device would be copied without it.
void add_stages(datapath::snapshot& v, const mirror_tables& tables) {
    for (uint16_t port = 0; port < mirror_tables::ports; ++port) {
        if (!tables.in[port].empty()) v.port[port].in_front |= bit(stage::mirror_in);
        if (tables.out[port].empty()) continue;
        v.port[port].inserts_udp_sums = false;
        for (size_t i = 0; i < v.paths.size(); ++i)
            if (v.interfaces[i].kind != datapath::interface_kind::none &&
                v.interfaces[i].port == port && (v.paths[i].output & bit(stage::tx)) != 0)
                v.paths[i].output |= bit(stage::mirror_out);
    }
}

}  // namespace

class mirrors::prepared_mirrors : public prepared_change {
  public:
    prepared_mirrors(mirrors& of, const transaction& c) : of_(of) {
        if (c.after.mirrors.empty()) return;
        auto tables = std::make_unique<mirror_tables>();
        for (const auto& [name, m] : c.after.mirrors) {
            auto& state = states_[name];
            const auto was = of.states_.find(name);
            state = was != of.states_.end() ? was->second : std::make_shared<counted_mirror>();
            if (state->workers == nullptr)
                state->workers.reset(new datapath::mirror_worker_state[max_workers()]);
            datapath::mirror one = mirror_of(c, m, state.get());
            for (const auto& [port, ifindex] : mirrored_by(c, m)) {
                one.interface = ifindex;
                if (m.in) tables->in[port].push_back(one);
                if (m.out) tables->out[port].push_back(one);
            }
        }
        tables_ = std::move(tables);
    }
    /// This object now owns the previous tables, and is destroyed after a grace period.
    void commit() noexcept override {
        of_.states_.swap(states_);
        of_.shown_.swap(tables_);
    }
    [[nodiscard]] const mirror_tables* tables() const noexcept { return tables_.get(); }

  private:
    mirrors& of_;
    states states_;
    std::unique_ptr<const mirror_tables> tables_;
};

result<std::unique_ptr<prepared_change>> mirrors::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_mirrors>(*this, c);
    c.snapshot->mirrors = ready->tables();
    if (ready->tables() != nullptr) add_stages(*c.snapshot, *ready->tables());
    return ready;
}

observe::mirror_report mirrors::counted(const std::string& name) const {
    observe::mirror_report out{.name = name};
    const auto of = states_.find(name);
    if (of == states_.end()) return out;
    out.life = of->second->life;
    for (size_t w = 0; w < max_workers(); ++w) {
        const datapath::mirror_worker_state& one = of->second->workers[w];
        out.packets += one.packets.read();
        out.bytes += one.bytes.read();
        out.lost += one.lost.read();
        out.unreachable += one.unreachable.read();
    }
    return out;
}

nlohmann::json show_mirrors(controller& c, const request_fields&) {
    using nlohmann::json;
    json list = json::array();
    const observe::inventory all = shown_objects(c, add_mirrors);
    for (const observe::mirror_report& n : all.mirrors) {
        const state::mirror& m = c.running().mirrors.at(n.name);
        list.push_back(
            json::parse(sources::json_of(sources::mirror_fields(), sources::of_mirror, m)));
        list.back().update({{"name", n.name},
                            {"packets", n.packets},
                            {"bytes", n.bytes},
                            {"lost", n.lost},
                            {"unreachable", n.unreachable}});
        if (m.remote) list.back()["to"] = m.remote->text();
        if (!m.remote || m.vni)
            list.back().update({{"session", nullptr}, {"erspan_type", nullptr}});
        if (!m.vni) list.back()["udp_port"] = nullptr;
    }
    return with_period(c, {{"mirrors", std::move(list)}});
}

}  // namespace turnpike::control
