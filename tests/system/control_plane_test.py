#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The host stack in the kernel: its interfaces, links, addresses and routes, and its packets."""
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD, Turnpike, router_config  # noqa: E402
from lib.frames import HOP_BY_HOP, IPV4, IPV6, UDP, checksum, ethernet, ipv4, ipv6, mac, udp, v4  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, OURS, WEST, answers, cabled, set_addresses, ping, rewrite  # noqa: E402


CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")


def begin(lab, namespace=None, wait=True, device="net_af_packet{},iface={}", **more):
    west, dut, east = cabled(lab)
    box = lab.host("box")
    devices = {name: ({"device": device.format(n, interface), "descriptors": 512, "host_interface": True}, OURS[name])
               for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))}
    running = Turnpike(lab, dut, router_config(
        devices, control_plane={"netlink": True, "namespace": namespace or box.ns, **more}), wait=wait)
    if wait:
        wait_until(lambda: "10.0.2.1/24" in box.run("ip addr show east").stdout, "the kernel has all", 5)
    return west, dut, east, box, running


def learned(operator, vrf="main"):
    return {r["to"]: r for r in operator.show("routes", vrf=vrf, most=1024)["routes"] if r["origin"] == "learned"}


class Links:
    """Link changes of a host: (time, name, carrier)."""

    def __init__(self, host):
        with host.inside():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, 1))  # RTMGRP_LINK

    def wait(self, name, carrier, seconds=5):
        end = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.socket], [], [], max(0, end - time.monotonic()))
            assert ready, f"{name} never had carrier {carrier}"
            at, data = time.monotonic(), self.socket.recv(65536)
            attributes, here = {}, 32
            while here + 4 <= len(data):
                length, kind = struct.unpack_from("=HH", data, here)
                attributes[kind] = data[here + 4:here + length]
                here += max(4, (length + 3) // 4 * 4)
            if attributes[3].rstrip(b"\0").decode() == name and attributes.get(33, b"\2")[0] == carrier:
                return at


def test_interfaces_and_what_is_for_the_kernel():
    with Lab() as lab:
        # net_af_packet's kernel would reassemble the fragments before turnpike receives them.
        west, dut, _east, box, running = begin(lab, device="net_xsk{},iface={}")
        assert box.mac("west") == dut.mac("w0") and box.mac("east") == dut.mac("e0")
        # Removed from the kernel and added again: turnpike handles its own packets, the kernel the rest.
        for address in (*WEST, *EAST):
            ping(box, address, count=2)
        listening = box.start("iperf3 -s -1 -p 5201", stdout=-3, stderr=-3)
        wait_until(lambda: ":5201" in box.run("ss -ltn").stdout, "iperf3 listens")
        west.run("iperf3 -c 10.0.1.1 -n 200K", timeout=30)
        lab.end(listening)
        refused = subprocess.run(west.command("python3 -c 'import socket; socket.create_connection((\"10.0.1.1\", 9))'"),
                                 capture_output=True, text=True, check=False)
        assert "ConnectionRefusedError" in refused.stderr, refused.stderr
        # A long ICMP echo to the kernel's other side, which reassembles the fragments.
        ping(box, WEST[0], "-s 4000", count=2)
        operator = Operator("/run/turnpike/control.sock")
        shown = {i["name"]: i for i in operator.show("control-plane")["interfaces"]}
        assert shown["west"]["given"] > 50 and shown["west"]["taken"] > 50 and shown["west"]["carrier"], shown
        # With the TAP down, the kernel receives nothing.
        assert "refused" not in rewrite(running, lambda config: config["control_plane"].update(follow_admin_status=False))
        box.run("ip link set west down")
        west.run("ping -n -c 1 -W 0.2 10.0.1.1")  # turnpike's own reply
        west.run("bash -c 'echo x >/dev/udp/10.0.1.1/9'", check=False)
        wait_until(lambda: operator.show("drops")["drops"].get("host_if_refused"), "it is counted")
        report = running.stop()
        assert report["drops"]["host_if_refused"] > 0


def test_links():
    with Lab() as lab:
        _west, dut, _east, box, running = begin(lab, device="net_xsk{},iface={}")
        below, above = Links(dut), Links(box)
        slowest = 0
        wait_until(lambda: "LOWER_UP" in box.run("ip link show west").stdout, "it is up")
        for n in range(10):  # each change arrives, in order; the speed depends on the machine
            dut.run(f"ip link set w0 {'down' if n % 2 == 0 else 'up'}")
            went = below.wait("w0", n % 2)
            slowest = max(slowest, above.wait("west", n % 2) - went)
            assert ("LOWER_UP" in box.run("ip link show west").stdout) == bool(n % 2), n
        print(f"# carrier follows within {slowest * 1000:.1f} ms")
        running.stop()


def test_addresses_and_mtu():
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        own = lambda: {i["name"]: i["addresses"] for i in operator.show("interfaces")["interfaces"]}  # noqa: E731
        # Addresses of the kernel appear at once, and not in the file.
        box.run("ip addr add 10.0.7.1/24 dev west")
        box.run("ip addr add 10.255.0.1/32 dev lo")
        wait_until(lambda: "10.0.7.1/24" in own()["west"], "an address is followed")
        west.run("ip addr add 10.0.7.2/24 dev eth0")
        ping(west, "10.0.7.1")
        ping(west, "10.255.0.1")
        assert "10.0.7.1" not in operator.result("configuration")["text"]
        box.run("ip addr add 10.0.2.9/24 dev west")  # east's network
        box.run("ip addr del 10.0.7.1/24 dev west")
        wait_until(lambda: own()["west"] == OURS["west"], "it goes again")
        box.run("ip addr del 10.0.2.9/24 dev west")
        assert not answers(west, "10.0.7.1")
        # The kernel's MTU is for its own packets (doc/linux-differences.md), until the operator's changes.
        box.run("ip link set west mtu 1300")
        for address in ("10.0.2.2", "10.0.1.1"):
            ping(west, address, "-M do -s 1472", count=1)
        assert [i["mtu"] for i in operator.show("interfaces")["interfaces"]] == [1500, 1500]
        too_long = box.run("ping -n -c 1 -W 1 -M do -s 1472 10.0.1.2", check=False)
        assert "message too long" in too_long.stdout + too_long.stderr, too_long
        # Addresses of the operator appear in the kernel, too.
        def change(config):
            config["ports"][0].update(mtu=1400, addresses=["10.0.1.1/24", "10.0.8.1/24"])
        assert "refused" not in rewrite(running, change)
        there = box.run("ip addr show west").stdout
        assert "mtu 1400" in there and "10.0.8.1/24" in there and "2001:db8:1::1" not in there, there
        # An address is deleted in the kernel.
        def without(config):
            config["ports"][1]["host_interface"] = False
        assert "refused" not in rewrite(running, without)
        assert "east" not in box.run("ip -br link").stdout
        ping(west, WEST[0].replace(".2", ".1"))
        running.stop()


def test_frames_of_a_jumbo_mtu_from_the_kernel():
    """They are longer than a buffer of the pool: TCP sends segments of 8,960 bytes."""
    with Lab() as lab:
        west, dut, box = lab.host("west"), lab.host("dut", True), lab.host("box")
        lab.cable(west, "eth0", dut, "w0", mtu=9000)
        set_addresses(west, 1)
        running = Turnpike(lab, dut, router_config(
            {"west": ({"device": "net_xsk0,iface=w0", "mtu": 9000, "host_interface": True}, OURS["west"])},
            control_plane={"netlink": True, "namespace": box.ns}))
        wait_until(lambda: "10.0.1.1/24" in box.run("ip addr show west").stdout, "the kernel has it", 5)
        for bytes_ in (1900, 2100, 8972):
            ping(box, WEST[0], f"-M do -s {bytes_}", count=2)
        # Two million bytes to their end: a client's iperf3 is over when it has written, not when its server has read.
        receiver = west.start("""python3 -c "import socket
l = socket.create_server(('10.0.1.2', 5201))
print('listens', flush=True)
c = l.accept()[0]
c.settimeout(20)
print(sum(len(b) for b in iter(lambda: c.recv(65536), b'')))" """, stdout=subprocess.PIPE, text=True)
        assert receiver.stdout.readline() == "listens\n"
        box.run("""python3 -c "import socket
socket.create_connection(('10.0.1.2', 5201), 20).sendall(bytes(2000000))" """, timeout=30)
        assert receiver.communicate(timeout=30)[0] == "2000000\n"
        shown = Operator("/run/turnpike/control.sock").show("control-plane")["interfaces"][0]
        assert shown["not_taken"] == 0 and shown["taken"] > 100, shown
        running.stop()


def test_a_lost_interface_is_made_again():
    """Deleted, renamed, moved, or lost with its namespace; daemons then find it as at the start."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        other = lab.host("other", True)
        whole = lambda: all(a in box.run("ip addr show west", check=False).stdout for a in (*OURS["west"], "LOWER_UP"))  # noqa: E731

        def is_back(times):
            wait_until(whole, "it is back", 5)
            wait_until(lambda: west.run("ping -n -c 1 -W 0.2 10.0.1.1", check=False).returncode == 0, "it answers", 5)
            assert running.output().count("and is made again") == times, running.output()

        wait_until(whole, "the kernel has it", 5)
        for times, loss in enumerate(("link del west", "link set west down name w9", f"link set west netns {other.ns}"), 1):
            box.run("ip " + loss)
            is_back(times)
            assert "w9" not in box.run("ip -br link").stdout
        assert "west" not in other.run("ip -br link").stdout, "the old one is gone"
        # TCP arrives in the new interface.
        listening = box.start("iperf3 -s -1 -p 5201", stdout=-3, stderr=-3)
        wait_until(lambda: ":5201" in box.run("ss -ltn").stdout, "iperf3 listens")
        west.run("iperf3 -c 10.0.1.1 -n 200K", timeout=30)
        lab.end(listening)
        subprocess.run(["ip", "netns", "del", box.ns], check=True)
        subprocess.run(["ip", "netns", "add", box.ns], check=True)
        is_back(5)
        assert running.output().count("the network namespace was made again") == 1, running.output()
        operator = Operator("/run/turnpike/control.sock")
        box.run("ip route add 10.8.0.0/16 via 10.0.1.2")
        wait_until(lambda: "10.8.0.0/16" in learned(operator), "the new namespace's routes are followed", 5)
        assert running.output().count("and is made again") == 5, running.output()
        running.stop()


def test_an_interface_that_is_down_for_a_moment_keeps_its_addresses():
    with Lab() as lab:
        _west, _dut, _east, box, running = begin(lab)
        box.run("ip link set west down")
        box.run("ip link set west up")
        there = box.run("ip addr show west").stdout
        assert all(a in there for a in OURS["west"]), there
        running.stop()


def test_an_interface_that_is_set_down_forwards_nothing():
    """As in Linux: `ip link set down`, or a daemon's `shutdown`; its addresses, networks and routes go until it is up."""
    with Lab() as lab:
        west, _dut, east, box, running = begin(lab)
        west.run("ip addr add 10.9.0.1/32 dev lo")
        west.run("ip addr add 10.10.0.1/32 dev lo")

        def add(config):
            config["interfaces"] = [{"port": "west", "vlan": 10, "addresses": ["10.0.10.1/24"], "host_interface": True}]
            config["routes"] = [{"to": "10.9.0.0/16", "via": "10.0.1.2"}, {"to": "10.10.0.0/16", "via": ["10.0.1.2", "10.0.2.2"]},
                                {"to": "10.0.0.0/8", "via": "10.0.2.2"}]

        assert "refused" not in rewrite(running, add)
        operator = Operator("/run/turnpike/control.sock")
        states = lambda: {i["name"]: i["admin_up"] for i in operator.show("interfaces")["interfaces"]}  # noqa: E731
        via = lambda: {r["to"]: r.get("via") or sorted(m["via"] for m in r["members"])  # noqa: E731
                       for r in operator.show("routes", most=100)["routes"] if r["origin"] == "configured"}
        carrier = lambda: "LOWER_UP" in box.run("ip link show west.10").stdout  # noqa: E731
        wait_until(carrier, "the VLAN interface has its carrier")
        routes = via()
        assert len(routes) == 3, routes
        ping(east, "10.9.0.1")
        box.run("ip link set west down")
        wait_until(lambda: states() == {"west": False, "west.10": False, "east": True}, "it is followed")
        assert "is set down: the interface forwards nothing" in running.output()
        wait_until(lambda: not carrier(), "daemons see it at the VLAN interface")
        for address in ("10.0.1.1", "10.0.2.2", "2001:db8:2::2"):
            assert not answers(west, address), address
        for address in ("10.0.1.1", "10.0.1.2", "10.0.10.1"):  # by 10.0.0.0/8, to east itself
            assert not answers(east, address), address
        assert operator.show("drops")["ports"]["west"]["interface_down"] > 0
        assert via() == {"10.10.0.0/16": "10.0.2.2", "10.0.0.0/8": "10.0.2.2"}, via()
        shown = {i["name"]: i["admin_up"] for i in operator.show("control-plane")["interfaces"]}
        assert shown == {"west": False, "west.10": True, "east": True}, shown
        # Settings of the operator do not set it up, and are kept.
        assert "refused" not in rewrite(running, lambda config: config["ports"][0].update(mtu=1400))
        wait_until(lambda: "mtu 1400" in box.run("ip link show west").stdout, "the MTU is set")
        assert states()["west"] is False and not re.search(r"[<,]UP[,>]", box.run("ip link show west").stdout)
        assert "10.0.1.1/24" in operator.result("configuration")["text"]
        box.run("ip link set west up")
        wait_until(lambda: all(states().values()), "it is followed")
        wait_until(carrier, "daemons see it at the VLAN interface")
        assert "west: the kernel's interface is set up again" in running.output()
        for address in ("10.0.1.1", "10.0.2.2", "2001:db8:2::2"):
            wait_until(lambda a=address: answers(west, a), f"{address} answers")
        ping(east, "10.9.0.1")
        assert via() == routes, via()
        # By choice, the kernel's interface alone is down.
        assert "refused" not in rewrite(running, lambda config: config["control_plane"].update(follow_admin_status=False))
        box.run("ip link set west down")
        wait_until(lambda: "the interface forwards on" in running.output(), "it is logged")
        assert all(states().values()), states()
        ping(west, "10.0.2.2")
        ping(west, "10.0.1.1")
        # The choice itself is a change.
        assert "refused" not in rewrite(running, lambda config: config["control_plane"].update(follow_admin_status=True))
        wait_until(lambda: not answers(west, "10.0.2.2"), "it forwards nothing")
        running.stop()


def test_an_address_that_is_given_again_stays():
    """The change that follows its removal does not remove it from the kernel."""
    with Lab() as lab:
        _west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        own = lambda: {i["name"]: i["addresses"] for i in operator.show("interfaces")["interfaces"]}["west"]  # noqa: E731
        for n in range(40):
            box.run("ip addr add 10.0.9.1/24 dev west")
            wait_until(lambda: "10.0.9.1/24" in own(), "it is followed")
            box.run("ip addr del 10.0.9.1/24 dev west")
            time.sleep(n % 8 / 1000)
            box.run("ip addr add 10.0.9.1/24 dev west")
            time.sleep(0.02)
            assert "10.0.9.1/24" in box.run("ip addr show west").stdout, n
            wait_until(lambda: "10.0.9.1/24" in own(), "it is followed again")
            box.run("ip addr del 10.0.9.1/24 dev west")
            wait_until(lambda: "10.0.9.1/24" not in own(), "it is gone")
        running.stop()


def test_the_kernel_finds_a_duplicate_address_too():
    """Another node has the address that the kernel's interface gets: its advertisement ends the kernel's own detection."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        west.run("ip addr add 2001:db8:1::77/64 dev eth0 nodad")
        box.run("sysctl -qw net.ipv6.conf.west.accept_dad=1")
        box.run("ip addr add 2001:db8:1::77/64 dev west")
        wait_until(lambda: "dadfailed" in box.run("ip -6 addr show dev west").stdout, "a duplicate", 5)
        running.stop()


def test_the_kernel_answers_pings_with_options():
    with Lab() as lab:
        west, _dut, _east, _box, running = begin(lab)
        said = west.run(f"ping -c 1 -W 5 -R {OURS['west'][0].split('/')[0]}").stdout
        assert "RR:" in said and " 0% packet loss" in said, said
        running.stop()


def heard(listening, want, seconds=5):
    """Whether a socket receives the bytes within the time."""
    end = time.monotonic() + seconds
    while select.select([listening], [], [], max(0, end - time.monotonic()))[0]:
        if want in listening.recv(65536):
            return True
    return False


def test_broadcasts_and_frames_that_are_no_ip():
    """DHCP, directed broadcasts, IS-IS and LLDP reach the kernel; an echo request to many is not answered."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        out = west.raw("eth0")
        here, everybody = mac(west.mac("eth0")), b"\xff" * 6
        with box.inside():
            dhcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        dhcp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"west\0")
        dhcp.bind(("", 67))
        frames.bind(("west", 3))
        for source, to in (("0.0.0.0", "255.255.255.255"), ("10.0.1.2", "10.0.1.255")):
            out.send(ethernet(everybody, here, IPV4, ipv4(source, to, udp(to.encode(), 68, 67))))
            assert heard(dhcp, to.encode()), to
        for to, kind, payload in (("01:80:c2:00:00:14", 20, b"\xfe\xfe\x03\x83 is-is of level 1"),
                                  ("01:80:c2:00:00:0e", 0x88CC, b"\x02\x07\x04 lldp")):
            out.send(ethernet(mac(to), here, kind, payload).ljust(60, b"\0"))
            assert heard(frames, payload), to
        # Not so a frame of another protocol, and one to another group.
        for to, kind in (("01:80:c2:00:00:0e", 0x88B5), ("01:00:5e:01:02:03", 0x88CC)):
            out.send(ethernet(mac(to), here, kind, b"other" * 10))
        assert not heard(frames, b"other", 0.5)
        done = west.run("ping -b -n -c 2 -i 0.1 -W 0.3 10.0.1.255", check=False)
        assert " 0 received" in done.stdout, done.stdout
        assert running.stop()["drops"]["ether_type_unknown"] == 2


def igmp_query(source, group):
    """An IGMPv2 query: a group-specific one, or a general one to 224.0.0.1 (RFC 2236 section 2)."""
    of = bytes(4) if group == "224.0.0.1" else v4(group)
    igmp = b"\x11\x64\x00\x00" + of
    return ipv4(source, group, igmp[:2] + struct.pack("!H", checksum(igmp)) + of, protocol=2, ttl=1, options=b"\x94\x04\x00\x00")


def test_frames_that_the_operator_names():
    """Frames reach the kernel if host_pass names their group or EtherType, and only then; a flood of such frames does not
    stop pings to the router."""
    groups = {"239.1.1.1": "01:00:5e:01:01:01", "ff0e::181": "33:33:00:00:01:81"}
    ptp = "01:1b:19:00:00:00"
    with Lab() as lab:
        west, dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        wait_until(lambda: answers(west, "10.0.1.1"), "the router answers")
        out, here, ours = west.raw("eth0"), mac(west.mac("eth0")), mac(dut.mac("w0"))
        with box.inside():
            frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        frames.bind(("west", 3))

        def ip(to, payload):
            if ":" in to:
                return ethernet(mac(groups.get(to, "33:33:00:00:00:99")), here, IPV6,
                                ipv6("2001:db8:1::2", to, udp(payload, 5, 6)))
            return ethernet(mac(groups.get(to, "01:00:5e:01:01:02")), here, IPV4, ipv4("10.0.1.2", to, udp(payload, 5, 6)))
        named = {b"ptp": ethernet(mac(ptp), here, 0x88F7, b"ptp" * 20), b"pppoe": ethernet(ours, here, 0x8863, b"pppoe" * 10),
                 b"padi": ethernet(b"\xff" * 6, here, 0x8863, b"padi" * 12),
                 **{to.encode(): ip(to, to.encode()) for to in groups}}
        others = {b"gptp": ethernet(mac("01:80:c2:00:00:10"), here, 0x88F7, b"gptp" * 15),
                  b"session": ethernet(ours, here, 0x8864, b"session" * 8),
                  **{to.encode(): ip(to, to.encode()) for to in ("239.1.1.2", "ff0e::999")}}

        def reach():
            got = set()
            for payload, frame in (*named.items(), *others.items()):
                out.send(frame)
                if heard(frames, payload, 0.5):
                    got.add(payload)
            return got
        assert reach() == set()

        def choose(config):
            config["ports"][0]["host_pass"] = [*groups, ptp, "0x8863"]
            config["punt_rate"] = {"other": 100}
        assert "refused" not in rewrite(running, choose)
        assert reach() == set(named)
        # Without a multicast router, switches query from no address (RFC 4541 section 2.1.1).
        for group, source, comes in (("224.0.0.1", "0.0.0.0", True), ("239.1.1.1", "0.0.0.0", True), ("239.1.1.2", "0.0.0.0", False),
                                     ("224.0.0.1", "127.0.0.1", False), ("239.1.1.1", "10.0.1.1", False)):
            query = igmp_query(source, group)
            out.send(ethernet(b"\x01\x00\x5e" + v4(group)[1:], here, IPV4, query))
            assert heard(frames, query, 0.5) == comes, (group, source)
        before = operator.show("drops")["drops"].get("punt_rate", 0)
        for _ in range(1000):
            out.send(named[b"ptp"])
        wait_until(lambda: operator.show("drops")["drops"].get("punt_rate", 0) > before + 500, "the flood is cut")
        ping(west, "10.0.1.1")
        # Without them, as before. The socket still has frames of the flood.
        assert "refused" not in rewrite(running, lambda c: c["ports"][0].pop("host_pass"))
        while heard(frames, b"", 0.3):
            pass
        assert reach() == set()
        said = rewrite(running, lambda c: c["ports"][0].update(host_pass=["0x0800"]))
        assert "host_pass[0]" in said and "EtherType" in said, said
        running.stop()


def test_addresses_that_only_the_kernel_has():
    """The virtual address of VRRP, on a macvlan, and a link-local address that is not of the MAC address."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)

        def change(config):
            config["ports"][0]["extra_macs"] = ["00:00:5e:00:01:0a"]
        assert "refused" not in rewrite(running, change)
        box.run("sysctl -qw net.ipv4.conf.west.arp_ignore=1")  # as for VRRP on any Linux router
        for line in ("link add v10 link west type macvlan mode bridge", "link set v10 address 00:00:5e:00:01:0a",
                     "link set v10 up", "addr add 10.0.1.254/24 dev v10", "-6 addr add fe80::1/64 dev west nodad"):
            box.run("ip " + line)
        wait_until(lambda: answers(west, "10.0.1.254"), "the virtual address answers", 5)
        assert "00:00:5e:00:01:0a" in west.run("ip neigh show 10.0.1.254").stdout
        wait_until(lambda: answers(west, "fe80::1%eth0"), "the link-local address answers", 5)
        # The kernel's own requests may have it as their sender, and the replies as their target.
        box.run("ip neigh flush dev west")
        asked = box.run("ping -n -c 2 -i 0.3 -W 1 -I 10.0.1.254 10.0.1.2", check=False)
        assert "lladdr " + west.mac("eth0") in box.run("ip neigh show 10.0.1.2 dev west").stdout, asked.stdout
        assert " 0 received" not in asked.stdout, asked.stdout
        # Another address of the network is absent.
        assert not answers(west, "10.0.1.77")
        # Link-local addresses of IPv4, as of tunnels of clouds.
        box.run("ip addr add 169.254.10.1/30 dev west")
        west.run("ip addr add 169.254.10.2/30 dev eth0")
        wait_until(lambda: answers(west, "169.254.10.1"), "the IPv4 link-local address answers", 5)
        ping(box, "169.254.10.2")
        ping(west, "10.0.2.1", "-I 169.254.10.2")
        assert not answers(west, "-I 169.254.10.2 10.0.2.2"), "such packets are not forwarded"
        running.stop()


def test_a_bridge_s_own_frames_to_reserved_groups():
    """IEEE 802.1Q table 8-1 is about frames that a bridge relays: an LLDP daemon may send by the routing interface."""
    with Lab() as lab:
        west, dut, east = cabled(lab)
        box = lab.host("box")
        members = [{"port": "west"}, {"port": "east"}]
        config = {"ports": [{"name": name, "device": f"net_af_packet{n},iface={interface}", "descriptors": 512}
                            for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))],
                  "bridges": [{"name": "lan", "members": members, "addresses": ["10.0.1.1/24"], "host_interface": True}],
                  "control_plane": {"netlink": True, "namespace": box.ns}}
        running = Turnpike(lab, dut, config)
        wait_until(lambda: "10.0.1.1/24" in box.run("ip addr show lan", check=False).stdout, "the kernel has all", 5)
        heard_by = [host.raw("eth0") for host in (west, east)]
        with box.inside():
            daemon = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        daemon.bind(("lan", 0))
        lldp = mac("01:80:c2:00:00:0e")
        daemon.send(ethernet(lldp, mac(box.mac("lan")), 0x88CC, b"\x02\x07\x04 own lldp" * 3))
        for host in heard_by:
            assert heard(host, b"own lldp", 3)
        # A station's is not relayed.
        heard_by[0].send(ethernet(lldp, mac(west.mac("eth0")), 0x88CC, b"\x02\x07\x04 relayed" * 3))
        assert not heard(heard_by[1], b"relayed", 0.5)
        running.stop()


def of_router(box, name):
    """The kernel's sysctls of an interface, of each family that it has."""
    return {f"{family} {what}": box.run(f"cat /proc/sys/net/{family}/conf/{name}/{what}").stdout.strip()
            for family, whats in (("ipv4", ("accept_redirects", "forwarding", "promote_secondaries")),
                                  ("ipv6", ("accept_ra", "autoconf", "accept_redirects", "forwarding",
                                            "keep_addr_on_down")))
            for what in whats}


ROUTERS = {"ipv4 accept_redirects": "0", "ipv4 forwarding": "1", "ipv4 promote_secondaries": "1", "ipv6 accept_ra": "0", "ipv6 autoconf": "0",
           "ipv6 accept_redirects": "0", "ipv6 forwarding": "1", "ipv6 keep_addr_on_down": "1"}


def test_addresses_of_a_network_stay_when_its_first_one_goes():
    """The kernel removes the other addresses of the network with the first one, unless promote_secondaries is set."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        change = lambda how, *all: operator.result("change", do=[{how: {"address": {"port": "west", "address": a}}} for a in all])  # noqa: E731
        there = lambda: box.run("ip -4 -o addr show dev west").stdout  # noqa: E731
        change("add", "10.0.1.9/24", "10.0.1.10/24")
        wait_until(lambda: "10.0.1.10/24" in there(), "the kernel has all addresses")
        change("del", "10.0.1.1/24")
        wait_until(lambda: "10.0.1.1/24" not in there(), "the first address is gone")
        assert "10.0.1.9/24" in there() and "10.0.1.10/24" in there(), there()
        assert "10.0.1.0/24 dev west" in box.run("ip route").stdout
        wait_until(lambda: answers(west, "10.0.1.9"), "turnpike answers for the address that stays")
        running.stop()


def advertisement(of):
    """A router's frame, by scapy: a default route, a prefix with addresses, and a route."""
    from scapy.all import (ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, ICMPv6NDOptRouteInfo, ICMPv6NDOptSrcLLAddr, Ether,
                           IPv6, raw)
    return raw(Ether(src=of.mac("eth0"), dst="33:33:00:00:00:01") /
               IPv6(src="fe80::bad", dst="ff02::1", hlim=255) / ICMPv6ND_RA(routerlifetime=1800) /
               ICMPv6NDOptPrefixInfo(prefix="2001:db8:beef:1::", prefixlen=64, L=1, A=1) /
               ICMPv6NDOptRouteInfo(prefix="2001:db8:beef:2::", plen=64, rtlifetime=1800) /
               ICMPv6NDOptSrcLLAddr(lladdr=of.mac("eth0")))


def test_router_advertisements_are_followed_by_choice():
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        addresses = lambda: next(i["addresses"] for i in operator.show("interfaces")["interfaces"]  # noqa: E731
                                 if i["name"] == "west")
        sysctls = {**ROUTERS, "ipv6 accept_ra": "2", "ipv6 autoconf": "1"}
        operator.result("change", do=[{"set": {"interface": {"name": "west", "accept_ra": True}}}])
        wait_until(lambda: of_router(box, "west") == sysctls, "the kernel accepts advertisements")
        assert of_router(box, "east") == ROUTERS

        def advertise():
            west.raw("eth0").send(advertisement(west))
            return "::/0" in learned(operator)
        wait_until(advertise, "the default route is learned")
        wait_until(lambda: any(a.startswith("2001:db8:beef:1:") for a in addresses()), "the address is learned")
        there = box.run("ip -6 route show").stdout
        for route in ("default via fe80::bad dev west proto ra", "2001:db8:beef:1::/64 dev west"):
            assert route in there, there
        route = operator.show("route", address="2001:db8:ffff::1")
        assert "fe80::bad" in json.dumps(route), route
        assert "west" in json.dumps(operator.show("route", address="2001:db8:beef:1::99"))
        operator.result("change", do=[{"set": {"interface": {"name": "west", "accept_ra": False}}}])
        wait_until(lambda: "::/0" not in learned(operator), "the default route is left out again")
        wait_until(lambda: not any("beef" in a for a in addresses()), "the address is left out again")
        assert of_router(box, "west") == ROUTERS
        running.stop()


def test_a_router_advertisement_configures_nothing():
    """RFC 4862 section 4: hosts configure themselves by advertisements, routers do not; any host of a link can send
    one. A socket in the kernel confirms its arrival."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        own = lambda: {i["name"]: i["addresses"] for i in operator.show("interfaces")["interfaces"]}  # noqa: E731
        assert of_router(box, "west") == of_router(box, "east") == ROUTERS
        for what in ("accept_dad", "dad_transmits", "rp_filter"):  # unchanged
            family = "ipv4" if what == "rp_filter" else "ipv6"
            values = [box.run(f"cat /proc/sys/net/{family}/conf/{of}/{what}").stdout for of in ("default", "west")]
            assert values[0] == values[1], (what, values)
        said = advertisement(west)
        with box.inside():
            heard = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        heard.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"west\0")
        box.run("ip -6 route add 2001:db8:77::/48 via 2001:db8:1::2 dev west proto bgp")

        def advertise():
            west.raw("eth0").send(said)
            while select.select([heard], [], [], 1)[0]:
                if heard.recv(2048)[0] == 134:
                    return True
            return False

        def nothing_of_it():
            wait_until(advertise, "the kernel has the advertisement")
            # The kernel's reaction, and turnpike's learning of it, precede a later route.
            box.run("ip -6 route add 2001:db8:78::/48 via 2001:db8:1::2 dev west proto bgp")
            wait_until(lambda: "2001:db8:78::/48" in learned(operator), "a later route is learned")
            there = box.run("ip -6 addr show dev west").stdout + box.run("ip -6 route show").stdout
            assert "beef" not in there and "proto ra" not in there and "fe80::bad" not in there, there
            assert set(learned(operator)) == {"2001:db8:77::/48", "2001:db8:78::/48"}, learned(operator)
            box.run("ip -6 route del 2001:db8:78::/48")
            assert own() == OURS, own()
        nothing_of_it()

        # An MTU below 1280 disables IPv6 on the interface, and its sysctls.
        def mtu(size, addresses):
            def change(config):
                config["ports"][0].update(mtu=size, addresses=addresses)
            assert "refused" not in rewrite(running, change)
            wait_until(lambda: f"mtu {size} " in box.run("ip link show west").stdout, f"the mtu is {size}")
        mtu(1200, OURS["west"][:1])
        mtu(1500, OURS["west"])
        assert of_router(box, "west") == ROUTERS
        box.run("ip -6 route add 2001:db8:77::/48 via 2001:db8:1::2 dev west proto bgp", check=False)
        nothing_of_it()
        running.stop()


def test_an_address_of_the_kernel_becomes_the_operators():
    """The running state does not change, and the operator's configuration contains the address."""
    with Lab() as lab:
        _west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        own = lambda: {i["name"]: i["addresses"] for i in operator.show("interfaces")["interfaces"]}["west"]  # noqa: E731
        address = "10.0.9.1/24"
        add = [{"add": {"address": {"port": "west", "address": address}}}]
        box.run(f"ip addr add {address} dev west")
        wait_until(lambda: address in own(), "it is followed")
        assert operator.result("change", do=add)["text"] == "nothing"
        assert operator.result("states")["unsaved"] and len(operator.result("states")["states"]) == 2
        assert address in operator.result("configuration")["text"]
        assert operator.error("change", do=add)["code"] == "EEXIST"
        box.run(f"ip addr del {address} dev west")
        operator.result("change", do=[{"set": {"icmp": {"rate": 999}}}])
        assert address in own() and address in operator.result("configuration")["text"]
        # The operator can also remove it.
        operator.result("rollback", back=2)
        assert address not in own() and address not in operator.result("configuration")["text"]
        # Unconfirmed, it rolls back like any other change.
        box.run(f"ip addr add {address} dev west")
        wait_until(lambda: address in own(), "it is followed")
        operator.result("change", do=add, confirm=1)
        assert operator.result("states")["undone_in_s"] is not None
        wait_until(lambda: address not in operator.result("configuration")["text"], "it is undone")
        running.stop()


def test_an_undo_that_fails_is_tried_less_and_less_often():
    """Each attempt may close and reopen ports. Here the namespace of the previous configuration no longer exists."""
    with Lab() as lab:
        namespace = f"tpk-undo-{os.getpid()}"
        subprocess.run(["ip", "netns", "add", namespace], check=True)
        try:
            *_, running = begin(lab, namespace=namespace, wait=False)
            running.wait_for("turnpike: forwarding")
            operator = Operator("/run/turnpike/control.sock")
            config = yaml.safe_load(operator.result("configuration")["text"])
            del config["control_plane"]
            for port in config["ports"]:
                port["host_interface"] = False
            operator.result("apply", text=yaml.safe_dump(config), name="without.yaml", confirm=1)
        finally:
            subprocess.run(["ip", "netns", "del", namespace], check=True)
        at = []
        for n in range(1, 4):
            wait_until(lambda n=n: running.output().count("not confirmed in time: ") >= n, f"{n} tries", 10)
            at.append(time.monotonic())
        assert "cannot open the network namespace" in running.output(), running.output()
        assert 0.5 < at[1] - at[0] < 1.5 and 1.5 < at[2] - at[1] < 3, at
        # The operator's rollback or confirmation ends the retries.
        operator.result("confirm")
        assert operator.result("states")["undone_in_s"] is None
        running.stop()


def batch(host, lines):
    subprocess.run(host.command("ip -batch -"), input="\n".join(lines) + "\n", text=True, check=True)


def test_what_is_lost_is_asked_for_again():
    """turnpike is stopped while more of the kernel's routes change than the socket buffer holds; traffic continues, and
    finally both have the same routes."""
    with Lab() as lab:
        west, _dut, east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        east.run("ip addr add 10.9.1.1/32 dev lo")
        batch(box, ["route add 10.9.1.0/24 via 10.0.2.2 proto bgp", "route add 10.9.2.0/24 via 10.0.2.2 proto bgp"])
        wait_until(lambda: len(learned(operator)) == 2, "they are learned")
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            many = [f"10.{100 + n // 65536}.{n // 256 % 256}.{n % 256}/32" for n in range(100000)]
            batch(box, [f"route add {p} via 10.0.2.2 proto bgp" for p in many])
            batch(box, [f"route del {p}" for p in many[1000:]])
            batch(box, ["route del 10.9.2.0/24"])
        finally:
            os.kill(running.process.pid, signal.SIGCONT)

        def the_same_by_a_second_dump():
            shown = operator.show("control-plane")
            return shown if shown["routes"] == 1001 and shown["whole"] >= 2 else None

        shown = wait_until(the_same_by_a_second_dump, "it has the same", 20)
        assert shown["overruns"] >= 1, shown
        ping(west, "10.9.1.1")
        assert not operator.show("routes", to="10.9.2.0/24")["routes"]
        running.stop()


def test_routes_that_the_kernel_takes_without_a_word():
    """With the operator's recursive routes that resolve by them."""
    with Lab() as lab:
        _west, _dut, _east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        beyond = {"10.5.0.9": "10.65.0.0/16", "10.6.0.9": "10.66.0.0/16", "10.7.0.9": "10.67.0.0/16",
                  "192.0.2.9": "10.68.0.0/16"}
        operator.result("change", do=[{"add": {"route": {"to": to, "via": via, "recursive": True}}}
                                      for via, to in beyond.items()])

        def through():
            shown = [operator.show("routes", to=to)["routes"][0] for to in beyond.values()]
            assert all((r["type"] == "unresolved") == (r["gateways"][0]["through"] is None) for r in shown), shown
            return [r["gateways"][0]["through"] for r in shown]

        assert through() == [None] * 4
        box.run("ip addr add 10.0.7.1/24 dev west")
        box.run("ip route add 10.5.0.0/16 via 10.0.7.2 src 10.0.7.1")
        box.run("ip nexthop add id 7 via 10.0.2.2 dev east")
        box.run("ip route add 10.6.0.0/16 nhid 7")
        box.run("ip route add 10.7.0.0/16 via 10.0.2.2")
        box.run("ip route add blackhole 192.0.2.0/24")
        wait_until(lambda: set(learned(operator)) ==
                   {"10.5.0.0/16", "10.6.0.0/16", "10.7.0.0/16", "192.0.2.0/24"}, "all are learned")
        assert through() == ["10.5.0.0/16", "10.6.0.0/16", "10.7.0.0/16", "192.0.2.0/24"]
        box.run("ip addr del 10.0.7.1/24 dev west")
        wait_until(lambda: "10.5.0.0/16" not in learned(operator), "one goes with its address")
        assert through() == [None, "10.6.0.0/16", "10.7.0.0/16", "192.0.2.0/24"]
        box.run("ip nexthop del id 7")
        wait_until(lambda: "10.6.0.0/16" not in learned(operator), "one goes with its next hop")
        box.run("ip link set east down")
        wait_until(lambda: set(learned(operator)) == {"192.0.2.0/24"}, "one goes with its interface")
        assert through() == [None, None, None, "192.0.2.0/24"]
        running.stop()


def test_what_is_not_followed_and_not_taken_is_counted():
    """Routes by one of the kernel's own interfaces, and a frame longer than an mbuf."""
    with Lab() as lab:
        west, _dut, _east, box, running = begin(lab, device="net_xsk{},iface={}")
        operator = Operator("/run/turnpike/control.sock")
        shown = lambda: operator.show("control-plane")  # noqa: E731
        taken = lambda: {i["name"]: i for i in shown()["interfaces"]}["west"]  # noqa: E731
        box.run("ip link add other type veth peer name end")
        box.run("ip link set end up")
        box.run("ip link set other up")
        before = shown()["not_followed"]
        box.run("ip route add 10.20.0.0/16 dev other")
        box.run("ip route add 10.21.0.0/16 via 10.0.2.2")
        wait_until(lambda: "10.21.0.0/16" in learned(operator), "the route behind it is learned")
        assert shown()["not_followed"] == before + 1, shown()
        dropped = learned(operator)["10.20.0.0/16"]
        assert (dropped["type"], dropped["reason"]) == ("drop", "route_not_followed"), dropped
        listed = operator.show("not-followed")
        assert {"to": "10.20.0.0/16", "vrf": "main", "reason": "interface", "protocol": "boot", "metric": 0} in \
            listed["routes"], listed
        assert listed["reasons"]["interface"] == shown()["not_followed_by"]["interface"], listed
        box.run("ip route del 10.20.0.0/16 dev other")
        wait_until(lambda: shown()["not_followed"] == before, "it goes again")
        ping(box, WEST[0])
        assert taken()["not_taken"] == 0 < taken()["taken"], shown()
        box.run("ip link set west mtu 9000")
        box.run(f"ping -n -c 1 -W 0.2 -s 8000 -M do {WEST[0]}", check=False)
        wait_until(lambda: taken()["not_taken"] == 1, lambda: f"it is counted: {shown()}")
        # The longest frame that a kernel's TAP sends: more than 16 bits hold.
        box.run("ip link set west mtu 65521")
        wire = box.raw("west")
        wire.send(mac(west.mac("eth0")) + mac(box.mac("west")) + b"\x81\0\0\5\x88\xb5" + bytes(65521))
        wire.close()
        wait_until(lambda: taken()["not_taken"] == 2, lambda: f"it is counted, too: {shown()}")
        ping(box, WEST[0])
        running.stop()


def test_routes_without_a_gateway():
    with Lab() as lab:
        west, _dut, east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        east.run("ip addr add 10.9.0.7/32 dev lo")
        east.run("ip addr add 10.8.0.7/32 dev lo")
        east.run("ip addr add 2001:db8:9::7/128 dev eth0 nodad")
        box.run("ip route add 10.9.0.0/24 dev east scope link")
        box.run("ip -6 route add 2001:db8:9::/64 dev east")
        wait_until(lambda: set(learned(operator)) == {"10.9.0.0/24", "2001:db8:9::/64"}, "they are learned")
        for address in ("10.9.0.7", "2001:db8:9::7"):
            ping(west, address)
        known = {n["address"]: n for n in operator.show("neighbours")["neighbours"]}
        assert known["10.9.0.7"]["interface"] == known["2001:db8:9::7"]["interface"] == "east", known
        # A resolved neighbour has a host route until the kernel deletes the link's route.
        assert operator.show("route", address="10.9.0.7")["type"] == "adjacency"
        box.run("ip route del 10.9.0.0/24 dev east")
        wait_until(lambda: not answers(west, "10.9.0.7"), "it goes again")
        assert "10.9.0.7" not in {n["address"] for n in operator.show("neighbours")["neighbours"]}
        operator.result("change", do=[{"add": {"route": {"to": "10.8.0.0/24", "port": "east"}}}])
        ping(west, "10.8.0.7")
        assert "10.8.0.0/24 dev east" in operator.result("configuration")["text"]
        running.stop()


def test_routes_with_an_mtu():
    """The kernel's routes: longer packets are fragmented, or reported to their sender."""
    with Lab() as lab:
        west, _dut, east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        for number, family in (("10.9.0.7/32", ""), ("2001:db8:9::7/128", "nodad")):
            east.run(f"ip addr add {number} dev lo {family}")
        box.run("ip route add 10.9.0.0/24 via 10.0.2.2 mtu 1400")
        box.run("ip -6 route add 2001:db8:9::/64 via 2001:db8:2::2 mtu lock 1400")
        wait_until(lambda: set(learned(operator)) == {"10.9.0.0/24", "2001:db8:9::/64"}, "they are learned")
        assert {r["mtu"] for r in learned(operator).values()} == {1400}, learned(operator)
        for address, headers in (("10.9.0.7", 28), ("2001:db8:9::7", 48)):
            ping(west, address, f"-M do -s {1400 - headers}")
            told = ping(west, address, f"-M do -s {1401 - headers}", check=False, count=1, wait=1).stdout
            assert re.search("mtu ?= ?1400", told), told
        ping(west, "10.9.0.7", "-M dont -s 1450", count=1)  # in two fragments
        box.run("ip route replace 10.9.0.0/24 via 10.0.2.2")
        wait_until(lambda: "mtu" not in learned(operator)["10.9.0.0/24"]
                   or learned(operator)["10.9.0.0/24"]["mtu"] == 1500, "it goes again")
        west.run("ip route flush cache")
        ping(west, "10.9.0.7", "-M do -s 1472")
        running.stop()


def begin_in_red(lab):
    """All interfaces are in a VRF."""
    west, dut, east = cabled(lab)
    box = lab.host("box")
    devices = {name: ({"device": f"net_af_packet{n},iface={interface}", "descriptors": 512, "host_interface": True,
                       "vrf": "red"}, OURS[name]) for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))}
    running = Turnpike(lab, dut, router_config(devices, vrfs=[{"name": "red", "table": 10}],
                                               control_plane={"netlink": True, "namespace": box.ns}))
    wait_until(lambda: "10.0.2.1/24" in box.run("ip addr show east").stdout, "the kernel has all", 5)
    return west, east, box, running


def test_ping_in_a_vrf():
    with Lab() as lab:
        _west, east, box, running = begin_in_red(lab)
        operator = Operator("/run/turnpike/control.sock")

        def ctl(*words):
            return subprocess.run([CTL, *words], capture_output=True, text=True, timeout=30, check=False)
        for address in (EAST[0], WEST[1]):  # on the links
            done = ctl("ping", address, "vrf", "red", "count", "2")
            assert done.returncode == 0 and " 0% packet loss" in done.stdout, done
        east.run("ip addr add 10.9.0.7/32 dev lo")
        box.run("ip route add 10.9.0.0/24 via 10.0.2.2 dev east table 10")
        wait_until(lambda: set(learned(operator, "red")) == {"10.9.0.0/24"}, "red has the route")
        done = ctl("ping", "10.9.0.7", "vrf", "red", "count", "1")
        assert done.returncode == 1 and "`ip rule add oif east table 10`" in done.stderr, done
        box.run("ip rule add oif east table 10")
        done = ctl("ping", "10.9.0.7", "vrf", "red", "count", "2")
        assert done.returncode == 0 and " 0% packet loss" in done.stdout, done
        if shutil.which("traceroute"):
            done = ctl("traceroute", "10.9.0.7", "vrf", "red")
            assert done.returncode == 0 and re.search(r"^ *1 +10\.9\.0\.7 ", done.stdout, re.M), done
        for words, said in ((("10.9.0.7", "vrf", "rde"), "vrf rde: is not a VRF"),
                            (("10.77.0.1", "vrf", "red"), "no route leads to 10.77.0.1"),
                            (("10.9.0.7", "vrf", "main", "interface", "east"), "east: is not an interface of VRF main")):
            done = ctl("ping", *words)
            assert done.returncode == 1 and said in done.stderr, (words, done)
        running.stop()


def test_tables_of_vrfs():
    with Lab() as lab:
        west, east, box, running = begin_in_red(lab)
        operator = Operator("/run/turnpike/control.sock")
        box.run("ip rule add iif west table 10")
        box.run("ip rule add iif east table 10")
        for address in ("10.8.0.7/32", "10.9.0.7/32", "10.10.0.7/32"):
            east.run(f"ip addr add {address} dev lo")
        box.run("ip route add 10.9.0.0/24 via 10.0.2.2 dev east table 10 proto bgp")
        box.run("ip route add 10.10.0.0/24 dev east table 10")
        box.run("ip route add 10.8.0.0/24 via 10.0.2.2")  # a route of the main table, not of red's
        box.run("ip route add 10.7.0.0/24 via 10.0.2.2 dev east table 11")  # a table without a VRF
        wait_until(lambda: set(learned(operator, "red")) == {"10.9.0.0/24", "10.10.0.0/24"}, "red has its own")
        assert learned(operator, "red")["10.9.0.0/24"]["protocol"] == "bgp"
        wait_until(lambda: set(learned(operator)) == {"10.8.0.0/24"}, "the main table's is learned, too")
        ping(west, "10.9.0.7")
        ping(west, "10.10.0.7")
        assert not answers(west, "10.8.0.7")
        # The kernel also handles packets to red's addresses.
        refused = subprocess.run(west.command("python3 -c 'import socket; socket.create_connection((\"10.0.1.1\", 9))'"),
                                 capture_output=True, text=True, check=False)
        assert "ConnectionRefusedError" in refused.stderr, refused.stderr

        # Another table number is another table.
        def renumber(config):
            config["vrfs"][0]["table"] = 11
        assert "refused" not in rewrite(running, renumber)
        wait_until(lambda: set(learned(operator, "red")) == {"10.7.0.0/24"}, "it has that table's")
        box.run("ip route flush table 11")
        wait_until(lambda: not learned(operator, "red"), "they go again")
        running.stop()


def test_permanent_neighbours():
    with Lab() as lab:
        west, _dut, east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        shown = lambda: {n["address"]: n for n in operator.show("neighbours")["neighbours"] if n["static"]}  # noqa: E731
        east.run("ip addr add 10.0.2.7/32 dev lo")
        east.run("ip addr add 2001:db8:2::7/128 dev lo")  # no host answers for it: it is not on the link
        east.run("sysctl -qw net.ipv4.conf.all.arp_ignore=8")
        # Entries that the kernel resolved, or that another program manages, are not learned.
        box.run(f"ip neigh add 10.0.2.7 lladdr {east.mac('eth0')} dev east nud reachable")
        box.run(f"ip neigh add 10.0.2.8 lladdr {east.mac('eth0')} dev east nud permanent extern_learn")
        assert not answers(west, "10.0.2.7")
        for address in ("10.0.2.7", "2001:db8:2::7"):
            box.run(f"ip neigh replace {address} lladdr {east.mac('eth0')} dev east nud permanent")
        wait_until(lambda: set(shown()) == {"10.0.2.7", "2001:db8:2::7"}, "they are static")
        assert all(n["learned"] and n["mac"] == east.mac("eth0") for n in shown().values()), shown()
        for address in ("10.0.2.7", "2001:db8:2::7"):
            ping(west, address)
        assert operator.show("route", address="10.0.2.7")["type"] == "adjacency"
        assert "10.0.2.7" not in operator.result("configuration")["text"]
        # The operator's entry takes precedence.
        own = {"address": "10.0.2.7", "mac": "02:00:00:00:00:99"}
        operator.result("change", do=[{"add": {"neighbour": own}}])
        assert shown()["10.0.2.7"]["mac"] == own["mac"] and not answers(west, "10.0.2.7")
        operator.result("change", do=[{"del": {"neighbour": {"address": "10.0.2.7"}}}])
        ping(west, "10.0.2.7")
        for address in ("10.0.2.7", "2001:db8:2::7"):
            box.run(f"ip neigh del {address} dev east")
        wait_until(lambda: not shown(), "they go again")
        assert not answers(west, "10.0.2.7")
        running.stop()


def test_router_alert():
    """As RSVP needs: the kernel's sockets get packets in transit with Router Alert, where configured."""
    with Lab() as lab:
        west, dut, east, box, running = begin(lab)
        operator = Operator("/run/turnpike/control.sock")
        wait_until(lambda: answers(west, "10.0.2.2") and answers(west, "2001:db8:2::2"), "both ways are known")
        box.run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        with box.inside():
            four = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
            four.setsockopt(socket.SOL_IP, 5, 1)  # IP_ROUTER_ALERT
            six = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
            six.setsockopt(socket.IPPROTO_IPV6, 22, 0)  # IPV6_ROUTER_ALERT
        out, there = west.raw("eth0"), east.raw("eth0")
        ours, theirs = mac(dut.mac("w0")), mac(west.mac("eth0"))

        def ways(payload):
            """Receivers of one packet of each family: the kernel's sockets, or east."""
            out.send(ethernet(ours, theirs, IPV4, ipv4("10.0.1.2", "10.0.2.2", udp(payload + b"4"),
                                                       options=bytes((148, 4, 0, 0)))))
            out.send(ethernet(ours, theirs, IPV6, ipv6(
                "2001:db8:1::2", "2001:db8:2::2", bytes((UDP, 0, 5, 2, 0, 0, 1, 0)) + udp(payload + b"6"),
                next_header=HOP_BY_HOP)))
            got, end = set(), time.monotonic() + 5
            while len(got) < 2 and time.monotonic() < end:
                for s in select.select([four, six, there], [], [], 0.1)[0]:
                    data = s.recv(2048)
                    for n in (b"4", b"6"):
                        if payload + n in data:
                            got.add(("east" if s is there else "kernel", n))
            return got
        assert ways(b"as others") == {("east", b"4"), ("east", b"6")}

        def choose(config):
            config["ports"][0]["router_alert"] = True
        assert "refused" not in rewrite(running, choose)
        assert ways(b"looked at") == {("kernel", b"4"), ("kernel", b"6")}
        chosen = {i["name"]: i["router_alert"] for i in operator.show("interfaces")["interfaces"]}
        assert chosen == {"west": True, "east": False}, chosen
        ping(west, "10.0.2.2")
        running.stop()


def test_a_flood_for_the_kernel_is_bounded():
    with Lab() as lab:
        west, dut, _east, box, running = begin(lab, rate=100)
        operator = Operator("/run/turnpike/control.sock")
        s = west.raw("eth0")
        frame = ethernet(mac(dut.mac("w0")), mac(west.mac("eth0")), IPV4,
                         ipv4(v4("10.0.1.2"), v4("10.0.1.1"), udp(bytes(20))))

        def max_are_dropped():
            for _ in range(100):
                s.send(frame)
            return operator.show("drops")["drops"].get("host_if_rate", 0) > 1000
        wait_until(max_are_dropped, "most are dropped")
        given = operator.show("control-plane")["interfaces"][0]["given"]
        assert given < operator.show("drops")["drops"]["host_if_rate"], given
        running.stop()


def test_ping_and_traceroute_from_the_box():
    with Lab() as lab:
        _west, _dut, _east, box, running = begin(lab)

        def ctl(*words):
            return subprocess.run([CTL, *words], capture_output=True, text=True, timeout=30, check=False)

        for words, address in ((("count", "2", "size", "1000", "dont-fragment"), EAST[0]), (("interface", "west"), WEST[1])):
            done = ctl("ping", address, *words)
            assert done.returncode == 0 and " 0% packet loss" in done.stdout, done
        lost = ctl("ping", "10.0.2.77", "count", "1")
        assert lost.returncode == 1 and "100% packet loss" in lost.stdout, lost
        if shutil.which("traceroute"):
            done = ctl("traceroute", WEST[0])
            assert done.returncode == 0 and re.search(rf"^ *1 +{re.escape(WEST[0])} ", done.stdout, re.M), done
        refused = ctl("ping", EAST[0], "interface", "nosuch")
        assert refused.returncode == 1 and "nosuch" in refused.stderr, refused
        running.stop()


def test_what_cannot_be_is_refused():
    with Lab() as lab:
        *_, running = begin(lab, namespace="tpk-nobody", wait=False)
        assert running.finish() == 1
        assert "/run/netns/tpk-nobody" in running.output() and "ip netns add tpk-nobody" in running.output()
    with Lab() as lab:
        west, dut, east = cabled(lab)
        box = lab.host("box")
        lab.cable(west, "x0", box, "west")
        devices = {"west": ({"device": "net_af_packet0,iface=w0", "host_interface": True}, OURS["west"])}
        running = Turnpike(lab, dut, router_config(devices, control_plane={"netlink": True, "namespace": box.ns}),
                           wait=False)
        assert running.finish() == 1
        assert "interface west: the namespace has an interface of that name already" in running.output()


if __name__ == "__main__":
    tap.main(globals())
