#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""doc/troubleshooting.md is true: each of its situations is made between hosts, its commands are run, and their output has
the lines that the page shows.

A section of the page belongs to the case of the same name. In a code block a line `$ turnpikectl ...` is a command, and
the lines behind it are lines of its output in this order, with `...` for any text; other lines of the output may be
between them."""
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.daemons import Bird  # noqa: E402
from lib.dut import BUILD, Turnpike, patch_config, router_config  # noqa: E402
from lib.frames import ethernet, ipv4, mac, tag, udp  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, HASTY, OURS, WEST, answers, cabled, set_addresses, ping, start  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc/troubleshooting.md")


def sections():
    """{heading: [(command, [lines of its output])]}"""
    out, heading, inside = {}, None, False
    with open(PAGE, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("## "):
                heading = line[3:]
                out[heading] = []
            elif line.startswith("```"):
                inside = not inside
            elif inside and line.startswith("$ "):
                out[heading].append((line[2:], []))
            elif inside and line.strip():
                out[heading][-1][1].append(line)
    return out


def pattern(line):
    parts = [r"\s+".join(re.escape(word) for word in part.split()) for part in line.split("...")]
    return re.compile(r"\s*.*?\s*".join(parts))


def missing(lines, output):
    """The first of the documented lines that the output does not have behind the lines before; None: it has all."""
    rest = iter(output.splitlines())
    for line in lines:
        if not any(pattern(line).fullmatch(said.strip()) for said in rest):
            return line
    return None


class Situation:
    """The hosts, and turnpikectl as the page's reader runs it."""

    def __init__(self, lab, folder):
        self.lab = lab
        self.socket = os.path.join(folder, "control.sock")
        self.control = {"control": {"socket": self.socket}}

    def run(self, command):
        words = shlex.split(command)
        assert words[0] == "turnpikectl", command
        done = subprocess.run([CTL, "--socket", self.socket, *words[1:]], capture_output=True, text=True, timeout=30,
                              check=False)
        assert done.returncode == 0, (command, done)
        return done.stdout

    def shown(self, what):
        """A list of `show`."""
        return json.loads(self.run(f"turnpikectl --json show {what}"))[what]

    def holds(self, heading, index):
        """Waits until the command of that number has the output that the page shows."""
        command, lines = sections()[heading][index]
        assert lines, f"{heading}: {command} has no output on the page"
        said = [""]

        def is_so():
            said[0] = self.run(command)
            return missing(lines, said[0]) is None

        wait_until(is_so, lambda: f"{command} does not say '{missing(lines, said[0])}':\n{said[0]}", 20)


@contextlib.contextmanager
def situation():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        yield Situation(lab, folder)


@contextlib.contextmanager
def repeated(action, pause_s=0.05):
    """The action, again and again while the block runs."""
    done = threading.Event()

    def repeat():
        while not done.is_set():
            with contextlib.suppress(OSError):
                action()
            time.sleep(pause_s)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def all_of(s, heading):
    for index in range(len(sections()[heading])):
        s.holds(heading, index)


def no_ping(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab)
        running = start(s.lab, dut, [{"to": "10.8.0.0/16", "via": EAST[0]}], **s.control)
        assert not answers(west, "10.9.0.1")
        all_of(s, heading)
        running.stop()


def no_arp(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab)
        running = start(s.lab, dut, neighbours={**HASTY, "negative_ms": 60000}, **s.control)
        with repeated(lambda: answers(west, "10.0.2.99")):
            all_of(s, heading)
        running.stop()


def wrong_vlan(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab)
        config = router_config({"east": ("net_af_packet1,iface=e0", OURS["east"])}, **s.control)
        config["ports"].append({"name": "west", "device": "net_af_packet0,iface=w0"})
        config["interfaces"] = [{"port": "west", "vlan": 10, "addresses": OURS["west"]}]
        running = Turnpike(s.lab, dut, config)
        wire = west.raw("eth0")
        frame = ethernet(mac(dut.mac("w0")), mac(west.mac("eth0")), 0x8100,
                         tag(20, 0x0800, ipv4(WEST[0], EAST[0], udp(b"x"))))
        with repeated(lambda: wire.send(frame)):
            all_of(s, heading)
        running.stop()


def mtu(heading):
    with situation() as s:
        west, dut, east = cabled(s.lab)
        running = start(s.lab, dut, mtu=(1500, 1400), **s.control)
        ping(west, EAST[0])
        said = ping(west, EAST[0], "-M do -s 1450", check=False).stdout
        assert "mtu = 1400" in said or "mtu=1400" in said, said
        all_of(s, heading)
        assert long_frames_end_in_the_kernel(s, east, dut, frames=10) == 10
        s.run("turnpikectl set port east mtu 1500")
        assert long_frames_end_in_the_kernel(s, east, dut, frames=10) == 0
        running.stop()


def long_frames_end_in_the_kernel(s, east, dut, frames):
    """Sends frames of 1,450 bytes to the port. Returns the number that the port's interface in the kernel drops; turnpike has
    the others."""
    dropped = lambda: json.loads(dut.run("ip -j -s link show dev e0").stdout)[0]["stats64"]["rx"]["dropped"]  # noqa: E731
    port = lambda: next(p for p in s.shown("ports") if p["name"] == "east")  # noqa: E731
    wire = east.raw("eth0")
    frame = ethernet(mac(dut.mac("e0")), mac(east.mac("eth0")), 0x88B5, bytes(1436))
    before, had = dropped(), port()
    for _ in range(frames):
        with contextlib.suppress(OSError):  # ENOBUFS: a veth tells the sender of the drop at its other end
            wire.send(frame)
    ended = dropped() - before
    wait_until(lambda: port()["rx_packets"] - had["rx_packets"] >= frames - ended, lambda: f"the other frames: {port()}")
    assert port()["rx_missed"] == had["rx_missed"], port()
    return ended


def asymmetric_urpf(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab)
        device = {"device": "net_af_packet0,iface=w0", "urpf": "strict"}
        running = Turnpike(s.lab, dut, router_config(
            {"west": (device, OURS["west"]), "east": ("net_af_packet1,iface=e0", OURS["east"])},
            [{"to": "10.8.0.0/16", "via": EAST[0]}], **s.control))
        ping(west, EAST[0])
        west.run("ip addr add 10.8.0.1/32 dev lo")
        with repeated(lambda: west.run(f"ping -n -c 1 -W 0.1 -I 10.8.0.1 {EAST[0]}", check=False)):
            all_of(s, heading)
        running.stop()


def acl(heading):
    with situation() as s:
        west, dut, east = cabled(s.lab)
        rules = [{"action": "permit", "protocol": "tcp", "destination_ports": "80-81", "name": "web"},
                 {"action": "permit", "protocol": "icmp"}]
        device = {"device": "net_af_packet0,iface=w0", "acl": {"in": "edge"}}
        running = Turnpike(s.lab, dut, router_config(
            {"west": (device, OURS["west"]), "east": ("net_af_packet1,iface=e0", OURS["east"])},
            acl=[{"name": "edge", "rules": rules, "default": "deny"}], **s.control))
        ping(west, EAST[0])
        with repeated(lambda: west.run(f"timeout 0.3 bash -c ': </dev/tcp/{EAST[0]}/443'", check=False)):
            all_of(s, heading)
        assert east.run("true").returncode == 0
        running.stop()


def polarisation(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab)
        north = s.lab.host("north")
        s.lab.cable(north, "eth0", dut, "n0")
        set_addresses(north, 3)
        devices = {name: (f"net_af_packet{n},iface={interface}", [f"10.0.{n + 1}.1/24"])
                   for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0"), ("north", "n0")))}
        running = Turnpike(s.lab, dut, router_config(
            devices, [{"to": "10.9.0.0/16", "via": [EAST[0], "10.0.3.2"]}], ecmp={"hash": "addresses", "seed": 7}, **s.control))
        for address in (EAST[0], "10.0.3.2"):  # the next hops are resolved
            ping(west, address)
        before, change, after = sections()[heading][0:2], sections()[heading][2], sections()[heading][3]
        assert "source_port 1001" in before[1][0] and change[0].startswith("turnpikectl set ecmp.hash"), before
        said = [s.run(command) for command, _lines in before]
        members = [re.search(r"member: .* via (\S+)", text)[1] for text in said]
        assert members[0] == members[1], said
        all_of(s, heading)
        assert after[0] == before[1][0]
        members = {re.search(r"member: .* via (\S+)", s.run(
            f"turnpikectl explain west from 10.0.1.2 to 10.9.0.1 source_port {port}"))[1] for port in range(1000, 1020)}
        assert members == {EAST[0], "10.0.3.2"}, members
        running.stop()


def bgp_config(router, own, number, peer, peer_number, announced=()):
    routes = "".join(f"  route {network} blackhole;\n" for network in announced)
    return f"""
router id {router};
protocol device {{ scan time 1; }}
protocol direct {{ ipv4; }}
protocol kernel {{ ipv4 {{ export where source = RTS_BGP; }}; }}
protocol static {{ ipv4;
{routes}}}
protocol bgp peer {{
  local {own} as {number}; neighbor {peer} as {peer_number};
  hold time 3; keepalive time 1; connect retry time 1; connect delay time 1; error wait time 1, 1;
  ipv4 {{ import all; export where source = RTS_STATIC; next hop self; }};
}}"""


def bgp_down(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab)
        box = s.lab.host("box")
        devices = {"west": ({"device": "net_af_packet0,iface=w0", "host_interface": True, "acl": {"in": "edge"}}, OURS["west"]),
                   "east": ({"device": "net_af_packet1,iface=e0", "host_interface": True}, OURS["east"])}
        rules = [{"action": "permit", "protocol": "icmp"}, {"action": "permit", "protocol": "udp"}]
        running = Turnpike(s.lab, dut, router_config(devices, control_plane={"netlink": True, "namespace": box.ns},
                                                     acl=[{"name": "edge", "rules": rules, "default": "deny"}], **s.control))
        ping(west, OURS["west"][0].split("/")[0])
        daemon = Bird(s.lab, box, bgp_config("10.255.0.1", "10.0.1.1", 65000, WEST[0], 65001))
        Bird(s.lab, west, bgp_config("10.255.0.2", WEST[0], 65001, "10.0.1.1", 65000, ["10.101.0.0/16"]))
        rows = sections()[heading]
        permit = next(i for i, (command, _lines) in enumerate(rows) if "rule add" in command)
        for index in range(permit):
            s.holds(heading, index)
        assert "Established" not in daemon.ask("show protocols")
        s.run(rows[permit][0])
        for index in range(permit + 1, len(rows)):
            s.holds(heading, index)
        assert "Established" in daemon.ask("show protocols")
        running.stop()


def slow(heading):
    with situation() as s:
        dut = s.lab.host("dut", True)
        running = Turnpike(s.lab, dut, patch_config("net_null0", "net_null1", **s.control))
        all_of(s, heading)
        running.stop()


def drops_at_nic(heading):
    with situation() as s:
        west, dut, _east = cabled(s.lab, kernels=False)
        ports = [{"device": f"net_xsk{n},iface={interface}", "descriptors": 64} for n, interface in enumerate(("w0", "e0"))]
        # A worker that sleeps for 10 ms is as good as one that is busy elsewhere.
        running = Turnpike(s.lab, dut, patch_config(*ports, idle={"sleep_us": 10000}, **s.control))
        wire = west.raw("eth0")
        frame = ethernet(mac(dut.mac("w0")), mac(west.mac("eth0")), 0x88B5, bytes(46))
        with repeated(lambda: [wire.send(frame) for _ in range(1000)]):
            wait_until(lambda: s.shown("ports")[0]["rx_missed"] > 1000, "the ring is full")
            all_of(s, heading)
        assert not running.stop()["drops"]


def noisy_neighbour(heading):
    with situation() as s:
        west, dut, east = cabled(s.lab)
        running = start(s.lab, dut, punt_rate={"local": 100}, **s.control)
        ping(west, EAST[0])
        wire = west.raw("eth0")
        frame = ethernet(mac(dut.mac("w0")), mac(west.mac("eth0")), 0x0800,
                         ipv4(WEST[0], "10.0.1.1", udp(b"x")))

        def flood():
            for _ in range(200):
                wire.send(frame)

        with repeated(flood):
            all_of(s, heading)
            assert answers(east, "10.0.2.1") or answers(east, "10.0.2.1"), "others are served"
        running.stop()


CASES = {"No ping": no_ping, "No ARP": no_arp, "The wrong VLAN": wrong_vlan, "MTU": mtu,
         "Asymmetric paths and uRPF": asymmetric_urpf, "ACL": acl, "ECMP polarisation": polarisation, "BGP down": bgp_down,
         "Slow": slow, "Drops at the NIC": drops_at_nic, "A noisy neighbour": noisy_neighbour}


def test_the_page_has_these_sections():
    page = sections()
    assert set(page) == set(CASES), set(page) ^ set(CASES)
    for heading, rows in page.items():
        assert rows and all(command.startswith("turnpikectl ") for command, _lines in rows), heading
    # A line that is not in the output, or not in this order, is found.
    assert missing(["a  ... c", "d"], "x\na b c\nd\n") is None
    assert missing(["d", "a"], "a\nd\n") == "a" and missing(["a b"], "a b c\n") == "a b"


def case_of(heading):
    def test():
        CASES[heading](heading)
    return test


for name, function in CASES.items():
    globals()["test_" + function.__name__] = case_of(name)

if __name__ == "__main__":
    tap.main(globals())
