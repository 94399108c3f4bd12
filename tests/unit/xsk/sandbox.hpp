// SPDX-License-Identifier: BSD-3-Clause
// A network namespace of the test's own with a veth pair, near and far, that are gone with the process;
// and another's BPF program to find there.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace turnpike::test {

inline bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

/// Tests that stand on it skip by name where the user may not make namespaces.
class sandbox : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (made_ || geteuid() != 0) return;
        // Without IPv6 the kernel sends no packets by itself on the cable.
        made_ = unshare(CLONE_NEWNET) == 0 &&
                run("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 && ip link set lo up");
    }
    void SetUp() override {
        if (!made_) GTEST_SKIP() << "needs root, for a network namespace";
        ASSERT_TRUE(
            run("ip link add near type veth peer name far && ip link set near up && "
                "ip link set far up"));
        near = if_nametoindex("near");
    }
    void TearDown() override {
        if (made_ && if_nametoindex("near") != 0) run("ip link del near");
    }

    /// The id of the attached program; 0: none.
    uint32_t attached(int flags = 0) const {
        uint32_t id = 0;
        return bpf_xdp_query_id(static_cast<int>(near), flags, &id) == 0 ? id : 0;
    }

    unsigned near = 0;

  private:
    static inline bool made_ = false;
};

/// `return XDP_PASS`, as "other_program".
inline int load_other_program() {
    const bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 2},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    return bpf_prog_load(BPF_PROG_TYPE_XDP, "other_program", "BSD", code, std::size(code), nullptr);
}

}  // namespace turnpike::test
