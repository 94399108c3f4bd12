#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two cables from the bridge to itself: a loop. Storm limits and move damping contain it: traffic to hosts is bounded,
known hosts keep their connections, and after the cables are pulled everything recovers. Without both limits turnpike
still answers its socket and ends with an exact balance."""
import contextlib
import copy
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import ping, received  # noqa: E402

PORTS = ("p0", "p1", "l0", "l1", "m0", "m1")  # hosts are behind the first two, the others are the two cables' ends
LIMIT = 100  # flooded packets per second and class of a member
# Limit of flooded packets to a host per second over all members, plus their bursts.
MOST = len(PORTS) * 3 * (LIMIT + 32)
HOLD_S = 2


@contextlib.contextmanager
def looped(storm, moves):
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-loop-") as folder:
        dut, hosts = lab.host("dut", True), [lab.host(f"h{n}") for n in range(2)]
        for n, host in enumerate(hosts):
            lab.cable(host, "eth0", dut, f"p{n}")
            host.run(f"ip addr add 10.0.0.{n + 1}/24 dev eth0")
        for cable in "lm":
            lab.cable(dut, f"{cable}0", dut, f"{cable}1")
        storms = {"storm": dict.fromkeys(("broadcast", "multicast", "unknown"), LIMIT)} if storm else {}
        running = Turnpike(lab, dut, {
            "eal": {"args": "-l 0-1 --no-pci --in-memory", "hugepages": "optional"},
            "control": {"socket": f"{folder}/control.sock"},
            "ports": [{"name": p, "device": f"net_xsk{n},iface={p}", "descriptors": 512} for n, p in enumerate(PORTS)],
            "bridges": [{"name": "lan", "members": [{"port": p, **copy.deepcopy(storms)} for p in PORTS],
                         "damping": {"moves": moves, "within_s": 1, "hold_s": HOLD_S}}]})
        yield hosts, dut, running, Operator(f"{folder}/control.sock")


def rates(hosts, seconds=1.0):
    """Packets that each host receives in a second."""
    before, start = [received(host) for host in hosts], time.monotonic()
    time.sleep(seconds)
    return [(received(host) - b) / (time.monotonic() - start) for host, b in zip(hosts, before)]


def answers_at_once(operator):
    start = time.monotonic()
    bridge, = operator.show("bridges")["bridges"]
    took = time.monotonic() - start
    assert took < 1, took
    return bridge


def broadcast(host, count=1):
    """ARP requests for an address that no host has."""
    for n in range(count):
        host.run(f"ping -n -c 1 -W 0.05 10.0.0.{100 + n}", check=False)


def places(operator, hosts):
    """(port, kind) of each host: kind is "learnt" or "held"."""
    known = {s["mac"]: (s["port"], s["kind"]) for s in operator.show("fdb")["fdb"]}
    return [known.get(host.mac("eth0")) for host in hosts]


def test_limits_and_damping_contain_it():
    with looped(storm=True, moves=3) as (hosts, dut, running, operator):
        west, east = hosts
        for host, other in ((west, east), (east, west)):  # so that no ARP request is lost
            host.run(f"ip neigh replace 10.0.0.{2 if host is west else 1} lladdr {other.mac('eth0')} dev eth0")
        broadcast(west)
        broadcast(east)
        wait_until(lambda: places(operator, hosts) == [("p0", "held"), ("p1", "held")],
                   lambda: f"both hosts are held where they are: {places(operator, hosts)}")
        going = west.start("ping -q -n -i 0.01 -c 150 -W 1 10.0.0.2", stdout=-1, text=True)
        for _ in range(5):
            broadcast(west, 3)
            broadcast(east, 3)
            answers_at_once(operator)
        said, _ = going.communicate(timeout=20)
        lost = float(re.search(r"([\d.]+)% packet loss", said).group(1))
        got = rates(hosts)
        print(f"# {lost} % of known flows lost, hosts get {got} packets a second, "
              f"{answers_at_once(operator)['moves']} moves")
        assert lost <= 5, said
        assert max(got) < MOST, got
        for end in ("l0", "m0"):
            dut.run(f"ip link set {end} down")
        time.sleep(HOLD_S + 1.5)
        assert max(rates(hosts)) < 20
        ping(west, "10.0.0.2", count=20)
        ping(east, "10.0.0.1", count=20)
        assert places(operator, hosts) == [("p0", "learnt"), ("p1", "learnt")]
        report = running.stop()
        assert report["drops"]["bridge_moving"] > 0, report["drops"]


def test_limits_alone_bound_it():
    with looped(storm=True, moves=0) as (hosts, _dut, running, operator):
        before = received(hosts[1])
        start = time.monotonic()
        for _ in range(5):  # a loop that is out of tokens ends, until the next broadcast
            broadcast(hosts[0], 3)
            answers_at_once(operator)
        got, seconds = received(hosts[1]) - before, time.monotonic() - start
        print(f"# a host got {got} packets in {seconds:.2f} s")
        assert 5 * 3 * 5 < got < MOST * max(1, seconds), got
        report = running.stop()
        assert report["drops"]["bridge_storm_broadcast"] > 100, report["drops"]


def test_without_limits_it_answers_and_ends():
    with looped(storm=False, moves=0) as (hosts, _dut, running, operator):
        broadcast(hosts[0], 3)
        got, = rates(hosts[1:], 0.5)
        print(f"# a host gets {got} packets a second")
        assert got > 5 * MOST, "there was no loop"
        for _ in range(3):
            answers_at_once(operator)
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
