// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.hpp"

#include <gtest/gtest.h>

#include <random>

#include "lib/driver_parameters.hpp"

namespace turnpike::xsk {
namespace {

constexpr const char* all_of_them =
    "iface=eth0,queues=2,start_queue=1,mode=zerocopy,busy_budget=64,filter=/a:b/"
    "keep.yaml,replace=1";

TEST(xsk_arguments, defaults) {
    const auto a = parse_arguments("iface=enp0s1f1np1");
    ASSERT_TRUE(a.has_value()) << a.error().message();
    EXPECT_EQ(a->iface, "enp0s1f1np1");
    EXPECT_EQ(a->queues, 0u);
    EXPECT_EQ(a->start_queue, 0u);
    EXPECT_EQ(a->mode, bind_mode::auto_);
    EXPECT_EQ(a->busy_budget, 0u);
    EXPECT_FALSE(a->replace);
}

TEST(xsk_arguments, all) {
    const auto a = parse_arguments(all_of_them);
    ASSERT_TRUE(a.has_value()) << a.error().message();
    EXPECT_EQ(a->queues, 2u);
    EXPECT_EQ(a->start_queue, 1u);
    EXPECT_EQ(a->mode, bind_mode::zerocopy);
    EXPECT_EQ(a->busy_budget, 64u);
    EXPECT_EQ(a->filter, "/a:b/keep.yaml");
    EXPECT_TRUE(a->replace);
    EXPECT_EQ(parse_arguments("xskmap=/sys/fs/bpf/xsks,iface=e")->xskmap, "/sys/fs/bpf/xsks");
}

struct refused {
    const char* text;
    const char* object;  ///< names the argument
    const char* takes;   ///< part of the error's list of accepted values
};
class xsk_refuses : public ::testing::TestWithParam<refused> {};

TEST_P(xsk_refuses, with_the_arguments_name) {
    const auto a = parse_arguments(GetParam().text);
    ASSERT_FALSE(a.has_value());
    EXPECT_EQ(a.error().code, EINVAL);
    EXPECT_NE(a.error().object.find(GetParam().object), std::string::npos) << a.error().message();
    EXPECT_NE(a.error().text.find(GetParam().takes), std::string::npos) << a.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    all, xsk_refuses,
    ::testing::Values(refused{"", "iface", "is missing"},
                      refused{"queues=1", "iface", "is missing"},
                      refused{"iface=", "iface", "name of a network interface"},
                      refused{"iface=sixteen_letters_", "iface", "name of a network interface"},
                      refused{"iface=a/b", "iface", "name of a network interface"},
                      refused{"iface", "iface", "key=value"},
                      refused{"iface=a,iface=b", "iface=b", "twice"},
                      refused{"iface=a,queue_count=2", "queue_count", "known are iface, queues"},
                      refused{"iface=a,queues=0", "queues", "1 to 256"},
                      refused{"iface=a,queues=257", "queues", "1 to 256"},
                      refused{"iface=a,start_queue=-1", "start_queue", "0 to 65535"},
                      refused{"iface=a,mode=native", "mode", "auto, zerocopy, copy or skb"},
                      refused{"iface=a,busy_budget=x", "busy_budget", "0 (no busy polling)"},
                      refused{"iface=a,replace=yes", "replace", "0 or 1"},
                      refused{"iface=a,filter=", "filter", "a filter file"},
                      refused{"iface=a,xskmap=", "xskmap", "pinned"},
                      refused{"iface=a,xskmap=m,filter=f", "filter", "excludes xskmap"},
                      refused{"iface=a,xskmap=m,replace=1", "replace", "excludes xskmap"}));

/// Any mutated argument is accepted as a whole or refused with the argument's name.
TEST(xsk_arguments, survive_mutations) {
    std::mt19937_64 random(9);
    const std::string letters = "=,:./-0123456789abcdefghijklmnopqrstuvwxyz\x01\xff";
    const auto letter = [&] { return letters[random() % letters.size()]; };
    size_t taken = 0;
    for (int n = 0; n < 50'000; ++n) {
        std::string text = all_of_them;
        for (auto edits = random() % 4 + 1; edits > 0; --edits) {
            const size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = letter();
                    break;
                case 1:
                    text.insert(at, 1, letter());
                    break;
                case 2:
                    text.erase(at, 1);
                    break;
                default:
                    text += text.substr(at);
                    break;
            }
            if (text.empty()) text = ",";
        }
        const auto a = parse_arguments(text);
        if (!a) {
            ASSERT_EQ(a.error().code, EINVAL) << text;
            ASSERT_FALSE(a.error().object.empty()) << text;
            ASSERT_FALSE(a.error().text.empty()) << text;
            continue;
        }
        ++taken;
        ASSERT_FALSE(a->iface.empty()) << text;
        ASSERT_LE(a->queues, 256u) << text;
    }
    EXPECT_GT(taken, 500u);
}

TEST(xsk_arguments, pmdinfo_shows_those_that_are_read) {
    const auto a = parse_arguments("?=");
    ASSERT_FALSE(a.has_value());
    EXPECT_EQ(turnpike::test::names_in(XSK_PARAMETERS), turnpike::test::names_in(a.error()));
}

}  // namespace
}  // namespace turnpike::xsk
