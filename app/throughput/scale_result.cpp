// SPDX-License-Identifier: BSD-3-Clause
// The result of `scale` and `paper`: a row for each step, and the table.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scale.hpp"
#include "tables.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;

/// RFC 2544's throughput, or the first goal; null: none was searched.
json found_of(const json& size) {
    const json t = size.value("throughput", json());
    if (!t.is_object() || t.value("method", "") == "rfc2544") return t;
    const json goals = t.value("goals", json::array());
    return goals.empty() ? json(nullptr) : goals.front();
}

/// Frames per second of one stream.
double throughput_of(const json& found) {
    return number_or(found, "throughput_fps", number_or(found, "conditional_throughput_fps", 0));
}

/// The mean over the workers, by their packets; null without any.
json of_workers(const json& report, const char* figure) {
    double sum = 0, packets = 0;
    for (const json& w : report.value("workers", json::array())) {
        const double n = number_or(w, "packets", 0), value = number_or(w, figure, -1);
        if (n <= 0 || value < 0) continue;
        sum += n * value;
        packets += n;
    }
    return packets > 0 ? json(sum / packets) : json(nullptr);
}

/// I/O, processing and the remainder of turnpike's cycles per packet, the mean over the workers by their packets.
json groups_of(const json& report) {
    json out = json::object();
    double packets = 0;
    for (const json& w : report.value("workers", json::array())) {
        const double n = number_or(w, "packets", 0);
        const json groups = w.value("groups", json::array());
        if (n <= 0 || groups.empty()) continue;
        packets += n;
        for (const json& g : groups) {
            const auto name = g.at("name").get<std::string>();
            out[name] = number_or(out, name.c_str(), 0) + n * number_or(g, "cycles_per_packet", 0);
        }
    }
    if (packets <= 0) return nullptr;
    for (auto at = out.begin(); at != out.end(); ++at) *at = at->get<double>() / packets;
    return out;
}

/// Why the report lacks instructions; null: it does not.
json counters_why(const json& report) {
    const json counters = report.value("counters", json::object());
    json why = counters.is_object() ? counters.value("why", json()) : json();
    if (!why.is_string())
        for (const json& w : report.value("workers", json::array()))
            if (const json core = w.value("core", json()); core.is_object() && !why.is_string())
                why = core.value("why", json());
    return why.is_string() ? why : json("turnpike's report has no counts of instructions");
}

/// The core's frequency: as it was set, as the PMU counted it, or the TSC's.
void add_frequency(json& row, const scale_step& step, const json& run, const json& report) {
    double hz = 0;
    const char* source = nullptr;
    const json counted = report.is_object() ? of_workers(report, "core_ghz") : json(nullptr);
    if (step.setup && step.setup->mhz != 0) {
        hz = step.setup->mhz * 1e6;
        source = "set";
    } else if (counted.is_number()) {
        hz = counted.get<double>() * 1e9;
        source = "counted by the PMU";
    } else if (hz = number_or(run.value("host", json::object()), "tsc_hz", 0); hz > 0) {
        source = "the TSC's";
    }
    row["core_hz"] = hz > 0 ? json(hz) : json(nullptr);
    row["core_hz_source"] = source == nullptr ? json(nullptr) : json(source);
}

/// A ratio to a lower bound is none: the first step's true throughput is unknown.
void add_speedup(json& figure, double units, const json& base) {
    for (const json& first : base.at("sizes")) {
        if (first.at("size") != figure.at("size")) continue;
        if (first.value("at_least", false)) {
            if (figure["why"].is_null())
                figure["why"] = "the first step's throughput is a lower bound";
        } else if (const double fps = number_or(first, "throughput_fps", 0); fps > 0) {
            const double speedup = number_or(figure, "throughput_fps", 0) / fps;
            figure["speedup"] = speedup;
            figure["efficiency"] = speedup * base.at("units").get<double>() / units;
        }
        return;
    }
}

/// Members of a sweep's step.
void add_setup(json& row, const cpu_setup& s) {
    row.update({{"workload", s.workload},
                {"cores", s.cores},
                {"smt", s.smt},
                {"mhz", s.mhz == 0 ? json(nullptr) : json(s.mhz)},
                {"cpus", s.cpus}});
}

std::string decimals(const json& value, int digits) {
    return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "-";
}

/// A row without the result of a run.
void add_row(json& out, const scale_step& step, json row) {
    row.update({{"name", step.name},
                {"units", step.units},
                {"sizes", json::array()},
                {"result", nullptr}});
    for (const char* figure : {"cpp", "ipp", "ipc", "groups", "core_hz", "core_hz_source"})
        row[figure] = nullptr;
    if (step.setup) add_setup(row, *step.setup);
    out["steps"].push_back(std::move(row));
}

}  // namespace

void add_reason(json& out, const scale_step& step, const std::string& why) {
    add_row(out, step, {{"why", why}, {"complete", false}});
}

void add_score(json& out, const scale_step& step, double score) {
    add_row(out, step, {{"score", score}, {"why", nullptr}, {"complete", true}});
}

void add_step(json& out, const scale_step& step, const json& run, const json& report) {
    json& steps = out["steps"];
    json row{{"name", step.name}, {"units", step.units}, {"sizes", json::array()}};
    const std::string workload = step.setup ? step.setup->workload : "";
    const auto first_done = std::ranges::find_if(steps, [&workload](const json& s) {
        return !s.at("sizes").empty() && s.value("workload", "") == workload;
    });
    const bool is_first = first_done == steps.end();
    for (const json& size : run.value("sizes", json::array())) {
        const json found = found_of(size);
        const std::string remark = found.is_object() ? throughput_remark(found) : "";
        const double fps = number_or(size, "streams", 1) * throughput_of(found);
        row["sizes"].push_back({{"size", size.at("size")},
                                {"throughput_fps", fps},
                                {"at_least", !remark.empty() && fps > 0},
                                {"speedup", nullptr},
                                {"efficiency", nullptr},
                                {"why", remark.empty() ? json(nullptr) : json(remark)}});
        add_speedup(row["sizes"].back(), step.units, is_first ? row : *first_done);
    }
    for (const char* figure : {"cpp", "ipp", "ipc"})
        row[figure] = report.is_object() ? of_workers(report, figure) : json(nullptr);
    row["groups"] = report.is_object() ? groups_of(report) : json(nullptr);
    row["why"] = report.is_null()         ? json("no report")
                 : row["ipp"].is_number() ? json(nullptr)
                                          : counters_why(report);
    add_frequency(row, step, run, report);
    if (step.setup) add_setup(row, *step.setup);
    row["complete"] = run.value("complete", false);
    row["result"] = run;
    steps.push_back(std::move(row));
}

json first_result(const json& steps) {
    for (const json& step : steps)
        if (const json run = step.value("result", json()); run.is_object()) return run;
    return nullptr;
}

std::string figure_text(const json& step, const char* figure, int digits) {
    const json value = step.value(figure, json());
    if (value.is_number()) return decimals(value, digits);
    const json why = step.value("why", json());
    if (step.at("result").is_null() || !why.is_string()) return "-";
    if (why == "no report") return "no report";
    return figure == std::string_view("cpp") ? "-" : "no PMU";
}

std::string size_text(const json& size, const char* figure, int digits, double unit) {
    const json value = size.value(figure, json());
    if (!value.is_number()) return "-";
    return (size.value("at_least", false) ? ">= " : "") +
           decimals(value.get<double>() / unit, digits);
}

namespace {

/// A setup that the machine does not have is the same for all workloads.
std::string setup_name(const json& step) {
    const auto name = step.at("name").get<std::string>();
    const std::string workload = step.value("workload", "") + ", ";
    const bool failed = step.at("why").get<std::string>().starts_with("failed");
    return !failed && name.starts_with(workload) ? name.substr(workload.size()) : name;
}

}  // namespace

namespace {

/// The sizes whose throughput is a lower bound, or that have no speedup, by their reason.
void add_bounds(const json& steps, std::vector<std::string>& notes) {
    std::vector<std::pair<std::string, std::string>> by_reason;
    for (const json& step : steps)
        for (const json& size : step.at("sizes")) {
            const json why = size.value("why", json());
            if (!why.is_string()) continue;
            const std::string reason =
                (size.value("at_least", false)              ? ">= (a lower bound), "
                 : number_or(size, "throughput_fps", 0) > 0 ? "no speedup, "
                                                            : "no throughput, ") +
                why.get<std::string>();
            auto at =
                std::ranges::find(by_reason, reason, &std::pair<std::string, std::string>::first);
            if (at == by_reason.end()) at = by_reason.insert(at, {reason, ""});
            at->second +=
                fmt::format("{}{} ({})", at->second.empty() ? "" : ", ",
                            step.at("name").get<std::string>(), size.at("size").get<std::string>());
        }
    for (const auto& [reason, names] : by_reason) notes.push_back(reason + ": " + names);
}

}  // namespace

std::vector<std::string> notes_of(const json& steps) {
    std::vector<std::string> out;
    const auto add = [&out](std::string text) {
        if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
    };
    for (const json& step : steps) {
        const json why = step.value("why", json());
        if (!why.is_string()) continue;
        if (why == "no report")
            add("no report: the device is not turnpike, or wrote no report (--report)");
        else if (!step.at("result").is_null())
            add("no PMU: " + why.get<std::string>());
        else
            add(setup_name(step) + ": " + why.get<std::string>());
    }
    add_bounds(steps, out);
    return out;
}

std::string scale_text(const json& scaled) {
    std::string out;
    const json steps = scaled.value("steps", json::array());
    if (const json run = first_result(steps); run.is_object())
        out += fmt::format("{}: {}\n\n", run.at("kind").get<std::string>(),
                           run.at("setup").get<std::string>());
    out += fmt::format("{:<24} {:>8}  {:>7} {:>12} {:>8} {:>10} {:>9} {:>9} {:>9}\n", "step",
                       scaled.at("unit").get<std::string>(), "size", "Mfps", "speedup",
                       "efficiency", "CPP", "IPP", "IPC");
    for (const json& step : steps) {
        if (step.at("sizes").empty())
            out += fmt::format("{:<24} {:>8}  {:>7} {:>12}\n", step.at("name").get<std::string>(),
                               fmt::format("{:g}", step.at("units").get<double>()), "-", "-");
        for (const json& size : step.at("sizes"))
            out += fmt::format("{:<24} {:>8}  {:>7} {:>12} {:>8} {:>10} {:>9} {:>9} {:>9}{}\n",
                               step.at("name").get<std::string>(),
                               fmt::format("{:g}", step.at("units").get<double>()),
                               size.at("size").get<std::string>(),
                               size_text(size, "throughput_fps", 6, 1e6),
                               size_text(size, "speedup", 2), size_text(size, "efficiency", 2),
                               figure_text(step, "cpp", 0), figure_text(step, "ipp", 0),
                               figure_text(step, "ipc", 2),
                               step.at("complete").get<bool>() ? "" : "  not complete");
    }
    const std::vector<std::string> notes = notes_of(steps);
    if (!notes.empty()) out += fmt::format("\n{}\n", fmt::join(notes, "\n"));
    if (!scaled.at("complete").get<bool>())
        out += "\nnot complete: " + scaled.at("stopped").get<std::string>() + "\n";
    return out;
}

}  // namespace turnpike::throughput
