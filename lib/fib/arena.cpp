// SPDX-License-Identifier: BSD-3-Clause
#include "fib/arena.hpp"

#include <cstring>
#include <new>

namespace turnpike::fib {

arena::arena(const memory& from, uint64_t capacity_bytes, uint32_t granule)
    : from_(from), granule_(granule) {
    if (capacity_bytes > max_bytes) return;
    const size_t bytes = static_cast<size_t>(capacity_bytes) + guard_bytes;
    base_ = static_cast<uint8_t*>(from_.allocate(from_.context, bytes, 64));
    if (base_ == nullptr) return;
    capacity_ = capacity_bytes;
    std::memset(base_, 0, bytes);
}

arena::~arena() {
    if (base_ != nullptr) from_.release(from_.context, base_);
}

uint32_t arena::allocate(uint32_t units) noexcept {
    auto& list = free_[units];
    const uint64_t bytes = uint64_t{units} * granule_;
    if (!list.empty()) {
        const uint32_t offset = list.back();
        list.pop_back();
        live_ += bytes;
        return offset;
    }
    const uint64_t at = used_;
    if (at + bytes > capacity_) return none;
    used_ += bytes;
    live_ += bytes;
    return static_cast<uint32_t>(at);
}

void arena::release(uint32_t offset, uint32_t units) noexcept {
    live_ -= uint64_t{units} * granule_;
    try {
        free_[units].push_back(offset);
    } catch (const std::bad_alloc&) {
        // The block is lost until the next rebuild compacts the table; nothing is wrong with it.
    }
}

}  // namespace turnpike::fib
