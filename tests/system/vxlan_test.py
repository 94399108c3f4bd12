#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""VXLAN with Linux as peers: leaves are kernels with vxlan devices, behind turnpike's tunnels over IPv4 and IPv6.

  h0 10.1.0.1 -- p0 | turnpike, bridge lan 10.1.0.254 | up 10.0.9.1 -- underlay -- 10.0.9.2 leaf2, vxlan 10.1.0.2
                                                                           \\---- 10.0.9.3 leaf3, vxlan 10.1.0.3
"""
import json
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike  # noqa: E402
from lib.frames import BROADCAST, IPV4, ethernet, ipv4, mac, udp  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import UDP, answers, iperf, ping  # noqa: E402

OUTER = {4: "10.0.9.{}", 6: "2001:db8:9::{}"}
NETWORK = 100


class Fabric:
    """h0 behind a port, leaves behind tunnels; the underlay is a kernel's bridge."""

    def __init__(self, lab, family, leaves=(2,), mtu=1500, tunnel=None, member=None, simnic=False, **more):
        self.lab, self.family, self.mtu, self.tunnel = lab, family, mtu, tunnel
        outer_mtu = mtu + 100
        self.dut, middle = lab.host("dut", True), lab.host("middle", True)
        self.h0 = lab.host("h0")
        lab.cable(self.h0, "eth0", self.dut, "p0", mtu)
        if not simnic:
            lab.cable(self.dut, "u0", middle, "m1", outer_mtu)
        middle.run("ip link add br0 type bridge mcast_snooping 0")
        middle.run("ip link set br0 mtu %d up" % outer_mtu)
        if not simnic:
            middle.run("ip link set m1 master br0")
        self.leaves = {n: self.leaf(n, middle, outer_mtu, [o for o in leaves if o != n]) for n in leaves}
        self.h0.run("ip addr add 10.1.0.1/24 dev eth0")
        self.h0.run("ip addr add 2001:db8:1::1/64 dev eth0 nodad")
        device = "net_af_packet{},iface={}" + (",framesz=9216,blocksz=36864,framecnt=512" if mtu > 1600 else "")
        self.socket = f"/tmp/turnpike-vxlan-{os.getpid()}.sock"
        tunnels = [{"name": f"leaf{n}", "vni": NETWORK, "local": OUTER[family].format(1), "mtu": mtu,
                    "remote": OUTER[family].format(n), **(tunnel or {})} for n in leaves]
        self.running = Turnpike(lab, self.dut, {
            "eal": {"args": "-l 0-1 --no-pci --in-memory", "hugepages": "optional"},
            "mempool": {"buffer_size": 2304 if mtu <= 1600 else 9472},
            "control": {"socket": self.socket},
            "ports": [{"name": "p0", "device": device.format(0, "p0"), "descriptors": 512, "mtu": mtu},
                      {"name": "up", "device": "net_simnic0,wire=tap:m1" if simnic else device.format(1, "u0"), "descriptors": 512,
                       "mtu": outer_mtu, "addresses": ["10.0.9.1/24", "2001:db8:9::1/64"],
                       **({"udp_checksums": "device"} if simnic else {})}],
            "tunnels": tunnels,
            "bridges": [{"name": "lan", "members": [{"port": "p0"}] + [{"port": t["name"], **(member or {})} for t in tunnels],
                         "addresses": ["10.1.0.254/24"]}],
            **more})
        self.operator = Operator(self.socket)
        if simnic:  # the peer generator's end
            self.dut.run(f"ip link set m1 netns {middle.ns}")
            middle.run(f"ip link set m1 mtu {outer_mtu} master br0 up")

    def leaf(self, n, middle, mtu, others):
        leaf = self.lab.host(f"leaf{n}")
        self.lab.cable(leaf, "eth0", middle, f"m{n}", mtu)
        middle.run(f"ip link set m{n} master br0")
        leaf.run(f"ip addr add 10.0.9.{n}/24 dev eth0")
        leaf.run(f"ip addr add 2001:db8:9::{n}/64 dev eth0 nodad")
        leaf.run(f"ip link add vx0 mtu {self.mtu} type vxlan id {NETWORK} local {OUTER[self.family].format(n)} "
                 f"dstport 4789 {self.device_more()}")
        self.flood(leaf, (1, *others))
        leaf.run("ip link set vx0 up")
        leaf.run(f"ip addr add 10.1.0.{n}/24 dev vx0")
        leaf.run(f"ip addr add 2001:db8:1::{n}/64 dev vx0 nodad")
        return leaf

    def device_more(self):
        """More settings of Linux's vxlan device."""
        return "udpcsum" if (self.tunnel or {}).get("checksum") else ""

    def flood(self, leaf, others):
        for other in others:
            leaf.run(f"bridge fdb append 00:00:00:00:00:00 dev vx0 dst {OUTER[self.family].format(other)}")

    def counted(self):
        return {t["name"]: t for t in self.operator.show("tunnels")["tunnels"]}


def capture(fabric, what, host=None, interface="eth0"):
    """A capture of leaf2's, or another host's, underlay traffic while what() runs, as a file name."""
    path = os.path.join(fabric.running.folder.name, "underlay.pcap")
    dump = (host or fabric.leaves[2]).start(f"tcpdump -q --immediate-mode -i {interface} -U -w {path}", stderr=-1, text=True)
    wait_until(lambda: "listening" in dump.stderr.readline(), "tcpdump listens")
    what()
    wait_until(lambda: os.path.getsize(path) > 1000, "it has captured something")
    fabric.lab.end(dump)
    return path


def reread(path):
    """tshark finds tunnel packets in both directions, and no error in any packet, checksums included."""
    if shutil.which("tshark") is None:
        tap.skip("tshark is not installed")
    checks = [word for layer in ("ip", "udp", "tcp") for word in ("-o", f"{layer}.check_checksum:TRUE")]
    fields = ("vxlan.vni", "ip.src", "ipv6.src", "udp.srcport", "_ws.expert.message", "_ws.malformed")
    done = subprocess.run(["tshark", "-r", path, *checks, "-T", "fields", *(w for f in fields for w in ("-e", f))],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen = [line.split("\t") for line in done.stdout.splitlines()]
    tunnelled = [s for s in seen if s[0]]
    assert all(s[0] == str(NETWORK) for s in tunnelled), tunnelled
    ours = [s for s in tunnelled if s[1].startswith("10.0.9.1") or s[2].startswith("2001:db8:9::1")]
    theirs = [s for s in tunnelled if s not in ours]
    assert len(ours) > 3 and len(theirs) > 3, seen
    assert all(49152 <= int(s[3].split(",")[0]) <= 65535 for s in ours), ours
    wrong = [s for s in ours if len(s) > 5 and (s[5] or "heck" in s[4] or "alformed" in s[4])]
    assert not wrong, wrong


def beside_linux(family):
    with Lab() as lab:
        f = Fabric(lab, family, leaves=(2, 3))

        def traffic():
            for n in (2, 3):
                ping(f.h0, f"10.1.0.{n}")
                ping(f.h0, f"2001:db8:1::{n}")
            ping(f.leaves[2], "10.1.0.1")
            ping(f.leaves[2], "10.1.0.254")  # the bridge's address, through the tunnel
            ping(f.h0, "10.1.0.2", "-s 1472 -M do")  # the largest packet, unfragmented
        reread(capture(f, traffic))
        before = f.counted()
        ping(f.leaves[2], "10.1.0.3")  # by their own tunnels: none of it passes turnpike
        assert f.counted()["leaf3"]["tx_packets"] - before["leaf3"]["tx_packets"] <= 2, (before, f.counted())
        assert iperf(lab, f.h0, f.leaves[2], "10.1.0.2")["sum_received"]["bytes"] > 1_000_000
        assert iperf(lab, f.leaves[3], f.h0, "10.1.0.1", UDP)["sum"]["lost_percent"] < 20
        known = {(s["mac"], s["port"]) for s in f.operator.show("fdb")["fdb"]}
        for n, leaf in f.leaves.items():
            assert (leaf.mac("vx0"), f"leaf{n}") in known, known
        counted = f.counted()
        assert all(t["rx_packets"] > 10 and t["tx_packets"] > 10 for t in counted.values()), counted
        networks = f.operator.show("tunnels")["networks"]
        assert networks == [{"vni": NETWORK, **{key: sum(t[key] for t in counted.values())
                                                for key in ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")}}], networks
        report = f.running.stop()
        assert not [d for d in report["drops"] if d.startswith(("vxlan", "tunnel"))], report["drops"]


def test_beside_linux_over_ipv4():
    beside_linux(4)


def test_beside_linux_over_ipv6():
    beside_linux(6)


def test_other_ports():
    """A second tunnel to the same leaf, with the same VNI and another UDP port, added and deleted under traffic."""
    with Lab() as lab:
        f = Fabric(lab, 4)
        leaf = f.leaves[2]
        leaf.run(f"ip link add vx1 mtu 1500 type vxlan id {NETWORK} local 10.0.9.2 remote 10.0.9.1 dstport 8472")
        leaf.run("ip link set vx1 up")
        leaf.run("sysctl -qw net.ipv4.conf.all.arp_ignore=1")  # each answers by its own device
        leaf.run("ip addr add 10.1.1.2/24 dev vx1")
        f.h0.run("ip addr add 10.1.1.1/24 dev eth0")
        second = {"name": "second", "vni": NETWORK, "local": "10.0.9.1", "remote": "10.0.9.2", "mtu": 1500}
        f.operator.result("change", do=[{"add": {"tunnel": {**second, "udp_port": 8472}}},
                                        {"add": {"member": {"bridge": "lan", "port": "second"}}}])
        for address in ("10.1.0.2", "10.1.1.2"):
            ping(f.h0, address)
            ping(f.h0, address, "-s 1472 -M do")
        known = {(s["mac"], s["port"]) for s in f.operator.show("fdb")["fdb"]}
        assert {(leaf.mac("vx0"), "leaf2"), (leaf.mac("vx1"), "second")} <= known, known
        assert iperf(lab, f.h0, leaf, "10.1.1.2")["sum_received"]["bytes"] > 1_000_000
        counted = f.counted()
        assert counted["second"]["udp_port"] == 8472 and counted["leaf2"]["udp_port"] == 4789, counted
        assert counted["second"]["rx_packets"] > 10 and counted["second"]["tx_packets"] > 10, counted
        said = f.operator.error("change", do=[{"replace": {"tunnel": {**second, "udp_port": 4789}}}])
        assert "has the ends, the port and the VNI of tunnel" in said["what"], said
        f.operator.result("change", do=[{"del": {"member": {"bridge": "lan", "port": "second"}}},
                                        {"del": {"tunnel": {"name": "second"}}}])
        ping(f.h0, "10.1.0.2")
        assert not answers(f.h0, "10.1.1.2")
        f.running.stop()


def questions(fabric, what):
    """Number of h0's requests for an address, by ARP and by IPv6 ND, that leaf2 receives by its tunnel while what() runs."""
    wire = fabric.leaves[2].raw("vx0")
    what()
    seen = []
    while (frame := receive_frame(wire, 0.2)) is not None:
        if frame[0] & 1 and frame[6:12] == mac(fabric.h0.mac("eth0")):
            seen.append(frame)
    wire.close()
    return (sum(f[12:14] == b"\x08\x06" for f in seen),
            sum(f[12:14] == b"\x86\xdd" and f[20] == 58 and f[54] == 135 for f in seen))


def test_questions_that_tunnels_are_spared():
    """neigh_suppress: once a binding is learned, requests are answered here (RFC 9161)."""
    with Lab() as lab:
        f = Fabric(lab, 4, leaves=(2, 3), member={"neigh_suppress": True})
        addresses = ("10.1.0.2", "2001:db8:1::2")

        def ask():
            f.h0.run("ip neigh flush dev eth0")
            for address in addresses:
                ping(f.h0, address)
        arp, nd = questions(f, ask)
        assert arp >= 1 and nd >= 1, (arp, nd)
        assert questions(f, ask) == (0, 0)
        neighbours = {n["dst"]: n["lladdr"] for n in json.loads(f.h0.run("ip -j neigh show dev eth0").stdout) if "lladdr" in n}
        assert all(neighbours[a] == f.leaves[2].mac("vx0") for a in addresses), neighbours
        # Requests for an unknown address are flooded, and still are after leaf2's entry expires.
        arp, nd = questions(f, lambda: ping(f.h0, "10.1.0.77", "-W 1", check=False, count=1, wait=1))
        assert arp >= 1, arp
        f.operator.result("change", do=[{"replace": {"member": {"bridge": "lan", "port": "leaf2"}}}])
        arp, nd = questions(f, ask)
        assert arp >= 1 and nd >= 1, (arp, nd)
        f.running.stop()


def checksums_by_the_device(family):
    """Linux accepts checksums that the device inserts; packets that the device marks bad are dropped, and good ones accepted."""
    with Lab() as lab:
        f = Fabric(lab, family, tunnel={"checksum": True}, simnic=True)
        leaf = f.leaves[2]
        up, = [p for p in f.operator.show("ports")["ports"] if p["name"] == "up"]
        assert up["udp_checksums"] == {"sent": "device", "received": "device"}, up
        wait_until(lambda: answers(f.h0, "10.1.0.2"), "the underlay is there")
        wire = leaf.raw("eth0")

        def traffic():
            for address in ("10.1.0.2", "2001:db8:1::2"):
                ping(f.h0, address)
                ping(f.h0, address, "-s 1402 -M do")
        reread(capture(f, traffic))
        at = 14 + (20 if family == 4 else 40)  # the UDP header
        ours = theirs = 0
        while (frame := receive_all(wire)) is not None:
            if len(frame) > at + 16 and frame[at + 2:at + 4] == (4789).to_bytes(2, "big") and frame[at + 8] == 8:
                assert frame[at + 6:at + 8] != b"\0\0", frame.hex()
                if frame[6:12] == mac(leaf.mac("eth0")):
                    theirs += 1
                    wrong = frame[:at + 6] + bytes((frame[at + 6] ^ 0x55,)) + frame[at + 7:]
                else:
                    ours += 1
        assert ours >= 12 and theirs >= 12, (ours, theirs)
        wire.send(wrong)
        wait_until(lambda: f.operator.show("drops")["drops"].get("vxlan_checksum", 0) == 1, "it is dropped")
        wire.close()
        assert iperf(lab, f.h0, leaf, "10.1.0.2")["sum_received"]["bytes"] > 1_000_000
        assert iperf(lab, leaf, f.h0, "10.1.0.1")["sum_received"]["bytes"] > 1_000_000
        report = f.running.stop()
        assert report["drops"]["vxlan_checksum"] == 1, report["drops"]


def receive_all(wire):
    """Like receive_frame(), with the frames sent there, too."""
    wire.settimeout(0.2)
    try:
        return wire.recv(65536)
    except OSError:
        return None


def test_checksums_by_the_device_over_ipv4():
    checksums_by_the_device(4)


def test_checksums_by_the_device_over_ipv6():
    checksums_by_the_device(6)


def test_jumbo():
    with Lab() as lab:
        f = Fabric(lab, 4, mtu=9000)
        ping(f.h0, "10.1.0.2", "-s 8972 -M do")
        ping(f.leaves[2], "10.1.0.1", "-s 8972 -M do")
        f.running.stop()


def test_path_mtu():
    """A tunnel with a lower MTU than its bridge: hosts get ICMP errors, and send packets that fit."""
    with Lab() as lab:
        f = Fabric(lab, 4, tunnel={"mtu": 1400})
        ping(f.h0, "10.1.0.2")
        for address, bytes_of_data in (("10.1.0.2", 1472), ("2001:db8:1::2", 1452)):
            said = ping(f.h0, address, f"-s {bytes_of_data} -M do", check=False).stdout
            assert "1400" in said, said
            wait_until(lambda to=address: "mtu 1400" in f.h0.run(f"ip route get {to}").stdout, f"{address}: it has learnt")
        assert iperf(lab, f.h0, f.leaves[2], "10.1.0.2")["sum_received"]["bytes"] > 1_000_000
        report = f.running.stop()
        assert report["drops"]["tunnel_too_big"] > 0, report["drops"]


def vxlan(inner, flags=0x08, network=NETWORK, reserved=0):
    return struct.pack("!B3xI", flags, network << 8 | reserved) + inner


def test_what_is_not_ours_goes_no_further():
    """Crafted packets from leaf2, each dropped with its reason, and the balance holds."""
    with Lab() as lab:
        f = Fabric(lab, 4)
        leaf = f.leaves[2]
        ping(leaf, "10.1.0.1")
        line, = [n for n in json.loads(leaf.run("ip -j neigh show dev eth0").stdout) if n["dst"] == "10.0.9.1"]
        us, source = mac(line["lladdr"]), mac(leaf.mac("eth0"))
        frame = ethernet(BROADCAST, mac("02:00:00:00:00:77"), 0x88B5, bytes(46))

        def packet(payload, sender="10.0.9.2", check=None, **more):
            datagram = udp(payload, 50000, 4789)
            if check is not None:
                datagram = datagram[:6] + struct.pack("!H", check) + datagram[8:]
            return ethernet(us, source, IPV4, ipv4(sender, "10.0.9.1", datagram, **more))

        bad = {"vxlan_unknown_vni": [packet(vxlan(frame, network=101)), packet(vxlan(frame, network=0))],
               "vxlan_unknown_vtep": [packet(vxlan(frame), "10.0.9.77")],
               "vxlan_flags": [packet(vxlan(frame, flags=0)), packet(vxlan(frame, flags=0xF7))],
               "vxlan_reserved": [packet(vxlan(frame, flags=0x88)), packet(vxlan(frame, reserved=1))],
               "vxlan_truncated": [packet(vxlan(frame)[:7]), packet(b"")],
               "vxlan_checksum": [packet(vxlan(frame), check=0x1111)],
               "vxlan_inner_runt": [packet(vxlan(frame[:n])) for n in (0, 1, 13)],
               "ecn_decap": [packet(vxlan(ethernet(BROADCAST, mac("02:00:00:00:00:77"), IPV4,
                                                         ipv4("10.1.0.9", "10.1.0.1", udp(b"x")))), tos=3)],
               "ipv4_source_is_destination": [packet(vxlan(frame), "10.0.9.1")]}
        before = f.counted()["leaf2"]["rx_packets"]
        wire = leaf.raw("eth0")
        for some in bad.values():
            for one in some:
                wire.send(one)
        wire.send(packet(vxlan(frame)))  # a valid packet last: when it arrives, all have been processed

        def drops():
            return f.operator.show("drops")["drops"]
        wanted = {reason: len(some) for reason, some in bad.items()}

        def counted():
            now = drops()
            return {r: now.get(r, 0) for r in wanted}
        wait_until(lambda: f.counted()["leaf2"]["rx_packets"] > before and sum(counted().values()) >= sum(wanted.values()),
                   lambda: f"they have come: {counted()} of {wanted}", 3)
        assert counted() == wanted, (counted(), wanted)
        ping(leaf, "10.1.0.1")
        wire.close()
        f.running.stop()


if __name__ == "__main__":
    tap.main(globals())
