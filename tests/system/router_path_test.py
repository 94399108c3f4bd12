#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Path discovery by hosts through turnpikes: hops and MTU."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, answers, cabled, set_addresses, iperf, ping, settle, start  # noqa: E402


def test_path_mtu():
    """East's link has an MTU of 1300, unknown to west (and to east, which would announce it by TCP MSS)."""
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut, mtu=(1500, 1300))
        for address, options, said in (
                (EAST[0], "-M do -s 1472", "From 10.0.1.1 icmp_seq=1 Frag needed and DF set (mtu = 1300)"),
                (EAST[1], "-M do -s 1452", "From 2001:db8:1::1 icmp_seq=1 Packet too big: mtu=1300")):
            out = ping(west, address, options, check=False, count=1, wait=1).stdout
            assert said in out, out
            assert "mtu 1300" in west.run(f"ip route get {address}").stdout
        ping(west, EAST[0], "-M do -s 1272")
        ping(west, EAST[1], "-M do -s 1252")
        for family in ("-4", "-6"):
            west.run(f"ip {family} route flush cache")
        for address in EAST:
            assert iperf(lab, west, east, address)["sum_received"]["bytes"] > 1_000_000
            assert "mtu 1300" in west.run(f"ip route get {address}").stdout
        # Packets that may be fragmented: by us on the way there, by east on the way back.
        west.run("ip route flush cache")
        east.run("ip link set eth0 mtu 1300")
        for size in (1273, 1400):
            ping(west, EAST[0], f"-M dont -s {size}", count=2)
        drops = running.stop()["drops"]
        assert drops["ipv4_too_big"] >= 2 and drops["ipv6_too_big"] >= 2, drops
        assert not {"ipv4_needs_fragmenting", "fragment_memory"} & set(drops), drops


NETWORKS = (1, 12, 23, 3)  # numbers of the networks along the path


def three_in_a_row(lab):
    """west -1- a -12- b -23- c -3- east; returns the hosts and the running turnpikes."""
    west, east = lab.host("west"), lab.host("east")
    duts = [lab.host(name, True) for name in "abc"]
    ends = [(west, "eth0"), *((dut, side) for dut in duts for side in ("w0", "e0")), (east, "eth0")]
    for left, right in zip(ends[::2], ends[1::2]):
        lab.cable(*left, *right)
    set_addresses(west, 1)
    set_addresses(east, 3)
    running = []
    for n, dut in enumerate(duts):
        left, right = NETWORKS[n], NETWORKS[n + 1]
        # On a link between two turnpikes the left one has address 1 and the right one address 2.
        own_left, own_right = (1 if n == 0 else 2), 1
        devices = {"west": ("net_af_packet0,iface=w0",
                            [f"10.0.{left}.{own_left}/24", f"2001:db8:{left}::{own_left}/64"]),
                   "east": ("net_af_packet1,iface=e0", [f"10.0.{right}.{own_right}/24",
                                                        f"2001:db8:{right}::{own_right}/64"])}
        routes = []
        for k, network in enumerate(NETWORKS):
            if k < n or k > n + 1:
                via = f"{left}.1 {left}::1" if k < n else f"{right}.2 {right}::2"
                via4, via6 = via.split()
                routes += [{"to": f"10.0.{network}.0/24", "via": f"10.0.{via4}"},
                           {"to": f"2001:db8:{network}::/64", "via": f"2001:db8:{via6}"}]
        running.append(Turnpike(lab, dut, router_config(devices, routes, eal=f"-l {n % 2} --no-pci --in-memory",
                                                        mempool={"buffers": 4096})))
    return west, east, running


HOPS = (["10.0.1.1", "10.0.12.2", "10.0.23.2", "10.0.3.2"],
        ["2001:db8:1::1", "2001:db8:12::2", "2001:db8:23::2", "2001:db8:3::2"])


def test_traceroute_and_mtr_over_three():
    with Lab() as lab:
        west, east, running = three_in_a_row(lab)
        for hops in HOPS:
            # Three neighbours must be resolved on the way, by three programs on two CPUs.
            wait_until(lambda h=hops: answers(west, h[-1]), f"{hops[-1]} answers", 20)
            for options in ("", "-I", "-T -p 9"):
                out = west.run(f"traceroute -n -q 1 -w 5 -m 8 -N 1 {options} {hops[-1]}").stdout
                found = [line.split()[1] for line in out.splitlines()[1:]]
                assert found == hops, out
            out = west.run(f"mtr -n -r -c 3 -i 0.3 -G 1 {hops[-1]}").stdout
            found = [line.split() for line in out.splitlines() if "|--" in line]
            assert [f[1] for f in found] == hops and {f[2] for f in found} == {"0.0%"}, out
            ping(west, hops[-1])
            ping(east, hops[0])
            assert f"ttl={64 - 3}" in ping(west, hops[-1], count=1).stdout
        settle()
        reports = [t.stop() for t in running]
        for report in reports:
            assert report["drops"]["ipv4_ttl"] >= 6 and report["drops"]["ipv6_hop_limit"] >= 6, report["drops"]


def test_a_loop_ends():
    """Two turnpikes that route a network to each other: the TTL expires, and the source gets an ICMP error."""
    with Lab() as lab:
        west, left, right = lab.host("west"), lab.host("left", True), lab.host("right", True)
        lab.cable(west, "eth0", left, "w0")
        lab.cable(left, "e0", right, "w0")
        set_addresses(west, 1)
        eal = "-l {} --no-pci --in-memory"
        small = {"buffers": 4096}
        first = Turnpike(lab, left, router_config(
            {"west": ("net_af_packet0,iface=w0", ["10.0.1.1/24"]),
             "east": ("net_af_packet1,iface=e0", ["10.0.12.1/24"])},
            [{"to": "10.9.0.0/16", "via": "10.0.12.2"}], eal=eal.format(0), mempool=small))
        second = Turnpike(lab, right, router_config(
            {"west": ("net_af_packet0,iface=w0", ["10.0.12.2/24"])},
            [{"to": "10.9.0.0/16", "via": "10.0.12.1"}, {"to": "10.0.1.0/24", "via": "10.0.12.1"}],
            eal=eal.format(1), mempool=small))
        wait_until(lambda: "Time to live exceeded" in ping(west, "10.9.0.1", check=False, count=1, wait=2).stdout,
                   "the sender is told", 20)
        dropped = [t.stop()["drops"].get("ipv4_ttl", 0) for t in (first, second)]
        assert sum(dropped) >= 1, dropped


if __name__ == "__main__":
    tap.main(globals())
