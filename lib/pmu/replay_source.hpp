// SPDX-License-Identifier: BSD-3-Clause
// Counters from a file: a recording of a machine, or a test's values.
//
//   seconds: 2                        # duration counters: cpu: {cycles: 4400000000}       # PMU:
//   {event, as the table names it: its count} uncore_iio_2: {iio_clock: 1000000} shares: {cpu: 25}
//   # percent of the time that a PMU's groups counted; else 100 refused: {uncore_imc_0: 13}       #
//   PMU: errno of opening it
//
// The first reading of a counter is 0, all later ones are its count. An event that is not in the
// file fails like an event that the CPU does not have.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "pmu/counter_source.hpp"

namespace turnpike::pmu {

/// Threads  one at a time
class replay_source : public counter_source {
  public:
    /// Errors  EINVAL, `object` is ORIGIN:LINE
    [[nodiscard]] static result<replay_source> parse(std::string_view yaml,
                                                     const std::string& origin);
    /// Errors  also of opening the file
    [[nodiscard]] static result<replay_source> load(const std::filesystem::path& file);

    [[nodiscard]] result<std::unique_ptr<counter_group>> open(const device& of,
                                                              std::span<const coded_event> events,
                                                              target whose) override;
    [[nodiscard]] double seconds() const noexcept { return seconds_; }

  private:
    double seconds_ = 1;
    std::map<std::string, std::map<std::string, uint64_t>> counters_;
    std::map<std::string, unsigned> shares_;
    std::map<std::string, int> refused_;
};

}  // namespace turnpike::pmu
