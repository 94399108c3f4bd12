// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace turnpike::isa {

/// The CPU's model by /proc/cpuinfo: its "model name" on x86-64. AArch64's kernel prints numbers only (Arm ARM, MIDR_EL1):
/// "implementer 0x41, part 0xd0c". Empty if the file has neither.
/// Throws  std::bad_alloc
std::string cpu_name(const char* file = "/proc/cpuinfo");

}  // namespace turnpike::isa
