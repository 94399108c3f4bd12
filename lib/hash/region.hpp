// SPDX-License-Identifier: BSD-3-Clause
// Inserts keys into one region's buckets: into the first bucket if it has room, else into the other
// one, else by moving keys between their two buckets along the shortest path to a free slot
// (breadth first).
#pragma once

#include <vector>

#include "base/cache_line.hpp"
#include "hash/bucket.hpp"

namespace turnpike::hash {

/// A key's two buckets.
struct home {
    buckets in;
    uint64_t base;  ///< number of its region's first bucket
    hashed h;
    uint32_t first, other;  ///< within the region

    home(const buckets& of, hashed with) noexcept
        : in(of), base(layout::region_of(with.first, of.regions) << of.region_bits), h(with) {
        const uint32_t mask = (1U << of.region_bits) - 1;
        first = layout::first_bucket(h.second, mask);
        other = first ^ layout::way_to_other(h.second, mask);
    }
};

template <class B>
class region_writer {
  public:
    using value = typename B::value;
    struct found {
        bucket<B> in;
        unsigned slot;  ///< B::slots: not found
        bool displaced;
        explicit operator bool() const noexcept { return slot != B::slots; }
    };

    /// Throws  std::bad_alloc
    explicit region_writer(const secret& keys)
        : keys_(keys), nodes_(max_nodes), seen_((1U << B::region_bits) / 64 + 1) {}

    static bucket<B> at(const home& where, uint32_t number) noexcept {
        return bucket<B>::at(where.in, where.base + number);
    }
    static found find(const home& where, const void* key) noexcept {
        const bucket<B> first = at(where, where.first);
        if (const unsigned slot = first.find(key, where.h); slot != B::slots)
            return {first, slot, false};
        if (!first.sends_away(where.h)) return {first, B::slots, false};
        const bucket<B> other = at(where, where.other);
        return {other, other.find(key, where.h), true};
    }

    /// Add a new key. Returns false, and changes nothing, if there is no path to a free slot.
    bool insert(const home& where, const void* key, value v) noexcept {
        const bucket<B> first = at(where, where.first), other = at(where, where.other);
        if (first.full() && other.full() && !make_room(where)) return false;
        const bool displaced = first.full();
        if (displaced) {
            first.count_displaced(where.h, true);
            ++displaced_;
        }
        const bucket<B>& into = displaced ? other : first;
        fill(into, into.free_slot(), key, v, where.h);
        return true;
    }
    void erase(const home& where, const found& it) noexcept {
        it.in.empty(it.slot);
        if (!it.displaced) return;
        at(where, where.first).count_displaced(where.h, false);
        --displaced_;
    }

    const uint64_t* changes() const noexcept { return &changes_; }
    uint64_t displaced() const noexcept { return displaced_; }
    void set_displaced(uint64_t count) noexcept { displaced_ = count; }
    uint64_t moves() const noexcept { return moves_; }

  private:
    // Breadth-first tree of buckets. At the loads that growth maintains, paths are a few steps
    // long.
    static constexpr uint32_t max_nodes = 2048;
    static constexpr uint32_t none = ~0u;
    struct node {
        uint32_t number;  // the bucket, within the region
        uint32_t parent;
        uint32_t slot;  // the parent's slot whose key can move here
    };

    void changed() noexcept { __atomic_store_n(&changes_, changes_ + 1, __ATOMIC_RELEASE); }
    void fill(const bucket<B>& into, unsigned slot, const void* key, value v, hashed h) noexcept {
        into.fill(slot, key, v, h, [this] { changed(); });
    }

    bool see(uint32_t number) noexcept {
        uint64_t& word = seen_[number / 64];
        const uint64_t bit = uint64_t{1} << number % 64;
        return (word & bit) == 0 && ((word |= bit), true);
    }

    /// Move a key to its other bucket, which has room. Concurrent readers find it in either.
    void move(const home& where, uint32_t from, unsigned slot, uint32_t to) noexcept {
        const bucket<B> source = at(where, from), target = at(where, to);
        const uint8_t* const key = source.key_at(slot);
        const hashed h = hash<B::words>(keys_, key);
        const bool away = from == layout::first_bucket(h.second, mask(where));
        if (away) source.count_displaced(h, true);
        fill(target, target.free_slot(), key, source.value_of(slot), h);
        // A reader that probed the first bucket before and probes the other one after would miss
        // it.
        if (!away) changed();
        source.empty(slot);
        if (!away) target.count_displaced(h, false);
        away ? ++displaced_ : --displaced_;
        ++moves_;
    }

    static uint32_t mask(const home& where) noexcept { return (1U << where.in.region_bits) - 1; }

    /// Free a slot of one of the two buckets of `where`, both full.
    bool make_room(const home& where) noexcept {
        std::fill_n(seen_.begin(), mask(where) / 64 + 1, 0);
        uint32_t count = 0;
        for (const uint32_t number : {where.first, where.other})
            if (see(number)) nodes_[count++] = {number, none, 0};
        for (uint32_t n = 0; n < count; ++n) {
            const bucket<B> here = at(where, nodes_[n].number);
            for (unsigned slot = 0; slot < B::slots; ++slot) {
                const hashed h = hash<B::words>(keys_, here.key_at(slot));
                const uint32_t next =
                    nodes_[n].number ^ layout::way_to_other(h.second, mask(where));
                if (!see(next)) continue;
                if (!at(where, next).full()) {
                    move(where, nodes_[n].number, slot, next);
                    for (uint32_t k = n; nodes_[k].parent != none; k = nodes_[k].parent)
                        move(where, nodes_[nodes_[k].parent].number, nodes_[k].slot,
                             nodes_[k].number);
                    return true;
                }
                if (count < max_nodes) nodes_[count++] = {next, n, slot};
            }
        }
        return false;
    }

    secret keys_;
    std::vector<node> nodes_;
    std::vector<uint64_t> seen_;
    uint64_t displaced_ = 0, moves_ = 0;
    // readers poll it: on a cache line that rarely changes otherwise
    alignas(cache_line_bytes) uint64_t changes_ = 0;
};

}  // namespace turnpike::hash
