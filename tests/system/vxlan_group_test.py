#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""VXLAN's multicast underlay with Linux as peers: leaves are kernels whose vxlan devices are in a group, behind a kernel's
bridge with multicast snooping: it queries membership, and forwards multicast to members only.

  h0 10.1.0.1 -- p0 | turnpike, bridge lan | up 10.0.9.1 -- switch -- 10.0.9.2 leaf2, vxlan 10.1.0.2
                                                              \\---- 10.0.9.3 leaf3, vxlan 10.1.0.3
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.frames import BROADCAST, ethernet, mac  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import ping  # noqa: E402
from vxlan_test import NETWORK, OUTER, Fabric, capture  # noqa: E402

GROUP = {4: "239.1.2.3", 6: "ff05::1234"}
GROUP_MAC = {4: "01:00:5e:01:02:03", 6: "33:33:00:00:12:34"}
MARK = b"once and no more"
FORGOTTEN_S = 4  # after which the switch removes a member that does not report
LEFT_S = 2  # until it removes a member that has left: sooner than by timeout


class GroupFabric(Fabric):
    """Linux's leaves flood to the group, and learn each other's stations; the switch queries every second."""

    def __init__(self, lab, family, versions="mcast_igmp_version 3 mcast_mld_version 2", **more):
        group = {"name": "all", "vni": NETWORK, "local": OUTER[family].format(1), "remote": GROUP[family],
                 "interface": "up", "mtu": 1500}
        self.versions = versions
        super().__init__(lab, family, leaves=(2, 3), **more)
        self.ask_every_second()
        # By control requests, while turnpike forwards.
        self.operator.result("change", do=[{"add": {"tunnel": group}},
                                           {"add": {"member": {"bridge": "lan", "port": "all"}}}])

    def leaf(self, n, middle, mtu, others):
        self.switch = middle
        return super().leaf(n, middle, mtu, others)

    def device_more(self):
        return f"group {GROUP[self.family]} dev eth0 ttl 4"

    def flood(self, leaf, others):
        """The leaves find each other by the group."""

    def ask_every_second(self):
        """In hundredths of a second. A member that does not report is removed after FORGOTTEN_S; a member whose report arrived
        at most a second and a half ago, at the earliest two seconds later."""
        self.switch.run("sysctl -qw net.ipv6.conf.br0.disable_ipv6=0 net.ipv6.conf.br0.accept_dad=0")
        self.switch.run("ip addr add fe80::5/64 dev br0 nodad")
        self.switch.run(f"ip link set br0 type bridge {self.versions} mcast_query_interval 100 "
                        "mcast_startup_query_interval 100 mcast_query_response_interval 50 "
                        f"mcast_membership_interval {FORGOTTEN_S * 100} mcast_last_member_interval 20 mcast_querier_interval 400")
        self.switch.run("ip link set br0 type bridge mcast_snooping 1 mcast_querier 1")

    def joined(self, group=None):
        """The switch's ports with members of the group."""
        said = json.loads(self.switch.run("bridge -j mdb show dev br0").stdout)
        return {m["port"] for part in said for m in part.get("mdb", []) if m["grp"] == (group or GROUP[self.family])}


def reread(path, fabric, what, message):
    """tshark finds the expected messages from us, and no error in any."""
    if shutil.which("tshark") is None:
        tap.skip("tshark is not installed")
    fields = ("eth.dst", "eth.src", "ip.ttl", "ipv6.hlim", message, "_ws.expert.message", "_ws.malformed")
    done = subprocess.run(["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-Y", what,
                           "-T", "fields", *(w for f in fields for w in ("-e", f))],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    us = fabric.dut.mac("u0")
    seen = [line.split("\t") for line in done.stdout.splitlines()]
    ours = [s for s in seen if s[1].split(",")[0] == us]
    wrong = [s for s in ours if s[5] or s[6]]
    assert not wrong, wrong
    return ours


def behind_a_switch(family):
    """Group and VTEPs with leaves that find each other by the group; our reports keep us in it."""
    with Lab() as lab:
        f = GroupFabric(lab, family)
        both = {"m1", "m2", "m3"}
        wait_until(lambda: f.joined() == both, lambda: f"the switch has learned the members: {f.joined()}")
        once = ethernet(BROADCAST, mac("02:00:00:00:00:77"), 0x88B5, MARK + bytes(64))

        def traffic():
            for n in (2, 3):
                ping(f.h0, f"10.1.0.{n}")
                ping(f.h0, f"2001:db8:1::{n}")
                f.leaves[n].run("ip neigh flush dev vx0")
                ping(f.leaves[n], "10.1.0.1")
                ping(f.leaves[n], "2001:db8:1::1")
            ping(f.leaves[2], "10.1.0.254")  # the bridge's address
            ping(f.h0, "10.1.0.2", "-s 1472 -M do")
            wire = f.h0.raw("eth0")
            wire.send(once)
            wire.close()
            time.sleep(FORGOTTEN_S + 1)
            wait_until(lambda: "m1" in f.joined(), lambda: f"we answer, and are known: {f.joined()}")
            ping(f.leaves[3], "10.1.0.1")
        path = capture(f, traffic, f.switch, "m1")
        with open(path, "rb") as file:
            assert file.read().count(MARK) == 1, "one flooded frame is one packet"
        reports = reread(path, f, "igmp" if family == 4 else "icmpv6.type == 143",
                               "igmp.type" if family == 4 else "icmpv6.mldr.mar.multicast_address")
        of_group = [r for r in reports if family == 4 or GROUP[6] in r[4]]
        assert len(of_group) >= 3, reports
        assert all(r[0] == ("01:00:5e:00:00:16" if family == 4 else "33:33:00:00:00:16") and "1" in (r[2], r[3])
                   for r in of_group), of_group
        floods = reread(path, f, "vxlan && eth.dst == " + GROUP_MAC[family], "vxlan.vni")
        assert floods and all(s[0].startswith(GROUP_MAC[family]) for s in floods), floods
        counted = f.counted()
        assert counted["all"]["tx_packets"] >= 3 and counted["all"]["rx_packets"] == 0, counted
        assert counted["all"]["interface"] == "up" and counted["leaf2"]["interface"] is None, counted
        assert all(counted[t]["rx_packets"] > 5 and counted[t]["tx_packets"] > 5 for t in ("leaf2", "leaf3")), counted
        route = f.operator.show("route", address=GROUP[family])
        assert route["interface"] == "up" and route["type"] == "adjacency", route
        known = {(s["mac"], s["port"]) for s in f.operator.show("fdb")["fdb"]}
        assert all((leaf.mac("vx0"), f"leaf{n}") in known for n, leaf in f.leaves.items()), known
        drops = f.operator.show("drops")["drops"]
        assert not [d for d, n in drops.items() if d.startswith(("vxlan", "tunnel")) and n], drops
        # A leaf without a configured tunnel is unknown, by the group, too.
        f.operator.result("change", do=[{"del": {"member": {"bridge": "lan", "port": "leaf3"}}},
                                        {"del": {"tunnel": {"name": "leaf3"}}}])
        f.leaves[3].run("ip neigh flush dev vx0")
        ping(f.leaves[3], "10.1.0.1", "-W 1", check=False, count=1, wait=1)
        assert f.operator.show("drops")["drops"]["vxlan_unknown_vtep"] >= 1
        # Without the group the switch gets a leave at once, and each VTEP its own copy.
        f.operator.result("change", do=[{"del": {"member": {"bridge": "lan", "port": "all"}}},
                                        {"del": {"tunnel": {"name": "all"}}}])
        wait_until(lambda: "m1" not in f.joined(), "we have left", LEFT_S)
        before = f.counted()["leaf2"]["tx_packets"]
        wire = f.h0.raw("eth0")
        wire.send(once)
        wire.close()
        wait_until(lambda: f.counted()["leaf2"]["tx_packets"] > before, "flooded to the endpoint itself")
        f.running.stop()


def test_behind_a_switch_over_ipv4():
    behind_a_switch(4)


def test_behind_a_switch_over_ipv6():
    behind_a_switch(6)


def test_older_switches():
    """Version 2 queriers get version 2 reports: the switch keeps us as a member, and removes us at once when we leave."""
    with Lab() as lab:
        f = GroupFabric(lab, 4, versions="mcast_igmp_version 2")
        wait_until(lambda: "m1" in f.joined(), lambda: f"the switch has learned our membership: {f.joined()}")

        def wait():
            time.sleep(FORGOTTEN_S + 1)
            wait_until(lambda: "m1" in f.joined(), "members that report are learned")
            f.operator.result("change", do=[{"del": {"member": {"bridge": "lan", "port": "all"}}},
                                            {"del": {"tunnel": {"name": "all"}}}])
            wait_until(lambda: "m1" not in f.joined(), "we have left", LEFT_S)
            time.sleep(0.2)  # until tcpdump has written it
        said = reread(capture(f, wait, f.switch, "m1"), f, "igmp", "igmp.type")
        assert {s[4] for s in said} >= {"0x16", "0x17"}, said
        f.running.stop()


def test_beside_the_kernel_s_own():
    """A kernel that has the underlay's interface, too, and has joined another group there: the switch learns both."""
    with Lab() as lab:
        box = lab.host("box")
        device = {"descriptors": 512}
        f = GroupFabric(lab, 4, control_plane={"netlink": True, "namespace": box.ns}, ports=[
            {"name": "p0", "device": "net_af_packet0,iface=p0", **device},
            {"name": "up", "device": "net_af_packet1,iface=u0", **device, "mtu": 1600, "addresses": ["10.0.9.1/24"],
             "host_interface": True}])
        wait_until(lambda: "10.0.9.1" in box.run("ip -4 addr show").stdout, "the kernel has the interface")
        theirs = "239.9.9.9"
        with box.inside():
            member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                          socket.inet_aton(theirs) + socket.inet_aton("10.0.9.1"))
        both = {GROUP[4], theirs}

        def known():
            return {g for g in both if "m1" in f.joined(g)}
        wait_until(lambda: known() == both, lambda: f"the switch has learned both groups: {known()}")
        time.sleep(FORGOTTEN_S + 1)
        wait_until(lambda: known() == both, lambda: f"both answer: {known()}")
        ping(f.leaves[2], "10.1.0.1")
        member.close()
        wait_until(lambda: known() == {GROUP[4]}, "the kernel has left its group", LEFT_S)
        time.sleep(2)
        wait_until(lambda: known() == {GROUP[4]}, "we have not")
        # The kernel's addresses are also turnpike's: a tunnel to one of them leads back to turnpike.
        refused = lambda: f.operator.show("drops")["drops"].get("tunnel_to_self", 0)  # noqa: E731
        assert refused() == 0
        box.run("ip addr add 10.0.9.2/24 dev up")
        wait_until(lambda: ping(f.h0, "10.1.0.2", "-W 0.1", check=False, count=1) and refused() > 0, "its packets go nowhere")
        box.run("ip addr del 10.0.9.2/24 dev up")
        wait_until(lambda: ping(f.h0, "10.1.0.2", "-W 0.2", check=False, count=1).returncode == 0, "they go out again")
        f.running.stop()


if __name__ == "__main__":
    tap.main(globals())
