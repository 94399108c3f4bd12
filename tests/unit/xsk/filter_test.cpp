// SPDX-License-Identifier: BSD-3-Clause
// filter=FILE: how its text is parsed, and which texts are refused.
#include "filter.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace turnpike::xsk {
namespace {

bool is_candidate(const filter& f, unsigned row, unsigned entry) {
    return (f.candidates[row] >> entry & 1) != 0;
}

TEST(xsk_filter, what_an_operator_writes) {
    const auto f = read_filter(R"(
- {protocol: arp}
- {protocol: tcp, destination_port: 22, destination_address: 10.0.0.1}
- {protocol: ospf}
- {protocol: udp, port: 5000-5010, family: ipv6}
- {address: "2001:db8::/32"}
- {protocol: 47, source_address: 192.0.2.0/24}
- {port: 179}
)",
                               "f.yaml");
    ASSERT_TRUE(f.has_value()) << f.error().message();
    ASSERT_EQ(f->entries.size(), 7u);
    EXPECT_EQ(f->where[0], "f.yaml:2");
    EXPECT_EQ(f->where[6], "f.yaml:8");
    EXPECT_EQ(f->entries[0].ether_type, 0x0806);
    EXPECT_EQ(f->candidates[XSK_CANDIDATES_NOT_IP], 1u);
    EXPECT_EQ(f->entries[1].destination_port.low, 22);
    EXPECT_EQ(f->entries[1].destination_port.high, 22);
    EXPECT_EQ(f->entries[1].flags, XSK_FILTER_PORTS | XSK_FILTER_ADDRESSES);
    EXPECT_EQ(f->candidates[6], 1u << 1 | 1u << 6);  // TCP over IPv4: by address, by port 179
    EXPECT_EQ(f->candidates[XSK_CANDIDATES_IPV6 + 6], 1u << 4 | 1u << 6);
    EXPECT_EQ(f->candidates[89], 1u << 2);
    EXPECT_EQ(f->candidates[XSK_CANDIDATES_IPV6 + 89], 1u << 2 | 1u << 4);
    EXPECT_EQ(f->entries[3].port.low, 5000);
    EXPECT_EQ(f->entries[3].port.high, 5010);
    EXPECT_TRUE(is_candidate(*f, XSK_CANDIDATES_IPV6 + 17, 3));
    EXPECT_FALSE(is_candidate(*f, 17, 3));
    EXPECT_EQ(f->candidates[47], 1u << 5);
    EXPECT_FALSE(is_candidate(*f, 47, 6)) << "GRE has no ports";
}

TEST(xsk_filter, from_a_file) {
    const std::string path = ::testing::TempDir() + "turnpike-xsk-filter.yaml";
    std::ofstream(path) << "- {protocol: tcp}\n- {protocol: tpc}\n";
    const auto bad = load_filter(path);
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().object, path + ":2");
    std::ofstream(path) << "- {protocol: tcp}\n";
    const auto good = load_filter(path);
    ASSERT_TRUE(good.has_value()) << good.error().message();
    EXPECT_EQ(good->where[0], path + ":1");
    std::filesystem::remove(path);
    const auto gone = load_filter(path);
    ASSERT_FALSE(gone.has_value());
    EXPECT_EQ(gone.error().code, ENOENT);
    EXPECT_EQ(gone.error().object, path);
}

std::string entries(unsigned n) {
    std::string text;
    for (unsigned i = 0; i < n; ++i) text += "- {port: " + std::to_string(i) + "}\n";
    return text;
}

TEST(xsk_filter, as_many_entries_as_fit_and_no_more) {
    const auto full = read_filter(entries(XSK_FILTER_MOST_ENTRIES), "f");
    ASSERT_TRUE(full.has_value());
    EXPECT_EQ(full->candidates[6], ~uint64_t{0});
    const auto over = read_filter(entries(XSK_FILTER_MOST_ENTRIES + 1), "f");
    ASSERT_FALSE(over.has_value());
    EXPECT_EQ(over.error().object, "f:65");
    EXPECT_NE(over.error().text.find("64 entries"), std::string::npos);
}

struct wrong_filter {
    const char* text;
    unsigned line;
    const char* says;
};

class xsk_filter_refuses : public ::testing::TestWithParam<wrong_filter> {};

TEST_P(xsk_filter_refuses, with_its_line_and_what_is_right) {
    const auto f = read_filter(GetParam().text, "f.yaml");
    ASSERT_FALSE(f.has_value());
    EXPECT_EQ(f.error().code, EINVAL);
    EXPECT_EQ(f.error().object, "f.yaml:" + std::to_string(GetParam().line));
    EXPECT_NE(f.error().text.find(GetParam().says), std::string::npos) << f.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    all, xsk_filter_refuses,
    ::testing::Values(
        wrong_filter{"protocol: tcp\n", 1, "a list of packets that go to the kernel"},
        wrong_filter{"[]\n", 1, "empty list"}, wrong_filter{"- tcp\n", 1, "should be a map"},
        wrong_filter{"- {}\n", 1, "selects nothing"},
        wrong_filter{"- {prot: tcp}\n", 1, "no key 'prot'"},
        wrong_filter{"- {protocol: tcp, protocol: udp}\n", 1, "twice"},
        wrong_filter{"- &a {protocol: tcp}\n- *a\n", 1, "anchors"},
        wrong_filter{"- {protocol: tcp\n- {protocol: udp}\n", 2, "a flow mapping from line 1"},
        wrong_filter{"- {protocol: tcp}\n- }\n", 2, "is not YAML"},
        wrong_filter{"- {protocol: arp}\n- {protocol: tpc}\n", 2, "one of ah, arp"},
        wrong_filter{"- {protocol: 256}\n", 1, "0 to 255"},
        wrong_filter{"- {protocol: -1}\n", 1, "0 to 255"},
        wrong_filter{"- {protocol: [tcp, udp]}\n", 1, "should be a text"},
        wrong_filter{"- {protocol: 44}\n", 1, "extension header"},
        wrong_filter{"- {protocol: 0}\n", 1, "extension header"},
        wrong_filter{"- {port: 65536}\n", 1, "0 to 65535"},
        wrong_filter{"- {port: ssh}\n", 1, "0 to 65535"},
        wrong_filter{"- {port: 20-10}\n", 1, "lower port comes first"},
        wrong_filter{"- {port: 20-}\n", 1, "0 to 65535"},
        wrong_filter{"- {port: 1-2-3}\n", 1, "0 to 65535"},
        wrong_filter{"- {protocol: icmp, port: 1}\n", 1, "icmp has none"},
        wrong_filter{"- {protocol: arp, source_port: 1}\n", 1, "arp has none"},
        wrong_filter{"- {protocol: 1, port: 1}\n", 1, "1 has none"},
        wrong_filter{"- {address: 10.0.0.0/33}\n", 1, "0 to 32"},
        wrong_filter{"- {address: 10.0.0.1/24}\n", 1, "10.0.0.0/24"},
        wrong_filter{"- {address: example.net}\n", 1, "IPv4 or IPv6 address"},
        wrong_filter{"- {source_address: 10.0.0.1, destination_address: '::1'}\n", 1,
                     "no packet has both"},
        wrong_filter{"- {family: ipv6, address: 10.0.0.1}\n", 1, "family of IPv6"},
        wrong_filter{"- {family: ip}\n", 1, "ipv4 or ipv6"},
        wrong_filter{"- {protocol: icmp, family: ipv6}\n", 1, "icmp is of IPv4 only"},
        wrong_filter{"- protocol: icmpv6\n  address: 10.0.0.1\n", 1, "icmpv6 is of IPv6 only"},
        wrong_filter{"- {protocol: arp, address: 10.0.0.1}\n", 1, "not carried in IP packets"},
        wrong_filter{"- {protocol: lldp, family: ipv4}\n", 1, "not carried in IP packets"}));

/// Nothing that is written wrong does more than be refused, in words, with the file's name.
TEST(xsk_filter, mutations) {
    const std::string whole =
        "- {protocol: tcp, destination_port: 22, destination_address: 10.0.0.1}\n"
        "- {family: ipv6, port: 5000-5010, protocol: udp}\n- {address: \"2001:db8::/32\"}\n";
    const std::string letters = "{}[]:,-&*!|>'\"%@`#0123456789abcdef/. \n\t\\~?";
    std::mt19937 random(1);
    unsigned taken = 0, turned_down = 0;
    for (unsigned i = 0; i < 20'000; ++i) {
        std::string text = whole;
        for (unsigned n = 1 + random() % 4; n > 0 && !text.empty(); --n) {
            const size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = letters[random() % letters.size()];
                    break;
                case 1:
                    text.insert(at, 1, letters[random() % letters.size()]);
                    break;
                case 2:
                    text.erase(at, 1 + random() % 8);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 16));
                    break;
            }
        }
        const auto f = read_filter(text, "f");
        if (!f) {
            ++turned_down;
            EXPECT_EQ(f.error().object.rfind("f", 0), 0u) << text;
            EXPECT_FALSE(f.error().text.empty()) << text;
            continue;
        }
        ++taken;
        ASSERT_LE(f->entries.size(), size_t{XSK_FILTER_MOST_ENTRIES});
        ASSERT_EQ(f->entries.size(), f->where.size());
        uint64_t some = 0;
        for (const uint64_t row : f->candidates) some |= row;
        EXPECT_EQ(some, ~uint64_t{0} >> (64 - f->entries.size())) << "an entry for no packet\n"
                                                                  << text;
    }
    EXPECT_GT(taken, 100u);
    EXPECT_GT(turned_down, 1000u);
}

}  // namespace
}  // namespace turnpike::xsk
