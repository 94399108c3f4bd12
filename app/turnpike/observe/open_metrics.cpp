// SPDX-License-Identifier: BSD-3-Clause
#include "observe/open_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "base/next_piece.hpp"
#include "base/printable.hpp"
#include "counters/latency_histogram.hpp"
#include "observe/metrics.hpp"

namespace turnpike::observe {
namespace {

using label = std::pair<std::string_view, std::string_view>;

/// {name="value",...}; empty values are left out, as Prometheus treats both alike. Names of files may be invalid UTF-8, by which
/// Prometheus refuses all of the text.
std::string labels_text(std::initializer_list<label> all) {
    std::string out;
    for (const auto& [name, value] : all) {
        if (value.empty()) continue;
        out += out.empty() ? '{' : ',';
        out.append(name).append("=\"");
        for (std::string_view rest = value; !rest.empty();) {
            if (rest.size() != value.size()) out += "\\n";
            for (const char c : printable(next_piece(rest, '\n'))) {
                if (c == '\\' || c == '"') out += '\\';
                out += c;
            }
        }
        out += '"';
    }
    if (!out.empty()) out += '}';
    return out;
}

/// Name of a metric's family after the prefix of its object.
std::string family_name(std::string_view prefix, std::string_view name, std::string_view unit,
                        std::string_view exported) {
    std::string out = fmt::format("turnpike_{}_{}", prefix, exported.empty() ? name : exported);
    if (exported.empty() && !unit.empty() && !out.ends_with(fmt::format("_{}", unit)))
        out.append("_").append(unit);
    return out;
}

class exposition {
  public:
    explicit exposition(exposition_format f) : open_(f == exposition_format::open_metrics_1_0) {}

    /// type  of OpenMetrics, with the suffix of its samples' name
    void begin(std::string family, std::string_view type, std::string_view suffix,
               std::string_view unit, std::string_view help) {
        name_ = std::move(family);
        // 0.0.4 has the samples' names in its comments, and no type for facts.
        const std::string& shown =
            open_ || type == "histogram" ? name_ : name_ + std::string(suffix);
        const std::string heading(shown);
        if (!open_ && type == "info") type = "gauge";
        add("# HELP {} {}\n# TYPE {} {}\n", heading, help, heading, type);
        std::string token(unit);
        std::ranges::replace(token, ' ', '_');
        if (open_ && !token.empty() && name_.ends_with("_" + token))
            add("# UNIT {} {}\n", heading, token);
        name_ += suffix;
    }
    template <class Number>
    void sample(std::string_view labels, const Number& value) {
        add("{}{} {}\n", name_, labels, value);
    }
    template <class Number>
    void suffixed(std::string_view suffix, std::string_view labels, const Number& value) {
        add("{}{}{} {}\n", name_, suffix, labels, value);
    }
    [[nodiscard]] std::string text() && {
        if (open_) out_ += "# EOF\n";
        return std::move(out_);
    }

    /// A family per row, a sample per object.
    template <class T, size_t N, class Things, class Labels>
    void families(std::string_view prefix, const metric<T> (&rows)[N], const Things& things,
                  const Labels& labels_of) {
        std::vector<std::string> texts;
        for (const T& one : things) texts.push_back(labels_of(one));
        for (const metric<T>& m : rows) {
            if (m.exported == derived) continue;
            const bool counts = m.kind == metric_kind::counter;
            begin(family_name(prefix, m.name, m.unit, m.exported), counts ? "counter" : "gauge",
                  counts ? "_total" : "", m.unit, m.help);
            auto text = texts.begin();
            for (const T& one : things) {
                const metric_value value = m.read(one);
                if (const auto* n = std::get_if<uint64_t>(&value)) sample(*text, *n);
                if (const auto* x = std::get_if<double>(&value)) sample(*text, *x);
                ++text;
            }
        }
    }
    template <class Things, class Labels>
    void info(const info_family& f, const Things& things, const Labels& labels_of) {
        begin(fmt::format("turnpike_{}", f.name), "info", "_info", "", f.help);
        for (const auto& one : things) sample(labels_of(one), 1);
    }

  private:
    template <class... T>
    void add(fmt::format_string<T...> text, T&&... values) {
        fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
    }

    bool open_;
    std::string out_, name_;
};

/// The labels of an object: the text of a member.
template <class T, class Text>
auto by(std::string_view name, Text T::*member) {
    return [=](const T& one) { return labels_text({{name, one.*member}}); };
}
constexpr auto unlabelled = [](const auto&) { return std::string(); };

std::string lcore_label(unsigned lcore) { return labels_text({{"lcore", fmt::to_string(lcore)}}); }

void add_workers(exposition& out, const report& r) {
    out.families("worker", metrics::workers, r.workers,
                 [](const worker_report& w) { return lcore_label(w.lcore); });
    out.begin(fmt::format("turnpike_{}", burst_histogram), "histogram", "", "packets",
              burst_histogram_help);
    for (const worker_report& w : r.workers) {
        uint64_t sum = 0;
        for (size_t i = 0; i < counters::burst_bins; ++i) {
            sum += w.bursts[i];
            const std::string most =
                i + 1 == counters::burst_bins
                    ? "+Inf"
                    : fmt::format("{}.0", counters::burst_bin_least[i + 1] - 1);
            out.suffixed("_bucket", labels_text({{"lcore", fmt::to_string(w.lcore)}, {"le", most}}),
                         sum);
        }
        out.suffixed("_count", lcore_label(w.lcore), sum);
        out.suffixed("_sum", lcore_label(w.lcore), w.packets);
    }
    std::vector<stage_sample> stages;
    for (const worker_report& w : r.workers)
        for (const auto& s : w.stages) stages.push_back({w.lcore, &s});
    out.families("stage", metrics::stages, stages, [](const stage_sample& s) {
        return labels_text({{"lcore", fmt::to_string(s.lcore)}, {"stage", s.stage->name}});
    });
}

void add_ports(exposition& out, const report& r) {
    const auto port_label = by("port", &port_report::name);
    out.families("port", metrics::ports, r.ports, port_label);
    out.families("port", metrics::links, r.ports, port_label);
    out.info(port_info, r.ports, [](const port_report& p) {
        return labels_text({{"port", p.name},
                            {"driver", p.driver},
                            {"node", p.node < 0 ? std::string() : fmt::to_string(p.node)}});
    });
    // Zeros, too: a query misses the first increase of a series that appears with it.
    std::vector<drop_sample> drops;
    for (const port_report& p : r.ports)
        for (size_t i = 0; i < p.totals.drops.size(); ++i)
            drops.push_back(
                {p.name, datapath::drop_texts[i].name, p.totals.drops[i], p.totals.drop_bytes[i]});
    out.families("port", metrics::drops, drops, [](const drop_sample& d) {
        return labels_text({{"port", d.port}, {"reason", d.reason}});
    });
}

void add_lists(exposition& out, const report& r) {
    out.families("acl", metrics::acls, r.acls, [](const acl_report& a) {
        return labels_text(
            {{"interface", a.interface}, {"direction", a.direction}, {"list", a.list}});
    });
    std::vector<rule_sample> rules;
    for (const acl_report& a : r.acls) {
        const auto own = [](const acl_rule_report& rule) { return rule.where.empty(); };
        if (a.rules.size() - static_cast<size_t>(std::ranges::count_if(a.rules, own)) >
            max_listed_rules)
            continue;
        for (const acl_rule_report& rule : a.rules) rules.push_back({&a, &rule});
    }
    // Not by position, which moves when another rule is inserted. The name of a rule is unique in its list.
    const auto label_of = [](const rule_sample& s) {
        const acl_rule_report& rule = *s.rule;
        return rule.name.empty() || rule.name.front() == '#' ? fmt::format("#{}", rule.life)
                                                             : rule.name;
    };
    out.families("acl_rule", metrics::rules, rules, [&](const rule_sample& s) {
        return labels_text({{"interface", s.of->interface},
                            {"direction", s.of->direction},
                            {"list", s.of->list},
                            {"rule", label_of(s)}});
    });
    out.info(acl_info, rules, [&](const rule_sample& s) {
        return labels_text({{"interface", s.of->interface},
                            {"direction", s.of->direction},
                            {"list", s.of->list},
                            {"rule", label_of(s)},
                            {"name", s.rule->name},
                            {"action", s.rule->action},
                            {"where", s.rule->where}});
    });
}

void add_routing(exposition& out, const scraped& s) {
    std::vector<neighbour_sample> neighbours;
    for (const auto& [state, n] : s.numbers.neighbours)
        if (state != "limit") neighbours.push_back({state, n});
    out.families("neighbour", metrics::neighbours, neighbours,
                 by("state", &neighbour_sample::state));
    out.families("punt", metrics::punt, s.numbers.punt, [](const punt_report& p) {
        return labels_text({{"interface", p.interface},
                            {"class", datapath::punt_class_texts[static_cast<size_t>(p.of)].name}});
    });
    std::vector<route_sample> routes;
    for (const vrf_report& v : s.objects.vrfs) {
        routes.push_back({v.name, "ipv4", v.ipv4});
        routes.push_back({v.name, "ipv6", v.ipv6});
    }
    out.families("fib", metrics::routes, routes, [](const route_sample& r) {
        return labels_text({{"vrf", r.vrf}, {"family", r.family}});
    });
    out.families("fib", metrics::fibs, s.objects.fibs, [](const fib_report& f) {
        return labels_text({{"vrf", f.vrf}, {"family", f.family}});
    });
    out.families("rib", metrics::sources, s.objects.sources, [](const source_report& r) {
        return labels_text({{"vrf", r.vrf}, {"protocol", r.protocol}});
    });
    out.families("table", metrics::tables, s.objects.tables, by("table", &table_report::name));
    out.families("netlink", metrics::netlink, s.objects.netlink, unlabelled);
    out.families("netlink", metrics::left_out, s.objects.left_out,
                 by("reason", &left_out_report::reason));
    out.families("netlink", metrics::not_followed, s.objects.not_followed,
                 by("reason", &not_followed_report::reason));
}

void add_objects(exposition& out, const inventory& all) {
    out.families("interface", metrics::interfaces, all.interfaces,
                 by("interface", &interface_report::name));
    out.info(interface_info, all.interfaces, [](const interface_report& i) {
        return labels_text({{"interface", i.name},
                            {"kind", i.kind},
                            {"port", i.port},
                            {"vlan", i.vlan == 0 ? std::string() : fmt::to_string(i.vlan)},
                            {"bridge", i.bridge},
                            {"vrf", i.vrf},
                            {"peer", i.peer}});
    });
    out.families("bridge", metrics::bridges, all.bridges, by("bridge", &bridge_report::name));
    out.families("tunnel", metrics::tunnels, all.tunnels, by("tunnel", &tunnel_report::name));
    out.info(tunnel_info, all.tunnels, [](const tunnel_report& t) {
        return labels_text(
            {{"tunnel", t.name}, {"vni", fmt::to_string(t.vni)}, {"remote", t.remote}});
    });
    out.families("mirror", metrics::mirrors, all.mirrors, by("mirror", &mirror_report::name));
    out.families("sflow", metrics::sflow, all.sflow, unlabelled);
    out.families("host_interface", metrics::host_interfaces, all.host_interfaces,
                 by("interface", &host_interface_report::name));
}

/// Buckets end at powers of two of nanoseconds.
void add_latencies(exposition& out, const inventory& all) {
    using counters::latency_histogram;
    constexpr unsigned first = 8, last = 30;  // 256 ns to 1.07 s
    out.begin(fmt::format("turnpike_{}", observe::latency_histogram), "histogram", "", "seconds",
              latency_histogram_help);
    for (const latency_report& one : all.latencies) {
        uint64_t sum = 0;
        size_t bin = 0;
        for (unsigned power = first; power <= last; ++power) {
            const uint64_t end = uint64_t{1} << power;
            for (; bin < latency_histogram::bin_of(end); ++bin) sum += one.bins[bin];
            out.suffixed("_bucket",
                         labels_text({{"in", one.in},
                                      {"out", one.out},
                                      {"le", fmt::to_string(static_cast<double>(end) / 1e9)}}),
                         sum);
        }
        const std::string pair = labels_text({{"in", one.in}, {"out", one.out}});
        out.suffixed("_bucket", labels_text({{"in", one.in}, {"out", one.out}, {"le", "+Inf"}}),
                     one.samples);
        out.suffixed("_count", pair, one.samples);
        out.suffixed("_sum", pair, static_cast<double>(one.sum_ns) / 1e9);
    }
}

void add_totals(exposition& out, const scraped& s) {
    const process_sample process{&s};
    out.families("process", metrics::process, std::span(&process, 1), unlabelled);
    out.info(build_info, std::span(&s.numbers, 1), [](const report& r) {
        return labels_text(
            {{"version", r.version}, {"max_simd_bitwidth", fmt::to_string(r.max_simd_bitwidth)}});
    });
    const balance sum = s.numbers.total();
    out.families("balance", metrics::totals, std::span(&sum, 1), unlabelled);
    out.families("mempool", metrics::mempool, std::span(&s.numbers.mempool, 1), unlabelled);
    const verdict v = verdict_of(s.numbers);
    std::vector<resource_sample> resources;
    for (const headroom& h : v.by) resources.push_back({&h, h.resource == v.bound});
    out.families("resource", metrics::resources, resources, [](const resource_sample& r) {
        return labels_text({{"resource", r.of->resource}});
    });
}

/// The quality of a media type in an Accept value, in thousandths; 0: not acceptable.
unsigned quality_of(std::string_view accept, std::string_view type) noexcept {
    unsigned best = 0;
    while (!accept.empty()) {
        std::string_view range = next_piece(accept, ',');
        range.remove_prefix(std::min(range.find_first_not_of(" \t"), range.size()));
        if (!range.starts_with(type)) continue;
        const std::string_view rest = range.substr(type.size());
        if (!rest.empty() && rest.find_first_of("; \t") != 0) continue;
        unsigned q = 1000;
        if (const size_t at = rest.find("q="); at != std::string_view::npos) {
            q = 0;
            unsigned scale = 1000;
            for (const char c : rest.substr(at + 2, 5)) {
                if (c == '.') continue;
                if (c < '0' || c > '9') break;
                q += static_cast<unsigned>(c - '0') * scale;
                scale /= 10;
            }
        }
        best = std::max(best, q);
    }
    return best;
}

}  // namespace

std::string_view content_type(exposition_format f) noexcept {
    return f == exposition_format::open_metrics_1_0
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

exposition_format format_of(std::string_view accept) noexcept {
    const unsigned open = quality_of(accept, "application/openmetrics-text");
    return open != 0 && open >= quality_of(accept, "text/plain")
               ? exposition_format::open_metrics_1_0
               : exposition_format::prometheus_0_0_4;
}

std::string to_exposition(const scraped& s, exposition_format f) {
    exposition out(f);
    add_totals(out, s);
    add_workers(out, s.numbers);
    add_ports(out, s.numbers);
    add_lists(out, s.numbers);
    add_routing(out, s);
    add_objects(out, s.objects);
    add_latencies(out, s.objects);
    return std::move(out).text();
}

}  // namespace turnpike::observe
