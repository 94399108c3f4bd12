// SPDX-License-Identifier: BSD-3-Clause
#include "control/eal/eal_log.hpp"

#include <rte_log.h>
#include <stdio.h>

#include <algorithm>

#include "observe/log.hpp"

namespace turnpike::control {
namespace {

using observe::log_level;

FILE* the_stream = nullptr;

/// DPDK has syslog's levels and one more; all worse than error map to error.
log_level level_now() noexcept {
    const int level = std::clamp(rte_log_cur_msg_loglevel() - 1, static_cast<int>(log_level::error),
                                 static_cast<int>(log_level::debug));
    return static_cast<log_level>(level);
}

/// The stream is unbuffered, so each write is a message; some have several lines.
ssize_t write_lines(void*, const char* bytes, size_t size) noexcept {
    std::string_view text(bytes, size);
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
        if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        try {
            observe::log(level_now(), one, {{"by", "dpdk"}});
        } catch (const std::bad_alloc&) {  // out of memory: the line is lost
        }
    }
    return static_cast<ssize_t>(size);
}

}  // namespace

void redirect_eal_log() {
    if (observe::format_of_log() == observe::log_format::text) return;
    the_stream = ::fopencookie(
        nullptr, "w", {.read = nullptr, .write = write_lines, .seek = nullptr, .close = nullptr});
    if (the_stream == nullptr) return;
    ::setvbuf(the_stream, nullptr, _IOLBF, 4096);
    rte_openlog_stream(the_stream);
}

void restore_eal_log() noexcept {
    // Another thread may be writing to the stream: it is not closed.
    if (the_stream != nullptr) rte_openlog_stream(stderr);
}

}  // namespace turnpike::control
