// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/sysfs.hpp"

#include <gtest/gtest.h>

#include "unit/pmu/machine.hpp"

namespace turnpike::pmu {
namespace {

uint64_t config_of(const std::vector<format_term>& formats, const char* terms, int word = 0) {
    const auto code = encode(formats, *parse_terms(terms));
    EXPECT_TRUE(code) << code.error().message();
    return code ? code->words[word] : 0;
}

TEST(format, puts_bits_where_the_kernel_says) {
    const std::vector<format_term> formats{*parse_format("event", "config:0-7,32-35\n"),
                                           *parse_format("edge", "config:18"),
                                           *parse_format("opcode", "config1:52-60")};
    EXPECT_EQ(config_of(formats, "event=0x1a0"), 0x1'0000'00a0u);
    EXPECT_EQ(config_of(formats, "event=0xf12,edge"), 0xf'0004'0012u);
    EXPECT_EQ(config_of(formats, "opcode=0x1ff", 1), uint64_t{0x1ff} << 52);
    EXPECT_EQ(config_of(formats, "event=1,config1=0x40"), 1u);
    EXPECT_EQ(config_of(formats, "event=1,config1=0x40", 1), 0x40u);
}

TEST(format, refuses_what_does_not_fit) {
    const std::vector<format_term> formats{*parse_format("event", "config:0-7")};
    const auto wide = encode(formats, *parse_terms("event=0x100"));
    ASSERT_FALSE(wide);
    EXPECT_NE(wide.error().text.find("more than the 8 bits"), std::string::npos);
    const auto unknown = encode(formats, *parse_terms("ch_mask=1"));
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().text.find("no term 'ch_mask'"), std::string::npos);
    for (const char* bad : {"", "config", "config:", "config3:1", "config:9-7", "config:0-64",
                            "config:0-7,", "config:x", "config:0-63,0-1", "config:0-7 "})
        EXPECT_EQ(parse_format("x", bad).has_value(), std::string_view(bad) == "config:0-7 ")
            << bad;
    for (const char* bad : {"", "=1", "event=", "event=0xg", "event=1,,umask=2"})
        EXPECT_FALSE(parse_terms(bad)) << bad;
}

TEST(cpu_list, is_ranges_and_numbers) {
    EXPECT_EQ(*parse_cpu_list("0-2,18\n"), (std::vector<unsigned>{0, 1, 2, 18}));
    EXPECT_TRUE(parse_cpu_list("\n")->empty());
    for (const char* bad : {"a", "3-1", "0-8192", "1,,2", "-1", "0-8191,0-8191"})
        EXPECT_FALSE(parse_cpu_list(bad)) << bad;
}

TEST(cpu_model, is_of_the_modalias) {
    EXPECT_EQ(*parse_modalias("cpu:type:x86,ven0000fam0006mod006A:feature:,0000"),
              (cpu_model{"GenuineIntel", 6, 0x6a}));
    EXPECT_EQ(to_string(*parse_modalias("cpu:type:x86,ven0002fam0019mod0011:feature:")),
              "AuthenticAMD-25-11");
    for (const char* bad : {"", "cpu:type:arm64", "cpu:type:x86,ven0000fam0006mod006A",
                            "cpu:type:x86,ven0000famXmod0:", "cpu:type:x86,ven0000mod1fam6:"})
        EXPECT_FALSE(parse_modalias(bad)) << bad;
}

TEST(stack, is_the_one_whose_root_bus_the_device_is_below) {
    const test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    const auto device = read_pci_device(tree.root(), "0000:3b:00.0");
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_EQ(device->root_bus, "0000:3a");
    EXPECT_EQ(device->node, 0);
    EXPECT_DOUBLE_EQ(device->max_mb_s, 64000);  // 16 GT/s * 1000 / 8 * 16 lanes * 2 directions
    const auto stack = find_stack(tree.root(), *device);
    ASSERT_TRUE(stack) << stack.error().message();
    EXPECT_EQ(stack->device, "uncore_iio_2");
    EXPECT_EQ(stack->number, 2u);
    EXPECT_EQ(stack->cpu, 0u);
    EXPECT_EQ(stack->shared, std::vector<std::string>{"0000:3b:00.1"});

    const auto other = find_stack(tree.root(), *read_pci_device(tree.root(), "0000:d8:00.0"));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->device, "uncore_iio_3");
    EXPECT_EQ(other->die, 1u);
    EXPECT_EQ(other->cpu, 2u);
    EXPECT_TRUE(other->shared.empty());
}

void expect_why(const result<stack>& found, const char* part) {
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message().find(part), std::string::npos) << found.error().message();
}

TEST(stack, that_nothing_names_is_said) {
    test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    const auto device = *read_pci_device(tree.root(), "0000:3b:00.0");
    tree.put("bus/event_source/devices/uncore_iio_2/die0: 0000:ff");
    expect_why(find_stack(tree.root(), device), "no IIO stack is mapped to root bus 0000:3a");
    tree.put("bus/event_source/devices/uncore_iio_3/die0: 0000:3a");
    tree.put("bus/event_source/devices/uncore_iio_3/cpumask: ");
    expect_why(find_stack(tree.root(), device), "no CPU for die 0");
    const test::sysfs_tree without(test::source_path("tests/data/pmu/virtual.tree"));
    expect_why(find_stack(without.root(), *read_pci_device(without.root(), "0000:01:00.0")),
               "no uncore_iio PMU");
    EXPECT_EQ(read_pci_device(without.root(), "0000:01:00.0")->max_mb_s, 0);
    for (const char* bad : {"", "0000:77:00.0", "../devices", "."})
        EXPECT_FALSE(read_pci_device(without.root(), bad)) << bad;
}

TEST(device, that_lies_or_is_not_there_is_said) {
    test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    EXPECT_EQ(devices_of(tree.root(), "uncore_iio").size(), 4u);
    EXPECT_EQ(devices_of(tree.root(), "cpu"), std::vector<std::string>{"cpu"});
    EXPECT_TRUE(devices_of(tree.root(), "uncore_i").empty());
    EXPECT_EQ(read_device(tree.root(), "uncore_cbox_0").error().code, ENOENT);
    tree.put("bus/event_source/devices/uncore_upi_0/format/umask: bits 8 to 15");
    const auto bad = read_device(tree.root(), "uncore_upi_0");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, EINVAL);
    EXPECT_NE(
        bad.error().message().find("uncore_upi_0/format/umask: 'bits 8 to 15' is not bits of"),
        std::string::npos)
        << bad.error().message();
}

/// The link as negotiated: a device in a narrower or slower slot.
TEST(pci_device, has_the_link_that_was_negotiated) {
    test::sysfs_tree tree(test::source_path("tests/data/pmu/icelakex.tree"));
    const std::string folder = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/";
    tree.put(folder + "current_link_speed: 8.0 GT/s PCIe");
    tree.put(folder + "current_link_width: 8");
    EXPECT_DOUBLE_EQ(read_pci_device(tree.root(), "0000:3b:00.0")->max_mb_s, 16000);
    tree.put(folder + "current_link_speed: Unknown");
    EXPECT_DOUBLE_EQ(read_pci_device(tree.root(), "0000:3b:00.0")->max_mb_s, 64000);
}

/// The kernel removes the topology of a CPU that is offline: with SMT off, of the last CPUs of each node.
TEST(topology, of_a_node_is_that_of_its_cpus_online) {
    test::sysfs_tree tree(test::source_path("tests/data/pmu/amdzen5.tree"));
    const auto offline = [&](int cpu) {
        std::filesystem::remove_all(tree.root() /
                                    ("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology"));
    };
    offline(3);
    EXPECT_EQ(package_of_node(tree.root(), 1), 1u);
    offline(2);
    EXPECT_FALSE(package_of_node(tree.root(), 1)) << "never socket 0 by default";
}

TEST(topology, is_of_the_tree) {
    const test::sysfs_tree intel(test::source_path("tests/data/pmu/skylakex.tree"));
    EXPECT_TRUE(smt_active(intel.root()));
    EXPECT_EQ(package_of_cpu(intel.root(), 3), 1u);
    EXPECT_FALSE(package_of_cpu(intel.root(), 77));
    EXPECT_EQ(package_of_node(intel.root(), 1), 1u);
    EXPECT_FALSE(package_of_node(intel.root(), 7));
    const test::sysfs_tree amd(test::source_path("tests/data/pmu/amdzen4.tree"));
    EXPECT_FALSE(smt_active(amd.root()));
    EXPECT_EQ(to_string(*read_cpu_model(amd.root())), "AuthenticAMD-25-11");
}

}  // namespace
}  // namespace turnpike::pmu
