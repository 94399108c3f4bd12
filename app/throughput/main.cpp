// SPDX-License-Identifier: BSD-3-Clause
// turnpike-throughput: the throughput of a device between two ports (doc/throughput.md).
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "../bench/eal_options.hpp"
#include "base/standard_descriptors.hpp"
#include "comparison.hpp"
#include "cpus.hpp"
#include "isa/cpu_name.hpp"
#include "options.hpp"
#include "paper.hpp"
#include "procedures.hpp"
#include "result_page.hpp"
#include "rxtx/pci_devices.hpp"
#include "scale.hpp"
#include "tables.hpp"
#include "version.hpp"
#include "yaml/write_file.hpp"

namespace {

using namespace turnpike;
using namespace turnpike::throughput;
using nlohmann::json;

std::atomic<bool> stop_requested{false};

void request_stop(int) { stop_requested.store(true, std::memory_order_relaxed); }

/// On standard error. fmt::print throws where that is a terminal that has gone.
void print_error(const std::string& text) noexcept { std::fputs(text.c_str(), stderr); }

int refuse(const error& why) {
    print_error("turnpike-throughput: " + why.message() + "\n");
    return why.code == EINVAL || why.code == ENOENT ? exit_refused : exit_failed;
}

std::string line_of(const char* file, const std::string& field) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(field)) continue;
        const size_t at = line.find_first_not_of(" \t", field.empty() ? 0 : line.find(':') + 1);
        return at == std::string::npos ? "" : line.substr(at);
    }
    return "";
}

/// The device strings of a run's ports.
std::vector<std::string> devices_of(const run& settings) {
    std::vector<std::string> out;
    for (const auto* ports : {&settings.ports, &settings.latency.direct})
        for (const run_port& port : *ports) out.push_back(port.device);
    return out;
}

bool start_eal(const std::vector<std::string>& given, const char* program, unsigned memory_mb,
               const std::vector<std::string>& devices) {
    const bench::machine here{.hugepages = line_of("/proc/meminfo", "HugePages_Free") != "0",
                              .cpus = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN))};
    std::vector<std::string> words{program};
    for (std::string& word :
         bench::eal_options(given, here, memory_mb, 1, rxtx::pci_devices_in(devices)))
        words.push_back(std::move(word));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0) return true;
    print_error(
        fmt::format("turnpike-throughput: EAL did not start: {}\n", rte_strerror(rte_errno)));
    return false;
}

/// The CPUs of this thread, which sends and receives: those of EAL's main lcore.
std::vector<unsigned> senders_cpus() {
    std::vector<unsigned> out;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
    return out;
}

/// A figure of shared CPUs is functional: the sender, the device and other programs compete for them.
void describe_setup(json& out) {
    const std::string isolated = cpu_list_text(isolated_cpus());
    const std::vector<unsigned> own = senders_cpus();
    const bool is_isolated = are_isolated(own);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const std::string cpu = isa::cpu_name();
    out["host"] = {
        {"cpu", cpu}, {"cpus", cpus}, {"isolated_cpus", isolated}, {"tsc_hz", rte_get_tsc_hz()}};
    out["kind"] = is_isolated ? "rate" : "functional rate";
    const std::string shared =
        (isolated.empty()
             ? "none isolated"
             : "isolated: " + isolated + ", and not the sender's " + cpu_list_text(own)) +
        ": the sender, the device and other programs compete for them, and for their caches";
    out["setup"] = fmt::format("sender and receiver on one thread, {} CPUs ({}), {}", cpus, cpu,
                               is_isolated ? "isolated: " + isolated : shared);
}

json describe_capture(const run& r, unsigned port) {
    const capture& c = *r.traffic.captured[port];
    return {{"pcap", r.pcap_files[port]},
            {"frames", c.frames().size()},
            {"lengthened", c.lengthened()},
            {"skipped", c.skipped()}};
}

void describe_traffic(const run& r, json& out) {
    if (r.traffic.captured[0]) {
        out = describe_capture(r, 0);
        if (r.both_ways) out.update({{"both_ways", true}, {"back", describe_capture(r, 1)}});
        return;
    }
    out = {{"flows_by", r.traffic.by_mac ? "mac" : "ip"},
           {"ip", r.traffic.ipv6 ? 6 : 4},
           {"flows", r.traffic.flows},
           {"vlan", r.traffic.vlan},
           {"both_ways", r.both_ways}};
    if (const auto& d = r.traffic.destinations)
        out.update(
            {{"destinations", r.destinations_file}, {"prefixes", d->prefixes()}, {"seed", r.seed}});
}

/// How the tester's own latency was found.
json tester_method(const run& r) {
    const auto& direct = r.latency.direct;
    if (direct.empty())
        return {{"method", "not measured: latencies include the tester's own, of both drivers"}};
    return {{"method", "the least latency over a direct wire at the same rate is subtracted"},
            {"devices", {direct[0].device, direct[1].device}}};
}

/// The source of the received frames' timestamps. The learning frames showed whether the device stamps them.
void describe_timestamps(const run& r, const test_bed& bed, json& out) {
    for (unsigned i = 0; i < r.ports.size(); ++i)
        out["ports"][i]["rx_timestamps"] = r.latency.trial_s <= 0 ? json(nullptr)
                                           : bed.stamps_frames(i) ? "hardware"
                                                                  : "software";
}

void describe_run(const run& r, const test_bed& bed, json& out) {
    for (unsigned i = 0; i < r.ports.size(); ++i) {
        json port{{"name", r.ports[i].name},
                  {"device", r.ports[i].device},
                  {"driver", bed.port(i).driver()},
                  {"mac", bed.port(i).mac().text()},
                  {"link_mbps", bed.port(i).link_mbps()}};
        if (r.ports[i].vxlan) port["vxlan"] = {{"vni", r.ports[i].vxlan->vni}};
        out["ports"].push_back(std::move(port));
    }
    describe_timestamps(r, bed, out);
    describe_traffic(r, out["traffic"]);
    if (r.latency.trial_s > 0) out["tester_latency"] = tester_method(r);
    out["trial"] = {{"tolerance", r.tolerance},
                    {"max_lag_us", r.max_lag_s * 1e6},
                    {"settle_s", r.settle_s},
                    {"relearn_s", r.relearn_s},
                    {"realtime", r.realtime}};
}

/// The line of progress: overwritten on a terminal, absent elsewhere. A longer line than the terminal's would not be.
progress terminal_progress() {
    if (isatty(STDERR_FILENO) == 0) return [](const std::string&) {};
    return [](const std::string& text) {
        constexpr int usual = 80;
        winsize size{};
        const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
        print_error(fmt::format("\r\x1b[K{:.{}}", text, (known ? int{size.ws_col} : usual) - 1));
    };
}

constexpr const char *run_schema = "turnpike.throughput/1",
                     *scale_schema = "turnpike.throughput-scale/1";

/// The tables and the page of a result.
struct renderer {
    const char* schema;
    std::string (*text)(const json&);
    std::string (*page)(const json&);
};
constexpr renderer renderers[] = {{run_schema, to_text, to_page},
                                  {scale_schema, scale_text, to_scale_page},
                                  {paper_schema, paper_text, to_paper_page}};

/// Before a run, which takes hours.
result<void> check_outputs(const options& o) {
    for (const std::string* file : {&o.json_file, &o.html_file})
        if (!file->empty())
            if (auto checked = yaml::check_output(*file); !checked) return checked;
    return {};
}

/// Writes the files and prints, each even if another fails. Returns the exit code of the first failure.
int deliver(const json& out, const std::string& text, const std::string& page, const options& o) {
    const std::string dump = out.dump(1) + "\n";
    int code = 0;
    const auto add_failure = [&code](const error& why) {
        const int failure = refuse(why);
        if (code == 0) code = failure;
    };
    const auto write = [&](const std::string& file, const std::string& content) {
        if (file.empty()) return;
        if (const auto written = yaml::write_output(file, content); !written)
            add_failure(written.error());
    };
    write(o.json_file, dump);
    write(o.html_file, page);
    // fmt::print throws where a write fails.
    const std::string& shown = o.json ? dump : text;
    if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() ||
        std::fflush(stdout) != 0)
        add_failure({errno, "standard output", "cannot be written"});
    return code;
}

/// Writes and prints a result of any schema.
int publish(const json& out, const options& o) {
    const renderer& as = *std::ranges::find_if(
        renderers, [&](const renderer& r) { return out.at("schema") == r.schema; });
    if (isatty(STDERR_FILENO) != 0) print_error("\r\x1b[K");
    return deliver(out, as.text(out), o.html_file.empty() ? "" : as.page(out), o);
}

/// A terminal that hangs up stops the run, too, unless the program was started with nohup.
void catch_signals() {
    struct sigaction action {
    }, at_start{};
    action.sa_handler = request_stop;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (signal != SIGHUP ||
            (sigaction(signal, nullptr, &at_start) == 0 && at_start.sa_handler != SIG_IGN))
            sigaction(signal, &action, nullptr);
    // A write to a pipe whose reader has ended fails. Children would inherit SIG_IGN.
    action.sa_handler = [](int) {};
    sigaction(SIGPIPE, &action, nullptr);
}

/// Perform the steps of a plan. The result file has the steps so far before each step.
int perform_plan(const result<scale_plan>& plan, const char* schema, const options& o) {
    if (!plan) return refuse(plan.error());
    std::vector<std::string> program{std::filesystem::read_symlink("/proc/self/exe")};
    if (!o.eal.empty()) {
        program.insert(program.end(), o.eal.begin(), o.eal.end());
        program.emplace_back("--");
    }
    catch_signals();
    json out{{"schema", schema},
             {"version", version},
             {"name", plan->name},
             {"complete", false},
             {"stopped", "not ended"}};
    const auto show = [&](const std::string& line) {
        print_error(line + "\n");
        if (o.json_file.empty()) return;
        if (const auto written = yaml::write_output(o.json_file, out.dump(1) + "\n"); !written)
            (void)refuse(written.error());
    };
    const auto done = perform_scale(*plan, program, stop_requested, out, show);
    out["stopped"] = nullptr;
    out["complete"] = done.has_value();
    int code = 0;
    if (!done) {
        out["stopped"] = done.error().message();
        code = done.error().code == ECANCELED ? 0 : refuse(done.error());
    }
    const int written = publish(out, o);
    return code != 0 ? code : written;
}

int perform(const run& settings, const options& o, const char* program) {
    constexpr unsigned memory_mb = 256;  // for each pair of ports
    const bool has_direct = !settings.latency.direct.empty();
    const auto pairs = static_cast<unsigned>(settings.ports.size() / 2) + (has_direct ? 1 : 0);
    if (!start_eal(o.eal, program, pairs * memory_mb, devices_of(settings))) return exit_failed;
    catch_signals();
    json out{{"schema", run_schema},
             {"version", version},
             {"name", settings.name},
             {"complete", false},
             {"stopped", nullptr}};
    describe_setup(out);
    print_error(out["kind"].get<std::string>() + ": " + out["setup"].get<std::string>() + "\n");
    int code = 0;
    {
        auto bed = test_bed::open(settings, stop_requested);
        if (!bed) return refuse(bed.error());
        describe_run(settings, **bed, out);
        run direct_settings = settings;
        direct_settings.ports = settings.latency.direct;
        std::unique_ptr<test_bed> direct;
        if (has_direct) {
            auto opened = test_bed::open(direct_settings, stop_requested);
            if (!opened) return refuse(opened.error());
            direct = std::move(*opened);
        }
        const auto done =
            perform_procedures(**bed, direct.get(), settings, out, terminal_progress());
        describe_timestamps(settings, **bed, out);
        out["complete"] = done.has_value();
        if (!done) {
            out["stopped"] = done.error().message();
            code = done.error().code == ECANCELED ? 0 : refuse(done.error());
        }
    }
    const int written = publish(out, o);
    return code != 0 ? code : written;
}

/// schemas  of these results
result<json> read_result(const std::string& file, std::span<const renderer> schemas) {
    std::ifstream in(file);
    if (!in) return fail(ENOENT, file, "cannot be read");
    json out = json::parse(in, nullptr, false);
    std::string names;
    for (const renderer& r : schemas) {
        if (out.is_object() && out.value("schema", json()) == r.schema) return out;
        names += (names.empty() ? "" : ", ") + std::string(r.schema);
    }
    return fail(EINVAL, file, fmt::format("is not a result of turnpike-throughput ({})", names));
}

/// An earlier result, or two.
int show_results(const options& o) {
    const bool compares = !o.compare.empty();
    const std::span<const renderer> all(renderers), runs = all.first(1);
    const auto first = read_result(compares ? o.compare[0] : o.result_file, compares ? runs : all);
    if (!first) return refuse(first.error());
    try {
        if (!compares) return publish(*first, o);
        const auto second = read_result(o.compare[1], runs);
        if (!second) return refuse(second.error());
        const json compared = compare(*first, *second);
        return deliver(compared, comparison_text(compared), "", o);
    } catch (const json::out_of_range& e) {
        return refuse(error{EINVAL, "the result", std::string("lacks a member: ") + e.what()});
    } catch (const json::exception& e) {
        return refuse(
            error{EINVAL, "the result", std::string("has a member of another type: ") + e.what()});
    }
}

int run_program(int argc, char** argv) {
    const auto line = read_command_line(argc, argv);
    if (!line.given) return line.exit_code;
    const options& o = *line.given;
    if (!o.result_file.empty() || !o.compare.empty()) return show_results(o);
    if (const auto checked = check_outputs(o); !checked) return refuse(checked.error());
    if (!o.scale_file.empty()) return perform_plan(read_scale_plan(o.scale_file), scale_schema, o);
    if (!o.paper_file.empty()) return perform_plan(read_paper_plan(o.paper_file), paper_schema, o);
    const auto settings = read_run(o.run_file);
    if (!settings) return refuse(settings.error());
    const int code = perform(*settings, o, argv[0]);
    rte_eal_cleanup();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    // Without a handler an exception would end the program before the destructors of a plan's step: they stop its children and
    // restore the CPUs' frequencies.
    try {
        return run_program(argc, argv);
    } catch (const std::exception& e) {
        print_error(std::string("turnpike-throughput: ") + e.what() + "\n");
        return exit_failed;
    }
}
