#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Floods of packets that the control thread handles, as fast as a worker takes them: TTL 1, no route, a dead neighbour, scans of a
/16 and of a /64, ARP requests and answers, neighbour solicitations and advertisements, router advertisements, martians, UDP to
a closed port. Meanwhile known flows lose nothing, hosts on other interfaces get answers from the router, FRR's BGP and BFD
sessions of another interface stay up, and the router's own requests stay within their limit."""
import json
import os
import random
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.daemons import Frr  # noqa: E402
from lib.dpdk_program import file_prefix, wait_for_hugepages  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.frames import (ARP, BROADCAST, ICMPV6, IPV4, IPV6, advertisement, arp, ethernet, icmp6, ipv4, ipv6, mac,  # noqa: E402
                        solicitation, udp, v4, v6)
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import rewrite  # noqa: E402
from lib.station import Station  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402

OURS, SENDER = mac("02:00:00:00:0f:01"), mac("02:00:00:00:0f:02")
KNOWN_RATE, SECONDS = "20k", 2
SOLICIT_RATE = 500
SOLICIT_BURST = SOLICIT_RATE
BFD_MS = 300  # three of them on a machine with two CPUs, of which the worker has one
READER_LAG_S = 0.05  # frames that arrived before the first look, and were not read yet
PINGS = 20


def to_ipv4(address, ttl=64):
    return ethernet(OURS, SENDER, IPV4, ipv4("10.0.9.2", address, udp(b"flood"), ttl=ttl))


def to_ipv6(address):
    return ethernet(OURS, SENDER, IPV6, ipv6("2001:db8:9::2", address, udp(b"flood")))


def router_advertisement(source):
    source, everybody = v6(source), v6("ff02::1")
    message = icmp6(source, everybody, 134, 0, struct.pack("!BBHII", 64, 0, 1800, 0, 0))
    return ethernet(mac("33:33:00:00:00:01"), SENDER, IPV6, ipv6(source, everybody, message, ICMPV6, hops=255))


def floods(chance):
    """Frames by name of the flood."""
    hosts16 = [struct.pack("!BBH", 10, 1, n) for n in chance.sample(range(0x100, 0xFE00), 20000)]
    hosts64 = [v6("2001:db8:2::")[:8] + chance.randbytes(8) for _ in range(20000)]
    senders = range(3, 250)
    return {
        "quiet": [],
        "TTL 1": [to_ipv4("198.18.1.1", ttl=1)],
        "no route": [to_ipv4(f"203.0.113.{n}") for n in range(256)],
        "dead neighbour": [to_ipv4("10.1.0.77"), to_ipv6("2001:db8:2::77")],
        "scan of a /16": [to_ipv4(a) for a in hosts16],
        "scan of a /64": [to_ipv6(a) for a in hosts64],
        "ARP requests": [ethernet(BROADCAST, SENDER, ARP, arp(1, SENDER, f"10.0.9.{n}", bytes(6), "10.0.9.1"))
                         for n in senders],
        "neighbour solicitations": [solicitation(SENDER, f"2001:db8:9::{n:x}", "2001:db8:9::1") for n in senders],
        "ARP answers": [ethernet(OURS, SENDER, ARP, arp(2, SENDER, f"10.0.9.{n}", OURS, "10.0.9.1")) for n in senders],
        "neighbour advertisements": [advertisement(SENDER, f"2001:db8:9::{n:x}", OURS, "2001:db8:9::1") for n in senders],
        "router advertisements": [router_advertisement(f"fe80::{n:x}") for n in senders],
        "martians": [ethernet(OURS, SENDER, IPV4, ipv4(source, to, udp(b"flood")))
                     for source, to in (("127.0.0.1", "10.2.0.2"), ("10.0.9.2", "127.0.0.1"), ("240.0.0.1", "10.2.0.2"))],
        "UDP to a closed port": [to_ipv4("10.0.9.1"), to_ipv6("2001:db8:9::1")]}


def write_capture(path, frames):
    """A capture file as of tcpdump."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            frame = frame.ljust(60, b"\0")
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


class Asked(Station):
    """Counts the router's requests for addresses without a host."""
    requests = 0

    def _take(self, frame):
        if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] not in self.own:
            self.requests += frame[28:32] != frame[38:42]  # without announcements
        elif frame[12:14] == b"\x86\xdd" and frame[20:21] == b"\x3a" and frame[54:55] == b"\x87":
            self.requests += frame[62:78] not in self.own and frame[22:38] != bytes(16)
        return super()._take(frame)


def sessions_of(number):
    """FRR's configuration of one end: BGP with BFD to the other one."""
    other = 3 - number
    return f"""
router bgp 6500{number}
 bgp router-id 10.3.0.{number}
 no bgp ebgp-requires-policy
 timers bgp 3 9
 neighbor 10.3.0.{other} remote-as 6500{other}
 neighbor 10.3.0.{other} bfd
bfd
 peer 10.3.0.{other}
  receive-interval {BFD_MS}
  transmit-interval {BFD_MS}
"""


class Fire:
    """A router with known flows between two generators, a port that is flooded, and two hosts."""

    def __init__(self, lab):
        wait_for_hugepages()
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-fire-")
        west, dut, east = lab.host("west", True), lab.host("dut", True), lab.host("east", True)
        lab.cable(west, "eth0", dut, "w0")
        lab.cable(east, "eth0", dut, "e0")
        peer, self.box = lab.host("peer"), lab.host("box")
        lab.cable(peer, "eth0", dut, "p0")
        peer.run("ip addr add 10.3.0.2/24 dev eth0")
        prefix = file_prefix("fire")
        self.socket = f"/run/turnpike-fire-{os.getpid()}.sock"
        known = {f"k{n}": ({"device": f"net_simnic{n},wire=gen,rate={KNOWN_RATE},l3flows=1000,src=198.18.{4 * n}.1,"
                                      f"dst=198.18.{4 - 4 * n}.0", "descriptors": 4096}, [f"10.2.{n}.1/24"]) for n in (0, 1)}
        devices = {**known, "west": ("net_af_packet0,iface=w0", ["10.0.1.1/24", "2001:db8:1::1/64"]),
                   "east": ("net_af_packet1,iface=e0", ["10.1.0.1/16", "2001:db8:2::1/64"]),
                   "peer": ({"device": "net_af_packet2,iface=p0", "host_interface": True}, ["10.3.0.1/24"]),
                   "flood": (self.device([]), ["10.0.9.1/24", "2001:db8:9::1/64"])}
        static = [{"address": f"10.2.{n}.2", "mac": f"02:00:00:00:02:{n:02x}"} for n in (0, 1)]
        routes = [{"to": f"198.18.{4 * n}.0/22", "via": f"10.2.{n}.2"} for n in (0, 1)]
        self.turnpike = Turnpike(lab, dut, router_config(
            devices, routes, neighbours={"static": static, "retransmit_ms": 200, "solicit_rate": SOLICIT_RATE},
            workers=[1], mempool={"buffers": 65535}, control_plane={"netlink": True, "namespace": self.box.ns}, control={"socket": self.socket}, idle={"sleep_us": 0},
            eal=f"-l 0-1 --no-pci --in-memory --file-prefix={prefix}"))
        self.telemetry = Telemetry(prefix)
        self.operator = Operator(self.socket, 60)
        self.west = Station(west, "eth0", ["10.0.1.2", "2001:db8:1::2"])
        self.east = Asked(east, "eth0", ["10.1.0.2", "2001:db8:2::2"])
        wait_until(lambda: "10.3.0.1/24" in self.box.run("ip addr show peer", check=False).stdout, "the kernel has it", 10)
        self.frr = [Frr(lab, host, sessions_of(number), ("bfdd", "bgpd")) for number, host in ((1, self.box), (2, peer))]

    def sessions(self):
        """Whether the sessions of BFD and BGP are up, and how often each went down."""
        state, = json.loads(self.frr[0].vty("show bfd peers json") or "[{}]") or [{}]
        counts, = json.loads(self.frr[0].vty("show bfd peers counters json") or "[{}]") or [{}]
        bgp = json.loads(self.frr[0].vty("show bgp neighbors 10.3.0.2 json") or "{}").get("10.3.0.2", {})
        return (state.get("status") == "up" and bgp.get("bgpState") == "Established",
                (counts.get("session-down"), bgp.get("connectionsDropped")))

    def device(self, frames):
        """The flooded port: it plays a capture in a loop, as fast as it is polled."""
        if not frames:
            return f"net_simnic2,mac={OURS.hex(':')},wire=sink"
        path = os.path.join(self.folder.name, f"{random.getrandbits(32):x}.pcap")
        write_capture(path, frames)
        return f"net_simnic2,mac={OURS.hex(':')},wire=pcap:{path},rate=0"

    def set_flood(self, frames):
        def change(config):
            next(p for p in config["ports"] if p["name"] == "flood")["device"] = self.device(frames)
        said = rewrite(self.turnpike, change)
        assert "changed" in said or not frames, said

    def known(self):
        """Packets of the known flows: received, and lost other than in full rings."""
        counts = []
        for number in self.telemetry.ask("/ethdev/list"):
            if self.telemetry.ask(f"/ethdev/info,{number}")["name"] in ("net_simnic0", "net_simnic1"):
                counts.append(self.telemetry.ask(f"/ethdev/xstats,{number}"))
        assert len(counts) == 2
        return (sum(c["gen_received"] for c in counts),
                sum(c["gen_lost"] - c.get("rx_missed_errors", 0) for c in counts))

    def drops(self, port):
        return self.operator.result("show", what="drops")["ports"][port]

    def punted(self):
        return {p["class"]: p for p in self.operator.result("show", what="punt")["punt"] if p["interface"] == "flood"}

    def close(self):
        self.operator.close()
        self.telemetry.close()
        report = self.turnpike.stop()
        self.folder.cleanup()
        return report


def under_fire(fire, name, frames):
    fire.set_flood(frames)
    up, went_down = fire.sessions()
    assert up
    received, lost = fire.known()
    drops, began = fire.drops("flood"), time.monotonic()
    asked = fire.east.requests
    slowest = 0
    while time.monotonic() < began + SECONDS or slowest == 0:
        for address in ("10.0.1.1", "2001:db8:1::1"):
            since = time.monotonic()
            fire.west.ping(address, 5)  # fails if the one request is not answered
            slowest = max(slowest, time.monotonic() - since)
        time.sleep(SECONDS / PINGS)
    requests = fire.east.requests - asked
    took = time.monotonic() - began
    limit = SOLICIT_BURST + SOLICIT_RATE * (took + READER_LAG_S)
    after, lost_after = fire.known()
    flooded = {why: n - drops.get(why, 0) for why, n in fire.drops("flood").items() if n != drops.get(why, 0)}
    print(f"# {name}: {sum(flooded.values()) / took / 1e6:.2f} million a second; known flows: {after - received} received, "
          f"{lost_after - lost} lost; slowest ping {slowest * 1e3:.0f} ms; {requests} requests in {took:.1f} s; {flooded}")
    assert fire.sessions() == (True, went_down), f"BFD or BGP went down: {went_down}, {fire.sessions()}"
    assert after > received, "the known flows go on"
    assert lost_after == lost, f"{lost_after - lost} packets of known flows are lost"
    assert requests <= limit, f"{requests} requests, more than {limit:.0f}"
    return flooded, fire.punted()


def test_floods_cost_no_other_packet():
    with Lab() as lab:
        fire = Fire(lab)
        with fire.west as west, fire.east as east:
            for router in ("10.0.1.1", "2001:db8:1::1"):
                west.introduce(router)
            for router in ("10.1.0.1", "2001:db8:2::1"):
                east.introduce(router)
            time.sleep(1.2)  # duplicate address detection
            wait_until(lambda: fire.known()[0] > 1000, "the known flows arrive")
            wait_until(lambda: fire.sessions()[0], "BFD and BGP are up", 30)
            dropped, classes = {}, {}
            for name, frames in floods(random.Random(5)).items():
                dropped[name], classes[name] = under_fire(fire, name, frames)
        report = fire.close()
    # Each flood was of its kind, and the excess has its reason.
    assert dropped["TTL 1"]["ipv4_ttl"] > 50_000 and dropped["no route"]["no_route"] > 50_000
    assert dropped["dead neighbour"]["neighbour_failed"] > 50_000
    for scan in ("scan of a /16", "scan of a /64"):
        assert dropped[scan]["punt_rate"] > 50_000 and dropped[scan]["resolve_rate"] > 1000
    of_neighbours = ("ARP requests", "neighbour solicitations", "router advertisements")
    replies = ("ARP answers", "neighbour advertisements")
    for flood in (*of_neighbours, *replies, "UDP to a closed port"):
        assert dropped[flood]["punt_rate"] > 50_000
    assert dropped["martians"]["ipv4_source"] > 50_000 and dropped["martians"]["ipv4_destination"] > 20_000
    for flood, of in (("TTL 1", "icmp_error"), ("no route", "icmp_error"), ("dead neighbour", "icmp_error"),
                      ("scan of a /16", "resolve"), ("scan of a /64", "resolve"), ("UDP to a closed port", "local"),
                      *((flood, "neighbours") for flood in of_neighbours), *((flood, "replies") for flood in replies)):
        assert classes[flood][of]["dropped"] > 50_000 and classes[flood][of]["punted"] > 0, classes[flood]
    assert "punt_ring_full" not in report["drops"], report["drops"]


if __name__ == "__main__":
    tap.main(globals())
