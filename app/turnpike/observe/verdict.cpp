// SPDX-License-Identifier: BSD-3-Clause
#include "observe/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace turnpike::observe {
namespace {

using nlohmann::json;

// Bytes on the wire that frame lengths do not count: preamble and SFD, FCS, inter-packet gap (IEEE 802.3).
constexpr double ethernet_overhead_bytes = 8 + 4 + 12;
constexpr double min_frame_bytes = 60;  // shorter frames are padded

/// Rates of a worker or port in the measured interval.
struct worker_now {
    const worker_report* of;
    worker_report then;
    double used, pps, more_pps;
};
struct port_now {
    const port_report* of;
    const port_report* then;  ///< at the start of the interval; null: the port is younger
    double seconds, rx_pps, tx_pps, rx_bytes_s, tx_bytes_s, missed;
    [[nodiscard]] double pps() const { return std::max(rx_pps, tx_pps); }
};

template <class T>
double grown(T now, T then) {
    return now > then ? static_cast<double>(now - then) : 0;
}

std::vector<worker_now> workers_of(const report& now, const report* previous) {
    std::vector<worker_now> out;
    for (const worker_report& w : now.workers) {
        if (!w.forwards) continue;
        worker_report then{};
        if (previous != nullptr)
            for (const worker_report& p : previous->workers)
                if (p.lcore == w.lcore) then = p;
        const double packets = grown(w.processed(), then.processed()),
                     busy = grown(w.busy_cycles, then.busy_cycles),
                     total = grown(w.total_cycles, then.total_cycles),
                     available = total - grown(w.control_cycles, then.control_cycles);
        if (available <= 0) continue;
        // By the worker's own time, which may be shorter than the interval.
        const double pps = static_cast<double>(w.tsc_hz) * packets / total, used = busy / available;
        const double more_pps = used > 0 ? std::max(0.0, pps / used - pps) : 0;
        out.push_back({&w, std::move(then), used, pps, more_pps});
    }
    return out;
}

std::vector<port_now> ports_of(const report& now, const report* previous, double seconds) {
    std::vector<port_now> out;
    for (const port_report& p : now.ports) {
        if (p.life == 0) continue;
        const port_report* then = nullptr;
        if (previous != nullptr)
            for (const port_report& before : previous->ports)
                if (before.life == p.life) then = &before;
        const port_totals zero{};
        const port_totals& was = then != nullptr ? then->totals : zero;
        const double s = then == nullptr && p.duration_s > 0 ? p.duration_s : seconds;
        out.push_back({&p, then, s, grown(p.totals.rx_packets, was.rx_packets) / s,
                       grown(p.totals.tx_packets, was.tx_packets) / s,
                       grown(p.totals.rx_bytes, was.rx_bytes) / s,
                       grown(p.totals.tx_bytes, was.tx_bytes) / s,
                       grown(p.rx_missed, then != nullptr ? then->rx_missed : uint64_t{0})});
    }
    return out;
}

headroom of_core(const std::vector<worker_now>& workers) {
    headroom h{.resource = "core", .from = "counted"};
    const auto busiest =
        std::max_element(workers.begin(), workers.end(),
                         [](const auto& a, const auto& b) { return a.used < b.used; });
    if (busiest == workers.end()) {
        h.why = "no worker has run yet";
        return h;
    }
    h.of = fmt::format("worker {}", busiest->of->lcore);
    h.used = busiest->used;
    if (busiest->used >= shows_cost)
        h.more_pps = busiest->more_pps;
    else
        h.why = "the worker is idle: its few packets do not show the cost of more";
    return h;
}

/// A mean since the counters were opened, without the part until an earlier report. The weights, counts since then
/// too, are the mean's denominator: cycles of a share of cycles, bytes read of the latency of reads.
double mean_since(double mean, double weight, double then, double then_weight) {
    if (weight <= then_weight) return mean;
    return std::max(0.0, (mean * weight - then * then_weight) / (weight - then_weight));
}

double share_of_cycles(const worker_now& w, std::string_view metric, double share) {
    const double *const cycles = w.of->core.find("cycles"), *const then = w.then.core.find(metric),
                        *const then_cycles = w.then.core.find("cycles");
    if (cycles == nullptr || then == nullptr || then_cycles == nullptr) return share;
    return mean_since(share, *cycles, *then, *then_cycles);
}

/// The share of cycles that cores stall on a memory level; headroom is the rate without those stalls.
headroom of_memory(std::string_view resource, std::string_view metric,
                   const std::vector<worker_now>& workers, const std::string& why) {
    headroom h{.resource = resource, .from = "measured"};
    for (const worker_now& w : workers) {
        const double* const mean = w.of->core.find(metric);
        if (mean == nullptr) continue;
        const double share = share_of_cycles(w, metric, *mean);
        if (h.used && *h.used >= share) continue;
        h.of = fmt::format("worker {}", w.of->lcore);
        h.used = share;
        h.more_pps.reset();
        if (share < 1 && w.pps > 0) h.more_pps = w.pps * share / (1 - share);
    }
    if (!h.used) h.why = why.empty() ? "the counter table of this CPU has no such metric" : why;
    return h;
}

/// Utilisation of a port's PCIe link in its fuller direction: measured, else counted, else modelled.
struct link_use {
    double used;
    std::string_view from;
};
std::optional<link_use> link_use_of(const port_now& p) {
    const pcie_facts& facts = p.of->pcie.facts;
    if (!facts.link) return {};
    const auto use = [&](const tlp_bytes& moved, double seconds, std::string_view from) {
        return link_use{
            8 * std::max(moved.up, moved.down) / (seconds * 1e9 * pcie::tlp_gbps(*facts.link)),
            from};
    };
    port_totals moved;
    moved.add(p.of->totals, p.then != nullptr ? p.then->totals : port_totals{});
    std::optional<pcie::bill> bill;
    if (facts.profile)
        if (auto made = bill_of(moved, *facts.profile, *facts.link)) bill = std::move(*made);
    if (facts.payload) {
        const auto& then = p.then != nullptr ? p.then->pcie.facts.payload : std::nullopt;
        const pcie_payload payload = facts.payload->since(then.value_or(pcie_payload{}));
        if (payload.seconds > 0)
            return use(measured_tlps(payload, *facts.link, moved, bill ? &*bill : nullptr),
                       payload.seconds, "measured");
    }
    if (const auto counted =
            counted_tlps(p.of->pcie.counts, p.then != nullptr ? p.then->pcie.counts
                                                              : std::map<std::string, uint64_t>{}))
        return use(*counted, p.seconds, "counted");
    if (!facts.profile || (!bill && moved.rx_packets + moved.tx_packets != 0)) return {};
    return use(bill ? modelled_tlps(moved, *bill) : tlp_bytes{}, p.seconds, "modelled");
}

/// The port with the highest utilisation by `use_of`.
template <class Use>
headroom nearest_port(std::string_view resource, const std::vector<port_now>& ports,
                      const Use& use_of, std::string_view unknown) {
    headroom h{.resource = resource};
    for (const port_now& p : ports) {
        const std::optional<link_use> use = use_of(p);
        if (!use || (h.used && *h.used >= use->used)) continue;
        // Over 100 %, counted: a virtual device whose link speed is only nominal. Modelled or measured: a full link, whose
        // capacity is estimated too low.
        if (use->used > 1.05 && use->from == "counted") {
            h.why = fmt::format("port {} exceeds the nominal speed of its link", p.of->name);
            continue;
        }
        h.of = "port " + p.of->name;
        h.from = use->from;
        h.used = std::min(use->used, 1.0);
        h.more_pps.reset();
        if (use->used > 0) h.more_pps = p.pps() * (1 / *h.used - 1);
    }
    if (h.used)
        h.why.clear();
    else if (h.why.empty())
        h.why = unknown;
    return h;
}

std::optional<link_use> wire_use_of(const port_now& p) {
    if (p.of->link_mbps == 0) return {};
    const auto bits = [](double bytes, double packets) {
        return 8 * (std::max(bytes, packets * min_frame_bytes) + packets * ethernet_overhead_bytes);
    };
    const double most = std::max(bits(p.rx_bytes_s, p.rx_pps), bits(p.tx_bytes_s, p.tx_pps));
    return link_use{most / (p.of->link_mbps * 1e6), "counted"};
}

/// Mean latency of inbound PCIe reads since the counters were opened.
std::optional<double> read_latency_of(const port_report& p) {
    if (p.pcie.measured.empty()) return {};
    const json metrics = json::parse(p.pcie.measured).value("metrics", json::object());
    const auto at = metrics.find("read_latency_ns");
    if (at == metrics.end() || !at->is_number()) return {};
    return at->get<double>();
}

/// The same, in the interval.
std::optional<double> read_latency_of(const port_now& p) {
    const auto now = read_latency_of(*p.of);
    if (!now || p.then == nullptr) return now;
    const auto &payload = p.of->pcie.facts.payload, &before = p.then->pcie.facts.payload;
    const auto then = read_latency_of(*p.then);
    if (!payload || !before || !then) return now;
    return mean_since(*now, payload->read_bytes, *then, before->read_bytes);
}

/// The highest latency of inbound PCIe reads.
headroom of_latency(const std::vector<port_now>& ports) {
    headroom h{.resource = "pcie_latency",
               .why = "only counters of the PCIe root measure read latency"};
    double slowest = 0;
    for (const port_now& p : ports) {
        const auto latency = read_latency_of(p);
        if (!latency || *latency <= slowest) continue;
        slowest = *latency;
        h.of = "port " + p.of->name;
        h.from = "measured";
        h.why = fmt::format(
            "a read takes {:.0f} ns; the device's maximum of outstanding reads is unknown",
            slowest);
        h.used = slowest >= slow_read_ns && p.missed > 0 ? std::optional(1.0) : std::nullopt;
    }
    return h;
}

std::string in_words(const verdict& v, const headroom& h, const std::vector<worker_now>& workers) {
    if (v.bound == "pcie_latency")
        return fmt::format("{} drops and no other resource is full: {}", h.of, h.why);
    if (v.bound == "line_rate")
        return fmt::format("the wire of {} is {:.0f} % utilised", h.of, 100 * *h.used);
    if (v.bound == "pcie_bandwidth")
        return fmt::format("the PCIe link of {} is {:.0f} % utilised", h.of, 100 * *h.used);
    std::string says =
        fmt::format("{} is busy {:.0f} % of the time", v.by[0].of, 100 * *v.by[0].used);
    for (const worker_now& w : workers)
        if (fmt::format("worker {}", w.of->lcore) == v.by[0].of && !w.of->core.says.empty())
            says += "; " + w.of->core.says;
    return says;
}

}  // namespace

verdict verdict_of(const report& now, const report* previous) {
    verdict v;
    const double seconds = now.duration_s - (previous != nullptr ? previous->duration_s : 0);
    v.seconds = seconds;
    const auto workers = seconds > 0 ? workers_of(now, previous) : std::vector<worker_now>{};
    const auto ports = seconds > 0 ? ports_of(now, previous, seconds) : std::vector<port_now>{};
    v.by = {of_core(workers),
            of_memory("l3", "l3_bound", workers, now.counters_why),
            of_memory("dram", "dram_bound", workers, now.counters_why),
            nearest_port("pcie_bandwidth", ports, link_use_of,
                         "no port has a known PCIe link (pcie: {link: ...})"),
            of_latency(ports),
            nearest_port("line_rate", ports, wire_use_of, "no port has a known link speed")};
    const auto use = [&](size_t i) { return v.by[i].used.value_or(0); };
    size_t bound = bound_names.size();
    for (const size_t i :
         {size_t{5}, size_t{3},
          size_t{0}})  // wire and PCIe before core: a full wire also keeps the core busy
        if (use(i) >= full && (bound == bound_names.size() || use(i) > use(bound))) bound = i;
    if (bound == bound_names.size() && use(4) >= full) bound = 4;
    if (bound == 0) {
        // The core is busy; its pipeline counters may show memory stalls as the cause.
        for (const worker_now& w : workers)
            if (fmt::format("worker {}", w.of->lcore) == v.by[0].of)
                bound = w.of->core.bound == "l3_bound"     ? 1
                        : w.of->core.bound == "dram_bound" ? 2
                                                           : 0;
    }
    if (bound == bound_names.size()) {
        const headroom& h = v.by[0];
        v.says = h.used ? fmt::format(
                              "no resource is full: the busiest, {}, is busy {:.0f} % of the time",
                              h.of, 100 * *h.used)
                        : h.why;
        return v;
    }
    v.bound = bound_names[bound];
    v.from = v.by[bound].from;
    v.says = in_words(v, v.by[bound], workers);
    return v;
}

}  // namespace turnpike::observe
