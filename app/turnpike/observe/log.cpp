// SPDX-License-Identifier: BSD-3-Clause
#include "observe/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "observe/console.hpp"

namespace turnpike::observe {
namespace {

struct settings {
    log_format format = log_format::text;
    std::atomic<log_level> most{log_level::notice};
    std::optional<journal> to{};
};
/// Never destroyed: a thread may still log at exit.
settings& chosen() {
    static settings& one = *new settings;
    return one;
}

/// Never destroyed, as settings.
struct past_lines {
    std::mutex mutex{};
    std::deque<log_line> lines{};
};
past_lines& past() {
    static past_lines& one = *new past_lines;
    return one;
}
void remember(const log_line& l) {
    const std::lock_guard lock(past().mutex);
    past().lines.push_back(l);
    if (past().lines.size() > log_history) past().lines.pop_front();
}

/// A value with line breaks is preceded by its length.
void add_entry(std::string& to, std::string_view name, std::string_view value) {
    to += name;
    if (value.find('\n') == std::string_view::npos) {
        to += '=';
    } else {
        to += '\n';
        for (unsigned i = 0; i < 8; ++i) to += static_cast<char>(value.size() >> 8 * i & 0xff);
    }
    to += value;
    to += '\n';
}

std::string journal_name(std::string_view field) {
    std::string out = "TURNPIKE_";
    for (const char c : field) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return out;
}

}  // namespace

void set_log(log_format format, log_level most) {
    settings& s = chosen();
    s.most = most;
    s.format =
        format == log_format::journald && !stderr_is_the_journals() ? log_format::text : format;
    s.to.reset();
    if (s.format == log_format::journald) s.to.emplace();
}

bool logs(log_level l) noexcept { return l <= chosen().most.load(std::memory_order_relaxed); }
log_format format_of_log() noexcept { return chosen().format; }

void log(log_level level, std::string_view text, log_fields fields) noexcept {
    if (!logs(level)) return;
    try {
        log_line line{std::chrono::system_clock::now(), level, std::string(text),
                      std::move(fields)};
        remember(line);
        the_console().line(std::move(line));
    } catch (const std::exception&) {
        the_console().line_is_lost();
    }
}

std::string time_text(std::chrono::system_clock::time_point at) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch());
    const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", utc, us.count() % 1'000'000);
}

std::vector<log_line> recent_log_lines(size_t most) {
    const std::lock_guard lock(past().mutex);
    const auto& all = past().lines;
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(most, all.size())), all.end()};
}

std::string as_text(const log_line& l) { return "turnpike: " + printable(l.text); }

std::string as_json(const log_line& l) {
    nlohmann::ordered_json out = {
        {"time", time_text(l.at)}, {"level", name(l.level)}, {"text", l.text}};
    for (const auto& [field, value] : l.fields) out[std::string(field)] = value;
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string as_journal_entry(const log_line& l) {
    std::string out;
    add_entry(out, "MESSAGE", l.text);
    add_entry(out, "PRIORITY", std::to_string(static_cast<unsigned>(l.level)));
    add_entry(out, "SYSLOG_IDENTIFIER", "turnpike");
    for (const auto& [field, value] : l.fields) add_entry(out, journal_name(field), value);
    return out;
}

journal::journal(std::string path)
    : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)), path_(std::move(path)) {}

bool journal::send(const log_line& l) const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (fd_.get() < 0 || path_.size() >= sizeof to.sun_path) return false;
    std::memcpy(to.sun_path, path_.c_str(), path_.size() + 1);
    const std::string entry = as_journal_entry(l);
    ssize_t n;
    do
        n = ::sendto(fd_.get(), entry.data(), entry.size(), MSG_NOSIGNAL,
                     reinterpret_cast<const sockaddr*>(&to), sizeof to);
    while (n < 0 && errno == EINTR);
    return n >= 0;
}

bool stderr_is_the_journals() {
    const char* says = std::getenv("JOURNAL_STREAM");
    struct stat there {};
    return says != nullptr && ::fstat(STDERR_FILENO, &there) == 0 &&
           fmt::format("{}:{}", there.st_dev, there.st_ino) == says;
}

void write_log_line(const log_line& l) {
    const settings& s = chosen();
    if (s.to && s.to->send(l)) return;
    std::fprintf(stderr, "%s\n", (s.format == log_format::json ? as_json(l) : as_text(l)).c_str());
}

bool log_rate_limit::allow(uint64_t now_ms) noexcept {
    flush(now_ms);
    if (now_ms >= until_ms_) {
        until_ms_ = now_ms + window_ms;
        logged_ = 0;
    }
    if (logged_ == most) {
        ++left_out_;
        return false;
    }
    ++logged_;
    return true;
}

void log_rate_limit::flush(uint64_t now_ms) noexcept {
    if (left_out_ == 0 || now_ms < until_ms_) return;
    try {
        log(log_level::notice, fmt::format("{} more {} not logged", left_out_, what_),
            {{"left_out", std::to_string(left_out_)}});
    } catch (const std::exception&) {  // no memory for the line
    }
    left_out_ = 0;
}

}  // namespace turnpike::observe
