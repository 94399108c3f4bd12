#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/bgp-edge unmodified, between two upstreams and a network, by BIRD and by FRR; and with net_simnic in net_xsk's place."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.daemons import Bird, Frr  # noqa: E402
from lib.dut import Turnpike  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import ping  # noqa: E402

EXAMPLE = os.path.join(os.path.dirname(__file__), "../../examples/bgp-edge")


def example(name):
    with open(os.path.join(EXAMPLE, name), encoding="utf-8") as file:
        return file.read()


def upstream(number, us4, edge4, us6, edge6):
    return f"""
router id {us4};
protocol device {{ }}
protocol kernel {{ ipv4 {{ export where source = RTS_BGP; }}; }}
protocol kernel {{ ipv6 {{ export where source = RTS_BGP; }}; }}
protocol static {{ ipv4; route 0.0.0.0/0 blackhole; }}
protocol static {{ ipv6; route ::/0 blackhole; }}
protocol bgp v4 {{ local {us4} as {number}; neighbor {edge4} as 64500; connect delay time 1; connect retry time 1;
  error wait time 1, 1; ipv4 {{ import all; export where source = RTS_STATIC; next hop self; }}; }}
protocol bgp v6 {{ local {us6} as {number}; neighbor {edge6} as 64500; connect delay time 1; connect retry time 1;
  error wait time 1, 1; ipv6 {{ import all; export where source = RTS_STATIC; next hop self; }}; }}
"""


def drives(daemon, simulated=False):
    """simulated: on simulated NICs, whose wires are TAPs"""
    with Lab() as lab:
        dut, edge = lab.host("dut", True), lab.host("edge")
        hosts = {}
        config = example("turnpike.yaml").replace("namespace: edge", f"namespace: {edge.ns}")
        if simulated:
            config = re.sub(r"net_xsk(\d),iface=(\w+)", r"net_simnic\1,wire=tap:\2", config)
            running = Turnpike(lab, dut, config)
        for n, (name, v4, v6) in enumerate((("up1", "192.0.2.1/30", "2001:db8:ffff:1::1/64"),
                                            ("up2", "192.0.2.5/30", "2001:db8:ffff:2::1/64"),
                                            ("lan", "198.51.100.2/24", "2001:db8:1::2/64")), 1):
            hosts[name] = lab.host(name)
            if simulated:
                dut.run(f"ip link set eth{n} netns {hosts[name].ns} name eth0")
                hosts[name].run("ip link set eth0 up")
            else:
                lab.cable(hosts[name], "eth0", dut, f"eth{n}")
            hosts[name].run(f"ip addr add {v4} dev eth0")
            hosts[name].run(f"ip addr add {v6} dev eth0 nodad")
        hosts["lan"].run("ip route add default via 198.51.100.1")
        hosts["lan"].run("ip -6 route add default via 2001:db8:1::1")
        for name in ("up1", "up2"):
            hosts[name].run("ip addr add 8.8.8.8/32 dev lo")
            hosts[name].run("ip addr add 2001:4860::8/128 dev lo")
        if not simulated:
            running = Turnpike(lab, dut, config)
        if daemon == "bird":
            Bird(lab, edge, example("bird.conf"))
        else:
            Frr(lab, edge, example("frr.conf"))
        Bird(lab, hosts["up1"], upstream(64501, "192.0.2.1", "192.0.2.2", "2001:db8:ffff:1::1", "2001:db8:ffff:1::2"))
        second = Bird(lab, hosts["up2"], upstream(64502, "192.0.2.5", "192.0.2.6", "2001:db8:ffff:2::1",
                                                  "2001:db8:ffff:2::2"))
        operator = Operator("/run/turnpike/control.sock")

        def ways(to):
            found = [r for r in operator.show("routes", to=to)["routes"] if r["origin"] == "learned"]
            if not found:
                return 0
            return len(found[0].get("members", [0]))
        for to in ("0.0.0.0/0", "::/0"):
            wait_until(lambda: ways(to) == 2, f"{to} has two ways", 60)
        for name in ("up1", "up2"):
            for to in ("198.51.100.2", "2001:db8:1::2"):
                wait_until(lambda: hosts[name].run(f"ip route get {to}", check=False).returncode == 0, "they are told", 30)
        for to in ("8.8.8.8", "2001:4860::8"):
            ping(hosts["lan"], to)
        lab.end(second.process)
        wait_until(lambda: ways("0.0.0.0/0") == 1 and ways("::/0") == 1, "one way is left", 60)
        for to in ("8.8.8.8", "2001:4860::8"):
            ping(hosts["lan"], to)
        running.stop()


def test_bird():
    drives("bird")


def test_frr():
    drives("frr")


def test_on_simnic():
    drives("bird", simulated=True)


if __name__ == "__main__":
    tap.main(globals())
