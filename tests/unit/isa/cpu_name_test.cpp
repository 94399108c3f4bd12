// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "isa/cpu_name.hpp"

namespace turnpike::isa {
namespace {

std::string name_in(const std::string& cpuinfo) {
    const std::string file = testing::TempDir() + "turnpike-cpuinfo";
    std::ofstream(file) << cpuinfo;
    const std::string name = cpu_name(file.c_str());
    std::remove(file.c_str());
    return name;
}

TEST(cpu_name, x86_64_has_a_model_name) {
    EXPECT_EQ(name_in("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\n"
                      "model name\t: AMD EPYC 7543 32-Core Processor\n\n"
                      "processor\t: 1\nmodel name\t: another\n"),
              "AMD EPYC 7543 32-Core Processor");
}

TEST(cpu_name, aarch64_has_numbers_of_the_first_cpu) {
    EXPECT_EQ(name_in("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd crc32\n"
                      "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
                      "CPU part\t: 0xd0c\nCPU revision\t: 1\n\n"
                      "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n"),
              "implementer 0x41, part 0xd0c");
}

TEST(cpu_name, is_empty_where_the_file_has_none) {
    EXPECT_EQ(name_in("processor\t: 0\nfeatures\t: esan3 zarch\n"), "");
    EXPECT_EQ(cpu_name("/nonexistent/cpuinfo"), "");
}

}  // namespace
}  // namespace turnpike::isa
