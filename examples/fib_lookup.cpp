// SPDX-License-Identifier: BSD-3-Clause
// Longest-prefix match in forty lines: a table, a few routes, a burst of look-ups. No EAL needed.
//   fib_lookup 10.1.2.3 192.0.2.1
#include <arpa/inet.h>

#include <cstdio>
#include <vector>

#include "fib/fib4.hpp"

int main(int argc, char** argv) {
    auto made = turnpike::fib::fib4::create({.name = "example", .default_next_hop = 0});
    if (!made) return std::fprintf(stderr, "%s\n", made.error().message().c_str()), 1;
    turnpike::fib::fib4& table = **made;

    const turnpike::fib::route4 routes[] = {
        {0x0a000000, 8, 1},   // 10.0.0.0/8
        {0x0a010000, 16, 2},  // 10.1.0.0/16
        {0xc0000200, 24, 3},  // 192.0.2.0/24
    };
    if (auto ok = table.load(routes); !ok)
        return std::fprintf(stderr, "%s\n", ok.error().message().c_str()), 1;
    if (auto ok = table.add(0xc0000201, 32, 4); !ok)  // 192.0.2.1/32
        return std::fprintf(stderr, "%s\n", ok.error().message().c_str()), 1;

    std::vector<uint32_t> dst;
    for (int i = 1; i < argc; ++i) {
        in_addr address{};
        if (inet_pton(AF_INET, argv[i], &address) != 1)
            return std::fprintf(stderr, "%s: not an IPv4 address\n", argv[i]), 2;
        dst.push_back(ntohl(address.s_addr));
    }
    std::vector<uint64_t> next_hop(dst.size());
    table.lookup_bulk(dst, next_hop);
    for (size_t i = 0; i < dst.size(); ++i)
        std::printf("%s -> next hop %llu\n", argv[i + 1],
                    static_cast<unsigned long long>(next_hop[i]));
}
