// SPDX-License-Identifier: BSD-3-Clause
// Compiles filters of pcap-filter(7). libpcap resolves host names while it compiles, and waits for DNS servers: a filter with
// one is refused before.
#pragma once

#include <pcap/pcap.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::control {

/// The first word that libpcap would look up as a host, a network or an Ethernet address; empty: none. A word that is neither
/// a keyword, a number nor an address counts as one, except as a port or a protocol, whose names are in local files.
[[nodiscard]] std::string_view host_name_in(std::string_view filter);

/// The BPF program of a filter for Ethernet.
/// Errors  EINVAL
[[nodiscard]] result<std::vector<bpf_insn>> compile_pcap_filter(const std::string& filter);

}  // namespace turnpike::control
