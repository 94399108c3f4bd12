// SPDX-License-Identifier: BSD-3-Clause
#include "control/eal/syscall_filter.hpp"

#include <sched.h>
#include <seccomp.h>

#include <cerrno>
#include <memory>
#include <string>

namespace turnpike::control {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

constexpr std::string_view denied[] = {
    // other programs and processes
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
    "process_madvise", "pidfd_getfd", "kcmp", "personality", "userfaultfd",
    // the kernel and the machine
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "iopl", "ioperm", "modify_ldt", "syslog", "acct", "swapon", "swapoff", "quotactl",
    "quotactl_fd", "sethostname", "setdomainname", "vhangup",
    // file systems
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "name_to_handle_at", "open_by_handle_at", "mknod",
    "mknodat", "unshare",
    // clocks
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
    // keys, and interfaces that pass by a filter of calls
    "add_key", "request_key", "keyctl", "io_uring_setup", "io_uring_enter", "io_uring_register",
    // user ids: threads that open a client's file change the file system's alone (file_access.hpp)
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid"};

struct release_filter {
    void operator()(void* filter) const noexcept { seccomp_release(filter); }
};

}  // namespace

std::span<const std::string_view> denied_syscalls() noexcept { return denied; }

result<void> deny_syscalls() {
    const auto failed = [](int code, const std::string& what) -> result<void> {
        return fail(code, "seccomp", what + "; no system call is denied");
    };
    if (sanitized) return failed(ENOSYS, "a sanitizer needs all system calls");
    const std::unique_ptr<void, release_filter> filter(seccomp_init(SCMP_ACT_ALLOW));
    if (filter == nullptr) return failed(ENOMEM, "no filter can be made");
    // Threads that run already, too; a tree of comparisons instead of a list.
    for (const auto& [attribute, value] :
         {std::pair{SCMP_FLTATR_CTL_TSYNC, 1U}, {SCMP_FLTATR_CTL_OPTIMIZE, 2U}})
        if (const int error = seccomp_attr_set(filter.get(), attribute, value); error != 0)
            return failed(-error, "an attribute of the filter is refused");
    for (const std::string_view name : denied) {
        const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
        if (number == __NR_SCMP_ERROR) continue;  // the library does not know it
        if (const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), number, 0);
            error != 0)
            return failed(-error, "a rule for " + std::string(name) + " is refused");
    }
    // A process is a clone that shares no thread group. clone3() has its flags in memory, where a filter cannot
    // read them: ENOSYS makes the C library start threads by clone().
    const scmp_arg_cmp is_process{
        .arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = CLONE_THREAD, .datum_b = 0};
    if (const int error = seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM),
                                                 SCMP_SYS(clone), 1, &is_process);
        error != 0)
        return failed(-error, "a rule for clone is refused");
    if (const int error =
            seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
        error != 0)
        return failed(-error, "a rule for clone3 is refused");
    if (const int error = seccomp_load(filter.get()); error != 0)
        return failed(-error, "the kernel refuses the filter");
    return {};
}

}  // namespace turnpike::control
