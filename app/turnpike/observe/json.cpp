// SPDX-License-Identifier: BSD-3-Clause
// The report as turnpike.report/2 (doc/report.md).
#include <nlohmann/json.hpp>

#include "observe/metrics.hpp"
#include "observe/verdict.hpp"

namespace turnpike::observe {
namespace {

using nlohmann::json;

json json_of(const metric_value& value) {
    if (const auto* n = std::get_if<uint64_t>(&value)) return *n;
    if (const auto* x = std::get_if<double>(&value)) return *x;
    return nullptr;
}

/// All metrics of one object, by name.
template <class T, size_t N>
json json_of(const metric<T> (&rows)[N], const T& of) {
    json out = json::object();
    for (const metric<T>& m : rows) out[std::string(m.name)] = json_of(m.read(of));
    return out;
}

json parsed_or_null(const std::string& text) {
    return text.empty() ? json(nullptr) : json::parse(text);
}
json number_or_null(std::optional<double> n) { return n ? json(*n) : json(nullptr); }
json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

/// Breakdown of the core's pipeline slots, deepest level last; null if not counted.
json core_json(const core_report& c) {
    json out{{"says", text_or_null(c.says)},
             {"why", text_or_null(c.why)},
             {"counted_share", c.values.empty() ? json(nullptr) : json(c.counted_share)},
             {"slots", json::array()}};
    for (const core_report::slots& s : c.where)
        out["slots"].push_back({{"name", s.name},
                                {"of", text_or_null(s.parent)},
                                {"level", s.level},
                                {"unit", s.unit},
                                {"share", s.share}});
    return out;
}

json worker_json(const worker_report& w) {
    json out = json_of(metrics::workers, w);
    out["lcore"] = w.lcore;
    out["node"] = w.node < 0 ? json(nullptr) : json(w.node);
    out["forwards"] = w.forwards;
    out["core"] = core_json(w.core);
    out["bursts"] = json::object();
    for (size_t i = 0; i < counters::burst_bins; ++i)
        out["bursts"][std::string(counters::burst_bin_names[i])] = w.bursts[i];
    out["stages"] = json::array();
    for (const auto& s : w.stages)
        if (s.packets != 0)
            out["stages"].push_back(
                {{"name", s.name},
                 {"cycles_per_packet", s.cycles_per_packet()},
                 {"instructions_per_packet", number_or_null(s.instructions_per_packet())},
                 {"sampled_packets", s.packets}});
    out["groups"] = json::array();
    for (const auto& g : w.groups())
        out["groups"].push_back({{"name", g.name},
                                 {"cycles_per_packet", g.cycles},
                                 {"instructions_per_packet", number_or_null(g.instructions)}});
    return out;
}

json port_json(const port_report& p) {
    json out = json_of(metrics::ports, p);
    out["name"] = p.name;
    out["driver"] = p.driver;
    out["link"] = link_of(p);
    out["node"] = p.node < 0 ? json(nullptr) : json(p.node);
    out["link_mbps"] = p.link_mbps == 0 ? json(nullptr) : json(p.link_mbps);
    out["drops"] = drops_of(p.totals);
    out["pcie"] = {{"modelled", parsed_or_null(p.pcie.modelled)},
                   {"counted", parsed_or_null(p.pcie.counted)},
                   {"measured", parsed_or_null(p.pcie.measured)},
                   {"why", p.pcie.why}};
    return out;
}

json mempool_json(const mempool_report& m) {
    json out = json_of(metrics::mempool, m);
    out["ops"] = m.ops;
    out["node"] = m.node < 0 ? json(nullptr) : json(m.node);
    out["placement"] = m.placement;
    out["set_max_over_mean"] = m.set_max_over_mean;
    return out;
}

json acl_json(const acl_report& a) {
    json out = json_of(metrics::acls, a);
    out["port"] = text_or_null(a.interface);
    out["direction"] = text_or_null(a.direction);
    out["list"] = a.list;
    out["ipv4_search"] = text_or_null(a.search4);
    out["ipv6_search"] = text_or_null(a.search6);
    if (a.first_rule != 0) out["first_rule"] = a.first_rule;
    out["rules"] = json::array();
    for (const acl_rule_report& r : a.rules)
        out["rules"].push_back({{"name", text_or_null(r.name)},
                                {"action", r.action},
                                {"where", text_or_null(r.where)},
                                {"packets", r.packets},
                                {"bytes", r.bytes},
                                {"workers", r.by_worker}});
    return out;
}

json punt_json(const punt_report& p) {
    json out = json_of(metrics::punt, p);
    out["interface"] = p.interface;
    out["class"] = datapath::punt_class_texts[static_cast<size_t>(p.of)].name;
    return out;
}

template <class T, class F>
json list_of(const std::vector<T>& from, const F& each) {
    json out = json::array();
    for (const T& one : from) out.push_back(each(one));
    return out;
}

}  // namespace

json to_json(const verdict& v) {
    json out{{"bound", v.bound},
             {"from", v.from},
             {"says", v.says},
             {"seconds", v.seconds},
             {"headroom", json::object()}};
    for (const headroom& h : v.by)
        out["headroom"][std::string(h.resource)] = {{"of", text_or_null(h.of)},
                                                    {"from", text_or_null(std::string(h.from))},
                                                    {"used", number_or_null(h.used)},
                                                    {"pps", number_or_null(h.more_pps)},
                                                    {"why", text_or_null(h.why)}};
    return out;
}

json to_json(const report& r) {
    json isa = r.isa;
    isa["max_simd_bitwidth"] = r.max_simd_bitwidth;
    return {
        {"schema", "turnpike.report/2"},
        {"version", r.version},
        {"duration_s", r.duration_s},
        {"tsc_hz", r.tsc_hz},
        {"isa", isa},
        {"counters", {{"table", text_or_null(r.counters)}, {"why", text_or_null(r.counters_why)}}},
        {"changes", r.changes},
        {"crossings", r.crossings()},
        {"verdict", to_json(verdict_of(r))},
        {"workers", list_of(r.workers, worker_json)},
        {"ports", list_of(r.ports, port_json)},
        {"mempool", mempool_json(r.mempool)},
        {"neighbours", r.neighbours.empty() ? json(nullptr) : json(r.neighbours)},
        {"routes", r.routes.empty() ? json(nullptr) : json(r.routes)},
        {"acl", list_of(r.acls, acl_json)},
        {"punt", list_of(r.punt, punt_json)},
        {"balance", json_of(metrics::totals, r.total())},
        {"drops", r.drops()}};
}

}  // namespace turnpike::observe
