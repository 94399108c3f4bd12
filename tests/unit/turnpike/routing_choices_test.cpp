// SPDX-License-Identifier: BSD-3-Clause
// Optional router behaviour: redirects, source routes, special-purpose addresses.
#include <gtest/gtest.h>

#include <rte_cycles.h>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::control {
namespace {

using namespace test;
using datapath::drop_reason;

const byte_vector host_mac{2, 0, 0, 0, 0, 0x0a}, gateway_mac{2, 0, 0, 0, 0, 0x77};

std::string choosing(const std::string& more, const std::string& settings = "") {
    return settings +
           "ports:\n"
           "  - {name: west, device: d0, addresses: [10.7.7.254/24, 10.0.1.254/24, "
           "\"2001:db8:1::fe/64\"]" +
           more +
           "}\n"
           "  - {name: east, device: d1, addresses: [10.0.2.254/24, \"2001:db8:2::fe/64\"]}\n"
           "routes:\n  - {to: 10.9.0.0/16, via: 10.0.1.77}\n  - {to: 10.8.0.0/16, via: 10.0.2.2}\n"
           "  - {to: \"2001:db8:9::/48\", via: \"fe80::77\", port: west}\n"
           "  - {to: \"2001:db8:8::/48\", via: \"2001:db8:1::77\"}\n"
           "  - {to: 0.0.0.0/0, via: 10.0.2.2}\n  - {to: \"::/0\", via: \"2001:db8:2::2\"}\n"
           "neighbours:\n  static:\n"
           "    - {address: 10.0.1.1, mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: 10.0.1.77, mac: \"02:00:00:00:00:77\"}\n"
           "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:22\"}\n"
           "    - {address: \"2001:db8:1::1\", mac: \"02:00:00:00:00:0a\"}\n"
           "    - {address: \"2001:db8:1::77\", mac: \"02:00:00:00:00:77\"}\n"
           "    - {address: \"fe80::77\", port: west, mac: \"02:00:00:00:00:77\"}\n"
           "    - {address: \"2001:db8:2::2\", mac: \"02:00:00:00:00:22\"}\n";
}

byte_vector bytes_of(const char* address) {
    const auto a = *parse_address(address);
    return a.v6 ? byte_vector(a.bytes.begin(), a.bytes.end()) : be(a.v4());
}
byte_vector part(const byte_vector& of, size_t at, size_t bytes) {
    return {of.begin() + static_cast<ptrdiff_t>(at),
            of.begin() + static_cast<ptrdiff_t>(at + bytes)};
}

class choices : public ::testing::Test {
  protected:
    void TearDown() override {
        (void)lab_.sent(0), (void)lab_.sent(1);
        lab_.check_balance();
    }
    void apply(const std::string& configuration) {
        auto applied = lab_.apply(configuration);
        ASSERT_TRUE(applied) << applied.error().message();
    }
    /// Offers a frame at west; records the forwarded packets and the ICMP messages.
    void offer(uint16_t type, const byte_vector& packet) {
        (void)lab_.sent(0), (void)lab_.sent(1);
        rte_delay_us_block(1100);  // longer than from one redirect to the next
        lab_.offer(0, ethernet(type, packet));
        lab_.settle();
        on_.clear();
        told_.clear();
        for (const byte_vector& f : lab_.sent(0))
            (part(f, 0, 6) == host_mac ? told_ : on_).push_back(f);
        for (const byte_vector& f : lab_.sent(1)) on_.push_back(f);
    }
    void v4(const char* to, const char* from = "10.0.1.1", const byte_vector& options = {}) {
        offer(0x0800, ipv4({.source = parse_address(from)->v4(),
                            .destination = parse_address(to)->v4(),
                            .options = options},
                           udp(counted(20))));
    }
    void v6(const char* to, const char* from = "2001:db8:1::1") {
        offer(0x86dd,
              ipv6({.source = bytes_of(from), .destination = bytes_of(to)}, udp(counted(20))));
    }
    running_lab lab_{choosing("")};
    std::vector<byte_vector> on_, told_;
};

TEST_F(choices, nobody_is_redirected_without) {
    v4("10.9.0.1");
    EXPECT_EQ(on_.size(), 1U);
    EXPECT_EQ(told_.size(), 0U);
}

/// RFC 1812 section 5.2.7.2: the packet is forwarded, and its sender gets a redirect for the host
/// (code 1), from our address in its network.
TEST_F(choices, a_host_is_redirected) {
    apply(choosing(", send_redirects: true"));
    v4("10.9.0.1");
    ASSERT_EQ(on_.size(), 1U);
    ASSERT_EQ(told_.size(), 1U);
    const byte_vector ip = part(told_[0], 14, told_[0].size() - 14);
    EXPECT_EQ(part(ip, 12, 8), bytes_of("10.0.1.254") + bytes_of("10.0.1.1"));
    EXPECT_EQ(part(ip, 20, 2), (byte_vector{5, 1}));
    EXPECT_EQ(part(ip, 24, 4), bytes_of("10.0.1.77"));
    EXPECT_EQ(
        part(ip, 28, 20),
        part(ipv4({.source = 0x0a000101, .destination = 0x0a090001}, udp(counted(20))), 0, 20))
        << "as it came";
    v4("10.0.1.77");
    ASSERT_EQ(told_.size(), 1U) << "to a host of the link itself";
    EXPECT_EQ(part(told_[0], 14 + 24, 4), bytes_of("10.0.1.77"));
}

TEST_F(choices, who_is_not_redirected) {
    apply(choosing(", send_redirects: true, accept_source_route: true"));
    v4("10.8.0.1");
    EXPECT_EQ(on_.size(), 1U);
    EXPECT_EQ(told_.size(), 0U) << "by another link";
    v4("10.9.0.1", "10.3.0.1");
    EXPECT_EQ(on_.size(), 1U);
    EXPECT_EQ(told_.size(), 0U) << "from behind a router";
    v4("10.9.0.1", "10.7.7.1");
    EXPECT_EQ(told_.size(), 0U) << "from another network of the link";
    v4("10.9.0.1", "10.0.1.1", {131, 7, 8, 10, 0, 0, 9, 0});
    EXPECT_EQ(on_.size(), 1U);
    EXPECT_EQ(told_.size(), 0U) << "its option has the route";
    v4("10.9.0.1", "10.0.1.77");
    EXPECT_EQ(on_.size(), 1U) << "no host is redirected to itself";
    v6("2001:db8:8::1");
    EXPECT_EQ(on_.size(), 1U);
    EXPECT_EQ(told_.size(), 0U) << "the router's link-local address is not known";
    lab_.offer(0, ethernet(0x0800, ipv4({.destination = 0x0a090001}, udp(counted(20)))));
    for (int i = 0; i < 10; ++i)
        lab_.offer(0, ethernet(0x0800, ipv4({.destination = 0x0a090001}, udp(counted(20)))));
    lab_.settle();
    size_t errors = 0;
    for (const byte_vector& f : lab_.sent(0)) errors += part(f, 0, 6) == host_mac;
    EXPECT_LE(errors, 2U) << "one a millisecond";
}

/// RFC 4861 section 4.5, from our link-local address, with the target's MAC address and the
/// redirected packet.
TEST_F(choices, a_host_is_redirected_by_neighbour_discovery) {
    apply(choosing(", send_redirects: true"));
    for (const auto& [to, target] :
         {std::pair{"2001:db8:9::1", "fe80::77"}, {"2001:db8:1::77", "2001:db8:1::77"}}) {
        v6(to);
        ASSERT_EQ(on_.size(), 1U) << to;
        ASSERT_EQ(told_.size(), 1U) << to;
        const byte_vector& f = told_[0];
        EXPECT_EQ(part(f, 14 + 7, 1), byte_vector{255});
        EXPECT_EQ(part(f, 14 + 8, 32), bytes_of("fe80::ff:fe00:b") + bytes_of("2001:db8:1::1"));
        EXPECT_EQ(part(f, 54, 2), (byte_vector{137, 0}));
        EXPECT_EQ(part(f, 62, 32), bytes_of(target) + bytes_of(to));
        EXPECT_EQ(part(f, 94, 8), (byte_vector{2, 1} + gateway_mac));
        const byte_vector about = ipv6(
            {.source = bytes_of("2001:db8:1::1"), .destination = bytes_of(to)}, udp(counted(20)));
        const size_t quoted = about.size() / 8 * 8;
        EXPECT_EQ(part(f, 102, 8),
                  (byte_vector{4, static_cast<uint8_t>(1 + quoted / 8), 0, 0, 0, 0, 0, 0}));
        ASSERT_EQ(f.size(), 110 + quoted);
        EXPECT_EQ(part(f, 110, quoted), part(about, 0, quoted)) << "as it came";
        // Its checksum counts the pseudo-header.
        byte_vector unsummed = part(f, 54, f.size() - 54);
        unsummed[2] = unsummed[3] = 0;
        EXPECT_EQ(part(icmp6(137, 0, part(unsummed, 4, unsummed.size() - 4), part(f, 22, 16),
                             part(f, 38, 16)),
                       2, 2),
                  part(f, 56, 2));
    }
}

/// RFC 7126 sections 4.3 and 4.4: dropped, unless an operator lets them go on.
TEST_F(choices, source_routes) {
    const byte_vector loose{1, 131, 7, 4, 10, 0, 0, 9}, strict{137, 7, 8, 10, 0, 0, 9, 0},
        timestamp{68, 8, 5, 0, 0, 0, 0, 0}, cut{7, 0, 131, 7}, later{0, 131, 7, 4};
    for (const byte_vector& options : {loose, strict}) {
        v4("10.8.0.1", "10.0.1.1", options);
        EXPECT_EQ(on_.size(), 0U);
    }
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_source_routed), 2U);
    for (const byte_vector& options : {timestamp, cut, later}) {
        v4("10.8.0.1", "10.0.1.1", options);
        EXPECT_EQ(on_.size(), 1U) << static_cast<int>(options[0]);
    }
    apply(choosing(", accept_source_route: true"));
    for (const byte_vector& options : {loose, strict}) {
        v4("10.8.0.1", "10.0.1.1", options);
        ASSERT_EQ(on_.size(), 1U);
        EXPECT_EQ(part(on_[0], 34, 8), options) << "untouched: we are no hop of it";
    }
}

/// RFC 6890: not forwardable; but a prefix with an explicit route is forwarded.
TEST_F(choices, addresses_of_special_purpose) {
    const char* const blocked[] = {"192.0.2.1",   "198.51.100.9",   "203.0.113.1",
                                   "192.0.0.200", "2001:db8:77::1", "2001:10::1"};
    const char* const open[] = {"192.0.0.9",     "192.0.1.255", "198.18.0.1", "2001:db8:2::2",
                                "2001:db8:9::1", "2001:20::1",  "100.64.0.1"};
    const auto goes = [&](const char* to) {
        parse_address(to)->v6 ? v6(to) : v4(to);
        return on_.size() == 1;
    };
    for (const char* to : blocked) EXPECT_TRUE(goes(to)) << to;
    apply(choosing("", "drop_bogons: true\n"));
    for (const char* to : blocked) EXPECT_FALSE(goes(to)) << to;
    EXPECT_EQ(lab_.dropped(drop_reason::bogon_destination), std::size(blocked));
    for (const char* to : open) EXPECT_TRUE(goes(to)) << to;
    // As a source: an interface with uRPF finds no route.
    v4("10.8.0.1", "192.0.2.9");
    EXPECT_EQ(on_.size(), 1U);
    apply(choosing(", urpf: loose", "drop_bogons: true\n"));
    v4("10.8.0.1", "192.0.2.9");
    EXPECT_EQ(on_.size(), 0U);
    EXPECT_EQ(lab_.dropped(drop_reason::urpf), 1U);
    apply(choosing("", "drop_bogons: false\n"));
    for (const char* to : blocked) EXPECT_TRUE(goes(to)) << to;
}

/// RFC 3927 section 7: link-local packets are not forwarded; the router itself may have such an address (a BGP session in a
/// tunnel of a cloud).
TEST_F(choices, link_local_addresses_of_the_router_and_its_neighbours) {
    std::string all = choosing(", urpf: strict");
    all.replace(all.find("[10.7.7.254/24"), 1, "[169.254.10.1/29, ");
    all += "    - {address: 169.254.10.2, mac: \"02:00:00:00:00:0a\"}\n";
    apply(all);
    const byte_vector unreachable{3, 3};
    const auto type_of = [&] { return part(told_.at(0), 34, 2); };
    for (const char* from : {"169.254.10.2", "10.0.1.1"}) {
        v4("169.254.10.1", from);
        ASSERT_EQ(told_.size(), 1U) << from;
        EXPECT_EQ(type_of(), unreachable) << "no such port";
        EXPECT_EQ(part(told_[0], 26, 8), bytes_of("169.254.10.1") + bytes_of(from));
    }
    v4("10.0.2.254", "169.254.10.2");
    ASSERT_EQ(told_.size(), 1U) << "east's address";
    EXPECT_EQ(type_of(), unreachable);
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_source) + lab_.dropped(drop_reason::ipv4_destination),
              0U);
    v4("10.0.2.2", "169.254.10.2");
    EXPECT_EQ(on_.size() + told_.size(), 0U);
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_source), 1U);
    v4("169.254.10.2");
    EXPECT_EQ(on_.size() + told_.size(), 0U);
    EXPECT_EQ(lab_.dropped(drop_reason::ipv4_destination), 1U);
    for (const char* from : {"169.254.10.1", "127.0.0.1", "0.0.0.0"}) {
        v4("169.254.10.1", from);
        EXPECT_EQ(on_.size() + told_.size(), 0U) << from;
    }
    v4("169.254.10.7", "169.254.10.2");
    EXPECT_EQ(on_.size() + told_.size(), 0U) << "the broadcast address of the network";
}

}  // namespace
}  // namespace turnpike::control
