// SPDX-License-Identifier: BSD-3-Clause
#include "pcap_frame.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <memory>

#include "ask.hpp"
#include "base/arguments.hpp"

namespace turnpike::ctl {
namespace {

/// Longest frame that a request takes: two digits a byte, and the rest of its line.
constexpr uint32_t max_frame_bytes = UINT16_MAX;

struct close_pcap {
    void operator()(pcap_t* p) const noexcept { pcap_close(p); }
};

}  // namespace

result<pcap_frame> read_pcap_frame(const std::string& of) {
    const size_t colon = of.rfind(':');
    uint32_t number = 0;
    if (colon == std::string::npos || colon == 0 ||
        !read_number<uint32_t>(of.substr(colon + 1), 1, UINT32_MAX, number))
        return misuse("--pcap", "should be FILE:N, frame N of the file from 1, e.g. west.pcapng:3");
    const std::string file = of.substr(0, colon);
    std::array<char, PCAP_ERRBUF_SIZE> why{};
    const std::unique_ptr<pcap_t, close_pcap> from(pcap_open_offline(file.c_str(), why.data()));
    if (from == nullptr)
        return fail(EINVAL, file, fmt::format("is no readable capture: {}", why.data()));
    if (const int type = pcap_datalink(from.get()); type != DLT_EN10MB) {
        const char* const name = pcap_datalink_val_to_name(type);
        return fail(EINVAL, file,
                    fmt::format("has link type {}; `explain` takes Ethernet frames",
                                name != nullptr ? name : std::to_string(type)));
    }
    for (uint32_t at = 1;; ++at) {
        pcap_pkthdr* header = nullptr;
        const u_char* data = nullptr;
        const int got = pcap_next_ex(from.get(), &header, &data);
        if (got == PCAP_ERROR_BREAK)
            return fail(EINVAL, file, fmt::format("has {} frames, not {}", at - 1, number));
        if (got != 1)
            return fail(EINVAL, file,
                        fmt::format("cannot be read at frame {}: {}", at, pcap_geterr(from.get())));
        if (at != number) continue;
        if (header->len > max_frame_bytes || header->caplen > header->len)
            return fail(EINVAL, file,
                        fmt::format("frame {} has {} bytes; at most {} are possible", at,
                                    std::max(header->len, header->caplen), max_frame_bytes));
        pcap_frame out{.bytes = std::vector<uint8_t>(header->len), .captured = header->caplen};
        std::copy_n(data, header->caplen, out.bytes.begin());
        return out;
    }
}

}  // namespace turnpike::ctl
