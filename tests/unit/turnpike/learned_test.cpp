// SPDX-License-Identifier: BSD-3-Clause
// The merge of learned objects into the configuration, and the configuration of the control plane.
#include "state/learned.hpp"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include "complaints.hpp"
#include "route_targets.hpp"
#include "sources/yaml.hpp"
#include "sources/yaml_writer.hpp"
#include "state/changes.hpp"

namespace turnpike::sources::learned_objects {
namespace {

using state::route_target;

ip_prefix prefix_of(const char* text) { return *parse_prefix(text); }
ip_address address_of(const char* text) { return *parse_address(text); }

constexpr const char* operators = R"(
control_plane: {netlink: true, namespace: box, rate: 500}
ports:
  - {name: west, device: d0, addresses: [10.0.1.1/24], host_interface: true}
  - {name: east, device: d1, addresses: [10.0.2.1/24], host_interface: true}
  - {name: south, device: d2, addresses: [10.0.3.1/24]}
)";

TEST(learned, the_operators_word_counts) {
    auto read =
        load_text(std::string(operators) +
                      "neighbours: {static: [{address: 10.0.1.3, mac: \"02:00:00:00:00:03\"}]}\n",
                  "a.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const auto says = std::make_shared<const state::configuration>(std::move(*read));
    state::learned l;
    EXPECT_EQ(with_interfaces(*says, l), nullptr);
    const auto lead = [](const char* by, const char* via) {
        return route_target{.members = {{address_of(via), by}}, .protocol = RTPROT_BGP};
    };
    l.routes.set(prefix_of("10.5.0.0/16"), lead("west", "10.0.1.2"));
    l.routes.set(prefix_of("10.6.0.0/16"),
                 lead("south", "10.0.3.2"));  // the kernel has no such interface
    l.routes.set(prefix_of("10.7.0.0/16"), lead("west", "10.0.1.1"));  // ourselves
    l.addresses["west"] = {prefix_of("10.0.1.1/24"), prefix_of("10.0.1.9/24"),
                           prefix_of("10.0.4.1/24"),
                           prefix_of("10.0.3.7/24")};  // it is south's network
    l.addresses["south"] = {prefix_of("10.0.9.1/24")};
    const auto fixed = [&](const char* on, const char* at) {
        l.neighbours.emplace(state::neighbour_name{on, address_of(at)},
                             *parse_mac("02:00:00:00:00:0e"));
    };
    fixed("west", "10.0.1.2");
    fixed("west", "10.0.1.3");   // the operator's own
    fixed("west", "10.0.1.1");   // ourselves
    fixed("south", "10.0.3.2");  // no interface of the kernel's
    const auto both = with_interfaces(*says, l);
    const state::followed beside = follow(*both, l);
    const state::route_set& routes = beside.routes.at("");
    EXPECT_EQ(routes.size(), 3U);
    const auto type_of = [](const state::route_set& in, const char* to) {
        return in.find(prefix_of(to))->type;
    };
    EXPECT_EQ(type_of(routes, "10.5.0.0/16"), state::route_type::unicast);
    // A shorter prefix would be another way than the kernel's.
    EXPECT_EQ(type_of(routes, "10.6.0.0/16"), state::route_type::not_followed);
    EXPECT_EQ(type_of(routes, "10.7.0.0/16"), state::route_type::not_followed);
    EXPECT_EQ(both->interfaces.at("west").addresses,
              (std::vector{prefix_of("10.0.1.1/24"), prefix_of("10.0.1.9/24"),
                           prefix_of("10.0.4.1/24")}));
    EXPECT_EQ(both->interfaces.at("south").addresses, std::vector{prefix_of("10.0.3.1/24")});
    ASSERT_EQ(beside.neighbours.size(), 1U);
    EXPECT_EQ(beside.neighbours.begin()->first.address, address_of("10.0.1.2"));
    EXPECT_EQ(says->interfaces.at("west").addresses.size(), 1U);
}

TEST(learned, routes_go_to_their_vrfs) {
    auto read = load_text("vrfs: [{name: red, table: 10}]\n" +
                              replaced(operators, "[10.0.1.1/24]", "[10.0.1.1/24], vrf: red"),
                          "a.yaml");
    ASSERT_TRUE(read) << read.error().message();
    const auto says = std::make_shared<const state::configuration>(std::move(*read));
    state::learned l;
    auto& red = l.vrf_routes["red"];
    red.set(prefix_of("10.5.0.0/16"), state::target_via(address_of("10.0.1.2"), "west"));
    red.set(prefix_of("10.6.0.0/16"), state::target_via(address_of("10.0.2.2"), "east"));
    red.set(prefix_of("10.7.0.0/16"), state::target_on_link("west"));
    red.set(prefix_of("10.8.0.0/16"), state::target_on_link("east"));  // another VRF's
    l.vrf_routes["blue"] = red;                                        // not there
    l.addresses["west"] = {prefix_of("10.0.2.7/24")};  // east's network, but of another VRF
    const auto both = with_interfaces(*says, l);
    const state::followed beside = follow(*both, l);
    EXPECT_EQ(beside.routes.at("red").size(), 4U);
    EXPECT_EQ(beside.routes.at("red").find(prefix_of("10.8.0.0/16"))->type,
              state::route_type::not_followed);
    EXPECT_EQ(beside.route_count(), 4U);
    EXPECT_TRUE(beside.routes.at("").empty());
    EXPECT_EQ(both->interfaces.at("west").addresses.back(), prefix_of("10.0.2.7/24"));
    auto what = state::diff(*says, *says);
    ASSERT_TRUE(what);
    EXPECT_TRUE(what->empty());
    add_learned(*what, {}, beside);
    EXPECT_EQ(what->learned_count(), 4U);
    EXPECT_EQ(what->learned.at("red").set.size(), 4U);
    EXPECT_FALSE(what->empty());
    // The operator has no control plane any more.
    auto alone = *says;
    alone.control_plane.netlink = false;
    EXPECT_EQ(with_interfaces(alone, l), nullptr);
    EXPECT_EQ(follow(alone, l).route_count(), 0U);
}

TEST(learned, an_interface_that_is_set_down_has_nothing) {
    const std::string text = std::string(operators) + R"(
interfaces:
  - {port: west, vlan: 10, addresses: [10.0.10.1/24]}
  - {port: south, vlan: 10, addresses: [10.0.11.1/24]}
neighbours: {static: [{address: 10.0.1.3, mac: "02:00:00:00:00:03"}, {address: 10.0.2.3, mac: "02:00:00:00:00:03"}]}
routes:
  - {to: 10.5.0.0/16, via: 10.0.1.2}
  - {to: 10.6.0.0/16, via: [10.0.1.2, 10.0.2.2]}
  - {to: 10.7.0.0/16, via: 10.0.2.2}
  - {to: 10.8.0.0/16, type: blackhole}
)";
    auto read = load_text(text, "a.yaml");
    ASSERT_TRUE(read) << read.error().message();
    state::learned l;
    l.addresses["west"] = {prefix_of("10.0.4.1/24")};
    // The address of an interface that is down may be another's.
    l.addresses["east"] = {prefix_of("10.0.1.7/24")};
    l.admin_down = {"west", "south", "gone"};  // south is not mirrored
    l.routes.set(prefix_of("10.9.0.0/16"), state::target_via(address_of("10.0.1.2"), "west"));
    l.neighbours.emplace(state::neighbour_name{"west", address_of("10.0.1.4")},
                         *parse_mac("02:00:00:00:00:0e"));
    const auto both = with_interfaces(*read, l);
    ASSERT_NE(both, nullptr);
    const auto down = [&](const char* name) { return both->interfaces.at(name).admin_down; };
    EXPECT_TRUE(down("west") && down("west.10"));
    EXPECT_FALSE(down("east") || down("south") || down("south.10"));
    EXPECT_TRUE(both->interfaces.at("west").addresses.empty());
    EXPECT_EQ(both->interfaces.at("east").addresses,
              (std::vector{prefix_of("10.0.2.1/24"), prefix_of("10.0.1.7/24")}));
    EXPECT_EQ(both->routes.size(), 3U);
    EXPECT_EQ(*both->routes.find(prefix_of("10.6.0.0/16")),
              *both->routes.find(prefix_of("10.7.0.0/16")));
    EXPECT_EQ(both->neighbours.size(), 1U);
    const state::followed beside = follow(*both, l);
    EXPECT_EQ(beside.routes.at("").find(prefix_of("10.9.0.0/16"))->type,
              state::route_type::not_followed);
    EXPECT_TRUE(beside.neighbours.empty());
    EXPECT_EQ(read->routes.size(), 4U);
    auto regardless = *read;
    regardless.control_plane.follow_admin_status = false;
    const auto all = with_interfaces(regardless, l);
    EXPECT_FALSE(all->interfaces.at("west").admin_down);
    EXPECT_EQ(all->interfaces.at("west").addresses.size(), 2U);
    EXPECT_EQ(all->routes.size(), 4U);
}

TEST(control_plane, is_read_written_and_refused) {
    const std::string text = operators;
    const auto read = load_text(text, "f.yaml");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->control_plane.network_namespace, "box");
    EXPECT_EQ(read->control_plane.rate, 500U);
    const auto again = load_text(to_yaml(*read), "again");
    ASSERT_TRUE(again) << again.error().message() << to_yaml(*read);
    EXPECT_TRUE(again->control_plane == read->control_plane);
    EXPECT_TRUE(again->interfaces == read->interfaces);
    EXPECT_FALSE(again->interfaces.at("south").host_interface);

    const auto with = [&](const char* before, const char* after) {
        return complaint_about(replaced(text, before, after));
    };
    EXPECT_EQ(with("netlink: true", "netlink: false"),
              "f.yaml:4: port 'west' has host_interface: true, which needs control_plane: "
              "{netlink: true}");
    EXPECT_EQ(
        with("namespace: box", "namespace: a/b"),
        "f.yaml:2: control_plane.namespace should be a name as `ip netns add` takes it, of at "
        "most 255 characters");
    EXPECT_EQ(with("netlink: true, ", ""),
              "f.yaml:4: port 'west' has host_interface: true, which needs control_plane: "
              "{netlink: true}");
    EXPECT_EQ(
        with("name: west", "name: west-of-the-moon"),
        "f.yaml:4: 'west-of-the-moon' cannot be the name of a kernel interface: it has at most 15 "
        "characters, none of \"/: %\", and is not a reserved name");
    EXPECT_EQ(complaint_about(text + "xconnects: [[west, south]]\n").substr(0, 9), "f.yaml:4:");
    EXPECT_EQ(with("addresses: [10.0.3.1/24]", "addresses: [10.0.3.1/24], router_alert: true"),
              "f.yaml:6: port 'south' has router_alert: true, which needs host_interface: true");
    EXPECT_EQ(with("addresses: [10.0.3.1/24]", "addresses: [10.0.3.1/24], accept_ra: true"),
              "f.yaml:6: port 'south' has accept_ra: true, which needs host_interface: true");
    EXPECT_EQ(with("addresses: [10.0.3.1/24]", "addresses: [10.0.3.1/24], host_pass: [0x88f7]"),
              "f.yaml:6: port 'south' has host_pass, which needs host_interface: true");
    // Unnumbered: its addresses are the kernel's.
    EXPECT_EQ(with("addresses: [10.0.1.1/24], host_interface: true", "host_interface: true"),
              "none");
    EXPECT_NE(with("addresses: [10.0.1.1/24], host_interface: true", "host_interface: false"),
              "none");
}

}  // namespace
}  // namespace turnpike::sources::learned_objects
