// SPDX-License-Identifier: BSD-3-Clause
// One harness for all turnpike-bench-* programs: arguments, EAL, interleaved repetitions, a peer
// program as a child process, and the JSON envelope (turnpike.bench/1).
//
//   NAME [EAL options --] [options]    EAL options win over the harness's own: eal_options.hpp
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "interleave.hpp"

namespace CLI {
class App;
}

namespace turnpike::bench {

struct child_result {
    int exit_code;  ///< -1: killed at the deadline or by a signal
    std::string output;
};
/// Run a peer program and collect its standard output. Its standard error goes to ours.
child_result run_child(const std::vector<std::string>& argv, std::chrono::seconds deadline);

/// turnpike as installed or built beside this program; empty: it is not there.
std::filesystem::path turnpike_program();

/// A file that is gone when the run is over.
class temporary_file {
  public:
    temporary_file();
    ~temporary_file();
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

class harness {
  public:
    /// name  of the bench ("fib"); what: one line for --help
    harness(std::string name, std::string what);
    ~harness();
    /// Options of the bench itself, before start(). one_of: what it may be; empty: anything.
    void add_option(const std::string& name, std::string& into, const std::string& help);
    void add_option(const std::string& name, int& into, const std::string& help);
    void add_option(const std::string& name, std::vector<std::string>& into,
                    const std::string& help, const std::vector<std::string>& one_of = {});
    void add_flag(const std::string& name, bool& into, const std::string& help);
    /// An EAL option for a device ("--vdev=dma_skeleton0"), where the user's options name none.
    void default_device(std::string option) { default_device_ = std::move(option); }
    /// Parse, start EAL with `eal_memory_mb` where there are no hugepages, on so many lcores where
    /// there are as many CPUs. An exit code: stop with it.
    std::optional<int> start(int argc, char** argv, unsigned eal_memory_mb, unsigned lcores = 1);

    bool quick() const noexcept { return quick_; }
    unsigned repetitions() const noexcept { return quick_ ? 5 : 9; }
    uint16_t max_simd_bitwidth() const;
    /// The SIMD widths that a run is judged at: 256 and, where the CPU has AVX-512, 512 bits, or the one that
    /// --force-max-simd-bitwidth says. The widest is permitted from here on.
    std::vector<uint16_t> permit_widths();

    /// A line for people, on standard error.
    void say(const std::string& line) const;
    /// A cell; {cycles, peer, peer_cycles} become its ratio too.
    nlohmann::json& add_cell(nlohmann::json cell);
    nlohmann::json& cells() { return cells_; }
    nlohmann::json& summary() { return summary_; }
    /// Print the envelope (--json) or the summary. The program's exit code.
    int finish();

  private:
    std::optional<int> parse(std::vector<std::string> all);

    std::string name_, default_device_;
    std::unique_ptr<CLI::App> app_;
    bool json_ = false;
    bool quick_ = false;
    nlohmann::json cells_ = nlohmann::json::array();
    nlohmann::json summary_ = nlohmann::json::object();
};

/// The calling thread to another CPU than the main thread's, which EAL keeps on one: threads begin where
/// their maker runs. Where there is only one CPU it stays.
void leave_main_core() noexcept;

/// What main() returns: run()'s exit code, 2 with a message where it throws.
int guarded(const char* program, int (*run)(int argc, char** argv), int argc, char** argv);

/// Geometric mean and minimum of cell[key] over the cells that `pick` takes and that have it.
struct mean_and_least {
    std::optional<double> geomean, least;
};
mean_and_least summarise(const nlohmann::json& cells, const char* key,
                         const std::function<bool(const nlohmann::json&)>& pick);

}  // namespace turnpike::bench
