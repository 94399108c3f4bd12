// SPDX-License-Identifier: BSD-3-Clause
// Trees: tests/unit/pcie/sysfs, written by make_sysfs.py.
#include "pcie/detect.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "lib/source_tree.hpp"

namespace turnpike::pcie {
namespace {

result<link> detect(std::string_view address) {
    return detect_link(test::source_path("tests/unit/pcie/sysfs"), address);
}

void expect_link(std::string_view address, const link& expected) {
    const auto found = detect(address);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, expected) << address << " is " << to_string(*found);
}

void expect_failure(std::string_view address, int code, const char* part) {
    const auto found = detect(address);
    ASSERT_FALSE(found) << address;
    EXPECT_EQ(found.error().code, code) << found.error().message();
    EXPECT_NE(found.error().message().find(part), std::string::npos) << found.error().message();
    EXPECT_NE(found.error().message().find(std::string(address)), std::string::npos);
}

TEST(detect_link, reads_what_was_negotiated) {
    expect_link("0000:3b:00.0", {.gen = 2, .lanes = 8, .mps = 256, .mrrs = 512});
    expect_link("0000:5e:00.0", {.gen = 3, .lanes = 8, .mps = 256, .mrrs = 512});
    expect_link("0000:af:00.0",
                {.gen = 3, .lanes = 16, .mps = 512, .mrrs = 4096, .rcb = 128, .ecrc = true});
    expect_link("10000:01:00.0", {.gen = 5, .lanes = 16, .mps = 512, .mrrs = 1024});
}

TEST(detect_link, domain_may_be_left_out_and_case_does_not_matter) {
    expect_link("3b:00.0", {.gen = 2});
    expect_link("AF:00.0",
                {.gen = 3, .lanes = 16, .mps = 512, .mrrs = 4096, .rcb = 128, .ecrc = true});
}

TEST(detect_link, virtual_function_has_the_link_of_its_physical_function) {
    expect_link("0000:5e:02.0", {.gen = 3});
}

TEST(detect_link, endless_extended_list_costs_only_the_ecrc_bit) {
    expect_link("0000:1c:00.0", {.gen = 4});
}

TEST(detect_link, devices_without_a_link) {
    expect_failure("0000:00:03.0", ENOTSUP, "no PCI Express capability");
    expect_failure("0000:00:04.0", ENOTSUP, "no PCIe link");
    expect_failure("0000:1a:00.0", ENOTSUP, "PCIe generations are 1 to 6, not 7");
}

TEST(detect_link, unreadable_config_space) {
    expect_failure("0000:17:00.0", EACCES, "run as root");
    expect_failure("0000:18:00.0", EIO, "capability list is damaged");
    expect_failure("0000:19:00.0", EIO, "cannot read its config space");
    expect_failure("0000:1b:00.0", EIO, "does not answer");
}

/// Without CAP_SYS_ADMIN, as turnpike runs under its unit.
TEST(detect_link, by_attributes_where_the_config_space_is_not_readable) {
    std::string root = std::filesystem::temp_directory_path() / "turnpike-sysfs-XXXXXX";
    ASSERT_NE(::mkdtemp(root.data()), nullptr);
    const auto device = std::filesystem::path(root) / "bus/pci/devices/0000:3b:00.0";
    std::filesystem::create_directories(device);
    std::ofstream(device / "config") << std::string(64, '\x86');
    const auto write = [&](const char* speed, const char* width) {
        std::ofstream(device / "current_link_speed") << speed << '\n';
        std::ofstream(device / "current_link_width") << width << '\n';
    };
    const struct {
        const char *speed, *width;
        uint8_t gen, lanes;
    } rows[] = {{"2.5 GT/s PCIe", "1", 1, 1},
                {"5.0 GT/s PCIe", "4", 2, 4},
                {"8 GT/s", "8", 3, 8},
                {"16.0 GT/s PCIe", "16", 4, 16},
                {"64.0 GT/s PCIe", "32", 6, 32}};
    for (const auto& row : rows) {
        write(row.speed, row.width);
        const auto found = detect_link(root, "3b:00.0");
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(*found, (link{.gen = row.gen, .lanes = row.lanes, .sizes_assumed = true}))
            << row.speed;
    }
    for (const auto& [speed, width] : {std::pair{"Unknown", "8"}, {"8.0 GT/s PCIe", "0"}}) {
        write(speed, width);
        EXPECT_FALSE(detect_link(root, "3b:00.0")) << speed << width;
    }
    std::filesystem::remove_all(root);
}

TEST(detect_link, addresses) {
    expect_failure("0000:77:00.0", ENODEV, "no such PCI device");
    for (const char* bad : {"", "eth0", "3b:00", "3b:00.8", "0000:3b:00.0/..", "../0000:3b:00.0"})
        expect_failure(bad, EINVAL, "write it as 0000:3b:00.0");
}

}  // namespace
}  // namespace turnpike::pcie
