// SPDX-License-Identifier: BSD-3-Clause
// Deferred freeing of memory that readers may hold: a hook, so that tables need no DPDK header.
#pragma once

#include <cstdint>

namespace turnpike::rcu {

/// An object to free when no reader can hold it: release(owner, what).
struct deferred {
    void (*release)(void* owner, uint64_t what);
    void* owner;
    uint64_t what;
};

/// defer  hold the item until every reader was quiescent once, then call its release. Items must be
///        released in the order they were deferred, on the writer's thread. The default releases at
///        once, which is correct if no thread looks up while the table changes.
struct defer_free {
    void* context = nullptr;
    void (*defer)(void* context, deferred item) = [](void*, deferred item) {
        item.release(item.owner, item.what);
    };

    void operator()(deferred item) const { defer(context, item); }
};

}  // namespace turnpike::rcu
