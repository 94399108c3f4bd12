// SPDX-License-Identifier: BSD-3-Clause
#include "state/default_route.hpp"

#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <filesystem>

#include "sources/default_routes.hpp"

namespace turnpike::state {
namespace {

using names = std::set<std::string>;

TEST(default_route, interfaces_are_those_of_the_kernels_tables) {
    EXPECT_EQ(
        default_route_interfaces(
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
            "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
            "eth1\t00000A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
            "eth2\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n",
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
            "fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth3\n"
            "20010db8000000000000000000000000 20 00000000000000000000000000000000 00 "
            "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth4\n"
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
            "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"),
        (names{"eth0", "eth3"}));
    EXPECT_EQ(default_route_interfaces("", "broken\n\n"), names{});
}

TEST(default_route, only_devices_that_take_all_packets_matter) {
    EXPECT_EQ(interface_taken_by("net_xsk0,iface=eth0"), "eth0");
    EXPECT_EQ(interface_taken_by("net_xsk0,queues=2,iface=eth0.7,copy=1"), "eth0.7");
    EXPECT_EQ(interface_taken_by("net_af_xdp1,iface=eth1,start_queue=0"), "eth1");
    EXPECT_EQ(interface_taken_by("net_xsk0,iface=eth0,filter=f"), "");
    EXPECT_EQ(interface_taken_by("net_xsk0,iface=eth0,xskmap=/sys/fs/bpf/m"), "");
    EXPECT_EQ(interface_taken_by("net_af_packet0,iface=eth0"), "");  // the kernel has them, too
    EXPECT_EQ(interface_taken_by("net_tap0,iface=tap0,remote=eth0"), "eth0");
    EXPECT_EQ(interface_taken_by("net_tap0,iface=eth0"), "");
    EXPECT_EQ(interface_taken_by("net_xsk0,myiface=eth0"), "");
    EXPECT_EQ(interface_taken_by("0000:3b:00.0"), "");
    EXPECT_EQ(interface_taken_by("net_xsk0"), "");
}

TEST(devices, those_that_listen_have_a_path) {
    EXPECT_EQ(listening_socket_of("net_vhost0,iface=/run/guest,queues=2"), "/run/guest");
    EXPECT_EQ(listening_socket_of("net_vhost0,client=0,iface=/run/guest"), "/run/guest");
    EXPECT_EQ(listening_socket_of("net_vhost0,iface=/run/guest,client=1"), "");
    EXPECT_EQ(listening_socket_of("net_virtio_user0,iface=v0,path=/run/guest"), "");
    EXPECT_EQ(listening_socket_of("net_virtio_user0,path=/run/guest,server=0"), "");
    EXPECT_EQ(listening_socket_of("net_virtio_user0,path=/run/guest,server=1"), "/run/guest");
    EXPECT_EQ(listening_socket_of("virtio_user0,server=1,path=/run/guest"), "/run/guest");
    EXPECT_EQ(listening_socket_of("net_memif0,role=server,socket=/run/m,socket-abstract=no"),
              "/run/m");
    EXPECT_EQ(listening_socket_of("net_memif0,socket-abstract=no,id=3,role=master"),
              "/run/memif.sock");
    EXPECT_EQ(listening_socket_of("net_memif0,role=client,socket=/run/m,socket-abstract=no"), "");
    EXPECT_EQ(listening_socket_of("net_memif0,socket=/run/m,socket-abstract=no"), "");
    EXPECT_EQ(listening_socket_of("net_memif0,role=server,socket=/run/m"), "");
    EXPECT_EQ(listening_socket_of("net_tap0,iface=t0"), "");
}

constexpr uint32_t first_if = 2, second_if = 3, third_if = 4;

netlink::rule looks_up(uint32_t table, bool v6 = false) {
    return {.v6 = v6, .table = table, .action = FR_ACT_TO_TBL};
}

netlink::route default_by(uint32_t interface, uint32_t table, bool v6 = false) {
    return {.to = {ip_address{.v6 = v6}, 0},
            .table = table,
            .type = RTN_UNICAST,
            .nexthops = {{.interface = interface}}};
}

using by_table = std::map<uint32_t, uint32_t>;

TEST(default_route, counts_in_each_table_that_a_rule_looks_up) {
    const std::vector<netlink::route> routes = {
        default_by(first_if, 100), default_by(second_if, 200), default_by(third_if, 100, true)};
    const auto found = [&](const std::vector<netlink::rule>& rules) {
        return sources::interfaces_of_default_routes(rules, routes, {});
    };
    EXPECT_EQ(found({looks_up(RT_TABLE_MAIN), looks_up(RT_TABLE_MAIN, true)}), by_table{});
    EXPECT_EQ(found({looks_up(RT_TABLE_MAIN), looks_up(100)}), (by_table{{first_if, 100}}));
    EXPECT_EQ(found({looks_up(RT_TABLE_MAIN), looks_up(100, true)}), (by_table{{third_if, 100}}));
    EXPECT_EQ(found({looks_up(RT_TABLE_MAIN), looks_up(RT_TABLE_MAIN, true), {.l3mdev = true}}),
              (by_table{{first_if, 100}, {second_if, 200}}));
    netlink::rule refuses = looks_up(200);
    refuses.action = FR_ACT_UNREACHABLE;
    EXPECT_EQ(found({refuses, looks_up(RT_TABLE_MAIN, true)}), by_table{});
    EXPECT_EQ(sources::interfaces_of_default_routes(
                  {}, std::vector{default_by(first_if, RT_TABLE_MAIN)}, {}),
              (by_table{{first_if, RT_TABLE_MAIN}}));
}

TEST(default_route, counts_by_each_of_its_paths) {
    const std::vector rules = {looks_up(RT_TABLE_MAIN)};
    netlink::route several = default_by(first_if, RT_TABLE_MAIN);
    several.nexthops.push_back({.interface = second_if});
    EXPECT_EQ(sources::interfaces_of_default_routes(rules, std::vector{several}, {}),
              (by_table{{first_if, RT_TABLE_MAIN}, {second_if, RT_TABLE_MAIN}}));
    netlink::route by_objects = default_by(0, RT_TABLE_MAIN);
    by_objects.nexthops.clear();
    by_objects.next_hop = 7;
    const std::vector<netlink::next_hop> objects = {{.id = 5, .path = {.interface = first_if}},
                                                    {.id = 6, .path = {.interface = third_if}},
                                                    {.id = 7, .group = {{.id = 5}, {.id = 6}}}};
    EXPECT_EQ(sources::interfaces_of_default_routes(rules, std::vector{by_objects}, objects),
              (by_table{{first_if, RT_TABLE_MAIN}, {third_if, RT_TABLE_MAIN}}));
    netlink::route network = default_by(first_if, RT_TABLE_MAIN), blackhole = network;
    network.to.length = 1;
    blackhole.type = RTN_BLACKHOLE;
    EXPECT_EQ(sources::interfaces_of_default_routes(rules, std::vector{network, blackhole}, {}),
              by_table{});
}

TEST(default_route, interfaces_above_are_found_by_sysfs) {
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("turnpike-uppers-" + std::to_string(::getpid()));
    for (const char* folder :
         {"eth0/upper_bond0", "bond0/lower_eth0", "bond0/upper_bond0.7", "bond0.7/lower_bond0",
          "bond0.7/upper_br0", "br0/lower_bond0.7", "eth1"})
        std::filesystem::create_directories(root / "class/net" / folder);
    EXPECT_EQ(sources::with_upper_interfaces(root, "eth0"),
              (names{"eth0", "bond0", "bond0.7", "br0"}));
    EXPECT_EQ(sources::with_upper_interfaces(root, "eth1"), names{"eth1"});
    EXPECT_EQ(sources::with_upper_interfaces(root, "gone"), names{"gone"});
    std::filesystem::remove_all(root);
}

TEST(default_route, ports_beside_the_kernels_driver_take_its_packets) {
    namespace fs = std::filesystem;
    const fs::path root =
        fs::temp_directory_path() / ("turnpike-bifurcated-" + std::to_string(::getpid()));
    const std::pair<const char*, const char*> devices[] = {
        {"0000:41:00.1", "mlx5_core"}, {"10000:e1:00.0", "mlx4_core"}, {"0000:18:00.0", "tg3"}};
    for (const auto& [address, driver] : devices) {
        const fs::path folder = root / "bus/pci/devices" / address;
        fs::create_directories(folder / "net" / (std::string("of_") + driver));
        fs::create_symlink(std::string("../../../../bus/pci/drivers/") + driver, folder / "driver");
    }
    const auto taken = [&](const char* device) {
        return sources::interfaces_taken_by(root, device);
    };
    EXPECT_EQ(taken("0000:41:00.1,mprq_en=1"), names{"of_mlx5_core"});
    EXPECT_EQ(taken("41:0.1"), names{"of_mlx5_core"});
    EXPECT_EQ(taken("10000:E1:00.0"), names{"of_mlx4_core"});
    EXPECT_EQ(taken("net_bonding0,slave=41:00.1,slave=10000:e1:00.0"),
              (names{"of_mlx5_core", "of_mlx4_core"}));
    EXPECT_EQ(taken("net_xsk0,iface=eth0"), names{"eth0"});
    for (const char* other : {"0000:18:00.0", "0000:41:00.0", "0000:41:00.8", "0000:41:00.1x",
                              "100:000:41:00.1", "0000:41:00", "net_tap0,mac=00:11:22:33:44:55"})
        EXPECT_EQ(taken(other), names{}) << other;
    fs::remove_all(root);
}

}  // namespace
}  // namespace turnpike::state
