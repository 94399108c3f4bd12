#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""OSPFv2 and OSPFv3 through turnpike: FRR in its kernel, BIRD on each side. Hellos are multicast (224.0.0.5, ff02::5),
IPv6 next hops are link-local. And OSPFv2 over unnumbered links, one of which flaps (with TURNPIKE_LONG=1 a
thousand times)."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.daemons import Bird, Frr  # noqa: E402
from lib.dut import LONG, Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import OURS, WEST, EAST, answers, cabled, ping  # noqa: E402

BEHIND = {"west": ("10.101.1.1", "2001:db8:101:1::1"), "east": ("10.102.1.1", "2001:db8:102:1::1")}
TIMERS = "hello 1; dead 4; retransmit 2; wait 2;"


def neighbour_config(router_id, own):
    return f"""
router id {router_id};
protocol device {{ }}
protocol kernel {{ ipv4 {{ export where source ~ [RTS_OSPF, RTS_OSPF_IA, RTS_OSPF_EXT1, RTS_OSPF_EXT2]; }}; }}
protocol kernel {{ ipv6 {{ export where source ~ [RTS_OSPF, RTS_OSPF_IA, RTS_OSPF_EXT1, RTS_OSPF_EXT2]; }}; }}
protocol ospf v2 {{ ipv4 {{ import all; }};
  area 0 {{ interface "eth0" {{ {TIMERS} }}; interface "lo" {{ stub; }}; }}; }}
protocol ospf v3 {{ ipv6 {{ import all; }};
  area 0 {{ interface "eth0" {{ {TIMERS} }}; stubnet {own}/128; }}; }}
"""


FRR_CONFIG = "\n".join(
    [line for name in ("west", "east") for line in
     (f"interface {name}", " ip ospf area 0", " ip ospf hello-interval 1", " ip ospf dead-interval 4",
      " ipv6 ospf6 area 0", " ipv6 ospf6 hello-interval 1", " ipv6 ospf6 dead-interval 4", "exit")] +
    ["router ospf", " ospf router-id 10.255.0.1", "exit", "router ospf6", " ospf6 router-id 10.255.0.1", "exit", ""])


def learned(operator):
    return {r["to"]: r for r in operator.show("routes", most=1024)["routes"] if r["origin"] == "learned"}


def test_ospf():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        box = lab.host("box")
        for name, host in (("west", west), ("east", east)):
            host.run("ip route del default")
            host.run("ip -6 route del default")
            for address in BEHIND[name]:
                host.run(f"ip addr add {address}/{32 if '.' in address else 128} dev lo")
        devices = {name: ({"device": f"net_af_packet{n},iface={interface}", "host_interface": True}, OURS[name])
                   for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))}
        running = Turnpike(lab, dut, router_config(
            devices, control_plane={"netlink": True, "namespace": box.ns}))
        Frr(lab, box, FRR_CONFIG, ("ospfd", "ospf6d"))
        birds = {name: Bird(lab, host, neighbour_config(router, BEHIND[name][1]))
                 for name, host, router in (("west", west, WEST[0]), ("east", east, EAST[0]))}
        operator = Operator("/run/turnpike/control.sock")
        wanted = {f"{a}/{32 if '.' in a else 128}" for both in BEHIND.values() for a in both}
        wait_until(lambda: wanted <= set(learned(operator)), "routes are learned", 60)
        routes = learned(operator)
        assert {routes[to]["protocol"] for to in wanted} == {"ospf"}, routes
        assert routes[BEHIND["east"][1] + "/128"]["via"].startswith("fe80::"), routes
        both_ways = (("west", "east", west), ("east", "west", east))
        for _, there, host in both_ways:  # replies need a return route
            for target in BEHIND[there]:
                wait_until(lambda: host.run(f"ip route get {target}", check=False).returncode == 0, "they are told", 30)
        for here, there, host in both_ways:
            for source, target in zip(BEHIND[here], BEHIND[there]):
                ping(host, target, f"-I {source}")
        lab.end(birds["east"].process)
        wait_until(lambda: not any(to.startswith("10.102.") for to in learned(operator)), "they are taken back", 30)
        assert not answers(west, BEHIND["east"][0])
        running.stop()


def unnumbered(interfaces, router_id, behind=None):
    """FRR whose interfaces share one address (RFC 2328: point-to-point, unnumbered)."""
    lines = []
    for name in interfaces:
        lines += [f"interface {name}", f" ip address {router_id}/32", " ip ospf network point-to-point", " ip ospf area 0",
                  " ip ospf dead-interval minimal hello-multiplier 4", " ip ospf retransmit-interval 1", "exit"]
    if behind:
        lines += ["interface lo", f" ip address {behind}/32", " ip ospf area 0", "exit"]
    return "\n".join(lines + ["router ospf", f" ospf router-id {router_id}", " timers throttle spf 10 100 200",
                              " timers throttle lsa all 0", " timers lsa min-arrival 0", "exit", ""])


@tap.limit(3600 if LONG else 120)
def test_unnumbered_with_a_link_that_flaps():
    """Next hops outside of our networks (onlink), by links that share one address; the west link goes down and up."""
    flaps = 1000 if LONG else 3
    with Lab() as lab:
        west, dut, east = (lab.host(name, name == "dut") for name in ("west", "dut", "east"))
        box = lab.host("box")
        for name, host in (("west", west), ("east", east)):
            lab.cable(host, "eth0", dut, f"{name[0]}0")
            host.run("sysctl -qw net.ipv4.ip_forward=1")
        devices = {name: ({"device": f"net_af_packet{n},iface={name[0]}0", "host_interface": True}, ["10.255.0.1/32"])
                   for n, name in enumerate(("west", "east"))}
        running = Turnpike(lab, dut, router_config(devices, control_plane={"netlink": True, "namespace": box.ns},
                                                    idle={"sleep_us": 500}))
        Frr(lab, box, unnumbered(("west", "east"), "10.255.0.1"), ("ospfd",))
        Frr(lab, west, unnumbered(("eth0",), "10.255.0.2", BEHIND["west"][0]), ("ospfd",))
        Frr(lab, east, unnumbered(("eth0",), "10.255.0.3", BEHIND["east"][0]), ("ospfd",))
        operator = Operator("/run/turnpike/control.sock")
        wanted = {f"{BEHIND[name][0]}/32" for name in BEHIND}
        source, target = BEHIND["west"][0], BEHIND["east"][0]

        def goes():
            return wanted <= set(learned(operator)) and not west.run(
                f"ping -n -c 1 -W 0.2 -I {source} {target}", check=False).returncode
        wait_until(goes, "both sides are learned, and reach each other", 60)
        assert learned(operator)[f"{target}/32"]["via"] == "10.255.0.3", learned(operator)
        slowest = 0
        for _ in range(flaps):
            west.run("ip link set eth0 down")
            wait_until(lambda: f"{source}/32" not in learned(operator), "the route by it is taken back", 30)
            # At once, unless a busy machine stalled a daemon for the second after which the other one declares it dead.
            wait_until(lambda: f"{target}/32" in learned(operator), "the other side's stays", 30)
            began = time.monotonic()
            west.run("ip link set eth0 up")
            wait_until(goes, "it forwards again", 30)
            slowest = max(slowest, time.monotonic() - began)
        print(f"# {flaps} flaps; forwards again after {slowest:.1f} s at most")
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
