// SPDX-License-Identifier: BSD-3-Clause
// The same run with several setups of the device: more workers, another frequency, SMT. Each setup is a command that starts the
// device; the rates are compared with the first one's.
// Source: the 2017 paper's section 4.3.3 (speedup tables) and tables 4 and 5 (IPP, IPC, CPP).
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sweep.hpp"

namespace turnpike::throughput {

struct scale_step {
    std::string name{}, where{};
    double units = 1;      ///< workers, GHz: the speedup is divided by their ratio
    std::string device{};  ///< for /bin/sh; empty: the device runs already
    std::string run{};     ///< the run file's path
    std::string score{};   ///< a command in place of device and run: its last word is the score
    std::optional<cpu_setup> setup{};  ///< of a sweep
};

struct scale_plan {
    std::string name{}, unit{"workers"};
    std::string ready{};   ///< a command that succeeds once the device is ready
    double ready_s = 30;   ///< its limit
    std::string report{};  ///< the file that turnpike writes at its end (--report)
    bool goes_on = false;  ///< a step that fails does not end the others
    std::vector<scale_step> steps{};
};

/// Errors  EINVAL with file:line; of reading the file
[[nodiscard]] result<scale_plan> read_scale_plan(const std::string& path);

/// A plan without its steps: the keys name, ready, ready_ms and report. Throws yaml::complaint.
[[nodiscard]] scale_plan plan_head_of(const yaml::reader& r, const std::filesystem::path& folder);
/// The plan in a file; `plan_of` gets its map, and the folder that its files are relative to.
///
/// Errors  EINVAL with file:line; of reading the file
[[nodiscard]] result<scale_plan> read_plan_file(
    const std::string& path, const char* kind,
    scale_plan (*plan_of)(const yaml::reader& r, const std::filesystem::path& folder));

/// Perform the steps, one after the other. An error ends them, unless the plan goes on; the steps so far are in `out`, which is
/// valid at all times. A step that the machine does not have is there with the reason.
///
/// program  this program and EAL's options before its run file
/// out      an object that gets "steps"
/// show     gets a line of text before each step
/// Errors   ECANCELED; EIO: the device or the run ended with an error; ETIMEDOUT: the device is not ready
[[nodiscard]] result<void> perform_scale(const scale_plan& plan,
                                         const std::vector<std::string>& program,
                                         const std::atomic<bool>& stop, nlohmann::json& out,
                                         const std::function<void(const std::string&)>& show);

/// The steps of a sweep: `device` with the setup's variables.
[[nodiscard]] std::vector<scale_step> steps_of(const sweep& s, const scale_step& like);

/// Add a step to a result: its rates, of all directions, their speedup against the first step's, and cycles and instructions of
/// turnpike's report. A rate that the sender limited, or of an irregular goal, is `at_least`: a lower bound, with its reason.
///
/// run     turnpike.throughput/1
/// report  turnpike.report/2; null: the device has none
void add_step(nlohmann::json& out, const scale_step& step, const nlohmann::json& run,
              const nlohmann::json& report);
/// Add a step whose command printed a score.
void add_score(nlohmann::json& out, const scale_step& step, double score);
/// Add a step without a result, and the reason.
void add_reason(nlohmann::json& out, const scale_step& step, const std::string& why);

/// The first step's that has one; null: none has.
[[nodiscard]] nlohmann::json first_result(const nlohmann::json& steps);
/// A step's figure of the report as text, or the reason in two words: "no PMU", "no report".
[[nodiscard]] std::string figure_text(const nlohmann::json& step, const char* figure, int digits);
/// A size's rate, speedup or efficiency as text: ">= 2.00" where the rate is a lower bound, "-" without a figure.
[[nodiscard]] std::string size_text(const nlohmann::json& size, const char* figure, int digits,
                                    double unit = 1);
/// Sentences on the steps without figures, and on lower bounds, each once.
[[nodiscard]] std::vector<std::string> notes_of(const nlohmann::json& steps);

/// scaled  turnpike.throughput-scale/1
[[nodiscard]] std::string scale_text(const nlohmann::json& scaled);

}  // namespace turnpike::throughput
