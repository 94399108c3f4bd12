// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/driver_messages.hpp"

#include <rte_log.h>
#include <stdio.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <string_view>

namespace turnpike::rxtx {
namespace {

constexpr size_t max_kept_bytes = 4096;

/// The text of this thread's errors; null: not kept.
thread_local std::string* kept = nullptr;

std::mutex users_lock;
unsigned users = 0;                      ///< objects that exist
std::atomic<FILE*> log_before{nullptr};  ///< DPDK's stream without one

ssize_t write_lines(void*, const char* bytes, size_t size) noexcept {
    FILE* const to = log_before.load(std::memory_order_acquire);
    (void)!::fwrite(bytes, 1, size, to);
    ::fflush(to);
    if (kept == nullptr || rte_log_cur_msg_loglevel() > static_cast<int>(RTE_LOG_ERR))
        return static_cast<ssize_t>(size);
    try {
        kept->append(bytes,
                     std::min(size, max_kept_bytes - std::min(max_kept_bytes, kept->size())));
    } catch (const std::bad_alloc&) {  // the reason is in the log only
    }
    return static_cast<ssize_t>(size);
}

/// Made once: another thread may be writing to it at any time.
FILE* stream() {
    static FILE* const made = [] {
        FILE* const file = ::fopencookie(
            nullptr, "w",
            {.read = nullptr, .write = write_lines, .seek = nullptr, .close = nullptr});
        if (file != nullptr) ::setvbuf(file, nullptr, _IOLBF, max_kept_bytes);
        return file;
    }();
    return made;
}

}  // namespace

driver_messages::driver_messages() {
    const std::lock_guard lock(users_lock);
    FILE* const ours = stream();
    if (ours == nullptr) return;
    if (users++ == 0) {
        log_before.store(rte_log_get_stream(), std::memory_order_release);
        rte_openlog_stream(ours);
    }
    kept = &text_;
}

driver_messages::~driver_messages() {
    const std::lock_guard lock(users_lock);
    if (kept != &text_) return;
    kept = nullptr;
    if (--users == 0) rte_openlog_stream(log_before.load(std::memory_order_acquire));
}

std::string driver_messages::reason() const {
    std::string_view rest = text_, of_eal;
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        if (line.empty() || line.find("Failed to attach device") != std::string_view::npos)
            continue;
        if (!line.starts_with("EAL: ")) return std::string(line);
        if (of_eal.empty()) of_eal = line;
    }
    return std::string(of_eal);
}

}  // namespace turnpike::rxtx
