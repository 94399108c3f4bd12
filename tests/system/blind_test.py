#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A blind test: six faults are planted, one at a time, and the same two commands, in the form for people, name each with its
object: `show drops`, and `explain` of the packet that is not answered."""
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.dut import BUILD, Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, HASTY, OURS, WEST, answers, cabled  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
DEVICES = {"west": "net_af_packet0,iface=w0", "east": "net_af_packet1,iface=e0"}


@contextlib.contextmanager
def planted(west=None, east=None, routes=(), **more):
    """A router of two ports with additional keys; (the host west, the host east, a function that runs turnpikectl)."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        hosts = cabled(lab)
        socket = os.path.join(folder, "control.sock")
        devices = {name: ({"device": DEVICES[name], **(keys or {})}, OURS[name])
                   for name, keys in (("west", west), ("east", east))}
        config = router_config(devices, routes, control={"socket": socket}, **more)
        if "bridges" in more:
            for port in config["ports"]:
                port.pop("addresses", None)
        running = Turnpike(lab, hosts[1], config)

        def ctl(line):
            done = subprocess.run([CTL, "--socket", socket, *line.split()], capture_output=True, text=True, timeout=30,
                                  check=False)
            assert done.returncode == 0, (line, done)
            return done.stdout
        yield hosts[0], hosts[2], ctl
        running.stop()


def two_commands(ctl, packet, reason):
    """The output of the two commands. The drop reason is counted when the packets of a fault arrived."""
    drops = [""]

    def counted():
        drops[0] = ctl("show drops")
        return reason is None or re.search(rf"(?m)^{reason} +[1-9]\d* +west ", drops[0])

    wait_until(counted, lambda: f"no {reason} in:\n{drops[0]}", 20)
    return drops[0] + ctl(f"explain west {packet}")


def has(text, *patterns):
    for pattern in patterns:
        assert re.search(pattern, text), f"no {pattern!r} in:\n{text}"


def send(west, to, options="-c 3 -i 0.2 -W 0.2"):
    west.run(f"ping -n {options} {to}", check=False)


def test_a_wrong_vlan():
    members = [{"port": "west", "mode": "access", "vlan": 20}, {"port": "east", "mode": "access", "vlan": 10}]
    with planted(bridges=[{"name": "lan", "members": members}]) as (west, east, ctl):
        east.run("ip addr add 10.0.1.9/24 dev eth0")
        send(east, "10.0.1.2")
        send(west, "10.0.1.9")
        station = re.search(r"link/ether (\S+)", east.run("ip link show dev eth0").stdout)[1]
        text = two_commands(ctl, f"from {WEST[0]} to 10.0.1.9 destination_mac {station}", None)
        has(text, "VLAN 20", "VLAN 10 has it at east")


def test_an_acl_denies():
    rules = [{"action": "permit", "protocol": "tcp", "destination_ports": "80"},
             {"action": "deny", "protocol": "icmp", "name": "no-ping"}]
    with planted({"acl": {"in": "edge"}}, acl=[{"name": "edge", "default": "permit", "rules": rules}]) as (west, _east, ctl):
        send(west, EAST[0])
        text = two_commands(ctl, f"from {WEST[0]} to {EAST[0]} protocol icmp", "acl_deny")
        has(text, r"ACL edge, in of west: deny by .*no-ping", "acl_deny: denied by the ingress ACL")


def test_nobody_answers_arp():
    with planted(neighbours={**HASTY, "negative_ms": 60000}) as (west, _east, ctl):
        send(west, "10.0.2.99", "-c 3 -i 0.5 -W 0.5")
        text = two_commands(ctl, f"from {WEST[0]} to 10.0.2.99", "neighbour_failed")
        has(text, "failed interface east via 10.0.2.99", "next hop does not answer ARP")


def test_the_mtu_is_too_small():
    with planted(east={"mtu": 1400}) as (west, _east, ctl):
        assert answers(west, EAST[0]) or answers(west, EAST[0])
        send(west, EAST[0], "-c 3 -i 0.2 -W 0.2 -M do -s 1450")
        text = two_commands(ctl, f"from {WEST[0]} to {EAST[0]} bytes 1500", "ipv4_too_big")
        has(text, r"ipv4_too_big .*exceeds the egress MTU", r"adjacency interface east", r"fragment +MTU 1400 of east")


def test_the_way_back_is_another():
    with planted({"urpf": "strict"}, routes=[{"to": "10.8.0.0/16", "via": EAST[0]}]) as (west, _east, ctl):
        west.run("ip addr add 10.8.0.1/32 dev lo")
        send(west, EAST[0], "-c 3 -i 0.2 -W 0.2 -I 10.8.0.1")
        text = two_commands(ctl, f"from 10.8.0.1 to {EAST[0]}", r"urpf")
        has(text, r"route 10\.8\.0\.0/16", "reverse path check")


def test_a_route_is_missing():
    with planted() as (west, _east, ctl):
        send(west, "10.9.0.1")
        text = two_commands(ctl, f"from {WEST[0]} to 10.9.0.1", "no_route")
        has(text, r"no route to 10\.9\.0\.1", r"no_route +\d+ +west")


def test_without_a_fault_nothing_is_named():
    with planted() as (west, _east, ctl):
        wait_until(lambda: answers(west, EAST[0]), "the host east answers")
        time.sleep(0.2)
        text = two_commands(ctl, f"from {WEST[0]} to {EAST[0]}", None)
        has(text, "east")
        assert not re.search(r"acl_deny|neighbour_failed|too_big|urpf|no_route|remedy", text), text


if __name__ == "__main__":
    tap.main(globals())
