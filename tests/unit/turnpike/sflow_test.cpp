// SPDX-License-Identifier: BSD-3-Clause
// Samples of a worker, and sFlow's datagrams. tests/system/sflow_test.py decodes real ones.
#include "observe/sflow.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "base/byte_order.hpp"
#include "datapath/sampler.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"
#include "packet/headers.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using observe::sflow::datagram;

ip_address agent() { return *parse_address("192.0.2.1"); }

/// The words of a datagram behind its header.
std::vector<uint32_t> words_of(std::span<const uint8_t> bytes) {
    std::vector<uint32_t> out;
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4)
        out.push_back(load_be<uint32_t>(&bytes[at]));
    return out;
}

TEST(sflow_datagram, has_the_words_of_the_specification) {
    datagram d(agent());
    EXPECT_TRUE(d.empty());
    const std::vector<uint8_t> header{1, 2, 3, 4, 5};
    ASSERT_TRUE(d.add(observe::sflow::flow_sample{.sequence = 7,
                                                  .source = 3,
                                                  .rate = 100,
                                                  .pool = 1234,
                                                  .lost = 2,
                                                  .input = 3,
                                                  .output = 4,
                                                  .header = {header, 60}}));
    EXPECT_FALSE(d.empty());
    const auto words = words_of(d.finish(9, 1500));
    EXPECT_EQ(words,
              (std::vector<uint32_t>{5, 1,  0xc0000201, 0, 9,   1500, 1,  //
                                     1, 64, 7,          3, 100, 1234, 2, 3,          4,
                                     1, 1,  24,         1, 64,  4,    5, 0x01020304, 0x05000000}));
    d.clear();
    ASSERT_TRUE(d.add(observe::sflow::discarded_packet{
        .sequence = 1, .source = 2, .lost = 5, .why = drop_reason::urpf, .header = {header, 60}}));
    const auto drop = words_of(d.finish(10, 0));
    EXPECT_EQ(drop[7], 5U);
    EXPECT_EQ((std::vector<uint32_t>{drop.begin() + 9, drop.begin() + 17}),
              (std::vector<uint32_t>{1, 0, 2, 5, 2, 0, 302, 1}));
    d.clear();
    ASSERT_TRUE(d.add(observe::sflow::discarded_packet{.sequence = 1,
                                                       .source = 2,
                                                       .lost = 5,
                                                       .why = drop_reason::tx_refused,
                                                       .header = {header, 60}}));
    const auto refused = words_of(d.finish(10, 0));
    EXPECT_EQ((std::vector<uint32_t>{refused.begin() + 9, refused.begin() + 16}),
              (std::vector<uint32_t>{1, 0, 2, 5, 0, 2, 259}));
    d.clear();
    ASSERT_TRUE(d.add(observe::sflow::interface_counters{.sequence = 1,
                                                         .source = 2,
                                                         .bits_per_second = 10,
                                                         .admin_up = true,
                                                         .rx_bytes = 20,
                                                         .rx_packets = 21,
                                                         .rx_discards = 22,
                                                         .tx_bytes = 30,
                                                         .tx_packets = 31,
                                                         .tx_discards = 32}));
    const auto counters = words_of(d.finish(11, 0));
    constexpr uint32_t none = 0xffff'ffff;
    EXPECT_EQ(
        (std::vector<uint32_t>{counters.begin() + 9, counters.begin() + 36}),
        (std::vector<uint32_t>{1,    2,    2,  1,    88,   2, 6,  0,  10,   1,    1,  0,    20, 21,
                               none, none, 22, none, none, 0, 30, 31, none, none, 32, none, 2}));
}

/// "interface" of sFlow version 5: the upper two bits are the format of the others.
TEST(sflow_datagram, interfaces_that_are_no_single_one) {
    using namespace observe::sflow;
    EXPECT_EQ(discarded(drop_reason::acl_deny), 1U << 30 | 258);
    EXPECT_EQ(discarded(drop_reason::route_unreachable), 1U << 30);
    EXPECT_EQ(multiple_interfaces(7), 0x80000007U);
    EXPECT_EQ(no_interface, (1U << 30) - 1);
}

TEST(sflow_datagram, takes_samples_to_its_limit) {
    datagram d(*parse_address("2001:db8::1"));
    const std::vector<uint8_t> header(128, 0xab);
    const observe::sflow::flow_sample one{.header = {header, 1500}};
    size_t samples = 0;
    while (d.add(one)) ++samples;
    const auto full = d.finish(1, 0);
    EXPECT_EQ(samples, 7U);
    EXPECT_LE(full.size(), datagram::max_bytes);
    EXPECT_EQ(load_be<uint32_t>(&full[36]), samples);
    d.clear();
    // A sample that fits no datagram is sent alone.
    const std::vector<uint8_t> long_header(2000, 1);
    EXPECT_TRUE(d.add(observe::sflow::flow_sample{.header = {long_header, 9000}}));
    EXPECT_FALSE(d.add(one));
}

TEST(sflow_datagram, every_drop_reason_has_a_code) {
    for (size_t r = 1; r < datapath::drop_reasons; ++r) {
        const uint32_t code = observe::sflow::code_of(static_cast<drop_reason>(r));
        EXPECT_TRUE(code <= 15 || (code >= 256 && code <= 372)) << r;
    }
    EXPECT_EQ(observe::sflow::code_of(drop_reason::acl_deny), 258U);
    EXPECT_EQ(observe::sflow::code_of(drop_reason::ipv4_ttl), 257U);
    EXPECT_EQ(observe::sflow::code_of(drop_reason::arp_sender_mac), 256U);  // not in the list
}

/// Bursts of packets for a sampler.
class sampled : public ::testing::Test {
  protected:
    void SetUp() override {
        pool_ = rte_pktmbuf_pool_create("sampled", 64, 0, 0, 2048, SOCKET_ID_ANY);
        ASSERT_NE(pool_, nullptr);
        b_.begin(datapath::burst_max, 3);
        for (uint32_t i = 0; i < datapath::burst_max; ++i) {
            rte_mbuf* const m = rte_pktmbuf_alloc(pool_);
            auto* const to = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(m, 60));
            std::iota(to, to + 60, static_cast<uint8_t>(i));
            b_.packet[i] = m;
            b_.drop[i] = drop_reason::no_route;
        }
    }
    void TearDown() override {
        for (rte_mbuf* m : b_.packet) rte_pktmbuf_free(m);
        rte_mempool_free(pool_);
    }
    /// Takes all records out of the ring.
    static size_t taken_from(datapath::sampler& s) {
        size_t n = 0;
        for (; s.ring().front() != nullptr; ++n) s.ring().pop();
        return n;
    }
    rte_mempool* pool_ = nullptr;
    datapath::burst b_;
    const std::unique_ptr<datapath::snapshot> v_ = std::make_unique<datapath::snapshot>();
};

TEST_F(sampled, one_of_n_with_random_gaps) {
    for (const uint32_t n : {1U, 2U, 100U, 1000U}) {
        datapath::sampler s({.one_in = n, .header_bytes = 64, .drops_per_s = 0, .tsc_hz = 1000},
                            42);
        constexpr uint32_t bursts = 20'000;
        uint64_t samples = 0;
        for (uint32_t k = 0; k < bursts; ++k) {
            s.sample_received(b_, datapath::all_of(datapath::burst_max), k);
            s.commit();
            samples += taken_from(s);
        }
        const double packets = bursts * 32.0, expected = packets / n;
        EXPECT_EQ(s.pool(3), packets);
        EXPECT_NEAR(static_cast<double>(samples), expected, 1 + 5 * std::sqrt(expected / 3)) << n;
        EXPECT_EQ(s.lost_samples(), 0U);
    }
}

TEST_F(sampled, samples_wait_for_the_ends_of_their_paths) {
    datapath::sampler s({.one_in = 1, .header_bytes = 32, .drops_per_s = 10, .tsc_hz = 1000}, 1);
    EXPECT_TRUE(s.sample_received(b_, 0b11, 5));
    EXPECT_EQ(s.ring().front(), nullptr);
    s.commit();
    for (const int first : {0, 1}) {
        const datapath::capture_record* const r = s.ring().front();
        ASSERT_NE(r, nullptr);
        EXPECT_EQ(r->frame_bytes, 60U);
        EXPECT_EQ(r->kept, 32U);
        EXPECT_EQ(r->bytes()[31], 31 + first);
        EXPECT_EQ(r->port, 3);
        s.ring().pop();
    }
    EXPECT_EQ(s.ring().front(), nullptr);
}

/// With the TPID of the port, or of the tunnel, that it came by.
TEST_F(sampled, drops_have_the_tag_that_was_removed) {
    datapath::sampler s({.one_in = 0, .header_bytes = 32, .drops_per_s = 10, .tsc_hz = 1000}, 1);
    auto tunnels = std::make_shared<datapath::tunnel_tables>();
    tunnels->by_ifindex.resize(datapath::max_interfaces);
    tunnels->by_ifindex[9].tag_type = 0x8100;
    v_->tunnels = tunnels.get();
    v_->port[3].tag_type = 0x88a8;
    v_->interfaces[9].kind = datapath::interface_kind::bridged;
    v_->interfaces[9].port = datapath::tunnel_port;
    b_.tagged = 0b111;
    b_.tag_in_frame = 0b010;
    for (const uint32_t i : {0U, 1U, 2U, 3U}) {
        b_.tag[i] = 0x2064;
        b_.in[i] = i == 2 ? 9 : 1;
    }
    s.sample_dropped(*v_, b_, 0b1111, 5);
    for (const uint32_t tag : {0x88a82064U, 0U, 0x81002064U, 0U}) {
        const datapath::capture_record* const r = s.ring().front();
        ASSERT_NE(r, nullptr);
        EXPECT_EQ(r->frame_bytes, tag != 0 ? 64U : 60U);
        EXPECT_EQ(r->kept, 32U);
        const uint8_t first = r->bytes()[0];
        EXPECT_EQ(r->bytes()[11], first + 11);
        if (tag != 0) {
            EXPECT_EQ(load_be<uint32_t>(r->bytes() + 12), tag);
            EXPECT_EQ(r->bytes()[16], first + 12);
        } else {
            EXPECT_EQ(r->bytes()[12], first + 12);
        }
        s.ring().pop();
    }
    EXPECT_EQ(s.ring().front(), nullptr);
}

/// A record for each packet, in their order, whatever the order of the ends; drops in between wait, too.
TEST_F(sampled, paths_have_their_first_end) {
    using end = datapath::sampled_path::end;
    datapath::sampler s({.one_in = 1, .header_bytes = 32, .drops_per_s = 10, .tsc_hz = 1000}, 1);
    ASSERT_TRUE(s.sample_received(b_, datapath::all_of(8), 5));
    b_.out[5] = {.port = 9, .interface = 1};
    b_.punt[3] = datapath::punt_reason::icmp_error;
    b_.punt[4] = datapath::punt_reason::local;
    b_.punt[6] = datapath::punt_reason::resolve;
    b_.out[6] = {.port = 8, .interface = 1};
    s.end_sent(b_, 0b100000);
    s.end_dropped(b_, 0b100010);  // refused by the port: it was sent
    s.sample_dropped(*v_, b_, 0b10, 5);
    s.end_flooded(b_, 0b000100, 4);
    s.end_flooded(b_, 0b000001, 1);
    s.end_copied(b_, 0b10000000, 7);
    s.end_dropped(b_, 0b10000000);  // by the router
    s.end_punted(b_, 0b1011000);
    EXPECT_EQ(s.ring().front(), nullptr);
    s.commit();
    std::vector<std::tuple<end, uint16_t, drop_reason>> found;
    for (const datapath::capture_record* r; (r = s.ring().front()) != nullptr; s.ring().pop()) {
        if (r->point == datapath::capture_point::drop) continue;
        EXPECT_EQ(r->path.in, 3);
        found.emplace_back(r->path.how, r->path.out, r->why);
    }
    const auto none = drop_reason::none, no_route = drop_reason::no_route;
    EXPECT_EQ(found, (decltype(found){{end::unknown, 0, none},
                                      {end::dropped, 0, no_route},
                                      {end::flooded, 4, none},
                                      {end::dropped, 0, no_route},
                                      {end::to_router, 0, none},
                                      {end::sent, 9, none},
                                      {end::sent, 8, none},
                                      {end::sent, 7, none}}));
    // The next burst's mbufs may be the same.
    s.end_dropped(b_, datapath::all_of(32));
    s.sample_dropped(*v_, b_, 0b1, 5);
    EXPECT_EQ(taken_from(s), 1U) << "without samples, notifications do not wait";
}

TEST_F(sampled, notifications_of_drops_have_a_limit_by_the_second) {
    datapath::sampler s({.one_in = 0, .header_bytes = 32, .drops_per_s = 10, .tsc_hz = 1000}, 1);
    s.sample_dropped(*v_, b_, datapath::all_of(32), 5000);
    EXPECT_EQ(taken_from(s), 10U);
    EXPECT_EQ(s.lost_drops(), 22U);
    s.sample_dropped(*v_, b_, datapath::all_of(32), 5999);
    EXPECT_EQ(taken_from(s), 0U);
    s.sample_dropped(*v_, b_, 0b101, 6000);
    ASSERT_NE(s.ring().front(), nullptr);
    EXPECT_EQ(s.ring().front()->why, drop_reason::no_route);
    EXPECT_EQ(taken_from(s), 2U);
}

TEST_F(sampled, a_full_ring_loses_samples_and_counts_them) {
    datapath::sampler s({.one_in = 1, .header_bytes = 512, .drops_per_s = 0, .tsc_hz = 1000}, 1);
    uint64_t given = 0;
    for (int k = 0; k < 400; ++k, given += 32) {
        s.sample_received(b_, datapath::all_of(32), 1);
        s.commit();
    }
    const uint64_t lost = s.lost_samples();
    EXPECT_GT(lost, 0U);
    EXPECT_EQ(taken_from(s) + lost, given);
}

}  // namespace
}  // namespace turnpike
