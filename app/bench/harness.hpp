// SPDX-License-Identifier: BSD-3-Clause
// Common harness of all turnpike-bench-* programs: arguments, EAL, interleaved repetitions, a peer
// program as a child process, and the JSON envelope (turnpike.bench/1).
//
//   NAME [EAL options --] [options]    EAL options win over the harness's own: eal_options.hpp
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fresh.hpp"
#include "interleave.hpp"

namespace CLI {
class App;
}

namespace turnpike::bench {

struct child_result {
    int exit_code;  ///< -1: killed at the deadline or by a signal
    std::string output;
};
/// Run a peer program and collect its standard output. Its standard error is inherited.
child_result run_child(const std::vector<std::string>& argv, std::chrono::seconds deadline);

/// Path of turnpike as installed or built beside this program; empty: not found.
std::filesystem::path turnpike_program();

/// A file that is deleted by the destructor.
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
    /// name  of the benchmark ("fib"); what: one line for --help
    harness(std::string name, std::string what);
    ~harness();
    /// Add a benchmark's own option, before start(). one_of: accepted values; empty: any.
    void add_option(const std::string& name, std::string& into, const std::string& help);
    void add_option(const std::string& name, int& into, const std::string& help);
    void add_option(const std::string& name, std::vector<std::string>& into,
                    const std::string& help, const std::vector<std::string>& one_of = {});
    void add_flag(const std::string& name, bool& into, const std::string& help);
    /// Options --fresh and --seed; start() draws and prints the seed unless it is given.
    void add_fresh(fresh_options& into);
    /// An EAL option for a device ("--vdev=dma_skeleton0"), used if the user's options select none.
    void default_device(std::string option) { default_device_ = std::move(option); }
    /// Parse, and start EAL: with `eal_memory_mb` if there are no hugepages, on up to `lcores`
    /// lcores. Returns an exit code to stop with it.
    std::optional<int> start(int argc, char** argv, unsigned eal_memory_mb, unsigned lcores = 1);

    bool quick() const noexcept { return quick_; }
    unsigned repetitions() const noexcept { return quick_ ? 5 : 9; }
    uint16_t max_simd_bitwidth() const;
    /// The SIMD widths to judge: 256 and, if the CPU has AVX-512, 512 bits, or the one of
    /// --force-max-simd-bitwidth. The widest is permitted from here on.
    std::vector<uint16_t> permit_widths();

    /// Print a line to standard error.
    void print(const std::string& line) const;
    /// Add a cell; {cycles, peer, peer_cycles} also yield their ratio.
    nlohmann::json& add_cell(nlohmann::json cell);
    nlohmann::json& cells() { return *cells_; }
    nlohmann::json& summary() { return *summary_; }
    /// Print the envelope (--json) or the summary. Returns the program's exit code: 1 if it cannot be written.
    int finish();

  private:
    std::optional<int> parse(std::vector<std::string> all);

    std::string name_, default_device_;
    fresh_options* fresh_ = nullptr;
    std::unique_ptr<CLI::App> app_;
    bool json_ = false;
    bool quick_ = false;
    std::unique_ptr<nlohmann::json> cells_, summary_;
};

/// Move the calling thread off the main thread's CPU, to which EAL pinned it: new threads start on
/// their creator's CPU. No effect with only one CPU.
void leave_main_core() noexcept;

/// For main(): returns run()'s exit code, or 2 with a message for an exception.
int guarded(const char* program, int (*run)(int argc, char** argv), int argc, char** argv);

/// Geometric mean and minimum of cell[key] over the cells that `pick` selects and that have the
/// key.
struct mean_and_least {
    std::optional<double> geomean, least;
};
mean_and_least summarise(const nlohmann::json& cells, const char* key,
                         const std::function<bool(const nlohmann::json&)>& pick);

}  // namespace turnpike::bench
