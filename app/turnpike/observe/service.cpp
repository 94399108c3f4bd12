// SPDX-License-Identifier: BSD-3-Clause
#include "observe/service.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/arguments.hpp"
#include "base/printable.hpp"

namespace turnpike::observe {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// CLOCK_MONOTONIC in microseconds, for MONOTONIC_USEC of a reload.
std::string now_us() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::to_string(now.tv_sec * 1'000'000 + now.tv_nsec / 1000);
}

}  // namespace

service::service() {
    std::string path = environment("NOTIFY_SOCKET");
    if (path.empty() || (path[0] != '/' && path[0] != '@') ||
        path.size() >= sizeof sockaddr_un{}.sun_path)
        return;
    if (path[0] == '@') path[0] = '\0';  // an abstract socket
    fd_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd_.get() < 0) return;
    address_ = path;
    uint64_t us = 0;
    pid_t whose = ::getpid();
    const std::string pid = environment("WATCHDOG_PID");
    if (!pid.empty() && (!read_number<pid_t>(pid, 1, INT32_MAX, whose) || whose != ::getpid()))
        return;
    if (read_number<uint64_t>(environment("WATCHDOG_USEC"), 1, 1ull << 50, us))
        half_ = std::chrono::microseconds(us) / 2;
}

void service::starting(std::string_view part, std::chrono::seconds within) noexcept {
    if (address_.empty()) return;
    try {
        notify("EXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::microseconds(within).count()) +
               "\nSTATUS=starting: " + printable(part) + "\n");
    } catch (const std::bad_alloc&) {  // the message is dropped
    }
}

void service::ready(std::string_view text) noexcept {
    notify("READY=1\n");
    status(text);
}
void service::reloading() noexcept { notify("RELOADING=1\nMONOTONIC_USEC=" + now_us() + "\n"); }
void service::stopping() noexcept { notify("STOPPING=1\nSTATUS=stopping\n"); }

void service::status(std::string_view text) noexcept {
    if (address_.empty()) return;
    try {
        notify("STATUS=" + printable(text) + "\n");
    } catch (const std::bad_alloc&) {  // the message is dropped
    }
}

void service::poll(const std::function<bool()>& alive) noexcept {
    if (!half_) return;
    const auto now = clock::now();
    if (now < next_) return;
    next_ = now + *half_;
    if (alive()) notify("WATCHDOG=1\n");
}

void service::notify(const std::string& lines) noexcept {
    if (address_.empty()) return;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    (void)!::sendto(fd_.get(), lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&to), size);
}

}  // namespace turnpike::observe
