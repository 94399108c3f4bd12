#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A router with unmodified FRR or BIRD: eBGP to a neighbour on each side; turnpike forwards by the announced routes, and
no longer by withdrawn ones. With TURNPIKE_LONG=1 a full table, too."""
import collections
import gzip
import ipaddress
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.daemons import Bird, Frr  # noqa: E402
from lib.dut import LONG, Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, OURS, WEST, answers, cabled, ping  # noqa: E402

ROUTES = 50  # per family and neighbour
NETWORKS = {"west": ("10.101.{}.0/24", "2001:db8:101:{:x}::/64"), "east": ("10.102.{}.0/24", "2001:db8:102:{:x}::/64")}
BEHIND = {"west": ("10.101.1.1", "2001:db8:101:1::1"), "east": ("10.102.1.1", "2001:db8:102:1::1")}
# First and last addresses of our networks, which we drop (doc/linux-differences.md: network_address).
EDGES = {f"10.0.{n}.{host}" for n in (1, 2) for host in (0, 255)}
AS = {"box": 65000, "west": 65001, "east": 65002}


def neighbour_config(name, router, announced=None, hold=3, graceful=False):
    """A neighbour's BIRD: announces its networks, or others, and accepts all routes. graceful: if it restarts
    in time, its neighbours keep its routes meanwhile (RFC 4724); it waits for them to connect, since the end of one of two
    connections that collide is a Cease, after which no routes are kept."""
    announced = announced or [n.format(i) for n in NETWORKS[name] for i in range(1, ROUTES + 1)]
    static4 = "".join(f"  route {n} blackhole;\n" for n in announced if ":" not in n)
    static6 = "".join(f"  route {n} blackhole;\n" for n in announced if ":" in n)
    own = {"west": WEST, "east": EAST}[name]
    peers, keep = "", "graceful restart on;" if graceful else ""
    graceful = f"{keep} graceful restart time 30; passive on;" if graceful else ""
    for family, (address, us) in enumerate(zip(router, own)):
        channel = ("ipv4", "ipv6")[family]
        peers += f"""
protocol bgp up{family} {{
  local {us} as {AS[name]}; neighbor {address} as {AS['box']};
  hold time {hold}; keepalive time 1; connect retry time 1; connect delay time 1; error wait time 1, 1;
  {graceful}
  {channel} {{ import all; export where source = RTS_STATIC; next hop self; }};
}}"""
    return f"""
router id {own[0]};
protocol device {{ }}
protocol kernel {{ ipv4 {{ export where source = RTS_BGP; }}; {keep} }}
protocol kernel {{ ipv6 {{ export where source = RTS_BGP; }}; {keep} }}
protocol static {{ ipv4;
{static4}}}
protocol static {{ ipv6;
{static6}}}
{peers}
"""


def frr_config():
    peers = [(*WEST, AS["west"]), (*EAST, AS["east"])]
    lines = [f"router bgp {AS['box']}", " bgp router-id 10.255.0.1", " no bgp ebgp-requires-policy",
             " no bgp default ipv4-unicast", " timers bgp 1 3"]
    for v4, v6, number in peers:
        for address in (v4, v6):
            lines += [f" neighbor {address} remote-as {number}", f" neighbor {address} timers connect 1"]
    lines += [" address-family ipv4 unicast"] + [f"  neighbor {v4} activate" for v4, _, _ in peers]
    lines += [" exit-address-family", " address-family ipv6 unicast"]
    lines += [f"  neighbor {v6} activate" for _, v6, _ in peers] + [" exit-address-family", "exit", ""]
    return "\n".join(lines)


def bird_config(hold=3):
    peers = ""
    for name, addresses in (("west", WEST), ("east", EAST)):
        for family, address in enumerate(addresses):
            channel = ("ipv4", "ipv6")[family]
            peers += f"""
protocol bgp {name}{family} {{
  local as {AS['box']}; neighbor {address} as {AS[name]};
  hold time {hold}; keepalive time 1; connect retry time 1; connect delay time 1; error wait time 1, 1;
  {channel} {{ import all; export all; next hop self; }};
}}"""
    return f"""
router id 10.255.0.1;
protocol device {{ scan time 1; }}
protocol kernel {{ ipv4 {{ export where source = RTS_BGP; }}; }}
protocol kernel {{ ipv6 {{ export where source = RTS_BGP; }}; }}
{peers}
"""


class Topology:
    """west -- turnpike -- east, each neighbour with a BIRD, and in `box` the daemon that configures turnpike's kernel."""

    def __init__(self, lab, daemon, announced=None, graceful=False):
        self.lab = lab
        self.west, self.dut, self.east = cabled(lab)
        self.box = lab.host("box")
        for name, host in (("west", self.west), ("east", self.east)):
            # Only BGP routes: a default route could hide errors.
            host.run("ip route del default")
            host.run("ip -6 route del default")
            for address in BEHIND[name]:
                host.run(f"ip addr add {address}/{32 if '.' in address else 128} dev lo")
        self.running = self.start()
        self.hold = 240 if announced else 3
        self.daemon = (Frr(lab, self.box, frr_config()) if daemon == "frr" else
                       Bird(lab, self.box, bird_config(self.hold)))
        ours = {name: [a.split("/")[0] for a in addresses] for name, addresses in OURS.items()}
        announced = announced or {}
        self.configs = {name: neighbour_config(name, ours[name], announced.get(name), self.hold, graceful) for name in ours}
        self.neighbours = {name: Bird(lab, host, self.configs[name])
                           for name, host in (("west", self.west), ("east", self.east))}

    def announce(self, name, networks):
        """A neighbour announces exactly these networks from now on; its sessions stay."""
        bird = self.neighbours[name]
        config = neighbour_config(name, [a.split("/")[0] for a in OURS[name]], networks, self.hold)
        with open(bird.config, "w", encoding="utf-8") as file:
            file.write(config)
        said = bird.ask("configure")
        assert "Reconfigur" in said, said

    def start(self):
        devices = {name: ({"device": f"net_af_packet{n},iface={interface}", "host_interface": True}, OURS[name])
                   for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))}
        return Turnpike(self.lab, self.dut,
                        router_config(devices, control_plane={"netlink": True, "namespace": self.box.ns}))

    def operator(self):
        return Operator("/run/turnpike/control.sock")

    def learned(self, operator):
        """{prefix: (via, interface)} of turnpike's routes from a daemon."""
        out, at = {}, {}
        while True:
            page = operator.show("routes", most=1024, **at)
            for r in page["routes"]:
                if r["origin"] == "learned" and r["type"] != "local":
                    out[r["to"]] = (r["via"], r["interface"], r["protocol"])
            if page["next"] is None:
                return out
            at = {"from": page["next"]}

    def kernels(self):
        """The kernel's main table: {prefix: (via, interface)}."""
        out = {}
        for family in ("-4", "-6"):
            for line in self.box.run(f"ip {family} route show table main").stdout.splitlines():
                words = line.split()
                if "via" in words:
                    to = words[0] if words[0] != "default" else "0.0.0.0/0"
                    network = ipaddress.ip_network(to)
                    out[str(network)] = (words[words.index("via") + 1], words[words.index("dev") + 1])
        return out

    def equal(self, operator):
        """Learned routes equal the kernel's, with the same next hops."""
        return {to: r[:2] for to, r in self.learned(operator).items()} == self.kernels()

    def everywhere(self):
        """Hosts behind the neighbours reach each other, by both families."""
        for here, there, host in (("west", "east", self.west), ("east", "west", self.east)):
            for target in BEHIND[there]:
                wait_until(lambda: host.run(f"ip route get {target}", check=False).returncode == 0,
                           f"{here} is told of {there}'s", 30)
        for here, there, host in (("west", "east", self.west), ("east", "west", self.east)):
            for source, target in zip(BEHIND[here], BEHIND[there]):
                ping(host, target, f"-I {source}")


def converged(t, operator, count=4 * ROUTES):
    wait_until(lambda: len(t.learned(operator)) == count and t.equal(operator), f"{count} routes are learned", 30)


def random_addresses(count, networks):
    """Half of them inside these networks or just outside, the others anywhere."""
    r, out = random.Random(count), set()
    while len(out) < count:
        six = r.random() < 0.3
        if r.random() < 0.5:
            near = ipaddress.ip_network(r.choice(networks), strict=False)
            room = 1 << (near.max_prefixlen - near.prefixlen)
            number = int(near.network_address) + r.randrange(-room, 2 * room)
            six = near.version == 6
        else:
            number = (1 << 125) + r.getrandbits(125) if six else r.getrandbits(32)
        a = (ipaddress.IPv6Address if six else ipaddress.IPv4Address)(max(number, 1 << 24))
        if not (a.is_multicast or a.is_loopback or a.is_link_local or (not six and int(a) >> 28 == 15)):
            out.add(str(a))
    return sorted(out)


def same_lookups(t, operator, count):
    """turnpike's lookups of random addresses return the kernel's results (`ip route get`)."""
    addresses = random_addresses(count, list(t.learned(operator)) + [a for both in OURS.values() for a in both])
    with tempfile.NamedTemporaryFile("w", dir="/run") as batch:
        batch.writelines(f"route get {a}\n" for a in addresses)
        batch.flush()
        lines = t.box.run(f"ip -o -force -batch {batch.name}", check=False, timeout=300).stdout.splitlines()
    kernels = {}
    for words in map(str.split, lines):
        kind = words.pop(0) if words[0] in ("local", "broadcast", "unreachable", "multicast", "anycast") else "unicast"
        kernels[words[0]] = (kind, words[words.index("via") + 1] if "via" in words else None,
                             words[words.index("dev") + 1] if "dev" in words else None)
    ways = collections.Counter()
    for a in addresses:
        kind, via, by = kernels.get(a, ("none", None, None))
        ours = operator.show("route", address=a)
        if ours["type"] == "drop":
            same = kind == "none" if ours["reason"] == "no_route" else a in EDGES
        elif ours["type"] == "local":
            same = kind == "local"
        else:
            same = ours["interface"] == by and (ours["origin"] in ("connected", "neighbour") if via is None
                                                else ours["via"] == via)
        assert same, (a, kernels.get(a), ours)
        ways[kind if via is None else "via"] += 1
    print(f"# {count} lookups are the kernel's: {dict(ways)}")
    assert ways["via"] > count / 5 and ways["none"] > count / 10, ways


def drives(daemon, protocol):
    with Lab() as lab:
        t = Topology(lab, daemon)
        operator = t.operator()
        converged(t, operator)
        assert {r[2] for r in t.learned(operator).values()} == {protocol}
        t.everywhere()
        same_lookups(t, operator, 2000)
        # An unchanged operator's configuration keeps learned routes, and a saved one does not contain them.
        operator.result("reload")
        assert t.equal(operator) and len(t.learned(operator)) == 4 * ROUTES
        saved = operator.result("configuration")["text"]
        assert "10.101." not in saved and "control_plane" in saved, saved
        # The operator's route takes precedence.
        operator.result("change", do=[{"add": {"route": {"to": "10.102.1.0/24", "type": "blackhole"}}}])
        assert not answers(t.west, BEHIND["east"][0])
        operator.result("change", do=[{"del": {"route": {"to": "10.102.1.0/24"}}}])
        ping(t.west, BEHIND["east"][0], f"-I {BEHIND['west'][0]}")
        # Routes of a lost neighbour are withdrawn.
        lab.end(t.neighbours["east"].process)
        converged(t, operator, 2 * ROUTES)
        assert not any(to.startswith("10.102.") for to in t.learned(operator))
        assert not answers(t.west, BEHIND["east"][0])
        report = t.running.stop()
        assert report["balance"]["originated"] > 20 and report["balance"]["consumed"] > 20


def test_frr():
    drives("frr", "bgp")


def test_bird():
    drives("bird", "bird")


def test_restart():
    """turnpike is killed and restarted beside a running daemon: it forwards again within seconds."""
    with Lab() as lab:
        t = Topology(lab, "frr")
        operator = t.operator()
        converged(t, operator)
        before = t.learned(operator)
        t.running.process.kill()
        t.running.process.wait()
        operator.close()
        began = time.monotonic()
        t.running = t.start()
        source = BEHIND["west"][0]
        wait_until(lambda: t.west.run(f"ping -n -c 1 -W 0.1 -I {source} {BEHIND['east'][0]}", check=False)
                   .returncode == 0, "it forwards again", 20)
        took = time.monotonic() - began
        operator = t.operator()
        converged(t, operator)
        assert t.learned(operator) == before
        print(f"# forwards {took:.1f} s after it was started again")
        t.everywhere()
        t.running.stop()


def test_a_neighbour_that_restarts_gracefully():
    """Its daemon is killed and restarted: its routes stay, and no packet is lost."""
    with Lab() as lab:
        t = Topology(lab, "bird", graceful=True)
        operator = t.operator()
        converged(t, operator)
        t.everywhere()
        before = t.learned(operator)
        pings = t.west.start(f"ping -n -i 0.01 -c 300 -W 5 -I {BEHIND['west'][0]} {BEHIND['east'][0]}",
                             stdout=subprocess.PIPE, text=True)
        time.sleep(0.3)
        t.neighbours["east"].process.kill()
        t.neighbours["east"].process.wait()
        wait_until(lambda: "Established" not in t.daemon.ask("show protocols east0"), "the session is reset")
        assert t.learned(operator) == before, "its routes are gone"
        t.neighbours["east"] = Bird(lab, t.east, t.configs["east"], recovers=True)
        wait_until(lambda: "Established" in t.daemon.ask("show protocols east0"), "the session is there again", 20)
        said = pings.communicate(timeout=30)[0]
        assert "300 received" in said and "duplicates" not in said, said
        converged(t, operator)
        assert t.learned(operator) == before
        t.running.stop()


SHARED = os.environ.get("TURNPIKE_SHARED", os.path.join(os.path.dirname(__file__), "../../../shared"))
FULL_TABLE = os.path.join(SHARED, "data/bgp/full-table-2024-01.txt.gz")


def kernel_routes(host):
    """Numbers of IPv4 and IPv6 routes of all tables, without a list of them."""
    said = host.run("cat /proc/net/fib_triestat /proc/net/rt6_stats").stdout
    v4 = sum(map(int, re.findall(r"Prefixes:\s+(\d+)", said)))
    return v4, int(said.splitlines()[-1].split()[3], 16)


def both_converge(t, routes, wanted):
    """Seconds from the first routes until the kernel has all routes, and from then until turnpike has."""
    wait_until(lambda: routes() > 10, "the first routes", 120)
    began, seen = time.monotonic(), []

    def all_are_there():
        seen.append((kernel_routes(t.box), routes(), time.monotonic() - began))
        time.sleep(0.5)
        return len(seen) > 10 and seen[-1][1] == wanted and seen[-1][0] == seen[-10][0]
    wait_until(all_are_there, "all routes are in the kernel and in turnpike", 500)
    kernel = next(at for there, _, at in seen if there == seen[-1][0])
    return kernel, next(at for _, ours, at in seen if ours == wanted) - kernel


def full_table(daemon):
    """901,899 + 160,147 routes by eBGP: time until the kernel has all, and until turnpike has."""
    if not os.path.exists(FULL_TABLE):
        tap.skip(f"{FULL_TABLE} is not here (set TURNPIKE_SHARED)")
    with gzip.open(FULL_TABLE, "rt", newline=None) as file:
        table = [line.strip() for line in file if line.strip()]
    with Lab() as lab:
        t = Topology(lab, daemon, {"east": table})
        operator = t.operator()
        routes = lambda: operator.show("control-plane")["routes"]  # noqa: E731
        wanted = len(table) + 2 * ROUTES
        kernel, lag = both_converge(t, routes, wanted)
        print(f"# {daemon}: {wanted} routes: the kernel had all after {kernel:.1f} s, turnpike {lag:.1f} s later; "
              f"{operator.show('control-plane')['overruns']} overruns")
        assert lag < 5, "routes are handed over faster than turnpike takes them"
        same_lookups(t, operator, 1_000_000 if daemon == "bird" else 200_000)
        memory = operator.show("memory")
        print(f"# FIBs of {(memory['fib4']['bytes'] + memory['fib6']['bytes']) >> 20} MiB")
        half = table[::2]
        began = time.monotonic()
        t.announce("east", half)
        wait_until(lambda: time.sleep(1) or routes() == len(half) + 2 * ROUTES, "half is taken back", 300)
        print(f"# half is taken back after {time.monotonic() - began:.1f} s")
        same_lookups(t, operator, 200_000)
        began = time.monotonic()
        lab.end(t.neighbours["east"].process)
        wait_until(lambda: routes() == 2 * ROUTES, "all are taken back", 300)
        print(f"# all are taken back after {time.monotonic() - began:.1f} s")
        t.running.stop()


@tap.limit(600)
def full_table_by_bird():
    full_table("bird")


@tap.limit(900)
def full_table_by_zebra():
    full_table("frr")


if LONG:  # they take minutes
    test_full_table_by_bird = full_table_by_bird
    test_full_table_by_zebra = full_table_by_zebra

if __name__ == "__main__":
    tap.main(globals())
