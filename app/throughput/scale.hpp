// SPDX-License-Identifier: BSD-3-Clause
// The same run with several setups of the device: more workers, another frequency, SMT. Each setup is a command that starts the
// device; the rates are compared with the first one's.
// Source: the 2017 paper's section 4.3.3 (speedup tables) and tables 4 and 5 (IPP, IPC, CPP).
#pragma once

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace turnpike::throughput {

struct scale_step {
    std::string name{}, where{};
    double units = 1;      ///< workers, GHz: the speedup is divided by their ratio
    std::string device{};  ///< for /bin/sh; empty: the device runs already
    std::string run{};     ///< the run file's path
};

struct scale_plan {
    std::string name{}, unit{"workers"};
    std::string ready{};   ///< a command that succeeds once the device is ready
    double ready_s = 30;   ///< its limit
    std::string report{};  ///< the file that turnpike writes at its end (--report)
    std::vector<scale_step> steps{};
};

/// Errors  EINVAL with file:line; of reading the file
[[nodiscard]] result<scale_plan> read_scale_plan(const std::string& path);

/// Perform the steps, one after the other. An error ends them; the steps so far are in `out`, which is valid at all times.
///
/// program  this program and EAL's options before its run file
/// out      an object that gets "steps"
/// Errors   ECANCELED; EIO: the device or the run ended with an error; ETIMEDOUT: the device is not ready
[[nodiscard]] result<void> perform_scale(const scale_plan& plan,
                                         const std::vector<std::string>& program,
                                         const std::atomic<bool>& stop, nlohmann::json& out);

/// Add a step to a result: its rates, their speedup against the first step's, and cycles and instructions of turnpike's report.
///
/// run     turnpike.throughput/1
/// report  turnpike.report/2; null: the device has none
void add_step(nlohmann::json& out, const scale_step& step, const nlohmann::json& run,
              const nlohmann::json& report);

/// scaled  turnpike.throughput-scale/1
[[nodiscard]] std::string scale_text(const nlohmann::json& scaled);

}  // namespace turnpike::throughput
