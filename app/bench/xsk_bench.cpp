// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-xsk: net_xsk beside net_af_xdp and net_af_packet on veth pairs; described in
// doc/bench-xsk.md.
#include <fmt/format.h>
#include <sched.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "harness.hpp"
#include "xsk/lab.hpp"
#include "xsk/run.hpp"

namespace turnpike::bench {
namespace {

using nlohmann::json;

constexpr contestant contestants[] = {
    {"net_xsk", "driver", ",mode=copy"},
    // Its default busy polling makes a system call of each empty poll: here of the port that only sends.
    {"net_af_xdp", "driver", ",force_copy=1,busy_budget=0"},
    {"net_xsk", "skb", ",mode=skb"},
    {"net_af_packet", "kernel", ",qdisc_bypass=1"},
};
constexpr size_t peer_at = 1;
constexpr forwarder_app all_apps[] = {forwarder_app::testpmd_io, forwarder_app::testpmd_macswap,
                                      forwarder_app::turnpike};

const char* frames_of(traffic t) { return t == traffic::small ? "64" : "imix"; }
bool is_ours(const json& cell) { return cell["pmd"] == "net_xsk"; }

/// Results of one contestant, or the reason that there are none.
struct outcome {
    std::vector<window> windows{};
    std::string why{};
    [[nodiscard]] double median_of(double window::*what) const {
        std::vector<double> seen;
        for (const window& w : windows) seen.push_back(w.*what);
        return median(std::move(seen));
    }
};

json cell_of(const bench_run& b, const contestant& c, forwarder_app app, traffic t,
             const outcome& o) {
    json cell{{"pmd", c.driver},
              {"mode", c.mode},
              {"frame_bytes", t == traffic::small ? json(64) : json("imix")},
              {"app", name_of(app)}};
    for (const char* key : {"cycles", "peer", "mpps", "syscalls_per_packet", "loss"})
        cell[key] = nullptr;
    if (o.windows.empty()) {
        cell["why"] = o.why;
        return cell;
    }
    cell["mpps"] = o.median_of(&window::mpps);
    cell["offered_mpps"] = o.median_of(&window::offered_mpps);
    cell["cpu"] = {{"worker", o.median_of(&window::worker_cpu)},
                   {"generator", o.median_of(&window::generator_cpu)}};
    if (!b.calls) return cell;
    cell["cycles"] = o.median_of(&window::user_cycles);
    cell["kernel_cycles"] = o.median_of(&window::kernel_cycles);
    cell["syscalls_per_packet"] = o.median_of(&window::syscalls);
    return cell;
}

void print_cell(const harness& h, const json& c) {
    const std::string who = fmt::format("{:15} {:4} {:13} {:6}", c["app"].get<std::string>(),
                                        c["frame_bytes"].is_number() ? "64" : "imix",
                                        c["pmd"].get<std::string>(), c["mode"].get<std::string>());
    if (c["mpps"].is_null()) return h.print(who + "  " + c["why"].get<std::string>());
    std::string line = fmt::format("{}  {:6.3f} Mpps of {:6.3f}", who, c["mpps"].get<double>(),
                                   c["offered_mpps"].get<double>());
    if (c["cycles"].is_number())
        line += fmt::format(", {:4.0f} user + {:4.0f} kernel cycles, {:.4f} system calls a packet",
                            c["cycles"].get<double>(), c["kernel_cycles"].get<double>(),
                            c["syscalls_per_packet"].get<double>());
    h.print(line);
}

/// Measure all contestants in turn, so that disturbances of the machine affect all.
void measure_group(harness& h, const bench_run& b, forwarder_app app, traffic t) {
    std::vector<outcome> all(std::size(contestants));
    for (unsigned round = 0; round < (h.quick() ? 1u : 3u); ++round)
        for (size_t turn = 0; turn < all.size(); ++turn) {
            const size_t i = (turn + round) % all.size();
            if (!all[i].why.empty()) continue;
            if (const auto seen = b.at_full_rate(contestants[i], app, t))
                all[i].windows.insert(all[i].windows.end(), seen->begin(), seen->end());
            else
                all[i] = {{}, seen.error().message()};
        }
    const json peer = cell_of(b, contestants[peer_at], app, t, all[peer_at]);
    for (size_t i = 0; i < all.size(); ++i) {
        json cell = cell_of(b, contestants[i], app, t, all[i]);
        if (!is_ours(cell)) {
            if (!cell.contains("why")) cell["why"] = "is a peer itself";
        } else if (peer["mpps"].is_null()) {
            if (!cell.contains("why")) cell["why"] = peer["why"];
        } else {
            cell["peer"] = "net_af_xdp";
            cell["peer_mode"] = contestants[peer_at].mode;
            cell["peer_cycles"] = peer["cycles"];
            cell["peer_mpps"] = peer["mpps"];
        }
        print_cell(h, h.add_cell(cell));
    }
}

/// Loss at 70 % of net_xsk's forwarding rate in `cell`.
void measure_loss(harness& h, const bench_run& b, json& cell, traffic t,
                  std::chrono::seconds length) {
    for (const contestant& c : contestants) {
        if (cell["pmd"] != c.driver || cell["mode"] != c.mode) continue;
        const auto lost = b.loss(c, t, 0.7e6 * cell["mpps"].get<double>(), length);
        if (!lost) {
            cell["why"] = lost.error().message();
            continue;
        }
        cell["loss"] = *lost;
        cell["loss_seconds"] = length.count();
        h.print(fmt::format("{} {} {}: {:.6f} % lost in {} s at 70 %", c.driver, c.mode,
                            frames_of(t), 100 * *lost, length.count()));
    }
}

/// The minimum or maximum over net_xsk's cells of a figure that may be null.
json extreme(const json& cells, const std::function<json(const json&)>& figure, bool most) {
    json found;
    for (const auto& c : cells) {
        const json x = is_ours(c) ? figure(c) : json();
        if (x.is_number() && (found.is_null() || (most ? x > found : x < found))) found = x;
    }
    return found;
}

void summarise_run(harness& h) {
    // The peer has no option for skb mode.
    const auto ratio = [](const json& c, const char* above, const char* below) {
        const bool both = c["mode"] == "driver" && c.contains(above) && c.contains(below) &&
                          c[above].is_number() && c[below].is_number();
        return both ? json(c[above].get<double>() / c[below].get<double>()) : json();
    };
    const auto plain = [](const char* key) { return [key](const json& c) { return c[key]; }; };
    h.summary() = {
        {"mpps_vs_net_af_xdp",
         extreme(
             h.cells(), [&](const json& c) { return ratio(c, "mpps", "peer_mpps"); }, false)},
        {"cycles_vs_net_af_xdp",
         extreme(
             h.cells(), [&](const json& c) { return ratio(c, "peer_cycles", "cycles"); }, false)},
        {"syscalls_per_packet", extreme(h.cells(), plain("syscalls_per_packet"), true)},
        {"loss_at_70pct", extreme(h.cells(), plain("loss"), true)}};
}

/// The build's plug-in; empty: EAL finds the installed one.
std::string own_plugin() {
    namespace fs = std::filesystem;
    const fs::path built = fs::read_symlink("/proc/self/exe").parent_path() /
                           "../../drivers/net/xsk/librte_net_xsk.so";
    return fs::exists(built) ? fs::canonical(built).string() : "";
}

/// Create the namespace, the generator and the tracer. Errors  requirements that the machine lacks
result<bench_run> prepare(harness& h, const cpu_set_t& permitted) {
    std::vector<unsigned> cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &permitted)) cpus.push_back(cpu);
    if (cpus.size() < 2) return fail(EINVAL, "", "needs two CPUs, one for the generator");
    if (auto entered = enter_lab(); !entered) return tl::unexpected<error>(entered.error());
    auto source = generator::open(cpus[0]);
    if (!source) return tl::unexpected<error>(source.error());
    bench_run b{.generator_cpu = cpus[0],
                .worker_cpu = cpus[1],
                .plugin = own_plugin(),
                .source = std::move(*source),
                .calls = nullptr,
                .window_length = std::chrono::milliseconds(h.quick() ? 200 : 500),
                .warm_up = std::chrono::milliseconds(300)};
    if (auto calls = tracer::open()) {
        b.calls = std::move(*calls);
        b.crossing_ns = b.calls->crossing_ns();
        h.print(
            fmt::format("a system call costs {:.0f} ns in addition to its work", b.crossing_ns));
    } else {
        h.print(calls.error().message() + ": no cycles, no system calls");
    }
    return b;
}

int run(int argc, char** argv) {
    harness h("xsk", "net_xsk beside net_af_xdp and net_af_packet on veth pairs");
    std::vector<std::string> apps, frames;
    bool long_run = false;
    h.add_option("--app", apps, "cases to run: testpmd io, testpmd macswap, turnpike");
    h.add_option("--frame", frames, "traffic: 64, imix", {"64", "imix"});
    h.add_flag("--long", long_run, "measure losses for 60 s instead of 10 s");
    cpu_set_t permitted;
    CPU_ZERO(&permitted);
    (void)sched_getaffinity(0, sizeof permitted, &permitted);
    if (const auto code = h.start(argc, argv, 64)) return *code;
    // EAL has pinned this thread, and child processes would inherit that.
    (void)sched_setaffinity(0, sizeof permitted, &permitted);
    const auto b = prepare(h, permitted);
    if (!b) {
        h.print("turnpike-bench-xsk: " + b.error().message());
        return 2;
    }
    const auto wanted = [](const std::vector<std::string>& only, const char* name) {
        return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
    };
    for (const traffic t : {traffic::small, traffic::imix}) {
        if (!wanted(frames, frames_of(t))) continue;
        const size_t first = h.cells().size();
        for (const forwarder_app app : all_apps)
            if (wanted(apps, name_of(app))) measure_group(h, *b, app, t);
        for (size_t i = first; i < h.cells().size(); ++i)
            if (json& c = h.cells()[i];
                is_ours(c) && c["app"] == "testpmd io" && c["mpps"].is_number())
                measure_loss(h, *b, c, t, std::chrono::seconds(long_run ? 60 : 10));
    }
    summarise_run(h);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    try {
        return turnpike::bench::run(argc, argv);
    } catch (const std::exception& e) {
        fmt::print(stderr, "turnpike-bench-xsk: {}\n", e.what());
        return 2;
    }
}
