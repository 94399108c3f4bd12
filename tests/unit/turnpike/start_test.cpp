// SPDX-License-Identifier: BSD-3-Clause
// Before EAL's start: precedence of options, and the hugepage check.
#include <gtest/gtest.h>
#include <rte_config.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "control/eal/eal.hpp"
#include "control/eal/hugepages.hpp"
#include "state/hugetlb.hpp"
#include "state/lcores.hpp"

namespace turnpike::control {
namespace {

using words = std::vector<std::string>;
using state::cpus_of_lcores;

TEST(merge_eal_options, the_command_line_wins) {
    EXPECT_EQ(merge_eal_options({"-l", "0-1", "--no-pci"}, {"-l", "2"}),
              (words{"--no-pci", "-l", "2"}));
    EXPECT_EQ(merge_eal_options({"-l0-1", "--no-pci"}, {"--lcores=2"}),
              (words{"--no-pci", "--lcores=2"}));
    EXPECT_EQ(merge_eal_options({"-m", "64", "--in-memory"}, {"-m128"}),
              (words{"--in-memory", "-m128"}));
}

TEST(merge_eal_options, what_does_not_clash_stays) {
    EXPECT_EQ(merge_eal_options({"--no-pci"}, {"--force-max-simd-bitwidth=128"}),
              (words{"--no-pci", "--force-max-simd-bitwidth=128"}));
    EXPECT_EQ(merge_eal_options({}, {}), words{});
}

using cpus = std::vector<unsigned>;

cpus range_of(unsigned first, unsigned last) {
    cpus out(last - first + 1);
    std::iota(out.begin(), out.end(), first);
    return out;
}

TEST(cpus_of_lcores, lists_and_masks) {
    EXPECT_EQ(cpus_of_lcores({"--no-pci", "-l", "2,4-6"}), (cpus{2, 4, 5, 6}));
    EXPECT_EQ(cpus_of_lcores({"-l1"}), cpus{1});
    EXPECT_EQ(cpus_of_lcores({"--lcores=0-3"}), (cpus{0, 1, 2, 3}));
    EXPECT_EQ(cpus_of_lcores({"--lcores", "7"}), cpus{7});
    EXPECT_EQ(cpus_of_lcores({"-c", "0x34"}), (cpus{2, 4, 5}));
    EXPECT_EQ(cpus_of_lcores({"-c11"}), (cpus{0, 4}));
}

TEST(check_lcores, cpus_that_the_machine_lacks) {
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("cpus-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root / "sys/devices/system/cpu");
    std::ofstream(root / "sys/devices/system/cpu/online") << "0-1,4\n";
    EXPECT_TRUE(check_lcores({"-l", "0-1,4"}, root));
    EXPECT_TRUE(check_lcores({"--no-pci"}, root));
    const auto wrong = check_lcores({"--lcores", "0@1,(1,2)@(5),3@2"}, root);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().text,
              "lcores on CPU 5, 2, which this machine lacks: it has CPUs 0-1,4; change -l, "
              "--lcores or -c");
    std::filesystem::remove_all(root);
    EXPECT_TRUE(check_lcores({"-l", "7"}, root)) << "nothing is known";
}

TEST(check_cpuset, cpus_that_the_control_group_does_not_permit) {
    const auto upper = [](unsigned cpu) { return cpu >= 4; };
    EXPECT_TRUE(check_cpuset({"-l", "4-5"}, upper));
    EXPECT_TRUE(check_cpuset({"--lcores=0@4,1@5"}, upper));
    EXPECT_TRUE(check_cpuset({"--no-pci"}, upper)) << "EAL takes the permitted CPUs";
    EXPECT_TRUE(check_cpuset({"--lcores=(0-1)@(3,4)"}, upper)) << "CPU 4 suffices";
    const auto wrong = check_cpuset({"-l", "0-1,4"}, upper);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, EINVAL);
    EXPECT_EQ(wrong.error().text,
              "lcores on CPU 0, 1, which this process's control group does not permit (cpuset); "
              "leave -l, --lcores or -c out, and EAL takes the CPUs that it permits, or let the "
              "group have them (AllowedCPUs= of a unit)");
    EXPECT_FALSE(check_cpuset({"--lcores=(0-1)@3"}, upper));
}

TEST(may_use, is_a_trial) {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &before)) {
            EXPECT_TRUE(may_use(cpu)) << cpu;
            break;
        }
    EXPECT_FALSE(may_use(CPU_SETSIZE - 1)) << "no machine of these tests has so many";
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(check_workers, lcores_that_eal_is_not_given) {
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("cpus-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root / "sys/devices/system/cpu");
    std::ofstream(root / "sys/devices/system/cpu/online") << "0-1,4\n";
    const auto complaint = [&](std::vector<unsigned> workers,
                               const std::vector<std::string>& options) {
        state::configuration c;
        c.workers = std::move(workers);
        c.workers_where.text = "f.yaml:3";
        const auto checked = check_workers(c, options, root);
        if (checked) return std::string();
        EXPECT_EQ(checked.error().object, "f.yaml:3");
        return checked.error().text;
    };
    EXPECT_EQ(complaint({1, 4}, {}), "");
    EXPECT_EQ(complaint({999}, {}), "workers names lcore 999, and this machine has no CPU 999");
    EXPECT_EQ(complaint({9}, {"-l", "0-1"}),
              "workers names lcore 9, which EAL is not given (-l 0-1)");
    EXPECT_EQ(complaint({7}, {"--lcores=0@1,7@4"}), "") << "an lcore's number is no CPU's";
    EXPECT_EQ(complaint({4}, {"--lcores=0@1,7@4"}),
              "workers names lcore 4, which EAL is not given (--lcores=0@1,7@4)");
    const std::string main =
        ", the main lcore, which runs control; it can only be a worker when it is the only one";
    EXPECT_EQ(complaint({1, 4}, {"-l", "4,1"}), "workers names lcore 1" + main);
    EXPECT_EQ(complaint({1, 4}, {"-l", "1,4-5", "--main-lcore", "5"}), "");
    EXPECT_EQ(complaint({0, 1}, {}), "workers names lcore 0" + main);
    EXPECT_EQ(complaint({0}, {}), "");
    EXPECT_EQ(complaint({9}, {"-l", "what EAL knows"}), "");
    EXPECT_EQ(complaint({1}, {"-l", "4-5", "-R"}), "") << "EAL numbers them anew";
    std::filesystem::remove_all(root);
    EXPECT_EQ(complaint({9}, {}), "") << "nothing is known";
}

TEST(cpus_of_lcores, maps) {
    EXPECT_EQ(cpus_of_lcores({"--lcores", "0@2,1@3"}), (cpus{2, 3}));
    EXPECT_EQ(cpus_of_lcores({"--lcores=0@130,1@255"}), (cpus{130, 255}));
    EXPECT_EQ(cpus_of_lcores({"--lcores=(0,1)@2"}), (cpus{2, 2}));
    // The example of EAL's documentation: lcore 1 on CPU 1, 2 on CPUs 5 to 7, 3 to 5 on 0 and 2, ...
    EXPECT_EQ(cpus_of_lcores({"--lcores=1,2@(5-7),(3-5)@(0,2),(0,6),7-8"}),
              (cpus{1, 5, 0, 0, 0, 0, 0, 7, 8}));
}

TEST(cpus_of_lcores, none_in_other_words) {
    for (const char* text : {"(0-3", "0@", "@2", "0@2@3", "()@2", "-1", "", "9999999", "1-", "2-1",
                             "a", "1,", "1;2", "0-99999999999"})
        EXPECT_EQ(cpus_of_lcores({"-l", text}), cpus{}) << text;
    EXPECT_EQ(cpus_of_lcores({"-c", "0xg"}), cpus{});
    EXPECT_EQ(cpus_of_lcores({"-l"}), cpus{});
    EXPECT_EQ(cpus_of_lcores({"--no-pci"}), cpus{});
}

words allowed_for(words options, const std::vector<std::string>& devices) {
    state::configuration wanted;
    for (const std::string& device : devices)
        wanted.ports.add("p" + std::to_string(wanted.ports.size()), {.device = device});
    allow_only_configured(options, wanted);
    return options;
}

TEST(allow_only_configured, pci_devices_of_ports) {
    EXPECT_EQ(allowed_for({"-l", "0-1"}, {"0000:3b:00.0", "0000:3b:00.1,rxq_cqe_comp_en=1",
                                          "net_xsk0,iface=eth0"}),
              (words{"-l", "0-1", "-a", "0000:3b:00.0", "-a", "0000:3b:00.1,rxq_cqe_comp_en=1"}));
    EXPECT_EQ(allowed_for({}, {"net_bonding0,mode=4,slave=0000:3b:00.0,slave=0000:3b:00.1"}),
              (words{"-a", "0000:3b:00.0", "-a", "0000:3b:00.1"}));
    EXPECT_EQ(allowed_for({"--vdev", "net_failsafe0,dev(3b:00.0)"}, {"net_failsafe0"}),
              (words{"--vdev", "net_failsafe0,dev(3b:00.0)", "-a", "3b:00.0"}));
}

TEST(allow_only_configured, no_pci_device_without_one) {
    EXPECT_EQ(allowed_for({}, {"net_tap0,mac=02:00:00:00:00:01"}), (words{"-a", "ffff:ff:1f.7"}));
    EXPECT_EQ(allowed_for({}, {}), (words{"-a", "ffff:ff:1f.7"}));
}

TEST(allow_only_configured, the_operators_list_counts) {
    for (const words& list : {words{"-a", "0000:5e:00.0"}, words{"--allow=0000:5e:00.0"},
                              words{"-b", "0000:5e:00.0"}, words{"--no-pci"}})
        EXPECT_EQ(allowed_for(list, {"0000:3b:00.0"}), list);
}

TEST(lcores_option, as_it_was_given) {
    EXPECT_EQ(state::lcores_option({"--no-pci", "-l", "0-x", "-n", "4"}), "-l 0-x");
    EXPECT_EQ(state::lcores_option({"--lcores=(0"}), "--lcores=(0");
    EXPECT_EQ(state::lcores_option({"--no-pci", "--log-level=8"}), "");
}

TEST(prefer_in_memory, unless_the_operator_decides) {
    const auto with = [](words options) {
        prefer_in_memory(options);
        return options;
    };
    EXPECT_EQ(with({}), words{"--in-memory"});
    EXPECT_EQ(with({"-l", "0-1", "--no-pci"}), (words{"-l", "0-1", "--no-pci", "--in-memory"}));
    for (const words& own : {words{"--in-memory"}, words{"--no-huge", "-m", "64"},
                             words{"--huge-dir=/mnt/huge"}, words{"--file-prefix", "west"},
                             words{"--proc-type=primary"}, words{"--huge-unlink=never"}})
        EXPECT_EQ(with(own), own);
}

TEST(workers_expected, are_all_lcores_but_the_main_one) {
    state::configuration wanted;
    EXPECT_EQ(workers_expected(wanted, {0, 1, 2, 3}, {7}), 3U);
    EXPECT_EQ(workers_expected(wanted, {5}, {6, 7}), 1U) << "the only one is both";
    EXPECT_EQ(workers_expected(wanted, {}, {4, 6, 7}), 2U);
    EXPECT_EQ(workers_expected(wanted, {}, {4}), 1U);
    EXPECT_EQ(workers_expected(wanted, {}, range_of(0, 2 * RTE_MAX_LCORE - 1)),
              uint32_t{RTE_MAX_LCORE} - 1)
        << "EAL has no lcore for the other CPUs";
    EXPECT_EQ(workers_expected(wanted, {}, range_of(RTE_MAX_LCORE - 3, RTE_MAX_LCORE + 9)), 2U);
    wanted.workers = {2, 3};
    EXPECT_EQ(workers_expected(wanted, {0, 1, 2, 3}, {7}), 2U);
}

// The mbuf pool is on the main lcore's NUMA node.
TEST(cpu_of_main, is_the_lowest_lcores_or_main_lcores) {
    using state::cpu_of_main;
    const cpus upper = range_of(16, 31);
    EXPECT_EQ(cpu_of_main({}, upper), 16U);
    EXPECT_EQ(cpu_of_main({"--main-lcore=20"}, upper), 20U);
    EXPECT_EQ(cpu_of_main({"-l", "16-23,0"}, upper), 0U);
    EXPECT_EQ(cpu_of_main({"-l", "0,16-23", "--main-lcore", "16"}, upper), 16U);
    EXPECT_EQ(cpu_of_main({"--lcores=5@20,3@24"}, upper), 24U);
    EXPECT_EQ(cpu_of_main({"--lcores=5@20,3@24", "--main-lcore=5"}, upper), 20U);
    EXPECT_EQ(cpu_of_main({"-l", "what EAL knows"}, upper), 16U);
    EXPECT_EQ(cpu_of_main({}, {}), 0U);
}

class sysfs : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = std::filesystem::temp_directory_path() / "turnpike-sysfs-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root = name;
    }
    void TearDown() override { std::filesystem::remove_all(root); }
    void pool(unsigned node, unsigned kb, unsigned free_pages) const {
        const auto folder = root / ("sys/devices/system/node/node" + std::to_string(node)) /
                            ("hugepages/hugepages-" + std::to_string(kb) + "kB");
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "free_hugepages") << free_pages << '\n';
    }
    void put(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root / file).parent_path());
        std::ofstream(root / file) << text << '\n';
    }
    std::filesystem::path root;
};

TEST_F(sysfs, enough_hugepages_on_the_node) {
    pool(0, 2048, 0);
    pool(1, 2048, 100);
    EXPECT_EQ(hugepage_shortfall(hugepage_pools(root), hugepage_limits(root), 1, 200u << 20), "");
}

TEST_F(sysfs, large_pages_count_too) {
    pool(0, 1048576, 1);
    EXPECT_EQ(hugepage_shortfall(hugepage_pools(root), hugepage_limits(root), 0, 500u << 20), "");
}

TEST_F(sysfs, a_shortfall_names_node_number_and_command) {
    pool(0, 2048, 100);
    pool(1, 2048, 10);
    const std::string message =
        hugepage_shortfall(hugepage_pools(root), hugepage_limits(root), 1, 100u << 20);
    EXPECT_NE(message.find("node 1 lacks 40 hugepages of 2 MB"), std::string::npos) << message;
    EXPECT_NE(
        message.find("> /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"),
        std::string::npos)
        << message;
}

TEST_F(sysfs, a_shortfall_of_a_machine_with_large_pages_only) {
    pool(0, 1 << 20, 1);
    const std::string text =
        hugepage_shortfall(hugepage_pools(root), hugepage_limits(root), 0, uint64_t{3} << 30);
    EXPECT_NE(text.find("node 0 lacks 2 hugepages of 1024 MB"), std::string::npos) << text;
}

TEST_F(sysfs, the_limit_of_a_control_group) {
    pool(0, 2048, 1000);
    pool(0, 1 << 20, 0);
    put("proc/self/cgroup", "0::/system.slice/turnpike.service\n");
    const std::string slice = "sys/fs/cgroup/system.slice/", own = slice + "turnpike.service/";
    put(own + "hugetlb.2MB.max", "max");
    put(own + "hugetlb.1GB.max", "0");
    const auto shortfall = [&](uint64_t megabytes) {
        return hugepage_shortfall(hugepage_pools(root), hugepage_limits(root), 0, megabytes << 20);
    };
    EXPECT_EQ(shortfall(1000), "")
        << "the limit of 1 GB pages, which are not there, does not count";
    put(slice + "hugetlb.2MB.max", std::to_string(300u << 20));
    put(slice + "hugetlb.2MB.current", std::to_string(100u << 20));
    EXPECT_EQ(shortfall(200), "");
    EXPECT_EQ(
        shortfall(201),
        "the process's control group has room for 200 MB in hugepages, and 201 MB are needed. "
        "Raise its limit with:\n    echo max > /" +
            slice + "hugetlb.2MB.max");
    put(own + "hugetlb.2MB.rsvd.max", "0");
    EXPECT_NE(shortfall(1).find("/" + own + "hugetlb.2MB.rsvd.max"), std::string::npos);
    EXPECT_NE(shortfall(4000).find("lacks"), std::string::npos) << "the pages come first";
}

TEST_F(sysfs, the_limit_of_a_control_group_of_version_1) {
    pool(0, 2048, 1000);
    put("proc/self/cgroup", "11:pids:/x\n5:misc,hugetlb:/docker/ab\n0::/\n");
    const std::string own = "sys/fs/cgroup/hugetlb/docker/ab/hugetlb.2MB.";
    put(own + "limit_in_bytes", "4194304");
    put(own + "usage_in_bytes", "2097152");
    const auto limits = hugepage_limits(root);
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_EQ(limits[0].page_bytes, 2U << 20);
    EXPECT_EQ(limits[0].free_bytes, 2U << 20);
}

TEST_F(sysfs, a_kernel_without_numa) {
    const auto folder = root / "sys/kernel/mm/hugepages/hugepages-2048kB";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "free_hugepages") << "5\n";
    ASSERT_EQ(hugepage_pools(root).size(), 1U);
    EXPECT_EQ(hugepage_pools(root)[0].free_pages, 5U);
    std::ofstream(folder / "resv_hugepages") << "2\n";
    EXPECT_EQ(hugepage_pools(root)[0].free_pages, 3U) << "mappings have reserved two";
    // The free pages of other nodes may serve them.
    EXPECT_EQ(state::reserved_pages(10, 100, 100), 10U);
    EXPECT_EQ(state::reserved_pages(10, 100, 95), 5U);
    EXPECT_EQ(state::reserved_pages(10, 100, 90), 0U);
    EXPECT_EQ(state::reserved_pages(10, 0, 5), 5U) << "never more than are free";
}

TEST_F(sysfs, the_node_of_a_cpu) {
    std::filesystem::create_directories(root / "sys/devices/system/cpu/cpu3/node1");
    EXPECT_EQ(node_of_cpu(root, 3), 1U);
    EXPECT_EQ(node_of_cpu(root, 0), 0U);
}

}  // namespace
}  // namespace turnpike::control
