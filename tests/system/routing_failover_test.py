#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ECMP routes by two neighbours, one of whose links fails: duration and flows of the loss, and whether they
depend on the number of routes. And recursive routes whose gateway's path changes. With TURNPIKE_LONG=1 a full table's
901,899 routes of IPv4."""
import gzip
import ipaddress
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import machine, tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD, LONG, Turnpike, router_config  # noqa: E402
from lib.flows import Counting, Traffic, by_flow, lost_of  # noqa: E402
from lib.frames import mac  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402

SHARED = os.environ.get("TURNPIKE_SHARED", os.path.join(os.path.dirname(__file__), "../../../shared"))
FULL_TABLE = os.path.join(SHARED, "data/bgp/full-table-2024-01.txt.gz")
CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
FLOWS = 64
# All processes share two CPUs: losses last tens of milliseconds there, and 10 on idle ones.
MOST_LOST_S = 0.25


def prefixes():
    if not LONG:
        return [f"10.{64 + n // 256}.{n % 256}.0/24" for n in range(2_000)]
    if not os.path.exists(FULL_TABLE):
        tap.skip(f"{FULL_TABLE} is not here (set TURNPIKE_SHARED)")
    with gzip.open(FULL_TABLE, "rt", newline=None) as file:
        return [line.strip() for line in file if line.strip() and ":" not in line]


def begin(lab, lines, gateways):
    """turnpike with the routes in these lines, a control connection, and the hosts."""
    hosts = {name: lab.host(name, True) for name in ("west", "dut", *gateways)}
    devices, static = {}, []
    for n, name in enumerate(("west", *gateways), 1):
        lab.cable(hosts[name], "eth0", hosts["dut"], name)
        devices[name] = (f"net_xsk{n},iface={name}", [f"10.0.{n}.1/24"])
        static.append({"address": f"10.0.{n}.2", "port": name, "mac": hosts[name].mac("eth0")})
    with tempfile.NamedTemporaryFile("w", suffix=".routes", dir="/run") as file:
        file.writelines(line + "\n" for line in lines)
        file.flush()
        os.chmod(file.name, 0o644)
        running = Turnpike(lab, hosts["dut"], router_config(devices, [{"file": file.name}], neighbours={"static": static},
                                                            ecmp={"hash": "flow", "seed": 1}), wait=False)
        running.wait_for("turnpike: forwarding", 60)
    operator = Operator("/run/turnpike/control.sock")
    wait_until(lambda: all(p["link"] == "up" for p in operator.show("ports")["ports"]), "links are up")
    return running, operator, hosts


def traffic_to(operator, west, shared):
    """Flows from west to some of the prefixes."""
    step = max(1, len(shared) // FLOWS)
    to = [str(ipaddress.ip_network(p)[1 if not p.endswith("/32") else 0]) for p in shared[::step][:FLOWS]]
    mac_of_west = next(i["mac"] for i in operator.show("interfaces")["interfaces"] if i["name"] == "west")
    return Traffic(west, mac(mac_of_west), [("10.0.1.2", a) for a in to])


def failed_over(lab, shared, gateways):
    """Take down the first gateway's link under traffic; the results."""
    ways = " ".join(f"nexthop via 10.0.{n}.2" for n in range(2, 2 + len(gateways)))
    running, operator, hosts = begin(lab, (f"{p} {ways}" for p in shared), gateways)
    out = {name: Counting(hosts[name]) for name in gateways}
    traffic = traffic_to(operator, hosts["west"], shared)
    time.sleep(0.5)
    began = time.monotonic()
    hosts[gateways[0]].run("ip link set eth0 down")
    time.sleep(1)
    sent = traffic.stop()
    time.sleep(0.2)
    seen = {name: counting.arrived() for name, counting in out.items()}
    running.stop()
    return began, sent, seen


def test_a_link_that_goes_moves_its_flows_and_no_others():
    shared = prefixes()
    with Lab() as lab:
        began, sent, seen = failed_over(lab, shared, ["one", "two", "three"])
    ways, lost = by_flow(seen), lost_of(sent, seen, began)
    moved = 0
    for flow in range(FLOWS):
        order = ways[flow]
        if order[0] != "one":
            assert set(order) == {order[0]}, f"flow {flow} was not by the link that went, and moved"
            assert not any(n % FLOWS == flow for n in lost), f"flow {flow} was not by that link, and lost packets"
            continue
        moved += 1
        changes = [a for a, b in zip(order, order[1:]) if a != b]
        assert changes == ["one"] and order[-1] != "one", f"flow {flow}: {changes}"
    assert FLOWS / 8 < moved < FLOWS * 5 / 8, moved
    window, until = (sent[lost[-1]] - sent[lost[0]], sent[lost[-1]] - began) if lost else (0, 0)
    print(f"# {len(shared)} routes: {moved} of {FLOWS} flows moved, {len(lost)} packets lost in {window * 1000:.1f} ms "
          f"(from asking for it: {until * 1000:.1f} ms)")
    machine.judge(window < MOST_LOST_S, f"packets were lost for {window:.3f} s")


def test_what_is_below_recursive_routes_changes_for_all_at_once():
    shared, gateways, took = prefixes(), ["one", "two"], []
    with Lab() as lab:
        lines = ["192.0.2.0/24 via 10.0.2.2", *(f"{p} via 192.0.2.1 recursive" for p in shared)]
        running, operator, hosts = begin(lab, lines, gateways)
        out = {name: Counting(hosts[name]) for name in gateways}
        traffic = traffic_to(operator, hosts["west"], shared)
        time.sleep(0.3)
        began = time.monotonic()
        for n in range(5):
            asked = time.monotonic()
            operator.result("change", do=[{"replace": {"route": {"to": "192.0.2.0/24", "via": f"10.0.{3 - n % 2}.2"}}}])
            took.append(time.monotonic() - asked)
            time.sleep(0.15)
        sent = traffic.stop()
        time.sleep(0.2)
        seen = {name: counting.arrived() for name, counting in out.items()}
        for flow, order in by_flow(seen).items():
            changes = [order[0], *(b for a, b in zip(order, order[1:]) if a != b)]
            assert changes == ["one", "two"] * 3, f"flow {flow}: {changes}"
        lost = lost_of(sent, seen, began)
        machine.judge(not lost, f"no path went, and {len(lost)} packets were lost")
        print(f"# {len(shared)} recursive routes: another way in {min(took) * 1000:.1f} to {max(took) * 1000:.1f} ms")
        # The gateway has no route any more.
        operator.result("change", do=[{"del": {"route": {"to": "192.0.2.0/24"}}}])
        traffic = traffic_to(operator, hosts["west"], shared)
        wait_until(lambda: operator.show("drops")["drops"].get("route_unreachable", 0) > FLOWS, "it is counted")
        traffic.stop()
        table = hosts["dut"].run(f"{CTL} show routes {shared[0]}").stdout.splitlines()
        assert table[0].split()[:5] == ["to", "origin", "protocol", "type", "reason"], table
        assert "unresolved  192.0.2.1: no route leads there" in table[1], table
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
