// SPDX-License-Identifier: BSD-3-Clause
// Parse `filter=FILE`, the packets that go to the kernel, into the entries of the BPF program's
// maps. The file format: doc/xsk-filter.md.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bpf/layout.h"

namespace turnpike::xsk {

/// entries     in the order of the file; a packet goes to the kernel on the first match, which
///             counts it
/// candidates  [XSK_CANDIDATES] by protocol (layout.h): bitmap of entries that can match
/// where       "FILE:LINE" of each entry
struct filter {
    std::vector<xsk_filter_entry> entries{};
    std::array<uint64_t, XSK_CANDIDATES> candidates{};
    std::vector<std::string> where{};
};

/// Errors  EINVAL with "FILE:LINE" and the accepted values: one bad entry rejects the whole file;
///         errors of yaml::read_file for the file itself
[[nodiscard]] result<filter> load_filter(const std::filesystem::path& path);
/// Like load_filter, from a string; messages call it `name`.
[[nodiscard]] result<filter> read_filter(std::string_view text, const std::string& name);

}  // namespace turnpike::xsk
