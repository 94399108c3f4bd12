// SPDX-License-Identifier: BSD-3-Clause
// The stage graph: the rules of its tables, and walks of a burst; a stage of the test replaces
// a tunnel's end.
#include "datapath/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>

#include "datapath/vlan_tag.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::datapath {
namespace {

using datapath::drop_reason;
using namespace test;

TEST(graph, names_are_unique_and_edges_point_forward) {
    std::set<std::string_view> names;
    for (size_t s = 0; s < stages; ++s) {
        const stage_row& row = stage_table[s];
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_NE(row.run, nullptr) << row.name;
        EXPECT_EQ(row.next & ((stage_mask{2} << s) - 1), 0U) << row.name << " goes back";
        EXPECT_EQ(row.next >> stages, 0U) << row.name;
    }
    for (const handler_row& row : handler_table)
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(graph, every_stage_is_reached_and_every_way_ends_at_a_door) {
    stage_mask reached = bit(stage::rx);
    for (size_t s = 0; s < stages; ++s)
        if ((reached >> s & 1) != 0) reached |= stage_table[s].next;
    EXPECT_EQ(reached, (stage_mask{1} << stages) - 1);
    for (const stage_row& row : stage_table) {
        const bool door = row.name == "tx" || row.name == "punt" || row.name == "drop";
        EXPECT_TRUE(door || row.next != 0) << row.name;
        if (row.drops.size() != 0 && row.name != "rx") {
            EXPECT_NE(row.next & bit(stage::drop), 0U) << row.name << " drops, but not into drop";
        }
    }
}

TEST(graph, every_drop_reason_is_owned_once) {
    std::map<drop_reason, std::string_view> owner;
    const auto own = [&](std::string_view who, const auto& drops) {
        for (const drop_reason why : drops) {
            const auto [at, fresh] = owner.emplace(why, who);
            EXPECT_TRUE(fresh) << name(why) << " is " << at->second << "'s and " << who << "'s";
        }
    };
    for (const stage_row& row : stage_table) own(row.name, row.drops);
    for (const handler_row& row : handler_table) own(row.name, row.drops);
    for (size_t r = 1; r < datapath::drop_reasons; ++r)
        EXPECT_TRUE(owner.contains(static_cast<drop_reason>(r)))
            << datapath::drop_texts[r].name << " is nobody's";
}

TEST(for_each, visits_a_mask_in_order) {
    for (const packet_mask m : {0U, 1U, 0xffU, 0xffff'ffffU, 0x8000'0001U, 0x0000'ff00U}) {
        std::vector<uint32_t> seen, wanted;
        for_each(m, [&](uint32_t i) { seen.push_back(i); });
        for (uint32_t i = 0; i < 32; ++i)
            if ((m >> i & 1) != 0) wanted.push_back(i);
        EXPECT_EQ(seen, wanted);
    }
}

/// Replaces stage ip_input: decapsulates packets of nested tunnels, one for each recirculation.
thread_local unsigned tunnels = 0;

stage_mask run_tunnel_end(context&, burst& b, packet_mask packets) noexcept {
    if (b.recirculations < tunnels) {
        b.recirculated |= packets;  // in[] stays: the same interface takes it again
        return 0;
    }
    return enqueue(b, packets, stage::drop);
}

constexpr const char* patched =
    "ports:\n  - {name: west, device: d0}\n  - {name: east, device: d1}\nxconnects: [[west, "
    "east]]\n";

/// A burst of two frames through a table whose interface stage is followed by the tunnel's end.
std::vector<std::string_view> dispatch_with_tunnels(path_lab& l, unsigned deep) {
    tunnels = deep;
    static thread_local std::vector<std::string_view> marks;
    marks.clear();
    auto table = stage_table;
    table[static_cast<size_t>(stage::iface_input)].run = [](context& c, burst& b,
                                                            packet_mask packets) noexcept {
        if (run_iface_input(c, b, packets) == 0) return stage_mask{0};
        b.at = {};
        return enqueue(b, packets, stage::ip_input);
    };
    table[static_cast<size_t>(stage::ip_input)].run = run_tunnel_end;
    context c;
    c.snapshot = &l.snapshot();
    burst b;
    b.count = 2;
    for (uint32_t i = 0; i < b.count; ++i) {
        b.packet[i] = l.packet_of(byte_vector(60));
        b.drop[i] = drop_reason::runt;
    }
    dispatch(table, c, b, enqueue(b, all_of(b.count), stage::iface_input),
             [&](size_t s, packet_mask packets) {
                 EXPECT_EQ(packets, 3U);
                 marks.push_back(stage_table[s].name);
             });
    EXPECT_EQ(b.recirculated, 0U);
    for (const packet_mask at : b.at) EXPECT_EQ(at, 0U) << "a packet was left behind";
    const auto dropped = [&](drop_reason why) {
        return c.counters[0].drops[static_cast<size_t>(why)].read();
    };
    EXPECT_EQ(dropped(drop_reason::too_many_passes), deep > max_recirculations ? 2U : 0U);
    return marks;
}

TEST(dispatch, passes_are_bounded) {
    path_lab l(patched);
    for (const unsigned deep :
         {0U, 1U, max_recirculations, max_recirculations + 1, max_recirculations + 4}) {
        const auto marks = dispatch_with_tunnels(l, deep);
        const auto passes = std::count(marks.begin(), marks.end(), "iface_input");
        EXPECT_EQ(passes, static_cast<long>(std::min(deep, max_recirculations) + 1)) << deep;
        EXPECT_EQ(marks.back(), "drop");
    }
}

/// A frame shorter than its Ethernet header is dropped; the rest of the burst is forwarded.
TEST(rx, drops_runts_alone) {
    path_lab l(patched);
    context c;
    c.snapshot = &l.snapshot();
    burst b;
    b.count = 3;
    for (uint32_t i = 0; i < b.count; ++i) b.packet[i] = l.packet_of(byte_vector(12 + i));
    EXPECT_EQ(run_rx(c, b, all_of(b.count)), bit(stage::iface_input) | bit(stage::drop));
    EXPECT_EQ(b.at[static_cast<size_t>(stage::iface_input)], 0b100U);
    EXPECT_EQ(b.at[static_cast<size_t>(stage::drop)], 0b011U);
    EXPECT_EQ(b.drop[1], drop_reason::runt);
    EXPECT_EQ(c.counters[0].rx_packets.read(), 3U);
    EXPECT_EQ(c.counters[0].rx_bytes.read(), 12U + 13U + 14U);
    for (uint32_t i = 0; i < b.count; ++i) rte_pktmbuf_free(b.packet[i]);
}

/// Bursts of any size, of tagged frames of several lengths, one of which may be in two segments: the limits are the lengths',
/// and tags are removed from all as from each.
TEST(rx, knows_the_limits_of_lengths) {
    path_lab l(patched);
    context c;
    c.snapshot = &l.snapshot();
    std::mt19937 random(11);
    for (uint32_t n = 1; n <= burst_max; ++n) {
        burst b;
        b.begin(n, 0);
        const auto in_two = static_cast<uint32_t>(random() % (2 * n));
        for (uint32_t i = 0; i < n; ++i) {
            byte_vector frame(18 + random() % 200, static_cast<uint8_t>(i));
            frame[12] = 0x81;
            frame[13] = 0;
            b.packet[i] = l.packet_of(frame);
            if (i == in_two) {
                ASSERT_EQ(rte_pktmbuf_chain(b.packet[i], l.packet_of(zeros(20))), 0);
            }
        }
        const auto column = [&] { return std::span(b.single_segment_bytes).first(n); };
        const auto expect_limits = [&] {
            EXPECT_EQ(b.min_bytes, *std::ranges::min_element(column())) << n;
            EXPECT_GE(b.max_bytes, *std::ranges::max_element(column())) << n;
        };
        EXPECT_EQ(run_rx(c, b, all_of(n)), bit(stage::iface_input));
        expect_limits();
        EXPECT_EQ(b.max_bytes, *std::ranges::max_element(column()));
        std::vector<byte_vector> wanted;
        for (uint32_t i = 0; i < n; ++i) {
            EXPECT_EQ(b.single_segment_bytes[i], i == in_two ? 0 : b.packet[i]->pkt_len);
            wanted.push_back(path_lab::bytes_of(b.packet[i]));
            wanted.back().erase(wanted.back().begin() + 12, wanted.back().begin() + 16);
        }
        vlan_pop_all(b);
        expect_limits();
        for (uint32_t i = 0; i < n; ++i) {
            EXPECT_EQ(path_lab::bytes_of(b.packet[i]), wanted[i]);
            EXPECT_EQ(b.single_segment_bytes[i], i == in_two ? 0 : b.packet[i]->pkt_len);
            rte_pktmbuf_free(b.packet[i]);
        }
        b.begin(0, 0);
        EXPECT_EQ(b.min_bytes, 0U);
        EXPECT_EQ(b.max_bytes, UINT32_MAX);
    }
}

/// Two VLANs of one port are two interfaces: each goes to its own peer.
TEST(interface, is_reached_by_port_and_vlan) {
    path_lab l(
        "ports:\n  - {name: a, device: d0}\n  - {name: b, device: d1}\n  - {name: c, device: d2}\n"
        "  - {name: d, device: d3}\nxconnects: [[a, b], [c, d]]\n");
    snapshot v = l.snapshot();
    std::array<uint16_t, 4096> by_vlan{};
    const uint16_t untagged = v.port[0].untagged, seven = v.port[2].untagged;
    by_vlan[0] = untagged;
    by_vlan[7] = seven;
    v.port[0].by_vlan = by_vlan.data();
    context c;
    c.snapshot = &v;
    burst b;
    const auto frame = [](std::initializer_list<uint8_t> tag) {
        byte_vector f(60, 2);
        std::copy(tag.begin(), tag.end(), &f[12]);
        return f;
    };
    const byte_vector frames[] = {frame({8, 0}), frame({0x81, 0, 0, 7, 8, 0}),
                                  frame({0x88, 0xa8, 0x20, 7, 8, 0}),  // a tag of another type
                                  frame({0x81, 0, 0xe0, 0, 8, 0}),     // a priority
                                  frame({0x81, 0, 0, 8, 8, 0})};
    const uint16_t wanted[] = {untagged, seven, untagged, untagged, 0};
    b.count = std::size(frames);
    for (uint32_t i = 0; i < b.count; ++i) b.packet[i] = l.packet_of(frames[i]);
    const stage_mask next = run_iface_input(c, b, all_of(b.count));
    EXPECT_EQ(next, bit(stage::xconnect) | bit(stage::drop));
    for (uint32_t i = 0; i < b.count; ++i) EXPECT_EQ(b.in[i], wanted[i]) << i;
    EXPECT_EQ(b.at[static_cast<size_t>(stage::xconnect)], 0xfU);
    EXPECT_EQ(b.drop[4], drop_reason::no_interface);
    EXPECT_EQ(run_xconnect(c, b, 0xf), bit(stage::tx));
    EXPECT_EQ(b.out[0].port, 1U);
    EXPECT_EQ(b.out[1].port, 3U);
    EXPECT_EQ(b.out[2].port, 1U);
    for (uint32_t i = 0; i < b.count; ++i) rte_pktmbuf_free(b.packet[i]);
}

}  // namespace
}  // namespace turnpike::datapath
