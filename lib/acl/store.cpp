// SPDX-License-Identifier: BSD-3-Clause
#include "acl/store.hpp"

#include <cstring>

namespace turnpike::acl {
namespace {

constexpr uint64_t max_bytes = (uint64_t{1} << 32) * layout::granule_bytes;

uint32_t granules(uint32_t bytes) {
    return (bytes + layout::granule_bytes - 1) / layout::granule_bytes;
}

}  // namespace

store::~store() {
    if (settled_ != nullptr) from_.release(from_.context, settled_);
}

uint32_t store::allocate(uint32_t bytes) {
    const uint32_t count = granules(bytes);
    const uint64_t size = uint64_t{count} * layout::granule_bytes;
    const auto reuse = [&](auto free) {
        const uint32_t granule = free->second;
        auto rest = free_.extract(free);  // re-inserting the node does not allocate and cannot fail
        if (rest.key() != count) {
            rest.key() -= count;
            rest.mapped() += count;
            free_.insert(std::move(rest));
        }
        std::memset(at(granule), 0, size);
        live_ += size;
        return granule;
    };
    if (const auto free = free_.find(count); free != free_.end()) return reuse(free);
    const uint64_t end = used_ + size;
    const uint64_t kept = layout::guard_bytes + (reserve_open_ ? 0 : reserve_);
    if (end > (settled_ != nullptr ? capacity_ - kept : max_bytes)) {
        const auto larger = free_.upper_bound(count);
        return larger != free_.end() ? reuse(larger) : none;
    }
    if (settled_ == nullptr && end + layout::guard_bytes > growing_.size())
        growing_.resize(2 * end + layout::guard_bytes);
    const auto granule = static_cast<uint32_t>(used_ / layout::granule_bytes);
    used_ = end;
    live_ += size;
    return granule;
}

void store::release(uint32_t granule, uint32_t bytes) {
    const uint32_t count = granules(bytes);
    live_ -= uint64_t{count} * layout::granule_bytes;
    free_.emplace(count, granule);
}

void store::clear() {
    growing_.assign(growing_.size(), 0);
    free_.clear();
    used_ = layout::granule_bytes;
    live_ = 0;
}

bool store::settle(const memory& from, uint64_t spare_bytes, uint64_t reserve_bytes) {
    const uint64_t capacity = used_ + spare_bytes + reserve_bytes + layout::guard_bytes;
    auto* block = static_cast<uint8_t*>(from.allocate(from.context, capacity, 64));
    if (block == nullptr) return false;
    std::memcpy(block, growing_.data(), used_);
    std::memset(block + used_, 0, capacity - used_);
    growing_ = {};
    from_ = from;
    settled_ = block;
    capacity_ = capacity;
    reserve_ = reserve_bytes;
    return true;
}

}  // namespace turnpike::acl
