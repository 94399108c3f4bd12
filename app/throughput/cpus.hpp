// SPDX-License-Identifier: BSD-3-Clause
// CPUs for a device under test: cores, their SMT siblings, and their frequency.
// Source: Documentation/ABI/testing/sysfs-devices-system-cpu; Documentation/admin-guide/pm/cpufreq.rst (limits of a policy).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace turnpike::throughput {

/// The kernel's folder of CPUs.
inline const std::filesystem::path cpu_folder = "/sys/devices/system/cpu";

/// CPUs of a list as the kernel writes them, "0-3,8"; in its order.
///
/// Errors  EINVAL without an object
[[nodiscard]] result<std::vector<unsigned>> parse_cpu_list(std::string_view text);
/// "0,2,3"
[[nodiscard]] std::string cpu_list_text(const std::vector<unsigned>& cpus);

/// Isolated CPUs, by the kernel's command line or as a partition of cgroup v2, which not every kernel lists in `folder`; in
/// ascending order. Source: Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.isolated
[[nodiscard]] std::vector<unsigned> isolated_cpus(const std::filesystem::path& folder = cpu_folder);
/// Whether every CPU of these is isolated.
[[nodiscard]] bool are_isolated(const std::vector<unsigned>& cpus,
                                const std::filesystem::path& folder = cpu_folder);

/// The CPUs that a device may use: isolated ones; if none is, all but those of CPU 0's core.
[[nodiscard]] std::vector<unsigned> default_cpus(const std::filesystem::path& folder = cpu_folder);

/// The threads of each core, as far as they are among `cpus` and online, by the order of `cpus`.
[[nodiscard]] std::vector<std::vector<unsigned>> cores_of(
    const std::vector<unsigned>& cpus, const std::filesystem::path& folder = cpu_folder);

/// Why CPUs cannot be set to a frequency; empty: they can.
[[nodiscard]] std::string why_not_at(const std::vector<unsigned>& cpus, unsigned mhz,
                                     const std::filesystem::path& folder = cpu_folder);

/// CPUs at one frequency, as long as this object lives: both limits of their cpufreq policies.
class frequency_scope {
  public:
    /// Errors  of writing; EIO: the kernel keeps another limit
    [[nodiscard]] static result<frequency_scope> enter(
        const std::vector<unsigned>& cpus, unsigned mhz,
        const std::filesystem::path& folder = cpu_folder);
    frequency_scope(frequency_scope&& other) noexcept = default;
    frequency_scope& operator=(frequency_scope&&) = delete;
    /// Restores the limits.
    ~frequency_scope();

  private:
    frequency_scope() = default;
    struct limits {
        std::filesystem::path policy;
        unsigned long min_khz, max_khz;
    };
    static result<void> set(const limits& l);
    std::vector<limits> before_{};
};

}  // namespace turnpike::throughput
