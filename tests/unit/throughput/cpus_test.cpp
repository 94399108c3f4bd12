// SPDX-License-Identifier: BSD-3-Clause
// Cores, SMT siblings and frequencies of machines that this one is not: folders as the kernel's.
#include "cpus.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "sweep.hpp"

namespace turnpike::throughput {
namespace {

namespace fs = std::filesystem;

/// A machine's folder of CPUs.
class fake_cpus {
  public:
    explicit fake_cpus(const std::string& online, const std::string& isolated = "") {
        std::string name = fs::temp_directory_path() / "turnpike-cpus-XXXXXX";
        root = ::mkdtemp(name.data());
        folder = root / "sys/devices/system/cpu";
        write("online", online);
        write("isolated", isolated);
    }
    ~fake_cpus() { fs::remove_all(root); }
    fake_cpus(const fake_cpus&) = delete;
    fake_cpus& operator=(const fake_cpus&) = delete;

    void write(const fs::path& file, const std::string& text) const {
        fs::create_directories((folder / file).parent_path());
        std::ofstream(folder / file) << text << "\n";
    }
    void add_siblings(const std::string& list) const {
        const std::vector<unsigned> cpus = parse_cpu_list(list).value();
        for (const unsigned cpu : cpus)
            write("cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", list);
    }
    void add_policy(unsigned cpu, const std::string& min_khz, const std::string& max_khz) const {
        const std::string policy = "cpu" + std::to_string(cpu) + "/cpufreq/";
        write(policy + "cpuinfo_min_freq", "800000");
        write(policy + "cpuinfo_max_freq", "3200000");
        write(policy + "scaling_min_freq", min_khz);
        write(policy + "scaling_max_freq", max_khz);
    }
    [[nodiscard]] std::string limits(unsigned cpu) const {
        std::string out;
        for (const char* file : {"scaling_min_freq", "scaling_max_freq"}) {
            std::ifstream in(folder / ("cpu" + std::to_string(cpu)) / "cpufreq" / file);
            std::string line;
            std::getline(in, line);
            out += line + " ";
        }
        return out;
    }
    fs::path root, folder;
};

TEST(cpus_test, lists_of_the_kernel_are_read) {
    const std::vector<unsigned> expected{0, 1, 2, 3, 8, 10, 11};
    EXPECT_EQ(*parse_cpu_list("0-3,8,10-11"), expected);
    EXPECT_TRUE(parse_cpu_list("")->empty());
    for (const char* bad : {"a", "1,", "3-1", "-1", "1;2", "1-", ",1", "65536", "99999999999"})
        EXPECT_FALSE(parse_cpu_list(bad)) << bad;
    EXPECT_EQ(cpu_list_text(expected), "0,1,2,3,8,10,11");
}

TEST(cpus_test, the_device_gets_isolated_cpus_else_all_but_the_first_core) {
    const fake_cpus plain("0-7");
    plain.add_siblings("0,4");
    EXPECT_EQ(default_cpus(plain.folder), (std::vector<unsigned>{1, 2, 3, 5, 6, 7}));
    EXPECT_EQ(default_cpus(fake_cpus("0-7", "2-3").folder), (std::vector<unsigned>{2, 3}));
    EXPECT_EQ(default_cpus(fake_cpus("0-1").folder), (std::vector<unsigned>{1}));
}

/// An isolated CPU elsewhere leaves the sender's CPU to other programs.
TEST(cpus_test, the_senders_cpus_are_isolated_or_not) {
    const fake_cpus machine("0-7", "2-3");
    EXPECT_TRUE(are_isolated({2}, machine.folder));
    EXPECT_FALSE(are_isolated({0}, machine.folder));
    EXPECT_FALSE(are_isolated({0, 2}, machine.folder));
    EXPECT_FALSE(are_isolated({}, machine.folder)) << "unknown";
    machine.write("../../../fs/cgroup/cpuset.cpus.isolated", "3,6-7");
    EXPECT_EQ(isolated_cpus(machine.folder), (std::vector<unsigned>{2, 3, 6, 7}));
    EXPECT_TRUE(are_isolated({6, 2}, machine.folder));
    EXPECT_EQ(default_cpus(machine.folder), (std::vector<unsigned>{2, 3, 6, 7}));
}

TEST(cpus_test, threads_of_a_core_are_together) {
    const fake_cpus machine("0-3,5-7");  // 4 is offline
    for (const char* core : {"0,4", "1,5", "2,6", "3,7"}) machine.add_siblings(core);
    const std::vector<std::vector<unsigned>> expected{{1, 5}, {2}, {3, 7}};
    EXPECT_EQ(cores_of({1, 2, 3, 4, 5, 7, 9}, machine.folder), expected);
}

TEST(cpus_test, setups_use_whole_cores_and_say_what_is_not_there) {
    const fake_cpus machine("0-5");
    for (const char* core : {"0,3", "1,4", "2,5"}) machine.add_siblings(core);
    const auto setups = setups_of({.cores = {1, 2, 4}}, machine.folder);
    ASSERT_EQ(setups.size(), 6u);
    EXPECT_EQ(setups[0].cpus, (std::vector<unsigned>{1}));
    EXPECT_EQ(setups[1].cpus, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(setups[2].unavailable, "this machine has 2 cores for the device");
    EXPECT_EQ(setups[3].cpus, (std::vector<unsigned>{1, 4}));
    EXPECT_EQ(setups[4].cpus, (std::vector<unsigned>{1, 4, 2, 5}));
    EXPECT_EQ(name_of(setups[4]), "2 cores, SMT");
    EXPECT_EQ(environment_of(setups[4]), "export CPUS=1,4,2,5 WORKERS=4 CORES=2 SMT=1 MHZ=0\n");
    const auto one_thread = setups_of({.cpus = {1, 2}, .cores = {1}}, machine.folder);
    EXPECT_EQ(one_thread[1].unavailable, "the cores for the device have one thread each: no SMT");
    const auto slow = setups_of({.cores = {1}, .smt = {false}, .mhz = {2200}}, machine.folder);
    EXPECT_NE(slow[0].unavailable.find("no control of CPU frequencies"), std::string::npos);
}

TEST(cpus_test, frequencies_are_set_and_restored) {
    const fake_cpus machine("0-2");
    machine.add_policy(1, "1000000", "2000000");
    machine.add_policy(2, "800000", "3200000");
    EXPECT_EQ(why_not_at({1, 2}, 2200, machine.folder), "");
    EXPECT_EQ(why_not_at({1}, 3300, machine.folder), "CPU 1 runs at 800 to 3200 MHz, not at 3300");
    {
        const auto scope = frequency_scope::enter({1, 2}, 2200, machine.folder);
        ASSERT_TRUE(scope) << scope.error().message();
        EXPECT_EQ(machine.limits(1), "2200000 2200000 ");
        EXPECT_EQ(machine.limits(2), "2200000 2200000 ");
    }
    EXPECT_EQ(machine.limits(1), "1000000 2000000 ");
    EXPECT_EQ(machine.limits(2), "800000 3200000 ");
    EXPECT_FALSE(frequency_scope::enter({1, 0}, 2200, machine.folder)) << "CPU 0 has no policy";
    EXPECT_EQ(machine.limits(1), "1000000 2000000 ") << "restored after an error";
}

}  // namespace
}  // namespace turnpike::throughput
