// SPDX-License-Identifier: BSD-3-Clause
// Validates the BPF programs of clients. Workers run them by libpcap's bpf_filter(), which trusts them.
#pragma once

#include <pcap/pcap.h>

#include <span>

#include "base/result.hpp"

namespace turnpike::control {

inline constexpr size_t max_bpf_instructions = 4096;  ///< Linux's BPF_MAXINSNS

/// Every path through a valid program ends: jumps go forward, and the last instruction is a return. It divides by no constant
/// 0, and loads only words of memory that it has stored.
/// Errors  EINVAL, of program[i]
[[nodiscard]] result<void> validate_bpf(std::span<const bpf_insn> program);

}  // namespace turnpike::control
