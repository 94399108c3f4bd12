#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Linux's own tests of its router (tools/testing/selftests/net/forwarding: router_multipath.sh,
router_mpath_nh_res.sh, custom_multipath_hash.sh, router_bridge.sh), run against turnpike: their topologies and
checks, by our own runner. doc/kernel-selftests.md has a row for each case here."""
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.frames import IPV4, IPV6, UDP, ethernet, ipv4, ipv6, mac, udp, v4  # noqa: E402
from lib.hosts import wait_until  # noqa: E402
from lib.kernel_selftests import Cases  # noqa: E402
from lib.routed import set_addresses, ping  # noqa: E402

FLOWS = 4096  # Linux's tests send 32,768: every eighth of their ports
TOLERANCE = 0.15  # of the ratio, as theirs
case = Cases()


class Multipath:
    """Host 1 -- router -- two links -- host 2, of router_multipath.sh; the devices behind the links only count packets."""

    def __init__(self, lab):
        self.lab = lab
        self.hosts = {name: lab.host(name, True) for name in ("h1", "dut", "link1", "link2")}
        devices, static = {}, []
        for n, name in enumerate(("h1", "link1", "link2"), 1):
            lab.cable(self.hosts[name], "eth0", self.hosts["dut"], name)
            devices[name] = (f"net_xsk{n},iface={name}", [f"10.0.{n}.1/24", f"2001:db8:{n}::1/64"])
            for address in (f"10.0.{n}.2", f"2001:db8:{n}::2"):
                static.append({"address": address, "mac": self.hosts[name].mac("eth0")})
        self.running = Turnpike(lab, self.hosts["dut"], router_config(
            devices, neighbours={"static": static}, ecmp={"hash": "flow", "seed": 3}))
        self.operator = Operator("/run/turnpike/control.sock")
        interfaces = self.operator.show("interfaces")["interfaces"]
        self.to = mac(next(i["mac"] for i in interfaces if i["name"] == "h1"))
        self.me = mac(self.hosts["h1"].mac("eth0"))
        self.socket = self.hosts["h1"].raw("eth0")
        self.out = [Numbers(self.hosts[name]) for name in ("link1", "link2")]
        wait_until(lambda: all(p["link"] == "up" for p in self.operator.show("ports")["ports"]), "links are up")

    def share(self, weights, hash_by="flow"):
        """Set the routes to host 2 by both links."""
        for to, via in (("198.51.100.0/24", "10.0.{}.2"), ("2001:db8:f::/48", "2001:db8:{}::2")):
            ways = [{"via": via.format(n), "weight": w} for n, w in zip((2, 3), weights)]
            self.operator.result("change", do=[{"replace": {"route": {"to": to, "via": ways}}},
                                               {"set": {"ecmp": {"hash": hash_by}}}])

    def ways(self, frame_of, packets):
        """The numbers of the packets received by each link; a few may be lost where CPUs are short."""
        for counting in self.out:
            counting.clear()
        for n in range(packets):
            self.socket.send(frame_of(n).replace(b"flow....", b"flow" + struct.pack("!I", n)))
            if n % 64 == 63:
                time.sleep(0.001)
        by = [set(), set()]

        def all_came():
            for to, counting in zip(by, self.out):
                to.update(counting.numbers())
            return len(by[0]) + len(by[1]) == packets
        try:
            wait_until(all_came, "all packets come out", 2)
        except AssertionError:
            assert len(by[0]) + len(by[1]) > packets * 0.95, (len(by[0]), len(by[1]), packets)
        return by

    def ratio(self, frame_of, packets=FLOWS):
        """Number of packets received by each link."""
        return [len(numbers) for numbers in self.ways(frame_of, packets)]

    def v4_frame(self, source="192.0.2.2", to="198.51.100.2", ports=(1000, 2000)):
        return ethernet(self.to, self.me, IPV4, ipv4(v4(source), v4(to), udp(b"flow....", *ports)))

    def v6_frame(self, source="2001:db8:e::2", to="2001:db8:f::2", ports=(1000, 2000), label=0):
        return ethernet(self.to, self.me, IPV6, ipv6(source, to, udp(b"flow....", *ports), UDP, flow=label))


class Numbers:
    """The numbers of our datagrams, of either family, that a host receives."""

    def __init__(self, host):
        self.socket = host.raw("eth0")
        self.socket.setblocking(False)

    def numbers(self):
        while True:
            try:
                frame = self.socket.recv(2048)
            except BlockingIOError:
                return
            at = frame.find(b"flow")
            if at >= 0:
                yield struct.unpack("!I", frame[at + 4:at + 8])[0]

    def clear(self):
        list(self.numbers())


def is_as(weights, by):
    """The check of router_multipath.sh: the ratio of the links is off by no more than 15 %."""
    wanted, is_now = weights[1] / weights[0], by[1] / max(1, by[0])
    assert abs(is_now / wanted - 1) <= TOLERANCE, f"{by[0]} and {by[1]} packets, for {weights[0]}:{weights[1]}"


for WEIGHTS in ((1, 1), (2, 1), (11, 45)):
    @case("router_multipath", f"IPv4 ECMP {WEIGHTS[0]}:{WEIGHTS[1]}")
    def shares4(t, weights=WEIGHTS):
        t.share(weights)
        is_as(weights, t.ratio(lambda n: t.v4_frame(ports=(1024, 1 + n * 8))))

    @case("router_multipath", f"IPv6 ECMP {WEIGHTS[0]}:{WEIGHTS[1]}")
    def shares6(t, weights=WEIGHTS):
        t.share(weights)
        is_as(weights, t.ratio(lambda n: t.v6_frame(ports=(1024, 1 + n * 8))))


@case("router_mpath_nh_res", "a group changes its weights: flows move from one side only")
def resilience(t):
    t.share((1, 1))
    before = t.ways(lambda n: t.v4_frame(ports=(1024, 1 + n * 8)), 512)
    t.share((1, 3))
    after = t.ways(lambda n: t.v4_frame(ports=(1024, 1 + n * 8)), 512)
    assert len(before[0] & after[1]) > 64 and not before[1] & after[0], (before, after)


HASHES = [("IPv4 source address", 4, "addresses", lambda t, n: t.v4_frame(source=f"192.0.{2 + n // 250}.{1 + n % 250}"), True),
          ("IPv4 destination address", 4, "addresses", lambda t, n: t.v4_frame(to=f"198.51.100.{1 + n % 250}"), True),
          ("IPv4 source port", 4, "flow", lambda t, n: t.v4_frame(ports=(1 + n * 8, 2000)), True),
          ("IPv4 destination port", 4, "flow", lambda t, n: t.v4_frame(ports=(1000, 1 + n * 8)), True),
          ("IPv4 source port, by addresses", 4, "addresses", lambda t, n: t.v4_frame(ports=(1 + n * 8, 2000)), False),
          ("IPv4 destination port, by addresses", 4, "addresses", lambda t, n: t.v4_frame(ports=(1000, 1 + n * 8)), False),
          ("IPv6 source address", 6, "addresses", lambda t, n: t.v6_frame(source=f"2001:db8:e::{n + 1:x}"), True),
          ("IPv6 destination address", 6, "addresses", lambda t, n: t.v6_frame(to=f"2001:db8:f::{n + 1:x}"), True),
          ("IPv6 flow label", 6, "flow", lambda t, n: t.v6_frame(label=n + 1), True),
          ("IPv6 flow label, by addresses", 6, "addresses", lambda t, n: t.v6_frame(label=n + 1), False),
          ("IPv6 source port", 6, "flow", lambda t, n: t.v6_frame(ports=(1 + n * 8, 2000)), True),
          ("IPv6 destination port", 6, "flow", lambda t, n: t.v6_frame(ports=(1000, 1 + n * 8)), True),
          ("IPv6 source port, by addresses", 6, "addresses", lambda t, n: t.v6_frame(ports=(1 + n * 8, 2000)), False)]
for NAME, _FAMILY, BY, FRAME, BALANCED in HASHES:
    @case("custom_multipath_hash", f"{NAME}: {'shared' if BALANCED else 'one way'}")
    def hashes(t, by=BY, frame=FRAME, balanced=BALANCED):
        t.share((1, 1), by)
        # The check of custom_multipath_hash.sh: 30 to 70 % are alike.
        seen = t.ratio(lambda n: frame(t, n), 512)
        assert (0.3 < seen[0] / sum(seen) < 0.7) if balanced else 0 in seen, seen


class Bridge:
    """Host 1 -- bridge of the router, routing interface, other port -- host 2, of router_bridge.sh."""

    def __init__(self, lab):
        self.h1, self.h2, dut = lab.host("h1"), lab.host("h2"), lab.host("dut", True)
        lab.cable(self.h1, "eth0", dut, "d1")
        lab.cable(self.h2, "eth0", dut, "d2")
        set_addresses(self.h1, 1)
        set_addresses(self.h2, 2)
        config = router_config({"r2": ("net_af_packet1,iface=d2", ["10.0.2.1/24", "2001:db8:2::1/64"])},
                               bridges=[{"name": "lan", "members": [{"port": "b1"}],
                                         "addresses": ["10.0.1.1/24", "2001:db8:1::1/64"]}])
        config["ports"].append({"name": "b1", "device": "net_af_packet0,iface=d1"})
        self.running = Turnpike(lab, dut, config)
        wait_until(lambda: self.h1.run("ping -n -c 1 -W 1 2001:db8:2::2", check=False).returncode == 0, "IPv6 goes")


@case("router_bridge", "ping_ipv4")
def ping4(t):
    ping(t.h1, "10.0.2.2")


@case("router_bridge", "ping_ipv6")
def ping6(t):
    ping(t.h1, "2001:db8:2::2")


def test_multipath():
    case.run(("router_multipath", "router_mpath_nh_res", "custom_multipath_hash"), Multipath)


def test_bridge():
    case.run(("router_bridge",), Bridge)


def test_the_document_has_every_case():
    case.are_the_rows(lambda test: not test.startswith("vxlan"))


if __name__ == "__main__":
    tap.main(globals())
