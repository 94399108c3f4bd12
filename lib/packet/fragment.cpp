// SPDX-License-Identifier: BSD-3-Clause
#include "packet/fragment.hpp"

#include <algorithm>

#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {
namespace {

/// RFC 791 section 3.1, "Options": a type with the copied flag; all but these two have a length
/// byte.
constexpr uint8_t option_end = 0, option_nothing = 1, copied = 0x80;

void clear_uncopied_options(uint8_t* option, const uint8_t* end) noexcept {
    while (option < end && *option != option_end) {
        if (*option == option_nothing) {
            ++option;
            continue;
        }
        const auto left = static_cast<size_t>(end - option);
        const size_t bytes = left > 1 ? option[1] : 0;
        if (bytes < 2 || bytes > left) return;  // malformed: copied unchanged
        if ((*option & copied) == 0) std::fill_n(option, bytes, option_nothing);
        option += bytes;
    }
}

}  // namespace

void make_piece(uint8_t* header, uint32_t header_bytes, const piece& p) noexcept {
    auto& ip = header_at<ipv4_header>(header);
    const uint16_t was = ip.fragment;
    const bool more = !p.last || (was & ipv4_more_fragments) != 0;
    if (p.offset != 0) clear_uncopied_options(header + sizeof(ipv4_header), header + header_bytes);
    ip.total_bytes = static_cast<uint16_t>(header_bytes + p.bytes);
    ip.fragment = static_cast<uint16_t>((was & ~ipv4_more_fragments) + p.offset / 8) |
                  (more ? ipv4_more_fragments : uint16_t{0});
    ip.checksum = 0;
    ip.checksum = checksum({header, header_bytes});
}

}  // namespace turnpike::packet
