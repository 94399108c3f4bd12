// SPDX-License-Identifier: BSD-3-Clause
#include "engine/memory.hpp"

#include <algorithm>

#include "counters/meter.hpp"

namespace turnpike::simnic {
namespace {

// Limits refreshes: a faulty driver must not make the device walk EAL's memory for every
// descriptor.
constexpr uint64_t refresh_pause_cycles = 1'000'000;

void sort_and_join(std::vector<memory_range>& ranges) {
    std::ranges::sort(ranges, {}, &memory_range::iova);
    size_t last = 0;
    for (size_t i = 1; i < ranges.size(); ++i) {
        memory_range& before = ranges[last];
        const memory_range& next = ranges[i];
        const uint64_t offset = next.iova - before.iova;
        // They overlap where memory is mapped for several devices.
        if (offset <= before.bytes && next.base == before.base + offset)
            before.bytes = std::max(before.bytes, offset + next.bytes);
        else
            ranges[++last] = next;
    }
    if (!ranges.empty()) ranges.resize(last + 1);
}

}  // namespace

memory::memory(source from, const std::atomic<uint64_t>* generation)
    : from_(std::move(from)), generation_(generation) {
    refresh();
}

void memory::refresh() noexcept {
    if (generation_ != nullptr) seen_ = generation_->load(std::memory_order_acquire);
    cache_.fill({});
    refreshed_ = counters::tsc();
    try {
        ranges_ = from_();
        sort_and_join(ranges_);
    } catch (...) {
        ranges_.clear();  // allocation failed: every access faults, and is counted
    }
}

const memory_range* memory::find(uint64_t iova, uint64_t bytes) const noexcept {
    const auto after = std::ranges::upper_bound(ranges_, iova, {}, &memory_range::iova);
    if (after == ranges_.begin()) return nullptr;
    const memory_range& r = *(after - 1);
    const uint64_t offset = iova - r.iova;
    return offset < r.bytes && bytes <= r.bytes - offset ? &r : nullptr;
}

uint8_t* memory::search(uint64_t iova, uint64_t bytes) noexcept {
    const memory_range* r = find(iova, bytes);
    if (r == nullptr && counters::tsc() - refreshed_ > refresh_pause_cycles) {
        refresh();
        r = find(iova, bytes);
    }
    if (r == nullptr) return nullptr;
    cache_[iova >> page_shift & (cache_.size() - 1)] = *r;
    return r->base + (iova - r->iova);
}

}  // namespace turnpike::simnic
