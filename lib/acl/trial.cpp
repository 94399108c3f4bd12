// SPDX-License-Identifier: BSD-3-Clause
#include "acl/trial.hpp"

#include <algorithm>
#include <cstring>

#include "acl/cut.hpp"

namespace turnpike::acl {
namespace {

/// Cycles of the kernel's steps on Zen 4, from turnpike-bench-acl.
namespace step {
constexpr double tree = 4, node = 9, leaf = 11, scan = 8, scan_all = 22;
}
constexpr uint32_t scan_step = 8;
constexpr unsigned drawn = 384, random = 128;

/// xorshift with a fixed seed: trials must be reproducible.
class generator {
  public:
    uint32_t operator()() noexcept {
        x_ ^= x_ << 13, x_ ^= x_ >> 7, x_ ^= x_ << 17;
        return static_cast<uint32_t>(x_ >> 16);
    }

  private:
    uint64_t x_ = 88172645463325252;
};

uint64_t load(const view& t, uint32_t granule, unsigned at) {
    uint64_t x;
    std::memcpy(&x, t.arena + uint64_t{granule} * layout::granule_bytes + at, sizeof x);
    return x;
}

template <unsigned Words>
struct trial {
    const view& t;
    uint32_t categories;  ///< requested categories
    std::array<uint32_t, Words> key{};
    std::array<uint64_t, max_categories> best{};
    double cycles = 0;

    uint64_t least() const {
        uint64_t x = ~uint64_t{0};
        for (unsigned c = 0; c < max_categories; ++c)
            if ((categories >> c & 1) != 0) x = std::min(x, best[c]);
        return x;
    }

    uint32_t categories_of(const uint8_t* masks, uint32_t i) const {
        if (t.categories != 0) return categories;
        uint32_t x = 0;
        for (unsigned c = 0; c < max_categories; ++c)
            x |= (masks[i / 8 * max_categories + c] >> i % 8 & 1u) << c;
        return x;
    }

    void leaf(uint32_t granule, uint32_t info) {
        const uint32_t count = info >> layout::count_at & 0xff;
        const uint8_t* rules = t.arena + uint64_t{granule} * layout::granule_bytes;
        const auto at = [rules](size_t i) {
            uint32_t x;
            std::memcpy(&x, rules + 4 * i, sizeof x);
            return x;
        };
        const uint8_t* tops = rules + 8 * t.stored_words * count;
        cycles += step::leaf;
        for (uint32_t i = 0; i < count; ++i) {
            uint64_t top;
            std::memcpy(&top, tops + 8 * i, sizeof top);
            if (i % scan_step == 0) {
                if (i != 0 && top <= least()) return;
                cycles += t.categories != 0 ? step::scan : step::scan_all;
            }
            bool match = true;
            const unsigned fast = t.stored_words - 1u;
            for (unsigned w = 0; w < fast && match; ++w)
                match =
                    ((key[t.stored[w]] ^ at(2 * w * count + i)) & at((2 * w + 1) * count + i)) == 0;
            const uint32_t ports = key[t.stored[fast]], low = at(2 * fast * count + i),
                           more = at((2 * fast + 1) * count + i);
            if (!match || static_cast<uint16_t>((ports >> 16) - (low >> 16)) > more >> 16 ||
                static_cast<uint16_t>(ports - low) > (more & 0xffff))
                continue;
            const uint32_t in = categories_of(tops + 8 * count, i);
            for (unsigned c = 0; c < max_categories; ++c)
                if ((in >> c & 1) != 0) best[c] = std::max(best[c], top);
        }
    }

    void tree(unsigned number) {
        uint32_t granule = t.roots + number;
        cycles += step::tree;
        for (bool root = true;; root = false) {
            const uint64_t word = load(t, granule, 0), data = load(t, granule, 8);
            const auto info = static_cast<uint32_t>(word);
            if (word == 0 || (info & layout::rank_mask) < least() >> 32 >> t.rank_shift) return;
            granule = static_cast<uint32_t>(word >> 32);
            if ((info & layout::leaf_bit) != 0) {
                const uint32_t filtered = key[t.filter_word[number]];
                if ((filtered & data >> 32) == static_cast<uint32_t>(data)) leaf(granule, info);
                return;
            }
            if (!root) cycles += step::node;
            if ((info & layout::indirect_bit) == 0) granule += cut::from(data).index(key);
        }
    }
};

}  // namespace

template <unsigned Words>
std::vector<std::array<uint32_t, Words>> trial_keys(std::span<const packed_rule<Words>> rules) {
    if (rules.empty()) return {};
    generator next;
    std::vector<std::array<uint32_t, Words>> keys(drawn + random);
    for (unsigned i = 0; i < drawn + random; ++i) {
        auto& key = keys[i];
        for (uint32_t& w : key) w = next();
        if (i < drawn) {
            const auto& r = rules[next() % rules.size()];
            for (unsigned w = 0; w < Words; ++w) key[w] = r.value[w] | (key[w] & ~r.mask[w]);
            const uint32_t any = next();
            const uint32_t source = (r.ports_low >> 16) + (any >> 16) % ((r.ports_more >> 16) + 1);
            const uint32_t destination =
                (r.ports_low & 0xffff) + (any & 0xffff) % ((r.ports_more & 0xffff) + 1);
            key[packed_rule<Words>::ports_word] = source << 16 | destination;
        }
        key = with_classes(key);
    }
    return keys;
}

template <unsigned Words>
double trial_cycles(const view& t, const std::vector<packed_rule<Words>>& rules) {
    uint32_t categories = 0;
    for (const auto& r : rules) categories |= r.categories;
    double cycles = 0;
    for (const auto& key : trial_keys<Words>(rules)) {
        trial<Words> one{t, categories, key};
        for (unsigned n = 0; n < t.trees; ++n) one.tree(n);
        cycles += one.cycles;
    }
    return cycles / (drawn + random);
}

template std::vector<std::array<uint32_t, ipv4_words>> trial_keys<ipv4_words>(
    std::span<const packed_rule<ipv4_words>>);
template std::vector<std::array<uint32_t, ipv6_words>> trial_keys<ipv6_words>(
    std::span<const packed_rule<ipv6_words>>);
template double trial_cycles(const view&, const std::vector<packed_rule<ipv4_words>>&);
template double trial_cycles(const view&, const std::vector<packed_rule<ipv6_words>>&);

}  // namespace turnpike::acl
