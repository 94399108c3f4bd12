// SPDX-License-Identifier: BSD-3-Clause
// The writer's access to one bucket, concurrent with readers: every store covers exactly what a
// reader loads at once, in the order that kernel/lookup.cpp relies on.
#pragma once

#include <bit>

#include "hash/layout.hpp"

namespace turnpike::hash {

template <class B>
struct bucket {
    using meta = typename B::meta;
    using value = typename B::value;

    uint8_t* line;
    uint8_t* entry;  ///< slot 0's entry, for tagged buckets

    static bucket at(const buckets& in, uint64_t number) noexcept {
        return {in.lines + number * layout::line_bytes,
                B::tagged ? in.entries + number * (uint64_t{B::slots} * B::entry_bytes) : nullptr};
    }

    meta read() const noexcept { return *reinterpret_cast<const meta*>(line + B::meta_at); }
    void write(meta m) const noexcept { store(line + B::meta_at, m); }

    meta used() const noexcept { return read() & B::in_use; }
    bool full() const noexcept { return used() == B::in_use; }
    /// Requires  !full()
    unsigned free_slot() const noexcept { return lowest(~used() & B::in_use); }
    static unsigned lowest(meta slots) noexcept {
        return B::slot_of(static_cast<unsigned>(std::countr_zero(slots)));
    }

    uint8_t* key_at(unsigned slot) const noexcept {
        return B::tagged ? entry + slot * B::entry_bytes : line + slot * (8 * B::words);
    }
    uint8_t* value_at(unsigned slot) const noexcept {
        if constexpr (B::tagged) return entry + slot * B::entry_bytes + B::value_in_entry;
        return line + values_at() + slot * sizeof(value);
    }
    value value_of(unsigned slot) const noexcept {
        return *reinterpret_cast<const value*>(value_at(slot));
    }
    void set_value(unsigned slot, value v) const noexcept { store(value_at(slot), v); }
    bool holds(unsigned slot, const void* key) const noexcept {
        return std::memcmp(key_at(slot), key, 8 * B::words) == 0;
    }

    /// The slot of a key; B::slots: not in this bucket.
    unsigned find(const void* key, hashed h) const noexcept {
        for (meta m = used(); m != 0; m &= m - 1) {
            const unsigned slot = lowest(m);
            if constexpr (B::tagged)
                if (reinterpret_cast<const uint16_t*>(line)[slot] != layout::tag_of(h.first))
                    continue;
            if (holds(slot, key)) return slot;
        }
        return B::slots;
    }

    /// Write a key to a free slot. Calls `changed` first if the version wraps around.
    template <class Changed>
    void fill(unsigned slot, const void* key, value v, hashed h,
              const Changed& version_came_round) const noexcept {
        constexpr meta one = meta{1} << B::version_shift;
        const meta next = read() + one;  // the carry is discarded
        if (next >> B::version_shift == 0) version_came_round();
        write(next);
        store(value_at(slot), v);
        for (unsigned w = 0; w < B::words; ++w) {
            uint64_t word;
            std::memcpy(&word, static_cast<const uint8_t*>(key) + 8 * w, sizeof word);
            store(key_at(slot) + 8 * w, word);
        }
        if constexpr (B::tagged) store(line + 2 * slot, layout::tag_of(h.first));
        write(next | B::slot_bit(slot));
    }
    void empty(unsigned slot) const noexcept { write(read() & ~B::slot_bit(slot)); }

    /// True if keys of this bucket, of the class of h, may be in their other bucket.
    bool sends_away(hashed h) const noexcept {
        return (read() >> counter_shift(h) & layout::filter_counter_max) != 0;
    }
    /// Increment or decrement the number of this bucket's keys in their other bucket. A saturated
    /// counter is never decremented: a miss then probes the other bucket in vain.
    void count_displaced(hashed h, bool more) const noexcept {
        const unsigned shift = counter_shift(h);
        const meta m = read();
        if ((m >> shift & layout::filter_counter_max) == layout::filter_counter_max) return;
        write(more ? m + (meta{1} << shift) : m - (meta{1} << shift));
    }

  private:
    static unsigned counter_shift(hashed h) noexcept {
        return B::filter_shift + layout::filter_counter_bits * layout::filter_class(h.second);
    }
    static constexpr unsigned values_at() noexcept {
        if constexpr (B::tagged)
            return 0;
        else
            return B::values_at;
    }
    template <class T>
    static void store(uint8_t* at, T x) noexcept {
        __atomic_store_n(reinterpret_cast<T*>(at), x, __ATOMIC_RELEASE);
    }
};

}  // namespace turnpike::hash
