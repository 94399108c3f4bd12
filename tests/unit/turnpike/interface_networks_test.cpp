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
        std::vector<known> drawn, each;
        for (unsigned n = 0; n < 20; ++n) {
            const bool v6 = below(3) == 0;
            ip_address at = *parse_address(v6 ? "2001:db8::" : "10.0.0.0");
            at.bytes[v6 ? 15 : 3] = static_cast<uint8_t>(below(round % 2 == 0 ? 8 : 256));
            const ip_prefix a{at, static_cast<uint8_t>(at.bits() - below(v6 ? 9 : 7))};
            drawn.push_back({vrfs[below(2)], interfaces[below(3)], a});
            all.note(drawn.back().vrf, drawn.back().interface, at);
        }
        // A host address that the other interface has, too.
        const auto is_borrowed = [&](const known& host, const known& from) {
            return host.address.length == host.address.address.bits() &&
                   std::ranges::any_of(drawn, [&](const known& o) {
                       return o.vrf == from.vrf && o.interface == from.interface &&
                              o.address.address == host.address.address;
                   });
        };
        for (const known& k : drawn) {
            const bool overlaps = std::ranges::any_of(each, [&](const known& o) {
                return o.vrf == k.vrf && o.interface != k.interface &&
                       !may_both_be(k.address, o.address) && !is_borrowed(k, o) &&
                       !is_borrowed(o, k);
            });
            const auto* const other = all.find_overlap(k.vrf, k.interface, k.address);
            ASSERT_EQ(other != nullptr, overlaps) << k.address.text();
            ++(overlaps ? found : none);
            if (overlaps) {
                EXPECT_NE(other->interface, k.interface);
                EXPECT_FALSE(may_both_be(k.address, other->address)) << other->address.text();
            }
            all.add(k.vrf, k.interface, k.address);
            each.push_back(k);
        }
    }
    EXPECT_GT(found, 1000U);
    EXPECT_GT(none, 1000U);
}

/// An unnumbered interface beside the one that it borrows from, which has further addresses (VRRP's), or gets them later.
TEST(interface_networks, a_borrowed_host_beside_all_addresses_of_its_lender) {
    const ip_prefix host = *parse_prefix("10.0.0.1/32"), other = *parse_prefix("10.0.0.9/32");
    interface_networks all;
    const auto add = [&](const char* interface, const ip_prefix& a) {
        all.note("", interface, a.address);
        all.add("", interface, a);
    };
    for (unsigned n = 1; n < 6; ++n) add("west", *parse_prefix(fmt::format("10.0.0.{}/24", n)));
    EXPECT_EQ(all.find_overlap("", "east", host), nullptr);
    EXPECT_NE(all.find_overlap("", "east", other), nullptr) << "a neighbour of west may have it";
    EXPECT_NE(all.find_overlap("", "east", *parse_prefix("10.0.0.1/31")), nullptr);
    EXPECT_EQ(all.find_overlap("", "west", other), nullptr);
    EXPECT_EQ(all.find_overlap("red", "east", other), nullptr);
    add("east", host);
    EXPECT_EQ(all.find_overlap("", "west", *parse_prefix("10.0.0.254/24")), nullptr);
    EXPECT_NE(all.find_overlap("", "third", *parse_prefix("10.0.0.254/24")), nullptr);
}

}  // namespace
}  // namespace turnpike::state
