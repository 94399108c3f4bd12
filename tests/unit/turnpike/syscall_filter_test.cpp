// SPDX-License-Identifier: BSD-3-Clause
// The filter of system calls after the start: in a child, since it lasts for the life of a process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <thread>

#include "control/eal/syscall_filter.hpp"

// There in programs with a sanitizer.
extern "C" __attribute__((weak)) void __asan_init();
extern "C" __attribute__((weak)) void __tsan_init();

namespace turnpike::control {
namespace {

/// Whether a call is denied: any other result means that the kernel executed it.
bool is_denied(long result) { return result == -1 && errno == EPERM; }

/// No process, by any call: the C library's fork() is a clone, as a thread is.
bool fork_is_denied() {
    const auto denied = [](long child) {
        if (child == 0) ::_exit(0);
        if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
        return is_denied(child);
    };
#if defined(SYS_fork)
    if (!denied(::syscall(SYS_fork))) return false;
#endif
    return denied(::fork()) &&
           denied(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)) &&
           ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS;
}

/// Bits for failed checks.
int checks_of_a_thread() {
    const bool program = is_denied(::syscall(SYS_execve, "/nowhere", nullptr, nullptr)),
               process = fork_is_denied(),
               memory = is_denied(::syscall(SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0)),
               traced = is_denied(::syscall(SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr)),
               user = is_denied(::syscall(SYS_setresuid, -1, -1, -1));
    // Without the filter: EACCES or ENOENT, a child, 0, 0, 0.
    std::atomic<bool> ran{false};
    std::thread([&] { ran = true; }).join();
    const int file = ::open("/proc/self/status", O_RDONLY);
    const bool works = ran && file >= 0 && ::close(file) == 0;
    int out = 0, bit = 1;
    for (const bool good : {program, process, memory, traced, user, works}) {
        if (!good) out |= bit;
        bit <<= 1;
    }
    return out;
}

/// Each call of the list that this architecture has, with arguments that the kernel refuses or ignores.
bool all_are_denied() {
    for (const std::string_view name : denied_syscalls()) {
        if (name == "fork" || name == "vfork" || name == "vhangup") continue;  // they would act
        const int number = ::seccomp_syscall_resolve_name(std::string(name).c_str());
        if (number < 0 || is_denied(::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L))) continue;
        std::fprintf(stderr, "%s is permitted\n", std::string(name).c_str());
        return false;
    }
    return true;
}

int child() {
    enum : int { waits, filtered, refused };
    std::atomic<int> state{waits};
    int of_older_thread = -1;
    std::thread older([&] {
        while (state == waits) std::this_thread::yield();
        // Without the filter the checks would create a process and have it traced.
        if (state == filtered) of_older_thread = checks_of_a_thread();
    });
    const auto done = deny_syscalls();
    state = done ? filtered : refused;
    older.join();
    if (!done) return done.error().code == ENOSYS ? 77 : 78;
    if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 79;
    if (!all_are_denied()) return 80;
    return of_older_thread | checks_of_a_thread();
}

TEST(syscall_filter, denies_its_calls_in_all_threads) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) ::_exit(child());
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    const bool sanitized = __asan_init != nullptr || __tsan_init != nullptr;
    EXPECT_EQ(WEXITSTATUS(status), sanitized ? 77 : 0);
}

/// doc/security.md: one call of each kind. The filter skips names that its library does not know, so none may be misspelt.
TEST(syscall_filter, the_kinds_of_the_page_are_in_its_list) {
    const auto all = denied_syscalls();
    for (const std::string_view of_a_kind :
         {"execve", "ptrace", "finit_module", "kexec_load", "mount", "clock_settime", "keyctl",
          "io_uring_setup", "setuid"})
        EXPECT_NE(std::find(all.begin(), all.end(), of_a_kind), all.end()) << of_a_kind;
    for (const std::string_view name : all)
        EXPECT_NE(::seccomp_syscall_resolve_name(std::string(name).c_str()), __NR_SCMP_ERROR)
            << name;
}

TEST(syscall_filter, needed_calls_are_not_in_its_list) {
    for (const std::string_view needed :
         {"clone", "setns", "setfsuid", "setgroups", "capset", "bpf", "socket", "mmap",
          "perf_event_open", "sched_setaffinity", "memfd_create"})
        for (const std::string_view name : denied_syscalls()) EXPECT_NE(name, needed);
}

}  // namespace
}  // namespace turnpike::control
