// SPDX-License-Identifier: BSD-3-Clause
// A chunk of packets: their keys, their best matches so far, and the scan of leaves. Rules in a
// leaf are sorted by priority, so the first match in a leaf is its best.

#include "acl/layout.hpp"

namespace {

namespace acl = turnpike::acl;
namespace layout = turnpike::acl::layout;

constexpr uint32_t chunk = 64;         ///< packets processed together
constexpr uint32_t room = chunk + 16;  ///< capacity of their lists: stores write whole vectors

struct leaf_list {
    uint32_t count;
    uint32_t base[room], info[room], who[room];
};

/// most  below 32
inline uint32_t low_bits(uint32_t count, uint32_t most) noexcept {
    return (1u << (count < most ? count : most)) - 1;
}

inline uint32_t load32(const uint8_t* from) noexcept {
    uint32_t x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}

inline uint64_t load64(const uint8_t* from) noexcept {
    uint64_t x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}

/// V: the vectors. Words: number of stored words, 0: read it from the view. Multi: a best rule for
/// each of several categories.
template <class V, unsigned Words, bool Multi>
struct search {
    static constexpr uint32_t step = V::lanes < 8 ? 8 : V::lanes;  ///< rules per pass

    const acl::view& t;
    const uint32_t n;
    const uint32_t categories;
    static constexpr uint64_t not_asked_for = ~0ull >> 1;  ///< no rule has a higher priority
    uint32_t key[acl::max_words][room];
    uint32_t bar[room];  ///< rank of the best match: skip subtrees of lower rank
    uint32_t everyone[room];
    /// Categories in groups of four; a row of `best` has room for all that were asked for.
    const uint32_t row_shift;
    /// By packet and category: priority << 32 | user data; 0: none.
    alignas(32) uint64_t best[chunk * (Multi ? acl::max_categories : 1)];
    leaf_list lists[2], chained;

    search(const acl::view& table, const uint8_t* const* data, uint32_t packets,
           uint32_t wanted) noexcept
        : t(table),
          n(packets),
          categories(wanted),
          row_shift(!Multi        ? 0
                    : wanted <= 4 ? 2
                                  : 4) {
        for (uint32_t i = 0; i < n; ++i) {
            bar[i] = 0;
            everyone[i] = i;
            if constexpr (!Multi) best[i] = 0;
        }
        if constexpr (Multi) {
            uint64_t row[acl::max_categories];
            for (uint32_t c = 0; c < acl::max_categories; ++c)
                row[c] = c < categories ? 0 : not_asked_for;
            for (uint32_t i = 0; i < n; ++i)
                for (uint32_t c = 0; c < categories; c += 4)
                    __builtin_memcpy(of(i) + c, row + c, 4 * sizeof *row);
        }
        if (t.pieces != 0)
            load_pieces(data);
        else
            load_words(data);
        classify_ports();
    }

    /// The packet's best matches.
    uint64_t* of(uint32_t who) noexcept { return best + (who << row_shift); }
    const uint64_t* of(uint32_t who) const noexcept { return best + (who << row_shift); }

    void load_words(const uint8_t* const* data) noexcept {
        const uint32_t words = Words != 0 ? Words : t.stored_words;
        uint32_t i = 0;
        if constexpr (Words == 4)
            for (; i + 4 <= n; i += 4)
                V::load_columns_be(data + i, key[0] + i, key[1] + i, key[2] + i, key[3] + i);
        for (; i < n; ++i)
#pragma GCC unroll 4
            for (uint32_t w = 0; w < words; ++w) {
                const uint32_t at = Words != 0 ? w : t.stored[w];
                key[at][i] = __builtin_bswap32(load32(data[i] + 4 * at));
            }
    }

    /// layout.hpp: port_classes().
    void classify_ports() noexcept {
        const uint32_t* ports = key[t.key_words - acl::ports_from_end];
        uint32_t* last = key[t.key_words - acl::vlan_from_end];
        const bool vlan =
            Words == 0 && t.stored_words > 1 && t.stored[t.stored_words - 2] == t.key_words - 1;
        const auto keep = V::set1(vlan ? acl::vlan_bits : 0), none = V::set1(0);
        const auto source = V::set1(acl::above_well_known << 16),
                   destination = V::set1(acl::above_well_known);
        for (uint32_t i = 0; i < n; i += V::lanes) {
            const auto p = V::load(ports + i);
            const auto low_source = V::template equal<uint32_t>(p & source, none);
            const auto low_destination = V::template equal<uint32_t>(p & destination, none);
            V::store(last + i, (V::load(last + i) & keep) |
                                   V::and_not(low_source, V::set1(acl::source_class)) |
                                   V::and_not(low_destination, V::set1(acl::destination_class)));
        }
    }

    void load_pieces(const uint8_t* const* data) noexcept {
        for (uint32_t w = 0; w < t.key_words; ++w)
            for (uint32_t i = 0; i < n; ++i) key[w][i] = 0;
        for (uint32_t p = 0; p < t.pieces; ++p) {
            const acl::piece piece = t.piece_at[p];
            for (uint32_t i = 0; i < n; ++i) {
                const uint8_t* from = data[i] + piece.offset;
                uint32_t x = from[0];
                if (piece.bytes == 2) x = x << 8 | from[1];
                if (piece.bytes == 4) x = __builtin_bswap32(load32(from));
                key[piece.word][i] |= x << piece.shift;
            }
        }
    }

    /// Bit r: rule at + r matches.
    uint32_t matches(const uint8_t* rules, uint32_t count, uint32_t at,
                     uint32_t who) const noexcept {
        uint32_t found = 0;
#pragma GCC unroll 1
        for (uint32_t lane = 0; lane < step; lane += V::lanes) {
            const uint32_t there = at + lane < count ? count - at - lane : 0;
            const uint8_t* p = rules + 4 * (at + lane);
            auto differs = V::set1(0);
            const uint32_t plain = (Words != 0 ? Words : t.stored_words) - 1;
#pragma GCC unroll 4
            for (uint32_t w = 0; w < plain; ++w, p += 8 * count) {
                const uint32_t word = Words == 0 ? t.stored[w] : w < 2 ? w : w + 1;
                differs = differs | ((V::set1(key[word][who]) ^ V::load_bytes(p, there)) &
                                     V::load_bytes(p + 4 * count, there));
            }
            const uint32_t ports = Words == 0 ? t.stored[plain] : 2;
            const auto above =
                V::subtract_halves(V::set1(key[ports][who]), V::load_bytes(p, there));
            differs = differs | V::subtract_halves_to_0(above, V::load_bytes(p + 4 * count, there));
            found |= V::sign_bits(V::template equal<uint32_t>(differs, V::set1(0))) << lane;
        }
        return V::mask_low(found, count - at);
    }

    const uint8_t* behind_words(const uint8_t* rules, uint32_t count) const noexcept {
        return rules + 8 * count * (Words != 0 ? Words : t.stored_words);
    }

    /// `found` marks which of the rules at `tops` match. Returns the packet's best match.
    uint64_t merge_match(uint32_t who, uint32_t found, const uint8_t* tops) noexcept {
        const uint32_t first = static_cast<uint32_t>(__builtin_ctz(found | 1u << 16)) & 15;
        const uint64_t rule = load64(tops + 8 * first);
        const uint64_t offered = found != 0 ? rule : 0;
        return best[who] = best[who] > offered ? best[who] : offered;
    }

    /// merge_match() for each category; `in` has the rules' category masks, `there` their number. Returns
    /// the lowest priority of the packet's matches.
    uint32_t merge_categories(uint32_t who, uint32_t found, const uint8_t* tops, const uint8_t* in,
                              uint32_t there) noexcept {
        uint64_t least = ~uint64_t{0};
        uint32_t c = 0;
        do {
            uint64_t lowest = 0;
#pragma GCC unroll 2
            for (uint32_t lane = 0; lane < step && lane < there; lane += 8)
                lowest = V::merge_best(of(who) + c, in + 2 * lane + c, found >> lane,
                                       tops + 8 * lane, there - lane);
            least = least < lowest ? least : lowest;
            c += 4;
        } while (c < categories);
        return static_cast<uint32_t>(least >> 32);
    }

    /// Scan one step of every leaf in the list, from rule `at` on; packets that may find a better
    /// match in the same leaf are added to `on`.
    void scan_step(const leaf_list& from, uint32_t at, leaf_list& on) noexcept {
        const uint8_t* const arena = t.arena;
        const uint32_t now = from.count, shift = 32u + t.rank_shift;
        uint32_t going_on = 0;
        for (uint32_t j = 0; j < now; ++j) {
            const uint32_t base = from.base[j], info = from.info[j], who = from.who[j];
            const uint32_t count = info >> layout::count_at & 0xff;
            const uint8_t* rules = arena + uint64_t{base} * layout::granule_bytes;
            const uint32_t found = matches(rules, count, at, who);
            const uint8_t* tops = behind_words(rules, count);
            const uint8_t* end = tops + 8 * count;
            on.base[going_on] = base;
            on.info[going_on] = info;
            on.who[going_on] = who;
            const bool more = at + step < count;
            if constexpr (Multi) {
                const uint8_t* in = end + at / 8 * acl::max_categories;
                const uint32_t lowest = merge_categories(who, found, tops + 8 * at, in, count - at);
                bar[who] = lowest >> t.rank_shift;
                going_on += more & (load32(tops + 8 * (more ? at + step : at) + 4) > lowest);
            } else {
                bar[who] = static_cast<uint32_t>(merge_match(who, found, tops + 8 * at) >> shift);
                going_on += more & (found == 0);
            }
            if (__builtin_expect((info & layout::chained_bit) != 0, 0))
                if (!more) follow(end + (Multi ? layout::category_bytes(count) : 0), who);
        }
        on.count = going_on;
    }

    void follow(const uint8_t* link, uint32_t who) noexcept {
        const uint64_t word =
            __atomic_load_n(reinterpret_cast<const uint64_t*>(link), __ATOMIC_ACQUIRE);
        chained.base[chained.count] = static_cast<uint32_t>(word >> 32);
        chained.info[chained.count] = static_cast<uint32_t>(word);
        chained.who[chained.count] = who;
        chained.count += word != 0 && (word & layout::rank_mask) >= bar[who];
    }

    void scan(leaf_list& leaves) noexcept {
        if (t.large)
            for (uint32_t j = 0; j < leaves.count; ++j) {
                const uint8_t* rules = t.arena + uint64_t{leaves.base[j]} * layout::granule_bytes;
                for (uint32_t line = 0; line < 4; ++line) V::prefetch(rules + 64 * line);
            }
        const leaf_list* now = &leaves;
        while (now->count != 0) {
            chained.count = 0;
            for (uint32_t at = 0, next = 0; now->count != 0; at += step, next ^= 1) {
                scan_step(*now, at, lists[next]);
                now = &lists[next];
            }
            if (chained.count == 0) break;
            lists[1] = chained;
            now = &lists[1];
        }
    }

    void store(uint32_t* results) const noexcept {
        if (!Multi && categories == 1) {
            const uint32_t in = (t.categories & 1) != 0 ? ~0u : 0;
            for (uint32_t i = 0; i < n; ++i) results[i] = static_cast<uint32_t>(best[i]) & in;
            return;
        }
        for (uint32_t i = 0; i < n; ++i, results += categories)
            if constexpr (!Multi)
                for (uint32_t c = 0; c < categories; ++c)
                    results[c] = (t.categories >> c & 1) != 0 ? static_cast<uint32_t>(best[i]) : 0;
            else if (categories == 1)
                results[0] = static_cast<uint32_t>(*of(i));
            else
                for (uint32_t c = 0; c < categories; c += 4)
#pragma GCC unroll 4
                    for (uint32_t each = c; each < c + 4; ++each)
                        results[each] = static_cast<uint32_t>(of(i)[each]);
    }
};

}  // namespace
