// SPDX-License-Identifier: BSD-3-Clause
#include "devargs.hpp"

#include <gtest/gtest.h>

#include <random>

#include "lib/driver_parameters.hpp"
#include "lib/sanitized.hpp"
#include "unit/simnic/device.hpp"

namespace turnpike::simnic {
namespace {

TEST(simnic_arguments, defaults) {
    const auto a = parse_arguments("");
    ASSERT_TRUE(a.has_value());
    EXPECT_EQ(a->policy.profile, "ixgbe");
    EXPECT_EQ(pcie::to_string(a->link), "gen3x8");
    EXPECT_EQ(a->wire, wire_kind::sink);
    EXPECT_FALSE(a->threaded);
}

TEST(simnic_arguments, all_of_a_generator) {
    const auto a = parse_arguments(
        "profile=i40e,pcie=gen4x16,mps=512,mrrs=4096,engine=thread,engine_cpu=1,link=40,queues=2,"
        "mac=02:00:00:00:00:09,wire=gen,size=64-1518,l2flows=3125,dst_mac=02:11:22:33:44:55,"
        "rate=1.5M,ip=4,src=10.0.0.1,dst=10.0.0.2");
    ASSERT_TRUE(a.has_value()) << a.error().message();
    EXPECT_EQ(a->policy.rx.descriptor_bytes, 32u);
    EXPECT_EQ(a->link.gen, 4);
    EXPECT_EQ(a->link.lanes, 16);
    EXPECT_EQ(a->link.mps, 512);
    EXPECT_EQ(a->link.mrrs, 4096);
    EXPECT_TRUE(a->threaded);
    EXPECT_EQ(a->engine_cpu, 1);
    EXPECT_EQ(a->link_gbps, 40);
    EXPECT_EQ(a->queues, 2);
    EXPECT_EQ(a->mac.bytes[5], 9);
    EXPECT_EQ(a->traffic.smallest, 64u);
    EXPECT_EQ(a->traffic.largest, 1518u);
    EXPECT_EQ(a->traffic.l2_flows, 3125u);
    EXPECT_EQ(a->traffic.dst_mac.bytes[1], 0x11);
    EXPECT_EQ(a->traffic.rate_pps, 1.5e6);
    EXPECT_EQ(a->traffic.src_ip, 0x0a00'0001u);
    EXPECT_EQ(a->traffic.dst_ip, 0x0a00'0002u);
}

TEST(simnic_arguments, of_memory) {
    EXPECT_FALSE(parse_arguments("")->cold);
    EXPECT_FALSE(parse_arguments("memory=warm")->cold);
    EXPECT_TRUE(parse_arguments("wire=gen,memory=cold")->cold);
    for (const char* text : {"memory=", "memory=hot", "memory=cold,memory=warm"}) {
        const auto a = parse_arguments(text);
        ASSERT_FALSE(a.has_value()) << text;
        EXPECT_EQ(a.error().code, EINVAL);
    }
    EXPECT_EQ(parse_arguments("memory=hot").error().text, "memory takes warm or cold");
}

TEST(simnic_arguments, of_a_capture_on_a_bad_line) {
    const auto a = parse_arguments(
        "wire=pcap:/a:b/c.pcapng,dst_mac=02:11:22:33:44:55,dst=10.0.0.2,rate=10k,loss=0.25,"
        "duplicate=1e-3,reorder=0,corrupt=0.5,delay=20,seed=4294967295,flap=500-100,"
        "loss_every=9,loss_until=30,outage=40-50");
    ASSERT_TRUE(a.has_value()) << a.error().message();
    EXPECT_EQ(a->wire, wire_kind::pcap);
    EXPECT_EQ(a->wire_name, "/a:b/c.pcapng");
    EXPECT_FALSE(a->traffic.src_ip.has_value());
    EXPECT_EQ(a->traffic.dst_ip, 0x0a00'0002u);
    EXPECT_EQ(a->impaired.loss, 0.25);
    EXPECT_EQ(a->impaired.duplicate, 1e-3);
    EXPECT_EQ(a->impaired.corrupt, 0.5);
    EXPECT_EQ(a->impaired.delay_us, 20u);
    EXPECT_EQ(a->impaired.seed, UINT32_MAX);
    EXPECT_EQ(a->impaired.up_ms, 500u);
    EXPECT_EQ(a->impaired.down_ms, 100u);
    EXPECT_EQ(a->impaired.loss_until, 30u);
    EXPECT_EQ(a->impaired.outage_after, 40u);
    EXPECT_EQ(a->impaired.outage, 50u);
    EXPECT_TRUE(a->impaired.any());
}

TEST(simnic_arguments, of_a_delay_whose_frames_the_line_holds) {
    for (const char* text :
         {"wire=gen,rate=1M,delay=4000", "wire=pcap:f,rate=1M,delay=2000,duplicate=1",
          "wire=gen,rate=2M,cap=1M,buffer=1000,delay=3000",
          "wire=peer:p,cap=1M,buffer=1000,delay=3000", "wire=gen,rate=1k,cap=1M,delay=1000000",
          "wire=gen,delay=1000000", "wire=peer:p,delay=1000000"})
        EXPECT_TRUE(parse_arguments(text).has_value()) << text;
}

struct refused {
    const char* text;
    const char* object;  ///< names the argument
    const char* takes;   ///< part of the error's list of accepted values
};

class simnic_refuses : public ::testing::TestWithParam<refused> {};

TEST_P(simnic_refuses, with_the_arguments_name) {
    const auto a = parse_arguments(GetParam().text);
    ASSERT_FALSE(a.has_value());
    EXPECT_EQ(a.error().code, EINVAL);
    EXPECT_NE(a.error().object.find(GetParam().object), std::string::npos) << a.error().message();
    EXPECT_NE(a.error().text.find(GetParam().takes), std::string::npos) << a.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    all, simnic_refuses,
    ::testing::Values(
        refused{"speed=10", "speed", "known are profile, pcie, mps"},
        refused{"profile", "profile", "key=value"}, refused{"profile=e9000", "profile", "ixgbe"},
        refused{"profile=mlx5", "profile", "model only"},
        refused{"profile=simple", "profile", "model only"},
        refused{"profile=ice,profile=ice", "profile", "twice"},
        refused{"pcie=gen9x8", "pcie", "gen3x8"}, refused{"mps=100", "mps", "power of two"},
        refused{"mrrs=8192", "mrrs", "power of two"},
        refused{"engine=gpu", "engine", "inline or thread"},
        refused{"engine_cpu=1", "engine_cpu", "engine=thread"},
        refused{"engine=thread,engine_cpu=-1", "engine_cpu", "0 to 1023"},
        refused{"link=1", "link", "100"}, refused{"queues=0", "queues", "1 to 16"},
        refused{"queues=17", "queues", "1 to 16"},
        refused{"mac=01:00:00:00:00:01", "mac", "unicast"},
        refused{"mac=02:00:00:00:00", "mac", "unicast"},
        refused{"wire=string", "wire", "sink, gen"}, refused{"wire=peer", "wire", "peer:NAME"},
        refused{"wire=gen:x", "wire", "sink, gen"}, refused{"size=64", "size", "wire=gen"},
        refused{"wire=gen,size=63", "size", "64 to 9732"},
        refused{"wire=gen,size=100-90", "size", "64 to 9732"},
        refused{"wire=gen,size=64x", "size", "64 to 9732"},
        refused{"wire=gen,l2flows=0", "l2flows", "1 to"},
        refused{"wire=gen,l2flows=1,l3flows=1", "l2flows", "excludes"},
        refused{"wire=gen,l2peers=7", "l2peers", "needs l2flows"},
        refused{"wire=gen,l2flows=9,l2peers=0", "l2peers", "1 to"},
        refused{"wire=gen,vlan=4095", "vlan", "1 to 4094"},
        refused{"wire=gen,vlan=1,size=9732", "vlan", "longer than 9732"},
        refused{"wire=gen,draw=normal", "draw", "turn or zipf"},
        refused{"wire=pcap:f,vlan=1", "vlan", "wire=gen only"},
        refused{"wire=gen,ip=5", "ip", "4 or 6"}, refused{"wire=gen,ip=6", "size", "84"},
        refused{"wire=gen,ip=6,size=100,dst=1.2.3.4", "dst", "IPv4"},
        refused{"wire=gen,dst_mac=x", "dst_mac", "MAC address"},
        refused{"wire=gen,src=1.2.3", "src", "IPv4"},
        refused{"wire=gen,rate=-1", "rate", "per second"},
        refused{"wire=gen,rate=nan", "rate", "per second"},
        refused{"wire=pcap", "wire", "pcap:FILE"}, refused{"wire=record:", "wire", "record:FILE"},
        refused{"wire=pcap:f,size=64", "size", "wire=gen only"},
        refused{"wire=tap:t,rate=1", "rate", "wire=gen, pcap only"},
        refused{"wire=sink,loss=0.1", "loss", "wire=gen, peer, tap, pcap only"},
        refused{"wire=gen,loss=1.1", "loss", "0 to 1"},
        refused{"wire=gen,duplicate=nan", "duplicate", "0 to 1"},
        refused{"wire=gen,reorder=-1", "reorder", "0 to 1"},
        refused{"wire=gen,corrupt=1x", "corrupt", "0 to 1"},
        refused{"wire=gen,loss=0.6,corrupt=0.6", "loss", "at most 1"},
        refused{"wire=gen,delay=1s", "delay", "microseconds"},
        refused{"wire=gen,rate=1M,delay=4001", "delay", "these would be 4001"},
        refused{"wire=pcap:f,rate=1M,delay=2001,duplicate=1", "delay", "at most 4000 frames"},
        refused{"wire=gen,rate=2M,cap=1M,buffer=1000,delay=3001", "delay", "4001"},
        refused{"wire=peer:p,cap=1M,buffer=1000,delay=3001", "delay", "4001"},
        refused{"wire=gen,loss_every=1", "loss_every", "2 to 1000000"},
        refused{"wire=gen,cap=0", "cap", "packets per second"},
        refused{"wire=gen,cap=1k,buffer=3841", "buffer", "1 to 3840"},
        refused{"wire=gen,buffer=10", "buffer", "needs cap"},
        refused{"wire=gen,loss_until=10", "loss_until", "needs loss_every"},
        refused{"wire=gen,loss_every=2,loss_until=0", "loss_until", "number of frames"},
        refused{"wire=gen,outage=500", "outage", "5000-400"},
        refused{"outage=500-100", "outage", "wire=gen, peer, tap, pcap only"},
        refused{"wire=gen,seed=-1", "seed", "number"}, refused{"flap=500", "flap", "500-100"},
        refused{"flap=0-100", "flap", "500-100"}, refused{"vanish=0", "vanish", "milliseconds"},
        refused{"clock_step=0", "clock_step", "milliseconds"},
        refused{"clock=999", "clock", "1000 to 1000000000"},
        refused{"clock=1000000001", "clock", "frequency"},
        refused{"vanish=10s", "vanish", "milliseconds"}));

TEST(simnic_arguments, mutations_do_no_harm) {
    const std::string good =
        "profile=i40e,pcie=gen4x16,mps=512,engine=thread,link=40,queues=2,wire=gen,size=64-1518,"
        "l2flows=3125,dst_mac=02:11:22:33:44:55,rate=1.5M,src=10.0.0.1,loss=0.1,duplicate=1e-3,"
        "reorder=0.2,corrupt=0.3,delay=20,seed=7,flap=500-100";
    std::mt19937 random(7);
    for (uint32_t round = 0; round < test::rounds(turnpike::test::sanitized ? 20'000 : 200'000);
         ++round) {
        std::string text = good;
        for (unsigned n = 1 + random() % 4; n > 0; --n) {
            const size_t at = random() % text.size();
            switch (random() % 3) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text.erase(at, 1 + random() % 8);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 16));
            }
            if (text.empty()) text = "=";
        }
        const auto a = parse_arguments(text);
        if (!a) {
            EXPECT_FALSE(a.error().text.empty());
            EXPECT_FALSE(a.error().object.empty());
        } else {
            EXPECT_GE(a->queues, 1);
            EXPECT_GE(a->traffic.largest, a->traffic.smallest);
            EXPECT_LE(a->impaired.loss + a->impaired.corrupt, 1);
        }
    }
}

TEST(simnic_arguments, pmdinfo_shows_those_that_are_read) {
    const auto a = parse_arguments("?=");
    ASSERT_FALSE(a.has_value());
    EXPECT_EQ(turnpike::test::names_in(SIMNIC_PARAMETERS), turnpike::test::names_in(a.error()));
}

}  // namespace
}  // namespace turnpike::simnic
