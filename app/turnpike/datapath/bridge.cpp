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

bridge_books::bridge_books(rte_ring* learnt)
    : learnt_(learnt),
      again_cycles_(rte_get_tsc_hz() / 1'000'000 * again_us),
      maps_(zeroed<uint64_t>(2 * map_words)),
      storm_(zeroed<uint64_t>(max_interfaces * flood_kinds)),
      told_(zeroed<told>(told_places)),
      found_(zeroed<source>(found_slots)),
      domains_(zeroed<domain_counters>(max_domains)) {
    talking_.store(maps_.get(), std::memory_order_relaxed);
}

void bridge_books::learn(station_key key, uint16_t place, uint64_t now) noexcept {
    static_assert(sizeof(learnt_station) == 16);
    told& t = told_[key * 0x9e37'79b9'7f4a'7c15ULL >> 54];
    static_assert(told_places == 1u << (64 - 54));
    // The current period, above the interface index: a source is sent once per period.
    const uint64_t period = now / again_cycles_;
    if (t.key == key && t.place_until == (period << 16 | place)) return;
    learnt_station said{key, place};
    if (rte_ring_sp_enqueue_elem(learnt_, &said, sizeof said) != 0) {
        not_told_.add(1);
        return;
    }
    t = {key, period << 16 | place};
}

uint64_t* bridge_books::exchange_talking() noexcept {
    uint64_t* const now = talking_.load(std::memory_order_relaxed);
    uint64_t* const next = now == maps_.get() ? maps_.get() + map_words : maps_.get();
    talking_.store(next, std::memory_order_release);
    return now;
}

}  // namespace turnpike::datapath
