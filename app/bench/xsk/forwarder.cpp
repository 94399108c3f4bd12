// SPDX-License-Identifier: BSD-3-Clause
#include "forwarder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "lab.hpp"

namespace turnpike::bench {
namespace {

namespace fs = std::filesystem;

/// Enough to fill both ports' rings, twice.
unsigned buffers_of(const forwarder_settings& s) { return 8 * s.descriptors; }

std::string eal_words(const forwarder_settings& s) {
    return fmt::format("--lcores=0@{},1@{} --in-memory --no-pci --no-telemetry --log-level=4{}",
                       s.main_cpu, s.worker_cpu,
                       s.plugin.empty() ? "" : " -d " + fs::path(s.plugin).filename().string());
}

std::string device(const forwarder_settings& s, unsigned number, const char* interface) {
    return fmt::format("{}{},iface={}{}", s.driver, number, interface, s.arguments);
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string w; in >> w;) words.push_back(w);
    return words;
}

std::vector<std::string> testpmd(const forwarder_settings& s) {
    auto words = words_of("dpdk-testpmd " + eal_words(s));
    for (const auto& [number, interface] : {std::pair{0u, west}, {1u, east}})
        words.push_back("--vdev=" + device(s, number, interface));
    const auto own = words_of(fmt::format(
        "-- --forward-mode={} --nb-cores=1 --burst=32 --rxd={} --txd={} --total-num-mbufs={} "
        "--no-flush-rx --no-mlockall",
        s.app == forwarder_app::testpmd_io ? "io" : "macswap", s.descriptors, s.descriptors,
        buffers_of(s)));
    words.insert(words.end(), own.begin(), own.end());
    return words;
}

std::vector<std::string> turnpike(const forwarder_settings& s, const std::string& config) {
    std::ofstream(config) << fmt::format(
        "eal: {{args: \"{0}\"}}\nmempool: {{buffers: {4}}}\nworkers: [1]\nports:\n"
        "  - {{name: west, descriptors: {3}, device: \"{1}\"}}\n"
        "  - {{name: east, descriptors: {3}, device: \"{2}\"}}\nxconnects: [[west, east]]\n",
        eal_words(s), device(s, 0, west), device(s, 1, east), s.descriptors, buffers_of(s));
    return {turnpike_program().string(), "--config", config};
}

/// EAL refuses a plug-in's path if a folder in it is world-writable; the dynamic linker finds it by
/// its bare name.
std::vector<std::string> environment(const forwarder_settings& s) {
    std::vector<std::string> all;
    for (char** e = environ; *e != nullptr; ++e) all.emplace_back(*e);
    if (!s.plugin.empty())
        all.push_back("LD_LIBRARY_PATH=" + fs::path(s.plugin).parent_path().string());
    return all;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> out;
    for (const auto& w : words) out.push_back(const_cast<char*>(w.c_str()));
    out.push_back(nullptr);
    return out;
}

}  // namespace

const char* name_of(forwarder_app app) {
    switch (app) {
        case forwarder_app::testpmd_io:
            return "testpmd io";
        case forwarder_app::testpmd_macswap:
            return "testpmd macswap";
        case forwarder_app::turnpike:
            return "turnpike";
    }
    return "";
}

result<std::unique_ptr<forwarder>> forwarder::start(const forwarder_settings& s) {
    auto f = std::unique_ptr<forwarder>(new forwarder);
    if (s.app == forwarder_app::turnpike && turnpike_program().empty())
        return fail(ENOENT, "turnpike", "is not beside this program");
    const auto words =
        s.app == forwarder_app::turnpike ? turnpike(s, f->config_.path()) : testpmd(s);
    const auto variables = environment(s);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(errno, words[0], "no pipe");
    const auto arguments = pointers(words), variables_of_it = pointers(variables);
    f->process_ = fork();
    if (f->process_ == 0) {
        // In the child of a multithreaded process, before exec: system calls only.
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // killed when the benchmark ends in any way
        const int log = open(f->log_.path().c_str(), O_WRONLY | O_TRUNC);
        // testpmd forwards until it reads from standard input.
        if (dup2(ends[0], STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
            dup2(log, STDERR_FILENO) >= 0)
            execvpe(arguments[0], arguments.data(), variables_of_it.data());
        constexpr char text[] = "cannot execute it: is it installed?";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(127);
    }
    close(ends[0]);
    f->input_ = ends[1];
    if (f->process_ < 0) return fail(errno, words[0], "cannot be started");
    return f;
}

forwarder::~forwarder() {
    if (process_ > 0) {
        kill(process_, SIGINT);
        int status = 0;
        for (unsigned i = 0; i < 200 && waitpid(process_, &status, WNOHANG) == 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        if (waitpid(process_, &status, WNOHANG) == 0) {
            kill(process_, SIGKILL);
            waitpid(process_, &status, 0);
        }
    }
    if (input_ >= 0) close(input_);
}

bool forwarder::alive() {
    int status = 0;
    if (process_ > 0 && waitpid(process_, &status, WNOHANG) != 0) process_ = -1;
    return process_ > 0;
}

pid_t forwarder::worker() const {
    std::error_code none;
    for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", process_), none)) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        // EAL's thread names before and after DPDK 22.11's renaming.
        if (name.starts_with("lcore-worker") || name.starts_with("rte-worker"))
            return std::stoi(task.path().filename());
    }
    return 0;
}

std::string forwarder::output() const {
    std::ifstream in(log_.path());
    std::string all(std::istreambuf_iterator<char>(in), {});
    return all.size() > 600 ? all.substr(all.size() - 600) : all;
}

}  // namespace turnpike::bench
