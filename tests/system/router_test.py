#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A router between two kernels, which reach each other and all of its addresses."""
import os
import re
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.flows import lost_datagrams  # noqa: E402
from lib.frames import mac, v4, v6  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import (EAST, FLOWS, OUR_ADDRESSES, OURS, TCP, WEST, answers, cabled, set_addresses, iperf,  # noqa: E402
                        link_local, ping, received, settle, start)
from lib.dut import Turnpike, router_config  # noqa: E402


def test_ping_everywhere():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut)
        for host, other in ((west, EAST), (east, WEST)):
            for address in (*other, *OUR_ADDRESSES):
                ping(host, address)
        for host, interface in ((west, "w0"), (east, "e0")):
            own = socket.inet_ntop(socket.AF_INET6, link_local(dut.mac(interface)))
            ping(host, own + "%eth0")
            for group in ("ff02::1", "ff02::2"):
                said = ping(host, group + "%eth0").stdout  # it also answers itself
                assert f"from {own}" in said, said
        ping(west, EAST[0], "-s 1472 -M do")
        ping(west, EAST[1], "-s 1452 -M do")
        report = running.stop()
        assert {s["name"] for s in report["workers"][0]["stages"]} >= {"rx", "iface_input", "ip_input"}
        assert report["neighbours"] and report["routes"], (report["neighbours"], report["routes"])
        lost = {reason for reason, n in report["drops"].items() if n}
        assert not lost & {"no_route", "neighbour_failed", "dst_mac_not_ours", "port_down"}, lost


def test_iperf():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut)
        for address in EAST:
            assert iperf(lab, west, east, address)["sum_received"]["bytes"] > 1_000_000
            assert iperf(lab, west, east, address, TCP + " -R")["sum_received"]["bytes"] > 1_000_000
            lost = lost_datagrams(west, east, address)
            assert not lost, f"to {address}: {len(lost)} from number {lost[0]} on"
        assert running.stop()["balance"]["tx"] > 5000


def test_two_workers():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut, eal="--lcores 0@0,1@0,2@1 --no-pci --in-memory", workers=[1, 2], queues=2)
        for host, other in ((west, EAST), (east, WEST)):
            for address in (*other, *OUR_ADDRESSES):
                ping(host, address)
        for address in EAST:
            assert iperf(lab, west, east, address, FLOWS)["sum_received"]["bytes"] > 1_000_000
        report = running.stop()
        assert [w["lcore"] for w in report["workers"]] == [1, 2]
        assert all(w["packets"] > 100 for w in report["workers"]), report["workers"]


def test_one_lcore():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        running = start(lab, dut, eal="-l 0 --no-pci --in-memory")
        for address in (*EAST, *OUR_ADDRESSES):
            ping(west, address)
        running.stop()


def test_announces_itself():
    with Lab() as lab:
        west, dut, _east = cabled(lab, kernels=False)
        listener = west.raw("eth0")
        running = start(lab, dut)
        own = mac(dut.mac("w0"))
        wanted = {v4("10.0.1.1"), v6("2001:db8:1::1"), link_local(dut.mac("w0"))}
        end = time.monotonic() + 5
        while wanted and time.monotonic() < end:
            frame = receive_frame(listener, 0.5)
            if frame is None or frame[6:12] != own:
                continue
            if frame[12:14] == b"\x08\x06" and frame[28:32] == frame[38:42] and frame[22:28] == own:
                wanted.discard(frame[28:32])
            elif frame[12:14] == b"\x86\xdd" and frame[54] == 136 and frame[80:86] == own:
                assert frame[:6] == b"\x33\x33\0\0\0\1" and frame[21] == 255, frame.hex()
                wanted.discard(frame[62:78])
        assert not wanted, f"never announced: {wanted}"
        report = running.stop()
        # Per port at least an ARP announcement, two advertisements and two probes, and a membership report.
        assert report["balance"]["originated"] == report["balance"]["tx"] >= 12, report["balance"]


def test_blackhole_and_unreachable():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        routes = [{"to": "192.0.2.0/24", "type": "blackhole"}, {"to": "2001:db8:b::/48", "type": "blackhole"},
                  {"to": "198.51.100.0/24", "type": "unreachable"},
                  {"to": "2001:db8:c::/48", "type": "unreachable"}]
        running = start(lab, dut, routes)
        for address, said in (("192.0.2.1", "100% packet loss"), ("2001:db8:b::1", "100% packet loss"),
                              ("198.51.100.1", "From 10.0.1.1 icmp_seq=1 Destination Host Unreachable"),
                              ("2001:db8:c::1", "From 2001:db8:1::1 icmp_seq=1 Destination unreachable: Address"),
                              ("203.0.113.1", "From 10.0.1.1 icmp_seq=1 Destination Net Unreachable"),
                              ("2001:db9::1", "From 2001:db8:1::1 icmp_seq=1 Destination unreachable: No route")):
            out = ping(west, address, check=False, wait=0.5).stdout
            assert said in out, out
            assert ("From" in said) == ("From" in out), out
        drops = running.stop()["drops"]
        assert (drops["route_blackhole"], drops["route_unreachable"], drops["no_route"]) == (6, 6, 6), drops


def test_routes_by_gateways():
    """Networks behind both hosts; the IPv6 ones by link-local next hops."""
    with Lab() as lab:
        west, dut, east = cabled(lab)
        for host, address in ((west, "10.8.0.1/32"), (west, "2001:db8:8::1/128"), (east, "10.9.0.1/32"),
                              (east, "2001:db8:9::1/128")):
            host.run(f"ip addr add {address} dev lo")
        for host, own in ((west, "fe80::1:2"), (east, "fe80::2:2")):
            host.run(f"ip addr add {own}/64 dev eth0 nodad")
        running = start(lab, dut, [{"to": "10.8.0.0/16", "via": "10.0.1.2"}, {"to": "10.9.0.0/16", "via": "10.0.2.2"},
                                   {"to": "2001:db8:8::/48", "via": "fe80::1:2", "port": "west"},
                                   {"to": "2001:db8:9::/48", "via": "fe80::2:2", "port": "east"}])
        ping(west, "10.9.0.1", "-I 10.8.0.1")
        ping(west, "2001:db8:9::1", "-I 2001:db8:8::1")
        ping(east, "10.8.0.1", "-I 10.9.0.1")
        running.stop()


def test_echo_rate():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        running = start(lab, dut, icmp={"rate": 20})
        out = west.run("ping -q -c 150 -i 0.002 -W 0.3 10.0.1.1", check=False).stdout
        report = running.stop()
        answered, ms = (int(n) for n in re.search(r"(\d+) received.* time (\d+)ms", out).groups())
        assert 2 <= answered <= 3 + 20 * (ms / 1000 + 1), out  # a burst, and the configured rate
        assert report["drops"]["icmp_rate"] == 150 - answered, (out, report["drops"])


def test_sigterm_under_load():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut)
        ping(west, EAST[0], count=1)
        server = east.start("iperf3 -s -p 5201", stdout=-3, stderr=-3)
        wait_until(lambda: ":5201" in east.run("ss -ltn").stdout, "iperf3 listens")
        client = west.start(f"iperf3 -c {EAST[0]} -u -b 0 -l 100 -t 20", stdout=-3, stderr=-3)
        wait_until(lambda: received(east) > 10_000, "it forwards")
        report = running.stop()
        assert report["balance"]["rx"] > 10_000, report["balance"]
        lab.end(client)
        lab.end(server)


def test_port_flap():
    """Over a tap: other software drivers always report link up."""
    with Lab() as lab:
        west, dut = lab.host("west"), lab.host("dut", True)
        lab.cable(west, "eth0", dut, "w0")
        set_addresses(west, 1)
        running = Turnpike(lab, dut, router_config({"west": ("net_af_packet0,iface=w0", OURS["west"]),
                                                    "east": ("net_tap0,iface=tap0", OURS["east"])},
                                                   neighbours={"retransmit_ms": 100, "negative_ms": 200}))
        # The kernel's end of the tap is the east host.
        dut.run("sysctl -qw net.ipv6.conf.tap0.disable_ipv6=0")
        dut.run("ip link set tap0 up")
        set_addresses(dut, 2, interface="tap0")
        for _ in range(3):
            wait_until(lambda: all(answers(west, a) for a in EAST), "the hosts reach each other")
            said = running.output().count("'east': link down")
            dut.run("ip link set tap0 down")
            wait_until(lambda: running.output().count("'east': link down") > said, "it sees the link go down")
            assert not answers(west, EAST[0])
            ping(west, "10.0.2.1")  # its address stays
            dut.run("ip link set tap0 up")
            dut.run("ip addr add 2001:db8:2::2/64 dev tap0 nodad", check=False)  # removed at link down
            dut.run("ip route replace default via 10.0.2.1")
            dut.run("ip -6 route replace default via 2001:db8:2::1")
        wait_until(lambda: all(answers(west, a) for a in EAST), "the hosts reach each other again")
        settle()
        report = running.stop()
        assert report["drops"]["port_down"] >= 3, report["drops"]


if __name__ == "__main__":
    tap.main(globals())
