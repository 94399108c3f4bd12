// SPDX-License-Identifier: BSD-3-Clause
// The metrics as text for Prometheus and compatible collectors. Source: OpenMetrics 1.0 (RFC draft of 2020), the
// exposition format's "Overall structure", "MetricFamily" and "Text format" sections.
#include <fmt/format.h>

#include "observe/metrics.hpp"
#include "observe/verdict.hpp"

namespace turnpike::observe {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

std::string number_of(const metric_value& value) {
    if (const auto* n = std::get_if<uint64_t>(&value)) return fmt::format("{}", *n);
    if (const auto* x = std::get_if<double>(&value)) return fmt::format("{}", *x);
    return "NaN";
}

void add_head(std::string& out, std::string_view name, metric_kind kind, std::string_view help) {
    out += fmt::format("# TYPE {} {}\n# HELP {} {}\n", name,
                       kind == metric_kind::counter ? "counter" : "gauge", name, escaped(help));
}

void add_sample(std::string& out, std::string_view name, metric_kind kind, std::string_view labels,
                const metric_value& value) {
    out += fmt::format("{}{}{} {}\n", name, kind == metric_kind::counter ? "_total" : "", labels,
                       number_of(value));
}

/// One metric family per metric, one sample per object.
template <class T, class Things, class Labels>
void add_families(std::string& out, std::string_view prefix, std::span<const metric<T>> rows,
                  const Things& things, const Labels& labels) {
    for (const metric<T>& m : rows) {
        const std::string name = fmt::format("turnpike_{}_{}", prefix, m.name);
        add_head(out, name, m.kind, m.help);
        for (const T& one : things) {
            const metric_value value = m.read(one);
            // A counter must not be NaN, so an absent one has no sample.
            const bool none = std::holds_alternative<std::monostate>(value);
            if (m.kind == metric_kind::gauge || !none)
                add_sample(out, name, m.kind, labels(one), value);
        }
    }
}

/// The limiting resource (1, others 0), and utilisation and headroom of each known resource.
void add_verdict(std::string& out, const report& r) {
    const verdict v = verdict_of(r);
    const auto add = [&](std::string_view name, std::string_view help, const auto& value_of) {
        add_head(out, name, metric_kind::gauge, help);
        for (const headroom& h : v.by)
            if (const std::optional<double> value = value_of(h))
                out += fmt::format("{}{{resource=\"{}\"}} {}\n", name, h.resource, *value);
    };
    add("turnpike_bound", "1 if the resource limits forwarding; all 0: no resource does",
        [&](const headroom& h) { return std::optional(h.resource == v.bound ? 1.0 : 0.0); });
    add("turnpike_used", "utilisation of the resource, 0 to 1, mean of the whole run",
        [](const headroom& h) { return h.used; });
    add("turnpike_headroom_pps", "additional packets per second that the resource allows",
        [](const headroom& h) { return h.more_pps; });
}

}  // namespace

std::string to_open_metrics(const report& r) {
    std::string out;
    add_families(out, "worker", worker_metrics(), r.workers,
                 [](const worker_report& w) { return fmt::format("{{lcore=\"{}\"}}", w.lcore); });
    add_families(out, "port", port_metrics(), r.ports, [](const port_report& p) {
        return fmt::format("{{port=\"{}\"}}", escaped(p.name));
    });
    add_head(out, "turnpike_drops", metric_kind::counter, "packets freed, by reason");
    for (const port_report& p : r.ports)
        for (const auto& [reason, n] : drops_of(p.totals))
            out += fmt::format("turnpike_drops_total{{port=\"{}\",reason=\"{}\"}} {}\n",
                               escaped(p.name), reason, n);
    const balance sum = r.total();
    add_families(out, "balance", balance_metrics(), std::span(&sum, 1),
                 [](const balance&) { return std::string(); });
    add_families(out, "mempool", mempool_metrics(), std::span(&r.mempool, 1),
                 [](const mempool_report&) { return std::string(); });
    add_families(out, "acl", acl_metrics(), r.acls, [](const acl_report& a) {
        return fmt::format("{{port=\"{}\",direction=\"{}\",list=\"{}\"}}", escaped(a.interface),
                           a.direction, escaped(a.list));
    });
    add_families(out, "punt", punt_metrics(), r.punt, [](const punt_report& p) {
        return fmt::format("{{interface=\"{}\",class=\"{}\"}}", escaped(p.interface),
                           datapath::punt_class_texts[static_cast<size_t>(p.of)].name);
    });
    add_verdict(out, r);
    return out + "# EOF\n";
}

}  // namespace turnpike::observe
