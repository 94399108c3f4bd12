// SPDX-License-Identifier: BSD-3-Clause
// How a node divides its rules: by two runs of key bits. After HiCuts and HyperCuts (Gupta and
// McKeown 1999; Singh et al. 2003), with bits in place of ranges (as BitCuts, Liu et al. 2017).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "acl/rule.hpp"

namespace turnpike::acl {

/// Bits [shift, shift + bits) of a word of the key.
struct bit_run {
    uint8_t word = 0, shift = 0, bits = 0;
    uint32_t mask() const noexcept { return (1u << bits) - 1; }
    uint32_t of(uint32_t x) const noexcept { return x >> shift & mask(); }
    bool next_to(unsigned at_word, unsigned bit) const noexcept {
        return bits != 0 && word == at_word && (bit + 1 == shift || bit == shift + bits);
    }
    bool has(unsigned at_word, unsigned bit) const noexcept {
        return bits != 0 && word == at_word && bit >= shift && bit < shift + bits;
    }
    void add(unsigned at_word, unsigned bit) noexcept {
        shift = static_cast<uint8_t>(bits == 0 || bit < shift ? bit : shift);
        word = static_cast<uint8_t>(at_word);
        ++bits;
    }
};

struct cut {
    bit_run first, second;
    unsigned bits() const noexcept { return first.bits + second.bits; }
    uint32_t children() const noexcept { return 1u << bits(); }
    /// Extract the cut's bits from ternary words: the child index of a value, or its don't-care
    /// mask.
    template <size_t Words>
    uint32_t index(const std::array<uint32_t, Words>& words) const noexcept {
        return first.of(words[first.word]) | second.of(words[second.word]) << first.bits;
    }
    uint64_t data() const noexcept {  // layout.hpp: data of a node's entry
        const auto half = [](const bit_run& r) {
            return r.word | uint32_t{r.shift} << 8 | r.mask() << 16;
        };
        return half(first) | uint64_t{half(second)} << 32;
    }
    static cut from(uint64_t data) noexcept;
};

struct cut_limits {
    unsigned bits;  ///< at most
    double copies;  ///< rules in all children together, at most
};

/// Expected cycles of a node with `rules` rules, subtree included; a model, its constants from
/// turnpike-bench-acl on Zen 4.
double expected_cycles(double rules) noexcept;

/// The cut with the fewest expected cycles for packets that match one of the rules.
///
/// rules  indexed by `set`
template <unsigned Words>
std::optional<cut> choose_cut(std::span<const packed_rule<Words>> rules,
                              std::span<const uint32_t> set, const cut_limits& limits);

}  // namespace turnpike::acl
