// SPDX-License-Identifier: BSD-3-Clause
#include "scale.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "child.hpp"
#include "tables.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;
using yaml::reader;

double units_of(const reader& r) {
    const std::string text = r.text();
    double n = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (code != std::errc() || end != text.data() + text.size() || !(n > 0 && n <= 1e6))
        r.refuse("should be a number above 0, such as 2 or 3.2");
    return n;
}

scale_plan plan_of(const reader& r, const std::filesystem::path& folder) {
    constexpr uint64_t max_ready_ms = 600'000;
    r.expect_map({"name", "unit", "run", "ready", "ready_ms", "report", "steps"});
    scale_plan plan;
    if (r.has("name")) plan.name = r.at("name").text();
    if (r.has("unit")) plan.unit = r.at("unit").text();
    if (r.has("ready")) plan.ready = r.at("ready").text();
    plan.ready_s =
        static_cast<double>(r.number_or<uint64_t>("ready_ms", 30'000, 1, max_ready_ms)) / 1e3;
    if (r.has("report")) plan.report = folder / r.at("report").text();
    for (const reader& s : r.at("steps").list("steps")) {
        s.expect_map({"name", "units", "device", "run"});
        scale_step step{.name = s.at("name").text(), .where = s.where()};
        for (const scale_step& other : plan.steps)
            if (other.name == step.name) s.refuse("has the name of another step");
        if (s.has("units")) step.units = units_of(s.at("units"));
        if (s.has("device")) step.device = s.at("device").text();
        step.run = folder / (s.has("run") ? s : r).at("run").text();
        plan.steps.push_back(std::move(step));
    }
    if (plan.steps.empty()) r.at("steps").refuse("should have at least one step");
    return plan;
}

/// A file that is removed.
class temporary_file {
  public:
    temporary_file() : path_(std::filesystem::temp_directory_path() / "turnpike-scale-XXXXXX") {
        const int fd = ::mkstemp(path_.data());
        if (fd >= 0) ::close(fd);
    }
    ~temporary_file() { ::unlink(path_.c_str()); }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
};

json read_object(const std::string& path) {
    std::ifstream in(path);
    json out = json::parse(in, nullptr, false);
    return out.is_object() ? out : json(nullptr);
}

/// The child's wait status. While it runs, the device must run, too.
result<int> wait_for(child& c, child* device, const scale_step& step,
                     const std::atomic<bool>& stop) {
    constexpr unsigned poll_us = 20'000;
    bool interrupted = false;
    for (;; usleep(poll_us)) {
        if (const auto status = c.ended()) return *status;
        if (stop && !interrupted) c.interrupt();
        interrupted = stop;
        if (device == nullptr) continue;
        if (const auto status = device->ended())
            return fail(EIO, step.where,
                        "the device of step '" + step.name + "' " + end_text(*status));
    }
}

result<void> wait_until_ready(const scale_plan& plan, const scale_step& step, child* device,
                              const std::atomic<bool>& stop) {
    using clock = std::chrono::steady_clock;
    constexpr unsigned pause_us = 100'000;
    const auto end = clock::now() + std::chrono::duration<double>(plan.ready_s);
    for (;; usleep(pause_us)) {
        auto asked = child::start({"/bin/sh", "-c", plan.ready});
        if (!asked) return tl::unexpected<error>(asked.error());
        const auto status = wait_for(*asked, device, step, stop);
        if (!status) return tl::unexpected<error>(status.error());
        if (stop) return fail(ECANCELED, step.where, "stopped while it waited for the device");
        if (*status == 0) return {};
        if (clock::now() > end)
            return fail(ETIMEDOUT, step.where,
                        fmt::format("the device of step '{}' was not ready within {:g} s",
                                    step.name, plan.ready_s));
    }
}

result<void> perform_step(const scale_plan& plan, const scale_step& step,
                          std::vector<std::string> words, const std::atomic<bool>& stop,
                          json& out) {
    std::optional<child> device;
    if (!step.device.empty()) {
        auto started = child::start({"/bin/sh", "-c", step.device});
        if (!started) return tl::unexpected<error>(started.error());
        device.emplace(std::move(*started));
    }
    child* const running = device ? &*device : nullptr;
    if (!plan.report.empty()) ::unlink(plan.report.c_str());  // not an earlier step's
    if (!plan.ready.empty())
        if (auto ready = wait_until_ready(plan, step, running, stop); !ready) return ready;
    const temporary_file output;
    words.insert(words.end(), {step.run, "--output", output.path()});
    auto tester = child::start(words);
    if (!tester) return tl::unexpected<error>(tester.error());
    const auto status = wait_for(*tester, running, step, stop);
    if (!status) return tl::unexpected<error>(status.error());
    constexpr double device_patience_s = 10;
    if (device) device->stop(device_patience_s);
    const json run = read_object(output.path());
    if (*status != 0 || run.is_null())
        return fail(EIO, step.where, "the run of step '" + step.name + "' " + end_text(*status));
    add_step(out, step, run, plan.report.empty() ? json(nullptr) : read_object(plan.report));
    if (stop) return fail(ECANCELED, step.where, "stopped");
    return {};
}

/// The first goal's, or RFC 2544's.
double throughput_of(const json& size) {
    const auto t = size.find("throughput");
    if (t == size.end()) return 0;
    if (t->value("method", "") == "rfc2544") return number_or(*t, "throughput_fps", 0);
    const auto goals = t->find("goals");
    return goals == t->end() || goals->empty()
               ? 0
               : number_or(goals->front(), "conditional_throughput_fps", 0);
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

std::string decimals(const json& value, int digits) {
    return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "-";
}

}  // namespace

result<scale_plan> read_scale_plan(const std::string& path) {
    const auto text = yaml::read_file(path);
    if (!text) return tl::unexpected<error>(text.error());
    const auto document = yaml::parse_yaml(*text, path, "scale");
    if (!document) return tl::unexpected<error>(document.error());
    try {
        return plan_of(reader(*document), std::filesystem::path(path).parent_path());
    } catch (const yaml::complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

void add_step(json& out, const scale_step& step, const json& run, const json& report) {
    json& steps = out["steps"];
    json row{{"name", step.name}, {"units", step.units}, {"sizes", json::array()}};
    for (const json& size : run.value("sizes", json::array())) {
        const double fps = throughput_of(size);
        json figure{{"size", size.at("size")},
                    {"throughput_fps", fps},
                    {"speedup", nullptr},
                    {"efficiency", nullptr}};
        const json& base = steps.empty() ? row : steps.front();
        double first = steps.empty() ? fps : 0;
        for (const json& s : base.at("sizes"))
            if (s.at("size") == size.at("size")) first = number_or(s, "throughput_fps", 0);
        if (first > 0) {
            const double speedup = fps / first;
            figure["speedup"] = speedup;
            figure["efficiency"] = speedup * base.at("units").get<double>() / step.units;
        }
        row["sizes"].push_back(std::move(figure));
    }
    for (const char* figure : {"cpp", "ipp", "ipc"})
        row[figure] = report.is_object() ? of_workers(report, figure) : json(nullptr);
    row["complete"] = run.value("complete", false);
    row["result"] = run;
    steps.push_back(std::move(row));
}

result<void> perform_scale(const scale_plan& plan, const std::vector<std::string>& program,
                           const std::atomic<bool>& stop, json& out) {
    out["unit"] = plan.unit;
    out["steps"] = json::array();
    for (const scale_step& step : plan.steps)
        if (auto done = perform_step(plan, step, program, stop, out); !done) return done;
    return {};
}

std::string scale_text(const json& scaled) {
    std::string out;
    const json steps = scaled.value("steps", json::array());
    if (!steps.empty())
        out += fmt::format("{}: {}\n\n", steps.front().at("result").at("kind").get<std::string>(),
                           steps.front().at("result").at("setup").get<std::string>());
    out += fmt::format("{:<24} {:>8}  {:>7} {:>12} {:>8} {:>10} {:>8} {:>8} {:>6}\n", "step",
                       scaled.at("unit").get<std::string>(), "size", "Mfps", "speedup",
                       "efficiency", "CPP", "IPP", "IPC");
    for (const json& step : steps)
        for (const json& size : step.at("sizes"))
            out += fmt::format("{:<24} {:>8}  {:>7} {:>12.6f} {:>8} {:>10} {:>8} {:>8} {:>6}{}\n",
                               step.at("name").get<std::string>(),
                               fmt::format("{:g}", step.at("units").get<double>()),
                               size.at("size").get<std::string>(),
                               size.at("throughput_fps").get<double>() / 1e6,
                               decimals(size.at("speedup"), 2), decimals(size.at("efficiency"), 2),
                               decimals(step.at("cpp"), 0), decimals(step.at("ipp"), 0),
                               decimals(step.at("ipc"), 2),
                               step.at("complete").get<bool>() ? "" : "  not complete");
    if (!scaled.at("complete").get<bool>())
        out += "\nnot complete: " + scaled.at("stopped").get<std::string>() + "\n";
    return out;
}

}  // namespace turnpike::throughput
