#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Linux's own tests of routing between VXLANs (tools/testing/selftests/net/forwarding: vxlan_asymmetric.sh,
vxlan_symmetric.sh and their IPv6 variants), run against turnpike: VLANs with hosts at both ends, routed at both ends,
by the destination's VNI or by a separate layer 3 VNI. doc/kernel-selftests.md has a row for each case here."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.frames import ARP, BROADCAST, arp, ethernet, mac  # noqa: E402
from lib.hosts import receive_frame, wait_until  # noqa: E402
from lib.kernel_selftests import Cases  # noqa: E402
from lib.routed import ping  # noqa: E402
from lib.vxlan_selftests import Irb  # noqa: E402

case = Cases()
WAYS = ((1, "local->local vid 10->vid 20", 2, 101), (1, "local->remote vid 10->vid 10", 1, 102),
        (2, "local->remote vid 20->vid 20", 2, 102), (1, "local->remote vid 10->vid 20", 2, 102),
        (2, "local->remote vid 20->vid 10", 1, 102))


def ping_all(t):
    for host, _name, network, number in WAYS:
        ping(t.hosts[host], f"10.1.{network}.{number}")
        ping(t.hosts[host], f"2001:db8:{network}::{number}")


def by_router_vni(t):
    """Packets of the layer 3 VNI; None: there is none."""
    return next((u["tx_packets"] for u in t.operator.show("tunnels")["tunnels"] if u["name"] == "vx4001"), None)


def irb(test):
    for family in (4, 6):
        for host, name, network, number in WAYS:
            @case(test, f"ping_ipv{family}: {name}")
            def goes(t, host=host, network=network, number=number, family=family):
                wanted = 3 if number == 102 and network != host else 0
                # Packets routed to the other end, and no others. The routers' own reports (IGMP, MLD), which are repeated
                # within ten seconds, go there, too: the case counts again where one of them came in between.
                for _ in range(3):
                    before = by_router_vni(t)
                    ping(t.hosts[host], f"10.1.{network}.{number}" if family == 4 else f"2001:db8:{network}::{number}")
                    if before is None or (sent := by_router_vni(t) - before) == wanted:
                        return
                raise AssertionError(sent)


def asked(t):
    """h1 sends ARP requests for 10.1.1.102, and gets a reply; the number of requests that reach leaf 1's device."""
    wire, tunnel, me = t.wire(t.hosts[1], "eth0"), t.wire(t.leaves[1], "vx10"), t.h1_mac
    wire.send(ethernet(BROADCAST, me, ARP, arp(1, me, "10.1.1.101", bytes(6), "10.1.1.102")))
    there, answered = mac(t.far[10].mac("eth0")), False
    while not answered and (frame := receive_frame(wire)) is not None:
        answered = frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2" and frame[22:32] == there + bytes((10, 1, 1, 102))
    assert answered, "nobody answers"
    count = 0
    while (frame := receive_frame(tunnel, 0.2)) is not None:
        count += frame[:6] == BROADCAST and frame[12:14] == b"\x08\x06" and frame[38:42] == bytes((10, 1, 1, 102))
    return count


def suppresses(t, is_on):
    member = {"port": "vx10", "mode": "access", "vlan": 10, **({"neigh_suppress": True} if is_on else {})}
    t.change({"replace": {"member": {"bridge": "lan", **member}}})


def introduce(t):
    """The station behind the tunnel announces its address."""
    far = mac(t.far[10].mac("eth0"))
    t.wire(t.far[10], "eth0").send(ethernet(BROADCAST, far, ARP, arp(1, far, "10.1.1.102", bytes(6), "10.1.1.102")))


def is_heard(t):
    return any(h["address"] == "10.1.1.102" and h["port"] for h in t.operator.show("neigh-suppress")["bindings"])


def asymmetric(test):
    @case(test, "neigh_suppress: on / neigh exists: no")
    def unknown(t):
        suppresses(t, True)
        assert asked(t) == 1

    @case(test, "neigh_suppress: on / neigh exists: yes")
    def spared(t):
        introduce(t)
        wait_until(lambda: is_heard(t), "it is heard")
        assert asked(t) == 0

    @case(test, "neigh_suppress: off / neigh exists: yes")
    def off(t):
        suppresses(t, False)
        introduce(t)
        assert asked(t) == 1

    @case(test, "neigh_suppress: off / neigh exists: no")
    def off_unknown(t):
        t.operator.result("flush", what="fdb", port="vx10")
        assert asked(t) == 1

    @case(test, "arp_decap")
    def resolved(t):
        # The router's MAC address is the same for all its addresses: a gateway address at both ends gets no replies.
        own = "02:00:00:00:ff:11"
        entries = [{"address": n["address"], "port": n["port"]} for n in t.neighbours]
        t.change(*({"del": {"neighbour": entry}} for entry in entries), {"replace": {"bridge": {**t.bridge, "mac": own}}})
        for n, host in t.hosts.items():
            for address in (f"10.1.{n}.1", f"2001:db8:{n}::1"):
                host.run(f"ip neigh replace {address} lladdr {own} nud permanent dev eth0")
        ping_all(t)
        told = {n["address"]: n["mac"] for n in t.operator.show("neighbours")["neighbours"] if not n["static"]}
        for n, vlan in enumerate((10, 20), 1):
            for address in (f"10.1.{n}.102", f"2001:db8:{n}::102"):
                assert told[address] == t.far[vlan].mac("eth0"), told


ROUTED = []
for FAMILY, SUFFIX in ((4, ""), (6, "_ipv6")):
    for KIND in ("asymmetric", "symmetric"):
        ROUTED.append((f"vxlan_{KIND}{SUFFIX}", FAMILY, KIND == "symmetric"))
        irb(ROUTED[-1][0])
    asymmetric(f"vxlan_asymmetric{SUFFIX}")


def test_routing():
    for test, family, symmetric in ROUTED:
        case.run((test,), lambda lab, f=family, s=symmetric: Irb(lab, f, s))


def test_the_document_has_every_case():
    case.are_the_rows(lambda test: re.match("vxlan_a?symmetric", test))


if __name__ == "__main__":
    tap.main(globals())
