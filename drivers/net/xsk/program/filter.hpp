// SPDX-License-Identifier: BSD-3-Clause
// What stays with the kernel: the text of `filter=FILE` to the entries that the BPF program looks
// through. doc/xsk-filter.md says what an operator writes.
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

/// entries     as in the file; a packet that matches one stays with the kernel and is counted for
///             the first that it matches
/// candidates  [XSK_CANDIDATES] by protocol (layout.h): the entries worth looking at, a bit each
/// where       of each entry: "FILE:LINE"
struct filter {
    std::vector<xsk_filter_entry> entries{};
    std::array<uint64_t, XSK_CANDIDATES> candidates{};
    std::vector<std::string> where{};
};

/// Errors  EINVAL with "FILE:LINE" and what would be right: nothing of a file with one bad entry is
///         taken; what config::read_file says of the file itself
[[nodiscard]] result<filter> load_filter(const std::filesystem::path& path);
/// The same of a text; `name` is what messages call it.
[[nodiscard]] result<filter> read_filter(std::string_view text, const std::string& name);

}  // namespace turnpike::xsk
