#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts on a bridge: connectivity through the bridge, its VLANs, and its routing interfaces."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import LONG, Turnpike  # noqa: E402
from lib.frames import mac  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import FLOWS, answers, iperf, ping, rewrite  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402

EVERYBODY = b"\xff" * 6


def tag(tci, kind=0x8100):
    return kind.to_bytes(2, "big") + tci.to_bytes(2, "big")


def cables(lab, count, device="net_af_packet{},iface={}"):
    """(hosts, dut, ports of the configuration): host i is behind p<i> with its eth0."""
    dut = lab.host("dut", True)
    hosts = [lab.host(f"h{i}") for i in range(count)]
    for i, host in enumerate(hosts):
        lab.cable(host, "eth0", dut, f"p{i}")
    return hosts, dut, [{"name": f"p{i}", "device": device.format(i, f"p{i}"), "descriptors": 512}
                        for i in range(count)]


def start(lab, dut, ports, eal="-l 0-1 --no-pci --in-memory", **more):
    config = {"eal": {"args": eal, "hugepages": "optional"}, "ports": ports, **more}
    running = Turnpike(lab, dut, config)
    running.socket = os.path.join(running.folder.name, "control.sock")
    return running


def with_socket(lab, dut, ports, **more):
    path = f"/tmp/turnpike-bridge-{os.getpid()}.sock"
    running = start(lab, dut, ports, control={"socket": path}, **more)
    return running, Operator(path)


def address(host, network, number, interface="eth0"):
    host.run(f"ip addr add 10.0.{network}.{number}/24 dev {interface}")
    host.run(f"ip addr add 2001:db8:{network}::{number}/64 dev {interface} nodad")


def members(count, **more):
    return [{"port": f"p{i}", **more} for i in range(count)]


def stations(operator, **wanted):
    return {(s["mac"], s["port"], s["kind"]) for s in operator.show("fdb", **wanted)["fdb"]}


def test_hosts_reach_each_other():
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 3)
        for n, host in enumerate(hosts):
            address(host, 1, n + 1)
        running, operator = with_socket(lab, dut, ports, bridges=[{"name": "lan", "members": members(3)}])
        for host in hosts:
            for n in range(3):
                ping(host, f"10.0.1.{n + 1}")
                ping(host, f"2001:db8:1::{n + 1}")
        known = stations(operator)
        for n, host in enumerate(hosts):
            assert (host.mac("eth0"), f"p{n}", "learnt") in known, known
        assert iperf(lab, hosts[0], hosts[1], "10.0.1.2")["sum_received"]["bytes"] > 1_000_000
        # The FDB is flushed, and learned again from the next frame.
        assert operator.result("flush", what="fdb", port="p0")["flushed"] >= 1

        def is_flushed():  # a last frame of iperf's connection may come after a flush, and is learned
            if not any(port == "p0" for _, port, _ in stations(operator)):
                return True
            operator.result("flush", what="fdb", port="p0")
            return False
        wait_until(is_flushed, "an FDB without port p0")
        ping(hosts[0], "10.0.1.2")
        assert (hosts[0].mac("eth0"), "p0", "learnt") in stations(operator)
        bridge, = operator.show("bridges")["bridges"]
        vlan, = bridge["vlans"]
        assert vlan["rx_packets"] > 100 and 0 < vlan["flooded"] < vlan["rx_packets"], vlan
        report = running.stop()
        assert not report["drops"].get("tx_refused"), report["drops"]


def test_two_workers():
    """A source learned by one worker is known to the other."""
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 2)
        for n, host in enumerate(hosts):
            address(host, 1, n + 1)
        for n, port in enumerate(ports):
            port.update({"device": f"net_af_packet{n},iface=p{n},qpairs=2", "rx_queues": 2})
        running = start(lab, dut, ports, eal="--lcores 0@0,1@0,2@1 --no-pci --in-memory", workers=[1, 2],
                        bridges=[{"name": "lan", "members": members(2)}])
        ping(hosts[0], "10.0.1.2", count=20)
        assert iperf(lab, hosts[0], hosts[1], "10.0.1.2", FLOWS)["sum_received"]["bytes"] > 1_000_000
        report = running.stop()
        assert all(w["packets"] > 20 for w in report["workers"]), report["workers"]
        assert report["isa"]["fdb"], report["isa"]


def vlans_and_routing_between_them(device):
    """h0 in VLAN 10, h1 in VLAN 20; h2 is a trunk with raw frames; routing interfaces in both."""
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 3, device)
        for n, network in enumerate((10, 20)):
            address(hosts[n], network, 2)
            hosts[n].run(f"ip route add default via 10.0.{network}.1")
            hosts[n].run(f"ip -6 route add default via 2001:db8:{network}::1")
        running, operator = with_socket(lab, dut, ports, bridges=[{
            "name": "lan",
            "members": [{"port": "p0", "mode": "access", "vlan": 10}, {"port": "p1", "mode": "access", "vlan": 20},
                        {"port": "p2", "mode": "trunk", "trunks": ["10", "20"]}],
            "interfaces": [{"vlan": v, "addresses": [f"10.0.{v}.1/24", f"2001:db8:{v}::1/64"]} for v in (10, 20)]}])
        assert [m.get("trunks") for m in operator.show("bridges")["bridges"][0]["members"]] == [[], [], ["10", "20"]]
        for host, own, other in ((hosts[0], 10, 20), (hosts[1], 20, 10)):
            ping(host, f"10.0.{own}.1")
            ping(host, f"2001:db8:{own}::1")
            ping(host, f"10.0.{other}.2")
            ping(host, f"2001:db8:{other}::2")
        assert {s["vlan"] for s in operator.show("fdb", port="p0")["fdb"]} == {10}
        trunk, edge = hosts[2].raw("eth0"), hosts[0].raw("eth0")
        # A frame of VLAN 20 that is to h0's address stays in VLAN 20.
        me, body = mac("02:00:00:00:00:99"), b"\x88\xb5" + b"only in 20" + bytes(40)
        trunk.send(mac(hosts[0].mac("eth0")) + me + tag(20) + body)
        trunk.send(mac(hosts[0].mac("eth0")) + me + tag(10) + b"\x88\xb5" + b"in 10" + bytes(45))
        while True:
            frame = receive_frame(edge)
            assert frame is not None and b"only in 20" not in frame, frame
            if b"in 10" in frame:
                break
        edge.send(EVERYBODY + me + b"\x88\xb5" + b"out of 10" + bytes(41))
        while True:
            frame = receive_frame(trunk)
            assert frame is not None, "nothing comes out of the trunk"
            if b"out of 10" in frame:
                assert frame[12:16] == tag(10), frame
                break
        running.stop()


def test_vlans_by_a_driver_that_takes_tags_out():
    vlans_and_routing_between_them("net_af_packet{},iface={}")


def test_vlans_by_a_driver_that_leaves_them_in():
    vlans_and_routing_between_them("net_xsk{},iface={}")


def test_vlan_of_a_port():
    """turnpike's own VLAN interface: two turnpikes, routed over a tagged cable."""
    with Lab() as lab:
        one, other = lab.host("one", True), lab.host("other", True)
        west, east = lab.host("west"), lab.host("east")
        lab.cable(west, "eth0", one, "w0")
        lab.cable(one, "c0", other, "c0")
        lab.cable(east, "eth0", other, "e0")
        running = []
        for box, edge, network, us, them, far in ((one, "w0", 1, 1, 2, 2), (other, "e0", 2, 2, 1, 1)):
            running.append(Turnpike(lab, box, {
                "eal": {"args": "-l 0 --no-pci --in-memory -m 128", "hugepages": "optional"},
                "ports": [{"name": "edge", "device": f"net_af_packet0,iface={edge}", "descriptors": 512,
                           "addresses": [f"10.0.{network}.1/24"]},
                          {"name": "core", "device": "net_af_packet1,iface=c0", "descriptors": 512}],
                "interfaces": [{"port": "core", "vlan": 100, "addresses": [f"10.0.100.{us}/30"]}],
                "routes": [{"to": f"10.0.{far}.0/24", "via": f"10.0.100.{them}"}]}))
        for host, network in ((west, 1), (east, 2)):
            host.run(f"ip addr add 10.0.{network}.2/24 dev eth0")
            host.run(f"ip route add default via 10.0.{network}.1")
        ping(west, "10.0.2.2")
        ping(east, "10.0.100.1")
        for box in running:
            box.stop()


def test_routing_interface_beside_a_routed_port():
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 3)
        for n, network in enumerate((1, 1, 2)):
            address(hosts[n], network, n + 2)
            hosts[n].run(f"ip route add default via 10.0.{network}.1")
            hosts[n].run(f"ip -6 route add default via 2001:db8:{network}::1")
        ports[2]["addresses"] = ["10.0.2.1/24", "2001:db8:2::1/64"]
        running, operator = with_socket(lab, dut, ports, bridges=[
            {"name": "lan", "members": members(2), "addresses": ["10.0.1.1/24", "2001:db8:1::1/64"]}])
        for host in hosts:
            for a in ("10.0.1.1", "10.0.2.1", "10.0.1.2", "10.0.1.3", "10.0.2.4", "2001:db8:1::2", "2001:db8:2::4"):
                ping(host, a)
        assert iperf(lab, hosts[0], hosts[2], "10.0.2.4")["sum_received"]["bytes"] > 1_000_000
        local = {s for s in stations(operator) if s[2] == "local"}
        assert {port for _, port, _ in local} == {"lan"}, local
        # A host moves to another port of the bridge: its first frame updates the FDB.
        hosts[1].run("ip link set eth0 address " + "02:00:00:00:00:42")
        ping(hosts[1], "10.0.1.1")
        assert ("02:00:00:00:00:42", "p1", "learnt") in stations(operator)
        running.stop()


def test_changes_while_it_forwards():
    """A member is removed and added by reloads: the others lose nothing."""
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 3)
        for n, host in enumerate(hosts):
            address(host, 1, n + 1)
        running = start(lab, dut, ports, bridges=[{"name": "lan", "members": members(3)}])
        ping(hosts[0], "10.0.1.2")
        going = hosts[0].start("ping -q -n -i 0.005 -c 400 -W 2 10.0.1.2", stdout=-1, text=True)
        for _ in range(3):
            rewrite(running, lambda c: (c["bridges"][0]["members"].pop(),
                                        c["ports"][2].update({"addresses": ["10.0.9.1/24"]})))
            time.sleep(0.2)
            rewrite(running, lambda c: (c["ports"][2].pop("addresses"),
                                        c["bridges"][0]["members"].append({"port": "p2"})))
            time.sleep(0.2)
        said, _ = going.communicate(timeout=20)
        assert " 0% packet loss" in said, said
        ping(hosts[2], "10.0.1.1")
        running.stop()


def test_tags_come_through_a_port_that_looked_at_them():
    """Ports change between a bridge that reads tags and a cross-connect that does not, in both directions."""
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 2)
        running = start(lab, dut, ports, bridges=[{"name": "lan", "members": members(2, mode="trunk")}])
        west, east = (host.raw("eth0") for host in hosts)
        frame = EVERYBODY + mac("02:00:00:00:00:99") + tag(0x6007) + b"\x88\xb5" + b"tagged" + bytes(44)

        def comes_through():
            west.send(frame)
            while (got := receive_frame(east)) is not None:
                if b"tagged" in got:
                    assert got == frame, got
                    return True
            return False

        def patched(config):
            del config["bridges"]
            config["xconnects"] = [["p0", "p1"]]

        assert comes_through()
        rewrite(running, patched)
        assert comes_through()
        rewrite(running, lambda c: (c.pop("xconnects"),
                                    c.update({"bridges": [{"name": "lan", "members": members(2, mode="trunk")}]})))
        assert comes_through()
        rewrite(running, patched)
        assert comes_through()
        running.stop()


def test_l2_lists():
    """By MAC address, EtherType and VLAN, in both directions; a rule is added and deleted by the socket."""
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 3)
        for n, host in enumerate(hosts):
            address(host, 1, n + 1)
        ports[0]["acl"] = {"l2_in": "in"}
        ports[1]["acl"] = {"l2_out": "out", "in": "packets"}
        running, operator = with_socket(lab, dut, ports, bridges=[{"name": "lan", "members": members(3)}], acl=[
            {"name": "in", "layer": 2, "default": "permit", "rules": [
                {"action": "count", "name": "arp", "ethertype": "arp"},
                {"action": "deny", "name": "tagged-7", "vlan": 7}]},
            {"name": "out", "layer": 2, "default": "permit", "rules": [
                {"action": "deny", "name": "test", "ethertype": "0x88b5",
                 "source_mac": "06:00:00:00:00:00/ff:00:00:00:00:00"}]},
            {"name": "packets", "default": "permit", "rules": [{"action": "deny", "protocol": "udp"}]}])

        def counted(port, direction):
            lists = {(a["port"], a["direction"]): a for a in operator.show("acl")["acl"]}
            return {r["name"]: r["packets"] for r in lists[port, direction]["rules"]}

        def rule(verb, **what):
            operator.result("change", do=[{verb: {"rule": {"list": "in", **what}}}])

        for other in ("10.0.1.2", "10.0.1.3", "2001:db8:1::3"):
            ping(hosts[0], other)
        assert counted("p0", "l2_in")["arp"] >= 2
        # A destination MAC is denied, and then permitted again.
        rule("add", at=1, rule={"action": "deny", "name": "h1", "destination_mac": hosts[1].mac("eth0")})
        assert not answers(hosts[0], "10.0.1.2")
        ping(hosts[0], "10.0.1.3")
        assert counted("p0", "l2_in")["h1"] >= 1
        rule("del", name="h1")
        ping(hosts[0], "10.0.1.2")
        # Non-IP frames: the egress list of each member applies to its copy.
        sender, seen = hosts[0].raw("eth0"), hosts[2].raw("eth0")
        body = b"\x88\xb5" + b"flooded" + bytes(43)
        sender.send(EVERYBODY + b"\x06" + bytes(5) + tag(7) + body)
        sender.send(EVERYBODY + b"\x06" + bytes(5) + body)
        while True:
            frame = receive_frame(seen)
            assert frame is not None and frame[12:14] != tag(7)[:2], frame
            if b"flooded" in frame:
                break
        wait_until(lambda: counted("p1", "l2_out")["test"] == 1, "the copy is counted")
        assert counted("p0", "l2_in")["tagged-7"] == 1
        report = running.stop()
        assert report["drops"]["acl_l2_deny"] >= 2 and report["drops"]["acl_l2_deny_out"] == 1, report["drops"]


def test_flood_of_addresses():
    """More sources than the FDB's limit: known stations stay known, and are forwarded."""
    with Lab() as lab:
        hosts, dut, ports = cables(lab, 3)
        for n, host in enumerate(hosts[:2]):
            address(host, 1, n + 1)
        running, operator = with_socket(lab, dut, ports, bridges=[
            {"name": "lan", "members": members(3), "max_addresses": 1000}])
        ping(hosts[0], "10.0.1.2")
        attacker = hosts[2].raw("eth0")
        frame = bytearray(mac(hosts[0].mac("eth0")) + bytes(6) + b"\x88\xb5" + bytes(46))
        for n in range(20_000):
            frame[6:12] = b"\x06" + n.to_bytes(5, "big")
            try:
                attacker.send(frame)
            except OSError:  # its own queue is full
                time.sleep(0.001)
        ping(hosts[0], "10.0.1.2")
        wait_until(lambda: operator.show("bridges")["bridges"][0]["refused"] > 100, "more were refused")
        bridge, = operator.show("bridges")["bridges"]
        assert bridge["stations"] <= 1000, bridge
        known = stations(operator, port="p0") | stations(operator, port="p1")
        assert {(hosts[0].mac("eth0"), "p0", "learnt"), (hosts[1].mac("eth0"), "p1", "learnt")} <= known, known
        running.stop()


@tap.limit(120)
def test_flood_of_ten_million_sources():
    """At a worker's full rate (--long: ten million sources, else one million): no frame of known flows is lost or
    flooded, and the FDB stays within its limit."""
    with Lab() as lab:
        dut, prefix = lab.host("dut", True), f"tpkflood{os.getpid()}"
        wires = ["l2flows=64,dst_mac=06:00:01:00:00:00", "l2flows=64,dst_mac=06:00:00:00:00:00",
                 f"l2flows={1 << 24},l2peers=64,dst_mac=06:00:01:00:00:00"]
        ports = [{"name": f"p{n}", "device": f"net_simnic{n},wire=gen,{wire}"} for n, wire in enumerate(wires)]
        running, operator = with_socket(
            lab, dut, ports, eal=f"-l 0-1 --no-pci --in-memory --file-prefix={prefix}", bridges=[
                {"name": "lan", "members": [*members(2), {"port": "p2", "max_addresses": 5000}],
                 "max_addresses": 10_000}])
        telemetry = Telemetry(prefix, lambda: None)

        def counts():
            bridge, = operator.show("bridges")["bridges"]
            return [telemetry.ask(f"/ethdev/xstats,{n}") for n in range(3)], bridge

        def strangers():
            return telemetry.ask("/ethdev/xstats,2")["gen_sent"]

        wait_until(lambda: counts()[1]["refused"] > 0 and strangers() > 100_000, "all are known that can be")
        before, bridge_before = counts()
        wanted = before[2]["gen_sent"] + (10_000_000 if LONG else 1_000_000)
        wait_until(lambda: strangers() > wanted, "so many came", 60)
        after, bridge = counts()
        for b, a in zip(before[:2], after[:2]):
            assert a["gen_received"] > b["gen_received"] + 10_000, (b, a)
            for wrong in ("gen_lost", "gen_duplicated", "gen_damaged"):
                assert a[wrong] == b[wrong], (wrong, b[wrong], a[wrong])
        assert bridge["vlans"][0]["flooded"] == bridge_before["vlans"][0]["flooded"], (bridge_before, bridge)
        assert bridge["stations"] == 64 + 64 + 5000 and bridge["refused"] > bridge_before["refused"], bridge
        telemetry.close()
        report = running.stop()
        assert not set(report["drops"]) - {"stopping"}, report["drops"]


if __name__ == "__main__":
    tap.main(globals())
