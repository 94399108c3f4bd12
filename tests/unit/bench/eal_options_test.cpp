// SPDX-License-Identifier: BSD-3-Clause
#include "bench/eal_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace turnpike::bench {
namespace {

constexpr machine with_pages{.hugepages = true, .cpus = 4}, without{.hugepages = false, .cpus = 4};

std::string merged(const std::string& given, const machine& here, unsigned lcores = 1) {
    std::istringstream in(given);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    std::string out;
    for (const auto& word : eal_options(words, here, 512, lcores)) out += word + " ";
    return out;
}

TEST(bench_eal_options, ours_where_nothing_is_given) {
    EXPECT_EQ(merged("", with_pages),
              "-l 0 --no-pci --no-telemetry --log-level=lib.*:error --in-memory ");
    EXPECT_EQ(
        merged("", without, 3),
        "-l 0-2 --no-pci --no-telemetry --log-level=lib.*:error --no-huge --no-shconf -m 512 ");
    EXPECT_EQ(merged("", with_pages, 9).substr(0, 7), "-l 0-3 ");
}

TEST(bench_eal_options, pci_devices_of_the_ports_only) {
    const std::vector<std::string> devices{"0000:3b:00.0", "0000:3b:00.1,arg=1"};
    const auto options = [&](std::vector<std::string> given) {
        return eal_options(std::move(given), with_pages, 512, 1, devices);
    };
    EXPECT_EQ(options({"-l", "1", "--no-telemetry", "--log-level=8", "--in-memory"}),
              (std::vector<std::string>{"-l", "1", "--no-telemetry", "--log-level=8", "--in-memory",
                                        "-a", "0000:3b:00.0", "-a", "0000:3b:00.1,arg=1"}));
    for (const char* given : {"-a5e:00.0", "--no-pci", "--block=5e:00.0"}) {
        const auto merged = options({given});
        EXPECT_EQ(std::count(merged.begin(), merged.end(), "-a"), 0) << given;
    }
}

TEST(bench_eal_options, what_is_given_takes_away_no_other) {
    EXPECT_EQ(merged("--force-max-simd-bitwidth=512", with_pages),
              "--force-max-simd-bitwidth=512 -l 0 --no-pci --no-telemetry --log-level=lib.*:error "
              "--in-memory ");
}

TEST(bench_eal_options, what_is_given_wins_over_ours) {
    EXPECT_EQ(merged("-l 2 -a 3b:00.0 --telemetry --log-level=8 --huge-dir=/mnt", with_pages),
              "-l 2 -a 3b:00.0 --telemetry --log-level=8 --huge-dir=/mnt ");
    for (const char* cores : {"-l2", "--lcores=2", "--lcores 2", "-c 4"})
        EXPECT_EQ(merged(cores, with_pages).find("-l 0"), std::string::npos) << cores;
    EXPECT_EQ(merged("-m 64", without).find("-m 512"), std::string::npos);
    EXPECT_NE(merged("-m 64", without).find("--no-huge"), std::string::npos);
    EXPECT_EQ(merged("--no-huge -m 64", with_pages).find("--in-memory"), std::string::npos);
}

TEST(bench_eal_options, a_device_of_the_users_is_seen) {
    EXPECT_FALSE(names_device({"-l", "0", "--no-pci"}));
    for (const char* word :
         {"-a", "-a3b:00.0", "--allow=3b:00.0", "-b", "--block", "--vdev=net_null0"})
        EXPECT_TRUE(names_device({"-l", "0", word})) << word;
}

TEST(bench_eal_options, a_longer_name_is_another_option) {
    EXPECT_NE(merged("--log-level-of-another=1", with_pages).find("lib.*:error"),
              std::string::npos);
}

}  // namespace
}  // namespace turnpike::bench
