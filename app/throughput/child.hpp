// SPDX-License-Identifier: BSD-3-Clause
// A child process, which leads its process group.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace turnpike::throughput {

class child {
  public:
    /// Its standard input is empty, its standard output is this program's standard error.
    ///
    /// words  the program, looked up in PATH, and its arguments
    /// Errors  of posix_spawn
    [[nodiscard]] static result<child> start(std::vector<std::string> words);
    child(child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
    child& operator=(child&&) = delete;
    /// Stops it.
    ~child() { stop(5); }

    /// Its wait status, once it has ended.
    [[nodiscard]] std::optional<int> ended() noexcept;
    void interrupt() noexcept;
    /// SIGTERM for its group; SIGKILL `patience_s` later.
    void stop(double patience_s) noexcept;

  private:
    explicit child(int pid) noexcept : pid_(pid) {}
    int pid_;  ///< 0: it has ended
};

/// "ended by signal 9", "ended with exit code 1"
[[nodiscard]] std::string end_text(int wait_status);

}  // namespace turnpike::throughput
