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

#include "base/arguments.hpp"
#include "child.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::throughput {
namespace {

using nlohmann::json;
using yaml::reader;

double units_of(const reader& r) {
    double n = 0;
    if (!read_number(r.text(), 0.0, 1e6, n) || n <= 0)
        r.refuse("should be a number above 0, such as 2 or 3.2");
    return n;
}

scale_plan scale_plan_of(const reader& r, const std::filesystem::path& folder) {
    r.expect_map({"name", "unit", "run", "ready", "ready_ms", "report", "steps", "sweep"});
    scale_plan plan = plan_head_of(r, folder);
    if (r.has("unit")) plan.unit = r.at("unit").text();
    if (r.has("sweep")) {
        if (r.has("steps")) r.at("steps").refuse("excludes sweep, which makes the steps");
        const reader s = r.at("sweep");
        s.expect_map({"device"}, sweep_keys);
        if (!r.has("unit")) plan.unit = "cores";
        plan.steps = steps_of(read_sweep(s), {.where = s.where(),
                                              .device = s.at("device").text(),
                                              .run = folder / r.at("run").text()});
        return plan;
    }
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

/// The last word of a file.
std::optional<double> last_number(const std::string& path) {
    std::ifstream in(path);
    std::string last;
    for (std::string word; in >> word;) last = std::move(word);
    double n = 0;
    const auto [end, code] = std::from_chars(last.data(), last.data() + last.size(), n);
    if (last.empty() || code != std::errc() || end != last.data() + last.size()) return {};
    return n;
}

result<void> perform_score(const scale_step& step, const std::atomic<bool>& stop, json& out) {
    const temporary_file output;
    auto running = child::start({"/bin/sh", "-c", "exec >'" + output.path() + "'\n" + step.score});
    if (!running) return tl::unexpected<error>(running.error());
    const auto status = wait_for(*running, nullptr, step, stop);
    if (!status) return tl::unexpected<error>(status.error());
    if (stop) return fail(ECANCELED, step.where, "stopped");
    if (*status != 0)
        return fail(EIO, step.where,
                    "the command of step '" + step.name + "' " + end_text(*status));
    const auto score = last_number(output.path());
    if (!score || !(*score > 0))
        return fail(EIO, step.where,
                    "the last word that the command of step '" + step.name +
                        "' printed is no number above 0");
    add_score(out, step, *score);
    return {};
}

result<void> perform_step(const scale_plan& plan, const scale_step& step,
                          std::vector<std::string> words, const std::atomic<bool>& stop,
                          json& out) {
    std::optional<frequency_scope> frequency;
    if (step.setup && step.setup->mhz != 0) {
        auto entered = frequency_scope::enter(step.setup->cpus, step.setup->mhz);
        if (!entered) return tl::unexpected<error>(entered.error());
        frequency.emplace(std::move(*entered));
    }
    if (!step.score.empty()) return perform_score(step, stop, out);
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
    // With a complete result only the output of its tables can have failed: on a terminal that has gone.
    const bool failed = run.is_null() || (*status != 0 && !run.value("complete", false));
    if (failed && !stop)
        return fail(EIO, step.where, "the run of step '" + step.name + "' " + end_text(*status));
    if (!run.is_null())
        add_step(out, step, run, plan.report.empty() ? json(nullptr) : read_object(plan.report));
    if (stop) return fail(ECANCELED, step.where, "stopped");
    return {};
}

}  // namespace

scale_plan plan_head_of(const reader& r, const std::filesystem::path& folder) {
    constexpr uint64_t max_ready_ms = 600'000;
    scale_plan plan;
    if (r.has("name")) plan.name = r.at("name").text();
    if (r.has("ready")) plan.ready = r.at("ready").text();
    plan.ready_s =
        static_cast<double>(r.number_or<uint64_t>("ready_ms", 30'000, 1, max_ready_ms)) / 1e3;
    if (r.has("report")) plan.report = folder / r.at("report").text();
    return plan;
}

result<scale_plan> read_scale_plan(const std::string& path) {
    return read_plan_file(path, "scale", scale_plan_of);
}

result<scale_plan> read_plan_file(const std::string& path, const char* kind,
                                  scale_plan (*plan_of)(const reader& r,
                                                        const std::filesystem::path& folder)) {
    const auto text = yaml::read_file(path);
    if (!text) return tl::unexpected<error>(text.error());
    const auto document = yaml::parse_yaml(*text, path, kind);
    if (!document) return tl::unexpected<error>(document.error());
    try {
        return plan_of(reader(*document), std::filesystem::path(path).parent_path());
    } catch (const yaml::complaint& c) {
        return tl::unexpected<error>(c.what);
    }
}

std::vector<scale_step> steps_of(const sweep& s, const scale_step& like) {
    std::vector<scale_step> out;
    for (cpu_setup& setup : setups_of(s)) {
        scale_step step = like;
        setup.workload = like.name;
        step.name = like.name.empty() ? name_of(setup) : like.name + ", " + name_of(setup);
        step.units = setup.cores;
        (like.score.empty() ? step.device : step.score).insert(0, environment_of(setup));
        step.setup = std::move(setup);
        out.push_back(std::move(step));
    }
    return out;
}

result<void> perform_scale(const scale_plan& plan, const std::vector<std::string>& program,
                           const std::atomic<bool>& stop, json& out,
                           const std::function<void(const std::string&)>& show) {
    out["unit"] = plan.unit;
    out["steps"] = json::array();
    size_t number = 0, failed = 0;
    for (const scale_step& step : plan.steps) {
        const std::string head =
            fmt::format("step {} of {}: {}", ++number, plan.steps.size(), step.name);
        if (step.setup && !step.setup->unavailable.empty()) {
            show(head + ": left out, " + step.setup->unavailable);
            add_reason(out, step, step.setup->unavailable);
            continue;
        }
        show(head);
        const auto done = perform_step(plan, step, program, stop, out);
        if (done) continue;
        if (!plan.goes_on || done.error().code == ECANCELED) return done;
        ++failed;
        show(head + ": failed, " + done.error().message());
        add_reason(out, step, "failed: " + done.error().text);
    }
    if (failed != 0)
        return fail(EIO, plan.name.empty() ? "the plan" : plan.name,
                    fmt::format("{} of {} steps failed", failed, plan.steps.size()));
    return {};
}

}  // namespace turnpike::throughput
