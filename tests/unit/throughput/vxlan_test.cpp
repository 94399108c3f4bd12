// SPDX-License-Identifier: BSD-3-Clause
#include "vxlan.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "packet/checksum.hpp"
#include "packet/parse.hpp"

namespace turnpike::throughput {
namespace {

constexpr vxlan_tunnel from_us{.vni = 0xabcdef, .local = 0x0a000002, .remote = 0x0a000001},
    from_device{.vni = 0xabcdef, .local = 0x0a000001, .remote = 0x0a000002};
constexpr mac_address vtep{{2, 0, 0, 0, 0, 1}}, router{{2, 0, 0, 0, 0, 2}};

std::vector<uint8_t> encapsulated(const vxlan_tunnel& t, uint32_t inner_bytes, uint32_t flow = 0) {
    std::vector<uint8_t> f(vxlan_bytes + inner_bytes, 0x77);
    write_vxlan(f.data(), t, inner_bytes, flow, vtep, router);
    return f;
}

TEST(vxlan_traffic_test, has_headers_that_the_parser_accepts) {
    const auto f = encapsulated(from_us, 60, 16384 + 5);
    packet::parsed p;
    ASSERT_EQ(packet::parse(f, static_cast<uint32_t>(f.size()), p), packet::parse_status::done);
    EXPECT_EQ(p.l3_drop, packet::drop_reason::none);
    EXPECT_EQ(p.upper_protocol, packet::protocol_udp);
    EXPECT_EQ(p.source_port, 49152 + 5);
    EXPECT_EQ(p.destination_port, 4789);
    EXPECT_EQ(p.padding_bytes, 0u);
    EXPECT_EQ(packet::checksum({f.data() + 14, 20}), 0);
    EXPECT_EQ(load_be<uint16_t>(f.data() + 38), 8 + 8 + 60);
    EXPECT_EQ(load_be<uint32_t>(f.data() + 42), 0x0800'0000u);
    EXPECT_EQ(load_be<uint32_t>(f.data() + 46), 0xabcdef00u);
}

TEST(vxlan_traffic_test, of_the_device_is_decapsulated) {
    auto f = encapsulated(from_device, 60);
    auto inner = inner_frame(from_us, f);
    ASSERT_EQ(inner.size(), 60u);
    EXPECT_EQ(inner.data(), f.data() + vxlan_bytes);
    f.resize(f.size() + 4);  // padding
    EXPECT_EQ(inner_frame(from_us, f).size(), 60u);
    f.insert(f.begin() + 12, {0x81, 0, 0, 7});
    inner = inner_frame(from_us, f);
    EXPECT_EQ(inner.data(), f.data() + vxlan_bytes + 4);
}

TEST(vxlan_traffic_test, of_other_tunnels_is_not) {
    EXPECT_TRUE(inner_frame(from_us, encapsulated(from_us, 60)).empty()) << "its own frame";
    const auto good = encapsulated(from_device, 60);
    for (const size_t at : {12u, 23u, 26u, 30u, 36u, 42u, 46u}) {
        auto bad = good;
        bad[at] ^= 0x18;
        EXPECT_TRUE(inner_frame(from_us, bad).empty()) << at;
    }
    for (size_t length = 0; length < good.size(); ++length)
        EXPECT_TRUE(inner_frame(from_us, {good.data(), length}).empty()) << length;
}

}  // namespace
}  // namespace turnpike::throughput
