// SPDX-License-Identifier: BSD-3-Clause
#include "fib/next_hops.hpp"

namespace turnpike::fib {

uint32_t next_hops::acquire(uint64_t value) {
    const auto found = handles_.find(value);
    if (found != handles_.end()) {
        ++entries_[found->second].references;
        return found->second;
    }
    uint32_t handle;
    if (free_.empty()) {
        handle = bound();
        entries_.reserve(entries_.size() + 1 > entries_.capacity() ? 2 * entries_.size() + 16 : 0);
        free_.reserve(entries_.capacity());  // so that drop() cannot fail
        handles_.emplace(value, handle);
        entries_.push_back({value, 1, 0});
    } else {
        handle = free_.back();
        handles_.emplace(value, handle);
        free_.pop_back();
        entries_[handle] = {value, 1, 0};
    }
    return handle;
}

void next_hops::drop(uint32_t handle) noexcept {
    entry& e = entries_[handle];
    if (--e.pending != 0 || e.references != 0) return;
    handles_.erase(e.value);
    free_.push_back(handle);
}

}  // namespace turnpike::fib
