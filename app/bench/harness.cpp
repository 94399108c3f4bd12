// SPDX-License-Identifier: BSD-3-Clause
#include "harness.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "base/standard_descriptors.hpp"
#include "eal/simd_bitwidth.hpp"
#include "eal_options.hpp"
#include "isa/cpu_name.hpp"
#include "isa/isa.hpp"
#include "version.hpp"

namespace turnpike::bench {
namespace {

std::string field_of(const char* file, const std::string& field) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.rfind(field, 0) == 0) {
            const size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
            return at == std::string::npos ? "" : line.substr(at);
        }
    return "";
}

}  // namespace

child_result run_child(const std::vector<std::string>& argv, std::chrono::seconds deadline) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return {-1, ""};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    std::vector<char*> arguments;
    for (const auto& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    pid_t child = -1;
    const int failed =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    child_result result{-1, ""};
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (failed == 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        pollfd waiting{pipe_ends[0], POLLIN, 0};
        if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) {
            kill(child, SIGKILL);
            break;
        }
        char buffer[4096];
        const ssize_t got = read(pipe_ends[0], buffer, sizeof buffer);
        if (got <= 0) break;
        result.output.append(buffer, static_cast<size_t>(got));
    }
    close(pipe_ends[0]);
    int status = 0;
    if (failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
        result.exit_code = WEXITSTATUS(status);
    return result;
}

std::filesystem::path turnpike_program() {
    namespace fs = std::filesystem;
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& there : {here / "turnpike", here / "../turnpike/turnpike"})
        if (fs::is_regular_file(there)) return there;
    return {};
}

temporary_file::temporary_file()
    : path_((std::filesystem::temp_directory_path() / "turnpike-bench-XXXXXX").string()) {
    const int fd = mkstemp(path_.data());
    if (fd < 0) throw std::runtime_error("cannot create a temporary file");
    close(fd);
}

temporary_file::~temporary_file() { std::filesystem::remove(path_); }

std::optional<int> harness::start(int argc, char** argv, unsigned eal_memory_mb, unsigned lcores) {
    std::vector<std::string> all(argv + 1, argv + argc);
    std::vector<std::string> eal{argv[0]};
    const auto dashes = std::find(all.begin(), all.end(), "--");
    std::vector<std::string> given;
    if (dashes != all.end()) {
        given.assign(all.begin(), dashes);
        all.erase(all.begin(), dashes + 1);
    }
    if (const auto code = parse(std::move(all))) return code;
    if (fresh_ != nullptr && fresh_->sets > 0)
        print(fmt::format("{} fresh sets; the same again: --fresh {} --seed {}", fresh_->sets,
                          fresh_->sets, fresh_->seed));
    const machine here{.hugepages = field_of("/proc/meminfo", "HugePages_Free") != "0",
                       .cpus = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN))};
    if (!default_device_.empty() && !names_device(given)) given.push_back(default_device_);
    const auto merged = eal_options(std::move(given), here, eal_memory_mb, lcores);
    std::string line = "EAL options:";
    for (const auto& option : merged) line += " " + option;
    print(line);
    eal.insert(eal.end(), merged.begin(), merged.end());
    std::vector<char*> arguments;
    for (auto& a : eal) arguments.push_back(a.data());
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
        print(fmt::format("turnpike-bench-{}: EAL did not start: {}", name_,
                          rte_strerror(rte_errno)));
        return 1;
    }
    return std::nullopt;
}

uint16_t harness::max_simd_bitwidth() const { return eal::max_simd_bitwidth(); }

std::vector<uint16_t> harness::permit_widths() {
    const bool wide = (isa::detect() & isa::feature_avx512) != 0;
    std::vector<uint16_t> widths;
    for (const uint16_t bits : {uint16_t{256}, uint16_t{512}})
        if ((bits < 512 || wide) && eal::permit_simd_bitwidth(bits)) widths.push_back(bits);
    if (widths.empty()) widths.push_back(max_simd_bitwidth());
    return widths;
}

void harness::print(const std::string& line) const {
    // fmt::print throws where a write fails: a terminal that has gone would end the measurement.
    std::fputs((line + "\n").c_str(), stderr);
}

nlohmann::json& harness::add_cell(nlohmann::json cell) {
    const auto ours = cell.find("cycles"), peer = cell.find("peer_cycles");
    const bool both =
        ours != cell.end() && peer != cell.end() && ours->is_number() && peer->is_number();
    cell["ratio"] = both ? nlohmann::json(peer->get<double>() / ours->get<double>()) : nullptr;
    cells_->push_back(std::move(cell));
    return cells_->back();
}

int harness::finish() {
    nlohmann::json isas = nlohmann::json::array();
    for (const auto token : isa::tokens(isa::detect())) isas.push_back(token);
    const nlohmann::json envelope{{"schema", "turnpike.bench/1"},
                                  {"bench", name_},
                                  {"version", version},
                                  {"host",
                                   {{"cpu", isa::cpu_name()},
                                    {"tsc_hz", rte_get_tsc_hz()},
                                    {"max_simd_bitwidth", max_simd_bitwidth()},
                                    {"isas", isas}}},
                                  {"cells", *cells_},
                                  {"summary", *summary_}};
    const std::string text = (json_ ? envelope : *summary_).dump(1) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return 0;
    print(fmt::format("turnpike-bench-{}: standard output: cannot be written ({})", name_,
                      std::strerror(errno)));
    return 1;
}

mean_and_least summarise(const nlohmann::json& cells, const char* key,
                         const std::function<bool(const nlohmann::json&)>& pick) {
    double logs = 0, least = 0;
    unsigned n = 0;
    for (const auto& cell : cells) {
        const auto value = cell.find(key);
        if (value == cell.end() || !value->is_number() || !pick(cell)) continue;
        const double x = value->get<double>();
        logs += std::log(x);
        least = n++ == 0 ? x : std::min(least, x);
    }
    if (n == 0) return {};
    return {std::exp(logs / n), least};
}

void leave_main_core() noexcept {
    const auto here = static_cast<unsigned>(sched_getcpu());
    cpu_set_t set;
    CPU_ZERO(&set);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (unsigned cpu = 0; cpu < static_cast<unsigned>(cpus); ++cpu)
        if (cpu != here) CPU_SET(cpu, &set);
    if (CPU_COUNT(&set) != 0) pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

int guarded(const char* program, int (*run)(int argc, char** argv), int argc, char** argv) {
    open_standard_descriptors();
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::fputs((std::string(program) + ": " + e.what() + "\n").c_str(), stderr);
        return 2;
    }
}

}  // namespace turnpike::bench
