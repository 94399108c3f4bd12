// SPDX-License-Identifier: BSD-3-Clause
#include "hash/generation.hpp"

#include <cstring>

namespace turnpike::hash {

generation::generation(const memory& from, const size& s) : from_(from), size_(s) {
    const auto allocate = [&](uint64_t bytes) {
        return static_cast<uint8_t*>(
            from_.allocate(from_.context, static_cast<size_t>(bytes), layout::line_bytes));
    };
    all_.regions = s.regions;
    all_.region_bits = s.region_bits;
    all_.lines = allocate(s.buckets() * layout::line_bytes);
    if (all_.lines == nullptr) return;
    if (s.entry_bytes != 0) {
        all_.entries = allocate(s.slot_count() * s.entry_bytes);
        if (all_.entries == nullptr) return;
    }
    valid_ = true;
}

generation::~generation() {
    if (all_.lines != nullptr) from_.release(from_.context, all_.lines);
    if (all_.entries != nullptr) from_.release(from_.context, all_.entries);
}

void generation::clear(uint32_t first, uint32_t count) noexcept {
    const size_t region_bytes = size_t{layout::line_bytes} << size_.region_bits;
    std::memset(all_.lines + first * region_bytes, 0, count * region_bytes);
}

}  // namespace turnpike::hash
