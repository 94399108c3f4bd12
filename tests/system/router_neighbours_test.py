#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A router's neighbours: changed addresses, failures, large numbers, and missing ones."""
import os
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import machine, tap  # noqa: E402
from lib.frames import (ARP, BROADCAST, ICMP, ICMPV6, IPV4, IPV6, arp, ethernet, icmp4, icmp6, ipv4,  # noqa: E402
                        ipv6, udp)
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import EAST, HASTY, WEST, answers, cabled, link_local, ping, settle, start  # noqa: E402
from lib.station import Station  # noqa: E402


def test_a_neighbour_changes_its_mac():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut, neighbours=HASTY)
        for address in EAST:
            ping(west, address)
        for end in ("02:00:00:00:00:77", "02:00:00:00:00:78"):
            east.run(f"ip link set eth0 address {end}")
            for address in EAST:
                wait_until(lambda a=address: answers(west, a), f"{address} is found at its new MAC address", 8)
                ping(west, address)
        report = running.stop()
        assert sum(report["drops"].values()) < 200, report["drops"]


def test_a_neighbour_says_its_new_mac():
    """A gratuitous ARP or an unsolicited advertisement takes effect at once."""
    with Lab() as lab:
        west, dut, east = cabled(lab, kernels=False)
        running = start(lab, dut)
        with Station(west, "eth0", WEST) as w, Station(east, "eth0", EAST) as e:
            for router in ("10.0.1.1", "2001:db8:1::1"):
                w.introduce(router)
            for router in ("10.0.2.1", "2001:db8:2::1"):
                e.introduce(router)
            other = b"\2\0\0\0\0\x99"
            e.send([ethernet(BROADCAST, other, ARP, arp(1, other, EAST[0], bytes(6), EAST[0]))])
            e.ping("2001:db8:2::1")
            to = next(iter(w.macs.values()))
            w.send([ethernet(to, w.mac, IPV4, ipv4(WEST[0], EAST[0], udp(b"moved")))])
            wait_until(lambda: e.frames, "the packet arrives")
            assert e.frames[-1][:6] == other, e.frames[-1].hex()
        running.stop()


def test_a_neighbour_vanishes_and_comes_back():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut, neighbours=HASTY)
        for address in EAST:
            ping(west, address)
        east.run("ip addr flush dev eth0")
        for address, said in ((EAST[0], "From 10.0.1.1 icmp_seq=1 Destination Host Unreachable"),
                              (EAST[1], "From 2001:db8:1::1 icmp_seq=1 Destination unreachable: Address unreachable")):
            wait_until(lambda a=address: "From" in ping(west, a, check=False, count=1, wait=1).stdout,
                       f"{address} is given up")
            assert said in ping(west, address, check=False, count=1, wait=1).stdout
        east.run("ip addr add 10.0.2.2/24 dev eth0")
        east.run("ip addr add 2001:db8:2::2/64 dev eth0 nodad")
        east.run("ip route add default via 10.0.2.1")
        east.run("ip -6 route replace default via 2001:db8:2::1")
        for address in EAST:
            wait_until(lambda a=address: answers(west, a), f"{address} is back")
        report = running.stop()
        assert report["drops"]["neighbour_failed"] >= 4, report["drops"]


def test_a_gateway_vanishes_and_comes_back():
    """The route stays when its next hop is unreachable."""
    with Lab() as lab:
        west, dut, east = cabled(lab, kernels=False)
        running = start(lab, dut, [{"to": "10.9.0.0/16", "via": EAST[0]}, {"to": "2001:db8:9::/48", "via": EAST[1]}],
                        neighbours=HASTY)
        with Station(west, "eth0", WEST) as w, Station(east, "eth0", EAST) as e:
            to = w.introduce("10.0.1.1")
            w.introduce("2001:db8:1::1")
            packets = [ethernet(to, w.mac, IPV4, ipv4(WEST[0], "10.9.0.1", udp(b"x"))),
                       ethernet(to, w.mac, IPV6, ipv6(WEST[1], "2001:db8:9::1", udp(b"x")))]

            def arrive():
                before = len(e.frames)
                w.send(packets)
                settle(0.05)
                return len(e.frames) == before + 2

            for _ in range(2):
                e.silent = False
                wait_until(arrive, "packets arrive by the gateway")
                e.silent = True
                wait_until(lambda: not arrive(), "the gateway is given up")
                for _ in range(10):  # its multicast solicitations have no answer either
                    arrive()
            e.silent = False
            wait_until(arrive, "packets arrive by the gateway again")
            settle()
        report = running.stop()
        assert report["drops"]["neighbour_failed"] > 0 and not report["drops"].get("no_route"), report["drops"]


def echo4(to, w, address, n):
    return ethernet(to, w.mac, IPV4, ipv4(WEST[0], address, icmp4(8, 0, n.to_bytes(4, "big") + b"hosts"), ICMP))


def echo6(to, w, address, n):
    message = icmp6(WEST[1], address, 128, 0, n.to_bytes(4, "big") + b"hosts")
    return ethernet(to, w.mac, IPV6, ipv6(WEST[1], address, message, ICMPV6))


def test_a_thousand_hosts():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        west.run("ip addr flush dev eth0")
        west.run("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1")
        hosts4 = [f"10.0.2.{n}" for n in range(3, 253)]
        hosts6 = [f"2001:db8:2::{n:x}" for n in range(0x1000, 0x1000 + 750)]
        lines = [f"addr add {a}/32 dev eth0" for a in hosts4] + [f"addr add {a}/128 dev eth0 nodad" for a in hosts6]
        with tempfile.NamedTemporaryFile("w", prefix="turnpike-test-") as batch:
            batch.write("\n".join(lines))
            batch.flush()
            east.run(["ip", "-batch", batch.name])
        running = start(lab, dut)
        with Station(west, "eth0", WEST) as w:
            to = w.introduce("10.0.1.1")
            w.introduce("2001:db8:1::1")
            frames = [echo4(to, w, a, n) for n, a in enumerate(hosts4)] + [echo6(to, w, a, n)
                                                                           for n, a in enumerate(hosts6)]
            for round_ in (1, 2):
                for at in range(0, len(frames), 50):
                    w.send(frames[at:at + 50])
                    w.ping("10.0.1.1")
                wait_until(lambda r=round_: len(replies(w)) == r * len(frames), "every host answers")
        report = running.stop()
        drops = {k: n for k, n in report["drops"].items() if n and not k.startswith("ipv6_destination")}
        assert not drops, (drops, report["punt"])
        known = report["neighbours"]
        assert sum(n for k, n in known.items() if k in ("reachable", "stale", "probe")) >= 1000, known


def replies(w):
    return [f for f in w.frames if (f[12:14], f[23:24]) == (b"\x08\0", b"\1") and f[34] == 0
            or f[12:14] == b"\x86\xdd" and f[20] == ICMPV6 and f[54] == 129]


def test_an_address_that_nobody_has():
    """64 packets wait for it; the rest are dropped with a reason, and finally the waiting ones, too."""
    with Lab() as lab:
        west, dut, east = cabled(lab, kernels=False)
        running = start(lab, dut, neighbours={**HASTY, "retransmit_ms": 250, "negative_ms": 5000}, icmp={"rate": 10000})
        with Station(west, "eth0", WEST) as w, Station(east, "eth0", EAST):
            to = w.introduce("10.0.1.1")
            w.introduce("2001:db8:1::1")
            w.send([ethernet(to, w.mac, IPV4, ipv4(WEST[0], "10.0.2.200", udp(b"x"))) for _ in range(200)])
            w.send([ethernet(to, w.mac, IPV6, ipv6(WEST[1], "2001:db8:2::200", udp(b"x"))) for _ in range(200)])
            wait_until(lambda: len(w.frames) >= 128, "their sender is told")
            settle()
            errors4 = sum(f[12:14] == b"\x08\0" and f[34:36] == b"\3\1" for f in w.frames)
            errors6 = sum(f[12:14] == b"\x86\xdd" and f[54:56] == b"\1\3" for f in w.frames)
            assert (errors4, errors6, len(w.frames)) == (64, 64, 128)
        drops = running.stop()["drops"]
        assert drops["neighbour_queue_full"] == 2 * 136 and drops["neighbour_failed"] == 128, drops


def test_a_scan_of_addresses_that_nobody_has():
    """The number of neighbours is limited, and resolved ones lose nothing."""
    with Lab() as lab:
        west, dut, east = cabled(lab, kernels=False)
        running = start(lab, dut, neighbours={"max_entries": 300, "retransmit_ms": 200, "solicit_rate": 1000000},
                        punt_rate={"resolve": 10000000})
        with Station(west, "eth0", WEST) as w, Station(east, "eth0", EAST) as e:
            to = w.introduce("10.0.1.1")
            w.introduce("2001:db8:1::1")
            settle(1)  # no neighbour is solicited until duplicate address detection ends, and all packets wait
            for router in ("10.0.2.1", "2001:db8:2::1"):
                e.introduce(router)
            scan = [ethernet(to, w.mac, IPV6, ipv6(WEST[1], f"2001:db8:2::5:{n:x}", udp(b"scan"))) for n in range(5000)]
            known = [ethernet(to, w.mac, IPV4, ipv4(WEST[0], EAST[0], udp(b"known"))),
                     ethernet(to, w.mac, IPV6, ipv6(WEST[1], EAST[1], udp(b"known")))]
            rounds = 0
            for at in range(0, len(scan), 50):
                w.send(scan[at:at + 50] + known)
                w.ping("10.0.1.1")
                rounds += 1
            wait_until(lambda: sum(f.endswith(b"known") for f in e.frames) == 2 * rounds, "the known lose nothing", 3)
        report = running.stop()
        drops = report["drops"]
        machine.judge(drops["neighbour_limit"] > 3000, f"the scan was slower than neighbours are given up: {drops}")
        given_up = sum(drops[k] for k in ("neighbour_limit", "neighbour_failed", "stopping") if k in drops)
        assert given_up == 5000, drops


def test_stops_while_packets_wait():
    with Lab() as lab:
        west, dut, _east = cabled(lab, kernels=False)
        running = start(lab, dut)
        with Station(west, "eth0", WEST) as w:
            to = w.introduce("10.0.1.1")
            w.send([ethernet(to, w.mac, IPV4, ipv4(WEST[0], f"10.0.2.{n}", udp(b"x"))) for n in range(10, 60)])
            w.ping("10.0.1.1")
        assert running.stop()["drops"]["stopping"] == 50


def test_an_address_that_somebody_has_is_not_answered_for():
    """Duplicate address detection (RFC 4862 section 5.4): another node had the address before."""
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        west.run("ip addr add 2001:db8:1::1/128 dev eth0 nodad")
        running = start(lab, dut)
        running.wait_for("address 2001:db8:1::1 is used by")
        said = running.output()
        assert "10.0.1.1 is used" not in said and "2001:db8:2::1 is used" not in said, said
        west.run("ip addr del 2001:db8:1::1/128 dev eth0")
        assert not answers(west, "2001:db8:1::1")
        # Solicitations for our other addresses are answered.
        router = socket.inet_ntop(socket.AF_INET6, link_local(dut.mac("w0")))
        west.run(f"ip -6 route replace default via {router} dev eth0")
        ping(west, "2001:db8:2::1")
        ping(west, "10.0.1.1")
        running.stop()


def test_groups_are_reported():
    """MLDv2 (RFC 3810): at link up, once more, and on a router's query."""
    with Lab() as lab:
        west, dut, _east = cabled(lab, kernels=False)
        listener = west.raw("eth0")
        running = start(lab, dut)
        all_nodes, querier = bytes.fromhex("ff02" + "00" * 13 + "01"), bytes.fromhex("fe80" + "00" * 13 + "09")
        solicited = bytes.fromhex("ff0200000000000000000001ff000001")  # of 2001:db8:1::1

        def reports(record, seconds, at_most=99):
            """Number of reports within this time, or until the maximum; their records are of that type and contain our
            groups."""
            got, end = 0, time.monotonic() + seconds
            while got < at_most and time.monotonic() < end:
                frame = receive_frame(listener, 0.2)
                if frame is None or frame[:6] != bytes.fromhex("333300000016") or frame[62] != 143:
                    continue
                records = frame[70:]
                groups = {records[n + 4:n + 20] for n in range(0, len(records), 20)}
                assert solicited in groups and all_nodes not in groups, frame.hex()
                assert {records[n] for n in range(0, len(records), 20)} == {record}, frame.hex()
                got += 1
            return got

        assert reports(4, 5, at_most=2) == 2
        within_ms = 1000
        body = within_ms.to_bytes(2, "big") + bytes(22)
        router_alert = bytes((ICMPV6, 0, 5, 2, 0, 0, 1, 0))
        query = ipv6(querier, all_nodes, router_alert + icmp6(querier, all_nodes, 130, 0, body), next_header=0, hops=1)
        for _ in range(5):
            listener.send(ethernet(bytes.fromhex("333300000001"), bytes.fromhex("020000000009"), IPV6, query))
        # RFC 3810 section 6.2: a pending earlier report answers the later queries, too.
        answers_to_five = reports(2, within_ms / 1000 + 0.5)
        assert answers_to_five == 1, answers_to_five
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
