// SPDX-License-Identifier: BSD-3-Clause
#include "fib/next_hops.hpp"

#include <algorithm>

namespace turnpike::fib {

void next_hops::grow() {
    std::vector<slot> before(std::max<size_t>(64, 2 * slots_.size()));
    before.swap(slots_);
    for (const slot& s : before)
        if (s.taken) slots_[find(s.value)] = s;
}

uint32_t next_hops::acquire(uint64_t value) {
    const uint32_t taken = bound() - static_cast<uint32_t>(free_.size());
    if (2 * (size_t{taken} + 1) > slots_.size()) grow();
    slot& at = slots_[find(value)];
    if (at.taken) {
        ++entries_[at.handle].references;
        return at.handle;
    }
    uint32_t handle;
    if (free_.empty()) {
        handle = bound();
        entries_.reserve(entries_.size() + 1 > entries_.capacity() ? 2 * entries_.size() + 16 : 0);
        free_.reserve(entries_.capacity());  // so that drop() cannot fail
        entries_.push_back({value, 1, 0});
    } else {
        handle = free_.back();
        free_.pop_back();
        entries_[handle] = {value, 1, 0};
    }
    at = {value, handle, true};
    return handle;
}

void next_hops::drop(uint32_t handle) noexcept {
    entry& e = entries_[handle];
    if (--e.pending != 0 || e.references != 0) return;
    // Move later displaced entries up, so that a search does not stop too early.
    size_t hole = find(e.value);
    for (size_t s = behind(hole); slots_[s].taken; s = behind(s)) {
        const size_t from_home = (s - home(slots_[s].value)) & (slots_.size() - 1);
        if (from_home < ((s - hole) & (slots_.size() - 1))) continue;
        slots_[hole] = slots_[s];
        hole = s;
    }
    slots_[hole].taken = false;
    free_.push_back(handle);
}

}  // namespace turnpike::fib
