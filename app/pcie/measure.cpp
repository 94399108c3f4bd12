// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "options.hpp"
#include "pmu/json.hpp"
#include "pmu/perf_source.hpp"
#include "pmu/replay_source.hpp"
#include "version.hpp"

namespace turnpike::pcie_tool {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

int complain(const error& why) {
    fmt::print(stderr, "turnpike-pcie measure: {}\n",
               printable(why.object.empty() ? why.text : why.object + ": " + why.text));
    return why.code == EINVAL ? exit_refused : exit_failed;
}

/// Addresses of PCI class 02h: network controllers.
std::vector<std::string> network_devices(const fs::path& sysfs) {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(sysfs / "bus/pci/devices", ignored)) {
        std::string kind;
        std::getline(std::ifstream(entry.path() / "class"), kind);
        if (kind.starts_with("0x02")) found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

result<std::unique_ptr<pmu::counter_source>> source_of(const measure_request& r, double& seconds) {
    if (r.recorded.empty()) return std::make_unique<pmu::perf_source>();
    auto replay = pmu::replay_source::load(r.recorded);
    if (!replay) return tl::unexpected<error>(replay.error());
    seconds = replay->seconds();
    return std::make_unique<pmu::replay_source>(std::move(*replay));
}

result<pmu::table> table_of(const measure_request& r) {
    if (!r.events.empty()) return pmu::load_table(r.events);
    const auto model = pmu::read_cpu_model(r.sysfs);
    if (!model) return tl::unexpected<error>(model.error());
    return pmu::table_for(*model);
}

/// Run a command to its end, like a shell: it gets the terminal's signals. Returns its exit code,
/// or 128 plus the number of the signal that killed it.
///
/// to_stderr  its standard output is this program's standard error: the standard output is JSON
result<int> run(const std::vector<std::string>& command, bool to_stderr) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::signal(SIGINT, SIG_IGN);
    const pid_t child = fork();
    if (child < 0) return fail(errno, command[0], "cannot be started");
    if (child == 0) {
        std::signal(SIGINT, SIG_DFL);
        if (to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(words[0], words.data());
        fmt::print(stderr, "turnpike-pcie measure: {}: {}\n", command[0], std::strerror(errno));
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pmu::given_values given_of(const pmu::measurement& m, const measure_request& r, double seconds) {
    pmu::given_values given{{"seconds", seconds}};
    if (r.dram_max_mb_s > 0) given["dram_max_mb_s"] = r.dram_max_mb_s;
    if (m.pci().max_mb_s > 0) given["link_max_mb_s"] = m.pci().max_mb_s;
    return given;
}

/// A line per metric with a value, and one per reason for missing values.
std::string text_of(const pmu::measurement& m, const nlohmann::json& seen) {
    std::string out = m.pci().address;
    if (const auto& stack = m.iio_stack()) {
        out += fmt::format("  below {} of die {}", stack->device, stack->die);
        for (const std::string& other : stack->shared)
            out += (&other == &stack->shared.front() ? ", with " : ", ") + other;
    }
    out += seen["counted_share"] < 1 ? fmt::format("  (scaled: counted {:.0f} % of the time)\n",
                                                   100 * seen["counted_share"].get<double>())
                                     : "\n";
    for (const pmu::metric* const asked : m.metrics()) {
        const auto at = seen["metrics"].find(asked->name);
        if (at == seen["metrics"].end()) continue;
        const auto line = [&](const std::string& name, const nlohmann::json& value) {
            if (value.is_number())
                out += fmt::format("  {:<36}{:>16.6g} {:<8}{}\n", name, value.get<double>(),
                                   asked->unit, asked->text.empty() ? "" : " " + asked->text);
        };
        if (at->is_object())
            for (const auto& [of, value] : at->items()) line(asked->name + " " + of, value);
        else
            line(asked->name, *at);
    }
    for (const auto& [name, why] : seen["why"].items())
        out += fmt::format("  {:<36}{:>16} {}\n", name, "-", why.get<std::string>());
    return out;
}

/// Start all measurements, wait, read all.
result<int> count(std::vector<pmu::measurement>& all, const measure_request& r, double& seconds) {
    for (pmu::measurement& m : all) m.start();
    const auto begun = clock::now();
    int code = 0;
    if (!r.command.empty()) {
        const auto ended = run(r.command, r.json);
        if (!ended) return tl::unexpected<error>(ended.error());
        code = *ended;
    } else if (r.recorded.empty()) {
        std::this_thread::sleep_for(std::chrono::duration<double>(r.seconds));
    }
    for (pmu::measurement& m : all) m.read();
    if (r.recorded.empty()) seconds = std::chrono::duration<double>(clock::now() - begun).count();
    return code;
}

}  // namespace

int measure(const measure_request& r) {
    double seconds = r.seconds;
    const auto table = table_of(r);
    if (!table) return complain(table.error());
    auto source = source_of(r, seconds);
    if (!source) return complain(source.error());
    const auto devices = r.devices.empty() ? network_devices(r.sysfs) : r.devices;
    if (devices.empty())
        return complain({ENODEV, r.sysfs + "/bus/pci/devices",
                         "no network device is on a PCI bus; specify one (--device)"});
    std::vector<pmu::measurement> all;
    for (const std::string& address : devices) {
        auto m = pmu::measurement::of_device({r.sysfs, source->get(), &*table}, address);
        if (!m) return complain(m.error());
        if (const error* const none = m->why()) return complain(*none);
        all.push_back(std::move(*m));
    }
    const auto code = count(all, r, seconds);
    if (!code) return complain(code.error());
    nlohmann::json whole{{"schema", "turnpike.pcie-measure/1"},
                         {"version", version},
                         {"table", table->family},
                         {"seconds", seconds},
                         {"devices", nlohmann::json::array()}};
    std::string text;
    for (const pmu::measurement& m : all) {
        nlohmann::json seen = pmu::to_json(m, given_of(m, r, seconds));
        text += text_of(m, seen);
        seen["device"] = m.pci().address;
        whole["devices"].push_back(std::move(seen));
    }
    if (r.json) text = whole.dump(2) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        return complain({errno, "standard output", "cannot be written"});
    return *code;
}

}  // namespace turnpike::pcie_tool
