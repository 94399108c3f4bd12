// SPDX-License-Identifier: BSD-3-Clause
// Setups of a device by its CPUs: numbers of cores, without and with SMT, at several frequencies, as in section 4.3 of the
// paper. A setup that the machine does not have keeps its place, with the reason.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cpus.hpp"

namespace turnpike::yaml {
class reader;
}

namespace turnpike::throughput {

struct cpu_setup {
    std::string workload{};
    unsigned cores = 0;
    bool smt = false;              ///< a worker on each thread of a core, not on one of them
    unsigned mhz = 0;              ///< 0: as it is
    std::vector<unsigned> cpus{};  ///< of the workers
    std::string unavailable{};     ///< the reason; empty: the machine has it
};

struct sweep {
    std::vector<unsigned> cpus{};  ///< that workers may use; empty: default_cpus()
    std::vector<unsigned> cores{1, 2, 3, 4, 8};
    std::vector<bool> smt{false, true};
    std::vector<unsigned> mhz{0};
};

/// Keys of a sweep in a plan.
inline constexpr std::array<std::string_view, 4> sweep_keys{"cpus", "cores", "smt", "mhz"};
/// The sweep of a plan's map, whose other keys are the caller's. Throws yaml::complaint.
[[nodiscard]] sweep read_sweep(const yaml::reader& r);

/// By frequency, then without and with SMT, then by the number of cores.
[[nodiscard]] std::vector<cpu_setup> setups_of(const sweep& s,
                                               const std::filesystem::path& folder = cpu_folder);

/// "2 cores, SMT, 2200 MHz"
[[nodiscard]] std::string name_of(const cpu_setup& s);
/// Shell assignments for the device's command: CPUS, WORKERS, CORES, SMT, MHZ.
[[nodiscard]] std::string environment_of(const cpu_setup& s);

}  // namespace turnpike::throughput
