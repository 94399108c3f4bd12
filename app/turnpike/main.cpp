// SPDX-License-Identifier: BSD-3-Clause
// turnpike [EAL options --] [options]: read the configuration, start EAL, forward, report.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/model.hpp"
#include "control/appliance.hpp"
#include "control/eal.hpp"
#include "cost/report.hpp"
#include "version.hpp"

namespace {

using namespace turnpike;

constexpr int exit_failed = 1, exit_refused = 2;

std::atomic<bool> stop{false};

extern "C" void on_signal(int) { stop.store(true, std::memory_order_relaxed); }

struct options {
    std::string config, report;
    control::run_options run;
    bool check = false;
    std::vector<std::string> eal;
};

/// Everything before "--" is EAL's; without "--" everything is ours.
std::vector<std::string> split_eal(int argc, char** argv, std::vector<std::string>& eal) {
    std::vector<std::string> ours(argv + 1, argv + argc);
    const auto divide = std::find(ours.begin(), ours.end(), "--");
    if (divide != ours.end()) {
        eal.assign(ours.begin(), divide);
        ours.erase(ours.begin(), divide + 1);
    }
    return ours;
}

/// Fills `into`; returns an exit code where the program is to end here, -1 where it goes on.
int read_options(int argc, char** argv, options& into) {
    CLI::App app{
        "turnpike: an L2/L3 forwarder that puts every packet's cost on the bill\n"
        "usage: turnpike [EAL options --] --config FILE [options]"};
    app.set_version_flag("--version", std::string(version));
    app.add_option("--config", into.config, "YAML file that says what to forward")
        ->required()
        ->type_name("FILE");
    app.add_option("--duration", into.run.duration_s, "stop after so many seconds (default: never)")
        ->check(CLI::Range(0.0, 1e9))
        ->type_name("S");
    app.add_option("--stats-interval", into.run.stats_interval_s, "print the bill every so often")
        ->check(CLI::Range(0.0, 1e9))
        ->type_name("S");
    app.add_option("--report", into.report, "write the report (JSON) here at the end; - is stdout")
        ->type_name("FILE");
    app.add_flag("--check", into.check, "validate the configuration and end");
    std::vector<std::string> ours = split_eal(argc, argv, into.eal);
    std::reverse(ours.begin(), ours.end());  // CLI11 takes a vector from its back
    try {
        app.parse(ours);
    } catch (const CLI::ParseError& e) {
        return app.exit(e, std::cout, std::cerr) == 0 ? 0 : exit_refused;
    }
    return -1;
}

bool write_report(const cost::report& r, const std::string& path) {
    const std::string text = cost::to_json(r).dump(2) + "\n";
    if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) std::fprintf(stderr, "turnpike: cannot write the report to %s\n", path.c_str());
    return static_cast<bool>(file);
}

/// Tried before anything starts. What is there stays until the report replaces it, and where nothing
/// is, nothing is left behind.
bool report_can_be_written(const std::string& path) {
    if (path.empty() || path == "-") return true;
    const bool there = ::access(path.c_str(), F_OK) == 0;
    if (!std::ofstream(path, std::ios::app)) {
        std::fprintf(stderr, "turnpike: --report %s: %s; name a file that can be written\n",
                     path.c_str(), std::strerror(errno));
        return false;
    }
    if (!there) ::unlink(path.c_str());
    return true;
}

int complain(const error& e, int code) {
    std::fprintf(stderr, "turnpike: %s\n", e.message().c_str());
    return code;
}

/// Bring up, forward, take down; every packet and buffer is accounted for at the end.
int forward(const config::model& model, const options& chosen) {
    auto appliance = control::appliance::bring_up(model);
    if (!appliance) return complain(appliance.error(), exit_failed);
    std::fprintf(stderr, "turnpike: forwarding\n");
    (*appliance)->run(stop, chosen.run);
    (*appliance)->take_down();
    const cost::report r = (*appliance)->report();
    if (chosen.report != "-") std::fputs(cost::to_table(r).c_str(), stdout);
    if (!chosen.report.empty() && !write_report(r, chosen.report)) return exit_failed;
    if (!r.total().holds()) {
        std::fprintf(stderr,
                     "turnpike: the balance does not hold: a packet was lost or counted twice\n");
        return exit_failed;
    }
    if (const uint32_t missing =
            r.mempool.in_use - r.mempool.kept_by_drivers - r.mempool.in_use_at_start;
        missing != 0) {
        std::fprintf(stderr, "turnpike: %u buffers did not come back to the pool\n", missing);
        return exit_failed;
    }
    return 0;
}

int run(int argc, char** argv) {
    options chosen;
    if (const int code = read_options(argc, argv, chosen); code >= 0) return code;
    const auto model = config::load(chosen.config);
    if (!model) return complain(model.error(), exit_refused);
    if (chosen.check) {
        std::printf("%s: valid\n", chosen.config.c_str());
        return 0;
    }
    if (!report_can_be_written(chosen.report)) return exit_refused;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);

    if (auto started = control::start_eal(*model, chosen.eal); !started)
        return complain(started.error(), exit_failed);
    const int code = forward(*model, chosen);
    control::stop_eal();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {  // out of memory, say: nothing of ours throws on purpose
        std::fprintf(stderr, "turnpike: %s\n", e.what());
        return exit_failed;
    }
}
