// SPDX-License-Identifier: BSD-3-Clause
// The reset of the device within a trial: a command, or a request to the operator. It runs on another thread, on any CPU.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"

namespace turnpike::throughput {

class reset_action {
  public:
    /// command  for /bin/sh; empty: standard error asks the operator
    /// after_s  from now
    reset_action(std::string command, double after_s);
    reset_action(const reset_action&) = delete;
    reset_action& operator=(const reset_action&) = delete;
    /// Ends a command that still runs.
    ~reset_action();

    /// Wait for the command's end.
    ///
    /// Errors  EAGAIN: no thread; EIO: it failed; ETIMEDOUT: it did not end within `patience_s`
    [[nodiscard]] result<void> finish(double patience_s);

  private:
    void perform(double after_s);
    void run_command();

    const std::string command_;
    std::mutex mutex_{};
    std::condition_variable changed_{};
    bool cancelled_ = false, done_ = false;
    std::optional<error> failed_{};
    std::thread thread_{};
};

}  // namespace turnpike::throughput
