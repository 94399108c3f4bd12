// SPDX-License-Identifier: BSD-3-Clause
#include "fib/arena.hpp"

#include <cstring>
#include <new>

namespace turnpike::fib {

arena::arena(const memory& from, uint64_t capacity_bytes) : from_(from) {
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

uint32_t arena::pop_free(uint32_t units) noexcept {
    auto& list = free_[units];
    if (list.empty()) return none;
    const uint32_t offset = list.back();
    list.pop_back();
    return offset;
}

/// Take the smallest block that is larger, and return its end to the free list.
uint32_t arena::split_larger(uint32_t units) noexcept {
    for (uint32_t larger = units + line_units; larger < size_classes; larger += line_units)
        if (const uint32_t offset = pop_free(larger); offset != none) {
            add_free(offset + units * unit, larger - units);
            return offset;
        }
    return none;
}

/// Allocate from the free list, else from unused space, else from a larger free block; a short node from a line.
uint32_t arena::find_block(uint32_t units) noexcept {
    if (const uint32_t offset = pop_free(units); offset != none) return offset;
    if (units < line_units) {
        const uint32_t offset = find_block(2 * units);
        if (offset != none) add_free(offset + units * unit, units);
        return offset;
    }
    const uint64_t at = used_;
    if (at + bytes_of(units) + kept_ > capacity_) return split_larger(units);
    used_ += bytes_of(units);
    return static_cast<uint32_t>(at);
}

void arena::add_free(uint32_t offset, uint32_t units) noexcept {
    try {
        free_[units].push_back(offset);
    } catch (const std::bad_alloc&) {
        // The block leaks until the next rebuild compacts the table; it does no harm.
    }
}

uint32_t arena::allocate(uint32_t units) noexcept {
    // A removal may take unused space and return its old node to a list: then the lists are the reserve.
    if (live_ + bytes_of(units) + kept_ > capacity_) return none;
    const uint32_t offset = find_block(units);
    if (offset != none) live_ += bytes_of(units);
    return offset;
}

void arena::release(uint32_t offset, uint32_t units) noexcept {
    live_ -= bytes_of(units);
    add_free(offset, units);
}

}  // namespace turnpike::fib
