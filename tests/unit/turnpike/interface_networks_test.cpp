// SPDX-License-Identifier: BSD-3-Clause
// Oracle: each pair of addresses by itself.
#include "state/interface_networks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "state/next_hop_rules.hpp"

namespace turnpike::state {
namespace {

TEST(interface_networks, finds_what_each_pair_says) {
    const std::string vrfs[] = {"", "red"}, interfaces[] = {"west", "east", "third"};
    std::mt19937 random{20261129};
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    unsigned found = 0, none = 0;
    for (unsigned round = 0; round < 300; ++round) {
        interface_networks all;
        struct known {
            std::string_view vrf, interface;
            ip_prefix address;
        };
        std::vector<known> each;
        for (unsigned n = 0; n < 20; ++n) {
            const bool v6 = below(3) == 0;
            ip_address at = *parse_address(v6 ? "2001:db8::" : "10.0.0.0");
            at.bytes[v6 ? 15 : 3] = static_cast<uint8_t>(below(round % 2 == 0 ? 8 : 256));
            const ip_prefix a{at, static_cast<uint8_t>(at.bits() - below(v6 ? 9 : 7))};
            const known k{vrfs[below(2)], interfaces[below(3)], a};
            const bool overlaps = std::ranges::any_of(each, [&](const known& o) {
                return o.vrf == k.vrf && o.interface != k.interface && !may_both_be(a, o.address);
            });
            const auto* const other = all.find_overlap(k.vrf, k.interface, a);
            ASSERT_EQ(other != nullptr, overlaps) << a.text();
            ++(overlaps ? found : none);
            if (overlaps) {
                EXPECT_NE(other->interface, k.interface);
                EXPECT_FALSE(may_both_be(a, other->address)) << other->address.text();
            }
            all.add(k.vrf, k.interface, a);
            each.push_back(k);
        }
    }
    EXPECT_GT(found, 1000U);
    EXPECT_GT(none, 1000U);
}

TEST(interface_networks, a_host_beside_the_same_address_and_another_of_its_network) {
    const ip_prefix host = *parse_prefix("10.0.0.1/32");
    interface_networks all;
    all.add("", "west", *parse_prefix("10.0.0.1/24"));
    EXPECT_EQ(all.find_overlap("", "east", host), nullptr);
    for (unsigned n = 2; n < 6; ++n)
        all.add("", "west", *parse_prefix(fmt::format("10.0.0.{}/24", n)));
    ASSERT_NE(all.find_overlap("", "east", host), nullptr);
    EXPECT_EQ(all.find_overlap("", "west", host), nullptr);
    EXPECT_EQ(all.find_overlap("red", "east", host), nullptr);
}

}  // namespace
}  // namespace turnpike::state
