// SPDX-License-Identifier: BSD-3-Clause
// What the kernel asks of a process for BPF and XDP, and which of it this one lacks.
#pragma once

#include <string>

namespace turnpike::xsk {

/// Why loading or attaching was not permitted, and what to do: the capabilities that this thread lacks,
/// else the limit that a kernel before 5.11 counts maps against.
[[nodiscard]] std::string what_bpf_lacks();

}  // namespace turnpike::xsk
