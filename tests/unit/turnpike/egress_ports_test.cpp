// SPDX-License-Identifier: BSD-3-Clause
// The ports by which packets may leave: a worker without a TX queue there would drop them.
#include "control/forwarding/egress_ports.hpp"

#include <gtest/gtest.h>

#include "sources/yaml.hpp"

namespace turnpike::control {
namespace {

using exits = std::set<std::string>;

egress_ports exits_of(const std::string& more) {
    const auto in = sources::load_text(
        "ports:\n"
        "  - {name: up, device: d0, addresses: [10.0.0.1/24]}\n"
        "  - {name: down, device: d1, addresses: [10.0.1.1/24]}\n"
        "  - {name: a, device: d2}\n  - {name: b, device: d3}\n" +
            more,
        "f.yaml");
    if (!in) {
        ADD_FAILURE() << in.error().message();
        return {};
    }
    return egress_ports_of(*in);
}

TEST(egress_ports, of_routed_patched_and_bridged_ports) {
    auto out = exits_of("xconnects: [[a, b]]\n");
    EXPECT_EQ(out["up"], (exits{"down", "up"}));
    EXPECT_EQ(out["a"], exits{"b"});
    out = exits_of("bridges: [{name: lan, members: [a, b]}]\n");
    EXPECT_EQ(out["a"], (exits{"a", "b"}));
    EXPECT_EQ(out["up"], (exits{"down", "up"}));
    out = exits_of("bridges: [{name: lan, members: [a, b], addresses: [10.0.2.1/24]}]\n");
    for (const char* port : {"up", "a"}) EXPECT_EQ(out[port], (exits{"a", "b", "down", "up"}));
}

/// Encapsulated frames leave by routes, and decapsulated ones come in by routed ports.
TEST(egress_ports, of_a_bridge_with_a_tunnel) {
    auto out = exits_of(
        "tunnels: [{name: t, local: 10.0.0.1, remote: 10.0.0.2, vni: 7}]\n"
        "bridges: [{name: lan, members: [a, t]}, {name: alone, members: [b]}]\n");
    EXPECT_EQ(out["a"], (exits{"a", "down", "up"}));
    EXPECT_EQ(out["up"], (exits{"a", "down", "up"}));
    EXPECT_EQ(out["b"], exits{"b"});
}

TEST(egress_ports, of_copies) {
    const std::string probe = "  - {name: probe, device: d4}\n  - {name: c, device: d5}\n";
    const auto remote = exits_of(
        probe +
        "xconnects: [[a, b]]\nbridges: [{name: lan, members: [c]}]\n"
        "mirrors: [{name: m, ports: [up], direction: in, to: probe},\n"
        "          {name: far, ports: [a], direction: in, remote: 192.0.2.9, local: 10.0.0.1}]\n");
    EXPECT_EQ(remote.find("a")->second, (exits{"b", "down", "up"})) << "probe has no addresses";
    EXPECT_EQ(remote.find("down")->second, (exits{"down", "up"}));
    auto out = exits_of(probe +
                        "xconnects: [[a, b]]\nbridges: [{name: lan, members: [c]}]\n"
                        "mirrors: [{name: m, ports: [a], direction: in, to: probe}]\n");
    EXPECT_EQ(out["a"], (exits{"b", "probe"}));
    EXPECT_EQ(out["b"], exits{"a"});
    out = exits_of(probe +
                   "xconnects: [[a, b]]\nbridges: [{name: lan, members: [c]}]\n"
                   "mirrors: [{name: m, ports: [a], direction: out, to: probe}]\n");
    EXPECT_EQ(out["a"], exits{"b"});
    EXPECT_EQ(out["b"], (exits{"a", "probe"})) << "packets that leave by a came by b";
    out = exits_of(probe +
                   "xconnects: [[a, b]]\nbridges: [{name: lan, members: [c]}]\n"
                   "mirrors: [{name: m, bridge: lan, to: probe}]\n");
    EXPECT_EQ(out["c"], (exits{"c", "probe"}));
    EXPECT_EQ(out["a"], exits{"b"});
    out = exits_of(
        "xconnects: [[a, b]]\nmirrors: [{name: far, ports: [a], direction: in, remote: "
        "192.0.2.9, local: 10.0.0.1}]\n");
    EXPECT_EQ(out["a"], (exits{"b", "down", "up"}));
}

}  // namespace
}  // namespace turnpike::control
