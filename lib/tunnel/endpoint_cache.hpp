// SPDX-License-Identifier: BSD-3-Clause
// endpoint_cache.hpp: looks up the endpoint of each packet in a burst: a worker's cache of the last
// eight endpoints in front of a table of all endpoints.
//
//   using endpoints = tunnel::endpoint_table<tunnel::endpoint4>;       // hash::table: control's, for all workers
//   tunnel::endpoint_cache<tunnel::endpoint4> cache(*tunnel::choose_find(512));        // a worker's
//   uint32_t known = cache.lookup(table, key, value, n);
//
// Keys missing in the cache are looked up in the table in bulk; for consecutive packets from one
// endpoint only the first. If most packets of several bursts miss the cache, more endpoints send
// than it can hold: then only the table is used, and the cache is retried from time to time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/result.hpp"
#include "hash/table.hpp"
#include "tunnel/endpoint.hpp"
#include "tunnel/last_endpoints.hpp"

namespace turnpike::tunnel {

/// Values are not 0.
template <class Key>
using endpoint_table = hash::table<Key, uint32_t>;

/// The best kernel, or the one named. Errors as isa::choose.
[[nodiscard]] inline result<const finder*> choose_find(uint16_t max_simd_bitwidth,
                                                       std::string_view name = {}) {
    const auto row = isa::choose(find_kernels(), "tunnel endpoints", max_simd_bitwidth, name);
    if (!row) return tl::unexpected<error>(row.error());
    return (*row)->function;
}

/// Threads  one. The table may change meanwhile; changes are seen after forget().
template <class Key>
class endpoint_cache {
  public:
    explicit endpoint_cache(const finder* find) noexcept : find_(find) {}

    /// Invalidate the cache: the table is another one, or has changed.
    void forget() noexcept {
        last_.used = next_ = 0;
        passed_over_ = bad_bursts_ = 0;
    }

    /// key    [n, with room for a multiple of endpoint_lanes]
    /// value  [likewise] out; 0: not in the table
    /// n      up to burst_endpoints
    /// Returns  bit i: value[i] is not 0
    uint32_t lookup(const endpoint_table<Key>& table, const Key* key, uint64_t* value,
                    uint32_t n) noexcept {
        if (passed_over_ != 0) {
            --passed_over_;
            return in_rows_ ? ask(table, key, value, all_of(n)) : ask_all(table, key, value, n);
        }
        if (all_same(key, n)) return look_up_one(table, key, value, n);
        const uint32_t found = find_in_cache(key, value, n);
        const uint32_t missing = all_of(n) & ~found;
        if (missing == 0) [[likely]] {
            bad_bursts_ = 0;
            return found;
        }
        const uint32_t asked = ask(table, key, value, missing);
        store_answers();
        choose(n, static_cast<uint32_t>(std::popcount(missing)));
        return found | asked;
    }

    // For tests.
    [[nodiscard]] uint32_t used() const noexcept { return last_.used; }
    [[nodiscard]] bool passed_over() const noexcept { return passed_over_ != 0; }

    /// After this many consecutive bursts with few cache hits, skip the cache for some bursts, then
    /// try it with one. (turnpike-bench-vxlan, 16 and more endpoints, interleaved.)
    static constexpr uint32_t bad_bursts_most = 4, bursts_passed_over = 60;

  private:
    static constexpr uint32_t all_of(uint32_t n) noexcept {
        return static_cast<uint32_t>((uint64_t{1} << n) - 1);
    }

    uint32_t find_in_cache(const Key* key, uint64_t* value, uint32_t n) noexcept {
        if constexpr (mark_is_key<Key>) {
            return find_->find(last_, &key->word, value, n);
        } else {
            alignas(64) std::array<uint64_t, burst_endpoints> mark;
            for (uint32_t i = 0; i < n; ++i) mark[i] = mark_of(key[i]);
            for (uint32_t i = n; i % endpoint_lanes != 0; ++i) mark[i] = 0;
            uint32_t found = find_->find(last_, mark.data(), value, n);
            // The kernel found an entry with the same mark; compare the key.
            for (uint32_t rest = found; rest != 0; rest &= rest - 1) {
                const auto i = static_cast<uint32_t>(std::countr_zero(rest));
                const known& its = known_[value[i] - 1];
                const bool right = differ(its.key, key[i]) == 0;
                value[i] = right ? its.value : 0;
                found &= ~(uint32_t{!right} << i);
            }
            return found;
        }
    }

    /// If keys are expensive to compare: true if all keys of the burst are equal.
    bool all_same(const Key* key, uint32_t n) const noexcept {
        if constexpr (mark_is_key<Key>) {
            return false;
        } else {
            static_assert(sizeof(Key) == long_key_words * sizeof(uint64_t) &&
                          offsetof(Key, from) == 0);
            return n != 0 && find_->same(key->from, n);
        }
    }
    uint32_t look_up_one(const endpoint_table<Key>& table, const Key* key, uint64_t* value,
                         uint32_t n) noexcept {
        alignas(64) std::array<uint64_t, endpoint_lanes> answer;
        if (find_in_cache(key, answer.data(), n != 0) == 0 && n != 0) {
            static_cast<void>(ask(table, key, answer.data(), 1));
            store_answers();
        }
        for (uint32_t i = 0; i < n; ++i) value[i] = answer[0];
        bad_bursts_ = 0;
        return n != 0 && answer[0] != 0 ? all_of(n) : 0;
    }

    /// Look up all keys in the table.
    uint32_t ask_all(const endpoint_table<Key>& table, const Key* key, uint64_t* value,
                     uint32_t n) noexcept {
        const uint64_t found = table.lookup({key, n}, {asked_.answer.data(), n});
        for (uint32_t i = 0; i < n; ++i) value[i] = asked_.answer[i];
        return static_cast<uint32_t>(found);
    }
    /// Look up the keys of a mask in the table; other values are unchanged. Returns the keys found.
    uint32_t ask(const endpoint_table<Key>& table, const Key* key, uint64_t* value,
                 uint32_t packets) noexcept {
        auto& [wanted, answer, of, count] = asked_;
        count = 0;
        for (uint32_t rest = packets; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            if (count == 0 || differ(wanted[count - 1], key[i]) != 0) wanted[count++] = key[i];
            of[i] = static_cast<uint8_t>(count - 1);
        }
        static_cast<void>(table.lookup({wanted.data(), count}, {answer.data(), count}));
        uint32_t found = 0;
        for (uint32_t rest = packets; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            value[i] = answer[of[i]];
            found |= uint32_t{value[i] != 0} << i;
        }
        return found;
    }
    /// Insert as many as the cache holds: more would evict the first ones of the same burst.
    void store_answers() noexcept {
        const uint32_t most = asked_.count < cached_endpoints ? asked_.count : cached_endpoints;
        for (uint32_t q = 0; q < most; ++q)
            if (asked_.answer[q] != 0) store(asked_.wanted[q], asked_.answer[q]);
    }

    /// Replace the oldest entry.
    void store(const Key& key, uint32_t value) noexcept {
        const uint64_t mark = mark_of(key);
        uint32_t at = 0;
        while (at < last_.used && last_.mark[at] != mark) ++at;
        if (at == last_.used) {  // marks are unique
            at = next_;
            next_ = (next_ + 1) % cached_endpoints;
            if (last_.used < cached_endpoints) ++last_.used;
        }
        last_.mark[at] = mark;
        last_.value[at] = mark_is_key<Key> ? value : at + 1;
        if constexpr (!mark_is_key<Key>) known_[at] = {key, value};
    }

    void choose(uint32_t n, uint32_t missing) noexcept {
        if (2 * missing <= n) {
            bad_bursts_ = 0;
        } else if (++bad_bursts_ >= bad_bursts_most) {
            passed_over_ = bursts_passed_over;
            in_rows_ = 2 * asked_.count <= missing;
            --bad_bursts_;  // the next burst that tries the cache decides
        }
    }

    /// The distinct keys of the current burst.
    struct keys_of_burst {
        std::array<Key, burst_endpoints> wanted;
        std::array<uint32_t, burst_endpoints> answer;
        std::array<uint8_t, burst_endpoints> of;  ///< [packet] index of its key
        uint32_t count = 0;
    };
    struct known {
        Key key;
        uint64_t value = 0;
    };
    struct nothing {};

    last_endpoints last_;
    [[no_unique_address]] std::conditional_t<mark_is_key<Key>, nothing,
                                             std::array<known, cached_endpoints>>
        known_;
    keys_of_burst asked_;
    const finder* find_;
    uint32_t next_ = 0, passed_over_ = 0, bad_bursts_ = 0;
    bool in_rows_ = false;  ///< while the cache is skipped: packets come in runs
};

}  // namespace turnpike::tunnel
