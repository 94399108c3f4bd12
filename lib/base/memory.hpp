// SPDX-License-Identifier: BSD-3-Clause
// Allocator hooks, so that libraries need no DPDK header.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace turnpike {

/// allocate  bytes, aligned to a power of two; nullptr on failure. Contents undefined.
/// release   a pointer from allocate
/// Threads   called by the table's writer, and by the thread that runs deferred frees
struct memory {
    void* context = nullptr;
    void* (*allocate)(void* context, size_t bytes, size_t alignment) = [](void*, size_t bytes,
                                                                          size_t alignment) {
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    void (*release)(void* context, void* what) = [](void*, void* what) { std::free(what); };
};

}  // namespace turnpike
