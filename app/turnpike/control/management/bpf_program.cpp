// SPDX-License-Identifier: BSD-3-Clause
// libpcap 1.10's own bpf_validate() is not enough: it lets jumps wrap around to earlier instructions, and accepts codes at which
// bpf_filter() aborts, and loads of memory that bpf_filter() does not initialise.
// Source: McCanne and Jacobson, The BSD Packet Filter, USENIX 1993.
#include "control/management/bpf_program.hpp"

#include <algorithm>
#include <vector>

namespace turnpike::control {
namespace {

/// Each with a size, word, half-word or byte: BPF_W, BPF_H, BPF_B.
constexpr uint16_t packet_loads[] = {BPF_LD | BPF_ABS, BPF_LD | BPF_IND};
/// Each with a constant or X.
constexpr uint16_t with_operand[] = {
    BPF_ALU | BPF_ADD, BPF_ALU | BPF_SUB, BPF_ALU | BPF_MUL, BPF_ALU | BPF_DIV,  BPF_ALU | BPF_MOD,
    BPF_ALU | BPF_AND, BPF_ALU | BPF_OR,  BPF_ALU | BPF_XOR, BPF_ALU | BPF_LSH,  BPF_ALU | BPF_RSH,
    BPF_JMP | BPF_JEQ, BPF_JMP | BPF_JGT, BPF_JMP | BPF_JGE, BPF_JMP | BPF_JSET,
};

constexpr uint16_t memory_accesses[] = {BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM, BPF_ST, BPF_STX};
constexpr uint16_t header_length = BPF_LDX | BPF_MSH | BPF_B;
constexpr uint16_t other_codes[] = {
    header_length,     BPF_LD | BPF_IMM,   BPF_LDX | BPF_IMM,  BPF_LD | BPF_LEN,
    BPF_LDX | BPF_LEN, BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA, BPF_RET | BPF_K,
    BPF_RET | BPF_A,   BPF_ALU | BPF_NEG,  BPF_JMP | BPF_JA,
};

bool is_memory(uint16_t code) { return std::ranges::count(memory_accesses, code) != 0; }

bool is_code(uint16_t code) {
    constexpr uint16_t sizes = BPF_H | BPF_B;
    return is_memory(code) || std::ranges::count(other_codes, code) != 0 ||
           std::ranges::count(with_operand, code & ~BPF_X) != 0 ||
           ((code & sizes) != sizes && std::ranges::count(packet_loads, code & ~sizes) != 0);
}

/// behind  number of instructions behind it
/// Answers  null: none
const char* fault_of(const bpf_insn& i, size_t behind) {
    if (!is_code(i.code)) return "has an unknown code";
    if (is_memory(i.code) && i.k >= BPF_MEMWORDS) return "names a word of memory above 15";
    if (i.code == (BPF_JMP | BPF_JA)
            ? i.k >= behind
            : BPF_CLASS(i.code) == BPF_JMP && std::max(i.jt, i.jf) >= behind)
        return "jumps backward, as protochain of pcap-filter(7) does, or beyond the end";
    if (BPF_CLASS(i.code) == BPF_ALU && BPF_SRC(i.code) == BPF_K) {
        const uint16_t operation = BPF_OP(i.code);
        if ((operation == BPF_DIV || operation == BPF_MOD) && i.k == 0) return "divides by 0";
        if ((operation == BPF_LSH || operation == BPF_RSH) && i.k > 31)
            return "shifts by more than 31 bits";
    }
    if (behind == 0 && BPF_CLASS(i.code) != BPF_RET) return "should return, as the last one";
    return nullptr;
}

}  // namespace

result<void> validate_bpf(std::span<const bpf_insn> program) {
    if (program.empty() || program.size() > max_bpf_instructions)
        return fail(EINVAL, "program", "should have 1 to 4096 instructions");
    // Words of memory that every path to an instruction has stored, by bits.
    std::vector<uint16_t> stored(program.size(), UINT16_MAX);
    stored[0] = 0;
    for (size_t n = 0; n < program.size(); ++n) {
        const bpf_insn& i = program[n];
        const char* fault = fault_of(i, program.size() - n - 1);
        uint16_t now = stored[n];
        if (fault == nullptr && is_memory(i.code)) {
            const auto word = static_cast<uint16_t>(1U << i.k);
            if (i.code == BPF_ST || i.code == BPF_STX)
                now |= word;
            else if ((now & word) == 0)
                fault = "loads a word of memory that was not stored";
        }
        if (fault != nullptr) return fail(EINVAL, "program[" + std::to_string(n) + "]", fault);
        const bool jumps = BPF_CLASS(i.code) == BPF_JMP, always = i.code == (BPF_JMP | BPF_JA);
        if (BPF_CLASS(i.code) == BPF_RET) continue;
        stored[n + 1 + (always ? i.k : jumps ? i.jt : 0)] &= now;
        stored[n + 1 + (always ? i.k : jumps ? i.jf : 0)] &= now;
    }
    return {};
}

}  // namespace turnpike::control
