// SPDX-License-Identifier: BSD-3-Clause
// Rates: the sample that control takes each second, and the subject `rates` of the request `show`.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/management/show.hpp"

namespace turnpike::control {
namespace {

using nlohmann::json;
using observe::rated_kind;
using observe::rated_object;

constexpr std::string_view window_names[] = {"1s", "10s", "1min"};
static_assert(std::size(window_names) == std::size(observe::rate_history::windows_ms));

void add_port(std::vector<rated_object>& to, const open_port& p, const observe::port_totals& n) {
    to.push_back({.kind = rated_kind::port,
                  .life = p.life,
                  .name = p.name,
                  .counts = {n.rx_packets, n.rx_bytes, n.tx_packets, n.tx_bytes, p.losses().missed,
                             n.all_drops()}});
    for (size_t reason = 0; reason < n.drops.size(); ++reason)
        if (n.drops[reason] != 0)
            to.push_back({.kind = rated_kind::drop,
                          .life = p.life,
                          .name = std::string(datapath::drop_texts[reason].name),
                          .owner = p.name,
                          .counts = {n.drops[reason], n.drop_bytes[reason]}});
}

void add_bridge_rates(std::vector<rated_object>& to, const bridges& all, const std::string& name,
                      bool vlan_aware) {
    const uint16_t first = all.first_domain_of(name), last = vlan_aware ? state::last_vlan : 0;
    rated_object& out = to.emplace_back();
    out.kind = rated_kind::bridge;
    out.life = all.life_of(name);
    out.name = name;
    for (uint16_t vlan = 0; vlan <= last; ++vlan) {
        const bridges::counts v = all.counted(static_cast<uint16_t>(first + vlan));
        out.counts[0] += v.rx_packets;
        out.counts[1] += v.rx_bytes;
        out.counts[2] += v.tx_packets;
        out.counts[3] += v.flooded;
    }
}

/// A member of a window's JSON: a counter's rate times a factor.
struct shown_rate {
    std::string_view name;
    size_t count;
    double factor = 1;
};
constexpr shown_rate port_rates[] = {{"rx_packets", 0}, {"rx_bits", 1, 8}, {"tx_packets", 2},
                                     {"tx_bits", 3, 8}, {"rx_missed", 4},  {"drops", 5}};
constexpr shown_rate interface_rates[] = {
    {"rx_packets", 0}, {"rx_bits", 1, 8}, {"tx_packets", 2}, {"tx_bits", 3, 8}};
constexpr shown_rate bridge_rates[] = {
    {"rx_packets", 0}, {"rx_bits", 1, 8}, {"tx_packets", 2}, {"flooded", 3}};
constexpr shown_rate drop_rates[] = {{"packets", 0}, {"bits", 1, 8}};

/// The list of a kind of objects; none: worker_window().
struct shown_list {
    const char* name;
    std::span<const shown_rate> rates;
};
constexpr shown_list shown_lists[] = {{"ports", port_rates},
                                      {"interfaces", interface_rates},
                                      {"bridges", bridge_rates},
                                      {"workers", {}},
                                      {"drops", drop_rates}};

json known_or_null(double value, bool known) { return known ? json(value) : json(nullptr); }

double seconds_of(const observe::rate_history::rate& r) { return static_cast<double>(r.ms) / 1000; }

/// Load of a worker: share of busy cycles, and cycles per packet.
json worker_window(const observe::rate_history::rate& r) {
    const auto [packets, busy, total, injected, a, b] = r.per_s;
    return {{"seconds", seconds_of(r)},
            {"packets", packets},
            {"utilisation", known_or_null(busy / total, total > 0)},
            {"cpp", known_or_null(busy / (packets + injected), packets + injected > 0)}};
}

json window_json(const observe::rate_history::entry& e, uint64_t window_ms,
                 std::span<const shown_rate> rates) {
    const auto r = observe::rate_history::over(e, window_ms);
    if (!r) return nullptr;
    if (rates.empty()) return worker_window(*r);
    json out = {{"seconds", seconds_of(*r)}};
    for (const shown_rate& one : rates)
        out[std::string(one.name)] = r->per_s[one.count] * one.factor;
    return out;
}

json entry_json(const observe::rate_history::entry& e, std::span<const shown_rate> rates) {
    json out;
    for (size_t i = 0; i < std::size(window_names); ++i)
        out[std::string(window_names[i])] =
            window_json(e, observe::rate_history::windows_ms[i], rates);
    return out;
}

json recent_verdict_json(const observe::verdict& v) {
    json out = {{"bound", v.bound},
                {"from", v.from},
                {"says", v.says},
                {"seconds", v.seconds},
                {"headroom_pps", nullptr}};
    for (const observe::headroom& h : v.by)
        if (h.more_pps &&
            (out["headroom_pps"].is_null() || *h.more_pps < out["headroom_pps"].get<double>()))
            out["headroom_pps"] = *h.more_pps;
    return out;
}

/// Bits per second between the samples.
json history_json(const observe::rate_history::entry& e) {
    json out = {{"rx_bits", json::array()}, {"tx_bits", json::array()}};
    constexpr std::pair<const char*, size_t> shown[] = {{"rx_bits", 1}, {"tx_bits", 3}};
    for (size_t i = 1; i < e.samples.size(); ++i) {
        const auto &then = e.samples[i - 1], &now = e.samples[i];
        for (const auto& [name, count] : shown)
            out[name].push_back(8 * 1000 * (now.counts[count] - then.counts[count]) /
                                (now.at_ms - then.at_ms));
    }
    return out;
}

}  // namespace

std::map<std::string_view, observe::counted_traffic> controller::counted_interfaces() const {
    std::map<std::string_view, observe::counted_traffic> out;
    for (const auto& [name, i] : running_->interfaces) {
        if (running_->is_tunnel(i))
            out.insert({name, tunnels_->counted(name)});
        else if (const auto n = interface_counts_->counted(name))
            out.insert({name, *n});
    }
    return out;
}

std::vector<rated_object> controller::rated_objects() const {
    std::vector<rated_object> out;
    for (const auto& p : ports_->open()) {
        observe::port_totals n;
        n.add(counted(p->port_index), p->before);
        add_port(out, *p, n);
    }
    for (const auto& [name, of] : counted_interfaces()) {
        const observe::traffic& n = of.total;
        out.push_back({.kind = rated_kind::interface,
                       .life = of.life,
                       .name = std::string(name),
                       .counts = {n.rx_packets, n.rx_bytes, n.tx_packets, n.tx_bytes}});
    }
    for (const auto& [name, b] : running_->bridges)
        add_bridge_rates(out, *bridges_, name, b.vlan_aware());
    for (const auto& slot : workers_->all()) {
        if (!slot->forwards) continue;
        const counters::meter& m = slot->worker.meter();
        out.push_back(
            {.kind = rated_kind::worker,
             .life = slot->worker.parts().lcore,
             .name = std::to_string(slot->worker.parts().lcore),
             .counts = {m.packets.read(), m.busy_cycles.read(),
                        m.total_cycles.read() - m.control_cycles.read(), m.injected.read()}});
    }
    return out;
}

observe::verdict controller::recent_verdict() {
    constexpr double least_s = 0.9;
    observe::report now = report_since({}, false);
    if (verdict_reports_.size() > 1 &&
        now.duration_s - verdict_reports_.back().duration_s >= least_s)
        verdict_reports_.erase(verdict_reports_.begin());
    const bool old = !verdict_reports_.empty() &&
                     now.duration_s - verdict_reports_.front().duration_s >= least_s;
    const observe::report* const then = old ? &verdict_reports_.front() : nullptr;
    observe::verdict out = observe::verdict_of(now, then);
    if (verdict_reports_.empty() || now.duration_s - verdict_reports_.back().duration_s >= least_s)
        verdict_reports_.push_back(std::move(now));
    return out;
}

json page_rates(controller& c) {
    json out = {{"ports", json::array()},
                {"drops", json::array()},
                {"verdict", observe::to_json(c.recent_verdict())}};
    for (const auto& [key, e] : c.rates().entries()) {
        if (e.object.kind == rated_kind::port) {
            json one = entry_json(e, port_rates);
            one["name"] = e.object.name;
            one["history"] = history_json(e);
            out["ports"].push_back(std::move(one));
        } else if (e.object.kind == rated_kind::drop) {
            json one = entry_json(e, drop_rates);
            one.update({{"port", e.object.owner}, {"reason", e.object.name}});
            out["drops"].push_back(std::move(one));
        }
    }
    return out;
}

json interface_rates_json(const controller& c) {
    json out = json::object();
    for (const auto& [key, e] : c.rates().entries())
        if (e.object.kind == rated_kind::interface)
            out[e.object.name] = entry_json(e, interface_rates);
    return out;
}

json show_rates(controller& c, const request_fields& f) {
    if (f.truth_or("history", false)) return page_rates(c);
    json out = {{"ports", json::array()},   {"interfaces", json::array()},
                {"bridges", json::array()}, {"workers", json::array()},
                {"drops", json::array()},   {"verdict", recent_verdict_json(c.recent_verdict())}};
    for (const auto& [key, e] : c.rates().entries()) {
        const auto& [list, rates] = shown_lists[static_cast<size_t>(e.object.kind)];
        json one = entry_json(e, rates);
        if (e.object.kind == rated_kind::worker)
            one["lcore"] = e.object.life;
        else if (e.object.kind == rated_kind::drop)
            one.update({{"port", e.object.owner}, {"reason", e.object.name}});
        else
            one["name"] = e.object.name;
        out[list].push_back(std::move(one));
    }
    return out;
}

}  // namespace turnpike::control
