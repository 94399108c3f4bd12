// SPDX-License-Identifier: BSD-3-Clause
// The capabilities that BPF and XDP need, and which of them this process lacks.
#pragma once

#include <string>

namespace turnpike::xsk {

/// Explain why loading or attaching was not permitted: the capabilities that this thread lacks, or
/// RLIMIT_MEMLOCK, which kernels before 5.11 charge maps against.
[[nodiscard]] std::string what_bpf_lacks();

}  // namespace turnpike::xsk
