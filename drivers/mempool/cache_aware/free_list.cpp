// SPDX-License-Identifier: BSD-3-Clause
#include "free_list.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

namespace turnpike::cache_aware {
namespace {

constexpr unsigned retries = 16;

inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

/// A 64th of the pool, so that the stashes of idle lcores hold a small part of it.
uint32_t free_list::bundle_size(uint32_t objects) noexcept {
    return std::clamp<uint32_t>(std::bit_floor(objects / 64), 8, 128);
}

size_t free_list::stash_bytes(uint32_t bundle) noexcept {
    return sizeof(stash) + 2 * bundle * sizeof(void*);
}

size_t free_list::bundle_bytes(uint32_t bundle) noexcept {
    return sizeof(struct bundle) + bundle * sizeof(void*);
}

size_t free_list::bytes_for(uint32_t objects, unsigned lcores) noexcept {
    const uint32_t size = bundle_size(objects);
    const size_t stashes = lcores + guests;
    // Enough bundles for all objects, plus one for each thread that is emptying one.
    return sizeof(free_list) + stashes * stash_bytes(size) +
           (objects / size + stashes) * bundle_bytes(size);
}

free_list* free_list::create(void* memory, uint32_t objects, unsigned lcores,
                             bool asymmetric) noexcept {
    if (lcores > max_lcores) return nullptr;
    auto* list = new (memory) free_list;
    list->objects_ = objects;
    list->bundle_ = bundle_size(objects);
    list->capacity_ = 2 * list->bundle_;
    list->lcores_ = lcores;
    list->stashes_ = lcores + guests;
    list->stash_stride_ = static_cast<uint32_t>(stash_bytes(list->bundle_));
    list->bundle_stride_ = static_cast<uint32_t>(bundle_bytes(list->bundle_));
    list->asymmetric_ = asymmetric;
    list->stashes_at_ = reinterpret_cast<char*>(list + 1);
    list->bundles_at_ = list->stashes_at_ + size_t{list->stashes_} * list->stash_stride_;
    for (unsigned i = 0; i < list->stashes_; ++i) new (&list->stash_at(i)) stash{};
    list->full_ = list->empty_ = none;
    list->full_bundles_ = 0;
    for (auto& word : list->in_use_) word = 0;
    for (uint32_t i = 0; i < objects / list->bundle_ + list->stashes_; ++i) {
        new (&list->bundle_at(i)) bundle{};
        list->push(list->empty_, i);
    }
    return list;
}

uint32_t free_list::pop(stack& from) noexcept {
    uint64_t top = from.load(std::memory_order_acquire);
    for (;;) {
        const auto index = static_cast<uint32_t>(top);
        if (index == none) return none;
        const uint64_t next = bundle_at(index).next.load(std::memory_order_relaxed);
        if (from.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | next,
                                       std::memory_order_acq_rel, std::memory_order_acquire))
            return index;
    }
}

void free_list::push(stack& onto, uint32_t index) noexcept {
    uint64_t top = onto.load(std::memory_order_relaxed);
    do bundle_at(index).next.store(static_cast<uint32_t>(top), std::memory_order_relaxed);
    while (!onto.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | index,
                                       std::memory_order_acq_rel, std::memory_order_relaxed));
}

free_list::stash& free_list::enter_guest() noexcept {
    for (unsigned i = lcores_;; i = i + 1 == stashes_ ? lcores_ : i + 1) {
        stash& guest = stash_at(i);
        if (guest.claim.exchange(1, std::memory_order_acquire) == 0) {
            if (guest.process.load(std::memory_order_relaxed) == 0) mark_seen(guest);
            return guest;
        }
        pause();
    }
}

void free_list::mark_seen(stash& s) noexcept {
    const auto i = static_cast<unsigned>((reinterpret_cast<char*>(&s) - stashes_at_) /
                                         static_cast<ptrdiff_t>(stash_stride_));
    in_use_[i / 64].fetch_or(uint64_t{1} << i % 64, std::memory_order_relaxed);
    s.process.store(barrier::process, std::memory_order_relaxed);
}

bool free_list::put_bundle(void* const* objects) noexcept {
    const uint32_t index = pop(empty_);
    if (index == none) return false;
    copy(bundle_at(index).objects(), objects, bundle_);
    full_bundles_.fetch_add(1, std::memory_order_relaxed);
    push(full_, index);
    return true;
}

bool free_list::get_bundle(void** objects) noexcept {
    const uint32_t index = pop(full_);
    if (index == none) return false;
    full_bundles_.fetch_sub(1, std::memory_order_relaxed);
    copy(objects, bundle_at(index).objects(), bundle_);
    push(empty_, index);
    return true;
}

/// Put objects that exceed the stash: whole bundles go to the stack.
bool free_list::spill(stash& into, void* const* objects, unsigned n) noexcept {
    uint32_t held = into.held.load(std::memory_order_relaxed);
    bool room = true;
    while (room && held + n > capacity_) {
        if (n >= bundle_) {
            room = put_bundle(objects);
            if (room) objects += bundle_, n -= bundle_;
        } else {
            room = put_bundle(into.objects() + held - bundle_);
            if (room) held -= bundle_;
        }
    }
    if (room) {
        copy(into.objects() + held, objects, n);
        held += n;
    }
    into.held.store(held, std::memory_order_relaxed);
    return room;
}

bool free_list::put_spilling(stash& s, void* const* objects, unsigned n) noexcept {
    const bool room = spill(s, objects, n);
    leave(s);
    return room;
}

bool free_list::get_gathering(unsigned lcore, stash& s, void** objects, unsigned n) noexcept {
    const unsigned got = gather(s, objects, n);
    if (got < n) spill(s, objects, got);
    leave(s);
    return got == n || get_later(lcore, objects, n);
}

/// Take up to n from a stash; refill it from the stack and, last, from other stashes.
unsigned free_list::gather(stash& s, void** objects, unsigned n) noexcept {
    unsigned got = 0;
    while (got < n) {
        const uint32_t held = s.held.load(std::memory_order_relaxed);
        const unsigned take = std::min(held, n - got);
        copy(objects + got, s.objects() + held - take, take);
        s.held.store(held - take, std::memory_order_relaxed);
        got += take;
        if (got == n) break;
        // The stash is empty here.
        if (n - got >= bundle_ && get_bundle(objects + got))
            got += bundle_;
        else if (get_bundle(s.objects()))
            s.held.store(bundle_, std::memory_order_relaxed);
        else if (!rob(s, n - got))
            break;
    }
    return got;
}

/// Retry: enough objects may be free but temporarily in the hands of other threads (two concurrent
/// gathers, or a busy owner).
bool free_list::get_later(unsigned lcore, void** objects, unsigned n) noexcept {
    for (unsigned i = 0; i < retries && count(false) >= n; ++i) {
        for (unsigned spin = 0; spin < (i + lcore % 7) * 8; ++spin) pause();
        stash& s = enter(lcore);
        const unsigned got = gather(s, objects, n);
        if (got < n) spill(s, objects, got);
        leave(s);
        if (got == n) return true;
    }
    return false;
}

/// A stash that this process's threads may take: the barrier does not reach owners in other processes.
bool free_list::in_reach(const stash& s) const noexcept {
    return !asymmetric_ || !has_owner(s) ||
           s.process.load(std::memory_order_relaxed) == barrier::process;
}

bool free_list::has_owner(const stash& s) const noexcept {
    return reinterpret_cast<const char*>(&s) < stashes_at_ + size_t{lcores_} * stash_stride_;
}

/// Move a stash's objects into an empty one. Returns false if the stash is in use or empty.
bool free_list::steal_stash(stash& victim, stash& into) noexcept {
    if (victim.claim.exchange(1, std::memory_order_seq_cst) != 0) return false;
    const bool fenced = !has_owner(victim) || !asymmetric_ || barrier::everywhere();
    bool taken = false;
    if (fenced && victim.busy.load(std::memory_order_seq_cst) == 0) {
        const uint32_t held = victim.held.load(std::memory_order_relaxed);
        copy(into.objects(), victim.objects(), held);
        into.held.store(held, std::memory_order_relaxed);
        victim.held.store(0, std::memory_order_relaxed);
        taken = held != 0;
    }
    victim.claim.store(0, std::memory_order_release);
    return taken;
}

/// Take other stashes' objects, if all of them together have at least that many.
bool free_list::rob(stash& into, uint32_t at_least) noexcept {
    if (stashed(&into, false) < at_least) return false;
    for (unsigned word = 0; word < std::size(in_use_); ++word)
        for (uint64_t bits = in_use_[word].load(std::memory_order_relaxed); bits != 0;
             bits &= bits - 1) {
            stash& victim = stash_at(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
            if (&victim != &into && in_reach(victim) &&
                victim.held.load(std::memory_order_relaxed) != 0 && steal_stash(victim, into))
                return true;
        }
    return false;
}

/// all  count also stashes of other processes' lcores, whose objects cannot be taken
uint32_t free_list::stashed(const stash* except, bool all) const noexcept {
    uint32_t sum = 0;
    for (unsigned word = 0; word < std::size(in_use_); ++word)
        for (uint64_t bits = in_use_[word].load(std::memory_order_relaxed); bits != 0;
             bits &= bits - 1) {
            const stash& s = stash_at(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
            if (&s != except && (all || in_reach(s))) sum += s.held.load(std::memory_order_relaxed);
        }
    return sum;
}

uint32_t free_list::count(bool all) const noexcept {
    const uint64_t sum =
        uint64_t{full_bundles_.load(std::memory_order_relaxed)} * bundle_ + stashed(nullptr, all);
    return static_cast<uint32_t>(std::min<uint64_t>(sum, objects_));
}

uint32_t free_list::count() const noexcept { return count(true); }

}  // namespace turnpike::cache_aware
