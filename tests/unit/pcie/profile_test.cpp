// SPDX-License-Identifier: BSD-3-Clause
#include "pcie/profile.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "lib/source_tree.hpp"
#include "pcie/profile_yaml.hpp"

namespace turnpike::pcie {
namespace {

std::string why(const std::string& yaml) {
    const auto parsed = parse_profiles(yaml, "my.yaml");
    return parsed ? "accepted" : parsed.error().message();
}

TEST(profile, built_in_ones_are_sound_and_distinct) {
    std::set<std::string> names, drivers;
    for (const auto& profile : builtin_profiles()) {
        EXPECT_TRUE(validate(profile)) << profile.name;
        EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
        EXPECT_FALSE(profile.summary.empty()) << profile.name;
        EXPECT_FALSE(profile.known.empty()) << profile.name;
        for (const auto& driver : profile.drivers)
            EXPECT_TRUE(drivers.insert(driver).second) << driver;
    }
    for (const char* name :
         {"simple", "niantic-kernel", "niantic-dpdk", "ixgbe", "i40e", "ice", "e1000", "igb",
          "mlx5", "mlx5-plain", "virtio", "virtio-qemu", "vmxnet3"})
        EXPECT_TRUE(names.contains(name)) << name;
}

TEST(profile, found_by_name_and_by_driver) {
    EXPECT_EQ(find_profile("igb")->name, "igb");
    EXPECT_EQ(profile_for_driver("net_ixgbe")->name, "ixgbe");
    EXPECT_EQ(profile_for_driver("mlx5_pci")->name, "mlx5");
    EXPECT_EQ(find_profile("fast").error().message().find(
                  "profile 'fast': no NIC profile has that name; there are: data-only, simple"),
              0U);
    EXPECT_EQ(profile_for_driver("net_tap").error().message().find(
                  "driver 'net_tap': no NIC profile is known for this driver; name one of: "),
              0U);
}

// doc/pcie.md has a line for each profile: known and assumed values.
TEST(profile, each_has_a_line_in_the_documentation) {
    std::ifstream page(test::source_path("doc/pcie.md"));
    std::ostringstream text;
    text << page.rdbuf();
    for (const auto& profile : builtin_profiles())
        EXPECT_NE(text.str().find("\n| `" + profile.name + "` | "), std::string::npos)
            << profile.name;
}

TEST(profile_yaml, the_example_loads) {
    const auto loaded = load_profiles(test::source_path("examples/pcie-profile/l3fwd-2017.yaml"));
    ASSERT_TRUE(loaded) << loaded.error().message();
    ASSERT_EQ(loaded->size(), 1U);
    const auto& profile = loaded->front();
    EXPECT_EQ(profile.rx.write_back.policy, write_back_policy::by_line);
    EXPECT_EQ(profile.rx.write_back.partial_entries, 2.5);
    EXPECT_TRUE(profile.rx.carries_fcs);
    EXPECT_EQ(profile.tx.write_back.packets, 16U);
    EXPECT_EQ(profile.assumptions.size(), 3U);
}

TEST(profile_yaml, a_base_gives_what_the_file_leaves_out) {
    const auto parsed = parse_profiles(
        "profiles:\n"
        "  - {name: a, base: ixgbe, drivers: [net_a], rx: {doorbell: {packets: 64}}}\n"
        "  - {name: b, base: a, tx: {write_back: {policy: none}}}\n",
        "my.yaml");
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->at(0).rx.doorbell.packets, 64U);
    EXPECT_EQ(parsed->at(0).tx.fetch.batch, find_profile("ixgbe")->tx.fetch.batch);
    EXPECT_EQ(parsed->at(1).rx.doorbell.packets, 64U);
    EXPECT_EQ(parsed->at(1).tx.write_back.policy, write_back_policy::none);
    EXPECT_EQ(profile_for_driver("net_a", *parsed)->name, "a");
    EXPECT_TRUE(parsed->at(1).drivers.empty());
}

struct wrong {
    const char* yaml;
    const char* message;
};

class profile_yaml_wrong : public ::testing::TestWithParam<wrong> {};

TEST_P(profile_yaml_wrong, is_refused_with_file_line_and_reason) {
    const std::string got = why(GetParam().yaml);
    EXPECT_EQ(got.find(GetParam().message), 0U) << got;
}

INSTANTIATE_TEST_SUITE_P(
    files, profile_yaml_wrong,
    ::testing::Values(
        wrong{"", "my.yaml: is empty"},
        wrong{"profiles: []", "my.yaml: the list of profiles is empty"},
        wrong{"profiles: {a: 1}", "my.yaml:1: the file must contain a list of profiles"},
        wrong{"- a", "my.yaml:1: the file must contain a list of profiles"},
        wrong{"profiles: [{name: a}]\nextra: 1",
              "my.yaml:2: the only key of the file is 'profiles'"},
        wrong{"profiles:\n  - name: [\n", "my.yaml:3: is not YAML: "},
        wrong{"profiles:\n  - just words", "my.yaml:2: 'profile' must hold fields"},
        wrong{"profiles:\n  - summary: x", "my.yaml:2: a profile needs a name"},
        wrong{"profiles:\n  - name: ice", "my.yaml:2: duplicate profile 'ice'"},
        wrong{"profiles:\n  - name: a\n  - name: a", "my.yaml:3: duplicate profile 'a'"},
        wrong{"profiles:\n  - name: a\n    base: b", "my.yaml:3: profile 'b': no NIC profile has"},
        wrong{"profiles:\n  - name: a\n    name: a", "my.yaml:3: key 'name' is given twice"},
        wrong{"profiles:\n  - name: a\n    colour: red",
              "my.yaml:3: 'profile' has no field 'colour'; it has: name, base, summary"},
        wrong{"profiles:\n  - name: a\n    rx:\n      fetch:\n        size: 16",
              "my.yaml:5: 'fetch' has no field 'size'; it has: bytes, batch, index_bytes, policy"},
        wrong{"profiles:\n  - name: a\n    rx: 5", "my.yaml:3: 'rx' must hold fields"},
        wrong{"profiles:\n  - name: a\n    rx:\n      fetch: {batch: many}",
              "my.yaml:4: 'batch' must be a whole number"},
        wrong{"profiles:\n  - name: a\n    rx:\n      fetch: {batch: -1}",
              "my.yaml:4: 'batch' must be a whole number"},
        wrong{"profiles:\n  - name: a\n    rx:\n      fetch: {batch: 1.5}",
              "my.yaml:4: 'batch' must be a whole number"},
        wrong{"profiles:\n  - name: a\n    rx:\n      fetch:\n        bytes: 16\n        batch: 0",
              "my.yaml:6: rx.fetch.batch: must be from 1 to 4096 descriptors, not 0"},
        wrong{
            "profiles:\n  - name: a\n    tx:\n      doorbell: {policy: often}",
            "my.yaml:4: no policy is named 'often'; there are: none, every, per_burst, burst_end"},
        wrong{"profiles:\n  - name: a\n    tx:\n      doorbell: {packets: 0}",
              "my.yaml:4: tx.doorbell.packets: must be from 1"},
        wrong{"profiles:\n  - name: a\n    rx:\n      write_back: {policy: by_line, "
              "full_line_share: 43}",
              "my.yaml:4: rx.write_back.full_line_share: must be from 0 to 1, not 43"},
        wrong{"profiles:\n  - name: a\n    rx:\n      write_back: {policy: by_line, bytes: 24}",
              "my.yaml:4: rx.write_back.bytes: by_line needs entries"},
        wrong{"profiles:\n  - name: a\n    rx:\n      write_back: {policy: by_line, "
              "partial_entries: 4}",
              "my.yaml:4: rx.write_back.partial_entries: must be at least 1"},
        wrong{"profiles:\n  - name: a\n    rx:\n      write_back: {policy: by_line, bytes: 0}",
              "my.yaml:4: rx.write_back.bytes: must be from 1 to 256 bytes, not 0"},
        wrong{"profiles:\n  - name: a b", "my.yaml:2: name: a profile's name consists of letters"},
        wrong{"profiles:\n  - name: a\n    base: a", "my.yaml:3: profile 'a': no NIC profile has"},
        wrong{"profiles:\n  - name: a\n    rx:", "my.yaml:3: 'rx' must hold fields"},
        wrong{"profiles:\n  - name: a\n    ? [x]\n    : 1", "my.yaml:3: a key must be plain text"},
        wrong{"profiles:\n  - &a {name: a, rx: *a}",
              "my.yaml:2: anchors (&name) are not supported"},
        wrong{"? {a: b}\n: 1\nprofiles: [{name: a}]", "my.yaml:1: "},
        wrong{"profiles:\n  - name: a\n    ethernet_gbps: .nan",
              "my.yaml:3: ethernet_gbps: must be from 0"},
        wrong{"profiles:\n  - name: a\n    drivers: net_a", "my.yaml:3: 'drivers' must be a list"},
        wrong{"profiles:\n  - name: a\n    rx: {carries_fcs: 2}",
              "my.yaml:3: 'carries_fcs' must be true or false"}));

TEST(profile_yaml, a_file_that_is_not_there_is_named) {
    const auto loaded = load_profiles("/nowhere/my.yaml");
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().message(),
              "/nowhere/my.yaml: cannot read the profiles (No such file or directory)");
    EXPECT_EQ(load_profiles("/").error().message(), "/: cannot read the profiles (Is a directory)");
}

}  // namespace
}  // namespace turnpike::pcie
