// SPDX-License-Identifier: BSD-3-Clause
// A chunk of packets: their keys, what each has matched so far, and the scan of leaves. A leaf's
// rules lie highest priority first, so the first match of a leaf is its best.

#include "acl/layout.hpp"

namespace {

namespace acl = turnpike::acl;
namespace layout = turnpike::acl::layout;

constexpr uint32_t chunk = 64;         ///< packets worked on together
constexpr uint32_t room = chunk + 16;  ///< of their lists: whole vectors are stored

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

/// V: the vectors. Words: how many words leaves store, 0: the view says. Multi: a best rule for
/// each of several categories.
template <class V, unsigned Words, bool Multi>
struct search {
    static constexpr uint32_t step = V::lanes < 8 ? 8 : V::lanes;  ///< rules a pass
    static constexpr uint32_t results_each = Multi ? acl::max_categories : 1;

    const acl::view& t;
    const uint32_t n;
    const uint32_t categories;
    uint32_t key[acl::max_words][room];
    uint32_t bar[room];  ///< rank of the best match: lower ones need not be looked at
    uint32_t everyone[room];
    uint64_t best[chunk][results_each];  ///< priority << 32 | user data; 0: none
    leaf_list lists[2], chained;

    search(const acl::view& table, const uint8_t* const* data, uint32_t packets,
           uint32_t wanted) noexcept
        : t(table), n(packets), categories(wanted) {
        for (uint32_t i = 0; i < n; ++i) {
            bar[i] = 0;
            everyone[i] = i;
            for (uint32_t c = 0; c < (Multi ? categories : 1); ++c) best[i][c] = 0;
        }
        if (t.pieces != 0)
            load_pieces(data);
        else
            load_words(data);
        classify_ports();
    }

    void load_words(const uint8_t* const* data) noexcept {
        const uint32_t words = Words != 0 ? Words : t.stored_words;
        for (uint32_t i = 0; i < n; ++i)
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
        return V::keep_low(found, count - at);
    }

    const uint8_t* behind_words(const uint8_t* rules, uint32_t count) const noexcept {
        return rules + 8 * count * (Words != 0 ? Words : t.stored_words);
    }

    /// One step of every leaf in the list, from rule `at` on; who has not found one goes on.
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
            const uint32_t first = static_cast<uint32_t>(__builtin_ctz(found | 1u << 16)) & 15;
            const uint64_t rule = load64(tops + 8 * (at + first));
            const uint64_t better = found != 0 ? rule : 0;
            const uint64_t before = best[who][0];
            const uint64_t top = before > better ? before : better;
            best[who][0] = top;
            bar[who] = static_cast<uint32_t>(top >> shift);
            on.base[going_on] = base;
            on.info[going_on] = info;
            on.who[going_on] = who;
            going_on += found == 0 && at + step < count;
            if (__builtin_expect((info & layout::chained_bit) != 0, 0))
                if (found == 0 && at + step >= count) follow(tops + 8 * count, who);
        }
        on.count = going_on;
    }

    void follow(const uint8_t* link, uint32_t who) noexcept {
        const uint64_t word =
            __atomic_load_n(reinterpret_cast<const uint64_t*>(link), __ATOMIC_ACQUIRE);
        chained.base[chained.count] = static_cast<uint32_t>(word >> 32);
        chained.info[chained.count] = static_cast<uint32_t>(word);
        chained.who[chained.count] = who;
        chained.count += word != 0;
    }

    void scan(leaf_list& leaves) noexcept {
        for (uint32_t j = 0; j < leaves.count; ++j) {
            const uint8_t* rules = t.arena + uint64_t{leaves.base[j]} * layout::granule_bytes;
            for (uint32_t line = 0; line < 4; ++line) V::prefetch(rules + 64 * line);
        }
        if constexpr (Multi) {
            for (uint32_t j = 0; j < leaves.count; ++j)
                scan_all(leaves.base[j], leaves.info[j], leaves.who[j]);
        } else {
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
    }

    /// Rules have categories of their own: in each leaf go on until all of them have one.
    void scan_all(uint32_t base, uint32_t info, uint32_t who) noexcept {
        uint32_t missing = (1u << categories) - 1;
        for (uint64_t next; base != 0;
             base = static_cast<uint32_t>(next >> 32), info = static_cast<uint32_t>(next)) {
            const uint32_t count = info >> layout::count_at & 0xff;
            const uint8_t* rules = t.arena + uint64_t{base} * layout::granule_bytes;
            const uint8_t* tops = behind_words(rules, count);
            const uint8_t* masks = tops + 8 * count;
            for (uint32_t at = 0; at < count && missing != 0; at += step)
                for (uint32_t found = matches(rules, count, at, who); found != 0 && missing != 0;
                     found &= found - 1) {
                    const uint32_t r = at + static_cast<uint32_t>(__builtin_ctz(found));
                    const uint32_t mask = load32(masks + 4 * r);
                    take(who, load64(tops + 8 * r), mask & missing);
                    missing &= ~mask;
                }
            const uint8_t* link = masks + (count + 1) / 2 * 8;
            next = (info & layout::chained_bit) == 0 || missing == 0
                       ? 0
                       : __atomic_load_n(reinterpret_cast<const uint64_t*>(link), __ATOMIC_ACQUIRE);
        }
        uint64_t least = best[who][0];
        for (uint32_t c = 1; c < categories; ++c)
            least = least < best[who][c] ? least : best[who][c];
        bar[who] = static_cast<uint32_t>(least >> (32u + t.rank_shift));
    }

    void take(uint32_t who, uint64_t rule, uint32_t mask) noexcept {
        for (uint32_t c = 0; c < categories; ++c) {
            const uint64_t offered = (mask >> c & 1) != 0 ? rule : 0;
            best[who][c] = best[who][c] > offered ? best[who][c] : offered;
        }
    }

    void store(uint32_t* results) const noexcept {
        if (!Multi && categories == 1 && (t.categories & 1) != 0) {
            for (uint32_t i = 0; i < n; ++i) results[i] = static_cast<uint32_t>(best[i][0]);
            return;
        }
        for (uint32_t i = 0; i < n; ++i)
            for (uint32_t c = 0; c < categories; ++c)
                results[i * categories + c] =
                    static_cast<uint32_t>(Multi                          ? best[i][c]
                                          : (t.categories >> c & 1) != 0 ? best[i][0]
                                                                         : 0);
    }
};

}  // namespace
