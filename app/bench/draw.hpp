// SPDX-License-Identifier: BSD-3-Clause
// Random numbers of generated tables and rule sets: the same for the same seed, whatever the
// compiler and its library.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace turnpike::bench {

class draw {
  public:
    explicit draw(uint64_t seed) : random_(seed) {}

    uint64_t bits() { return random_(); }
    /// Requires  bound > 0
    uint64_t below(uint64_t bound) { return random_() % bound; }
    uint64_t between(uint64_t least, uint64_t most) { return least + below(most - least + 1); }
    bool percent(unsigned p) { return below(100) < p; }
    /// Every order of magnitude is equally probable.
    uint64_t magnitude(uint64_t least, uint64_t most) {
        const double from = std::log(static_cast<double>(least));
        const double to = std::log(static_cast<double>(most) + 1);
        const double at = static_cast<double>(random_() >> 11) * 0x1p-53;
        return std::clamp(static_cast<uint64_t>(std::exp(from + at * (to - from))), least, most);
    }
    /// An index, by weight. Requires a weight that is not 0.
    size_t weighted(std::span<const unsigned> weights) {
        uint64_t total = 0;
        for (const unsigned w : weights) total += w;
        uint64_t at = below(total);
        size_t i = 0;
        while (at >= weights[i]) at -= weights[i++];
        return i;
    }
    /// Weights of which some dominate; never all 0.
    template <size_t N>
    std::array<unsigned, N> weights() {
        std::array<unsigned, N> all{};
        for (unsigned& w : all) w = percent(40) ? static_cast<unsigned>(magnitude(1, 100)) : 0;
        all[below(N)] += 30;
        return all;
    }
    template <class T>
    const T& one_of(std::span<const T> all) {
        return all[below(all.size())];
    }
    template <class T>
    void shuffle(std::span<T> all) {
        for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
    }

  private:
    std::mt19937_64 random_;
};

/// The seed of set `number` of a run.
inline uint64_t seed_of_set(uint64_t seed, unsigned number) {
    return draw(seed * 1'000'003 + number).bits();
}

}  // namespace turnpike::bench
