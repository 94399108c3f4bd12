// SPDX-License-Identifier: BSD-3-Clause
// The search for a placement: tries paddings from none to max_overhead and takes the first even
// one.
#include <algorithm>
#include <numeric>

#include "cache/histogram.hpp"
#include "cache/placement.hpp"

namespace turnpike::cache {
namespace {

/// Deviation of a candidate from an even spread; less is better.
struct verdict {
    unsigned at_end = 0;      ///< excess lines in a set, with all objects placed
    unsigned on_the_way = 0;  ///< worst excess while the pool fills up
    double uneven = 0;        ///< fraction of the fill-up with an excess

    /// Tolerates an excess of one line now and then while the pool fills up: avoiding it is not
    /// worth memory.
    [[nodiscard]] bool good() const { return at_end == 0 && on_the_way <= 1 && uneven <= 0.05; }
    [[nodiscard]] bool better_than(const verdict& o) const {
        if (at_end != o.at_end) return at_end < o.at_end;
        if (on_the_way != o.on_the_way) return on_the_way < o.on_the_way;
        return uneven < o.uneven - 0.02;
    }
};

/// Place objects at one cache level, in memory that starts at `address`, and check after each. Where objects are aligned to
/// several lines, no placement changes which of them an object takes: those sets count as one.
void fill(const placement& p, const level& l, const std::vector<uint32_t>& hot, uint64_t address,
          uint64_t objects, verdict& v) {
    const uint32_t unit = std::max(p.align, l.line_bytes);
    const uint32_t sets = l.sets_of(unit), room = l.ways * (unit / l.line_bytes);
    std::vector<uint32_t> lines(sets);
    uint32_t fullest = 0;
    uint64_t uneven = 0;
    unsigned too_many = 0;
    for (uint64_t n = 1; n <= objects; ++n) {
        const uint64_t start = p.next(address);
        for (const uint32_t offset : hot)
            fullest = std::max(fullest, ++lines[(start + offset) / unit % sets]);
        const uint64_t allowed = max_lines(n * hot.size(), sets);
        too_many = fullest > allowed ? static_cast<unsigned>(fullest - allowed) : 0;
        if (too_many != 0 && fullest > room) {  // otherwise the cache holds all of them anyway
            ++uneven;
            v.on_the_way = std::max(v.on_the_way, too_many);
        }
        address = start + uint64_t{p.object} * p.align;
    }
    v.at_end = std::max(v.at_end, too_many);
    v.uneven = std::max(v.uneven, static_cast<double>(uneven) / static_cast<double>(objects));
}

/// The pool's start address is unknown: try several random ones, more for small pools.
constexpr unsigned starts(uint64_t objects) { return objects < 2048 ? 64 : 8; }
constexpr uint64_t start_address(unsigned i, uint32_t align) {
    return (i * 0x9e3779b97f4a7c15u >> 38) / align * align;  // a Weyl sequence over 64 MB
}

verdict evaluate(const placement& p, const std::vector<const level*>& levels,
                 const std::vector<uint32_t>& hot, uint64_t objects, const verdict* least) {
    // Beyond this mean further objects repeat the pattern evenly.
    constexpr uint64_t mean_enough = 24;
    verdict v;
    for (unsigned i = 0; i < starts(objects); ++i) {
        for (const level* l : levels)
            fill(p, *l, hot, start_address(i, p.align),
                 std::min(objects, mean_enough * l->sets / hot.size() + 1), v);
        if (least != nullptr && !v.better_than(*least)) break;
    }
    return v;
}

/// Fraction of steps between objects with the less common length: 0 to 0.5.
double irregularity(const placement& p) {
    const uint32_t longer = p.step % p.step_objects;
    return static_cast<double>(std::min(longer, p.step_objects - longer)) / p.step_objects;
}

/// Candidates: grids with steps of object + p/q units that cost at most max_overhead, and adjacent
/// objects with turned pages (by the golden section of the unused rest, so that the offsets of any
/// few pages differ). Constant steps come first, then steps that rarely vary, since hardware
/// prefetchers follow them (turnpike-bench-mempool, the walk of 4,096 buffers, 3 to 6 %); then the
/// cheapest.
std::vector<placement> candidates(const placement& dense) {
    std::vector<placement> out;
    // With many objects per page, skipping one at the page's end is cheap for the grid, and its
    // pattern continues on the next page.
    constexpr uint32_t many = 4096;
    if (dense.how == placement::kind::pages && dense.per_page < many) {
        out.push_back(dense);
        const uint64_t left = dense.page - uint64_t{dense.per_page} * dense.object;
        out.back().turn = static_cast<uint32_t>(static_cast<double>(left + 1) * 0.618);
    }
    placement grid = dense;
    grid.how = placement::kind::grid;
    for (uint32_t q : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 16u, 32u, 64u, 128u, 256u})
        for (uint32_t p = 0; p <= 6 * q; ++p) {
            if (std::gcd(p, q) != 1 || (q > 8 && p % q > 3)) continue;
            grid.step_objects = q;
            grid.step = grid.object * q + p;
            if (grid.overhead() <= max_overhead) out.push_back(grid);
        }
    const auto rank = [](const placement& p) {
        const double i = irregularity(p);
        return std::pair(i == 0 ? 0 : i <= 0.125 ? 1 : 2, p.overhead());
    };
    std::stable_sort(out.begin(), out.end(),
                     [&rank](const placement& a, const placement& b) { return rank(a) < rank(b); });
    return out;
}

}  // namespace

placement place(const object_layout& layout, const geometry& caches, uint64_t page_bytes,
                uint64_t objects) {
    const placement dense = packed(layout, page_bytes);
    std::vector<const level*> levels;
    for (const level& l : caches.levels)
        if (l.number <= 2 && (dense.page == 0 || l.way_bytes() <= page_bytes)) levels.push_back(&l);
    const auto all = candidates(dense);
    placement best = all.front();
    if (levels.empty() || layout.hot.empty()) return best;
    verdict least = evaluate(best, levels, layout.hot, objects, nullptr);
    for (size_t i = 1; i < all.size() && !least.good(); ++i)
        if (const verdict v = evaluate(all[i], levels, layout.hot, objects, &least);
            v.better_than(least)) {
            least = v;
            best = all[i];
        }
    return best;
}

}  // namespace turnpike::cache
