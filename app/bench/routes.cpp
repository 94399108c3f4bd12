// SPDX-License-Identifier: BSD-3-Clause
#include "routes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>

#include "base/byte_order.hpp"
#include "net/ip.hpp"
#include "yaml/lines.hpp"

namespace turnpike::bench {
namespace {

using fib::address;

uint64_t mix(uint64_t x) {  // splitmix64's finaliser
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

struct length_share {
    unsigned length;
    unsigned weight;
};
// Number of prefixes per length in a full table of January 2024, in hundreds.
constexpr length_share shares4[] = {{8, 1},     {10, 1},   {11, 1},   {12, 3},    {13, 6},
                                    {14, 12},   {15, 21},  {16, 135}, {17, 82},   {18, 138},
                                    {19, 249},  {20, 426}, {21, 508}, {22, 1086}, {23, 965},
                                    {24, 5377}, {25, 1},   {28, 1},   {29, 1},    {32, 9}};
constexpr length_share shares6[] = {{24, 1},  {28, 2},   {29, 44}, {30, 7},   {31, 3},  {32, 225},
                                    {33, 29}, {34, 26},  {35, 10}, {36, 60},  {37, 9},  {38, 16},
                                    {39, 14}, {40, 134}, {41, 9},  {42, 23},  {43, 10}, {44, 144},
                                    {45, 16}, {46, 30},  {47, 32}, {48, 755}, {56, 1},  {64, 2}};

/// Address ranges that the registries allocate from.
address any_allocation(int family, std::mt19937_64& random) {
    if (family == 4)
        return address{}.with(0, 20, 0x01000 + static_cast<uint32_t>(random() % 0xdf000));
    static constexpr uint32_t regions[] = {0x20010, 0x24000, 0x26000, 0x28000,
                                           0x2a000, 0x2a000, 0x2c0f0};
    return address{}
        .with(0, 16, regions[random() % std::size(regions)] >> 4)
        .with(16, 12, static_cast<uint32_t>(random() % 1600));
}

}  // namespace

address next_prefix(const address& a, unsigned length) {
    const address one = address{}.with(length - 1, 1, 1);
    const uint64_t low = a.low + one.low;
    return {a.high + one.high + (low < a.low), low};
}

routes read_routes(const std::string& file, int family) {
    auto in = yaml::lines::open(file);
    if (!in) throw std::runtime_error(in.error().message());
    routes table;
    while (true) {
        const auto next = in->next();
        if (!next) throw std::runtime_error(next.error().message());
        if (!*next) return table;
        const std::string_view line = (*next)->substr(0, (*next)->find_last_not_of(" \t") + 1);
        const bool ipv6 = line.find(':') != std::string_view::npos;
        if (line.empty() || ipv6 != (family == 6)) continue;
        const auto prefix = parse_prefix(line);
        if (!prefix)
            throw std::runtime_error(error{EINVAL, in->where(), prefix.error().text}.message());
        const uint8_t* bytes = prefix->address.bytes.data();
        const address a{load_be<uint64_t>(bytes), load_be<uint64_t>(bytes + 8)};
        table.push_back({a.masked(prefix->length), prefix->length, 0});
    }
}

routes generate_routes(int family, size_t count) {
    std::mt19937_64 random(family);
    const std::span<const length_share> shares = family == 4
                                                     ? std::span<const length_share>(shares4)
                                                     : std::span<const length_share>(shares6);
    std::vector<unsigned> lengths;
    for (const auto& s : shares) lengths.insert(lengths.end(), s.weight, s.length);
    std::map<std::tuple<uint64_t, uint64_t, unsigned>, bool> seen;
    routes table;
    while (table.size() < count) {
        // A run of adjacent prefixes of one length in an allocation, with occasional holes.
        const unsigned length = lengths[random() % lengths.size()];
        address at = any_allocation(family, random);
        for (unsigned bit = family == 4 ? 20 : 28; bit < length; ++bit)
            at = at.with(bit, 1, random() % 4 == 0);
        at = at.masked(length);
        for (uint64_t run = 1 + random() % 24; run > 0 && table.size() < count; --run) {
            if (random() % 4 != 0 && seen.try_emplace({at.high, at.low, length}, true).second)
                table.push_back({at, static_cast<uint8_t>(length), 0});
            at = next_prefix(at, length);
        }
    }
    return table;
}

routes eight_routes(int family) {
    routes table{{{}, 0, 0}};
    if (family == 4) {
        table.push_back({address{}.with(0, 32, 0x0a000000), 8, 0});
        table.push_back({address{}.with(0, 32, 0xac100000), 12, 0});
        for (uint32_t i = 0; i < 5; ++i)
            table.push_back({address{}.with(0, 32, 0xc6120000 + (i << 8)), 24, 0});
    } else {
        table.push_back({address{}.with(0, 32, 0x20010db8), 32, 0});
        table.push_back({address{}.with(0, 32, 0xfd000000), 8, 0});
        for (uint32_t i = 0; i < 5; ++i)
            table.push_back({address{}.with(0, 32, 0x20010200).with(48, 16, i), 64, 0});
    }
    return table;
}

void assign_next_hops(routes& table, uint64_t distinct) {
    for (auto& r : table)
        r.next_hop = 1 + mix(r.prefix.high ^ mix(r.prefix.low ^ r.length)) % distinct;
}

namespace {

address within(const fib::entry& r, int family, std::mt19937_64& random) {
    const address any{random(), random()};
    const address keep = any.masked(r.length);
    return address{r.prefix.high | (any.high ^ keep.high), r.prefix.low | (any.low ^ keep.low)}
        .masked(family == 4 ? 32 : 128);
}

std::vector<address> uniform_traffic(routes table, int family, size_t count,
                                     std::mt19937_64& random) {
    std::sort(table.begin(), table.end(), [](const fib::entry& a, const fib::entry& b) {
        return std::tuple(a.prefix.high, a.prefix.low, a.length) <
               std::tuple(b.prefix.high, b.prefix.low, b.length);
    });
    std::vector<const fib::entry*> outermost;
    std::vector<double> up_to;
    double total = 0;
    for (const auto& r : table) {
        if (r.length == 0) continue;
        if (!outermost.empty() &&
            r.prefix.masked(outermost.back()->length) == outermost.back()->prefix)
            continue;
        outermost.push_back(&r);
        up_to.push_back(total += std::exp2(-static_cast<double>(r.length)));
    }
    std::uniform_real_distribution<double> where(0, total);
    std::vector<address> out;
    for (size_t i = 0; i < count; ++i) {
        const auto at = std::lower_bound(up_to.begin(), up_to.end(), where(random)) - up_to.begin();
        out.push_back(within(*outermost[static_cast<size_t>(at)], family, random));
    }
    return out;
}

std::vector<address> zipf_traffic(const std::function<address()>& by_prefix, size_t count,
                                  const locality& how, std::mt19937_64& random) {
    std::vector<address> flow, out;
    std::vector<double> up_to;
    double total = 0;
    for (size_t i = 0; i < how.flows; ++i) {
        flow.push_back(by_prefix());
        up_to.push_back(total += std::pow(static_cast<double>(i + 1), -how.exponent));
    }
    std::uniform_real_distribution<double> where(0, total);
    while (out.size() < count)
        out.push_back(flow[static_cast<size_t>(
            std::lower_bound(up_to.begin(), up_to.end(), where(random)) - up_to.begin())]);
    return out;
}

/// Repeats addresses, 1 to 2 * train - 1 times each; the number of addresses stays.
void form_trains(std::vector<address>& all, uint64_t train, std::mt19937_64& random) {
    for (size_t at = 0; at < all.size();)
        for (uint64_t n = 1 + random() % (2 * train - 1), first = at++; --n > 0 && at < all.size();)
            all[at++] = all[first];
}

}  // namespace

std::vector<address> make_traffic(const routes& table, int family, const std::string& kind,
                                  size_t count, const locality& how) {
    std::mt19937_64 random(how.seed);
    const auto by_prefix = [&] { return within(table[random() % table.size()], family, random); };
    std::vector<address> out;
    if (kind == "uniform") {
        out = uniform_traffic(table, family, count, random);
    } else if (kind == "prefix") {
        out.reserve(count);
        while (out.size() < count) out.push_back(by_prefix());
    } else if (kind == "zipf") {
        out = zipf_traffic(by_prefix, count, how, random);
    } else {
        out.assign(count, within(table.back(), family, random));
    }
    if (how.train > 1) form_trains(out, how.train, random);
    return out;
}

}  // namespace turnpike::bench
