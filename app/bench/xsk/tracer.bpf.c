/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the system calls of one thread, and their time in the kernel. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "BSD-3-Clause";

__u32 thread;
__u64 calls, kernel_ns, entered_ns;

SEC("raw_tp/sys_enter")
int enter(void* nothing __attribute__((unused))) {
    if ((__u32)bpf_get_current_pid_tgid() != thread) return 0;
    ++calls;
    entered_ns = bpf_ktime_get_ns();
    return 0;
}

SEC("raw_tp/sys_exit")
int leave(void* nothing __attribute__((unused))) {
    if ((__u32)bpf_get_current_pid_tgid() != thread || entered_ns == 0) return 0;
    kernel_ns += bpf_ktime_get_ns() - entered_ns;
    return 0;
}
