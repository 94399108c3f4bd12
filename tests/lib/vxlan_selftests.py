# SPDX-License-Identifier: BSD-3-Clause
"""The topologies of Linux's VXLAN tests (tools/testing/selftests/net/forwarding: vxlan_*.sh), with turnpike as their
switch; the leaves behind its tunnels are kernels with vxlan devices.

  h1, h2 -- p1, p2 | turnpike, bridge lan | up -- spine, a router -- leaf 1, leaf 2: hosts are on their vxlan devices
"""
import os
import struct

from lib.control_socket import Operator
from lib.dut import Turnpike
from lib.frames import BROADCAST, ICMP, ICMPV6, IPV4, IPV6, VLAN, ethernet, icmp4, icmp6, ipv4, ipv6, mac, tag
from lib.hosts import receive_frame

OUTER = {4: {"up": ("192.0.2.17", "192.0.2.18", 28), 1: ("192.0.2.34", "192.0.2.33", 28), 2: ("192.0.2.50", "192.0.2.49", 28)},
         6: {"up": ("2001:db8:3::1", "2001:db8:3::2", 64), 1: ("2001:db8:4::1", "2001:db8:4::2", 64),
             2: ("2001:db8:5::1", "2001:db8:5::2", 64)}}
EXPERIMENTAL = 0x88B5
NOBODY = mac("de:ad:be:ef:13:37")
HEADERS = {4: 14 + 20 + 8 + 8, 6: 14 + 40 + 8 + 8}  # in front of an encapsulated frame


def traffic_class(l3):
    return l3[1] if l3[0] >> 4 == 4 else (struct.unpack("!H", l3[:2])[0] >> 4) & 0xFF


class Fabric:
    """The common part of the topologies: turnpike, the underlay, and h1's frames, with marks for counting."""

    def __init__(self, lab, family, udp_port=4789, leaves=(1, 2)):
        self.lab, self.family, self.udp_port = lab, family, udp_port
        self.dut, self.spine = lab.host("dut", True), lab.host("spine")
        self.spine.run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        self.hosts = {n: lab.host(f"h{n}") for n in (1, 2)}
        for n, host in self.hosts.items():
            lab.cable(host, "eth0", self.dut, f"p{n}")
        lab.cable(self.spine, "r0", self.dut, "u0", 1600)
        self.address(self.spine, "r0", "up", 1)
        self.leaves = {n: self.leaf(n) for n in leaves}
        self.h1_mac = mac(self.hosts[1].mac("eth0"))
        self.round = 0
        self.wires = {}

    def address(self, host, interface, whose, which):
        *addresses, length = OUTER[self.family][whose]
        host.run(f"ip addr add {addresses[which]}/{length} dev {interface}{' nodad' if self.family == 6 else ''}")

    def leaf(self, n):
        leaf = self.lab.host(f"leaf{n}")
        self.lab.cable(leaf, "eth0", self.spine, f"s{n}", 1600)
        self.address(leaf, "eth0", n, 0)
        self.address(self.spine, f"s{n}", n, 1)
        leaf.run(f"ip route add default via {OUTER[self.family][n][1]}")
        return leaf

    def vxlan(self, n, device, vni, *addresses):
        """A vxlan device of a leaf that floods to turnpike and to the other leaf."""
        leaf, outer = self.leaves[n], OUTER[self.family]
        more = "udp6zerocsumrx" if self.family == 6 else "noudpcsum"
        leaf.run(f"ip link add {device} type vxlan id {vni} local {outer[n][0]} dstport {self.udp_port} {more}")
        for other in ("up", *(o for o in self.leaves if o != n)):
            leaf.run(f"bridge fdb append 00:00:00:00:00:00 dev {device} dst {outer[other][0]}")
        leaf.run(f"ip link set {device} up")
        for address in addresses:
            leaf.run(f"ip addr add {address} dev {device}{' nodad' if ':' in address else ''}")

    def tunnel(self, name, leaf, vni, **more):
        """As in the kernel's tests: TTL 100, TOS inherited, no checksums."""
        outer = OUTER[self.family]
        return {"name": name, "vni": vni, "local": outer["up"][0], "remote": outer[leaf][0], "ttl": 100, "dscp": "inherit",
                "checksum": False, "udp_port": self.udp_port, **more}

    def up(self):
        """Configuration of port `up`: addresses, and routes by it."""
        outer = OUTER[self.family]
        return [f"{outer['up'][0]}/{outer['up'][2]}"]

    def start(self, **config):
        outer = OUTER[self.family]
        socket = f"/tmp/turnpike-selftests-{os.getpid()}.sock"
        device = "net_af_packet{},iface={}"
        ports = [{"name": f"p{n}", "device": device.format(n, f"p{n}"), "descriptors": 512} for n in self.hosts]
        ports.append({"name": "up", "device": device.format(0, "u0"), "descriptors": 512, "mtu": 1600, "addresses": self.up()})
        routes = [{"to": f"{'0.0.0.0' if self.family == 4 else '::'}/0", "via": outer["up"][1]}, *config.pop("routes", [])]
        self.running = Turnpike(self.lab, self.dut, {
            "eal": {"args": "-l 0-1 --no-pci --in-memory", "hugepages": "optional"}, "mempool": {"buffer_size": 2304},
            "control": {"socket": socket}, "ports": ports, "routes": routes, **config})
        self.operator = Operator(socket)

    def change(self, *edits):
        self.operator.result("change", do=list(edits))

    def wire(self, host, interface):
        """A raw socket on an interface, with an empty receive queue."""
        key = (host.name, interface)
        if key not in self.wires:
            self.wires[key] = host.raw(interface)
            self.lab.cleanups.append(self.wires[key].close)
        self.wires[key].setblocking(False)
        try:
            while True:
                self.wires[key].recv(1)
        except BlockingIOError:
            return self.wires[key]

    def mark(self):
        self.round += 1
        return b"selftest" + struct.pack("!I", self.round)

    def echo(self, mark, to_mac, tos=0, vlan=None, source=None, to=None, inner=None):
        """An echo request from h1, or from the given source."""
        if (inner or self.family) == 4:
            packet = ipv4(source or "192.0.2.1", to or "192.0.2.100", icmp4(8, 0, bytes(4) + mark), ICMP, tos=tos)
        else:
            source, to = source or "2001:db8:1::1", to or "2001:db8:1::100"
            packet = ipv6(source, to, icmp6(source, to, 128, 0, bytes(4) + mark), ICMPV6, flow=tos << 20)
        kind = IPV4 if packet[0] >> 4 == 4 else IPV6
        if vlan is not None:
            return ethernet(to_mac, self.h1_mac, VLAN, tag(vlan, kind, packet))
        return ethernet(to_mac, self.h1_mac, kind, packet)

    def reach(self, places, to_mac, vlan=None, packets=10):
        """Number of h1's packets that arrive at each of the places (host, interface). Two broadcast frames in the VLAN follow, one
        after the other: flooded copies can overtake unicast frames only, but the second arrives behind all frames that were
        queued when the first one arrived."""
        wires = [self.wire(*place) for place in places]
        mark, h1 = self.mark(), self.wire(self.hosts[1], "eth0")
        for _ in range(packets):
            h1.send(self.echo(mark, to_mac, vlan=vlan))
        counts = [0] * len(wires)
        waiting = [w for w, (_, device) in zip(wires, places) if vlan is None or device in ("eth0", f"vx{vlan}")]
        for last in (b"first", b"second"):
            frame = ethernet(BROADCAST, self.h1_mac, EXPERIMENTAL, last + mark + bytes(46))
            h1.send(frame if vlan is None else frame[:12] + tag(0x8100, vlan, b"") + frame[12:])
            came = []
            for wire in waiting:
                while (frame := receive_frame(wire, 0.5 if came else 2)) is not None and last + mark not in frame:
                    counts[wires.index(wire)] += mark in frame
                if frame is not None:
                    came.append(wire)
            assert came, "no broadcast frame arrived"
            waiting = came
        for wire in wires:
            if wire not in waiting:
                while (frame := receive_frame(wire, 0.01)) is not None:
                    counts[wires.index(wire)] += mark in frame and b"first" + mark not in frame and b"second" + mark not in frame
        return counts

    def outside(self, to_mac, tos):
        """The outer IP header of a packet from h1, as received by leaf 1."""
        wire, mark = self.wire(self.leaves[1], "eth0"), self.mark()
        self.wire(self.hosts[1], "eth0").send(self.echo(mark, to_mac, tos=tos))
        while (frame := receive_frame(wire)) is not None:
            if mark in frame and len(frame) > HEADERS[self.family]:
                return frame[14:]
        raise AssertionError("it did not come")

    def send_tunnelled(self, frame, outer_tos=0, header=0x08 << 56, vni=1000):
        """A complete VXLAN packet from leaf 1, sent by the spine."""
        outer, leaf = OUTER[self.family], self.leaves[1]
        vxlan = struct.pack("!Q", header | vni << 8) + frame
        datagram = struct.pack("!HHHH", 23456, self.udp_port, 8 + len(vxlan), 0) + vxlan
        if self.family == 4:
            packet, kind = ipv4(outer[1][0], outer["up"][0], datagram, tos=outer_tos), IPV4
        else:
            packet, kind = ipv6(outer[1][0], outer["up"][0], datagram, flow=outer_tos << 20), IPV6
        self.wire(leaf, "eth0").send(ethernet(mac(self.spine.mac("s1")), mac(leaf.mac("eth0")), kind, packet))

    def inside(self, inner_tos, outer_tos):
        """The traffic class of leaf 1's packet as received by h1; None: dropped by ECN decapsulation."""
        wire, mark = self.wire(self.hosts[1], "eth0"), self.mark()
        source, to = ("192.0.2.3", "192.0.2.1") if self.family == 4 else ("2001:db8:1::3", "2001:db8:1::1")
        frame = self.echo(mark, self.h1_mac, tos=inner_tos, source=source, to=to)
        frame = frame[:6] + mac(self.leaves[1].mac("vx")) + frame[12:]
        before = self.drops("ecn_decap")
        self.send_tunnelled(frame, outer_tos)
        for _ in range(50):
            while (frame := receive_frame(wire, 0.02)) is not None:
                if mark in frame:
                    return traffic_class(frame[14:])
            if self.drops("ecn_decap") > before:
                return None
        raise AssertionError("it came nowhere")

    def drops(self, reason):
        return self.operator.show("drops")["drops"].get(reason, 0)

    def stations(self, **where):
        return {(s["mac"], s["port"]) for s in self.operator.show("fdb", **where)["fdb"]}


class Flat(Fabric):
    """vxlan_bridge_1d.sh: one bridge, one VNI."""

    def __init__(self, lab, family=4, udp_port=4789):
        super().__init__(lab, family, udp_port)
        for n, host in self.hosts.items():
            host.run(f"ip addr add 192.0.2.{n}/28 dev eth0")
            host.run(f"ip addr add 2001:db8:1::{n}/64 dev eth0 nodad")
        for n in self.leaves:
            self.vxlan(n, "vx", 1000, f"192.0.2.{n + 2}/28", f"2001:db8:1::{n + 2}/64")
        self.tunnels = [self.tunnel(f"leaf{n}", n, 1000) for n in self.leaves]
        members = [{"port": name} for name in ("leaf1", "leaf2", "p1", "p2")]
        self.start(tunnels=self.tunnels, bridges=[{"name": "lan", "members": members, "ageing_s": 10}])
        self.places = [(self.hosts[2], "eth0"), (self.leaves[1], "vx"), (self.leaves[2], "vx")]
        self.macs = [mac(host.mac(interface)) for host, interface in self.places]


class Vlans(Fabric):
    """vxlan_bridge_1q.sh: VLANs 10 and 20 are VNIs 1000 and 2000; h1 and h2 are on trunks. This kernel has no VLAN devices:
    the test sends and receives h1's and h2's frames."""

    def __init__(self, lab, family=4, udp_port=4789):
        super().__init__(lab, family, udp_port)
        self.tunnels = []
        for n in self.leaves:
            for vlan, network in ((10, "192.0.2.{}"), (20, "198.51.100.{}")):
                self.vxlan(n, f"vx{vlan}", vlan * 100, network.format(n + 2) + "/28")
                self.leaves[n].run(f"ip neigh replace {network.format(1)} lladdr {self.hosts[1].mac('eth0')} nud permanent "
                                   f"dev vx{vlan}")
                self.tunnels.append(self.tunnel(f"leaf{n}-{vlan}", n, vlan * 100))
        self.trunks = [{"port": p, "mode": "trunk", "trunks": [10, 20]} for p in ("p1", "p2")]
        self.start(tunnels=self.tunnels, bridges=[{"name": "lan", "ageing_s": 10, "members": self.trunks
                                                   + [self.member(t["name"]) for t in self.tunnels]}])
        self.places = [(self.hosts[2], "eth0"), *((self.leaves[n], f"vx{vlan}") for n in (1, 2) for vlan in (10, 20))]

    @staticmethod
    def member(name):
        return {"port": name, "mode": "access", "vlan": int(name.split("-")[1])}


class Irb(Fabric):
    """vxlan_asymmetric.sh and vxlan_symmetric.sh: two VLANs with hosts at both ends, routed at both ends by gateways with
    the same address and MAC address; symmetric: between the ends by a separate VNI."""
    GATEWAY = "00:00:5e:00:01:01"
    OURS, THEIRS = "02:00:00:00:ff:01", "02:00:00:00:ff:02"  # the routers' MAC addresses in that VNI

    def __init__(self, lab, family=4, symmetric=False):
        super().__init__(lab, family, leaves=(1,))
        self.vlans = {10: 1, 20: 2}
        self.far = {}
        for vlan, n in self.vlans.items():
            self.far_side(vlan, n)
            self.host(self.hosts[n], n, 101)
            self.host(self.far[vlan], n, 102)
        neighbours, fdb = [], []
        for vlan, n in self.vlans.items():
            here, there = self.hosts[n].mac("eth0"), self.far[vlan].mac("eth0")
            fdb.append({"mac": there, "vlan": vlan, "port": f"vx{vlan}"})
            self.leaves[1].run(f"bridge fdb replace {here} dev vx{vlan} master static")
            for address in (f"10.1.{n}.", f"2001:db8:{n}::"):
                neighbours.append({"address": f"{address}102", "mac": there, "port": f"lan.{vlan}"})
                self.leaves[1].run(f"ip neigh replace {address}101 lladdr {here} nud permanent dev br{vlan}")
        tunnels = [self.tunnel(f"vx{vlan}", 1, 1000 + vlan) for vlan in self.vlans]
        self.bridge = {"name": "lan", "mac": self.GATEWAY, "fdb": fdb,
                       "members": [{"port": f"p{n}", "mode": "access", "vlan": vlan} for vlan, n in self.vlans.items()]
                       + [{"port": f"vx{vlan}", "mode": "access", "vlan": vlan} for vlan in self.vlans],
                       "interfaces": [{"vlan": vlan, "vrf": "green", "addresses": [
                           f"10.1.{n}.11/24", f"10.1.{n}.1/24", f"2001:db8:{n}::11/64", f"2001:db8:{n}::1/64"]}
                           for vlan, n in self.vlans.items()]}
        bridges, routes = [self.bridge], []
        if symmetric:
            tunnels.append(self.tunnel("vx4001", 1, 104001))
            bridges.append({"name": "l3", "mac": self.OURS, "vrf": "green", "members": [{"port": "vx4001"}],
                            "addresses": ["10.255.0.1/24", "2001:db8:ff::1/64"], "fdb": [{"mac": self.THEIRS, "port": "vx4001"}]})
            neighbours = [{"address": via, "port": "l3", "mac": self.THEIRS} for via in ("10.255.0.2", "2001:db8:ff::2")]
            routes = [{"to": to, "via": via, "vrf": "green"} for n in self.vlans.values()
                      for to, via in ((f"10.1.{n}.102/32", "10.255.0.2"), (f"2001:db8:{n}::102/128", "2001:db8:ff::2"))]
            self.far_router()
        self.neighbours = neighbours
        self.start(vrfs=[{"name": "green"}], tunnels=tunnels, bridges=bridges, routes=routes,
                   neighbours={"static": neighbours})

    def host(self, host, network, number):
        for address, length, any_other in ((f"10.1.{network}.", 24, ""), (f"2001:db8:{network}::", 64, "nodad")):
            host.run(f"ip addr add {address}{number}/{length} dev eth0 {any_other}")
            host.run(f"ip neigh replace {address}1 lladdr {self.GATEWAY} nud permanent dev eth0")
            host.run(f"ip route add default via {address}1")

    def far_side(self, vlan, n):
        leaf = self.leaves[1]
        host = self.far[vlan] = self.lab.host(f"h{n + 2}")
        self.lab.cable(host, "eth0", leaf, f"w{vlan}", 1450)
        self.vxlan(1, f"vx{vlan}", 1000 + vlan)
        leaf.run(f"ip link add br{vlan} type bridge mcast_snooping 0")
        leaf.run(f"ip link set br{vlan} address 02:00:00:00:{vlan}:12 up")
        for member in (f"w{vlan}", f"vx{vlan}"):
            leaf.run(f"ip link set {member} mtu 1430 master br{vlan}")
        leaf.run(f"ip addr add 10.1.{n}.12/24 dev br{vlan}")
        leaf.run(f"ip addr add 2001:db8:{n}::12/64 dev br{vlan} nodad")
        leaf.run(f"ip link add gw{vlan} link br{vlan} address {self.GATEWAY} type macvlan mode private")
        leaf.run(f"ip link set gw{vlan} up")
        leaf.run(f"ip addr add 10.1.{n}.1/32 dev gw{vlan}")
        leaf.run(f"ip addr add 2001:db8:{n}::1/128 dev gw{vlan} nodad")
        leaf.run(f"bridge fdb replace {self.GATEWAY} dev br{vlan} self local")
        leaf.run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")

    def far_router(self):
        leaf = self.leaves[1]
        self.vxlan(1, "vx4001", 104001)
        leaf.run(f"ip link set vx4001 address {self.THEIRS}")
        leaf.run(f"bridge fdb replace {self.OURS} dev vx4001 dst {OUTER[self.family]['up'][0]}")
        for n in self.vlans.values():
            for to, via in ((f"10.1.{n}.101/32", "10.255.0.1"), (f"2001:db8:{n}::101/128", "2001:db8:ff::1")):
                leaf.run(f"ip neigh replace {via} lladdr {self.OURS} nud permanent dev vx4001")
                leaf.run(f"ip route add {to} via {via} dev vx4001 onlink")
