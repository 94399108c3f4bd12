// SPDX-License-Identifier: BSD-3-Clause
// One frame of a capture file, for `explain`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace turnpike::ctl {

struct pcap_frame {
    /// as long as the frame was; bytes that the capture cut off are 0
    std::vector<uint8_t> bytes{};
    uint32_t captured = 0;  ///< bytes that the file has
};

/// of  "FILE:N": frame N, from 1, of a pcap or pcapng file of Ethernet frames
/// Errors  EINVAL: the form, the link type, or not so many frames, or an unreadable file
[[nodiscard]] result<pcap_frame> read_pcap_frame(const std::string& of);

}  // namespace turnpike::ctl
