// SPDX-License-Identifier: BSD-3-Clause
// What turnpike says of itself: a line for each thing that happened, with what it is about as fields, as
// text for people, JSON, or entries of systemd's journal. Written by the console's thread: nobody waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.hpp"

namespace turnpike::observe {

/// As syslog(3) numbers and names them.
enum class log_level : uint8_t { error = 3, warning, notice, info, debug };
inline constexpr std::string_view log_level_names[] = {"error", "warning", "notice", "info",
                                                       "debug"};
constexpr std::string_view name(log_level l) noexcept {
    return log_level_names[static_cast<size_t>(l) - static_cast<size_t>(log_level::error)];
}

enum class log_format : uint8_t { text, json, journald };
inline constexpr std::string_view log_format_names[] = {"text", "json", "journald"};

/// Names in small letters and _.
using log_fields = std::vector<std::pair<std::string_view, std::string>>;

struct log_line {
    std::chrono::system_clock::time_point at{};
    log_level level = log_level::notice;
    std::string text{};
    log_fields fields{};
};

/// Before anything is said from another thread. Journald: as text where standard error does not lead to the
/// journal (JOURNAL_STREAM in systemd.exec(5)).
void set_log(log_format format, log_level most);
/// Lines of this level are written.
[[nodiscard]] bool logs(log_level l) noexcept;
[[nodiscard]] log_format format_of_log() noexcept;

/// Says it. Lost where memory ends.
/// Threads  any
void log(log_level level, std::string_view text, log_fields fields = {}) noexcept;

/// "turnpike: TEXT"
[[nodiscard]] std::string as_text(const log_line& l);
/// {"time", "level", "text", and the fields}
[[nodiscard]] std::string as_json(const log_line& l);
/// A datagram of the journal: MESSAGE, PRIORITY, SYSLOG_IDENTIFIER and TURNPIKE_FIELD. Source: systemd's
/// "Native Journal Protocol".
[[nodiscard]] std::string as_journal_entry(const log_line& l);

/// The journal's socket.
class journal {
  public:
    explicit journal(std::string path = "/run/systemd/journal/socket");
    /// False: nobody took it.
    [[nodiscard]] bool send(const log_line& l) const;

  private:
    owned_fd fd_;
    std::string path_;
};
/// JOURNAL_STREAM says that standard error leads there.
[[nodiscard]] bool stderr_is_the_journals();

/// Write it now, in the format that was set.
void write_log_line(const log_line& l);

/// What may happen very often is said ten times a second, and then how often more.
class log_limit {
  public:
    /// what  "link events"
    explicit log_limit(std::string_view what) : what_(what) {}
    /// Whether one more may be said.
    [[nodiscard]] bool take(uint64_t now_ms) noexcept;
    /// To be called often: says how many were left out, when their second is over.
    void look(uint64_t now_ms) noexcept;

  private:
    static constexpr uint64_t window_ms = 1000, most = 10;
    std::string_view what_;
    uint64_t until_ms_ = 0, said_ = 0, left_out_ = 0;
};

}  // namespace turnpike::observe
