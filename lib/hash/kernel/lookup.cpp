// SPDX-License-Identifier: BSD-3-Clause
// Looks up to 64 keys up at a time: hash all keys and prefetch their first buckets, compare all,
// then probe the other buckets of the few keys whose first bucket's filter has keys of their class
// displaced.
//
// A writer may move keys meanwhile. A probe is valid if the bucket's meta word is the same before
// and after: a slot that gets another key changes the bucket's version first. A key moved from its
// second bucket to its first could be missed in both, and a version wraps around after some
// thousand changes: both increment view::changes. If anything changed during the lookup, the keys
// are looked up again, one by one.

#include "hash/layout.hpp"
#include "isa/simd64/simd64.hpp"

namespace {

namespace hash = turnpike::hash;
namespace layout = turnpike::hash::layout;

constexpr uint32_t burst_keys = 64;

/// The keys of a burst, and their candidate buckets.
struct burst {
    uint64_t first[burst_keys], second[burst_keys];  ///< hashed, with more bits above the lowest 32
    uint64_t address[burst_keys];                    ///< address of its bucket
    bool old[burst_keys];                            ///< in view::before; only during growth
    uint32_t mask;                                   ///< buckets per region - 1

    const uint8_t* line(unsigned i) const noexcept {
        return reinterpret_cast<const uint8_t*>(address[i]);
    }
};

/// Hash as many keys as fill vectors, from number `at` on, and find their first buckets in t.now.
/// Returns the index of the first remaining key.
template <class V, unsigned Words>
inline uint32_t hash_whole_vectors(const hash::view& t, const uint8_t* keys, uint32_t at,
                                   uint32_t n, burst& b) noexcept {
    const hash::secret& s = t.keys;
    V add[7], low[6], high[6];
    for (unsigned i = 0; i < 7; ++i)
        add[i] = V::all(s.add[2 * i] | uint64_t{s.add[2 * i + 1]} << 32);
    for (unsigned i = 0; i < 6; ++i)
        low[i] = V::all(s.multiply[i]), high[i] = V::all(s.multiply[i] >> 32);
    const V lines = V::all(reinterpret_cast<uintptr_t>(t.now.lines));
    const V regions = V::all(t.now.regions), mask = V::all(b.mask);
    const V region_bytes = V::all(uint64_t{layout::line_bytes} << t.now.region_bits);
    const V bucket_bytes = V::all(layout::line_bytes);
    const auto product = [&](V x, unsigned i) {
        const V both = V::add32(x, add[i]);
        return V::multiply(both, V::high(both));
    };
    // (multiply[i] * x + multiply[i + 1] * y + multiply[i + 2]) >> 32, of 32-bit x and y
    const auto mix = [&](V x, V y, unsigned i) {
        const V least =
            V::add(V::add(V::multiply(low[i], x), V::multiply(low[i + 1], y)), low[i + 2]);
        return V::add(V::high(least), V::add(V::multiply(high[i], x), V::multiply(high[i + 1], y)));
    };
    for (; at + V::lanes <= n; at += V::lanes) {
        const uint8_t* const of = keys + at * (8 * Words);
        V sum = V::all(0);
        for (unsigned w = 0; w < Words; ++w) {
            const V word = V::template key_words<Words>(of, w);
            sum = V::add(sum, V::add(product(word, w), word));
        }
        sum = V::add(product(sum, 5), V::swap(sum));
        sum = V::add(product(sum, 6), V::swap(sum));
        const V top = V::high(sum), first = mix(sum, top, 0), second = mix(sum, top, 3);
        V::store(b.first + at, first);
        V::store(b.second + at, second);
        const V region = V::high(V::multiply(first, regions));
        const V bucket = V::multiply(V::mask(second, mask), bucket_bytes);
        const V line = V::add(V::add(lines, V::multiply(region, region_bytes)), bucket);
        V::store(b.address + at, line);
        for (unsigned i = 0; i < V::lanes; ++i) V::prefetch(b.line(at + i));
    }
    return at;
}

template <class V, class B, bool Growing>
struct lookup_way {
    using value = typename B::value;
    using meta = typename B::meta;
    static constexpr uint32_t key_bytes = 8 * B::words;
    static constexpr uint64_t bucket_entries_bytes = uint64_t{B::slots} * B::entry_bytes;
    static_assert(bucket_entries_bytes % layout::line_bytes == 0);

    static meta meta_of(const uint8_t* line) noexcept {
        return __atomic_load_n(reinterpret_cast<const meta*>(line + B::meta_at), __ATOMIC_ACQUIRE);
    }
    /// An acquire fence: all earlier reads of the bucket complete before this one.
    static meta meta_again(const uint8_t* line) noexcept {
// TSan ignores fences; with TSan, lines are read word by word with acquire
#ifndef __SANITIZE_THREAD__
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
        return meta_of(line);
    }
    static value value_at(const uint8_t* at) noexcept {
        return __atomic_load_n(reinterpret_cast<const value*>(at), __ATOMIC_ACQUIRE);
    }
    static_assert(layout::class_shift == 30 && layout::filter_counter_bits == 4 &&
                  layout::filter_counter_max == 15);  // nonzero_counters assumes it
    static unsigned lowest(meta m) noexcept { return static_cast<unsigned>(__builtin_ctzll(m)); }
    /// Slots, by their bits in meta, that may hold (tags) or hold (keys) the key.
    static meta matches(const uint8_t* line, const uint8_t* key, uint64_t first, meta m) noexcept {
        if constexpr (B::tagged) {
            return V::equal_tags(line, layout::tag_of(static_cast<uint32_t>(first))) & m &
                   B::in_use;
        } else {
            uint32_t equal = V::template equal_words<B::lanes, B::words>(line, key);
            if constexpr (B::words == 2) equal &= equal >> 1;
            return equal & m & B::in_use;
        }
    }

    /// Hash the keys, find their first buckets, prefetch them.
    static void locate(const hash::view& t, const uint8_t* keys, uint32_t n, burst& b) noexcept {
        b.mask = (1U << t.now.region_bits) - 1;
        const uint32_t rest = hash_whole_vectors<V, B::words>(t, keys, 0, n, b);
        if (V::lanes > 1 && rest < n)
            hash_whole_vectors<words_scalar, B::words>(t, keys, rest, n, b);
        if constexpr (Growing) locate_old(t, n, b);
    }

    /// Use the previous generation for regions not moved yet.
    static void locate_old(const hash::view& t, uint32_t n, burst& b) noexcept {
        const uint32_t moved = __atomic_load_n(t.moved, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < n; ++i) {
            const uint64_t region =
                layout::region_of(static_cast<uint32_t>(b.first[i]), t.before.regions);
            b.old[i] = region >= moved;
            if (!b.old[i]) continue;
            const uint64_t number =
                (region << t.before.region_bits) |
                layout::first_bucket(static_cast<uint32_t>(b.second[i]), b.mask);
            b.address[i] =
                reinterpret_cast<uintptr_t>(t.before.lines) + number * layout::line_bytes;
            V::prefetch(b.line(i));
        }
    }

    /// The entry of slot 0 of the bucket at the key's address.
    static const uint8_t* entry_of([[maybe_unused]] const hash::view& t,
                                   [[maybe_unused]] const burst& b,
                                   [[maybe_unused]] unsigned i) noexcept {
        if constexpr (!B::tagged) {
            return nullptr;
        } else {
            const hash::buckets& in = Growing && b.old[i] ? t.before : t.now;
            const uint64_t bytes = b.address[i] - reinterpret_cast<uintptr_t>(in.lines);
            return in.entries + bytes * (bucket_entries_bytes / layout::line_bytes);
        }
    }

    /// Probe one bucket.
    static bool probe(const uint8_t* line, const uint8_t* entry, const uint8_t* key, uint64_t first,
                      value& v, meta& changed) noexcept {
        const meta before = meta_of(line);
        bool found = false;
        for (meta m = matches(line, key, first, before); m != 0 && !found; m &= m - 1) {
            const unsigned slot = B::slot_of(lowest(m));
            if constexpr (B::tagged) {
                const uint8_t* const at = entry + slot * B::entry_bytes;
                found = V::template equal_key<B::words>(at, key);
                if (found) v = value_at(at + B::value_in_entry);
            } else {
                found = true;
                v = value_at(line + B::values_at + slot * sizeof(value));
            }
        }
        changed |= before ^ meta_again(line);
        return found;
    }

    /// The n lowest bits set.
    static uint64_t all(uint32_t n) noexcept {
        return n < 64 ? (uint64_t{1} << n) - 1 : ~uint64_t{0};
    }

    /// Among keys not found in their first buckets, select and prefetch the other buckets of keys
    /// that may be there. Sets the values of all misses to 0.
    ///
    /// filters  bit i: the first bucket of key i has displaced keys of its class
    static uint64_t ask_others(burst& b, value* values, uint64_t misses,
                               uint64_t filters) noexcept {
        for (uint64_t left = misses; left != 0; left &= left - 1) values[__builtin_ctzll(left)] = 0;
        for (uint64_t left = misses & filters; left != 0; left &= left - 1) {
            const unsigned i = static_cast<unsigned>(__builtin_ctzll(left));
            const auto second = static_cast<uint32_t>(b.second[i]);
            const uint32_t here = layout::first_bucket(second, b.mask);
            const auto step = static_cast<int64_t>(here ^ layout::way_to_other(second, b.mask)) -
                              static_cast<int64_t>(here);
            b.address[i] += static_cast<uint64_t>(step * static_cast<int64_t>(layout::line_bytes));
            V::prefetch(b.line(i));
        }
        return misses & filters;
    }

    /// Probe the first buckets of inline keys, a part of the burst at a time: the other buckets of
    /// one part are prefetched while the next part is compared.
    static uint64_t first_inline(burst& b, const uint8_t* keys, value* values, uint32_t n,
                                 uint64_t& others, meta& changed) noexcept {
        constexpr uint32_t part_keys = 16;
        meta metas[burst_keys];
        uint8_t found[burst_keys];  // slots as bits
        uint64_t hits = 0;
        for (uint32_t at = 0; at < n; at += part_keys) {
            const uint32_t end = n - at < part_keys ? n : at + part_keys;
#pragma GCC unroll 4
            for (uint32_t i = at; i < end; ++i) {
                const uint8_t* const line = b.line(i);
                const meta before = metas[i] = meta_of(line);
                const meta m = matches(line, keys + i * key_bytes, 0, before);
                found[i] = static_cast<uint8_t>(m);
                const unsigned slot = B::slot_of(lowest(m | B::slot_bit(B::slots - 1)));
                values[i] = value_at(line + B::values_at + slot * sizeof(value));
                changed |= before ^ meta_again(line);
            }
            const uint64_t part = all(end - at) << at;
            hits |= V::nonzero_bytes(found) & part;
            const uint64_t misses = part & ~hits;
            if (misses == 0) continue;
            const uint64_t filters =
                V::template nonzero_counters<B::filter_shift>(metas + at, b.second + at, end - at);
            others |= ask_others(b, values, misses, filters << at);
        }
        return hits;
    }

    /// Probe the first buckets of tagged keys: compare all tags, prefetch the entries of
    /// candidates, then compare these.
    static uint64_t first_tagged(const hash::view& t, burst& b, const uint8_t* keys, value* values,
                                 uint32_t n, uint64_t& others, meta& changed) noexcept {
        meta metas[burst_keys], candidates[burst_keys];
        uint8_t number[burst_keys + 1];  // keys that have candidates
        const uint8_t* entry[burst_keys];
        uint32_t count = 0;
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; ++i) {
            const uint8_t* const line = b.line(i);
            metas[i] = meta_of(line);
            candidates[i] = matches(line, nullptr, b.first[i], metas[i]);
            changed |= metas[i] ^ meta_again(line);
            number[count] = static_cast<uint8_t>(i);
            count += candidates[i] != 0;
        }
        for (uint32_t k = 0; k < count; ++k) {
            const uint32_t i = number[k];
            entry[k] = entry_of(t, b, i) + lowest(candidates[i]) * B::entry_bytes;
            V::prefetch(entry[k]);
        }
        uint64_t hits = 0, several = 0;  // several: the first candidate is another key
        for (uint32_t k = 0; k < count; ++k) {
            const uint32_t i = number[k];
            const bool equal = V::template equal_key<B::words>(entry[k], keys + i * key_bytes);
            values[i] = value_at(entry[k] + B::value_in_entry);
            const meta more = candidates[i] & (candidates[i] - 1);
            hits |= static_cast<uint64_t>(equal) << i;
            several |= static_cast<uint64_t>(!equal & (more != 0)) << i;
            changed |= metas[i] ^ meta_again(b.line(i));
        }
        for (; several != 0; several &= several - 1) {
            const auto i = static_cast<unsigned>(__builtin_ctzll(several));
            const bool found = probe(b.line(i), entry_of(t, b, i), keys + i * key_bytes, b.first[i],
                                     values[i], changed);
            hits |= static_cast<uint64_t>(found) << i;
        }
        const uint64_t misses = all(n) & ~hits;
        if (misses != 0)
            others = ask_others(b, values, misses,
                                V::template nonzero_counters<B::filter_shift>(metas, b.second, n));
        return hits;
    }

    static uint64_t other_buckets(const hash::view& t, const burst& b, const uint8_t* keys,
                                  value* values, uint64_t others, meta& changed) noexcept {
        uint64_t hits = 0;
        for (uint64_t left = others; left != 0; left &= left - 1) {
            const unsigned i = static_cast<unsigned>(__builtin_ctzll(left));
            value v = 0;
            const bool found =
                probe(b.line(i), entry_of(t, b, i), keys + i * key_bytes, b.first[i], v, changed);
            values[i] = v;
            hits |= uint64_t{found} << i;
        }
        return hits;
    }

    /// n <= burst_keys. clean: no concurrent change, so the results are valid.
    static uint64_t attempt(const hash::view& t, const uint8_t* keys, value* values, uint32_t n,
                            bool& clean) noexcept {
        burst b;
        const uint64_t changes = __atomic_load_n(t.changes, __ATOMIC_ACQUIRE);
        meta changed = 0;
        locate(t, keys, n, b);
        uint64_t hits = 0, others = 0;
        if constexpr (B::tagged)
            hits = first_tagged(t, b, keys, values, n, others, changed);
        else
            hits = first_inline(b, keys, values, n, others, changed);
        if (others != 0) hits |= other_buckets(t, b, keys, values, others, changed);
        // The meta words were read with acquire, before this.
        clean = changed == 0 && changes == __atomic_load_n(t.changes, __ATOMIC_ACQUIRE);
        return hits;
    }

    [[gnu::noinline]] static uint64_t one_by_one(const hash::view& t, const uint8_t* keys,
                                                 value* values, uint32_t n) noexcept {
        uint64_t hits = 0;
        for (uint32_t i = 0; i < n; ++i) {
            bool clean = false;
            uint64_t hit = 0;
            while (!clean) hit = attempt(t, keys + i * key_bytes, values + i, 1, clean);
            hits |= hit << i;
        }
        return hits;
    }

    static uint64_t run(const hash::view& t, const uint8_t* keys, void* values,
                        uint32_t n) noexcept {
        bool clean = false;
        const uint64_t hits = attempt(t, keys, static_cast<value*>(values), n, clean);
        if (__builtin_expect(clean, 1)) return hits;
        return one_by_one(t, keys, static_cast<value*>(values), n);
    }
};

template <class V, class B>
inline uint64_t lookup_form(const hash::view& t, const uint8_t* keys, void* values,
                            uint32_t n) noexcept {
    if (__builtin_expect(t.moved != nullptr, 0))
        return lookup_way<V, B, true>::run(t, keys, values, n);
    return lookup_way<V, B, false>::run(t, keys, values, n);
}

template <class V>
inline uint64_t lookup_burst(const hash::view& t, const uint8_t* keys, void* values,
                             uint32_t n) noexcept {
    switch (t.form) {
        case hash::shape::k8v4:
            return lookup_form<V, hash::bucket_k8v4>(t, keys, values, n);
        case hash::shape::k8v8:
            return lookup_form<V, hash::bucket_k8v8>(t, keys, values, n);
        case hash::shape::k16v4:
            return lookup_form<V, hash::bucket_k16v4>(t, keys, values, n);
        case hash::shape::k16v8:
            return lookup_form<V, hash::bucket_k16v8>(t, keys, values, n);
        case hash::shape::k40v4:
            return lookup_form<V, hash::bucket_k40v4>(t, keys, values, n);
        case hash::shape::k40v8:
            return lookup_form<V, hash::bucket_k40v8>(t, keys, values, n);
    }
    return 0;
}

}  // namespace

namespace turnpike::hash::TURNPIKE_ISA {

uint64_t lookup(const view& t, const void* keys, void* values, uint32_t n) noexcept {
    return lookup_burst<simd64>(t, static_cast<const uint8_t*>(keys), values, n);
}

}  // namespace turnpike::hash::TURNPIKE_ISA
