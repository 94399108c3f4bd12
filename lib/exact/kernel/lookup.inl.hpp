// SPDX-License-Identifier: BSD-3-Clause
// Up to 64 keys at a time: hash all and ask for their first buckets, compare all, then the few whose
// bucket's filter says that keys like them lie in their other bucket.
//
// A writer moves keys meanwhile. What a bucket says counts where its meta word is the same before and
// after: a slot that gets another key changes the version in it first. A key that was moved from its
// second bucket into its first could be missed in both, and a version comes round again after some
// thousand changes: both change view::changes. What was looked up while anything changed is looked up
// again, key by key.

#include "exact/kernel/words_scalar.hpp"
#include "exact/layout.hpp"

namespace {

namespace exact = turnpike::exact;
namespace layout = turnpike::exact::layout;

constexpr uint32_t burst_keys = 64;

/// first, second  [n] out: hashed, with more bits above the lowest 32
template <class V, unsigned Words>
inline uint32_t hash_whole_vectors(const exact::secret& s, const uint8_t* keys, uint32_t n,
                                   uint64_t* first, uint64_t* second) noexcept {
    V add[7], low[6], high[6];
    for (unsigned i = 0; i < 7; ++i)
        add[i] = V::all(s.add[2 * i] | uint64_t{s.add[2 * i + 1]} << 32);
    for (unsigned i = 0; i < 6; ++i)
        low[i] = V::all(s.multiply[i]), high[i] = V::all(s.multiply[i] >> 32);
    const auto product = [&](V x, unsigned i) {
        const V both = V::add32(x, add[i]);
        return V::multiply(both, V::high(both));
    };
    // (multiply[i] * a + multiply[i + 1] * b + multiply[i + 2]) >> 32, of 32-bit a and b
    const auto mix = [&](V a, V b, unsigned i) {
        const V least =
            V::add(V::add(V::multiply(low[i], a), V::multiply(low[i + 1], b)), low[i + 2]);
        return V::add(V::high(least), V::add(V::multiply(high[i], a), V::multiply(high[i + 1], b)));
    };
    uint32_t at = 0;
    for (; at + V::lanes <= n; at += V::lanes) {
        const uint8_t* const of = keys + at * (8 * Words);
        V sum = V::all(0);
        for (unsigned w = 0; w < Words; ++w) {
            const V word = V::template key_words<Words>(of, w);
            sum = V::add(sum, V::add(product(word, w), word));
        }
        sum = V::add(product(sum, 5), V::swap(sum));
        sum = V::add(product(sum, 6), V::swap(sum));
        const V top = V::high(sum);
        V::store(first + at, mix(sum, top, 0));
        V::store(second + at, mix(sum, top, 3));
    }
    return at;
}

template <class V, unsigned Words>
inline void hash_keys(const exact::secret& s, const uint8_t* keys, uint32_t n, uint64_t* first,
                      uint64_t* second) noexcept {
    const uint32_t at = hash_whole_vectors<V, Words>(s, keys, n, first, second);
    if (V::lanes > 1 && at < n)
        hash_whole_vectors<words_scalar, Words>(s, keys + at * (8 * Words), n - at, first + at,
                                                second + at);
}

template <class V, class B, bool Growing>
struct lookup_way {
    using value = typename B::value;
    using meta = typename B::meta;
    static constexpr uint32_t key_bytes = 8 * B::words;
    static constexpr uint64_t bucket_entries_bytes = uint64_t{B::slots} * B::entry_bytes;

    /// The keys of a burst, and where they may be.
    struct burst {
        uint64_t first[burst_keys], second[burst_keys];
        const uint8_t* line[burst_keys];
        const uint8_t* entry[B::tagged ? burst_keys : 1];  ///< of the line's slot 0
        uint32_t mask;                                     ///< of buckets in a region
    };

    static meta meta_of(const uint8_t* line) noexcept {
        return __atomic_load_n(reinterpret_cast<const meta*>(line + B::meta_at), __ATOMIC_ACQUIRE);
    }
    /// All that was read before was read before this is.
    static meta meta_again(const uint8_t* line) noexcept {
#ifndef __SANITIZE_THREAD__  // which knows no fences, and reads lines word by word with acquire
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
        return meta_of(line);
    }
    static value value_at(const uint8_t* at) noexcept {
        return __atomic_load_n(reinterpret_cast<const value*>(at), __ATOMIC_ACQUIRE);
    }
    static bool displaced(meta m, uint64_t second) noexcept {
        const uint32_t counter = layout::filter_class(static_cast<uint32_t>(second));
        return (m >> (B::filter_shift + layout::filter_counter_bits * counter) &
                layout::filter_counter_max) != 0;
    }
    static unsigned lowest(meta m) noexcept { return static_cast<unsigned>(__builtin_ctzll(m)); }
    /// The slots, by their bits in meta, that may have (tags) or have (keys) what is looked for.
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

    static void locate(const exact::view& t, uint32_t n, burst& b) noexcept {
        const uint32_t moved = Growing ? __atomic_load_n(t.moved, __ATOMIC_ACQUIRE) : 0;
        b.mask = (1U << t.now.region_bits) - 1;
        for (uint32_t i = 0; i < n; ++i) {
            const auto first = static_cast<uint32_t>(b.first[i]);
            const exact::buckets* in = &t.now;
            if (Growing && layout::region_of(first, t.before.regions) >= moved) in = &t.before;
            const uint64_t number =
                (layout::region_of(first, in->regions) << in->region_bits) |
                layout::first_bucket(static_cast<uint32_t>(b.second[i]), b.mask);
            b.line[i] = in->lines + number * layout::line_bytes;
            if constexpr (B::tagged) b.entry[i] = in->entries + number * bucket_entries_bytes;
            V::prefetch(b.line[i]);
        }
    }

    /// Look in one bucket.
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

    /// First buckets of inline keys. `others`: whose other bucket is to be looked at.
    static uint64_t first_inline(const burst& b, const uint8_t* keys, value* values, uint32_t n,
                                 uint64_t& others, meta& changed) noexcept {
        uint64_t hits = 0;
        for (uint32_t i = 0; i < n; ++i) {
            const uint8_t* const line = b.line[i];
            const meta before = meta_of(line);
            const meta m = matches(line, keys + i * key_bytes, b.first[i], before);
            const bool found = m != 0;
            const unsigned slot = B::slot_of(lowest(m | B::slot_bit(B::slots - 1)));
            const value v = value_at(line + B::values_at + slot * sizeof(value));
            values[i] = found ? v : 0;
            changed |= before ^ meta_again(line);
            hits |= uint64_t{found} << i;
            others |= static_cast<uint64_t>(!found & displaced(before, b.second[i])) << i;
        }
        return hits;
    }

    /// First buckets of tagged keys: all tags and the entries asked for, then all entries.
    static uint64_t first_tagged(const burst& b, const uint8_t* keys, value* values, uint32_t n,
                                 uint64_t& others, meta& changed) noexcept {
        uint64_t hits = 0;
        meta before[burst_keys];
        uint32_t candidates[burst_keys];
        const uint8_t* entry[burst_keys];
        for (uint32_t i = 0; i < n; ++i) {
            before[i] = meta_of(b.line[i]);
            const meta m = matches(b.line[i], nullptr, b.first[i], before[i]);
            const unsigned slot = lowest(m | B::slot_bit(B::slots - 1));
            candidates[i] = static_cast<uint32_t>(m);
            // Of none the bucket itself: it is here already, and it is not believed.
            entry[i] = m != 0 ? b.entry[i] + slot * B::entry_bytes : b.line[i];
            V::prefetch(entry[i]);
        }
        for (uint32_t i = 0; i < n; ++i) {
            const uint8_t* const key = keys + i * key_bytes;
            bool found = V::template equal_key<B::words>(entry[i], key) & (candidates[i] != 0);
            value v = value_at(entry[i] + B::value_in_entry);
            const uint32_t more = candidates[i] & (candidates[i] - 1);
            if (__builtin_expect(!found && candidates[i] != 0 && more != 0, 0))
                found = probe(b.line[i], b.entry[i], key, b.first[i], v, changed);
            values[i] = found ? v : 0;
            changed |= before[i] ^ meta_again(b.line[i]);
            hits |= uint64_t{found} << i;
            others |= static_cast<uint64_t>(!found & displaced(before[i], b.second[i])) << i;
        }
        return hits;
    }

    static uint64_t other_buckets(burst& b, const uint8_t* keys, value* values, uint64_t others,
                                  meta& changed) noexcept {
        for (uint64_t left = others; left != 0; left &= left - 1) {
            const unsigned i = static_cast<unsigned>(__builtin_ctzll(left));
            const auto second = static_cast<uint32_t>(b.second[i]);
            const uint32_t here = layout::first_bucket(second, b.mask);
            const auto step = static_cast<int64_t>(here ^ layout::way_to_other(second, b.mask)) -
                              static_cast<int64_t>(here);
            b.line[i] += step * static_cast<int64_t>(layout::line_bytes);
            if constexpr (B::tagged)
                b.entry[i] += step * static_cast<int64_t>(bucket_entries_bytes);
            V::prefetch(b.line[i]);
        }
        uint64_t hits = 0;
        for (uint64_t left = others; left != 0; left &= left - 1) {
            const unsigned i = static_cast<unsigned>(__builtin_ctzll(left));
            value v = 0;
            const bool found = probe(b.line[i], b.entry[B::tagged ? i : 0], keys + i * key_bytes,
                                     b.first[i], v, changed);
            values[i] = v;
            hits |= uint64_t{found} << i;
        }
        return hits;
    }

    /// n <= burst_keys. clean: nothing changed meanwhile, so the answers hold.
    static uint64_t attempt(const exact::view& t, const uint8_t* keys, value* values, uint32_t n,
                            bool& clean) noexcept {
        burst b;
        const uint64_t changes = __atomic_load_n(t.changes, __ATOMIC_ACQUIRE);
        meta changed = 0;
        uint64_t others = 0;
        hash_keys<V, B::words>(t.keys, keys, n, b.first, b.second);
        locate(t, n, b);
        uint64_t hits = 0;
        if constexpr (B::tagged)
            hits = first_tagged(b, keys, values, n, others, changed);
        else
            hits = first_inline(b, keys, values, n, others, changed);
        if (others != 0) hits |= other_buckets(b, keys, values, others, changed);
        // The meta words were read with acquire, before this.
        clean = changed == 0 && changes == __atomic_load_n(t.changes, __ATOMIC_ACQUIRE);
        return hits;
    }

    [[gnu::noinline]] static uint64_t one_by_one(const exact::view& t, const uint8_t* keys,
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

    static uint64_t run(const exact::view& t, const uint8_t* keys, void* values,
                        uint32_t n) noexcept {
        bool clean = false;
        const uint64_t hits = attempt(t, keys, static_cast<value*>(values), n, clean);
        if (__builtin_expect(clean, 1)) return hits;
        return one_by_one(t, keys, static_cast<value*>(values), n);
    }
};

template <class V, class B>
inline uint64_t lookup_form(const exact::view& t, const uint8_t* keys, void* values,
                            uint32_t n) noexcept {
    if (__builtin_expect(t.moved != nullptr, 0))
        return lookup_way<V, B, true>::run(t, keys, values, n);
    return lookup_way<V, B, false>::run(t, keys, values, n);
}

template <class V>
inline uint64_t lookup_burst(const exact::view& t, const uint8_t* keys, void* values,
                             uint32_t n) noexcept {
    switch (t.form) {
        case exact::shape::k8v4:
            return lookup_form<V, exact::bucket_k8v4>(t, keys, values, n);
        case exact::shape::k8v8:
            return lookup_form<V, exact::bucket_k8v8>(t, keys, values, n);
        case exact::shape::k16v4:
            return lookup_form<V, exact::bucket_k16v4>(t, keys, values, n);
        case exact::shape::k16v8:
            return lookup_form<V, exact::bucket_k16v8>(t, keys, values, n);
        case exact::shape::k40v4:
            return lookup_form<V, exact::bucket_k40v4>(t, keys, values, n);
        case exact::shape::k40v8:
            return lookup_form<V, exact::bucket_k40v8>(t, keys, values, n);
    }
    return 0;
}

}  // namespace
