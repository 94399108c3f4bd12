// SPDX-License-Identifier: BSD-3-Clause
#include "observe/baseline.hpp"

#include <algorithm>
#include <utility>

#include "counters/latency_histogram.hpp"

namespace turnpike::observe {
namespace {

/// Subtracts without wrapping below 0.
template <class T>
void subtract(T& from, const T& what) noexcept {
    from -= std::min(from, what);
}

port_totals difference(const port_totals& now, const port_totals& then) noexcept {
    port_totals d;
    d.add(now, then);
    return d;
}

/// Members of a row that are counters.
template <class Row, size_t N>
using counters_in = uint64_t Row::*const[N];

constexpr counters_in<traffic, 4> traffic_counters = {&traffic::rx_packets, &traffic::rx_bytes,
                                                      &traffic::tx_packets, &traffic::tx_bytes};
constexpr counters_in<bridge_report, 9> bridge_counters = {
    &bridge_report::learned,  &bridge_report::moved,      &bridge_report::aged,
    &bridge_report::dampened, &bridge_report::refused,    &bridge_report::rx_packets,
    &bridge_report::rx_bytes, &bridge_report::tx_packets, &bridge_report::flooded};
constexpr counters_in<bridge_report::vlan, 4> vlan_counters = {
    &bridge_report::vlan::rx_packets, &bridge_report::vlan::rx_bytes,
    &bridge_report::vlan::tx_packets, &bridge_report::vlan::flooded};
constexpr counters_in<reserved_report, 1> reserved_counters = {&reserved_report::frames};
constexpr counters_in<mirror_report, 4> mirror_counters = {
    &mirror_report::packets, &mirror_report::bytes, &mirror_report::lost,
    &mirror_report::unreachable};
constexpr counters_in<sflow_report, 6> sflow_counters = {
    &sflow_report::datagrams, &sflow_report::unsent,       &sflow_report::samples,
    &sflow_report::drops,     &sflow_report::lost_samples, &sflow_report::lost_drops};
constexpr counters_in<host_interface_report, 3> host_interface_counters = {
    &host_interface_report::to_kernel, &host_interface_report::from_kernel,
    &host_interface_report::lost};
constexpr counters_in<netlink_report, 4> netlink_counters = {
    &netlink_report::messages, &netlink_report::refused, &netlink_report::overruns,
    &netlink_report::whole};

template <class Row, size_t N>
void subtract_members(Row& from, const Row& what, const counters_in<Row, N>& members) noexcept {
    for (uint64_t Row::*const member : members) subtract(from.*member, what.*member);
}
void subtract_row(interface_report& from, const interface_report& what) {
    if (from.counted && what.counted)
        subtract_members(*from.counted, *what.counted, traffic_counters);
}
void subtract_row(bridge_report& from, const bridge_report& what) {
    subtract_members(from, what, bridge_counters);
    auto then = what.vlans.begin();
    for (bridge_report::vlan& v : from.vlans) {
        while (then != what.vlans.end() && then->id < v.id) ++then;
        if (then != what.vlans.end() && then->id == v.id) subtract_members(v, *then, vlan_counters);
    }
}
void subtract_row(reserved_report& from, const reserved_report& what) {
    subtract_members(from, what, reserved_counters);
}
void subtract_row(tunnel_report& from, const tunnel_report& what) {
    subtract_members(from.inner, what.inner, traffic_counters);
}
void subtract_row(mirror_report& from, const mirror_report& what) {
    subtract_members(from, what, mirror_counters);
}
/// The maximum since the baseline is not known; it is in the last bin with samples.
void subtract_row(latency_report& from, const latency_report& what) {
    subtract(from.samples, what.samples);
    subtract(from.sum_ns, what.sum_ns);
    uint64_t longest = 0;
    for (size_t bin = 0; bin < std::min(from.bins.size(), what.bins.size()); ++bin) {
        subtract(from.bins[bin], what.bins[bin]);
        if (from.bins[bin] != 0) longest = counters::latency_histogram::end_of(bin);
    }
    from.max_ns = std::min(from.max_ns, longest);
}
void subtract_row(sflow_report& from, const sflow_report& what) {
    subtract_members(from, what, sflow_counters);
}
void subtract_row(host_interface_report& from, const host_interface_report& what) {
    subtract_members(from, what, host_interface_counters);
}
void subtract_row(netlink_report& from, const netlink_report& what) {
    subtract_members(from, what, netlink_counters);
}

template <class Row>
uint64_t identity_of(const Row& row) {
    return row.life;
}
/// Pairs of ports have one life.
std::tuple<uint64_t, std::string, std::string> identity_of(const latency_report& row) {
    return {row.life, row.in, row.out};
}

template <class Row>
void subtract_rows(std::vector<Row>& from, const std::vector<Row>& what) {
    std::map<decltype(identity_of(from.front())), const Row*> then;
    for (const Row& row : what) then.emplace(identity_of(row), &row);
    for (Row& row : from)
        if (const auto at = then.find(identity_of(row)); at != then.end())
            subtract_row(row, *at->second);
}

}  // namespace

baseline::baseline(const report& now, inventory objects)
    : start_(false), duration_s_(now.duration_s), objects_(std::move(objects)) {
    for (const port_report& p : now.ports) {
        port then{p.rx_missed, p.rx_no_buffer, p.duration_s, p.totals, p.pcie.counts};
        if (p.life == 0)
            removed_ = std::move(then);
        else
            ports_.emplace(p.life, std::move(then));
    }
    for (const worker_report& w : now.workers) workers_.emplace(w.lcore, w);
    for (const acl_report& a : now.acls) lists_.emplace(a.life, list{a, {}});
    for (const punt_report& p : now.punt) punt_.emplace(std::pair(p.life, p.of), p);
}

void baseline::clear_port(const port_report& now, const inventory& objects) {
    ports_.insert_or_assign(now.life, port{now.rx_missed, now.rx_no_buffer, now.duration_s,
                                           now.totals, now.pcie.counts});
    for (const interface_report& i : objects.interfaces) {
        if (i.port != now.name) continue;
        std::erase_if(objects_.interfaces,
                      [&](const interface_report& then) { return then.life == i.life; });
        objects_.interfaces.push_back(i);
    }
}

void baseline::subtract_from(inventory& now) const {
    subtract_rows(now.interfaces, objects_.interfaces);
    subtract_rows(now.bridges, objects_.bridges);
    subtract_rows(now.reserved, objects_.reserved);
    subtract(now.fdb_messages_lost, objects_.fdb_messages_lost);
    subtract_rows(now.tunnels, objects_.tunnels);
    subtract_rows(now.mirrors, objects_.mirrors);
    subtract_rows(now.latencies, objects_.latencies);
    subtract_rows(now.sflow, objects_.sflow);
    subtract_rows(now.host_interfaces, objects_.host_interfaces);
    subtract_rows(now.netlink, objects_.netlink);
}

void baseline::subtract_from(report& now) const {
    subtract(now.duration_s, duration_s_);
    // Counters of ports removed since the baseline are now part of the sum of removed ports.
    port gone = removed_;
    for (const auto& [life, then] : ports_) {
        if (std::any_of(now.ports.begin(), now.ports.end(),
                        [l = life](const port_report& p) { return p.life == l; }))
            continue;
        gone.rx_missed += then.rx_missed;
        gone.rx_no_buffer += then.rx_no_buffer;
        gone.totals.add(then.totals, {});
    }
    for (port_report& p : now.ports) {
        const auto then = ports_.find(p.life);
        if (p.life == 0)
            subtract_from_port(p, gone);
        else if (then != ports_.end())
            subtract_from_port(p, then->second);
    }
    for (worker_report& w : now.workers) subtract_from_worker(w);
    for (acl_report& a : now.acls) subtract_from_list(a);
    for (punt_report& p : now.punt) {
        const auto at = punt_.find(std::pair(p.life, p.of));
        if (at == punt_.end()) continue;
        subtract(p.punted, at->second.punted);
        subtract(p.dropped, at->second.dropped);
    }
}

void baseline::subtract_from_port(port_report& now, const port& then) {
    subtract(now.rx_missed, then.rx_missed);
    subtract(now.rx_no_buffer, then.rx_no_buffer);
    subtract(now.duration_s, then.duration_s);
    now.totals = difference(now.totals, then.totals);
    for (auto& [name, n] : now.pcie.counts)
        if (const auto at = then.pcie.find(name); at != then.pcie.end()) subtract(n, at->second);
}

void baseline::subtract_from_worker(worker_report& now) const {
    const auto at = workers_.find(now.lcore);
    if (at == workers_.end()) return;
    const worker_report& then = at->second;
    subtract(now.packets, then.packets);
    subtract(now.injected, then.injected);
    subtract(now.busy_cycles, then.busy_cycles);
    subtract(now.slept_cycles, then.slept_cycles);
    subtract(now.control_cycles, then.control_cycles);
    subtract(now.total_cycles, then.total_cycles);
    for (size_t i = 0; i < now.bursts.size(); ++i) subtract(now.bursts[i], then.bursts[i]);
    for (size_t i = 0; i < std::min(now.stages.size(), then.stages.size()); ++i) {
        subtract(now.stages[i].packets, then.stages[i].packets);
        subtract(now.stages[i].cycles, then.stages[i].cycles);
        subtract(now.stages[i].counted_packets, then.stages[i].counted_packets);
        subtract(now.stages[i].instructions, then.stages[i].instructions);
    }
}

void baseline::subtract_from_list(acl_report& now) const {
    const auto at = lists_.find(now.life);
    if (at == lists_.end()) return;
    const list& then_list = at->second;
    subtract(now.permitted, then_list.counted.permitted);
    subtract(now.denied, then_list.counted.denied);
    // Most rules are where they were, or all behind an edit moved by the same number; the map is for the others.
    const auto& rules = then_list.counted.rules;
    auto& position = then_list.position;
    size_t next = now.first_rule;
    const auto find = [&](uint64_t life) -> const acl_rule_report* {
        if (next < rules.size() && rules[next].life == life) return &rules[next++];
        if (position.empty())
            for (size_t i = 0; i < rules.size(); ++i) position.emplace(rules[i].life, i);
        const auto there = position.find(life);
        if (there == position.end()) return nullptr;
        next = there->second + 1;
        return &rules[there->second];
    };
    for (acl_rule_report& r : now.rules) {
        const acl_rule_report* const then = find(r.life);
        if (then == nullptr) continue;
        subtract(r.packets, then->packets);
        subtract(r.bytes, then->bytes);
        for (size_t w = 0; w < std::min(r.by_worker.size(), then->by_worker.size()); ++w)
            subtract(r.by_worker[w], then->by_worker[w]);
    }
}

}  // namespace turnpike::observe
