// SPDX-License-Identifier: BSD-3-Clause
#include "cost/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace turnpike::cost {
namespace {

using nlohmann::json;

json pcie_json(const pcie_report& p) {
    const auto or_null = [](const auto& object) { return object ? *object : json(nullptr); };
    return {{"modelled", or_null(p.modelled)},
            {"counted", or_null(p.counted)},
            {"measured", or_null(p.measured)},
            {"why", p.why}};
}

json worker_json(const worker_report& w, const report& r) {
    json bursts = json::object();
    for (size_t i = 0; i < burst_bins; ++i) bursts[std::string(burst_bin_names[i])] = w.bursts[i];
    json by_stage = json::array();
    for (size_t i = 0; i < stages; ++i) {
        const auto& s = w.sampled[i];
        if (s.packets == 0) continue;
        by_stage.push_back(
            {{"name", stage_names[i]},
             {"cycles_per_packet", static_cast<double>(s.cycles) / static_cast<double>(s.packets)},
             {"sampled_packets", s.packets}});
    }
    return {{"lcore", w.lcore},
            {"packets", w.packets},
            {"pps", r.duration_s > 0 ? static_cast<double>(w.packets) / r.duration_s : 0.0},
            {"busy_cycles", w.busy_cycles},
            {"total_cycles", w.total_cycles},
            {"cpp", w.packets > 0 ? json(w.cpp()) : json(nullptr)},
            {"utilisation", w.utilisation()},
            {"headroom_pps",
             w.packets > 0 ? json(w.headroom_pps(r.tsc_hz, r.duration_s)) : json(nullptr)},
            {"bursts", bursts},
            {"stages", by_stage}};
}

json port_json(const port_report& p) {
    return {{"name", p.name},
            {"driver", p.driver},
            {"link", p.link_up ? "up" : "down"},
            {"rx_packets", p.rx_packets},
            {"tx_packets", p.tx_packets},
            {"rx_bytes", p.rx_bytes},
            {"tx_bytes", p.tx_bytes},
            {"rx_missed", p.rx_missed},
            {"originated", p.originated},
            {"consumed", p.consumed},
            {"drops", p.drops},
            {"pcie", pcie_json(p.pcie)}};
}

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json acl_json(const acl_report& a) {
    json rules = json::array();
    for (const acl_rule_report& r : a.rules)
        rules.push_back({{"name", text_or_null(r.name)},
                         {"action", r.action},
                         {"where", text_or_null(r.where)},
                         {"packets", r.packets},
                         {"bytes", r.bytes},
                         {"workers", r.by_worker}});
    return {{"port", a.port},     {"direction", a.direction},
            {"list", a.list},     {"permitted", a.permitted},
            {"denied", a.denied}, {"table_bytes", a.bytes},
            {"rules", rules}};
}

}  // namespace

void worker_report::add(const meter& from) noexcept {
    packets += from.packets.read();
    busy_cycles += from.busy_cycles.read();
    total_cycles += from.total_cycles.read();
    for (size_t i = 0; i < burst_bins; ++i) bursts[i] += from.bursts[i].read();
    for (size_t i = 0; i < stages; ++i) {
        sampled[i].packets += from.sampled[i].packets.read();
        sampled[i].cycles += from.sampled[i].cycles.read();
    }
}

double worker_report::cpp() const noexcept {
    return packets == 0 ? 0 : static_cast<double>(busy_cycles) / static_cast<double>(packets);
}

double worker_report::utilisation() const noexcept {
    return total_cycles == 0 ? 0
                             : static_cast<double>(busy_cycles) / static_cast<double>(total_cycles);
}

double worker_report::headroom_pps(uint64_t tsc_hz, double duration_s) const noexcept {
    if (packets == 0 || duration_s <= 0) return 0;
    const double pps = static_cast<double>(packets) / duration_s;
    return std::max(0.0, static_cast<double>(tsc_hz) / cpp() - pps);
}

void port_load::add(const size_samples& from, uint64_t of_bursts) noexcept {
    for (size_t i = 0; i < size_samples::bins; ++i) {
        sizes[i].packets += from.read()[i].packets.read();
        sizes[i].bytes += from.read()[i].bytes.read();
    }
    bursts += of_bursts;
}

void port_report::add(const port_counters& from) {
    rx_packets += from.rx_packets.read();
    tx_packets += from.tx_packets.read();
    rx_bytes += from.rx_bytes.read();
    tx_bytes += from.tx_bytes.read();
    rx_load.add(from.rx_sizes, from.rx_bursts.read());
    tx_load.add(from.tx_sizes, from.tx_bursts.read());
    originated += from.originated.read();
    consumed += from.consumed.read();
    for (size_t i = 0; i < packet::drop_reasons; ++i)
        if (const uint64_t n = from.drops[i].read(); n != 0)
            drops[std::string(packet::drop_names[i])] += n;
}

balance report::total() const {
    balance b;
    b.held = held;
    for (const auto& p : ports) {
        b.rx += p.rx_packets;
        b.tx += p.tx_packets;
        b.originated += p.originated;
        b.consumed += p.consumed;
        for (const auto& [name, n] : p.drops) b.drops += n;
    }
    return b;
}

named_drops report::drops() const {
    named_drops all;
    for (const auto& p : ports)
        for (const auto& [name, n] : p.drops) all[name] += n;
    return all;
}

json to_json(const report& r) {
    json isa = r.isa;
    isa["max_simd_bitwidth"] = r.max_simd_bitwidth;
    json workers = json::array();
    for (const auto& w : r.workers) workers.push_back(worker_json(w, r));
    json ports = json::array();
    for (const auto& p : r.ports) ports.push_back(port_json(p));
    json acls = json::array();
    for (const auto& a : r.acls) acls.push_back(acl_json(a));
    const balance b = r.total();
    return {{"schema", "turnpike.report/1"},
            {"version", r.version},
            {"duration_s", r.duration_s},
            {"tsc_hz", r.tsc_hz},
            {"isa", isa},
            {"workers", workers},
            {"ports", ports},
            {"mempool",
             {{"ops", r.mempool.ops},
              {"placement", r.mempool.placement},
              {"overhead", r.mempool.overhead},
              {"set_max_over_mean", r.mempool.set_max_over_mean},
              {"low_water", r.mempool.low_water},
              {"buffers", r.mempool.buffers},
              {"buffer_size", r.mempool.buffer_size},
              {"in_use_at_start", r.mempool.in_use_at_start},
              {"in_use", r.mempool.in_use},
              {"kept_by_drivers", r.mempool.kept_by_drivers}}},
            {"neighbours", r.neighbours.empty() ? json(nullptr) : json(r.neighbours)},
            {"routes", r.routes.empty() ? json(nullptr) : json(r.routes)},
            {"acl", acls},
            {"balance",
             {{"rx", b.rx},
              {"originated", b.originated},
              {"tx", b.tx},
              {"consumed", b.consumed},
              {"drops", b.drops},
              {"held", b.held}}},
            {"drops", r.drops()}};
}

}  // namespace turnpike::cost
