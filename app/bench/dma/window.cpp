// SPDX-License-Identifier: BSD-3-Clause
#include "window.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace turnpike::bench::dma {

result<void> validate(const access_window& w, uint64_t least) {
    if (w.transfer_bytes == 0) return fail(EINVAL, "--size", "a transfer needs at least one byte");
    if (w.offset_bytes >= host_line_bytes)
        return fail(EINVAL, "--offset",
                    fmt::format("{} is not within a cache line: 0 to {}", w.offset_bytes,
                                host_line_bytes - 1));
    if (w.bytes > largest_window_bytes)
        return fail(EINVAL, "--window", fmt::format("{} bytes; the largest window is 1G", w.bytes));
    if (w.units() < least)
        return fail(
            EINVAL, "--window",
            fmt::format("{} bytes have room for {} transfers of {} bytes at offset {}, which "
                        "take {} each; at least {} are needed",
                        w.bytes, w.units(), w.transfer_bytes, w.offset_bytes, w.unit_bytes(),
                        least));
    return {};
}

std::vector<uint32_t> visit_order(uint64_t units, access_pattern pattern, uint64_t seed) {
    std::vector<uint32_t> order(units);
    std::iota(order.begin(), order.end(), 0u);
    if (pattern == access_pattern::sequential) return order;
    // Own Fisher-Yates shuffle: the order of std::shuffle depends on the library.
    std::mt19937_64 random(seed);
    for (size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random() % left]);
    return order;
}

result<uint64_t> parse_bytes(const std::string& text, const std::string& option) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number);
    unsigned shift = 0;
    if (failed == std::errc{} && rest + 1 == end)
        shift = *rest == 'K' ? 10 : *rest == 'M' ? 20 : *rest == 'G' ? 30 : 0;
    const bool whole = rest == end || shift != 0;
    if (failed != std::errc{} || !whole || number > (std::numeric_limits<uint64_t>::max() >> shift))
        return fail(EINVAL, option,
                    fmt::format("'{}' is not a number of bytes such as 64, 8K, 64M", text));
    return number << shift;
}

std::string bytes_text(uint64_t bytes) {
    for (const auto& [shift, letter] : {std::pair{30u, 'G'}, {20u, 'M'}, {10u, 'K'}})
        if (bytes != 0 && bytes % (uint64_t{1} << shift) == 0)
            return fmt::format("{}{}", bytes >> shift, letter);
    return std::to_string(bytes);
}

}  // namespace turnpike::bench::dma
