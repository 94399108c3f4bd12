// SPDX-License-Identifier: BSD-3-Clause
#include "frame_list.hpp"

#include <optional>
#include <string>

#include "base/arguments.hpp"
#include "base/next_piece.hpp"

namespace turnpike::pcie_tool {
namespace {

constexpr uint32_t shortest_frame_bytes = 64;  // Ethernet's minimum
constexpr uint32_t longest_frame_bytes = 16384;

std::optional<uint32_t> number(std::string_view text) {
    uint32_t value = 0;
    if (!read_number<uint32_t>(text, 0, UINT32_MAX, value)) return std::nullopt;
    return value;
}

result<void> append_range(std::string_view item, std::vector<uint32_t>& frames) {
    const std::string object = "frame sizes '" + std::string(item) + "'";
    std::string_view rest = item;
    std::string_view range = next_piece(rest, ':');
    const bool has_step = range.size() != item.size();
    const auto step = has_step ? number(rest) : 1;
    const auto first = number(next_piece(range, '-'));
    const auto last = item.find('-') == std::string_view::npos ? first : number(range);
    if (!first || !last || !step)
        return fail(EINVAL, object, "write sizes as 64, 64-1500 or 64-1500:4, separated by commas");
    if (*first < shortest_frame_bytes || *last > longest_frame_bytes)
        return fail(EINVAL, object, "a frame has 64 to 16384 bytes, FCS included");
    if (*first > *last)
        return fail(EINVAL, object, "the range is descending; write the smaller size first");
    if (*step == 0) return fail(EINVAL, object, "the step must be at least 1");
    for (uint64_t frame = *first; frame <= *last; frame += *step)
        frames.push_back(static_cast<uint32_t>(frame));
    return {};
}

}  // namespace

result<std::vector<uint32_t>> parse_frame_list(std::string_view text) {
    std::vector<uint32_t> frames;
    std::string_view rest = text;
    do {
        const bool last = rest.find(',') == std::string_view::npos;
        if (const auto good = append_range(next_piece(rest, ','), frames); !good)
            return tl::unexpected<error>(good.error());
        if (!last && rest.empty())
            return fail(EINVAL, "frame sizes '" + std::string(text) + "'",
                        "nothing after the comma");
    } while (!rest.empty());
    return frames;
}

}  // namespace turnpike::pcie_tool
