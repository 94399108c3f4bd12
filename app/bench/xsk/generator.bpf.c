/* SPDX-License-Identifier: BSD-3-Clause */
/* Run by BPF_PROG_TEST_RUN on live frames: truncates each frame to its size and redirects it to an
 * interface. Busy-waits until a batch is due; the frames of a batch are sent at its end. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "BSD-3-Clause";

/* Set before each run. */
__u32 to_interface;
__u32 longest_bytes;
__u32 sizes[12]; /* used in turn */
__u32 gap_ns;    /* between batches; 0: none */
__u32 batch;     /* frames; a power of two */

__u64 generated;
volatile __u32 turn;
__u64 due_ns; /* when the next batch is due; 0: now */

static long wait(__u32 round __attribute__((unused)), void* nothing __attribute__((unused))) {
    return bpf_ktime_get_ns() >= due_ns;
}

SEC("xdp")
int generate(struct xdp_md* frame) {
    if (gap_ns != 0 && (generated & (batch - 1)) == 0) {
        bpf_loop(1 << 20, wait, 0, 0);
        /* A delay of more than a batch is not made up for, which would cause a burst. */
        const __u64 now = bpf_ktime_get_ns();
        due_ns = (now > due_ns + gap_ns ? now : due_ns) + gap_ns;
    }
    ++generated;
    turn = turn < 11 ? turn + 1 : 0;
    const __u32 place = turn; /* a copy: the verifier must see that the checked value is used */
    if (place > 11) return XDP_ABORTED;
    const __u32 bytes = sizes[place];
    if (bytes < longest_bytes) bpf_xdp_adjust_tail(frame, (int)bytes - (int)longest_bytes);
    return bpf_redirect(to_interface, 0);
}
