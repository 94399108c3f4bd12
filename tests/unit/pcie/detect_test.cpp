// SPDX-License-Identifier: BSD-3-Clause
// Trees: tests/unit/pcie/sysfs, written by make_sysfs.py.
#include "pcie/detect.hpp"

#include <gtest/gtest.h>

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

TEST(detect_link, addresses) {
    expect_failure("0000:77:00.0", ENODEV, "no such PCI device");
    for (const char* bad : {"", "eth0", "3b:00", "3b:00.8", "0000:3b:00.0/..", "../0000:3b:00.0"})
        expect_failure(bad, EINVAL, "write it as 0000:3b:00.0");
}

}  // namespace
}  // namespace turnpike::pcie
