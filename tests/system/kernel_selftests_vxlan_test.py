#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Linux's own tests of VXLAN (tools/testing/selftests/net/forwarding: vxlan_bridge_*.sh, vxlan_reserved.sh), run against
turnpike: their topologies (tests/lib/vxlan_selftests.py) and checks, by our own runner. doc/kernel-selftests.md has a row
for each case here, and lists the cases that are left out, with reasons."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.frames import BROADCAST, ethernet, mac  # noqa: E402
from lib.hosts import receive_frame, wait_until  # noqa: E402
from lib.kernel_selftests import Cases  # noqa: E402
from lib.routed import ping  # noqa: E402
from lib.vxlan_selftests import NOBODY, OUTER, Flat, Vlans, traffic_class  # noqa: E402

case = Cases()
ADDRESS = {4: "192.0.2.{}", 6: "2001:db8:1::{}"}


def reaches(t, to_mac, wanted, vlan=None):
    """Ten packets of h1's arrive this often at each of the topology's places."""
    seen = t.reach(t.places, to_mac, vlan)
    assert seen == [10 * n for n in wanted], (seen, wanted)


def known(t, port, station=NOBODY, **where):
    return (station.hex(":"), port) in t.stations(**where)


def says_it_is_there(t, leaf, device, port, vlan=None):
    """A station behind a leaf's device sends a broadcast, and the bridge gets time to learn it, or not."""
    t.wire(t.leaves[leaf], device).send(ethernet(BROADCAST, NOBODY, 0x88B5, bytes(46)))
    before, end = False, time.monotonic() + 0.5
    while not before and time.monotonic() < end:
        before = known(t, port, **({"vlan": vlan} if vlan else {}))
        time.sleep(0.01)
    return before


# vxlan_bridge_1d.sh and its variants: a bridge, a VNI, two VTEPs.

def pings(test, family):
    @case(test, f"ping_ipv{family}: local->local, local->remote 1, local->remote 2")
    def goes(t):
        for n in (2, 3, 4):
            ping(t.hosts[1], ADDRESS[family].format(n))


def floods(test, when=""):
    @case(test, f"flood{when}")
    def to_all(t):
        reaches(t, NOBODY, (1, 1, 1))


def unicasts(test, when=""):
    for place, name in enumerate(("local MAC", "remote MAC 1", "remote MAC 2")):
        @case(test, f"{name} unicast{when}")
        def to_one(t, place=place):
            entry = {"bridge": "lan", "mac": t.macs[place].hex(":")}
            t.change({"add": {"fdb": {**entry, "port": ("p2", "leaf1", "leaf2")[place]}}})
            try:
                reaches(t, t.macs[place], [int(n == place) for n in range(3)])
            finally:
                t.change({"del": {"fdb": entry}})


def reapplies(test):
    @case(test, "reapply_config: tunnels and the address under them go, and come again")
    def again(t):
        names = [tunnel["name"] for tunnel in t.tunnels]
        address = {"port": "up", "address": t.up()[0]}
        to = "0.0.0.0/0" if t.family == 4 else "::/0"
        t.change(*({"del": {"member": {"bridge": "lan", "port": n}}} for n in names),
                 *({"del": {"tunnel": {"name": n}}} for n in names), {"del": {"route": {"to": to}}},
                 {"replace": {"address": {"port": "up", "addresses": ["203.0.113.1/30"]}}})
        reaches(t, NOBODY, (1, 0, 0))
        t.change({"replace": {"address": {"port": "up", "addresses": [address["address"]]}}},
                 {"add": {"route": {"to": to, "via": OUTER[t.family]["up"][1]}}},
                 *({"add": {"tunnel": tunnel}} for tunnel in t.tunnels),
                 *({"add": {"member": {"bridge": "lan", "port": n}}} for n in names))


def outer_headers(test):
    @case(test, "envelope TTL")
    def ttl(t):
        l3 = t.outside(t.macs[1], 0)
        assert l3[8 if t.family == 4 else 7] == 99, l3.hex()  # one router on the way

    @case(test, "envelope TOS inheritance")
    def tos(t):
        assert [traffic_class(t.outside(t.macs[1], tos)) for tos in (0x14, 0x18)] == [0x14, 0x18]

    for inner in range(4):
        # Linux copies an inner CE mark as ECT(0) (RFC 3168's full functionality); RFC 6040's normal mode copies it as CE.
        @case(test, f"ECN encap: {inner:#04x}->{inner:#04x}")
        def mark(t, inner=inner):
            assert traffic_class(t.outside(t.macs[1], inner)) == inner


# RFC 6040 figure 4, by inner and outer mark; None: dropped.
DECAPSULATED = ((0, 0, 0, None), (1, 1, 1, 3), (2, 1, 2, 3), (3, 3, 3, 3))


def decapsulation(test):
    for inner, row in enumerate(DECAPSULATED):
        for outer, wanted in enumerate(row):
            @case(test, f"ECN decap: {outer:02x}/{inner:02x}->{'error' if wanted is None else f'{wanted:#04x}'}")
            def out(t, inner=inner, outer=outer, wanted=wanted):
                is_now = t.inside(inner, outer)
                assert is_now == wanted, is_now


def learning(test):
    @case(test, "flood before learning")
    def before(t):
        reaches(t, NOBODY, (1, 1, 1))

    @case(test, "show learned FDB entry")
    def shown(t):
        assert says_it_is_there(t, 1, "vx", "leaf1")

    @case(test, "learned FDB entry")
    def used(t):
        reaches(t, NOBODY, (0, 1, 0))

    @case(test, "deletion of learned FDB entry")
    def deleted(t):
        assert t.operator.result("flush", what="fdb", mac=NOBODY.hex(":"))["flushed"] == 1
        reaches(t, NOBODY, (1, 1, 1))

    @case(test, "Ageing of learned FDB entry")
    def aged(t):
        assert says_it_is_there(t, 1, "vx", "leaf1")
        reaches(t, NOBODY, (0, 1, 0))

        def gone():
            t.wire(t.hosts[1], "eth0").send(t.echo(b"ageing", NOBODY))  # sending to a station does not refresh its FDB entry
            return not known(t, "leaf1")
        began = time.monotonic()
        wait_until(gone, "it is forgotten", 20)
        assert time.monotonic() - began > 8, "ageing_s is 10"
        reaches(t, NOBODY, (1, 1, 1))

    @case(test, "learning toggling on bridge port")
    def toggled(t):
        for learns in (False, True):
            t.change({"replace": {"member": {"bridge": "lan", "port": "leaf1", "learning": learns}}})
            assert says_it_is_there(t, 1, "vx", "leaf1") == learns


BRIDGES = []
for FAMILY, SUFFIX in ((4, ""), (6, "_ipv6")):
    FULL, OTHER_PORT = f"vxlan_bridge_1d{SUFFIX}", f"vxlan_bridge_1d_port_8472{SUFFIX}"
    BRIDGES += [(FULL, FAMILY, 4789), (OTHER_PORT, FAMILY, 8472)]
    for TEST in (FULL, OTHER_PORT):
        pings(TEST, 4)
        if FAMILY == 6:
            pings(TEST, 6)
    floods(FULL)
    if FAMILY == 4:
        @case(FULL, "flood, unresolved FDB entry")
        def unresolved(t):
            extra = {**t.tunnels[0], "name": "nowhere", "remote": "198.51.100.1"}
            t.change({"add": {"tunnel": extra}}, {"add": {"route": {"to": "198.51.100.1/32", "type": "unreachable"}}},
                     {"add": {"member": {"bridge": "lan", "port": "nowhere"}}})
            reaches(t, NOBODY, (1, 1, 1))
            t.change({"del": {"member": {"bridge": "lan", "port": "nowhere"}}}, {"del": {"tunnel": {"name": "nowhere"}}})
    unicasts(FULL)
    outer_headers(FULL)
    decapsulation(FULL)
    reapplies(FULL)

    @case(FULL, "ping, behind reapply_config")
    def ping_again(t):
        for n in (2, 3, 4):
            for family in (4, 6):
                ping(t.hosts[1], ADDRESS[family].format(n))
    floods(FULL, ", behind reapply_config")
    unicasts(FULL, ", behind reapply_config")
    if FAMILY == 4:
        learning(FULL)


# vxlan_bridge_1q.sh and its variants: VLANs and their VNIs.

REMOTE = {10: "192.0.2.{}", 20: "198.51.100.{}"}


def of_vlan(vlan, local, one, two):
    """Packet counts at h2, and at leaf 1's and leaf 2's devices of VLANs 10 and 20."""
    return (local, one, 0, two, 0) if vlan == 10 else (local, 0, one, 0, two)


def answers_tagged(t, vlan, leaf):
    """h1's echo request in a VLAN is answered by a leaf, in that VLAN."""
    device = f"vx{vlan}"
    wire, mark = t.wire(t.hosts[1], "eth0"), t.mark()
    wire.send(t.echo(mark, mac(t.leaves[leaf].mac(device)), vlan=vlan, source=REMOTE[vlan].format(1),
                     to=REMOTE[vlan].format(leaf + 2), inner=4))
    while (frame := receive_frame(wire)) is not None:
        if mark in frame and frame[12:14] == b"\x81\0":
            assert frame[14:16] == vlan.to_bytes(2, "big") and frame[38] == 0, frame.hex()
            return
    raise AssertionError(f"leaf {leaf} does not answer in VLAN {vlan}")


def of_vlans(test):
    for vlan in (10, 20):
        @case(test, f"local->local vid {vlan}")
        def local(t, vlan=vlan):
            wire, mark = t.wire(t.hosts[2], "eth0"), t.mark()
            t.wire(t.hosts[1], "eth0").send(t.echo(mark, mac(t.hosts[2].mac("eth0")), vlan=vlan))
            while mark not in (frame := receive_frame(wire)):
                pass
            assert frame[12:16] == b"\x81\0" + vlan.to_bytes(2, "big"), frame.hex()

        for leaf in (1, 2):
            @case(test, f"local->remote {leaf} vid {vlan}")
            def remote(t, vlan=vlan, leaf=leaf):
                answers_tagged(t, vlan, leaf)


def floods_in_vlans(test, when=""):
    for vlan in (10, 20):
        @case(test, f"flood vlan {vlan}{when}")
        def to_all(t, vlan=vlan):
            reaches(t, NOBODY, of_vlan(vlan, 1, 1, 1), vlan)

        for place, name in enumerate(("local MAC", "remote MAC 1", "remote MAC 2")):
            @case(test, f"{name} unicast vlan {vlan}{when}")
            def to_one(t, vlan=vlan, place=place):
                device, port = (("eth0", "p2"), (f"vx{vlan}", f"leaf1-{vlan}"), (f"vx{vlan}", f"leaf2-{vlan}"))[place]
                to = mac((t.hosts[2], t.leaves[1], t.leaves[2])[place].mac(device))
                entry = {"bridge": "lan", "mac": to.hex(":"), "vlan": vlan}
                t.change({"add": {"fdb": {**entry, "port": port}}})
                try:
                    reaches(t, to, of_vlan(vlan, *(int(n == place) for n in range(3))), vlan)
                finally:
                    t.change({"del": {"fdb": entry}})


def members(t, what, *names):
    for name in names:
        entry = t.member(name) if what == "add" else {"port": name}
        t.change({what: {"member": {"bridge": "lan", **entry}}})


def vlans_learn(test):
    for vlan in (10, 20):
        @case(test, f"learning vlan {vlan}: before, shown, used, deleted, toggled")
        def learns(t, vlan=vlan):
            port = f"leaf1-{vlan}"
            reaches(t, NOBODY, of_vlan(vlan, 1, 1, 1), vlan)
            assert says_it_is_there(t, 1, f"vx{vlan}", port, vlan)
            reaches(t, NOBODY, of_vlan(vlan, 0, 1, 0), vlan)
            assert t.operator.result("flush", what="fdb", mac=NOBODY.hex(":"), vlan=vlan)["flushed"] == 1
            reaches(t, NOBODY, of_vlan(vlan, 1, 1, 1), vlan)
            for is_on in (False, True):
                t.change({"replace": {"member": {"bridge": "lan", **t.member(port), "learning": is_on}}})
                assert says_it_is_there(t, 1, f"vx{vlan}", port, vlan) == is_on

    @case(test, "Ageing of learned FDB entry, vlan 10 and 20")
    def age(t):
        for vlan in (10, 20):
            assert says_it_is_there(t, 1, f"vx{vlan}", f"leaf1-{vlan}", vlan)
        began = time.monotonic()
        wait_until(lambda: not any(known(t, f"leaf1-{vlan}") for vlan in (10, 20)), "both are forgotten", 20)
        assert time.monotonic() - began > 8, "ageing_s is 10"

    @case(test, "flood after vlan add")
    def add(t):
        t.change({"replace": {"member": {"bridge": "lan", **t.trunks[0], "trunks": [10, 20, 30]}}})
        reaches(t, NOBODY, of_vlan(10, 1, 1, 1), 10)

    @case(test, "flood after vlan delete")
    def delete(t):
        members(t, "del", "leaf1-10", "leaf2-10")
        reaches(t, NOBODY, of_vlan(10, 1, 0, 0), 10)

    @case(test, "flood after vlan re-add")
    def readd(t):
        members(t, "add", "leaf1-10", "leaf2-10")
        reaches(t, NOBODY, of_vlan(10, 1, 1, 1), 10)


TRUNKS = []
for FAMILY, SUFFIX in ((4, ""), (6, "_ipv6")):
    FULL, OTHER_PORT = f"vxlan_bridge_1q{SUFFIX}", f"vxlan_bridge_1q_port_8472{SUFFIX}"
    TRUNKS += [(FULL, FAMILY, 4789), (OTHER_PORT, FAMILY, 8472)]
    of_vlans(FULL)
    of_vlans(OTHER_PORT)
    floods_in_vlans(FULL)
    if FAMILY == 4:
        vlans_learn(FULL)


# vxlan_reserved.sh: each reserved bit of the VXLAN header (RFC 7348) separately.

RESERVED = [bit for bit in range(64) if bit != 4 and not 32 <= bit < 56]  # 0: the first one on the wire


def arrive(t, bits):
    """Number of packets with one of these bits set (None: no bit) that h1 receives, and that are counted as reserved."""
    wire, mark, before = t.wire(t.hosts[1], "eth0"), t.mark(), t.drops("vxlan_reserved")
    frame = t.echo(mark, t.h1_mac, source="192.0.2.3", to="192.0.2.1")
    frame = frame[:6] + mac("00:11:22:33:44:55") + frame[12:]
    for bit in bits:
        t.send_tunnelled(frame, header=0x08 << 56 | (0 if bit is None else 1 << (63 - bit)))
    last = ethernet(BROADCAST, frame[6:12], 0x88B5, b"last" + mark + bytes(46))
    t.send_tunnelled(last)
    came = 0
    while (frame := receive_frame(wire)) is not None and b"last" + mark not in frame:
        came += mark in frame
    assert frame is not None, "the last one did not come"
    return came, t.drops("vxlan_reserved") - before


for IGNORES in (False, True):
    MODE = f"ignore_reserved: {str(IGNORES).lower()}"

    @case("vxlan_reserved", f"{MODE}: clean packets")
    def clean(t, ignores=IGNORES):
        t.change({"replace": {"tunnel": {**t.tunnels[0], "ignore_reserved": ignores}}})
        assert arrive(t, [None] * 10) == (10, 0)

    @case("vxlan_reserved", f"{MODE}: each of 39 bits, packets and drops")
    def mangled(t, ignores=IGNORES):
        seen = arrive(t, RESERVED)
        assert seen == ((39, 0) if ignores else (0, 39)), seen


def test_bridges():
    for test, family, udp_port in BRIDGES:
        case.run((test,), lambda lab, f=family, p=udp_port: Flat(lab, f, p))


def test_vlans():
    for test, family, udp_port in TRUNKS:
        case.run((test,), lambda lab, f=family, p=udp_port: Vlans(lab, f, p))


def test_reserved():
    case.run(("vxlan_reserved",), Flat)


def test_the_document_has_every_case():
    case.are_the_rows(lambda test: re.match("vxlan_(bridge|reserved)", test))


if __name__ == "__main__":
    tap.main(globals())
