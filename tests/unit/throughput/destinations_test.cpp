// SPDX-License-Identifier: BSD-3-Clause
#include "destinations.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "traffic.hpp"

namespace turnpike::throughput {
namespace {

std::shared_ptr<const destination_list> drawn(std::string_view text, uint32_t flows,
                                              uint64_t seed = 1, bool ipv6 = false) {
    auto d = destination_list::draw(text, "t.txt", ipv6, flows, seed);
    EXPECT_TRUE(d) << d.error().message();
    return d ? *d : nullptr;
}

TEST(destinations_test, lie_in_the_prefixes_about_equally_often) {
    const std::string_view text =
        "# a table\r\n\r\n10.0.0.0/8\r\n192.0.2.0/24 via 10.0.0.1\n 198.51.100.7/32\n"
        "203.0.113.128/25,5\n2001:db8::/32\n";
    const std::vector<ip_prefix> all = {*parse_prefix("10.0.0.0/8"), *parse_prefix("192.0.2.0/24"),
                                        *parse_prefix("198.51.100.7/32"),
                                        *parse_prefix("203.0.113.128/25")};
    constexpr uint32_t flows = 40000;
    const auto d = drawn(text, flows);
    EXPECT_EQ(d->prefixes(), all.size());
    std::map<size_t, unsigned> hits;
    std::set<uint32_t> of_24;
    for (uint32_t f = 0; f < flows; ++f) {
        const ip_address a = ip_address::from_v4(d->v4(f));
        EXPECT_TRUE(d->has(a));
        size_t found = all.size();
        for (size_t i = 0; i < all.size(); ++i)
            if (all[i].contains(a)) found = i;
        ++hits[found];
        if (found == 1) of_24.insert(d->v4(f));
    }
    ASSERT_EQ(hits.size(), all.size()) << "an address outside the prefixes";
    for (const auto& [prefix, n] : hits) EXPECT_NEAR(n, 10000, 500) << prefix;
    EXPECT_EQ(of_24.size(), 256u) << "every host is drawn";
}

TEST(destinations_test, are_the_same_with_the_same_seed) {
    const auto a = drawn("10.0.0.0/8\n11.0.0.0/9\n", 100),
               b = drawn("10.0.0.0/8\n11.0.0.0/9\n", 100),
               c = drawn("10.0.0.0/8\n11.0.0.0/9\n", 100, 2);
    unsigned equal = 0;
    for (uint32_t f = 0; f < 100; ++f) {
        EXPECT_EQ(a->v4(f), b->v4(f));
        equal += a->v4(f) == c->v4(f) ? 1 : 0;
    }
    EXPECT_LT(equal, 5u);
}

TEST(destinations_test, of_ipv6_keep_the_prefix_and_draw_the_host) {
    const auto d = drawn("2001:db8:1::/47\n10.0.0.0/8\n", 1000, 3, true);
    const ip_prefix p = *parse_prefix("2001:db8::/47");
    std::set<ipv6_address> different;
    for (uint32_t f = 0; f < 1000; ++f) {
        EXPECT_TRUE(p.contains(ip_address::from_v6(d->v6(f))));
        different.insert(d->v6(f));
    }
    EXPECT_EQ(different.size(), 1000u);
}

TEST(destinations_test, networks_without_hosts_are_skipped) {
    const auto d =
        drawn("0.0.0.0/0\n224.0.0.0/4\n127.0.0.0/8\n0.0.0.0/8\n169.254.0.0/16\n192.0.2.0/24\n", 10);
    EXPECT_EQ(d->prefixes(), 1u);
    const auto v6 = drawn(
        "::/0\n::/8\n64:ff9b::/96\nfe80::/10\nfeb0::/12\nff02::/16\n2001:db8::/32\n", 10, 1, true);
    EXPECT_EQ(v6->prefixes(), 1u);
}

TEST(destinations_test, of_wide_prefixes_are_hosts) {
    for (const char* text : {"0.0.0.0/1", "126.0.0.0/7", "128.0.0.0/1", "168.0.0.0/5",
                             "169.254.0.0/15", "192.0.0.0/2"}) {
        const auto d = drawn(text, 20000);
        ASSERT_EQ(d->prefixes(), 1u) << text;
        std::set<uint32_t> different;
        for (uint32_t f = 0; f < 20000; ++f) {
            const uint32_t a = d->v4(f);
            EXPECT_TRUE(parse_prefix(text)->contains(ip_address::from_v4(a))) << text;
            EXPECT_TRUE(a >> 24 != 0 && a >> 24 != 127 && a >> 24 < 224 && a >> 16 != 0xa9fe)
                << text << ": " << ip_address::from_v4(a).text();
            different.insert(a);
        }
        EXPECT_GT(different.size(), 10000u) << text;
    }
    for (const char* text : {"::/1", "8000::/1", "fe00::/7"}) {
        const auto d = drawn(text, 20000, 1, true);
        ASSERT_EQ(d->prefixes(), 1u) << text;
        for (uint32_t f = 0; f < 20000; ++f) {
            const ipv6_address& a = d->v6(f);
            EXPECT_TRUE(a.bytes[0] != 0 && a.bytes[0] != 0xff &&
                        !(a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80))
                << text << ": " << ip_address::from_v6(a).text();
        }
    }
}

TEST(destinations_test, of_narrow_prefixes_stay_those_of_the_seed) {
    const auto d = drawn("10.0.0.0/8\n198.51.100.0/24\n", 4, 7);
    const uint32_t expected[] = {0xc633'64f4u, 0x0a29'3e67u, 0x0aaa'becbu, 0x0abe'023du};
    for (uint32_t f = 0; f < 4; ++f) EXPECT_EQ(d->v4(f), expected[f]) << f;
}

TEST(destinations_test, bad_tables_are_refused_by_line) {
    const auto why = [](std::string_view text) {
        const auto d = destination_list::draw(text, "t.txt", false, 1, 1);
        return d ? std::string() : d.error().message();
    };
    EXPECT_NE(why("10.0.0.0/8\nnetwork\n").find("t.txt:2: should begin with a prefix"),
              std::string::npos);
    EXPECT_NE(why("10.0.0.0/33").find("t.txt:1:"), std::string::npos);
    EXPECT_NE(why("").find("t.txt: has no prefix of IPv4"), std::string::npos);
    EXPECT_EQ(why("\xef\xbb\xbf"
                  "10.0.0.0/8\r\n"),
              "")
        << "a byte order mark";
    EXPECT_NE(why("\xff\xfe").find("t.txt: is UTF-16"), std::string::npos);
    EXPECT_NE(why("2001:db8::/32\n").find("has no prefix of IPv4"), std::string::npos);
}

TEST(destinations_test, are_the_addresses_of_port_1_in_both_directions) {
    const uint32_t flows = 70000;
    traffic t{.flows = flows};
    t.destinations = drawn("10.0.0.0/8\n", flows);
    const auto size = *parse_frame_size("64", t);
    const stream out(t, 0, size, {}, {}), back(t, 1, size, {}, {});
    for (const uint64_t n : {0u, 1u, 65536u, 69999u}) {
        std::vector<uint8_t> a(out.bytes_of(n)), b(a.size());
        out.build(a.data(), n, 1, 0);
        back.build(b.data(), n, 1, 0);
        EXPECT_EQ(load_be<uint32_t>(a.data() + 30), t.destinations->v4(static_cast<uint32_t>(n)));
        EXPECT_EQ(load_be<uint32_t>(b.data() + 26), load_be<uint32_t>(a.data() + 30));
        EXPECT_EQ(load_be<uint32_t>(a.data() + 26), 0xc612'0000u + n % 65536);
        EXPECT_TRUE(out.is_intact(a, n));
        EXPECT_FALSE(out.is_intact(a, n + 1));
        EXPECT_TRUE(is_flow_address(t, 1, ip_address::from_v4(load_be<uint32_t>(a.data() + 30))));
    }
    EXPECT_TRUE(is_flow_address(t, 0, *parse_address("198.18.255.255")));
    EXPECT_FALSE(is_flow_address(t, 0, *parse_address("198.19.0.0")));
    EXPECT_FALSE(is_flow_address(t, 1, *parse_address("198.19.0.0")));
}

}  // namespace
}  // namespace turnpike::throughput
