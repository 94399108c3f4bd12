// SPDX-License-Identifier: BSD-3-Clause
// Freeing what readers may still hold: a hook, so that the cores of tables need no DPDK header.
#pragma once

#include <cstdint>

namespace turnpike::rcu {

/// Something to give back once no reader can hold it: release(owner, what).
struct deferred {
    void (*release)(void* owner, uint64_t what);
    void* owner;
    uint64_t what;
};

/// defer  keep the item until every reader was quiescent once, then call its release. Items must be
///        released in the order they were deferred, on the writer's thread. The default releases at
///        once, which is right where nobody looks up while the table changes.
struct defer_free {
    void* context = nullptr;
    void (*defer)(void* context, deferred item) = [](void*, deferred item) {
        item.release(item.owner, item.what);
    };

    void operator()(deferred item) const { defer(context, item); }
};

}  // namespace turnpike::rcu
