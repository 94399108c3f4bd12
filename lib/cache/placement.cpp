// SPDX-License-Identifier: BSD-3-Clause
#include "cache/placement.hpp"

#include <algorithm>

namespace turnpike::cache {
namespace {

constexpr uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

}  // namespace

/// Unused bytes of a full page.
uint64_t placement::slack() const noexcept {
    return page - (uint64_t{per_page - 1} * step + object);
}

uint64_t placement::next(uint64_t address) const noexcept {
    uint64_t unit = ceil_div(address, align);
    if (how == kind::pages)
        for (;; unit = (unit / page + 1) * page) {
            const uint64_t number = unit / page;
            const uint64_t first = number * page + number * turn % (slack() + 1);
            const uint64_t i = unit <= first ? 0 : ceil_div(unit - first, step);
            if (i < per_page) return (first + i * step) * align;
        }
    for (;; unit = (unit / page + 1) * page) {
        const uint64_t i = ceil_div(unit * step_objects, step);
        unit = i * step / step_objects;
        if (page == 0 || unit % page + object <= page) return unit * align;
    }
}

uint64_t placement::bytes_for(uint64_t objects) const noexcept {
    if (objects == 0) return 0;
    if (how == kind::pages) return (ceil_div(objects, per_page) + 1) * page * align;
    // The first slot may be a step away, and each page's end may cost one.
    uint64_t places = objects + 1, units = 0;
    for (uint64_t ends = 0;;) {
        units = ceil_div((places + ends) * step, step_objects) + object;
        const uint64_t crossed = page == 0 ? 0 : units / page + 1;
        if (crossed <= ends) return units * align;
        ends = crossed;
    }
}

double placement::overhead() const noexcept {
    if (how == kind::pages) {
        const uint64_t densest = page / object;
        return static_cast<double>(densest) / static_cast<double>(per_page) - 1;
    }
    double mean_step = static_cast<double>(step) / step_objects, densest = object;
    if (page != 0) {
        // The fraction of slots that do not cross a page's end.
        const auto length = static_cast<double>(page);
        mean_step *= length / (length - object + 1);
        densest = length / static_cast<double>(page / object);
    }
    return std::max(0.0, mean_step / densest - 1);
}

std::string placement::text() const {
    const auto s = [](uint64_t n) { return std::to_string(n); };
    if (how == kind::pages)
        return s(per_page) + " in a page of " + s(page) + " lines" +
               (turn != 0 ? ", turning by " + s(turn) : "");
    std::string out = s(step / step_objects);
    if (step % step_objects != 0) out += " + " + s(step % step_objects) + "/" + s(step_objects);
    return out + " lines";
}

placement packed(const object_layout& layout, uint64_t page_bytes) {
    placement p;
    p.align = layout.align;
    p.object = p.step = static_cast<uint32_t>(ceil_div(layout.bytes, layout.align));
    const uint64_t page = page_bytes / layout.align;
    if (p.object > page) return p;  // only pages that are contiguous can hold it
    p.how = placement::kind::pages;
    p.page = page;
    p.per_page = static_cast<uint32_t>(page / p.object);
    return p;
}

placement odd_lines(const object_layout& layout, uint64_t page_bytes) {
    placement p = packed(layout, page_bytes);
    p.step |= 1;
    if (p.step > p.page) p.how = placement::kind::grid, p.page = 0;
    if (p.how == placement::kind::pages) p.per_page = static_cast<uint32_t>(p.page / p.step);
    return p;
}

}  // namespace turnpike::cache
