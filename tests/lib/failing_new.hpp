// SPDX-License-Identifier: BSD-3-Clause
// Allocation failures on demand: operator new of the whole program, and the tables' own hook.
// Included by one file of a program.
#pragma once

#include <cstdlib>
#include <new>

#include "base/memory.hpp"

namespace turnpike::test {

constexpr long never = -1;
inline long allocations_until_failure = never;
inline bool fails_once = false;  ///< else all later allocations fail, too
inline bool has_failed = false;
inline thread_local size_t largest_allocation =
    0;  ///< bytes, by operator new; set to 0 by the test

/// Runs `call` while its n-th allocation and all later ones fail, and returns its result.
/// Allocation works again afterwards, also after an exception.
template <class Call>
auto with_allocations(long n, const Call& call) {
    const struct restored {
        ~restored() { allocations_until_failure = never; }
    } afterwards;
    allocations_until_failure = n;
    return call();
}

inline bool allocation_fails() {
    if (allocations_until_failure == never) return false;
    if (allocations_until_failure == 0) {
        has_failed = true;
        if (fails_once) allocations_until_failure = never;
        return true;
    }
    --allocations_until_failure;
    return false;
}

inline memory failing_memory() {
    return {nullptr,
            [](void*, size_t bytes, size_t alignment) -> void* {
                if (allocation_fails()) return nullptr;
                return std::aligned_alloc(alignment,
                                          (bytes + alignment - 1) / alignment * alignment);
            },
            [](void*, void* what) { std::free(what); }};
}

}  // namespace turnpike::test

// Not inlined: GCC would warn about malloc paired with operator delete.
[[gnu::noinline]] void* operator new(size_t bytes) {
    if (bytes > turnpike::test::largest_allocation) turnpike::test::largest_allocation = bytes;
    void* got = turnpike::test::allocation_fails() ? nullptr : std::malloc(bytes);
    if (got == nullptr) throw std::bad_alloc();
    return got;
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return turnpike::test::allocation_fails() ? nullptr : std::malloc(bytes);
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
    const auto a = static_cast<size_t>(alignment);
    void* got = turnpike::test::allocation_fails() ? nullptr
                                                   : std::aligned_alloc(a, (bytes + a - 1) / a * a);
    if (got == nullptr) throw std::bad_alloc();
    return got;
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
