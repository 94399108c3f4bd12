// SPDX-License-Identifier: BSD-3-Clause
#include "vxlan.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "packet/checksum.hpp"
#include "packet/parse.hpp"

namespace turnpike::throughput {
namespace {

ip_address address_of(const char* text) { return *parse_address(text); }

/// The tunnels of both directions, with addresses of one family.
struct two_ends {
    vxlan_tunnel from_us{}, from_device{};
};
two_ends ends(const char* near_end, const char* far_end) {
    const ip_address near = address_of(near_end), far = address_of(far_end);
    return {{.vni = 0xabcdef, .local = near, .remote = far},
            {.vni = 0xabcdef, .local = far, .remote = near}};
}
constexpr mac_address vtep{{2, 0, 0, 0, 0, 1}}, router{{2, 0, 0, 0, 0, 2}};

std::vector<uint8_t> encapsulated(const vxlan_tunnel& t, uint32_t inner_bytes, uint32_t flow = 0) {
    std::vector<uint8_t> f(vxlan_bytes(t) + inner_bytes, 0x77);
    write_vxlan(f.data(), t, inner_bytes, flow, vtep, router);
    return f;
}

/// Tunnels over IPv4 and over IPv6.
class vxlan_traffic : public ::testing::TestWithParam<bool> {
  protected:
    two_ends ends_ = GetParam() ? ends("2001:db8::2", "2001:db8::1") : ends("10.0.0.2", "10.0.0.1");
    vxlan_tunnel from_us_ = ends_.from_us, from_device_ = ends_.from_device;
    size_t udp_at_ = GetParam() ? 54 : 34;
};
INSTANTIATE_TEST_SUITE_P(over, vxlan_traffic, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "ipv6" : "ipv4"; });

TEST_P(vxlan_traffic, has_headers_that_the_parser_accepts) {
    const auto f = encapsulated(from_us_, 60, 16384 + 5);
    packet::parsed p;
    ASSERT_EQ(packet::parse(f, static_cast<uint32_t>(f.size()), p), packet::parse_status::done);
    EXPECT_EQ(p.l3_drop, packet::drop_reason::none);
    EXPECT_EQ(p.upper_protocol, packet::protocol_udp);
    EXPECT_EQ(p.source_port, 49152 + 5);
    EXPECT_EQ(p.destination_port, 4789);
    EXPECT_EQ(p.padding_bytes, 0u);
    EXPECT_EQ(f.size(), udp_at_ + 8 + 8 + 60);
    if (!GetParam()) {
        EXPECT_EQ(packet::checksum({f.data() + 14, 20}), 0);
    }
    EXPECT_EQ(load_be<uint16_t>(f.data() + udp_at_ + 4), 8 + 8 + 60);
    EXPECT_EQ(load_be<uint32_t>(f.data() + udp_at_ + 8), 0x0800'0000u);
    EXPECT_EQ(load_be<uint32_t>(f.data() + udp_at_ + 12), 0xabcdef00u);
}

TEST_P(vxlan_traffic, of_the_device_is_decapsulated) {
    auto f = encapsulated(from_device_, 60);
    auto inner = inner_frame(from_us_, f);
    ASSERT_EQ(inner.size(), 60u);
    EXPECT_EQ(inner.data(), f.data() + udp_at_ + 16);
    f.resize(f.size() + 4);  // padding
    EXPECT_EQ(inner_frame(from_us_, f).size(), 60u);
    f.insert(f.begin() + 12, {0x81, 0, 0, 7});
    inner = inner_frame(from_us_, f);
    EXPECT_EQ(inner.data(), f.data() + udp_at_ + 16 + 4);
}

TEST_P(vxlan_traffic, of_other_tunnels_is_not) {
    EXPECT_TRUE(inner_frame(from_us_, encapsulated(from_us_, 60)).empty()) << "its own frame";
    const auto good = encapsulated(from_device_, 60);
    // Ethernet type, protocol, addresses, UDP port, VXLAN flags, VNI
    const std::vector<size_t> changes =
        GetParam() ? std::vector<size_t>{12, 20, 22, 37, 38, 53, 56, 62, 66}
                   : std::vector<size_t>{12, 23, 26, 30, 36, 42, 46};
    for (const size_t at : changes) {
        auto bad = good;
        bad[at] ^= 0x18;
        EXPECT_TRUE(inner_frame(from_us_, bad).empty()) << at;
    }
    for (size_t length = 0; length < good.size(); ++length)
        EXPECT_TRUE(inner_frame(from_us_, {good.data(), length}).empty()) << length;
}

TEST(vxlan_traffic_of_another_family, is_not_of_the_tunnel) {
    const auto v4 = ends("10.0.0.2", "10.0.0.1"), v6 = ends("2001:db8::2", "2001:db8::1");
    EXPECT_TRUE(inner_frame(v4.from_us, encapsulated(v6.from_device, 60)).empty());
    EXPECT_TRUE(inner_frame(v6.from_us, encapsulated(v4.from_device, 60)).empty());
}

}  // namespace
}  // namespace turnpike::throughput
