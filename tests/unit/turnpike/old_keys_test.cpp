// SPDX-License-Identifier: BSD-3-Clause
// Keys of earlier releases: same configuration, one log line per key, an error beside the new key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/edits.hpp"
#include "sources/yaml.hpp"
#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view with_old_keys = R"(ports:
  - {name: west, device: d0, addresses: [10.0.1.1/24], kernel: true, redirects: true}
  - {name: east, device: d1, addresses: [10.0.2.1/24], source_routed: true,
     macs: ["00:00:5e:00:01:0a"]}
  - {name: a, device: d2}
  - {name: b, device: d3}
interfaces:
  - {port: east, vlan: 7, addresses: [10.0.7.1/24], kernel: true}
patches: [[a, b]]
special_purpose: drop
neighbours: {limit: 100, held: 3, failed_ms: 200, forget_ms: 5000}
control_plane: {netlink: true}
)";
constexpr std::string_view with_new_keys = R"(ports:
  - {name: west, device: d0, addresses: [10.0.1.1/24], host_interface: true, send_redirects: true}
  - {name: east, device: d1, addresses: [10.0.2.1/24], accept_source_route: true,
     extra_macs: ["00:00:5e:00:01:0a"]}
  - {name: a, device: d2}
  - {name: b, device: d3}
interfaces:
  - {port: east, vlan: 7, addresses: [10.0.7.1/24], host_interface: true}
xconnects: [[a, b]]
drop_bogons: true
neighbours: {max_entries: 100, queue_len: 3, negative_ms: 200, gc_stale_ms: 5000}
control_plane: {netlink: true}
)";

TEST(old_keys, are_read_as_the_new_ones_with_a_line_each) {
    const auto old = load_text(with_old_keys, "f.yaml"), now = load_text(with_new_keys, "f.yaml");
    ASSERT_TRUE(old) << old.error().message();
    ASSERT_TRUE(now) << now.error().message();
    EXPECT_EQ(to_yaml(*old), to_yaml(*now));
    EXPECT_TRUE(now->old_keys.empty());
    EXPECT_THAT(old->old_keys,
                ElementsAre(StartsWith("f.yaml:9: `patches` is called `xconnects` now"),
                            StartsWith("f.yaml:10: `special_purpose` is called `drop_bogons` now"),
                            StartsWith("f.yaml:2: `kernel` is called `host_interface` now"),
                            StartsWith("f.yaml:2: `redirects` is called `send_redirects` now"),
                            StartsWith("f.yaml:3: `source_routed` is called `accept_source_route`"),
                            StartsWith("f.yaml:4: `macs` is called `extra_macs` now"),
                            StartsWith("f.yaml:11: `limit` is called `max_entries` now"),
                            StartsWith("f.yaml:11: `held` is called `queue_len` now"),
                            StartsWith("f.yaml:11: `failed_ms` is called `negative_ms` now"),
                            StartsWith("f.yaml:11: `forget_ms` is called `gc_stale_ms` now")));
}

TEST(old_keys, beside_the_new_key_are_refused) {
    const auto both = load_text(
        "ports:\n  - {name: a, device: d0, addresses: [10.0.0.1/8],\n"
        "     kernel: true, host_interface: false}\n",
        "f.yaml");
    ASSERT_FALSE(both);
    EXPECT_THAT(both.error().message(),
                HasSubstr("f.yaml:3: `kernel` is the old name of `host_interface`, and both"));
}

TEST(old_keys, of_a_wrong_value_name_the_new_key) {
    const auto refused =
        load_text("ports: [{name: a, device: d0}]\nspecial_purpose: maybe\n", "f.yaml");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("f.yaml:2: drop_bogons should be"));
}

TEST(old_keys, elsewhere_are_no_keys) {
    const auto elsewhere =
        load_text("ports: [{name: a, device: d0}]\nidle: {sleep_us: 0, kernel: true}\n", "f.yaml");
    ASSERT_FALSE(elsewhere);
    EXPECT_THAT(elsewhere.error().message(), HasSubstr("idle has no key 'kernel'"));
}

TEST(old_keys, in_requests) {
    auto running = load_text(with_new_keys, "f.yaml");
    ASSERT_TRUE(running);
    const auto made = edit(*running, R"([{"set": {"neighbours": {"limit": 200}}},
        {"replace": {"port": {"name": "west", "device": "d0", "addresses": ["10.0.1.1/24"], "kernel": false}}}])");
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_THAT(running->old_keys, ElementsAre(StartsWith("socket:1: `limit` is called"),
                                               StartsWith("socket:2: `kernel` is called")));
    EXPECT_THAT(to_yaml(*running), HasSubstr("max_entries: 200"));
    ASSERT_TRUE(edit(*running, R"([{"set": {"neighbours": {"max_entries": 300}}}])"));
    EXPECT_TRUE(running->old_keys.empty());
}

TEST(old_keys, to_unset) {
    auto running = load_text(with_new_keys, "f.yaml");
    ASSERT_TRUE(running);
    const auto made = edit(
        *running, R"([{"unset": {"settings": {"keys": ["neighbours.limit", "special_purpose"]}}},
        {"unset": {"port": {"name": "west", "keys": ["redirects"]}}}, {"set": {"special_purpose": "drop"}}])");
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_THAT(running->old_keys,
                ElementsAre(StartsWith("socket:1: `limit` is called `max_entries`"),
                            StartsWith("socket:1: `special_purpose` is called `drop_bogons`"),
                            StartsWith("socket:2: `redirects` is called `send_redirects`")));
    EXPECT_TRUE(running->drops_special);
    EXPECT_THAT(to_yaml(*running), Not(HasSubstr("max_entries")));
    EXPECT_FALSE(running->interfaces.at("west").send_redirects);
}

}  // namespace
}  // namespace turnpike::sources
