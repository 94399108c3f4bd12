// SPDX-License-Identifier: BSD-3-Clause
// A pool's free objects: last in, first out; no locks; any threads.
//
//   lcore 0        lcore 1       ...   guests            each a stash: an array, used from its top
//   [##########]   [####     ]         [##       ]       without any locked instruction
//        |   a bundle (half a stash) at a time   |
//      full: bundle -> bundle -> bundle   empty: bundle -> ...    two lock-free stacks
//
// Each lcore owns a stash: it sets `busy`, checks that no other thread has set `claim`, and uses
// it. If the stacks are empty, a thread steals from other stashes of its process: it claims one, executes
// a process-wide barrier (base/barrier.hpp), and backs off if the owner is busy. An owner whose stash
// is claimed, and a thread without an lcore, uses a guest stash, claimed for the duration.
//
// Sources: R. K. Treiber, "Systems Programming: Coping with Parallelism" (1986): the stacks, here with
// a tag against reuse; J. Bonwick, J. Adams, "Magazines and Vmem" (USENIX 2001): bundles between CPUs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/barrier.hpp"
#include "base/cache_line.hpp"

namespace turnpike::cache_aware {

class free_list {
  public:
    static constexpr unsigned no_lcore = ~0u;
    static constexpr unsigned guests = 32;
    static constexpr unsigned max_lcores = 2048 - guests;

    /// Memory for a list of at most `objects` and lcores 0 to `lcores` - 1.
    static size_t bytes_for(uint32_t objects, unsigned lcores) noexcept;
    /// Create a list in zeroed memory of bytes_for(), aligned as a free_list. It needs no destruction.
    /// Returns nullptr if there are more lcores than max_lcores.
    ///
    /// asymmetric  owners rely on barrier::everywhere(); otherwise each operation has a fence
    static free_list* create(void* memory, uint32_t objects, unsigned lcores,
                             bool asymmetric) noexcept;

    /// Return n objects. False: the list would exceed its capacity (an object was returned twice).
    ///
    /// lcore    the caller's, which no other thread uses; no_lcore: it has none
    /// Threads  any. A preempted thread blocks no other (33 without an lcore: each other).
    bool put(unsigned lcore, void* const* objects, unsigned n) noexcept;
    /// Take n. False: fewer are free; none was taken. It may also fail while other threads hold
    /// objects that they are about to return, and where the rest is with lcores of other processes,
    /// which keep up to two bundles each.
    bool get(unsigned lcore, void** objects, unsigned n) noexcept;
    /// Free objects: exact while no thread gets or puts, never more than the capacity.
    [[nodiscard]] uint32_t count() const noexcept;

  private:
    /// A stash. The first line is written by the owner and, rarely, a claimant; objects follow.
    struct alignas(cache_line_bytes) stash {
        std::atomic<uint32_t> busy;
        std::atomic<uint32_t> claim;
        std::atomic<uint32_t> held;
        /// barrier::process of its latest user, whose bit in in_use_ is set; 0 if there was none
        std::atomic<uint32_t> process;

        void** objects() noexcept { return reinterpret_cast<void**>(this + 1); }
    };
    struct alignas(cache_line_bytes) bundle {
        std::atomic<uint32_t> next;

        void** objects() noexcept { return reinterpret_cast<void**>(this + 1); }
    };
    /// {tag, index of the top bundle}: the tag prevents the ABA problem.
    using stack = std::atomic<uint64_t>;
    static constexpr uint32_t none = ~0u;

    static uint32_t bundle_size(uint32_t objects) noexcept;
    static size_t stash_bytes(uint32_t bundle) noexcept;
    static size_t bundle_bytes(uint32_t bundle) noexcept;

    stash& stash_at(unsigned i) const noexcept {
        return *reinterpret_cast<stash*>(stashes_at_ + size_t{i} * stash_stride_);
    }
    bundle& bundle_at(uint32_t i) const noexcept {
        return *reinterpret_cast<bundle*>(bundles_at_ + size_t{i} * bundle_stride_);
    }
    uint32_t pop(stack& from) noexcept;
    void push(stack& onto, uint32_t index) noexcept;

    stash& enter(unsigned lcore) noexcept;
    stash& enter_guest() noexcept;
    static void leave(stash& s) noexcept;
    void mark_seen(stash& s) noexcept;
    static void copy(void** to, void* const* from, unsigned n) noexcept;

    bool put_bundle(void* const* objects) noexcept;
    bool get_bundle(void** objects) noexcept;
    bool spill(stash& into, void* const* objects, unsigned n) noexcept;
    unsigned gather(stash& s, void** objects, unsigned n) noexcept;
    bool put_spilling(stash& s, void* const* objects, unsigned n) noexcept;
    bool get_gathering(unsigned lcore, stash& s, void** objects, unsigned n) noexcept;
    bool get_later(unsigned lcore, void** objects, unsigned n) noexcept;
    bool steal_stash(stash& victim, stash& into) noexcept;
    bool rob(stash& into, uint32_t at_least) noexcept;
    bool has_owner(const stash& s) const noexcept;
    bool in_reach(const stash& s) const noexcept;
    uint32_t stashed(const stash* except, bool all) const noexcept;
    uint32_t count(bool all) const noexcept;

    uint32_t objects_;
    uint32_t bundle_;
    uint32_t capacity_;  ///< capacity of a stash: two bundles
    unsigned lcores_;
    unsigned stashes_;
    uint32_t stash_stride_;
    uint32_t bundle_stride_;
    bool asymmetric_;
    char* stashes_at_;
    char* bundles_at_;
    /// Bitmap of stashes that ever held objects.
    std::atomic<uint64_t> in_use_[(max_lcores + guests) / 64];
    alignas(cache_line_bytes) stack full_;
    std::atomic<uint32_t> full_bundles_;
    alignas(cache_line_bytes) stack empty_;
};

// The common case is inline: a few instructions around the copy.

/// Bursts are short: a call of memcpy costs as much as the copy itself.
inline void free_list::copy(void** to, void* const* from, unsigned n) noexcept {
    for (; n >= 4; n -= 4, to += 4, from += 4) __builtin_memcpy(to, from, 4 * sizeof(void*));
    for (; n > 0; --n) *to++ = *from++;
}

inline free_list::stash& free_list::enter(unsigned lcore) noexcept {
    if (lcore >= lcores_) [[unlikely]]
        return enter_guest();
    stash& own = stash_at(lcore);
    if (asymmetric_ && barrier::available) [[likely]] {
        own.busy.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
        own.busy.exchange(1, std::memory_order_seq_cst);
    }
    if (own.claim.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
        own.busy.store(0, std::memory_order_release);
        return enter_guest();
    }
    if (own.process.load(std::memory_order_relaxed) != barrier::process) [[unlikely]]
        mark_seen(own);
    return own;
}

/// An owner clears `busy`, a guest its claim.
inline void free_list::leave(stash& s) noexcept {
    if (s.busy.load(std::memory_order_relaxed) != 0) [[likely]]
        s.busy.store(0, std::memory_order_release);
    else
        s.claim.store(0, std::memory_order_release);
}

inline bool free_list::put(unsigned lcore, void* const* objects, unsigned n) noexcept {
    stash& s = enter(lcore);
    const uint32_t held = s.held.load(std::memory_order_relaxed);
    if (held + n > capacity_) [[unlikely]]
        return put_spilling(s, objects, n);
    copy(s.objects() + held, objects, n);
    s.held.store(held + n, std::memory_order_relaxed);
    leave(s);
    return true;
}

inline bool free_list::get(unsigned lcore, void** objects, unsigned n) noexcept {
    stash& s = enter(lcore);
    const uint32_t held = s.held.load(std::memory_order_relaxed);
    if (held < n) [[unlikely]]
        return get_gathering(lcore, s, objects, n);
    copy(objects, s.objects() + held - n, n);
    s.held.store(held - n, std::memory_order_relaxed);
    leave(s);
    return true;
}

}  // namespace turnpike::cache_aware
