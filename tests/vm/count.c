// SPDX-License-Identifier: BSD-3-Clause
// A plugin of QEMU's code generator: instructions executed, by virtual CPU, of user and of kernel addresses.
//   -plugin count.so,counts=FILE
// FILE is made: for each CPU the counts (uint64_t) of struct count, which others read by mmap() while it runs.
// Source: QEMU's "TCG Plugins" (docs/devel/tcg-plugins.rst), API version 1. A block of code counts whole when it is
// entered; one that faults in its middle counts again when it is entered again.
#include <fcntl.h>
#include <qemu-plugin.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

enum { max_cpus = 4, kept_spans = 1 << 16 };
typedef struct {
    uint64_t user, kernel;       // instructions
    uint64_t calls;              // of the kernel, by the instruction "syscall"; one that a signal broke off counts once
    uint32_t spans[kept_spans];  // user instructions between syscalls: the span before syscall n is at n % kept_spans
} count;
static count* counts;
static uint64_t last_call[max_cpus];

static void add_user(unsigned int cpu, void* instructions) {
    if (cpu < max_cpus) counts[cpu].user += (uintptr_t)instructions;
}

static void add_call(unsigned int cpu, void* instructions) {
    add_user(cpu, instructions);
    if (cpu >= max_cpus) return;
    count* c = &counts[cpu];
    c->spans[c->calls % kept_spans] = (uint32_t)(c->user - last_call[cpu]);
    last_call[cpu] = c->user;
    c->calls++;
}

static void add_kernel(unsigned int cpu, void* instructions) {
    if (cpu < max_cpus) counts[cpu].kernel += (uintptr_t)instructions;
}

/// Does the block end in a syscall? Linux restarts a syscall interrupted by a signal at its
/// instruction, which then begins a separate block.
static int is_call(const struct qemu_plugin_tb* block, size_t instructions) {
    static const unsigned char call[] = {0x0f, 0x05};
    if (instructions == 1) return 0;
    const struct qemu_plugin_insn* last = qemu_plugin_tb_get_insn(block, instructions - 1);
    return qemu_plugin_insn_size(last) == sizeof call && memcmp(qemu_plugin_insn_data(last), call, sizeof call) == 0;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
    (void)id;
    const size_t instructions = qemu_plugin_tb_n_insns(block);
    const int upper_half = (int64_t)qemu_plugin_tb_vaddr(block) < 0;
    qemu_plugin_vcpu_udata_cb_t add = upper_half ? add_kernel : add_user;
    if (!upper_half && is_call(block, instructions)) add = add_call;
    qemu_plugin_register_vcpu_tb_exec_cb(block, add, QEMU_PLUGIN_CB_NO_REGS, (void*)(uintptr_t)instructions);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
    (void)info;
    if (argc != 1 || strncmp(argv[0], "counts=", 7) != 0) {
        fprintf(stderr, "count.so: counts=FILE is its one argument\n");
        return -1;
    }
    const size_t bytes = max_cpus * sizeof(count);
    const int file = open(argv[0] + 7, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        perror(argv[0] + 7);
        return -1;
    }
    counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (counts == MAP_FAILED) {
        perror(argv[0] + 7);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
