// SPDX-License-Identifier: BSD-3-Clause
// Where a table's memory comes from: a hook, so that cores need no DPDK header.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace turnpike {

/// allocate  bytes, aligned to a power of two; nullptr when there is none. Contents undefined.
/// release   what allocate returned
/// Threads   called by the table's one writer, and by whoever runs deferred frees
struct memory {
    void* context = nullptr;
    void* (*allocate)(void* context, size_t bytes, size_t alignment) = [](void*, size_t bytes,
                                                                          size_t alignment) {
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    void (*release)(void* context, void* what) = [](void*, void* what) { std::free(what); };
};

}  // namespace turnpike
