#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ACLs between hosts: permitted and denied traffic, and counters equal to the packets sent."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dut import Turnpike, patch_config, router_config  # noqa: E402
from lib.frames import IPV4, IPV6, VLAN, ethernet, ipv4, ipv6, mac, tag, udp  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import EAST, OURS, WEST, answers, cabled, iperf, ping, settle  # noqa: E402


def start(lab, dut, lists, west=None, east=None, queues=1, **more):
    """A router with these lists; west and east are the bindings of the ports."""
    device = "net_af_packet{},iface={}" + (f",qpairs={queues}" if queues > 1 else "")
    devices = {name: ({"device": device.format(n, interface), "rx_queues": queues, "acl": bound or {}}, OURS[name])
               for n, (name, interface, bound) in enumerate((("west", "w0", west), ("east", "e0", east)))}
    return Turnpike(lab, dut, router_config(devices, acl=lists, **more))


def rules_of(report, port, direction):
    (bound,) = [a for a in report["acl"] if (a["port"], a["direction"]) == (port, direction)]
    for rule in bound["rules"]:
        assert sum(rule["workers"]) == rule["packets"], rule
    assert bound["permitted"] == sum(r["packets"] for r in bound["rules"] if r["action"] == "permit"), bound
    assert bound["denied"] == sum(r["packets"] for r in bound["rules"] if r["action"] == "deny"), bound
    return {r["name"]: r["packets"] for r in bound["rules"] if r["name"]}


def listens(lab, host, port):
    """A TCP server that accepts connections and sends nothing."""
    process = host.start(["python3", "-c", "import socket,time\n"
                          "s = socket.create_server(('::', %d), family=socket.AF_INET6, dualstack_ipv6=True)\n"
                          "time.sleep(600)" % port])
    wait_until(lambda: f":{port}" in host.run("ss -ltn").stdout, f"port {port} listens")
    lab.cleanups.append(lambda: lab.end(process))


def connects(host, address, port, seconds=2):
    return host.run(["python3", "-c", f"import socket; socket.create_connection(('{address}', {port}), {seconds})"],
                    check=False).returncode == 0


def refused(host, address, port):
    """Denied traffic gets no reply, so the timeout is short."""
    return not connects(host, address, port, 0.3)


EDGE = {"name": "edge", "rules": [
    {"action": "count", "name": "v6", "family": "ipv6"},
    {"action": "deny", "name": "ping", "protocol": "icmp", "icmp_type": 8},
    {"action": "deny", "name": "ping6", "protocol": "icmpv6", "icmp_type": 128},
    {"action": "permit", "name": "iperf", "protocol": "tcp", "destination_ports": 5201},
    {"action": "permit", "name": "closed", "protocol": "tcp", "destination_ports": 5203, "family": "ipv6"}]}


def test_in_denies_ping_and_permits_a_port():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut, [EDGE], west={"in": "edge"})
        for port in (5202, 5203):
            listens(lab, east, port)
        for address in EAST:
            assert "100% packet loss" in ping(west, address, check=False, count=5, wait=0.3).stdout
            assert iperf(lab, west, east, address)["sum_received"]["bytes"] > 1_000_000
            assert refused(west, address, 5202)
        assert refused(west, EAST[0], 5203) and connects(west, EAST[1], 5203)
        for address in WEST:  # west's replies match no permit rule
            assert not answers(east, address)
        report = running.stop()
        rules = rules_of(report, "west", "in")
        assert rules["ping"] == rules["ping6"] == 5, rules
        assert rules["iperf"] > 500 and rules["closed"] >= 3, rules
        assert rules["v6"] > rules["ping6"] + rules["closed"], rules
        assert rules["neighbour-discovery"] >= 1, rules
        assert report["drops"]["acl_deny"] == report["acl"][0]["denied"], report["drops"]
        stages = {s["name"] for s in report["workers"][0]["stages"]}
        assert stages & {"ip_fast", "acl_in"} and "acl_out" not in stages, stages  # stage ip_fast classifies unfragmented TCP
        assert report["isa"]["acl"], report["isa"]


def test_counters_are_what_was_sent():
    """Numbered frames: every rule counts exactly its matching frames, with two workers."""
    lists = [{"name": "in", "default": "permit", "rules": [
                 {"action": "count", "name": "all"},
                 {"action": "deny", "name": "seven", "protocol": "udp", "destination_ports": 7},
                 {"action": "count", "name": "late", "protocol": "udp"}]},
             {"name": "out", "rules": [
                 {"action": "permit", "name": "nine", "protocol": "udp", "destination_ports": 9},
                 {"action": "deny", "name": "rest"}]}]
    sent = {7: 30, 9: 50, 10: 20}
    with Lab() as lab:
        west, dut, east = cabled(lab, kernels=False)
        us, me = mac(dut.mac("w0")), mac(west.mac("eth0"))
        fixed = [{"address": a, "mac": east.mac("eth0")} for a in EAST]
        running = start(lab, dut, lists, west={"in": "in"}, east={"out": "out"}, queues=2, workers=[1, 2],
                        eal="--lcores 0@0,1@0,2@1 --no-pci --in-memory", neighbours={"static": fixed})
        sender, receiver = west.raw("eth0"), east.raw("eth0")
        for port, n in sent.items():
            for i in range(n):
                data = udp(b"x" * 20, source=1000 + i, to=port)
                sender.send(ethernet(us, me, IPV4, ipv4(WEST[0], EAST[0], data)))
                sender.send(ethernet(us, me, IPV6, ipv6(WEST[1], EAST[1], data)))
        got = 0
        while (frame := receive_frame(receiver, 0.5)) is not None:
            at = 14 + (20 if frame[12:14] == b"\x08\x00" else 40)
            got += frame[12:14] in (b"\x08\x00", b"\x86\xdd") and frame[at + 2:at + 4] == b"\0\x09"
        report = running.stop()
        assert got == 2 * sent[9], got
        rules = rules_of(report, "west", "in")
        assert rules["all"] == 2 * sum(sent.values()), rules
        assert rules["seven"] == 2 * sent[7] and rules["late"] == rules["default"] == 2 * (sent[9] + sent[10]), rules
        out = rules_of(report, "east", "out")
        assert out["nine"] == 2 * sent[9] and out["rest"] == 2 * sent[10] and out["default"] == 0, out
        assert report["drops"]["acl_deny"] == 2 * sent[7], report["drops"]
        assert report["drops"]["acl_deny_out"] == 2 * sent[10], report["drops"]


def test_out_judges_what_is_forwarded_and_not_our_own():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        running = start(lab, dut, [{"name": "closed", "rules": []}], west={"out": "closed"})
        for address in ("10.0.1.1", "2001:db8:1::1", "10.0.2.1", "2001:db8:2::1"):
            ping(west, address)
        settle(1)  # duplicate address detection: east's hosts are resolved only afterwards
        for address in EAST:
            assert not answers(west, address)
        report = running.stop()
        assert rules_of(report, "west", "out")["default"] == report["drops"]["acl_deny_out"] == 2, report["acl"]


def test_patch_lets_hosts_find_each_other_and_nothing_else():
    lists = [{"name": "ping-only", "rules": [
        {"action": "permit", "name": "ping", "protocol": "icmp"},
        {"action": "permit", "name": "ping6", "protocol": "icmpv6", "icmp_type": 128},
        {"action": "permit", "name": "pong6", "protocol": "icmpv6", "icmp_type": 129},
        {"action": "permit", "name": "seven", "vlan": 7}]}]
    ports = [{"device": f"net_af_packet{n},iface={interface}", "acl": {"in": "ping-only", "out": "ping-only"}}
             for n, interface in enumerate(("w0", "e0"))]
    with Lab() as lab:
        west, dut, east = lab.host("west"), lab.host("dut", True), lab.host("east")
        lab.cable(west, "eth0", dut, "w0")
        lab.cable(east, "eth0", dut, "e0")
        for n, host in ((1, west), (2, east)):
            host.run(f"ip addr add 10.0.0.{n}/24 dev eth0")
            host.run(f"ip addr add 2001:db8::{n}/64 dev eth0 nodad")
        running = Turnpike(lab, dut, patch_config(*ports, acl=lists))
        listens(lab, east, 5202)
        ping(west, "10.0.0.2", count=5)
        ping(east, "2001:db8::1", count=5)
        assert refused(west, "10.0.0.2", 5202) and refused(west, "2001:db8::2", 5202)
        sender, receiver = west.raw("eth0"), east.raw("eth0")
        for vlan in (6, 7):
            inside = tag(vlan, IPV4, ipv4("10.0.0.1", "10.0.0.2", udp(b"VLAN%d" % vlan)))
            sender.send(ethernet(b"\x02\0\0\0\0\x02", b"\x02\0\0\0\0\x01", VLAN, inside))
        seen = []
        while (frame := receive_frame(receiver, 0.5)) is not None:
            seen += [v for v in (6, 7) if b"VLAN%d" % v in frame]
        assert seen == [7], seen
        report = running.stop()
        for port, direction in (("west", "in"), ("east", "out"), ("east", "in"), ("west", "out")):
            rules = rules_of(report, port, direction)
            assert rules["ping"] == 5 and rules["ping6"] + rules["pong6"] == 5, rules
            assert rules["neighbour-discovery"] >= 1, rules
        assert rules_of(report, "west", "in")["seven"] == 1


def test_rules_of_a_classbench_file():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        folder = os.path.join(os.path.dirname(__file__), "../../examples")
        lists = [{"name": "edge", "rules": [{"action": "permit", "protocol": "tcp", "destination_ports": 5201},
                                            {"action": "deny", "file": os.path.abspath(folder + "/acl.rules")}],
                  "default": "permit"}]
        running = start(lab, dut, lists, west={"in": "edge"})
        listens(lab, east, 22)
        assert refused(west, EAST[0], 22) and connects(west, EAST[1], 22)
        ping(west, EAST[0])
        assert iperf(lab, west, east, EAST[0])["sum_received"]["bytes"] > 1_000_000
        report = running.stop()
        hit = [r["where"].rsplit("/", 1)[1] for r in report["acl"][0]["rules"]
               if r["where"] and r["action"] == "deny" and r["packets"]]
        assert hit == ["acl.rules:4"], report["acl"]
        running.wait_for("acl west in edge  permitted")


if __name__ == "__main__":
    tap.main(globals())
