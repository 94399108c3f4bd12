// SPDX-License-Identifier: BSD-3-Clause
// One test body for both families: what differs between fib4 and fib6, and random routes for each.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "base/byte_order.hpp"
#include "fib/fib4.hpp"
#include "fib/fib6.hpp"
#include "unit/fib/oracle.hpp"

namespace turnpike::fib::test {

struct ipv4 {
    using table_type = fib4;
    using route_type = route4;
    using address_type = uint32_t;
    static constexpr unsigned bits = 32;
    static constexpr const char* name = "ipv4";
    static address_type from(const address& a) { return static_cast<uint32_t>(a.high >> 32); }
    static auto kernels() { return lookup4_kernels(); }
    /// Lengths on both sides of every level's edge.
    static constexpr unsigned lengths[] = {0,  1,  8,  16, 17, 18, 19, 20,
                                           22, 23, 24, 25, 27, 30, 31, 32};
};

struct ipv6 {
    using table_type = fib6;
    using route_type = route6;
    using address_type = ipv6_address;
    static constexpr unsigned bits = 128;
    static constexpr const char* name = "ipv6";
    static address_type from(const address& a) {
        ipv6_address out;
        store_be(out.bytes, a.high);
        store_be(out.bytes + 8, a.low);
        return out;
    }
    static auto kernels() { return lookup6_kernels(); }
    static constexpr unsigned lengths[] = {0,  3,  15, 16, 17, 24, 25, 29, 32, 33,  40,  44, 47,
                                           48, 49, 56, 63, 64, 65, 72, 96, 97, 120, 127, 128};
};

/// Random prefixes that nest and neighbour each other: few distinct bits at the front.
template <class Family>
class prefixes {
  public:
    explicit prefixes(uint32_t seed) : random_(seed) {}
    address any_address() {
        address a{random_() << 32 | (random_() & 0xffff'ffff),
                  random_() << 32 | (random_() & 0xffff'ffff)};
        // Three of four share long stretches, so that nodes of every level fill up.
        const unsigned dense = random_() % 4;
        if (dense > 0) a.high &= 0x0101'0300'0000'0000 | (random_() % 2 ? 0xff : 0x0f00'0000'00ff);
        if (dense > 1) a.low &= 0xff00'0000'0000'00ff;
        return Family::bits == 32 ? address{a.high << (random_() % 3 == 0 ? 8 : 0), 0}.masked(32)
                                  : a;
    }
    unsigned any_length() {
        return random_() % 3 == 0 ? static_cast<unsigned>(random_() % (Family::bits + 1))
                                  : Family::lengths[random_() % std::size(Family::lengths)];
    }
    uint64_t operator()() { return random_(); }

  private:
    std::mt19937_64 random_;
};

/// Every address where an answer may change: first and last of the prefix, and their neighbours.
inline void add_edges(std::vector<address>& to, const address& a, unsigned length, unsigned bits) {
    const auto ones = [](unsigned n) {
        return n == 0 ? 0 : n >= 64 ? ~uint64_t{0} : ~uint64_t{0} << (64 - n);
    };
    const address host{~ones(std::min(length, 64U)), ~ones(length > 64 ? length - 64 : 0)};
    const address last = address{a.high | host.high, a.low | host.low}.masked(bits);
    const address unit = bits == 32 ? address{uint64_t{1} << 32, 0} : address{0, 1};
    const auto plus = [](address x, address y) {
        const uint64_t low = x.low + y.low;
        return address{x.high + y.high + (low < x.low), low};
    };
    const auto minus = [](address x, address y) {
        return address{x.high - y.high - (x.low < y.low), x.low - y.low};
    };
    for (const address& x : {a, last, plus(last, unit), minus(a, unit)}) to.push_back(x);
}

}  // namespace turnpike::fib::test
