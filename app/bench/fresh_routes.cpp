// SPDX-License-Identifier: BSD-3-Clause
#include "fresh_routes.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <tuple>

#include "draw.hpp"

namespace turnpike::bench {
namespace {

using fib::address;

/// rte_fib's limit, less a bit: a table of 2 bytes stores 15 bits.
constexpr uint64_t max_next_hops_2_bytes = 30'000;

/// Structures of a table, each with a share of its routes.
enum structure : size_t { scattered, neighbours, nested, hosts, structures };

/// Draws the routes of one table.
class table_generator {
  public:
    table_generator(int family, draw& random)
        : random_(random), v4_(family == 4), shares_(random.weights<structures>()) {
        const unsigned shortest = v4_ ? 8 : 20, longest = v4_ ? 24 : 64;
        for (uint64_t peaks = random.between(1, 4); peaks > 0; --peaks)
            peaks_.push_back(static_cast<unsigned>(random.between(shortest, longest)));
        spread_ = static_cast<unsigned>(random.between(0, 6));
        for (uint64_t n = random.magnitude(1, 300); n > 0; --n) {
            const auto length =
                static_cast<unsigned>(v4_ ? random.between(4, 14) : random.between(16, 36));
            blocks_.push_back({any_address().masked(length), length});
        }
        for (uint64_t n = random.magnitude(1, v4_ ? 8000 : 2000); n > 0; --n) {
            const unsigned length = v4_ ? 24 : 64;
            subnets_.push_back({in_block(length), length});
        }
        longest_run_ = random.magnitude(2, 200);
        same_next_hop_ = static_cast<unsigned>(random.between(0, 95));
        next_hops = random.magnitude(1, 60'000);
    }

    routes make(size_t count) {
        if (random_.percent(60)) put({}, 0);
        for (size_t tries = 0; table_.size() < count && tries < 8 * count; ++tries)
            put_structure(random_.weighted(shares_), count);
        return std::move(table_);
    }

    std::string statistics() const {
        std::string lengths;
        for (const unsigned p : peaks_)
            lengths += fmt::format("{}/{}", lengths.empty() ? "" : " ", p);
        return fmt::format(
            "{} blocks, scattered {} neighbours {} nested {} hosts {}, lengths around {} +-{}, "
            "runs "
            "of up to {}, {} next hops, {} % as the route before",
            blocks_.size(), shares_[scattered], shares_[neighbours], shares_[nested],
            shares_[hosts], lengths, spread_, longest_run_, next_hops, same_next_hop_);
    }

    uint64_t next_hops;

  private:
    struct block {
        address at;
        unsigned length;
    };

    address any_address() {
        if (v4_)
            return address{}.with(0, 32, static_cast<uint32_t>(random_.between(1, 0xdfff'ffff)));
        // 2000::/3, as all global unicast addresses
        return {uint64_t{1} << 61 | random_.bits() >> 3, random_.bits()};
    }

    /// A prefix in one of the blocks; early blocks have more of them.
    address in_block(unsigned length) {
        const block& b = blocks_[random_.below(1 + random_.below(blocks_.size()))];
        return within(b, length);
    }

    address within(const block& b, unsigned length) {
        const address any{random_.bits(), random_.bits()};
        const address keep = any.masked(b.length);
        return address{b.at.high | (any.high ^ keep.high), b.at.low | (any.low ^ keep.low)}.masked(
            length);
    }

    unsigned length() {
        const unsigned shortest = v4_ ? 8 : 16, longest = v4_ ? 24 : 64;
        unsigned length = peaks_[random_.below(peaks_.size())];
        for (unsigned i = 0; i < spread_; ++i)
            length += static_cast<unsigned>(random_.below(3)) - 1;
        return std::clamp(length, shortest, longest);
    }

    void put(const address& a, unsigned length) {
        if (!seen_.insert({a.high, a.low, length}).second) return;
        if (table_.empty() || !random_.percent(same_next_hop_))
            next_hop_ = 1 + random_.below(next_hops);
        table_.push_back({a, static_cast<uint8_t>(length), next_hop_});
    }

    void put_structure(size_t which, size_t count) {
        if (which == nested && !table_.empty()) {
            const fib::entry around = table_[random_.below(table_.size())];
            const unsigned longest = v4_ ? 24 : 64;
            if (around.length >= longest) return;
            const auto length = static_cast<unsigned>(
                std::min<uint64_t>(longest, around.length + random_.between(1, 8)));
            put(within({around.prefix, around.length}, length), length);
        } else if (which == neighbours) {
            const unsigned l = length();
            address at = in_block(l);
            for (uint64_t run = random_.between(1, longest_run_); run > 0 && table_.size() < count;
                 --run) {
                if (!random_.percent(15)) put(at, l);
                at = next_prefix(at, l);
            }
        } else if (which == hosts) {
            const auto l = static_cast<unsigned>(
                random_.percent(70) ? (v4_ ? 32 : 128)
                                    : random_.between(v4_ ? 25 : 65, v4_ ? 31 : 127));
            put(within(subnets_[random_.below(subnets_.size())], l), l);
        } else {
            const unsigned l = length();
            put(random_.percent(50) ? in_block(l) : any_address().masked(l), l);
        }
    }

    draw& random_;
    bool v4_;
    std::array<unsigned, structures> shares_;
    std::vector<unsigned> peaks_;  ///< frequent lengths
    unsigned spread_;              ///< the most by which other lengths differ from these
    std::vector<block> blocks_, subnets_;
    uint64_t longest_run_;
    unsigned same_next_hop_;  ///< per cent of routes that have the next hop of the one before
    uint64_t next_hop_ = 0;
    std::set<std::tuple<uint64_t, uint64_t, unsigned>> seen_;
    routes table_;
};

}  // namespace

fresh_table draw_table(int family, uint64_t seed) {
    draw random(seed + static_cast<uint64_t>(family));
    table_generator generator(family, random);
    fresh_table made;
    made.table = generator.make(random.magnitude(4, family == 4 ? 300'000 : 60'000));
    if (made.table.empty()) made.table.push_back({{}, 0, 1});
    constexpr std::array<unsigned, 3> widths{2, 4, 8};
    made.width_bytes = widths[family == 4 ? random.below(3) : random.between(1, 2)];
    made.next_hops = generator.next_hops;
    if (made.width_bytes == 2 && made.next_hops > max_next_hops_2_bytes) {
        made.next_hops = max_next_hops_2_bytes;
        for (auto& r : made.table) r.next_hop = 1 + r.next_hop % made.next_hops;
    }
    made.traffic = {random.bits(), random.magnitude(8, 1'000'000),
                    static_cast<double>(random.between(0, 150)) / 100,
                    random.percent(50) ? 1 : random.between(2, 8)};
    constexpr std::array<uint32_t, 3> bursts{32, 64, 256};
    made.burst = bursts[random.below(3)];
    made.statistics = fmt::format("{} routes, {}; {} flows, exponent {:.2f}, trains of {}",
                                  made.table.size(), generator.statistics(), made.traffic.flows,
                                  made.traffic.exponent, made.traffic.train);
    return made;
}

}  // namespace turnpike::bench
