// SPDX-License-Identifier: BSD-3-Clause
// turnpike [EAL options --] [options]: reads the configuration, starts EAL, forwards, writes the report.
// SIGHUP reloads the configuration; SIGINT and SIGTERM stop.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/standard_descriptors.hpp"
#include "command_line.hpp"
#include "control/controller.hpp"
#include "control/eal/eal.hpp"
#include "control/eal/eal_log.hpp"
#include "control/eal/syscall_filter.hpp"
#include "control/forwarding/worker_watchdog.hpp"
#include "control/management/management.hpp"
#include "control/management/metrics_source.hpp"
#include "control/management/pcie_bill.hpp"
#include "observe/console.hpp"
#include "observe/metrics_pages.hpp"
#include "observe/report.hpp"
#include "observe/service.hpp"
#include "sources/yaml.hpp"
#include "yaml/write_file.hpp"

namespace {

using namespace turnpike;

std::atomic<bool> stop{false}, reload{false};

extern "C" void on_stop(int) { stop.store(true, std::memory_order_relaxed); }
extern "C" void on_reload(int) { reload.store(true, std::memory_order_relaxed); }

int complain(const error& e, int code) {
    observe::log(observe::log_level::error, e.message());
    return code;
}

bool write_stdout(const std::string& text) {
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    if (!written) complain({errno, "standard output", "cannot be written"}, exit_failed);
    return written;
}

/// An existing file stays if the new one cannot be written.
bool write_report(const std::string& text, const std::string& path) {
    if (path.empty()) return true;
    if (path == "-") return write_stdout(text);
    const auto written = yaml::write_output(path, text);
    if (!written) complain(written.error(), exit_failed);
    return written.has_value();
}

/// Checked before anything starts.
bool report_can_be_written(const std::string& option, const std::string& path) {
    if (path.empty() || path == "-") return true;
    const auto good = yaml::check_output(path);
    if (!good) {
        complain({good.error().code, option + " " + path, good.error().text}, exit_refused);
    }
    return good.has_value();
}

std::string status_of(const control::controller& c) { return "forwarding by " + c.running().file; }

/// Tasks of the management thread: reloads by signal, and periodic tables.
class management_tasks {
  public:
    management_tasks(const options& chosen, control::controller& c, control::control_calls& calls,
                     control::requests& asked, observe::service& service)
        : chosen_(chosen), controller_(c), calls_(calls), requests_(asked), service_(service) {}

    void poll() {
        if (reload.exchange(false, std::memory_order_relaxed)) reload_file();
        if (chosen_.stats_interval_s > 0 && clock::now() >= next_table_) print_table();
    }

  private:
    using clock = std::chrono::steady_clock;

    void reload_file() {
        calls_.run([this] { service_.reloading(); });
        const auto done = requests_.reload("SIGHUP");
        calls_.run([&] {
            service_.ready(done ? status_of(controller_)
                                : "refused, the previous configuration still runs: " +
                                      done.error().message());
        });
    }
    void print_table() {
        auto now = controller_.with_loan(
            calls_, [this] { return std::make_unique<observe::report>(controller_.report()); });
        if (last_) observe::the_console().table(observe::to_table(*now, last_.get()));
        last_ = std::move(now);
        const auto interval = std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>(chosen_.stats_interval_s));
        const auto ended = clock::now();
        next_table_ += interval;
        // After a stall: rates of the tiny intervals until it has caught up would mean nothing.
        if (next_table_ <= ended) next_table_ = ended + interval;
    }

    const options& chosen_;
    control::controller& controller_;
    control::control_calls& calls_;
    control::requests& requests_;
    observe::service& service_;
    clock::time_point next_table_ = clock::now();
    std::unique_ptr<observe::report> last_;
};

/// Tasks of the control thread: the calls of management, and the service manager.
class control_tasks {
  public:
    control_tasks(const options& chosen, control::controller& c, control::control_calls& calls,
                  control::requests& asked, control::socket_owner& socket, const cpu_set_t& cpus,
                  observe::service& service)
        : chosen_(chosen),
          controller_(c),
          calls_(calls),
          service_(service),
          watchdog_(c.workers(), control::max_workers()),
          tasks_(chosen, c, calls, asked, service_),
          management_({c, calls, asked, socket, cpus, [this] { tasks_.poll(); }}) {
        notify_ready();
    }
    ~control_tasks() { service_.stopping(); }
    control_tasks(const control_tasks&) = delete;
    control_tasks& operator=(const control_tasks&) = delete;

    /// The duration starts with the first iteration: nothing is forwarded before. The control thread goes on until the
    /// management thread needs it no more.
    [[nodiscard]] bool done() {
        if (start_ == clock::time_point{}) start_ = clock::now();
        if (!stop.load(std::memory_order_relaxed) &&
            (chosen_.duration_s <= 0 || elapsed_s() < chosen_.duration_s))
            return false;
        management_.stop();
        return management_.ended();
    }
    void poll() noexcept {
        calls_.serve();
        try {
            if (&controller_.running() != reported_) notify_status();
            service_.poll([this] { return watchdog_.all_run(); });
        } catch (const std::exception& e) {  // out of memory
            observe::log(observe::log_level::error, e.what());
        }
    }

  private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] double elapsed_s() const {
        return std::chrono::duration<double>(clock::now() - start_).count();
    }
    void notify_ready() {
        reported_ = &controller_.running();
        service_.ready(status_of(controller_));
    }
    void notify_status() {
        reported_ = &controller_.running();
        service_.status(status_of(controller_));
    }

    const options& chosen_;
    control::controller& controller_;
    control::control_calls& calls_;
    observe::service& service_;
    control::worker_watchdog watchdog_;
    const state::configuration* reported_ = nullptr;
    clock::time_point start_{};
    management_tasks tasks_;
    control::management management_;
};

/// Check at the end that every packet and mbuf is accounted for.
int check_balance(const observe::report& r) {
    if (!r.total().holds()) {
        observe::log(observe::log_level::error,
                     "the balance does not hold: a packet was lost or counted twice");
        return exit_failed;
    }
    if (const uint32_t missing =
            r.mempool.in_use - r.mempool.kept_by_drivers - r.mempool.in_use_at_start;
        missing != 0) {
        observe::log(observe::log_level::error,
                     std::to_string(missing) + " buffers did not come back to the pool");
        return exit_failed;
    }
    return 0;
}

control::counters_choice counters_of(const options& chosen) {
    const bool recorded = chosen.counters != "auto" && chosen.counters != "off";
    return {.off = chosen.counters == "off",
            .recorded = recorded ? chosen.counters : std::string(),
            .sysfs = chosen.sysfs};
}

/// For a full table, and for hugepages of many GB, which the kernel clears.
constexpr std::chrono::seconds start_part_limit{300};

/// Threads that are created later inherit the filter.
void filter_syscalls(const options& chosen) {
    if (chosen.all_syscalls) return;
    if (const auto done = control::deny_syscalls(); !done)
        observe::log(observe::log_level::notice, done.error().message());
}

/// Start, forward, and shut down.
/// cpus  that the process could use before EAL started
int forward(state::configuration config, const options& chosen, const cpu_set_t& cpus,
            observe::service& service) {
    control::control_calls calls;
    std::unique_ptr<control::requests> asked;
    // First: if another turnpike listens there, it may also use the same devices.
    auto socket = control::socket_owner::open(
        config, [&](std::string_view line, const auto& from) { return asked->answer(line, from); },
        [&](const auto& from) { asked->gone(from); });
    if (!socket) return complain(socket.error(), exit_failed);
    service.starting("ports and tables", start_part_limit);
    auto made = control::controller::create(
        std::make_unique<const state::configuration>(std::move(config)), counters_of(chosen));
    if (!made) return complain(made.error(), exit_failed);
    control::controller& c = **made;
    c.also(**socket);
    asked = std::make_unique<control::requests>(c, chosen.config, &calls);
    asked->tick();
    observe::log_notice("forwarding");
    {
        control_tasks around(chosen, c, calls, *asked, **socket, cpus, service);
        filter_syscalls(chosen);
        c.run({.done = [&] { return around.done(); }, .between = [&] { around.poll(); }});
    }
    asked->stopping();
    socket->reset();
    observe::scraped page;
    if (!chosen.report_html.empty()) page = control::scrape(c, true);
    c.shut_down();
    const observe::report r = c.report();
    if (chosen.report != "-") observe::the_console().table(observe::to_table(r));
    // Names of files may be invalid UTF-8.
    constexpr auto replace = nlohmann::json::error_handler_t::replace;
    bool written =
        write_report(observe::to_json(r).dump(2, ' ', false, replace) + "\n", chosen.report);
    page.numbers = r;
    if (!chosen.report_html.empty())
        written = write_report(observe::page_of(page), chosen.report_html) && written;
    const int balance = check_balance(r);
    return written ? balance : exit_failed;
}

void set_signals() {
    struct sigaction action {};
    action.sa_handler = on_stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    action.sa_handler = on_reload;
    action.sa_flags = SA_RESTART;
    sigaction(SIGHUP, &action, nullptr);
    action.sa_handler = SIG_IGN;  // a closed pipe on stdout is not fatal
    sigaction(SIGPIPE, &action, nullptr);
}

int run(int argc, char** argv) {
    options chosen;
    if (const int code = read_command_line(argc, argv, chosen); code >= 0) return code;
    observe::set_log(chosen.log_format, chosen.log_level);
    observe::service service;
    service.starting("configuration", start_part_limit);
    auto config = sources::load_whole(chosen.config);
    if (!config) {
        for (const error& e : config.error()) (void)complain(e, exit_refused);
        return exit_refused;
    }
    for (const std::string& line : config->old_keys)
        observe::log(observe::log_level::warning, line);
    if (chosen.check) {
        if (auto good = control::check_eal(*config, chosen.eal); !good)
            return complain(good.error(), exit_refused);
        if (auto good = control::check_pcie(*config); !good)
            return complain(good.error(), exit_refused);
        return write_stdout(chosen.config + ": valid\n") ? 0 : exit_failed;
    }
    if (!report_can_be_written("--report", chosen.report) ||
        !report_can_be_written("--report-html", chosen.report_html))
        return exit_refused;
    set_signals();
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    (void)sched_getaffinity(0, sizeof cpus, &cpus);
    service.starting("EAL", start_part_limit);
    if (auto started = control::start_eal(*config, chosen.eal); !started)
        return complain(started.error(), exit_failed);
    observe::the_console().start();
    const int code = forward(std::move(*config), chosen, cpus, service);
    control::restore_eal_log();
    const bool read = observe::the_console().finish(std::chrono::seconds(1));
    control::stop_eal();
    // A blocked reader of standard output must not block the exit: its buffer cannot be flushed.
    if (!read) _exit(code);
    return code;
}

}  // namespace

/// `turnpike doctor ...` is the program turnpike-doctor beside this one. Returns only if it cannot be started.
int run_doctor(char** argv) {
    std::error_code none;
    const auto beside =
        std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "turnpike-doctor";
    ::execv(beside.c_str(), argv + 1);
    std::fprintf(stderr, "turnpike: %s: %s\n", beside.c_str(), std::strerror(errno));
    return exit_failed;
}

int main(int argc, char** argv) {
    open_standard_descriptors();
    if (argc > 1 && std::strcmp(argv[1], "doctor") == 0) return run_doctor(argv);
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {  // e.g. out of memory: our code does not throw on purpose
        std::fprintf(stderr, "turnpike: %s\n", e.what());
        return exit_failed;
    }
}
