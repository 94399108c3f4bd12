// SPDX-License-Identifier: BSD-3-Clause
// Latency: the histogram's bins, and samples of packets that pass, that are dropped, and that wait in a TX queue.
#include "counters/latency_histogram.hpp"

#include <random>

#include "turnpike/bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using counters::latency_histogram;

TEST(latency_histogram, bins_follow_each_other_and_are_narrow) {
    EXPECT_EQ(latency_histogram::bin_of(0), 0U);
    for (size_t bin = 0; bin + 1 < latency_histogram::bins; ++bin) {
        const uint64_t end = latency_histogram::end_of(bin);
        ASSERT_EQ(latency_histogram::bin_of(end - 1), bin);
        ASSERT_EQ(latency_histogram::bin_of(end), bin + 1);
        if (bin >= 8) {
            const uint64_t begin = latency_histogram::end_of(bin - 1);
            ASSERT_LE(end - begin, begin / 8);
        }
    }
    EXPECT_EQ(latency_histogram::bin_of(UINT64_MAX), latency_histogram::bins - 1);
    for (unsigned power = 3; power < latency_histogram::octaves; ++power)
        EXPECT_EQ(latency_histogram::end_of(latency_histogram::bin_of(uint64_t{1} << power) - 1),
                  uint64_t{1} << power)
            << "buckets of the metrics end between bins";
}

TEST(latency_histogram, sums_and_keeps_the_maximum) {
    latency_histogram h;
    std::mt19937_64 random(7);
    uint64_t sum = 0, most = 0, counted = 0;
    for (int i = 0; i < 1000; ++i) {
        const uint64_t ns = random() >> (30 + random() % 30);
        h.add(ns);
        sum += ns;
        most = std::max(most, ns);
    }
    for (const auto& n : h.samples) counted += n.read();
    EXPECT_EQ(counted, 1000U);
    EXPECT_EQ(h.sum_ns.read(), sum);
    EXPECT_EQ(h.max_ns.read(), most);
}

std::string patched_ports(const std::string& sample) {
    return sample + ports(3) +
           "xconnects: [[p0, p1]]\nbridges: [{name: lan, members: [{port: p2}]}]\n";
}

/// Number of samples by pair of ports, as "p0>p1 3".
std::string sampled_pairs(bridge_lab& l) {
    std::string out;
    for (const observe::latency_report& one : l.controller().latencies().counted()) {
        out +=
            (out.empty() ? "" : ", ") + one.in + ">" + one.out + " " + std::to_string(one.samples);
        uint64_t sum = 0;
        for (const uint64_t n : one.bins) sum += n;
        EXPECT_EQ(sum, one.samples);
        EXPECT_GT(one.max_ns, 0U);
        EXPECT_GE(one.max_ns * one.samples, one.sum_ns);
    }
    return out;
}

TEST(latency, is_of_pairs_of_ports) {
    bridge_lab l(patched_ports("latency: {sample: 1}\n"));
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(l.send(0, f)[1], one(f));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(l.send(1, f)[0], one(f));
    // A frame that goes nowhere, and others behind it in the same buffers.
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(l.send(2, frame(everybody, test::fdb_entry(1)))[0].size(), 0U);
    EXPECT_EQ(sampled_pairs(l), "p0>p1 3, p1>p0 2");
    EXPECT_EQ(l.send(0, f)[1], one(f));
    EXPECT_EQ(sampled_pairs(l), "p0>p1 4, p1>p0 2");
}

/// A packet that the driver refuses was not sent.
TEST(latency, refused_packets_are_no_samples) {
    bridge_lab l(patched_ports("latency: {sample: 1}\n"));
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    const auto samples = [&] {
        uint64_t n = 0;
        for (const observe::latency_report& one : l.controller().latencies().counted())
            n += one.samples;
        return n;
    };
    for (int i = 0; i < 2000 && l.dropped(datapath::drop_reason::tx_refused) == 0; ++i) {
        ASSERT_TRUE(l.offer(0, f));
        l.settle();  // nothing takes from the ring of p1
    }
    ASSERT_EQ(l.dropped(datapath::drop_reason::tx_refused), 1U);
    const uint64_t before = samples();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(l.offer(0, f));
        l.settle();
    }
    EXPECT_EQ(l.dropped(datapath::drop_reason::tx_refused), 4U);
    EXPECT_EQ(samples(), before);
    EXPECT_EQ(samples(), l.sent(1).size());
    EXPECT_EQ(l.send(0, f)[1], one(f));
    EXPECT_EQ(samples(), before + 1);
}

/// A port whose packets are dropped samples its own packets only.
TEST(latency, dropped_packets_take_no_sample_of_another_port) {
    bridge_lab l(patched_ports("latency: {sample: 1}\n"));
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1)),
                      nowhere = frame(everybody, test::fdb_entry(1));
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(l.offer(0, f));
        for (int k = 0; k < 20; ++k) ASSERT_TRUE(l.offer(2, nowhere));
        l.settle();
        EXPECT_EQ(l.sent(1), one(f));
    }
    EXPECT_EQ(sampled_pairs(l), "p0>p1 50");
}

/// Each packet of a burst may be the sample: three of four are dropped here.
TEST(latency, forwarded_packets_behind_dropped_ones_are_sampled) {
    bridge_lab l("latency: {sample: 1}\n" + three);
    l.send(0, frame(everybody, test::fdb_entry(1)));
    l.send(1, frame(everybody, test::fdb_entry(2)));
    const auto samples = [&] {
        uint64_t n = 0;
        for (const observe::latency_report& one : l.controller().latencies().counted())
            if (one.in == "p0" && one.out == "p1") n += one.samples;
        return n;
    };
    const uint64_t before = samples();
    constexpr int rounds = 400;
    for (int i = 0; i < rounds; ++i) {
        for (int k = 0; k < 3; ++k)
            ASSERT_TRUE(l.offer(0, frame(test::fdb_entry(1), test::fdb_entry(3))));
        ASSERT_TRUE(l.offer(0, frame(test::fdb_entry(2), test::fdb_entry(3))));
        l.settle();
        EXPECT_EQ(l.sent(1).size(), 1U);
    }
    // Binomial: a standard deviation is 8.7.
    EXPECT_NEAR(static_cast<double>(samples() - before), rounds / 4.0, 52);
}

/// Another port or its end does not restart the samples of the others; a port that comes again begins at 0.
TEST(latency, other_ports_go_and_come) {
    const std::string sample = "latency: {sample: 1}\n";
    const auto with_ports = [&](int n) {
        std::string members = "{port: p2}";
        for (int p = 3; p < n; ++p) members += ", {port: p" + std::to_string(p) + "}";
        return sample + ports(n) + "xconnects: [[p0, p1]]\nbridges: [{name: lan, members: [" +
               members + "]}]\n";
    };
    bridge_lab l(with_ports(4));
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    const auto change = [&](int n) {
        ASSERT_TRUE(l.apply(with_ports(n)));
        l.settle();
    };
    EXPECT_EQ(l.send(0, f)[1], one(f));
    EXPECT_EQ(l.send(2, f)[3], one(f));
    EXPECT_EQ(sampled_pairs(l), "p0>p1 1, p2>p3 1");
    const uint64_t life = l.controller().latencies().counted()[0].life;
    change(3);
    EXPECT_EQ(sampled_pairs(l), "p0>p1 1");
    EXPECT_EQ(l.send(0, f)[1], one(f));
    EXPECT_EQ(sampled_pairs(l), "p0>p1 2");
    change(4);
    EXPECT_EQ(sampled_pairs(l), "p0>p1 2");
    EXPECT_EQ(l.controller().latencies().counted()[0].life, life);
}

/// One packet of n on average, over bursts of any size; without the setting none, and no stage for it.
TEST(latency, samples_one_of_n) {
    bridge_lab l(patched_ports("latency: {sample: 8}\n"));
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    constexpr int rounds = 400;
    std::mt19937 random(3);
    int sent = 0;
    for (int i = 0; i < rounds; ++i) {
        const int n = 1 + static_cast<int>(random() % 4);
        for (int k = 0; k < n; ++k) ASSERT_TRUE(l.offer(0, f));
        sent += n;
        l.settle();
        EXPECT_EQ(l.sent(1).size(), static_cast<size_t>(n));
    }
    const auto counted = l.controller().latencies().counted();
    ASSERT_EQ(counted.size(), 1U);
    // Gaps are uniform from 1 to 15: standard deviation 4.3; six of them for about 125 gaps.
    EXPECT_NEAR(static_cast<double>(counted[0].samples), sent / 8.0, 40);
    ASSERT_TRUE(l.apply(patched_ports("")));
    EXPECT_TRUE(l.controller().latencies().counted().empty());
    for (const auto& port : l.snapshot().port) EXPECT_EQ(port.in_front, 0U);
    l.links(true);
    l.settle();
    EXPECT_EQ(l.send(0, f)[1], one(f));
}

}  // namespace
}  // namespace turnpike
