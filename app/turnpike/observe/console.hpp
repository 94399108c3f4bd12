// SPDX-License-Identifier: BSD-3-Clause
// Output at run time: log lines (standard error) and tables (standard output), written by a separate thread.
// If the reader is slow, stopped (a pager) or gone, tables are skipped, and log lines beyond a limit are lost.
// The console prints how many. Callers never block.
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

    /// Starts the thread. Before start() and after finish(), the caller writes. Throws system_error.
    void start();
    /// Queues a log line. The line is lost if memory or the queue is full.
    void line(log_line l) noexcept;
    /// Counts a line that was lost before it was queued.
    void line_is_lost() noexcept;
    /// Queues a table; it replaces a table still in the queue.
    void table(std::string text) noexcept;
    /// Writes the queue and stops the thread. Returns false, and detaches the thread, after the timeout.
    bool finish(std::chrono::milliseconds patience) noexcept;

  private:
    static constexpr size_t max_lines = 1024;
    /// Shared with the thread, which may outlive the console if write() blocks.
    struct shared {
        std::mutex lock;
        std::condition_variable changed;
        std::deque<log_line> lines;
        std::deque<log_line> being_written;  ///< the thread's; a new one would allocate
        std::string table;
        uint64_t lines_lost = 0, tables_skipped = 0;
        bool stop = false, ended = false, busy = false;
    };
    static void write(const std::shared_ptr<shared>& s) noexcept;

    std::shared_ptr<shared> shared_;
    std::thread thread_;
};

/// The program's only console.
console& the_console() noexcept;

/// Logs a notice.
inline void log_notice(std::string_view text) noexcept { log(log_level::notice, text); }

}  // namespace turnpike::observe
