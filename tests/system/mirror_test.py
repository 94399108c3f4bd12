#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mirrors: the copies of a port's frames are the frames that its host sent and received, byte by byte."""
import collections
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import frames, tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD, Turnpike  # noqa: E402
from lib.frames import ethernet, ipv4, ipv6, mac, tcp, udp  # noqa: E402
from lib.hosts import Lab, wait_until, with_tag  # noqa: E402
from lib.routed import ping, rewrite  # noqa: E402

SOURCE = b"\x02\0\0\0\0\x77"
SOCKET = f"/tmp/turnpike-mirror-{os.getpid()}.sock"
CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")


def lab_of(lab, hosts, speak=0, **more):
    """Host i is behind port p<i> with its eth0; the first `speak` have IPv6, and send by themselves. Answers (hosts, turnpike, operator)."""
    dut = lab.host("dut", True)
    there = [lab.host(f"h{i}", quiet=i >= speak) for i in range(hosts)]
    ports = [{"name": f"p{i}", "device": f"net_af_packet{i},iface=p{i}", "descriptors": 512} for i in range(hosts)]
    for i, host in enumerate(there):
        lab.cable(host, "eth0", dut, f"p{i}")
    for name, members in more.pop("members", {}).items():
        next(p for p in ports if p["name"] == name).update(members)
    running = Turnpike(lab, dut, {"eal": {"args": "-l 0-1 --no-pci --in-memory", "hugepages": "optional"},
                                  "control": {"socket": SOCKET}, "ports": ports, **more})
    return there, running, Operator(SOCKET)


class Tap:
    """All frames of a host's interface, as on the wire, by direction."""

    def __init__(self, host, interface="eth0"):
        self.socket = host.raw(interface)
        self.socket.setblocking(False)
        self.sent, self.received = [], []

    def read(self):
        while True:
            try:
                frame, extra, _flags, address = self.socket.recvmsg(65536, 1024)
            except BlockingIOError:
                return self
            (self.sent if address[2] == socket.PACKET_OUTGOING else self.received).append(with_tag(frame, extra))


def settle(*taps):
    """Read until nothing has come for a while."""
    quiet_at = time.monotonic() + 0.3
    seen = -1
    while time.monotonic() < quiet_at:
        now = sum(len(t.read().received) + len(t.sent) for t in taps)
        if now != seen:
            seen, quiet_at = now, time.monotonic() + 0.3
        time.sleep(0.01)


def send(host, made):
    """Slowly enough for a busy machine: no ring of the devices overflows."""
    with host.raw("eth0") as sender:
        for n, frame in enumerate(made):
            sender.send(frame)
            if n % 16 == 15:
                time.sleep(0.002)


def forget(operator, *taps):
    """Discard the frames of the start, and return the mirrors' counters so far."""
    settle(*taps)
    for one in taps:
        one.sent.clear()
        one.received.clear()
    return counters(operator)


def counters(operator):
    return {m["name"]: m for m in operator.show("mirrors")["mirrors"]}


def same(ours, theirs, what):
    missing = collections.Counter(theirs) - collections.Counter(ours)
    surplus = collections.Counter(ours) - collections.Counter(theirs)
    assert not missing and not surplus, (
        f"{what}: {len(theirs)} frames, {len(ours)} copies; missing {[f.hex() for f in list(missing)[:3]]}, "
        f"surplus {[f.hex() for f in list(surplus)[:3]]}")


def odd_frames(to, count):
    """Frames of all lengths, many of them dropped by a router."""
    choose = random.Random(7)
    out = []
    for n in range(count):
        size = choose.choice((0, 1, 18, 46, 500, choose.randrange(1400)))
        body = bytes(choose.randrange(256) for _ in range(size))
        packet = choose.choice((
            (0x0800, ipv4("10.0.1.2", "10.0.2.2", udp(body), ident=n)),
            (0x0800, ipv4("10.0.1.2", "10.0.2.2", tcp(body), ident=n, check=n)),
            (0x0800, ipv4("10.0.1.2", "10.0.2.2", udp(body), ident=n, ttl=1)),
            (0x86dd, ipv6("2001:db8:1::2", "2001:db8:2::2", udp(body), flow=n)),
            (0x88b5, n.to_bytes(4, "big") + body),
            (0x8100, frames.tag(choose.randrange(4096), 0x0800, ipv4("10.0.1.2", "10.0.2.2", udp(body), ident=n)))))
        out.append(ethernet(choose.choice((to, to, b"\xff" * 6, b"\x02\0\0\0\x09\x09")), SOURCE, *packet))
    return out


def routed():
    return {"p0": {"addresses": ["10.0.1.1/24", "2001:db8:1::1/64"]},
            "p1": {"addresses": ["10.0.2.1/24", "2001:db8:2::1/64"]}}


def address(hosts):
    for n, host in enumerate(hosts[:2], 1):
        host.run(f"ip addr add 10.0.{n}.2/24 dev eth0")
        host.run(f"ip addr add 2001:db8:{n}::2/64 dev eth0 nodad")
        host.run(f"ip route add default via 10.0.{n}.1")
        host.run(f"ip -6 route add default via 2001:db8:{n}::1")


def scrape(path):
    """{series: value} of a metrics listener at a path."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: turnpike\r\nConnection: close\r\n\r\n")
        text = b"".join(iter(lambda: s.recv(1 << 20), b"")).decode()
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("turnpike_mirror_"))
    return {name: float(value) for name, value in rows}


def test_copies_are_what_the_host_sent_and_received():
    with Lab() as lab:
        path = f"/tmp/turnpike-mirror-metrics-{os.getpid()}.sock"
        hosts, running, operator = lab_of(lab, 4, speak=2, members=routed(), metrics={"listen": f"unix:{path}"}, mirrors=[
            {"name": "all", "ports": ["p0"], "to": "p2"},
            {"name": "sent", "ports": ["p0"], "direction": "out", "to": "p3", "to_vlan": 900}])
        address(hosts)
        host, local, remote = Tap(hosts[0]), Tap(hosts[2]), Tap(hosts[3])
        before = forget(operator, host, local, remote)
        ping(hosts[0], "10.0.2.2")
        ping(hosts[0], "2001:db8:2::2")
        router = mac(hosts[0].run("ip neigh show 10.0.1.1").stdout.split("lladdr ")[1].split()[0])
        send(hosts[0], odd_frames(router, 400))
        settle(host, local, remote)
        assert len(host.sent) > 400 and len(host.received) > 20, (len(host.sent), len(host.received))
        same(local.received, host.sent + host.received, "both directions")
        same(remote.received, [f[:12] + b"\x81\0\x03\x84" + f[12:] for f in host.received], "sent by p0, in VLAN 900")
        # Copies of a direction are in the order of the frames.
        assert [f for f in local.received if f[6:12] == SOURCE] == [f for f in host.sent if f[6:12] == SOURCE]
        def grown():
            shown = counters(operator)
            return {name: {k: shown[name][k] - before[name][k] for k in ("packets", "bytes", "lost")} for name in shown}

        def counted():  # hosts speak at any time: between a look at the counters and one at the taps, too
            at_first = grown()
            settle(host, local, remote)
            return at_first == grown() == {
                "all": {"packets": len(local.received), "bytes": sum(map(len, local.received)), "lost": 0},
                # without the VLAN tag of the copies
                "sent": {"packets": len(remote.received), "bytes": sum(map(len, host.received)), "lost": 0}}

        wait_until(counted, "counters that equal the copies")
        at_least, metrics, at_most = counters(operator)["all"], scrape(path), counters(operator)["all"]
        for kind in ("packets", "bytes"):
            assert at_least[kind] <= metrics[f'turnpike_mirror_copied_{kind}_total{{mirror="all"}}'] <= at_most[kind], metrics
        assert metrics['turnpike_mirror_lost_packets_total{mirror="all"}'] == 0
        report = running.stop()
        assert "mirror_memory" not in report["drops"], report["drops"]


def test_a_vlan_a_sample_and_a_length():
    with Lab() as lab:
        alone = [{"name": f"only-{p}", "members": [{"port": p}]} for p in ("p1", "p2")]
        vlan_7 = [{"port": "p0", "vlan": 7, "addresses": ["10.0.7.1/24"]}]
        hosts, running, operator = lab_of(lab, 4, bridges=alone, interfaces=vlan_7, mirrors=[
            {"name": "seven", "ports": ["p0", "p1"], "direction": "in", "vlan": 7, "to": "p2"},
            {"name": "few", "ports": ["p0"], "direction": "in", "sample": 10, "length": 64, "to": "p3"}])
        vlan, few = Tap(hosts[2]), Tap(hosts[3])
        forget(operator, vlan, few)
        made = [ethernet(b"\xff" * 6, SOURCE, 0x8100, frames.tag(0x2000 | n % 9, 0x88b5, n.to_bytes(4, "big") * 25))
                for n in range(500)]
        send(hosts[0], made)
        settle(vlan, few)
        same(vlan.received, [f for f in made if f[15] == 7], "VLAN 7")
        assert few.received == [f[:64] for f in made[9::10]], len(few.received)
        # One in ten, by name, over a change of the rest.
        assert "1 mirror" in rewrite(running, lambda c: c["mirrors"].pop(0))
        send(hosts[0], made[:100])
        settle(vlan, few)
        assert len(vlan.received) == sum(f[15] == 7 for f in made), "the mirror is gone"
        assert len(few.received) == 60 and operator.show("mirrors")["mirrors"][0]["packets"] == 60
        running.stop()


def test_copies_are_not_mirrored_again():
    """Two ports mirrored to each other, and a bridge that floods to both."""
    with Lab() as lab:
        hosts, running, operator = lab_of(
            lab, 3, bridges=[{"name": "lan", "members": [{"port": "p0"}, {"port": "p1"}, {"port": "p2"}]}],
            mirrors=[{"name": "there", "ports": ["p0"], "to": "p1"}, {"name": "back", "ports": ["p1"], "to": "p0"}])
        taps = [Tap(h) for h in hosts]
        before = forget(operator, *taps)
        made = [ethernet(b"\xff" * 6, SOURCE, 0x88b5, n.to_bytes(4, "big") * 20) for n in range(100)]
        send(hosts[2], made)
        settle(*taps)
        # Each floods to p0 and p1, and each of these is copied to the other port once.
        for tap_of_port in taps[:2]:
            same([f for f in tap_of_port.received if f[6:12] == SOURCE], made * 2, "flooded, and copied")
        assert not [f for f in taps[2].received if f[6:12] == SOURCE]
        assert [m["packets"] - before[name]["packets"] for name, m in counters(operator).items()] == [100, 100]
        report = running.stop()
        assert not set(report["drops"]) - {"stopping"}, report["drops"]


def tshark_rows(frames_of, path, fields):
    """Fields of the packets by tshark, which checks the checksums."""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65536, 1))
        for frame in frames_of:
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    done = subprocess.run(["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T",
                           "fields", "-E", "separator=|",
                           *(w for f in fields for w in ("-e", f))], capture_output=True, text=True, timeout=60, check=True)
    os.unlink(path)
    return [dict(zip(fields, line.split("|"))) for line in done.stdout.splitlines()]


def erspan_rows(frames_of, path):
    return tshark_rows(frames_of, path, ["ip.src", "ip.checksum.status", "gre.proto", "gre.sequence_number", "erspan.version",
                                         "erspan.vlan", "erspan.cos", "erspan.spanid", "erspan.truncated", "eth.src"])


class Collector:
    """A router with two hosts, and a third one that gets the copies, directly and behind a route."""

    def __init__(self, lab, mirrors):
        members = {**routed(), "p2": {"addresses": ["10.0.3.1/24", "2001:db8:3::1/64"], "mtu": 1900,
                                      "device": "net_af_packet2,iface=p2,framesz=2048,blocksz=4096,framecnt=512"}}
        self.hosts, self.running, self.operator = lab_of(
            lab, 3, speak=3, members=members, acl=[{"name": "udp-only", "rules": [{"action": "permit", "protocol": "udp"}]}],
            routes=[{"to": "192.0.2.0/24", "via": "10.0.3.2"}], mirrors=mirrors)
        address(self.hosts)
        self.host = self.hosts[2]
        self.host.run("ip link set eth0 mtu 1900")
        for words in ("addr add 10.0.3.2/24 dev eth0", "addr add 192.0.2.9/32 dev lo", "-6 addr add 2001:db8:3::2/64 dev eth0 nodad"):
            self.host.run(f"ip {words}")

    def link(self, name, what):
        """A tunnel's interface of the collector, by its kernel; none where it has no such type."""
        if self.host.run(f"ip link add {name} type {what}", check=False).returncode != 0:
            return None
        self.host.run(f"ip link set {name} up promisc on")
        return name

    def begin(self, *interfaces):
        """The taps of the mirrored host and of the collector's interfaces, and the counters so far."""
        # The first copies wait for the collector's neighbour entries, or are dropped.
        wait_until(lambda: self.host.run("ping -c 1 -W 1 10.0.3.1", check=False).returncode == 0
                   and self.host.run("ping -c 1 -W 1 2001:db8:3::1", check=False).returncode == 0, "the collector's link")
        ping(self.hosts[0], "10.0.2.2")
        taps = [Tap(self.hosts[0]), Tap(self.host), *(Tap(self.host, one) for one in interfaces if one)]
        return taps, forget(self.operator, *taps)

    def send(self, count):
        router = mac(self.hosts[0].run("ip neigh show 10.0.1.1").stdout.split("lladdr ")[1].split()[0])
        send(self.hosts[0], odd_frames(router, count))


def test_copies_to_a_collector_in_vxlan():
    """By IPv4 through a router in front of the collector, and by IPv6; tshark and Linux read them."""
    if shutil.which("tshark") is None:
        tap.skip("tshark is not installed")
    with Lab() as lab:
        at = Collector(lab, [
            {"name": "four", "ports": ["p0"], "remote": "192.0.2.9", "local": "10.0.3.1", "vni": 5000},
            {"name": "own", "ports": ["p2"], "direction": "out", "remote": "192.0.2.9", "local": "10.0.3.1", "vni": 5001},
            {"name": "six", "ports": ["p0"], "direction": "in", "list": "udp-only", "length": 100,
             "remote": "2001:db8:3::2", "local": "2001:db8:3::1", "vni": 0xFFFFFF, "udp_port": 8472}])
        by_linux = [at.link("vx4", "vxlan id 5000 dstport 4789 local 192.0.2.9 remote 10.0.3.1"),
                    at.link("vx6", "vxlan id 16777215 dstport 8472 local 2001:db8:3::2 remote 2001:db8:3::1")]
        (host, copies, *decapsulated), before = at.begin(*by_linux)
        at.send(200)
        ping(at.host, "10.0.3.1")  # the port that sends the copies sends other packets, too
        settle(host, copies, *decapsulated)
        is_vxlan = lambda f: f[12:14] == b"\x08\0" and f[23] == 17 and f[36:38] == b"\x12\xb5"  # noqa: E731
        by_vni = lambda vni: [f for f in copies.received if is_vxlan(f) and int.from_bytes(f[46:49], "big") == vni]  # noqa: E731
        mine, of_host = by_vni(5000), host.sent + host.received
        same([f[50:] for f in mine], of_host, "in VXLAN over IPv4")
        # The port that sends the copies is mirrored, too, but not its copies.
        assert by_vni(5001) and not [f for f in by_vni(5001) if is_vxlan(f[50:])]
        fields = ["ip.src", "ip.dst", "ip.checksum.status", "ipv6.src", "udp.srcport", "udp.dstport", "udp.checksum",
                  "udp.checksum.status", "vxlan.flags", "vxlan.vni", "eth.src", "eth.dst"]
        rows = tshark_rows(mine, f"/tmp/turnpike-vxlan-{os.getpid()}.pcap", fields)
        assert len(rows) == len(mine)
        for row, frame in zip(rows, mine):
            first = lambda field, n=0: row[field].split(",")[n]  # noqa: E731
            assert (first("ip.src"), first("ip.dst"), first("ip.checksum.status")) == ("10.0.3.1", "192.0.2.9", "1"), row
            assert first("udp.dstport") == "4789" and int(first("udp.srcport")) >= 49152, row
            assert int(first("udp.checksum"), 16) == 0 and int(row["vxlan.flags"], 16) == 0x0800, row
            assert int(row["vxlan.vni"]) == 5000 and mac(first("eth.src", 1)) == frame[56:62], row
            assert mac(first("eth.dst", 1)) == frame[50:56], row
        # A flow has one source port, and flows have several.
        ports = collections.defaultdict(set)
        for row, frame in zip(rows, mine):
            inner = frame[50:]
            if inner[12:14] == b"\x08\0" and inner[23] == 17:
                ports[inner[26:38]].add(row["udp.srcport"].split(",")[0])
        assert ports and all(len(used) == 1 for used in ports.values()), ports
        assert len({row["udp.srcport"].split(",")[0] for row in rows}) > 5
        vxlan6 = [f for f in copies.received if f[12:14] == b"\x86\xdd" and f[20] == 17 and f[56:58] == b"\x21\x18"]
        wanted = [f[:100] for f in host.sent if is_udp(f)]
        same([f[70:] for f in vxlan6], wanted, "in VXLAN over IPv6, by the list, cut")
        for row in tshark_rows(vxlan6, f"/tmp/turnpike-vxlan6-{os.getpid()}.pcap", fields):
            assert row["ipv6.src"].split(",")[0] == "2001:db8:3::1" and row["udp.checksum.status"].split(",")[0] == "1", row
        for number, (link, said) in enumerate(zip(by_linux, (of_host, wanted))):
            if link:
                one = decapsulated[number if all(by_linux) else 0]
                frames_of = collections.Counter(said)
                same([f for f in one.received if f in frames_of], said, f"decapsulated by Linux: {link}")

        def counted():  # hosts speak at any time: between a look at the counters and one at the taps, too
            at_first = counters(at.operator)
            settle(host, copies)
            copied = by_vni(5000)
            return at_first == counters(at.operator) and (
                at_first["four"]["packets"] - before["four"]["packets"],
                at_first["four"]["bytes"] - before["four"]["bytes"]) == (len(copied), sum(len(f) - 50 for f in copied))

        wait_until(counted, "counters that equal the copies")
        shown = counters(at.operator)
        assert shown["six"]["packets"] - before["six"]["packets"] == len(vxlan6)
        assert shown["four"]["unreachable"] == before["four"]["unreachable"] and shown["four"]["lost"] == 0
        assert shown["four"]["vni"] == 5000 and shown["six"]["udp_port"] == 8472 and shown["four"]["session"] is None, shown
        table = subprocess.run([CTL, "--socket", SOCKET, "show", "mirrors"], capture_output=True, text=True, check=True, timeout=30)
        lines = [line.split() for line in table.stdout.splitlines()]
        vnis = {line[0]: line[lines[0].index("vni")] for line in lines[1:] if line and line[0] in shown}
        assert vnis == {name: str(shown[name]["vni"]) for name in shown}, table.stdout
        at.running.stop()


def test_copies_to_a_collector_in_erspan():
    """Type II by IPv4 and type III by IPv6, through a router in front of the collector; tshark and Linux read them."""
    if shutil.which("tshark") is None:
        tap.skip("tshark is not installed")
    with Lab() as lab:
        at = Collector(lab, [
            {"name": "two", "ports": ["p0"], "remote": "192.0.2.9", "local": "10.0.3.1", "session": 1000},
            {"name": "own", "ports": ["p2"], "direction": "out", "remote": "192.0.2.9", "local": "10.0.3.1", "session": 1001},
            {"name": "three", "ports": ["p0"], "direction": "in", "list": "udp-only", "length": 100,
             "remote": "2001:db8:3::2", "local": "2001:db8:3::1", "session": 5, "erspan_type": 3}])
        link = at.link("er0", "erspan seq key 1000 local 192.0.2.9 remote 10.0.3.1 erspan_ver 1 erspan 1")
        (host, copies, *decapsulated), before = at.begin(link)
        at.send(200)
        settle(host, copies)
        erspan = [f for f in copies.received if f[12:14] == b"\x08\0" and f[23] == 47]
        by_session = lambda session: [f for f in erspan if int.from_bytes(f[44:46], "big") & 0x3FF == session]  # noqa: E731
        of_host, mine = collections.Counter(host.sent + host.received), by_session(1000)
        same([f[50:] for f in mine], host.sent + host.received, "type II")
        # The port that sends the copies is mirrored, too, but not its copies.
        assert not [f for f in by_session(1001) if f[50 + 12:50 + 14] == b"\x08\0" and f[50 + 23] == 47]
        rows = erspan_rows(mine, f"/tmp/turnpike-erspan-{os.getpid()}.pcap")
        for row, frame in zip(rows, mine):
            inner = frame[50:]
            tagged = inner[12:14] == b"\x81\0"
            tci = int.from_bytes(inner[14:16], "big") if tagged else 0
            assert (row["ip.src"].split(",")[0], int(row["gre.proto"], 16), int(row["erspan.version"])) == ("10.0.3.1", 0x88BE, 1), row
            assert row["ip.checksum.status"].split(",")[0] == "1", row
            assert int(row["erspan.spanid"]) == 1000 and int(row["erspan.vlan"]) == tci & 0xFFF, (row, tci)
            assert int(row["erspan.cos"]) == tci >> 13 and int(row["erspan.truncated"]) == 0, row
            assert mac(row["eth.src"].split(",")[1]) == inner[6:12], row
        numbers = [int.from_bytes(f[38:42], "big") for f in mine]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "sequence numbers of all copies of the mirror"
        if link:
            settle(*decapsulated)
            same([f for f in decapsulated[0].received if f in of_host], host.sent + host.received, "decapsulated by Linux")
        # Type III: UDP only, cut to 100 bytes.
        third = [f for f in copies.received if f[12:14] == b"\x86\xdd" and f[20] == 47]
        wanted = [f[:100] for f in host.sent if is_udp(f)]
        same([f[74:] for f in third], wanted, "type III by the list")
        for row, frame in zip(erspan_rows(third, f"/tmp/turnpike-erspan3-{os.getpid()}.pcap"), third):
            assert (int(row["gre.proto"], 16), int(row["erspan.version"]), int(row["erspan.spanid"])) == (0x22EB, 2, 5), row
            cut = len(next(f for f in host.sent if f[:100] == frame[74:])) > 100
            assert int(row["erspan.truncated"]) == cut, row
        shown = counters(at.operator)
        assert shown["three"]["packets"] - before["three"]["packets"] == len(third)
        assert shown["two"]["unreachable"] == before["two"]["unreachable"] and shown["two"]["lost"] == 0
        at.running.stop()


def is_udp(frame):
    kind, rest = frame[12:14], frame[14:]
    if kind == b"\x81\0":
        kind, rest = rest[2:4], rest[4:]
    return (kind == b"\x08\0" and rest[9] == 17) or (kind == b"\x86\xdd" and rest[6] == 17)


def test_bad_mirrors_are_refused_by_their_place():
    with Lab() as lab:
        _hosts, running, _operator = lab_of(lab, 3, members=routed(),
                                           bridges=[{"name": "only-p2", "members": [{"port": "p2"}]}])
        base = {"name": "m", "ports": ["p0"], "to": "p2"}
        for wrong, said in (({"to": "p0"}, "copies from 'p0' to itself"), ({"to": "p9"}, "copies to 'p9', which is no port"),
                            ({"ports": ["p8"]}, "copies from 'p8', which is no port"), ({"ports": []}, "names no port"),
                            ({"ports": ["p0", "p0"]}, "names port 'p0' twice"), ({"length": 20}, "not '20'"),
                            ({"sample": 0}, "not '0'"), ({"vlan": 4095}, "not '4095'"), ({"direction": "up"}, "up"),
                            ({"colour": "red"}, "colour"),
                            ({"bridge": "only-p2"}, "either `ports` or `bridge`"), ({"list": "none"}, "not an access list"),
                            ({"remote": "192.0.2.1"}, "either `to` or `remote`"), ({"session": 1024}, "not '1024'"),
                            ({"session": 3}, "has `session`, which needs `remote`"),
                            ({"to": None, "remote": "192.0.2.1"}, "needs `local`"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.9.9.9"}, "not a local address"),
                            ({"to": None, "remote": "10.0.2.1", "local": "10.0.1.1"}, "our own address on 'p1'"),
                            ({"to": None, "remote": "192.0.2.1", "local": "2001:db8:1::1"}, "one family"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.0.1.1", "erspan_type": 4}, "not '4'"),
                            ({"vni": 7}, "has `vni`, which needs `remote`"), ({"udp_port": 8472}, "has `udp_port`, which needs `remote`"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.0.1.1", "udp_port": 8472}, "which needs `vni`"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.0.1.1", "vni": 1 << 24}, "not '16777216'"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.0.1.1", "vni": 0}, "not '0'"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.0.1.1", "vni": 7, "session": 3},
                             "has `session`, which is of ERSPAN, and `vni`, which is of VXLAN"),
                            ({"to": None, "remote": "192.0.2.1", "local": "10.0.1.1", "vni": 7, "erspan_type": 3}, "`erspan_type`")):
            def change(config, members=wrong):
                config["mirrors"] = [{k: v for k, v in {**base, **members}.items() if v is not None}]
            output = rewrite(running, change)
            assert said in output and "turnpike.yaml:" in output, (wrong, output)
        assert "1 mirror" in rewrite(running, lambda c: c.update(mirrors=[base]))
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
