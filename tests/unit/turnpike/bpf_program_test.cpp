// SPDX-License-Identifier: BSD-3-Clause
// BPF programs of clients: libpcap's are valid, and valid ones cannot stop a worker.
#include "control/management/bpf_program.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

namespace turnpike {
namespace {

using control::max_bpf_instructions, control::validate_bpf;
using bpf_code = std::vector<bpf_insn>;

bpf_code compiled_filter(const char* filter, bool optimized) {
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> dead(pcap_open_dead(DLT_EN10MB, 65535),
                                                              pcap_close);
    bpf_program program{};
    EXPECT_EQ(pcap_compile(dead.get(), &program, filter, optimized, PCAP_NETMASK_UNKNOWN), 0)
        << filter << ": " << pcap_geterr(dead.get());
    bpf_code out(program.bf_insns, program.bf_insns + program.bf_len);
    pcap_freecode(&program);
    return out;
}

TEST(bpf_program, of_libpcap_is_valid) {
    for (const char* filter :
         {"", "llc ui or llc xid", "tcp port 22 or 80 and not src host 10.0.0.1",
          "src or dst portrange 6000-6008", "net 10.0.0.0 mask 255.0.0.0 or ip6 net fe80::/10",
          "ether[0:4] & 0xffff != 7",
          "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and tcp[20:4] / 3 > 7 % len",
          "((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0",
          "icmp6[icmp6type] = icmp6-echo", "vlan 100 and pppoes 7 and (ip or ip6)",
          "mpls 7 and geneve 8 and -ip[2] = 7 and ip[3] ^ 8 > 9", "greater 130 and len <= 200",
          "ether multicast or ether broadcast"})
        for (const bool optimized : {false, true}) {
            const auto valid = validate_bpf(compiled_filter(filter, optimized));
            EXPECT_TRUE(valid) << filter << ": " << valid.error().message();
        }
}

constexpr bpf_insn returns{BPF_RET | BPF_K, 0, 0, 1};

TEST(bpf_program, is_refused) {
    const bpf_insn load{BPF_LD | BPF_MEM, 0, 0, 3}, store{BPF_STX, 0, 0, 3};
    for (const auto& [program, where, what] :
         {std::tuple(bpf_code{}, "program", "should have 1 to 4096"),
          {bpf_code(max_bpf_instructions + 1, returns), "program", "should have 1 to 4096"},
          {{{BPF_LD | BPF_IMM, 0, 0, 1}}, "program[0]", "should return"},
          {{{BPF_JMP | BPF_JA, 0, 0, 1}, returns}, "program[0]", "jumps backward"},
          {{{BPF_JMP | BPF_JA, 0, 0, UINT32_MAX}, returns}, "program[0]", "jumps backward"},
          {{returns, {BPF_JMP | BPF_JA, 0, 0, UINT32_MAX - 1}, returns}, "program[1]", "jumps"},
          {{{BPF_JMP | BPF_JEQ, 1, 0, 1}, returns}, "program[0]", "jumps backward"},
          {{{BPF_JMP | BPF_JSET | BPF_X, 0, 255, 1}, returns}, "program[0]", "jumps backward"},
          {{{BPF_ALU | BPF_DIV, 0, 0, 0}, returns}, "program[0]", "divides by 0"},
          {{{BPF_ALU | BPF_MOD, 0, 0, 0}, returns}, "program[0]", "divides by 0"},
          {{{BPF_ALU | BPF_LSH, 0, 0, 32}, returns}, "program[0]", "shifts by more"},
          {{{BPF_ALU | BPF_RSH, 0, 0, 32}, returns}, "program[0]", "shifts by more"},
          {{{BPF_ST, 0, 0, 16}, returns}, "program[0]", "names a word of memory"},
          {{{BPF_LDX | BPF_MEM, 0, 0, UINT32_MAX}, returns}, "program[0]", "names a word"},
          {{load, returns}, "program[0]", "loads a word"},
          {{{BPF_JMP | BPF_JEQ, 1, 0, 1}, store, load, returns}, "program[2]", "loads a word"},
          // Offsets behind `geneve` count from its header, which the other packets do not have.
          {compiled_filter("geneve or ip[3] = 9", true), "program[", "loads a word"},
          {compiled_filter("ip6 protochain 17", true), "program[", "jumps backward"}}) {
        const auto valid = validate_bpf(program);
        ASSERT_FALSE(valid) << where << " " << what;
        EXPECT_TRUE(valid.error().object.starts_with(where)) << valid.error().message();
        EXPECT_TRUE(valid.error().text.starts_with(what)) << valid.error().message();
    }
    EXPECT_TRUE(validate_bpf(bpf_code(max_bpf_instructions, returns)));
    EXPECT_TRUE(validate_bpf(
        bpf_code{{BPF_JMP | BPF_JEQ, 0, 1, 1}, store, {BPF_STX, 0, 0, 3}, load, returns}));
}

/// Codes that bpf_filter() does not know abort the process.
TEST(bpf_program, runs_to_its_end) {
    constexpr std::array<uint8_t, 64> packet{};
    const auto run = [&](const bpf_code& p) {
        (void)bpf_filter(p.data(), packet.data(), packet.size(), packet.size());
    };
    const bpf_insn store{BPF_ST, 0, 0, 1};
    std::vector<uint16_t> known;
    for (uint32_t code = 0; code <= UINT16_MAX; ++code) {
        const bpf_code program{store, {static_cast<u_short>(code), 0, 0, 1}, returns, returns};
        if (!validate_bpf(program)) continue;
        known.push_back(static_cast<uint16_t>(code));
        run(program);
    }
    EXPECT_EQ(known.size(), 49U);
    std::mt19937 random(11);
    size_t valid = 0;
    for (int n = 0; n < 200'000; ++n) {
        bpf_code program(random() % 12);
        for (bpf_insn& i : program) {
            const auto any = static_cast<uint32_t>(random());
            i = {any % 50 == 0 ? static_cast<u_short>(random()) : known[random() % known.size()],
                 static_cast<u_char>(random() % 6), static_cast<u_char>(random() % 6),
                 any % 8 == 0   ? any
                 : any % 2 == 0 ? any % 70
                                : 1};
        }
        program.push_back(returns);
        if (!validate_bpf(program)) continue;
        ++valid;
        run(program);
    }
    EXPECT_GT(valid, 1000U);
}

}  // namespace
}  // namespace turnpike
