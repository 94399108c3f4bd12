// SPDX-License-Identifier: BSD-3-Clause
// The log: one line per event, with structured fields, as text, JSON or entries of systemd's journal. The
// console's thread writes it, so callers do not block.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.hpp"

namespace turnpike::observe {

/// Numbers and names of syslog(3).
enum class log_level : uint8_t { error = 3, warning, notice, info, debug };
inline constexpr std::string_view log_level_names[] = {"error", "warning", "notice", "info",
                                                       "debug"};
constexpr std::string_view name(log_level l) noexcept {
    return log_level_names[static_cast<size_t>(l) - static_cast<size_t>(log_level::error)];
}

enum class log_format : uint8_t { text, json, journald };
inline constexpr std::string_view log_format_names[] = {"text", "json", "journald"};

/// Field names in lower case and _.
using log_fields = std::vector<std::pair<std::string_view, std::string>>;

struct log_line {
    std::chrono::system_clock::time_point at{};
    log_level level = log_level::notice;
    std::string text{};
    log_fields fields{};
};

/// To be called before other threads log. Format journald falls back to text if standard error is not the
/// journal (JOURNAL_STREAM in systemd.exec(5)).
void set_log(log_format format, log_level most);
/// Whether lines of this level are written.
[[nodiscard]] bool logs(log_level l) noexcept;
[[nodiscard]] log_format format_of_log() noexcept;

/// Logs a line. The line is lost without memory.
/// Threads  any
void log(log_level level, std::string_view text, log_fields fields = {}) noexcept;

/// The last lines that were logged, the oldest first, at most `most` (and log_history of them).
/// Throws std::bad_alloc
inline constexpr size_t log_history = 1000;
[[nodiscard]] std::vector<log_line> recent_log_lines(size_t most);

/// "turnpike: TEXT"
[[nodiscard]] std::string as_text(const log_line& l);
/// UTC, with microseconds: "2026-01-31T09:00:00.000000Z".
[[nodiscard]] std::string time_text(std::chrono::system_clock::time_point at);
/// {"time", "level", "text", and the fields}
[[nodiscard]] std::string as_json(const log_line& l);
/// A datagram of the journal: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER and TURNPIKE_FIELD. Source: systemd's
/// "Native Journal Protocol".
[[nodiscard]] std::string as_journal_entry(const log_line& l);

/// The socket of systemd's journal.
class journal {
  public:
    explicit journal(std::string path = "/run/systemd/journal/socket");
    /// Returns false if the journal did not accept the entry.
    [[nodiscard]] bool send(const log_line& l) const;

  private:
    owned_fd fd_;
    std::string path_;
};
/// Whether JOURNAL_STREAM names standard error.
[[nodiscard]] bool stderr_is_the_journals();

/// Writes the line at once, in the configured format.
void write_log_line(const log_line& l);

/// Rate limit for frequent events: ten log lines a second, then the number of suppressed ones.
class log_rate_limit {
  public:
    /// what  "link events"
    explicit log_rate_limit(std::string_view what) : what_(what) {}
    /// Whether another line may be logged.
    [[nodiscard]] bool allow(uint64_t now_ms) noexcept;
    /// To be called periodically: logs the number of suppressed lines at the end of their second.
    void flush(uint64_t now_ms) noexcept;

  private:
    static constexpr uint64_t window_ms = 1000, most = 10;
    std::string_view what_;
    uint64_t until_ms_ = 0, logged_ = 0, left_out_ = 0;
};

}  // namespace turnpike::observe
