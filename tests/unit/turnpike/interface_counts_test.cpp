// SPDX-License-Identifier: BSD-3-Clause
// Counters of interfaces that share a port: VLAN interfaces, on the fast and the slow path, and a bridge's routing interface.
#include "turnpike/bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

const std::string shared_port =
    "interface_counters: true\n"
    "ports:\n  - {name: p0, device: d0, descriptors: 256, addresses: [10.0.1.254/24]}\n"
    "  - {name: p1, device: d1, descriptors: 256, addresses: [10.0.2.254/24]}\n"
    "  - {name: p2, device: d2, descriptors: 256}\n"
    "bridges:\n  - {name: lan, members: [{port: p2}], addresses: [10.0.3.254/24]}\n"
    "interfaces:\n  - {port: p0, vlan: 7, addresses: [10.0.7.254/24]}\n"
    "neighbours:\n  static:\n"
    "    - {address: 10.0.1.2, mac: \"02:00:00:00:00:01\"}\n"
    "    - {address: 10.0.2.2, mac: \"02:00:00:00:00:02\"}\n"
    "    - {address: 10.0.7.2, mac: \"02:00:00:00:00:07\"}\n"
    "    - {address: 10.0.3.2, mac: \"02:00:00:00:00:03\"}\n";

/// UDP of 46 bytes of layer 3: a frame of 60 bytes without a tag.
byte_vector packet_to(uint8_t port, const char* destination, uint8_t ttl = 64) {
    byte_vector ip = {0x45, 0, 0, 46, 0, 1, 0, 0, ttl, 17, 0, 0, 10, 0, 9, 2};
    const uint32_t d = parse_address(destination)->v4();
    for (const unsigned shift : {24U, 16U, 8U, 0U}) ip.push_back(static_cast<uint8_t>(d >> shift));
    uint32_t sum = 0;
    for (size_t i = 0; i < ip.size(); i += 2) sum += uint32_t{ip[i]} << 8 | ip[i + 1];
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    ip[10] = static_cast<uint8_t>(~sum >> 8);
    ip[11] = static_cast<uint8_t>(~sum);
    ip.insert(ip.end(), {0, 9, 0, 9, 0, 26, 0, 0});
    ip.resize(46);
    return ethernet(uint16_t{0x0800}, ip, {2, 0, 0, 0, 0, static_cast<uint8_t>(0x0b + port)},
                    {2, 0, 0, 0, 0, 0x77});
}
byte_vector with_vlan(byte_vector f, uint8_t vlan) {
    const byte_vector tag{0x81, 0, 0, vlan};
    f.insert(f.begin() + 12, tag.begin(), tag.end());
    return f;
}

class interface_counts : public ::testing::Test {
  protected:
    explicit interface_counts(const std::string& configuration = shared_port)
        : lab_(configuration) {
        lab_.links(true);
        lab_.settle();
    }
    /// rx packets and bytes, tx packets and bytes since the last call for the interface.
    std::vector<uint64_t> counted(const std::string& name) {
        const auto all = lab_.controller().counted_interfaces();
        const auto at = all.find(name);
        if (at == all.end()) return {};
        const observe::traffic& n = at->second.total;
        std::vector<uint64_t> now = {n.rx_packets, n.rx_bytes, n.tx_packets, n.tx_bytes};
        std::vector<uint64_t>& was = before_[name];
        was.resize(now.size());
        std::vector<uint64_t> grown;
        for (size_t i = 0; i < now.size(); ++i) grown.push_back(now[i] - was[i]);
        was = now;
        return grown;
    }
    void forget() {
        for (const char* name : {"p0", "p0.7", "p1", "p2", "lan"}) counted(name);
    }
    using row = std::vector<uint64_t>;

    bridge_lab lab_;
    std::map<std::string, std::vector<uint64_t>> before_;
};

TEST_F(interface_counts, of_vlans_and_the_untagged_interface) {
    forget();
    EXPECT_EQ(lab_.send(0, with_vlan(packet_to(0, "10.0.2.2"), 7))[1].size(), 1U);
    EXPECT_EQ(lab_.send(0, packet_to(0, "10.0.2.2"))[1].size(), 1U);
    EXPECT_EQ(lab_.send(0, packet_to(0, "10.0.2.2"))[1].size(), 1U);
    EXPECT_EQ(lab_.send(1, packet_to(1, "10.0.7.2"))[0].size(), 1U);
    EXPECT_EQ(lab_.send(1, packet_to(1, "10.0.1.2"))[0].size(), 1U);
    EXPECT_EQ(counted("p0.7"), (row{1, 60, 1, 60})) << "without the tag";
    EXPECT_EQ(counted("p0"), (row{2, 120, 1, 60}));
    EXPECT_EQ(counted("p1"), (row{2, 120, 3, 180})) << "the port's";
}

/// A burst with both, and packets that only the slow path takes.
TEST_F(interface_counts, of_mixed_bursts_and_the_slow_path) {
    forget();
    for (int i = 0; i < 6; ++i) {
        const byte_vector f = packet_to(0, "10.0.2.2");
        ASSERT_TRUE(lab_.offer(0, i % 2 == 0 ? f : with_vlan(f, 7)));
    }
    ASSERT_TRUE(lab_.offer(0, with_vlan(packet_to(0, "10.0.2.2", 1), 7)));
    lab_.settle();
    EXPECT_EQ(lab_.sent(1).size(), 6U);
    EXPECT_EQ(counted("p0"), (row{3, 180, 0, 0}));
    const row seven = counted("p0.7");
    EXPECT_EQ(seven[0], 4U);
    EXPECT_EQ(seven[1], 240U);
    lab_.sent(0);
}

TEST_F(interface_counts, of_a_routing_interface) {
    forget();
    EXPECT_EQ(lab_.send(0, packet_to(0, "10.0.3.2"))[2].size(), 1U);
    byte_vector f = packet_to(0, "10.0.2.2");
    const mac_address& mac =
        lab_.snapshot().interfaces[lab_.controller().interfaces().indexes().at("lan")].mac;
    std::copy_n(mac.bytes, 6, f.begin());
    EXPECT_EQ(lab_.send(2, f)[1].size(), 1U);
    EXPECT_EQ(counted("lan"), (row{1, 60, 1, 60}));
}

/// An index that another interface had begins at 0, and an interface that stays continues.
TEST_F(interface_counts, of_another_interface_begin_at_0) {
    EXPECT_EQ(lab_.send(0, with_vlan(packet_to(0, "10.0.2.2"), 7))[1].size(), 1U);
    forget();
    std::string other = shared_port;
    other.replace(other.find("vlan: 7, addresses: [10.0.7"), 27, "vlan: 8, addresses: [10.0.7");
    ASSERT_TRUE(lab_.apply(other));
    lab_.links(true);
    lab_.settle();
    lab_.sent(0);
    EXPECT_EQ(lab_.send(0, with_vlan(packet_to(0, "10.0.2.2"), 8))[1].size(), 1U);
    const auto all = lab_.controller().counted_interfaces();
    EXPECT_EQ(all.at("p0.8").total.rx_packets, 1U);
    EXPECT_FALSE(all.contains("p0.7"));
    EXPECT_EQ(counted("p0")[0], 0U);
}

/// An interface that is alone on its port again does not get what the port counted for others.
TEST_F(interface_counts, of_an_interface_that_is_alone_again_begin_at_0) {
    const std::string vlan = "interfaces:\n  - {port: p0, vlan: 7, addresses: [10.0.7.254/24]}\n",
                      neighbour = "    - {address: 10.0.7.2, mac: \"02:00:00:00:00:07\"}\n";
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(lab_.send(0, with_vlan(packet_to(0, "10.0.2.2"), 7))[1].size(), 1U);
    std::string alone = shared_port;
    alone.erase(alone.find(vlan), vlan.size());
    alone.erase(alone.find(neighbour), neighbour.size());
    ASSERT_TRUE(lab_.apply(alone));
    lab_.links(true);
    lab_.settle();
    lab_.sent(0);
    EXPECT_EQ(lab_.send(0, packet_to(0, "10.0.2.2"))[1].size(), 1U);
    EXPECT_EQ(counted("p0")[0], 1U);
}

/// Without the setting, the paths have no such stage, and the interface no counters.
TEST(interface_counts_off, have_no_stages) {
    bridge_lab l(shared_port.substr(shared_port.find("ports:")));
    const auto& v = l.snapshot();
    for (const datapath::interface_paths& path : v.paths) {
        EXPECT_EQ(path.input & bit(datapath::stage::count_in), 0U);
        EXPECT_EQ(path.output & bit(datapath::stage::count_out), 0U);
    }
    const auto all = l.controller().counted_interfaces();
    EXPECT_FALSE(all.contains("p0") || all.contains("p0.7") || all.contains("lan"));
    EXPECT_TRUE(all.contains("p1") && all.contains("p2"));
}

}  // namespace
}  // namespace turnpike
