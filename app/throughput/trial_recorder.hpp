// SPDX-License-Identifier: BSD-3-Clause
// Trials of one frame size, each recorded in the result.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "test_bed.hpp"

namespace turnpike::throughput {

/// Gets a line of text before each trial: its load and duration, and the outcome of the last trial.
using progress = std::function<void(const std::string&)>;

class trial_recorder {
  public:
    /// trials    an array that gets an object for each trial
    /// attempts  of a trial that does not count; one whose rate was far off is not repeated, nor is a reset
    trial_recorder(test_bed& bed, const std::string& size, nlohmann::json& trials,
                   unsigned attempts, const progress& show)
        : bed_(bed), size_(size), trials_(trials), attempts_(attempts), show_(show) {}

    /// Perform a trial and record it.
    ///
    /// Errors  the test bed's
    [[nodiscard]] result<trial_report> perform(const char* procedure, const trial_plan& plan);
    /// Before a trial that resets the device: test_bed::learn_if_due().
    [[nodiscard]] result<void> prepare() { return bed_.learn_if_due(); }
    /// Sum of the measured durations of all trials, each attempt included.
    [[nodiscard]] double duration_s() const noexcept { return duration_s_; }

  private:
    void announce(const char* procedure, const trial_plan& plan) const;
    void record(const char* procedure, const trial_report& r);

    test_bed& bed_;
    const std::string& size_;
    nlohmann::json& trials_;
    const unsigned attempts_;
    const progress& show_;
    double duration_s_ = 0;
    std::string last_{};  ///< outcome of the last trial, for the progress
};

}  // namespace turnpike::throughput
