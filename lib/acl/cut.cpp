// SPDX-License-Identifier: BSD-3-Clause
#include "acl/cut.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace turnpike::acl {
namespace {

constexpr size_t sample_size = 256;  ///< rules that a cut is chosen by
constexpr double node_cycles = 6, leaf_cycles = 10, halving_cycles = 2;
constexpr double doubling_cycles = 1;  ///< cycles for twice the memory, in cache misses
constexpr size_t known_costs = 4096;

constexpr auto single_bits = [] {
    std::array<uint32_t, 32> bits{};
    for (unsigned b = 0; b < 32; ++b) bits[b] = 1u << b;
    return bits;
}();

const std::array<float, known_costs>& cost_table() noexcept {
    static const auto table = [] {
        std::array<float, known_costs> t{};
        for (size_t n = 1; n < known_costs; ++n)
            t[n] = static_cast<float>(leaf_cycles +
                                      (n > 8 ? halving_cycles * std::log2(double(n) / 8) : 0));
        return t;
    }();
    return table;
}

/// One run of the search: adds bits to a cut, one at a time, by their effect on a sample of the
/// rules. The sample's copies in children are (rule, child) pairs.
template <unsigned Words>
class search {
  public:
    search(std::span<const packed_rule<Words>> rules, std::span<const uint32_t> set,
           const cut_limits& limits)
        : limits_(limits), all_(static_cast<double>(set.size())) {
        const double stride = std::max(1.0, all_ / sample_size);
        for (unsigned w = 0; w < Words; ++w) {
            value_[w].reserve(std::min(set.size(), sample_size + 1));
            mask_[w].reserve(std::min(set.size(), sample_size + 1));
        }
        for (double at = 0; at < all_; at += stride) {
            const auto& r = rules[set[static_cast<size_t>(at)]];
            for (unsigned w = 0; w < Words; ++w) {
                value_[w].push_back(r.value[w]);
                mask_[w].push_back(r.mask[w]);
            }
        }
        scale_ = all_ / static_cast<double>(value_[0].size());
        rank_bits();
    }

    std::optional<cut> best() {
        for (size_t start = 0; start < std::min(starts_.size(), size_t{2}); ++start) grow(start);
        return best_;
    }

  private:
    struct cut_bit {
        uint8_t word, bit;
        uint32_t halves;  ///< the lesser of the numbers of rules with 0 and with 1
    };

    void rank_bits() {
        for (unsigned w = 0; w < Words; ++w) {
            uint32_t cared[32] = {}, ones[32] = {}, any = 0;
            for (const uint32_t m : mask_[w]) any |= m;
            if (any == 0) continue;
            for (size_t i = 0; i < mask_[w].size(); ++i)
                for (unsigned b = 0; b < 32; ++b) {  // compare: vectors have no per-lane shift here
                    cared[b] += (mask_[w][i] & single_bits[b]) != 0;
                    ones[b] += (value_[w][i] & single_bits[b]) != 0;
                }
            cut_bit best_of_word{0, 0, 0};
            for (unsigned b = 0; b < 32; ++b) {
                const uint32_t halves = std::min(ones[b], cared[b] - ones[b]);
                if (halves == 0) continue;
                candidates_.push_back({static_cast<uint8_t>(w), static_cast<uint8_t>(b), halves});
                if (halves > best_of_word.halves) best_of_word = candidates_.back();
            }
            if (best_of_word.halves != 0) starts_.push_back(best_of_word);
        }
        const auto more = [](const cut_bit& a, const cut_bit& b) { return a.halves > b.halves; };
        std::stable_sort(starts_.begin(), starts_.end(), more);
        std::stable_sort(candidates_.begin(), candidates_.end(), more);
    }

    /// The cost of the cut with one more bit; stores the copies in `pairs`.
    double try_bit(const cut_bit& p, unsigned bits) {
        count_.assign(size_t{2} << bits, 0);
        size_t pairs = 0;
        const auto& value = value_[p.word];
        const auto& mask = mask_[p.word];
        for (size_t j = 0; j < who_.size(); ++j) {  // branch-free: the bits are unpredictable
            const uint32_t child = child_[j] * 2, i = who_[j];
            const uint32_t cared = mask[i] >> p.bit & 1, one = value[i] >> p.bit & cared;
            ++count_[child + one];
            count_[child + 1] += 1 - cared;
            pairs += 2 - cared;
        }
        const double copies = static_cast<double>(pairs) * scale_;
        if (copies > limits_.copies) return 1e9;
        double cycles = 0;
        for (const uint32_t c : count_)
            if (c != 0) cycles += c * expected_cycles(c * scale_);
        return node_cycles + cycles / static_cast<double>(pairs) +
               doubling_cycles * std::log2(copies / all_);
    }

    void add_bit(const cut_bit& p) {
        const size_t now = who_.size();
        for (size_t j = 0; j < now; ++j) {
            child_[j] *= 2;
            if ((mask_[p.word][who_[j]] >> p.bit & 1) != 0) {
                child_[j] += value_[p.word][who_[j]] >> p.bit & 1;
            } else {
                who_.push_back(who_[j]);
                child_.push_back(child_[j] + 1);
            }
        }
    }

    void grow(size_t start) {
        who_.resize(value_[0].size());
        for (size_t i = 0; i < who_.size(); ++i) who_[i] = static_cast<uint32_t>(i);
        child_.assign(who_.size(), 0);
        cut c;
        cut_bit next = starts_[start];
        for (unsigned bits = 0; bits < limits_.bits; ++bits) {
            double least = 1e9;
            if (bits == 0) {
                least = try_bit(next, 0);
            } else {
                unsigned fresh = 0;
                for (const cut_bit& p : candidates_) {
                    if (c.first.has(p.word, p.bit) || c.second.has(p.word, p.bit)) continue;
                    const bool extends = (c.first.next_to(p.word, p.bit) && c.first.bits < 16) ||
                                         (c.second.next_to(p.word, p.bit) && c.second.bits < 16);
                    if (!extends && (c.second.bits != 0 || ++fresh > 6)) continue;
                    if (const double cost = try_bit(p, bits); cost < least) least = cost, next = p;
                }
            }
            if (least >= 1e9) break;
            const bool to_first =
                c.first.bits == 0 || (c.first.next_to(next.word, next.bit) && c.first.bits < 16);
            (to_first ? c.first : c.second).add(next.word, next.bit);
            add_bit(next);
            if (least < cycles_) cycles_ = least, best_ = c;
        }
    }

    cut_limits limits_;
    double all_, scale_ = 1;
    std::vector<uint32_t> value_[Words], mask_[Words];
    std::vector<cut_bit> starts_, candidates_;
    std::vector<uint32_t> who_, child_, count_;
    double cycles_ = 1e9;
    std::optional<cut> best_;
};

}  // namespace

double expected_cycles(double rules) noexcept {
    const auto n = static_cast<size_t>(rules + 0.5);
    return n < known_costs ? double{cost_table()[n]}
                           : leaf_cycles + halving_cycles * std::log2(rules / 8);
}

cut cut::from(uint64_t data) noexcept {
    const auto half = [](uint32_t x) {
        return bit_run{static_cast<uint8_t>(x), static_cast<uint8_t>(x >> 8),
                       static_cast<uint8_t>(std::popcount(x >> 16))};
    };
    return {half(static_cast<uint32_t>(data)), half(static_cast<uint32_t>(data >> 32))};
}

template <unsigned Words>
std::optional<cut> choose_cut(std::span<const packed_rule<Words>> rules,
                              std::span<const uint32_t> set, const cut_limits& limits) {
    return search<Words>(rules, set, limits).best();
}

template std::optional<cut> choose_cut(std::span<const packed_rule<ipv4_words>>,
                                       std::span<const uint32_t>, const cut_limits&);
template std::optional<cut> choose_cut(std::span<const packed_rule<ipv6_words>>,
                                       std::span<const uint32_t>, const cut_limits&);

}  // namespace turnpike::acl
