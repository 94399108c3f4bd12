// SPDX-License-Identifier: BSD-3-Clause
// Mirrors: copies of frames as on the wire, with the tags that devices strip or insert, and without buffers.
#include "turnpike/bridge_lab.hpp"

namespace turnpike::datapath {
namespace {

using namespace test;

const std::string mirrored = ports(3) +
                             "xconnects: [[p0, p1]]\n"
                             "mirrors:\n  - {name: all, ports: [p0], to: p2}\n";

const byte_vector tagged = [] {
    byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1), 7);
    const byte_vector tag{0x81, 0, 0x60, 9};
    f.insert(f.begin() + 12, tag.begin(), tag.end());
    return f;
}();
byte_vector without_tag(byte_vector f) {
    f.erase(f.begin() + 12, f.begin() + 16);
    return f;
}

TEST(mirror, copies_both_directions) {
    bridge_lab l(mirrored);
    const byte_vector there = frame(test::fdb_entry(2), test::fdb_entry(1)),
                      back = frame(test::fdb_entry(1), test::fdb_entry(2), 1);
    auto out = l.send(0, there);
    EXPECT_EQ(out[1], one(there));
    EXPECT_EQ(out[2], one(there));
    out = l.send(1, back);
    EXPECT_EQ(out[0], one(back));
    EXPECT_EQ(out[2], one(back));
    EXPECT_EQ(l.controller().mirroring().counted("all").packets, 2U);
    EXPECT_EQ(l.controller().mirroring().counted("all").bytes, 120U);
    EXPECT_EQ(l.controller().report().total().originated, 2U);
}

TEST(mirror, has_the_tag_that_the_device_stripped) {
    bridge_lab l(mirrored);
    rte_mbuf* const m = l.packet_of(without_tag(tagged));
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = 0x6009;
    ASSERT_TRUE(l.offer_packet(0, m));
    l.settle();
    EXPECT_EQ(l.sent(2), one(tagged));
}

/// The frames that reach stage tx.
thread_local std::vector<byte_vector> at_tx;

struct mirror_stage : ::testing::Test {
    bridge_lab lab{mirrored};
    context c;
    std::array<stage_row, stages> table = stage_table;

    mirror_stage() {
        table[static_cast<size_t>(stage::tx)].run = [](context&, burst& b,
                                                       packet_mask packets) noexcept {
            for_each(packets, [&](uint32_t i) {
                at_tx.push_back(path_lab::bytes_of(b.packet[i]));
                rte_pktmbuf_free(b.packet[i]);
            });
            return stage_mask{0};
        };
        c.table = table.data();
        c.snapshot = &lab.snapshot();
        at_tx.clear();
    }
    /// A frame that is about to leave by p0.
    void send(rte_mbuf* m) {
        burst b;
        b.begin(1, 1);
        b.packet[0] = m;
        b.out[0] = c.snapshot->interfaces[c.snapshot->port[0].untagged].out();
        dispatch(table, c, b, enqueue(b, 1, stage::mirror_out), [](size_t, packet_mask) {});
    }
    [[nodiscard]] uint64_t originated() const { return c.counters[1].originated.read(); }
};

TEST_F(mirror_stage, has_the_tag_that_the_device_inserts) {
    rte_mbuf* const m = lab.packet_of(without_tag(tagged));
    m->ol_flags |= RTE_MBUF_F_TX_VLAN;
    m->vlan_tci = 0x6009;
    send(m);
    EXPECT_EQ(at_tx, (std::vector<byte_vector>{tagged, without_tag(tagged)}));
    EXPECT_EQ(originated(), 1U);
}

/// A copy that cannot be made counts like one that was made and dropped.
TEST_F(mirror_stage, counts_copies_without_a_burst_for_them) {
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    c.bursts_in_use = static_cast<uint32_t>(c.made.size());
    send(lab.packet_of(f));
    EXPECT_EQ(at_tx, one(f));
    EXPECT_EQ(originated(), 1U);
    EXPECT_EQ(c.counters[1].drops[static_cast<size_t>(drop_reason::mirror_memory)].read(), 1U);
}

TEST(mirror, forwards_without_buffers) {
    bridge_lab l(mirrored);
    const byte_vector f = frame(test::fdb_entry(2), test::fdb_entry(1));
    rte_mbuf* const first = l.packet_of(f);
    std::vector<rte_mbuf*> held;
    while (rte_mbuf* const m = l.packet_of(f)) held.push_back(m);
    ASSERT_TRUE(l.offer_packet(0, first));
    l.settle();
    EXPECT_EQ(l.sent(1), one(f));
    EXPECT_TRUE(l.sent(2).empty());
    EXPECT_EQ(l.dropped(drop_reason::mirror_memory), 1U);
    EXPECT_EQ(l.controller().mirroring().counted("all").lost, 1U);
    for (rte_mbuf* const m : held) rte_pktmbuf_free(m);
}

/// Copies of frames in several segments, cut and tagged.
TEST(mirror, cuts_and_tags_copies) {
    bridge_lab l(ports(3) +
                 "xconnects: [[p0, p1]]\n"
                 "mirrors:\n  - {name: cut, ports: [p0], direction: in, vlan: 9, length: 64, to: "
                 "p2, to_vlan: 5}\n");
    byte_vector longer = tagged;
    longer.resize(1000, 0xa5);
    rte_mbuf* const head = l.packet_of({longer.begin(), longer.begin() + 40});
    rte_mbuf* const tail = l.packet_of({longer.begin() + 40, longer.end()});
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    ASSERT_TRUE(l.offer_packet(0, head));
    ASSERT_TRUE(l.offer(0, without_tag(tagged)));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 2U);
    byte_vector wanted(longer.begin(), longer.begin() + 64);
    const byte_vector tag{0x81, 0, 0, 5};
    wanted.insert(wanted.begin() + 12, tag.begin(), tag.end());
    EXPECT_EQ(l.sent(2), one(wanted));
}

}  // namespace
}  // namespace turnpike::datapath
