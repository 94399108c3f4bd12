// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/bridge.hpp"

#include <rte_cycles.h>
#include <rte_ring_elem.h>

#include <new>

namespace turnpike::datapath {
namespace {

/// Control inserts a reported FDB entry within about 0.2 ms; a source that control did not insert
/// is sent again.
constexpr uint64_t again_us = 500;

template <class T>
T* zeroed(size_t n) {
    void* const p = std::calloc(n, sizeof(T));
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<T*>(p);
}

}  // namespace

bridge_worker_state::bridge_worker_state(rte_ring* learnt)
    : learnt_(learnt),
      again_cycles_(rte_get_tsc_hz() / 1'000'000 * again_us),
      maps_(zeroed<uint64_t>(2 * map_words)),
      reported_(zeroed<reported_source>(reported_slots)),
      found_(zeroed<source>(found_slots)),
      domains_(zeroed<domain_counters>(max_domains)) {
    talking_.store(maps_.get(), std::memory_order_relaxed);
}

void bridge_worker_state::learn(fdb_key key, uint16_t ifindex, uint64_t now) noexcept {
    static_assert(sizeof(learnt_fdb_entry) == 16);
    reported_source& t = reported_[key * 0x9e37'79b9'7f4a'7c15ULL >> 54];
    static_assert(reported_slots == 1u << (64 - 54));
    // The current period, above the interface index: a source is sent once per period.
    const uint64_t period = now / again_cycles_;
    if (t.key == key && t.place_until == (period << 16 | ifindex)) return;
    learnt_fdb_entry entry{key, ifindex};
    if (rte_ring_sp_enqueue_elem(learnt_, &entry, sizeof entry) != 0) {
        messages_lost_.add(1);
        return;
    }
    t = {key, period << 16 | ifindex};
}

uint64_t* bridge_worker_state::exchange_talking() noexcept {
    uint64_t* const now = talking_.load(std::memory_order_relaxed);
    uint64_t* const next = now == maps_.get() ? maps_.get() + map_words : maps_.get();
    talking_.store(next, std::memory_order_release);
    return now;
}

}  // namespace turnpike::datapath
