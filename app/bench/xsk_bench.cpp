// SPDX-License-Identifier: BSD-3-Clause
// turnpike-bench-xsk: net_xsk beside net_af_xdp and net_af_packet on veth pairs; doc/bench-xsk.md says
// how to read it.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <thread>

#include "harness.hpp"
#include "xsk/forwarder.hpp"
#include "xsk/generator.hpp"
#include "xsk/lab.hpp"
#include "xsk/tracer.hpp"

namespace turnpike::bench {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

struct contestant {
    const char* driver;
    const char* mode;  ///< how packets come to it: driver, skb, or through the kernel's own sockets
    const char* arguments;
};
constexpr contestant contestants[] = {
    {"net_xsk", "driver", ",mode=copy"},
    {"net_af_xdp", "driver", ",force_copy=1"},
    {"net_xsk", "skb", ",mode=skb"},
    {"net_af_packet", "kernel", ",qdisc_bypass=1"},
};

/// One window of a forwarder at work.
struct window {
    double mpps = 0, user_cycles = 0, kernel_cycles = 0, syscalls = 0;  ///< per packet
    double worker_cpu = 0, generator_cpu = 0;                           ///< shares
};

struct bench {
    harness& h;
    unsigned generator_cpu, worker_cpu;
    std::string plugin;
    std::unique_ptr<generator> source;
    std::unique_ptr<tracer> calls;  ///< none: `no_calls` says why
    std::string no_calls;
    milliseconds window_length, warm_up;

    result<std::unique_ptr<forwarder>> start(const contestant& c, forwarder_app app) const {
        forwarder_settings s{.app = app,
                             .driver = c.driver,
                             .arguments = c.arguments,
                             .plugin = std::string(c.driver) == "net_xsk" ? plugin : "",
                             .main_cpu = generator_cpu,
                             .worker_cpu = worker_cpu};
        return forwarder::start(s);
    }

    /// Until frames come out at the sink. Errors  it ended, or nothing came within 20 s
    result<void> wait_for_frames(forwarder& f) const {
        const auto end = clock::now() + std::chrono::seconds(20);
        const uint64_t before = received(sink);
        while (received(sink) < before + 1000) {
            if (!f.alive()) return fail(ECHILD, "the forwarder ended", f.said());
            if (clock::now() > end) return fail(ETIMEDOUT, "the forwarder", "forwards nothing");
            std::this_thread::sleep_for(milliseconds(20));
        }
        return {};
    }

    window measure(const forwarder& f) const {
        std::this_thread::sleep_for(warm_up);
        if (calls) calls->watch(f.process(), f.worker());
        const thread_use use0 = calls ? calls->read() : thread_use{};
        const cpu_ticks w0 = ticks_of(worker_cpu), g0 = ticks_of(generator_cpu);
        const uint64_t packets0 = received(sink);
        const auto began = clock::now();
        std::this_thread::sleep_for(window_length);
        const uint64_t packets = received(sink) - packets0;
        const double seconds = duration<double>(clock::now() - began).count();
        const thread_use use = calls ? calls->read() : thread_use{};
        window out;
        const auto n = static_cast<double>(packets);
        out.mpps = n / seconds / 1e6;
        out.worker_cpu = ticks_of(worker_cpu).busy_since(w0);
        out.generator_cpu = ticks_of(generator_cpu).busy_since(g0);
        if (!calls || packets == 0) return out;
        const double cycles_per_ns = static_cast<double>(rte_get_tsc_hz()) / 1e9;
        const auto kernel_ns = static_cast<double>(use.kernel_ns - use0.kernel_ns);
        const auto cpu_ns = static_cast<double>(use.cpu_ns - use0.cpu_ns);
        out.kernel_cycles = kernel_ns * cycles_per_ns / n;
        out.user_cycles = std::max(0.0, cpu_ns - kernel_ns) * cycles_per_ns / n;
        out.syscalls = static_cast<double>(use.system_calls - use0.system_calls) / n;
        return out;
    }

    /// At the generator's full rate.
    result<window> at_full_rate(const contestant& c, forwarder_app app, traffic t) const {
        auto f = start(c, app);
        if (!f) return tl::unexpected<error>(f.error());
        source->start(t, 0);
        const auto flowing = wait_for_frames(**f);
        const window w = flowing ? measure(**f) : window{};
        source->stop();
        if (!flowing) return tl::unexpected<error>(flowing.error());
        return w;
    }

    /// The share that is lost of what comes at `pps`.
    result<double> loss(const contestant& c, traffic t, double pps, double seconds) const {
        auto f = start(c, forwarder_app::testpmd_io);
        if (!f) return tl::unexpected<error>(f.error());
        source->start(t, 10'000);
        const auto flowing = wait_for_frames(**f);
        source->stop();
        if (!flowing) return tl::unexpected<error>(flowing.error());
        std::this_thread::sleep_for(milliseconds(200));
        const uint64_t before = received(sink);
        source->start(t, pps);
        std::this_thread::sleep_for(duration<double>(seconds));
        const uint64_t sent = source->stop();
        std::this_thread::sleep_for(milliseconds(200));
        const uint64_t arrived = received(sink) - before;
        return sent == 0 ? 1.0
                         : static_cast<double>(sent - std::min(sent, arrived)) /
                               static_cast<double>(sent);
    }
};

constexpr forwarder_app all_apps[] = {forwarder_app::testpmd_io, forwarder_app::testpmd_macswap,
                                      forwarder_app::turnpike};
const char* frames_of(traffic t) { return t == traffic::small ? "64" : "imix"; }

/// The windows of one contestant, and why there are none.
struct outcome {
    std::vector<window> windows;
    std::string why;
    double median_of(double window::*what) const {
        std::vector<double> seen;
        for (const window& w : windows) seen.push_back(w.*what);
        return median(seen);
    }
};

nlohmann::json cell_of(const bench& b, const contestant& c, forwarder_app app, traffic t,
                       const outcome& o) {
    nlohmann::json cell{{"pmd", c.driver},
                        {"mode", c.mode},
                        {"frame_bytes", t == traffic::small ? nlohmann::json(64) : "imix"},
                        {"app", name_of(app)},
                        {"cycles", nullptr},
                        {"peer", nullptr},
                        {"mpps", nullptr},
                        {"syscalls_per_packet", nullptr},
                        {"loss", nullptr}};
    if (o.windows.empty()) {
        cell["why"] = o.why;
        return cell;
    }
    cell["mpps"] = o.median_of(&window::mpps);
    cell["cpu"] = {{"worker", o.median_of(&window::worker_cpu)},
                   {"generator", o.median_of(&window::generator_cpu)}};
    if (b.calls) {
        cell["cycles"] = o.median_of(&window::user_cycles);
        cell["kernel_cycles"] = o.median_of(&window::kernel_cycles);
        cell["syscalls_per_packet"] = o.median_of(&window::syscalls);
    } else {
        cell["why"] = b.no_calls;
    }
    return cell;
}

void say_cell(const harness& h, const nlohmann::json& c) {
    const std::string who = fmt::format("{:15} {:5} {:13} {:6}", c["app"].get<std::string>(),
                                        c["frame_bytes"].is_number() ? "64" : "imix",
                                        c["pmd"].get<std::string>(), c["mode"].get<std::string>());
    if (c["mpps"].is_null()) return h.say(who + "  " + c["why"].get<std::string>());
    const auto number = [&c](const char* key) {
        return c[key].is_number() ? c[key].get<double>() : 0;
    };
    h.say(
        fmt::format("{}  {:6.3f} Mpps  {:5.0f} user + {:5.0f} kernel cycles, {:.4f} system calls a "
                    "packet; CPU {:.0f}%, generator's {:.0f}%",
                    who, number("mpps"), number("cycles"), number("kernel_cycles"),
                    number("syscalls_per_packet"), 100 * c["cpu"]["worker"].get<double>(),
                    100 * c["cpu"]["generator"].get<double>()));
}

/// All contestants by turns, so that what disturbs the machine disturbs all.
void measure_group(bench& b, forwarder_app app, traffic t) {
    std::map<size_t, outcome> all;
    const unsigned rounds = b.h.quick() ? 1 : 3;
    for (unsigned round = 0; round < rounds; ++round)
        for (size_t turn = 0; turn < std::size(contestants); ++turn) {
            const size_t i = (turn + round) % std::size(contestants);
            if (!all[i].why.empty()) continue;
            if (const auto w = b.at_full_rate(contestants[i], app, t))
                all[i].windows.push_back(*w);
            else
                all[i].why = w.error().message();
        }
    nlohmann::json peer;
    for (size_t i = 0; i < std::size(contestants); ++i)
        if (std::string(contestants[i].driver) == "net_af_xdp")
            peer = cell_of(b, contestants[i], app, t, all[i]);
    for (size_t i = 0; i < std::size(contestants); ++i) {
        nlohmann::json cell = cell_of(b, contestants[i], app, t, all[i]);
        if (std::string(contestants[i].driver) == "net_xsk" && !peer["mpps"].is_null()) {
            cell["peer"] = "net_af_xdp";
            cell["peer_cycles"] = peer["cycles"];
            cell["peer_mpps"] = peer["mpps"];
        } else if (!cell.contains("why")) {
            cell["why"] = "is a peer itself";
        }
        say_cell(b.h, b.h.add_cell(cell));
    }
}

/// What is lost at 70 % of what net_xsk forwarded in `cell`.
void measure_loss(bench& b, nlohmann::json& cell, traffic t, double seconds) {
    const auto* c = std::find_if(
        std::begin(contestants), std::end(contestants),
        [&](const auto& one) { return cell["pmd"] == one.driver && cell["mode"] == one.mode; });
    const auto lost = b.loss(*c, t, 0.7e6 * cell["mpps"].get<double>(), seconds);
    if (!lost) {
        cell["why"] = lost.error().message();
        return;
    }
    cell["loss"] = *lost;
    cell["loss_seconds"] = seconds;
    b.h.say(fmt::format("{} {} {}: {:.6f} % lost in {} s at 70 %", c->driver, c->mode, frames_of(t),
                        100 * *lost, seconds));
}

/// Of net_xsk's cells: the least, or the most, of a figure.
nlohmann::json extreme(const nlohmann::json& cells,
                       const std::function<nlohmann::json(const nlohmann::json&)>& figure,
                       bool most) {
    nlohmann::json found;
    for (const auto& c : cells) {
        const nlohmann::json x = c["pmd"] == "net_xsk" ? figure(c) : nlohmann::json();
        if (x.is_number() && (found.is_null() || (most ? x > found : x < found))) found = x;
    }
    return found;
}

void summarise_run(harness& h) {
    const auto ratio = [](const nlohmann::json& c, const char* above, const char* below) {
        return c["mode"] == "driver" && c.contains(above) && c.contains(below) &&
                       c[above].is_number() && c[below].is_number()
                   ? nlohmann::json(c[above].get<double>() / c[below].get<double>())
                   : nlohmann::json();
    };
    h.summary() = {
        {"mpps_vs_net_af_xdp",
         extreme(
             h.cells(), [&](const auto& c) { return ratio(c, "mpps", "peer_mpps"); }, false)},
        {"cycles_vs_net_af_xdp",
         extreme(
             h.cells(), [&](const auto& c) { return ratio(c, "peer_cycles", "cycles"); }, false)},
        {"syscalls_per_packet",
         extreme(
             h.cells(), [](const auto& c) { return c["syscalls_per_packet"]; }, true)},
        {"loss_at_70pct", extreme(
                              h.cells(), [](const auto& c) { return c["loss"]; }, true)}};
}

/// A build's own plug-in; empty: EAL finds the installed one.
std::string own_plugin() {
    namespace fs = std::filesystem;
    const fs::path built = fs::read_symlink("/proc/self/exe").parent_path() /
                           "../../drivers/net/xsk/librte_net_xsk.so";
    return fs::exists(built) ? fs::canonical(built).string() : "";
}

int run(int argc, char** argv) {
    harness h("xsk", "net_xsk beside net_af_xdp and net_af_packet on veth pairs");
    std::vector<std::string> apps, frames;
    bool long_run = false;
    h.options().add_option("--app", apps, "only these: testpmd io, testpmd macswap, turnpike");
    h.options()
        .add_option("--frame", frames, "only these: 64, imix")
        ->check(CLI::IsMember({"64", "imix"}));
    h.options().add_flag("--long", long_run, "look for losses for 60 s, not for 10");
    cpu_set_t permitted;
    CPU_ZERO(&permitted);
    (void)sched_getaffinity(0, sizeof permitted, &permitted);
    if (const auto code = h.start(argc, argv, 64)) return *code;
    (void)sched_setaffinity(0, sizeof permitted,
                            &permitted);  // EAL pinned this thread, children inherit
    std::vector<unsigned> cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &permitted)) cpus.push_back(cpu);
    const auto give_up = [&h](const std::string& why) {
        h.say("turnpike-bench-xsk: " + why);
        return 2;
    };
    if (cpus.size() < 2) return give_up("needs two CPUs, one for the generator");
    if (const auto entered = enter_lab(); !entered) return give_up(entered.error().message());
    auto source = generator::open(cpus[0]);
    if (!source) return give_up(source.error().message());
    auto calls = tracer::open();
    bench b{.h = h,
            .generator_cpu = cpus[0],
            .worker_cpu = cpus[1],
            .plugin = own_plugin(),
            .source = std::move(*source),
            .calls = calls ? std::move(*calls) : nullptr,
            .no_calls = calls ? "" : calls.error().message(),
            .window_length = milliseconds(h.quick() ? 400 : 1000),
            .warm_up = milliseconds(h.quick() ? 200 : 500)};
    const auto wanted = [](const std::vector<std::string>& only, const char* name) {
        return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
    };
    for (const traffic t : {traffic::small, traffic::imix}) {
        if (!wanted(frames, frames_of(t))) continue;
        for (const forwarder_app app : all_apps)
            if (wanted(apps, name_of(app))) measure_group(b, app, t);
        for (auto& cell : h.cells())
            if (cell["pmd"] == "net_xsk" && cell["app"] == "testpmd io" &&
                cell["mpps"].is_number() && (cell["frame_bytes"] == 64) == (t == traffic::small))
                measure_loss(b, cell, t, long_run ? 60 : 10);
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
