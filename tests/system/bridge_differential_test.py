#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same frames through turnpike's bridges and through others: Linux's, which like ours without VLAN filtering ignores
tags, and Open vSwitch's in each of its VLAN modes. The output of every port is compared byte by byte. A
difference must be of a kind that doc/linux-differences.md explains.

Each source is announced from its port first, and both bridges get time to learn it, so that their treatment of the
following frames does not depend on their speed."""
import collections
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import bridge_differences, linux_differences, tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import LONG, Turnpike  # noqa: E402
from lib.frames import mac  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.open_vswitch import OpenVswitch  # noqa: E402
from lib.switched import EVERYBODY, TEST_TYPE, Wires, compare, numbered, runt, station  # noqa: E402

TIMES = 10 if LONG else 1  # as many rounds
OWN = bridge_differences.OWN
STICKY, BEHIND_LOCK, UNLEARNT, STRANGER, NOBODY = (station(n) for n in (20, 21, 40, 50, 99))
SIZES = ((60, 8), (22, 1), (41, 1), (64, 1), (590, 2), (1514, 2), (1518, 1), (1702, 1))
RESERVED = [bytes((1, 0x80, 0xC2, 0, 0, n)) for n in (*range(16), 0x10, 0x20, 0x21)]
GROUPS = [EVERYBODY, bytes((1, 0, 0x5E, 1, 2, 3)), bytes((0x33, 0x33, 0, 0, 0, 9)), bytes((3, 0, 0, 0, 0, 1))]


def start(lab, mtus, bridge):
    """turnpike with a port on each cable; (running, operator, wires)."""
    dut = lab.host("dut", True)
    wires = Wires(lab, "far", dut, mtus)
    folder = tempfile.TemporaryDirectory(prefix="turnpike-bridge-")
    lab.cleanups.append(folder.cleanup)
    path = os.path.join(folder.name, "control.sock")
    ports = [{"name": f"p{n}", "device": f"net_xsk{n},iface=p{n}", "mtu": mtu, "descriptors": 512}
             for n, mtu in enumerate(mtus)]
    running = Turnpike(lab, dut, {
        "eal": {"args": "-l 0-1 --no-pci --in-memory", "hugepages": "optional"}, "ports": ports,
        "control": {"socket": path}, "bridges": [bridge]})
    return running, Operator(path), wires


class Learnt:
    """Waits until turnpike has learned the announced sources."""

    def __init__(self, operator):
        self.operator = operator

    def wait_for(self, places):
        """places: {(MAC address, VLAN or 0): port number}"""
        def missing():
            known = {(mac(s["mac"]), s.get("vlan") or 0): s["port"] for s in self.operator.show("fdb")["fdb"]}
            return {k: (p, known.get(k)) for k, p in places.items() if known.get(k) != f"p{p}"}
        wait_until(lambda: not missing(), lambda: f"all are learnt (else: {missing()})", 5)


class Traffic:
    """Random frames, each with a number; subclasses choose addresses and ports."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sent = {}

    def add(self, port, to, source, tags=(), size=60, kind=TEST_TYPE):
        n = len(self.sent) + 1
        self.sent[n] = (port, numbered(n, to, source, tags, size, kind))

    def since(self, n):
        return [self.sent[k] for k in range(n + 1, len(self.sent) + 1)]

    def fresh(self):
        """A new address, not used or requested before."""
        return mac("02:00:00:01") + len(self.sent).to_bytes(2, "big")

    def weighted(self, choices):
        return self.random.choices([c for c, _ in choices], [w for _, w in choices])[0]


class UnawareTraffic(Traffic):
    """p0 and p1 are plain, p2 and p3 isolated from each other, p4 neither learns nor gets unknown unicast, p5 may
    be locked: only BEHIND_LOCK may send there then. STICKY is a static entry behind p1."""
    MTUS, ROUNDS, FRAMES = (1700,) * 6, 16, 120
    SENTINELS = [(port, EVERYBODY + (BEHIND_LOCK if port == 5 else station(200 + port)) + b"\x88\xb5",
                  {o for o in range(6) if o != port and {o, port} != {2, 3}}) for port in range(6)]
    TAGS = (((), 12), (((0x8100, 10),), 2), (((0x8100, 0xE000),), 1), (((0x8100, 4095),), 1), (((0x88A8, 10),), 1),
            (((0x8100, 10), (0x8100, 20)), 1), (((0x88A8, 10), (0x8100, 0x6014)), 1))
    KINDS = ((TEST_TYPE, 8), (0x0800, 1), (0x0806, 1), (0x86DD, 1), (0x8808, 1), (0x8863, 1), (46, 1), (1501, 1))

    def __init__(self, seed, locked):
        super().__init__(seed)
        self.locked = locked
        self.places = {}

    def bridge(self):
        p5 = {"locked": True, "learning": False} if self.locked else {}
        return {"name": "lan", "mac": OWN.hex(":"), "addresses": ["10.99.0.1/24"], "damping": {"moves": 0},
                "members": [{"port": "p0"}, {"port": "p1"}, {"port": "p2", "isolation": 1},
                            {"port": "p3", "isolation": 1}, {"port": "p4", "learning": False, "flood_unknown": False},
                            {"port": "p5", **p5}],
                "fdb": [{"mac": STICKY.hex(":"), "port": "p1"}, {"mac": BEHIND_LOCK.hex(":"), "port": "p5"}]}

    def announce(self):
        for n in range(1, 11):
            if n not in self.places or self.random.random() < 0.3:
                self.places[n] = self.random.randrange(4)
                self.add(self.places[n], self.random.choice([*GROUPS, self.fresh(), OWN, station(n)]), station(n))
        return {(station(n), 0): port for n, port in self.places.items()}

    def traffic(self):
        for _ in range(self.FRAMES):
            n = self.random.randrange(1, 11)
            odd = self.random.random()
            port, source = self.places[n], station(n)
            if odd < 0.04:
                source, port = STICKY, self.random.randrange(6)
            elif odd < 0.08:
                source, port = BEHIND_LOCK, self.random.choice((0, 1, 4, 5, 5))
            elif odd < 0.16:
                port = self.random.choice((4, 5)) if self.locked else 4  # a port that no station moves to
            elif odd < 0.22:
                source, port = self.random.choice(((UNLEARNT, 4), (STRANGER, 5), (station(60), 5)))
            elif odd < 0.25:
                source, port = OWN, self.random.randrange(6)
            elif odd < 0.27:
                source, port = self.random.choice(GROUPS), self.random.randrange(4)
            elif odd < 0.28:
                source, port = bytes(6), 0
            to = self.weighted(((station(self.random.randrange(1, 11)), 10), (self.random.choice(GROUPS), 4),
                                (self.random.choice(RESERVED), 3), (NOBODY, 2), (STICKY, 1), (BEHIND_LOCK, 1),
                                (UNLEARNT, 1), (OWN, 1), (source, 1), (self.fresh(), 1)))
            self.add(port, to, source, self.weighted(self.TAGS), self.weighted(SIZES), self.weighted(self.KINDS))
        for size in range(14, 22):  # a tag that is cut short is dropped by the far end's kernel, too
            for kind in (TEST_TYPE, 0x8100, 0x88A8):
                n = len(self.sent) + 1
                self.sent[n] = self.random.choice((0, 1)), runt(n, self.random.choice((EVERYBODY, STICKY)), kind, size)


def linux_bridge(lab, locked):
    host = lab.host("linux", True)
    wires = Wires(lab, "lfar", host, UnawareTraffic.MTUS)
    host.run(["ip", "link", "add", "br0", "address", OWN.hex(":"), "type", "bridge", "stp_state", "0",
              "mcast_snooping", "0", "forward_delay", "0"])
    if host.run("test -e /proc/sys/net/bridge", check=False).returncode == 0:  # its netfilter modifies packets
        for name in ("iptables", "ip6tables", "arptables"):
            host.run(f"sysctl -qw net.bridge.bridge-nf-call-{name}=0")
    for port in range(6):
        host.run(f"ip link set p{port} master br0")
    host.run(["ip", "link", "set", "br0", "mtu", "1700", "up"])
    for port, options in ((2, "isolated on"), (3, "isolated on"), (4, "learning off flood off"),
                          *([(5, "learning off locked on")] if locked else [])):
        host.run(f"bridge link set dev p{port} {options}")
    host.run(f"bridge fdb add {STICKY.hex(':')} dev p1 master static sticky")
    host.run(f"bridge fdb add {BEHIND_LOCK.hex(':')} dev p5 master static sticky")
    wait_until(lambda: host.run("bridge link").stdout.count("state forwarding") == 6, "Linux's bridge forwards")
    return wires


class VlanTraffic(Traffic):
    """A port of each mode, and a second access port and trunks. p5 is a service-tag port (IEEE 802.1ad)."""
    MTUS, ROUNDS, FRAMES = (1700,) * 8, 8, 350
    TRUNKS = {1: (10, 20, 21, 22), 2: (20,), 3: (20,), 5: (30,), 7: ()}
    MODES = {0: ("access", 10), 1: ("trunk", 0), 2: ("native-untagged", 10), 3: ("native-tagged", 10),
             4: ("dot1q-tunnel", 30), 5: ("trunk", 0), 6: ("access", 20), 7: ("trunk", 0)}
    # By port: (VLAN, tags) of its members.
    HOMES = {0: [(10, ()), (10, ((0x8100, 0xE000),))],
             1: [(v, ((0x8100, 0x4000 | v),)) for v in (10, 20, 21)],
             2: [(10, ()), (20, ((0x8100, 20),))],
             3: [(10, ()), (10, ((0x8100, 0x600A),)), (20, ((0x8100, 20),))],
             4: [(30, ()), (30, ((0x8100, 77),))],
             5: [(30, ((0x88A8, 30),)), (30, ((0x88A8, 30), (0x8100, 77)))],
             6: [(20, ())],
             7: [(v, ((0x8100, v),)) for v in (10, 20, 22)]}
    REACH = {(0, 10): {1, 2, 3, 7}, (1, 10): {0, 2, 3, 7}, (1, 20): {2, 3, 6, 7}, (2, 10): {0, 1, 3, 7},
             (2, 20): {1, 3, 6, 7}, (3, 10): {0, 1, 2, 7}, (3, 20): {1, 2, 6, 7}, (4, 30): {5, 7}, (5, 30): {4, 7},
             (6, 20): {1, 2, 3, 7}, (7, 10): {0, 1, 2, 3}, (7, 20): {1, 2, 3, 6}}
    TAGS = (((), 2), (((0x8100, 0),), 2), (((0x8100, 0x6000),), 1), (((0x8100, 10),), 2), (((0x8100, 20),), 2),
            (((0x8100, 30),), 1), (((0x8100, 99),), 1), (((0x8100, 4095),), 1), (((0x8100, 0xF00A),), 1),
            (((0x88A8, 10),), 1), (((0x88A8, 30),), 1), (((0x88A8, 0),), 1), (((0x8100, 10), (0x8100, 20)), 1),
            (((0x8100, 0), (0x8100, 10)), 1), (((0x88A8, 30), (0x8100, 10)), 1), (((0x8100, 20), (0x88A8, 7)), 1),
            (((0x88A8, 10), (0x88A8, 20), (0x8100, 0x6014)), 1))

    def __init__(self, seed):
        super().__init__(seed)
        self.places = {}
        self.known = {}

    @classmethod
    def bridge(cls):
        members = []
        for port, (mode, vlan) in cls.MODES.items():
            m = {"port": f"p{port}", "mode": mode}
            if vlan:
                m["vlan"] = vlan
            if cls.TRUNKS.get(port):
                m["trunks"] = list(cls.TRUNKS[port])
            if port == 5:
                m["ethertype"] = "802.1ad"
            members.append(m)
        return {"name": "lan", "members": members, "damping": {"moves": 0}, "reserved": {"stp": "drop"}}

    @classmethod
    def sentinels(cls):
        out = []
        for (port, vlan), reached in cls.REACH.items():
            tags = next(tags for v, tags in cls.HOMES[port] if v == vlan)
            head = b"".join(t.to_bytes(2, "big") + tci.to_bytes(2, "big") for t, tci in tags)
            out.append((port, EVERYBODY + station(200 + port) + head + b"\x88\xb5", reached))
        return out

    def announce(self):
        for n in range(1, 15):
            if n not in self.places or self.random.random() < 0.3:
                port = self.random.randrange(8)
                vlan, tags = self.random.choice(self.HOMES[port])
                self.places[n] = port, tags
                self.known[(station(n), vlan)] = port
                self.add(port, self.fresh(), station(n), tags)
        return self.known

    def traffic(self):
        for _ in range(self.FRAMES):
            n = self.random.randrange(1, 15)
            (port, tags), source = self.places[n], station(n)
            odd = self.random.random()
            if odd < 0.4:
                # A source that is no destination, and another one for each number of tags: Open vSwitch's flow cache may ignore
                # the second tag, and a cached flow then also matches frames without one.
                port, tags = self.random.randrange(8), self.weighted(self.TAGS)
                source = station(100 + port + 10 * len(tags))
            elif odd < 0.42:
                source = self.random.choice(GROUPS)
            to = self.weighted(((station(self.random.randrange(1, 15)), 10), (self.random.choice(GROUPS), 4),
                                (self.random.choice(RESERVED), 1), (NOBODY, 2), (self.fresh(), 1)))
            self.add(port, to, source, tags, self.weighted(SIZES))


def open_vswitch(lab):
    host = lab.host("ovs", True)
    wires = Wires(lab, "ofar", host, VlanTraffic.MTUS)
    switch = OpenVswitch(lab, host)
    for port, (mode, vlan) in VlanTraffic.MODES.items():
        columns = {"vlan_mode": mode}
        if vlan:
            columns["tag"] = vlan
        if VlanTraffic.TRUNKS.get(port):
            columns["trunks"] = ",".join(map(str, VlanTraffic.TRUNKS[port]))
        if mode == "dot1q-tunnel":
            columns["other_config:qinq-ethtype"] = "802.1ad"
        switch.add_port(f"p{port}", **columns)
    return switch, wires


def drive(traffic, sides, sentinels, wait_until_learnt):
    """Rounds of announcements and traffic through all sides; [{number: [(port, frame)]}] by side."""
    out = [{} for _ in sides]
    for _ in range(traffic.ROUNDS * TIMES):
        for step in (traffic.announce, traffic.traffic):
            before = len(traffic.sent)
            places = step()
            for side, came in zip(sides, out):
                came.update(side.exchange(traffic.since(before), sentinels))
            wait_until_learnt(places or {})
    return out


def judge(kinds, traffic, out, started, report):
    counts = collections.Counter()
    unexplained = compare(traffic.sent, *out, bridge_differences.judge_of(kinds), counts)
    for kind, count in sorted(counts.items()):
        print(f"# {count:6} {kind}")
    print(f"# {time.monotonic() - started:.0f} s, drops: { {k: v for k, v in report['drops'].items() if v} }")
    assert not unexplained, f"{len(unexplained)} differences:\n" + "\n".join(unexplained[:25])
    assert counts["same, something"] > len(traffic.sent) / 4, counts


def beside_linux(locked):
    started = time.monotonic()
    traffic = UnawareTraffic(1, locked)
    with Lab() as lab:
        running, operator, wires = start(lab, traffic.MTUS, traffic.bridge())
        out = drive(traffic, (wires, linux_bridge(lab, locked)), traffic.SENTINELS, Learnt(operator).wait_for)
        report = running.stop()
    judge(bridge_differences.LINUX, traffic, out, started, report)


def test_without_vlans_as_linux_does():
    beside_linux(locked=False)


def test_a_locked_port_as_linux_has_it():
    beside_linux(locked=True)


def test_with_vlans_as_open_vswitch_does():
    started = time.monotonic()
    traffic = VlanTraffic(1)
    with Lab() as lab:
        switch, theirs = open_vswitch(lab)
        running, operator, wires = start(lab, traffic.MTUS, traffic.bridge())
        learnt = Learnt(operator)

        def both_learnt(places):
            switch.appctl("revalidator/wait")
            learnt.wait_for(places)

        out = drive(traffic, (wires, theirs), traffic.sentinels(), both_learnt)
        report = running.stop()
    judge(bridge_differences.OPEN_VSWITCH, traffic, out, started, report)


def test_the_document_has_every_kind():
    for part, kinds in (("Linux's bridge", bridge_differences.LINUX),
                        ("Open vSwitch", bridge_differences.OPEN_VSWITCH)):
        assert linux_differences.documented(part) == list(kinds), (linux_differences.documented(part), list(kinds))


if __name__ == "__main__":
    tap.main(globals())
