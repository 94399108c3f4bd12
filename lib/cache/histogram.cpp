// SPDX-License-Identifier: BSD-3-Clause
#include "cache/histogram.hpp"

#include <algorithm>
#include <numeric>

namespace turnpike::cache {

uint32_t histogram::most() const noexcept {
    return lines.empty() ? 0 : *std::max_element(lines.begin(), lines.end());
}

double histogram::mean() const noexcept {
    if (lines.empty()) return 0;
    return static_cast<double>(std::accumulate(lines.begin(), lines.end(), uint64_t{0})) /
           static_cast<double>(lines.size());
}

double histogram::max_over_mean() const noexcept { return mean() > 0 ? most() / mean() : 0; }

bool histogram::even() const noexcept {
    return most() <=
           max_lines(std::accumulate(lines.begin(), lines.end(), uint64_t{0}), lines.size());
}

uint64_t max_lines(uint64_t lines, uint64_t sets) noexcept {
    if (lines >= 16 * sets) return lines * 115 / (sets * 100);
    return (lines + sets - 1) / sets + 1;
}

histogram measured(const level& of, std::span<const uint64_t> objects,
                   std::span<const uint32_t> hot, uint32_t align) {
    const uint32_t unit = std::max(align, of.line_bytes);
    histogram h{std::vector<uint32_t>(of.sets_of(unit))};
    for (const uint64_t object : objects)
        for (const uint32_t offset : hot) ++h.lines[(object + offset) / unit % h.lines.size()];
    return h;
}

std::vector<uint64_t> places(const placement& by, uint64_t objects, uint64_t address) {
    std::vector<uint64_t> out;
    out.reserve(objects);
    while (out.size() < objects) {
        out.push_back(by.next(address));
        address = out.back() + uint64_t{by.object} * by.align;
    }
    return out;
}

}  // namespace turnpike::cache
