// SPDX-License-Identifier: BSD-3-Clause
// Sequences of add, remove and lookup against a plain binary trie, both families.
// An operation is 8 bytes: kind, length, 4 address bytes, 2 of next hop.
// Making a table takes as long as a thousand inputs, so inputs share one per family, which each
// input empties at its end: a failure may need the inputs before it (run the corpus, in order).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>

#include "unit/fib/family.hpp"

namespace {

using namespace turnpike::fib;
using namespace turnpike::fib::test;

void require(bool holds) {
    if (!holds) std::abort();
}

template <class Family>
void run(const uint8_t* data, size_t size) {
    static const auto table = *Family::table_type::create({.next_hop_bytes = 8});
    oracle expected;
    std::set<std::tuple<uint64_t, uint64_t, unsigned>> there;
    for (; size >= 8; data += 8, size -= 8) {
        const unsigned length = data[1] % (Family::bits + 1);
        uint32_t front;
        uint16_t next_hop;
        std::memcpy(&front, data + 2, sizeof front);
        std::memcpy(&next_hop, data + 6, sizeof next_hop);
        // The same bytes at several depths, so that few inputs reach every level.
        address a = address{}.with(0, 32, front);
        if (Family::bits == 128) a = a.with(32, 32, front).with(64, 32, front).with(96, 32, front);
        const address prefix = a.masked(length);
        if (data[0] % 4 == 0) {
            const bool known = there.erase({prefix.high, prefix.low, length}) != 0;
            require(bool(table->remove(Family::from(prefix), length)) == known);
            expected.remove(prefix, length);
        } else if (data[0] % 4 != 3) {
            require(bool(table->add(Family::from(prefix), length, next_hop)));
            expected.add(prefix, length, next_hop);
            there.insert({prefix.high, prefix.low, length});
        }
        std::vector<address> at{a};
        add_edges(at, prefix, length, Family::bits);
        std::vector<typename Family::address_type> dst;
        for (const address& x : at) dst.push_back(Family::from(x));
        std::vector<uint64_t> nexthop(dst.size());
        table->lookup_bulk(dst, nexthop);
        for (size_t i = 0; i < at.size(); ++i) require(nexthop[i] == expected.lookup(at[i]));
    }
    require(table->stats().routes == there.size());
    for (const auto& [high, low, length] : there)
        require(bool(table->remove(Family::from(address{high, low}), length)));
    require(table->stats().next_hops == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    data[0] % 2 ? run<ipv4>(data + 1, size - 1) : run<ipv6>(data + 1, size - 1);
    return 0;
}
