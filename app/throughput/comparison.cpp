// SPDX-License-Identifier: BSD-3-Clause
#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tables.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;

/// A figure of one result.
struct figure {
    std::string size, name, unit;
    double value = 0;
    std::optional<double> noise{};  ///< absolute, of this result alone; none: unknown
    std::string why{};              ///< the reason that it has no verdict; empty: it has one
    double load_fps = 0;            ///< of a figure at one load
    std::string remark{};  ///< the reason that a throughput is a lower bound; empty: it is none
};

std::string why_of(const json& measured) {
    return measured.value("counts", true) ? "" : "does not count";
}

/// A search knows its figure up to the load that failed.
std::optional<double> interval(const json& of, const char* below, const char* above) {
    const double low = number_or(of, below, -1), high = number_or(of, above, -1);
    return low >= 0 && high >= low ? std::optional(high - low) : std::nullopt;
}

void add_throughput(std::vector<figure>& out, const std::string& size, const json& t) {
    if (t.at("method") == "rfc2544") {
        if (const double fps = number_or(t, "throughput_fps", -1); fps >= 0)
            out.push_back({.size = size,
                           .name = "throughput",
                           .unit = "fps",
                           .value = fps,
                           .noise = interval(t, "throughput_fps", "failed_fps"),
                           .remark = throughput_remark(t)});
        return;
    }
    for (const json& g : t.at("goals"))
        if (const double fps = number_or(g, "conditional_throughput_fps", -1); fps >= 0)
            out.push_back(
                {.size = size,
                 .name = g.at("name").get<std::string>() + " conditional throughput",
                 .unit = "fps",
                 .value = fps,
                 .noise = interval(g, "relevant_lower_bound_fps", "relevant_upper_bound_fps"),
                 .remark = throughput_remark(g)});
}

/// Frames that the trial of a load's row sent: the last of its attempts.
double frames_at(const json& size, const json& row) {
    double sent = 0;
    for (const json& t : size.value("trials", json::array()))
        if (t.at("procedure") == "frame loss rate" &&
            t.value("load_fps", 0.0) == row.at("load_fps"))
            sent = number_or(t.at("frames"), "sent", 0);
    return sent;
}

void add_others(std::vector<figure>& out, const std::string& name, const json& size) {
    for (const json& r : size.value("latency", json::array())) {
        if (number_or(r, "frames", 1) == 0) continue;
        for (const char* key : {"p50_us", "p99_us", "p99_9_us"})
            out.push_back({name,
                           fmt::format("latency {} at {} %", std::string(key, std::strlen(key) - 3),
                                       r.at("percent").get<unsigned>()),
                           "us", number_or(r, key, 0), std::nullopt, why_of(r)});
    }
    for (const json& r : size.value("frame_loss", json::array())) {
        const double p = number_or(r, "loss_ratio", 0), n = frames_at(size, r);
        out.push_back({name, fmt::format("frame loss at {} %", r.at("percent").get<unsigned>()),
                       "%", 100 * p,
                       n > 0 ? std::optional(300 * std::sqrt(std::max(p * (1 - p), 1 / n) / n))
                             : std::nullopt,
                       why_of(r), number_or(r, "load_fps", 0)});
    }
    if (const auto b = size.find("back_to_back"); b != size.end()) {
        const double repeats = number_or(*b, "repeats", 0);
        out.push_back({name, "back-to-back", "frames", number_or(*b, "mean_frames", 0),
                       repeats > 1 ? std::optional(3 * number_or(*b, "deviation_frames", 0) /
                                                   std::sqrt(repeats))
                                   : std::nullopt,
                       b->value("limited", false) ? "limited by max_frames" : why_of(*b)});
    }
}

std::vector<figure> figures_of(const json& result) {
    std::vector<figure> out;
    for (const json& size : result.at("sizes")) {
        const auto name = size.at("size").get<std::string>();
        if (const auto t = size.find("throughput"); t != size.end()) add_throughput(out, name, *t);
        add_others(out, name, size);
    }
    return out;
}

/// The conditions of a size's procedures, by the run file's names. Precisions are part of the noise.
json conditions_of(const json& size) {
    json out = json::object();
    out["rate.max"] = size.value("max_rate_fps", json());
    const auto add = [&out](const std::string& name, const json& of, auto... keys) {
        for (const char* key : {keys...})
            if (const auto at = of.find(key); at != of.end()) out[name + "." + key] = *at;
    };
    const json t = size.value("throughput", json::object());
    add("throughput", t, "method", "loss_ratio", "trial_s", "trials_per_load");
    for (const json& g : t.value("goals", json::array()))
        add(g.at("name").get<std::string>(), g, "goal_loss_ratio", "goal_exceed_ratio",
            "goal_final_trial_duration_s", "goal_duration_sum_s");
    for (const json& one : size.value("trials", json::array()))
        for (const char* procedure : {"latency", "frame loss rate"})
            if (one.at("procedure") == procedure) add(procedure, one, "duration_s");
    add("back_to_back", size.value("back_to_back", json::object()), "max_burst_frames");
    return out;
}

/// A result without a procedure, or of an earlier version, lacks its conditions: no difference.
void add_conditions(const json& a, const json& b, std::vector<std::string>& out) {
    const auto check = [&out](const std::string& name, const json& x, const json& y) {
        if (!x.is_null() && !y.is_null() && x != y)
            out.push_back(fmt::format("{}: {}, {}", name, x.dump(), y.dump()));
    };
    for (const json& s : a.at("sizes"))
        for (const json& other : b.at("sizes")) {
            if (s.at("size") != other.at("size")) continue;
            const json x = conditions_of(s), y = conditions_of(other);
            for (const auto& [name, value] : x.items())
                check(s.at("size").get<std::string>() + " " + name, value, y.value(name, json()));
        }
    const json p = a.value("ports", json::array()), q = b.value("ports", json::array());
    for (size_t i = 0; i < std::min(p.size(), q.size()); ++i)
        check(fmt::format("ports[{}].rx_timestamps", i), p[i].value("rx_timestamps", json()),
              q[i].value("rx_timestamps", json()));
    const json x = a.value("tester_latency", json::object()),
               y = b.value("tester_latency", json::object());
    for (const char* key : {"method", "devices"})
        check(std::string("tester_latency.") + key, x.value(key, json()), y.value(key, json()));
}

/// Members of the setup that differ, as "traffic.flows: 50, 100".
std::vector<std::string> differences(const json& a, const json& b) {
    std::vector<std::string> out;
    const json none;
    const auto check = [&](const std::string& name, const json& x, const json& y) {
        if (x != y) out.push_back(fmt::format("{}: {}, {}", name, x.dump(), y.dump()));
    };
    for (const char* object : {"host", "traffic", "trial"}) {
        json keys = a.value(object, json::object());
        keys.update(b.value(object, json::object()));
        for (const auto& [key, value] : keys.items()) {
            if (key == "tsc_hz") continue;  // measured at each start
            const json x = a.value(object, json::object()), y = b.value(object, json::object());
            check(std::string(object) + "." + key, x.value(key, none), y.value(key, none));
        }
    }
    check("version", a.value("version", none), b.value("version", none));
    const json p = a.value("ports", json::array()), q = b.value("ports", json::array());
    for (size_t i = 0; i < std::min(p.size(), q.size()); ++i)
        for (const char* key : {"driver", "device", "link_mbps"})
            check(fmt::format("ports[{}].{}", i, key), p[i].value(key, none),
                  q[i].value(key, none));
    add_conditions(a, b, out);
    return out;
}

json row_of(const figure& a, const figure& b) {
    const double change = b.value - a.value;
    json row{{"size", a.size}, {"figure", a.name},  {"unit", a.unit},   {"a", a.value},
             {"b", b.value},   {"change", nullptr}, {"noise", nullptr}, {"why", nullptr}};
    if (a.value != 0) row["change"] = change / a.value;
    const std::string why = !a.why.empty()             ? a.why
                            : !b.why.empty()           ? b.why
                            : a.load_fps != b.load_fps ? "another load"
                                                       : "";
    if (!why.empty()) {
        row.update({{"verdict", "unknown"}, {"why", why}});
        return row;
    }
    // Equal lower bounds are not equal throughputs.
    const std::string& remark = a.remark.empty() ? b.remark : a.remark;
    const auto set_same_unless = [&row](const std::string& reason) {
        row["verdict"] = reason.empty() ? "same" : "unknown";
        if (!reason.empty()) row["why"] = reason;
    };
    if (!a.noise || !b.noise) {
        set_same_unless(remark.empty() && change != 0 ? "noise unknown" : remark);
        return row;
    }
    const double noise = *a.noise + *b.noise;
    if (a.value != 0) row["noise"] = noise / a.value;
    if (std::abs(change) <= noise)
        set_same_unless(remark);
    else
        row["verdict"] = change > 0 ? "more" : "less";
    return row;
}

}  // namespace

json compare(const json& a, const json& b) {
    json out{{"schema", "turnpike.throughput-comparison/1"},
             {"differs", differences(a, b)},
             {"missing", json::array()},
             {"rows", json::array()}};
    const auto missing = [&](const figure& f, const char* from) {
        out["missing"].push_back(fmt::format("{} {}: not in {}", f.size, f.name, from));
    };
    auto of_b = figures_of(b);
    for (const figure& f : figures_of(a)) {
        const auto same = std::find_if(of_b.begin(), of_b.end(), [&](const figure& g) {
            return g.size == f.size && g.name == f.name;
        });
        if (same == of_b.end()) {
            missing(f, "the second file");
            continue;
        }
        out["rows"].push_back(row_of(f, *same));
        of_b.erase(same);
    }
    for (const figure& f : of_b) missing(f, "the first file");
    return out;
}

std::string comparison_text(const json& c) {
    std::string out;
    for (const json& one : c.at("differs"))
        out += "the setups differ: " + one.get<std::string>() + "\n";
    out += fmt::format("{:>6}  {:<28} {:>14} {:>14} {:<7} {:>9} {:>9}  {}\n", "size", "figure", "A",
                       "B", "unit", "change", "noise", "verdict");
    const auto percent = [](const json& v) {
        return v.is_number() ? fmt::format("{:+.2f} %", 100 * v.get<double>()) : std::string("-");
    };
    for (const json& r : c.at("rows")) {
        std::string noise = percent(r.at("noise"));
        if (noise.front() == '+') noise.erase(0, 1);
        const json& why = r.at("why");
        out += fmt::format("{:>6}  {:<28} {:>14.6g} {:>14.6g} {:<7} {:>9} {:>9}  {}{}\n",
                           r.at("size").get<std::string>(), r.at("figure").get<std::string>(),
                           r.at("a").get<double>(), r.at("b").get<double>(),
                           r.at("unit").get<std::string>(), percent(r.at("change")), noise,
                           r.at("verdict").get<std::string>(),
                           why.is_string() ? ": " + why.get<std::string>() : "");
    }
    for (const json& one : c.at("missing")) out += one.get<std::string>() + "\n";
    return out;
}

}  // namespace turnpike::throughput
