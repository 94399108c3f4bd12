// SPDX-License-Identifier: BSD-3-Clause
// What turnpike says while it runs: lines for the log (standard error) and tables (standard output),
// written by a thread of their own. Whoever reads them may be slow, stopped (a pager) or gone: then
// tables are skipped and lines lost beyond a bound, and it says how many, but nothing waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "observe/log.hpp"

namespace turnpike::observe {

/// Threads  any.
class console {
  public:
    console() = default;
    ~console() { finish(std::chrono::seconds(0)); }
    console(const console&) = delete;
    console& operator=(const console&) = delete;

    /// Until then, and after finish(), lines are written by whoever says them. Throws system_error.
    void start();
    /// A line for the log. Lost where memory or patience ends.
    void line(log_line l) noexcept;
    /// One was lost before it came here.
    void line_is_lost() noexcept;
    /// A table; one that still waits gives way to it.
    void table(std::string text) noexcept;
    /// Write what waits. False: it could not be written in that time, and the thread is left to itself.
    bool finish(std::chrono::milliseconds patience) noexcept;

  private:
    static constexpr size_t most_lines = 1024;
    /// Shared with the thread, which may outlive us where its reader never reads.
    struct shared {
        std::mutex lock;
        std::condition_variable changed;
        std::deque<log_line> lines;
        std::string table;
        uint64_t lines_lost = 0, tables_skipped = 0;
        bool stop = false, ended = false, busy = false;
    };
    static void write(const std::shared_ptr<shared>& s) noexcept;

    std::shared_ptr<shared> shared_;
    std::thread thread_;
};

/// The program's one console.
console& the_console() noexcept;

/// A notice for the log.
inline void say(std::string_view text) noexcept { log(log_level::notice, text); }

}  // namespace turnpike::observe
