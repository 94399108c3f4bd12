// SPDX-License-Identifier: BSD-3-Clause
// The device's RSS hash against Microsoft's verification vectors ("Verifying the RSS hash calculation").
#include "engine/rss.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "base/byte_order.hpp"

namespace turnpike::simnic {
namespace {

struct vector {
    const char* destination;
    uint16_t destination_port;
    const char* source;
    uint16_t source_port;
    uint32_t addresses, with_ports;
};

constexpr rss::key microsoft_key{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

constexpr vector ipv4[] = {
    {"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
    {"209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f},
    {"202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2},
};
constexpr vector ipv6[] = {
    {"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
    {"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
    {"fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4b61e985,
     0x02d1feef},
};

/// A frame of that flow: TCP (6) or UDP (17).
std::vector<uint8_t> frame_of(const vector& v, bool v6, uint8_t protocol) {
    const size_t l4_at = v6 ? 54 : 34;
    std::vector<uint8_t> f(l4_at + 40, 0);
    store_be<uint16_t>(&f[12], v6 ? 0x86dd : 0x0800);
    f[14] = v6 ? 0x60 : 0x45;
    if (v6)
        store_be<uint16_t>(&f[18], 40);
    else
        store_be<uint16_t>(&f[16], 60);
    f[v6 ? 20 : 23] = protocol;
    EXPECT_EQ(inet_pton(v6 ? AF_INET6 : AF_INET, v.source, &f[v6 ? 22 : 26]), 1);
    EXPECT_EQ(inet_pton(v6 ? AF_INET6 : AF_INET, v.destination, &f[v6 ? 38 : 30]), 1);
    store_be(&f[l4_at], v.source_port);
    store_be(&f[l4_at + 2], v.destination_port);
    return f;
}

bool hash_of(const rss& r, const std::vector<uint8_t>& f, uint32_t& into) {
    return r.hash(classify(f.data(), static_cast<uint32_t>(f.size())), f.data(), into);
}

TEST(simnic_rss, is_the_published_hash) {
    const auto r = std::make_unique<rss>();
    r->set_key(microsoft_key);
    const auto check = [&r](const vector& v, bool v6) {
        uint32_t hash = 0;
        for (const uint8_t protocol : {uint8_t{6}, uint8_t{17}}) {
            const auto f = frame_of(v, v6, protocol);
            r->types = v6 ? rss_ipv6 : rss_ipv4;
            ASSERT_TRUE(hash_of(*r, f, hash));
            EXPECT_EQ(hash, v.addresses) << v.source;
            r->types |= protocol == 6 ? (v6 ? rss_ipv6_tcp : rss_ipv4_tcp)
                                      : (v6 ? rss_ipv6_udp : rss_ipv4_udp);
            ASSERT_TRUE(hash_of(*r, f, hash));
            EXPECT_EQ(hash, v.with_ports) << v.source;
            r->types = v6 ? rss_ipv4 | rss_ipv4_tcp | rss_ipv4_udp
                          : rss_ipv6 | rss_ipv6_tcp | rss_ipv6_udp;
            EXPECT_FALSE(hash_of(*r, f, hash)) << "not this family";
        }
    };
    for (const vector& v : ipv4) check(v, false);
    for (const vector& v : ipv6) check(v, true);
}

/// The definition, bit by bit.
uint32_t by_definition(const rss::key& key, std::span<const uint8_t> input) {
    uint32_t hash = 0;
    const auto bit_of = [](std::span<const uint8_t> bytes, size_t i) {
        return bytes[i / 8] >> (7 - i % 8) & 1u;
    };
    for (size_t i = 0; i < input.size() * 8; ++i) {
        if (bit_of(input, i) == 0) continue;
        uint32_t window = 0;
        for (size_t k = 0; k < 32; ++k) window = window << 1 | bit_of(key, i + k);
        hash ^= window;
    }
    return hash;
}

TEST(simnic_rss, takes_any_key) {
    const auto r = std::make_unique<rss>();
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        rss::key key;
        for (auto& b : key) b = static_cast<uint8_t>(random());
        r->set_key(key);
        std::vector<uint8_t> input(random() % 37);
        for (auto& b : input) b = static_cast<uint8_t>(random());
        ASSERT_EQ(r->toeplitz(input), by_definition(key, input));
    }
}

}  // namespace
}  // namespace turnpike::simnic
