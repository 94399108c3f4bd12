// SPDX-License-Identifier: BSD-3-Clause
// Trials of one frame size, each recorded in the result.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "test_bed.hpp"

namespace turnpike::throughput {

/// Gets a line of text after each trial.
using progress = std::function<void(const std::string&)>;

class trial_recorder {
  public:
    static constexpr unsigned max_attempts = 5;

    /// trials  an array that gets an object for each trial
    trial_recorder(test_bed& bed, const std::string& size, nlohmann::json& trials,
                   const progress& show)
        : bed_(bed), size_(size), trials_(trials), show_(show) {}

    /// Perform a trial and record it. A trial that missed its rate a little is repeated.
    ///
    /// Errors  the test bed's
    [[nodiscard]] result<trial_report> perform(const char* procedure, const trial_plan& plan,
                                               unsigned attempts = max_attempts);
    [[nodiscard]] test_bed& bed() noexcept { return bed_; }

  private:
    void record(const char* procedure, const trial_report& r);

    test_bed& bed_;
    const std::string& size_;
    nlohmann::json& trials_;
    const progress& show_;
};

}  // namespace turnpike::throughput
