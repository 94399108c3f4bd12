// SPDX-License-Identifier: BSD-3-Clause
// Paths: every step of an interface's path is an edge of the stage table, the packets take the stages of their
// interfaces' paths, and the fast paths step aside where a path has a stage whose work they do not do.
#include <gtest/gtest.h>

#include <set>

#include "datapath/graph.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::datapath {
namespace {

using namespace test;

/// Every kind of interface, with and without lists.
constexpr const char* of_all_kinds = R"(acl:
  - {name: some, default: permit, rules: [{action: deny, protocol: tcp, destination_ports: 23}]}
  - {name: frames, layer: 2, default: permit, rules: [{action: deny, ethertype: lldp}]}
ports:
  - {name: plain, device: d0, addresses: [10.0.1.254/24]}
  - {name: strict, device: d1, urpf: strict, acl: {in: some}, addresses: [10.0.2.254/24]}
  - {name: listed, device: d2, acl: {out: some}, addresses: [10.0.3.254/24]}
  - {name: trunk, device: d3}
  - {name: left, device: d4}
  - {name: right, device: d5, acl: {out: some}}
  - {name: one, device: d6, acl: {in: some, l2_in: frames}}
interfaces: [{port: trunk, vlan: 7, vrf: guests, addresses: [10.0.4.254/24]}]
vrfs: [{name: guests}, {name: overlay}]
xconnects: [[left, right]]
tunnels: [{name: far, vni: 100, local: 10.0.1.254, remote: 10.0.3.2}]
bridges:
  - {name: b, addresses: [10.0.5.254/24], vrf: overlay, members: [{port: one}, {port: far}]}
routes: [{to: 10.9.0.0/16, via: 10.0.3.2}]
neighbours: {static: [{address: 10.0.3.2, mac: "02:00:00:00:00:12"}]}
)";

constexpr const char* two_ports = R"(ports:
  - {name: west, device: d0, addresses: [10.0.1.254/24]}
  - {name: east, device: d1, addresses: [10.0.3.254/24]}
routes: [{to: 10.9.0.0/16, via: 10.0.3.2}]
neighbours: {static: [{address: 10.0.3.2, mac: "02:00:00:00:00:12"}]}
)";

class paths : public ::testing::Test {
  protected:
    explicit paths(const char* configuration = of_all_kinds) : lab_(configuration) {}
    path_lab lab_;

    [[nodiscard]] static interface_paths path_of(const snapshot& v, uint16_t port) {
        return v.paths[v.port[port].untagged];
    }
};

class fast_path : public paths {
  protected:
    fast_path() : paths(two_ports) {}

    /// Stages that one frame to the port's MAC address goes through.
    std::set<std::string_view> visited(const snapshot& v, uint16_t port, const byte_vector& frame) {
        std::set<std::string_view> out;
        context c;
        c.snapshot = &v;
        burst b;
        b.packet[0] = lab_.packet_of(frame);
        b.begin(1, port);
        auto table = stage_table;
        table[static_cast<size_t>(stage::tx)].run = [](context&, burst& of,
                                                       packet_mask packets) noexcept {
            for_each(packets, [&](uint32_t i) { rte_pktmbuf_free(of.packet[i]); });
            return stage_mask{0};
        };
        dispatch(table, c, b, enqueue(b, 1, stage::rx),
                 [&](size_t s, packet_mask) { out.insert(stage_table[s].name); });
        return out;
    }
};

/// Each step from one stage of a path to the next is an edge.
void expect_edges(stage from, stage_mask path, size_t ifindex) {
    while ((path & above(from)) != 0) {
        const stage to = next_of(path, from);
        const stage_row& row = stage_table[static_cast<size_t>(from)];
        EXPECT_NE(row.next & bit(to), 0U)
            << "interface " << ifindex << ": " << row.name << " has no edge to "
            << stage_table[static_cast<size_t>(to)].name;
        from = to;
    }
}

TEST_F(paths, follow_the_edges_of_the_table) {
    const snapshot& v = lab_.snapshot();
    unsigned seen = 0;
    for (size_t i = 0; i < v.paths.size(); ++i) {
        if (v.interfaces[i].kind == interface_kind::none) continue;
        ++seen;
        expect_edges(stage::iface_input, v.paths[i].input, i);
        expect_edges(
            v.interfaces[i].kind == interface_kind::bridged ? stage::bridge : stage::ip_forward,
            v.paths[i].output, i);
    }
    EXPECT_EQ(seen, 9U);
}

struct counted_paths : paths {
    counted_paths() : paths(counted_configuration.c_str()) {}
    static inline const std::string counted_configuration =
        std::string("interface_counters: true\n") + of_all_kinds;
};

/// Routed interfaces that share a port, and bridges' routing interfaces, are counted beside the fast path.
TEST_F(counted_paths, follow_the_edges_of_the_table) {
    const snapshot& v = lab_.snapshot();
    for (size_t i = 0; i < v.paths.size(); ++i) {
        if (v.interfaces[i].kind == interface_kind::none) continue;
        expect_edges(stage::iface_input, v.paths[i].input, i);
        expect_edges(
            v.interfaces[i].kind == interface_kind::bridged ? stage::bridge : stage::ip_forward,
            v.paths[i].output, i);
    }
    const uint16_t vlan = v.port[3].by_vlan[7];
    EXPECT_EQ(v.paths[vlan].input, bit(stage::count_in) | bit(stage::ip_fast) |
                                       bit(stage::ip_input) | bit(stage::lookup));
    EXPECT_EQ(v.paths[vlan].output, bit(stage::count_out) | bit(stage::vlan_push) | bit(stage::tx));
    EXPECT_EQ(path_of(v, 0).input & bit(stage::count_in), 0U) << "alone on its port";
}

TEST_F(paths, have_the_stages_of_their_features) {
    const snapshot& v = lab_.snapshot();
    const stage_mask routed = bit(stage::ip_fast) | bit(stage::ip_input) | bit(stage::lookup);
    EXPECT_EQ(path_of(v, 0).input, routed | bit(stage::vxlan_fast));
    EXPECT_EQ(path_of(v, 0).output, bit(stage::tx));
    EXPECT_EQ(path_of(v, 1).input, routed | bit(stage::urpf) | bit(stage::acl_in))
        << "without vxlan_fast, which has no ACLs";
    EXPECT_EQ(path_of(v, 2).output, bit(stage::acl_out) | bit(stage::tx));
    const uint16_t vlan = v.port[3].by_vlan[7];
    EXPECT_EQ(v.paths[vlan].input, routed) << "no tunnel ends in its VRF";
    EXPECT_EQ(v.paths[vlan].output, bit(stage::vlan_push) | bit(stage::tx));
    EXPECT_EQ(path_of(v, 4).input,
              bit(stage::xconnect) | bit(stage::ip_input) | bit(stage::acl_out) | bit(stage::tx));
    EXPECT_EQ(path_of(v, 5).input, bit(stage::xconnect) | bit(stage::tx));
    EXPECT_EQ(path_of(v, 6).input,
              bit(stage::acl_l2) | bit(stage::ip_input) | bit(stage::acl_in) | bit(stage::bridge));
    EXPECT_EQ(v.outputs, bit(stage::acl_out) | bit(stage::vlan_push) | bit(stage::bridge) |
                             bit(stage::vxlan_output) | bit(stage::tx));
}

byte_vector frame_to(const snapshot& v, uint16_t port, const char* destination) {
    const mac_address& to = v.port[port].mac;
    byte_vector f(to.bytes, to.bytes + 6);
    f.insert(f.end(), {2, 0, 0, 0, 0, 1, 8, 0});
    byte_vector ip = {0x45, 0, 0, 28, 0, 1, 0, 0, 9, 17, 0, 0, 10, 0, 1, 2};
    const uint32_t d = parse_address(destination)->v4();
    for (const unsigned shift : {24U, 16U, 8U, 0U}) ip.push_back(static_cast<uint8_t>(d >> shift));
    uint32_t sum = 0;
    for (size_t i = 0; i < ip.size(); i += 2) sum += uint32_t{ip[i]} << 8 | ip[i + 1];
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    ip[10] = static_cast<uint8_t>(~sum >> 8);
    ip[11] = static_cast<uint8_t>(~sum);
    f.insert(f.end(), ip.begin(), ip.end());
    f.insert(f.end(), {0, 9, 0, 9, 0, 8, 0, 0});
    f.resize(60);
    return f;
}

/// With a stage in the input path that a fast path does not know, its packets take the slow path.
TEST_F(fast_path, steps_aside_for_an_unknown_input_stage) {
    snapshot v = lab_.snapshot();
    const byte_vector frame = frame_to(v, 0, "10.9.0.1");
    EXPECT_EQ(visited(v, 0, frame),
              (std::set<std::string_view>{"rx", "iface_input", "ip_fast", "tx"}));
    stage_mask& path = v.paths[v.port[0].untagged].input;
    path |= bit(stage::urpf) | bit(stage::vxlan_fast);
    complete_paths(v);
    EXPECT_EQ(path & (bit(stage::vxlan_fast) | bit(stage::ip_fast)), bit(stage::ip_fast));
    path |= bit(stage::ip_forward);  // in place of a stage that is not there yet
    complete_paths(v);
    EXPECT_EQ(path & bit(stage::ip_fast), 0U);
    const auto stages = visited(v, 0, frame);
    EXPECT_TRUE(stages.contains("ip_input") && stages.contains("ip_forward"));
    EXPECT_FALSE(stages.contains("ip_fast"));
}

/// The same for a stage in the output path of the egress interface.
TEST_F(fast_path, steps_aside_for_an_unknown_output_stage) {
    snapshot v = lab_.snapshot();
    const byte_vector frame = frame_to(v, 0, "10.9.0.1");
    interface_paths& east = v.paths[v.port[1].untagged];
    EXPECT_FALSE(visited(v, 0, frame).contains("ip_forward"));
    east.output |= bit(stage::acl_out);
    complete_paths(v);
    const auto stages = visited(v, 0, frame);
    EXPECT_TRUE(stages.contains("ip_forward") && stages.contains("acl_out") &&
                stages.contains("tx"));
}

/// Samples and mirrors are behind the fast path, not in its place.
TEST_F(fast_path, leads_through_samples_and_mirrors) {
    snapshot v = lab_.snapshot();
    const mirror_tables none;
    v.mirrors = &none;
    v.port[0].in_front = bit(stage::mirror_in);
    v.paths[v.port[1].untagged].output |= bit(stage::sample_out) | bit(stage::mirror_out);
    complete_paths(v);
    EXPECT_EQ(visited(v, 0, frame_to(v, 0, "10.9.0.1")),
              (std::set<std::string_view>{"rx", "mirror_in", "iface_input", "ip_fast", "sample_out",
                                          "mirror_out", "tx"}));
}

/// Next hops may name an interface that the snapshot does not have.
TEST_F(paths, of_no_interface_lead_to_tx) {
    const snapshot& v = lab_.snapshot();
    for (size_t i = 0; i < v.paths.size(); ++i)
        if (v.interfaces[i].kind == interface_kind::none) {
            EXPECT_EQ(v.paths[i].input, 0U);
            EXPECT_EQ(v.paths[i].output, bit(stage::tx));
        }
}

}  // namespace
}  // namespace turnpike::datapath
