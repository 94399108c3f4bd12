// SPDX-License-Identifier: BSD-3-Clause
// The report as a table for a terminal, printed every few seconds.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "observe/metrics.hpp"
#include "observe/verdict.hpp"

namespace turnpike::observe {
namespace {

std::string with_prefix(double value) {
    if (value >= 1e9) return fmt::format("{:.2f} G", value / 1e9);
    if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
    if (value >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
    return fmt::format("{:.0f} ", value);
}

/// "reads 1.51  writes 1.40  mmio 0.06" of a PCIe object's lines per packet; "-" if unknown.
std::string lines_of(const std::string& text) {
    const auto lines = nlohmann::json::parse(text)["per_packet"]["lines"];
    const auto sum = [&](std::initializer_list<const char*> names) -> std::string {
        double n = 0;
        for (const char* name : names) {
            if (!lines[name].is_number()) return "-";
            n += lines[name].get<double>();
        }
        return fmt::format("{:.2f}", n);
    };
    return fmt::format("reads {}  writes {} ({} partial)  MMIO {}", sum({"rd_cur"}),
                       sum({"itom", "rfo"}), sum({"rfo"}), sum({"wil", "prd"}));
}

void add_pcie(std::string& out, const report& r) {
    for (const auto& p : r.ports)
        for (const auto& [source, text] :
             {std::pair{"modelled", &p.pcie.modelled}, std::pair{"counted", &p.pcie.counted},
              std::pair{"measured", &p.pcie.measured}})
            if (!text->empty())
                out += fmt::format("PCIe lines per packet of {}, {}: {}\n", p.name, source,
                                   lines_of(*text));
}

/// PMU counters of each worker, or the reason why there are none.
void add_cores(std::string& out, const report& r) {
    if (!r.counters_why.empty())
        out += fmt::format("core counters  not read: {}\n", r.counters_why);
    for (const worker_report& w : r.workers) {
        if (w.core.values.empty()) continue;
        const auto number = [&](const char* name, int digits) {
            const double* const value = w.core.find(name);
            return value == nullptr ? std::string("-") : fmt::format("{:.{}f}", *value, digits);
        };
        out += fmt::format(
            "core of {}  {} instructions/pkt  {} per cycle  {} core cycles/pkt  {} GHz{}{}{}\n",
            w.lcore, number("ipp", 0), number("ipc", 2), number("core_cpp", 0),
            number("core_ghz", 2), w.core.says.empty() ? "" : "  ", w.core.says,
            w.core.counted_share < 1
                ? fmt::format("  (scaled: counted {:.0f}% of the time)", 100 * w.core.counted_share)
                : "");
    }
}

/// Counters since `previous`, so that periodic tables show current rates.
worker_report since(const worker_report& now, const worker_report* previous) {
    worker_report d = now;
    if (previous == nullptr) return d;
    d.packets -= previous->packets;
    d.injected -= previous->injected;
    d.control_cycles -= previous->control_cycles;
    d.busy_cycles -= previous->busy_cycles;
    d.total_cycles -= previous->total_cycles;
    return d;
}

void add_workers(std::string& out, const report& r, const report* previous) {
    out += fmt::format("{:<8}{:>12}{:>12}{:>8}{:>14}  {}\n", "worker", "packets/s", "cycles/pkt",
                       "busy", "headroom/s", "sampled cycles per packet");
    for (size_t i = 0; i < r.workers.size(); ++i) {
        const bool known = previous != nullptr && i < previous->workers.size();
        const worker_report w = since(r.workers[i], known ? &previous->workers[i] : nullptr);
        std::string by_stage;
        for (const auto& sample : r.workers[i].stages)
            if (sample.packets != 0)
                by_stage += fmt::format("{} {:.0f}  ", sample.name, sample.cycles_per_packet());
        for (const auto& group : r.workers[i].groups())
            by_stage +=
                fmt::format("{}{} {:.0f}", group.name == worker_report::io_group ? "= " : " + ",
                            group.name, group.cycles);
        out +=
            fmt::format("{:<8}{:>12}{:>12}{:>7.1f}%{:>14}  {}\n", w.lcore, with_prefix(w.pps()),
                        w.processed() ? fmt::format("{:.0f}", w.cpp()) : "-", 100 * w.utilisation(),
                        w.knows_headroom() ? with_prefix(w.headroom_pps()) : "-", by_stage);
    }
}

constexpr std::pair<std::string_view, int> port_columns[] = {
    {"rx_packets", 12}, {"tx_packets", 12}, {"rx_bytes", 14}, {"tx_bytes", 14}, {"rx_missed", 10}};

void add_ports(std::string& out, const report& r) {
    out += fmt::format("{:<12}{:<16}{:<8}", "port", "driver", "link");
    for (const auto& [name, width] : port_columns) {
        std::string title(name == "rx_missed" ? "missed" : name);
        std::replace(title.begin(), title.end(), '_', ' ');
        out += fmt::format("{:>{}}", title, width);
    }
    out += "  drops\n";
    for (const auto& p : r.ports) {
        out += fmt::format("{:<12}{:<16}{:<8}", p.name, p.driver, link_of(p));
        for (const auto& [name, width] : port_columns)
            out += fmt::format(
                "{:>{}}", std::get<uint64_t>(find_metric(metrics::ports, name).read(p)), width);
        std::string drops;
        for (const auto& [name, n] : drops_of(p.totals)) drops += fmt::format("{} {}  ", name, n);
        out += fmt::format("  {}\n", drops.empty() ? "-" : drops);
    }
}

/// Rates of the ports since `previous`. A counter that restarted meanwhile has no rate.
void add_rates(std::string& out, const report& r, const report* previous, double seconds) {
    if (seconds <= 0) return;
    const port_report zero{};
    const auto life_before = [&](uint64_t life) -> const port_report* {
        if (previous == nullptr) return &zero;
        for (const port_report& p : previous->ports)
            if (p.life == life) return &p;
        return nullptr;
    };
    std::string lines;
    for (const port_report& p : r.ports) {
        const port_report* const then = p.life != 0 ? life_before(p.life) : nullptr;
        if (then == nullptr) continue;
        const auto rate = [&](uint64_t now, uint64_t before, double factor = 1) {
            return now < before ? std::string("-")
                                : with_prefix(factor * static_cast<double>(now - before) / seconds);
        };
        const port_totals &n = p.totals, &b = then->totals;
        lines +=
            fmt::format("{:<12}{:>14}{:>14}{:>14}{:>14}{:>12}{:>12}\n", p.name,
                        rate(n.rx_packets, b.rx_packets), rate(n.tx_packets, b.tx_packets),
                        rate(n.rx_bytes, b.rx_bytes, 8), rate(n.tx_bytes, b.tx_bytes, 8),
                        rate(p.rx_missed, then->rx_missed), rate(n.all_drops(), b.all_drops()));
    }
    if (lines.empty()) return;
    out += fmt::format("{:<12}{:>14}{:>14}{:>14}{:>14}{:>12}{:>12}\n", "rates", "rx packets/s",
                       "tx packets/s", "rx bit/s", "tx bit/s", "missed/s", "drops/s");
    out += lines;
}

/// The limiting resource now, and the headroom of each known resource.
void add_verdict(std::string& out, const report& r, const report* previous) {
    const verdict v = verdict_of(r, previous);
    out += fmt::format("verdict  {} ({}): {}  headroom/s:", v.bound, v.from, v.says);
    for (const headroom& h : v.by)
        if (h.more_pps)
            out += fmt::format("  {} {}({})", h.resource, with_prefix(*h.more_pps), h.from);
    out += "\n";
}

/// Packets for the control thread; only classes over their rate.
void add_punt(std::string& out, const report& r) {
    for (const punt_report& p : r.punt)
        if (p.dropped != 0)
            out += fmt::format("punt {} {}  punted {}  dropped {}\n", p.interface,
                               datapath::punt_class_texts[static_cast<size_t>(p.of)].name, p.punted,
                               p.dropped);
}

/// Counters of each ACL, and its rules with the most packets.
void add_acls(std::string& out, const report& r) {
    constexpr size_t shown = 8;
    for (const auto& a : r.acls) {
        out += fmt::format("acl {} {} {}  permitted {}  denied {} ", a.interface, a.direction,
                           a.list, a.permitted, a.denied);
        std::vector<const acl_rule_report*> hit;
        for (const auto& rule : a.rules)
            if (rule.packets != 0) hit.push_back(&rule);
        std::stable_sort(hit.begin(), hit.end(),
                         [](auto* x, auto* y) { return x->packets > y->packets; });
        for (size_t i = 0; i < std::min(shown, hit.size()); ++i)
            out +=
                fmt::format("  {} {} {}", hit[i]->action,
                            hit[i]->name.empty() ? hit[i]->where : hit[i]->name, hit[i]->packets);
        out += hit.size() > shown ? fmt::format("  and {} rules more\n", hit.size() - shown) : "\n";
    }
}

}  // namespace

std::string to_table(const report& r, const report* previous) {
    const double seconds = r.duration_s - (previous ? previous->duration_s : 0);
    std::string isa;
    for (const auto& [what, name] : r.isa) isa += fmt::format("  {} {}", what, name);
    std::string out = fmt::format("turnpike {}  {:.1f} s  SIMD up to {} bits:{}\n", r.version,
                                  r.duration_s, r.max_simd_bitwidth, isa);
    add_workers(out, r, previous);
    add_cores(out, r);
    add_ports(out, r);
    add_rates(out, r, previous, seconds);
    add_pcie(out, r);
    add_verdict(out, r, previous);
    for (const std::string& crossing : r.crossings()) out += "crosses nodes  " + crossing + "\n";
    if (!r.neighbours.empty()) {
        out += "neighbours";
        for (const auto& [state, n] : r.neighbours) out += fmt::format("  {} {}", state, n);
        out += "   routes";
        for (const auto& [family, n] : r.routes) out += fmt::format("  {} {}", family, n);
        out += "\n";
    }
    add_acls(out, r);
    add_punt(out, r);
    const balance b = r.total();
    out +=
        fmt::format("balance  rx {} + originated {} {} tx {} + consumed {} + drops {} + held {}\n",
                    b.rx, b.originated, b.holds() ? "=" : "~", b.tx, b.consumed, b.drops, b.held);
    out += fmt::format(
        "buffers  {} of {} in use ({} at start), at least {} free; {}: {}, {:.1f}% padding\n",
        r.mempool.in_use, r.mempool.buffers, r.mempool.in_use_at_start, r.mempool.low_water,
        r.mempool.ops, r.mempool.placement, 100 * r.mempool.overhead);
    return out;
}

}  // namespace turnpike::observe
