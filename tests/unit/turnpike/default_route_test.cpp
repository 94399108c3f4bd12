// SPDX-License-Identifier: BSD-3-Clause
#include "state/default_route.hpp"

#include <gtest/gtest.h>

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
    EXPECT_EQ(interface_taken_by("net_xsk0,myiface=eth0"), "");
    EXPECT_EQ(interface_taken_by("0000:3b:00.0"), "");
    EXPECT_EQ(interface_taken_by("net_xsk0"), "");
}

}  // namespace
}  // namespace turnpike::state
