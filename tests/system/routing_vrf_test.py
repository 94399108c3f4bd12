#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two customers with the same addresses behind one turnpike, each in a VRF, and a host that one of them shares
with the main VRF."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import set_addresses, ping  # noqa: E402

CUSTOMERS = ("red", "blue")


def echoes(host):
    """Number of echo requests that a host's kernel received, IPv4 and IPv6."""
    head, values = [line.split()[1:] for line in host.run("cat /proc/net/snmp").stdout.splitlines()
                    if line.startswith("Icmp:")]
    six = dict(line.split() for line in host.run("cat /proc/net/snmp6").stdout.splitlines())
    return int(dict(zip(head, values))["InEchos"]), int(six["Icmp6InEchos"])


def test_overlapping_addresses():
    with Lab() as lab:
        dut, shared = lab.host("dut", True), lab.host("shared")
        hosts, devices = {}, {}
        for customer in CUSTOMERS:
            for side, network in (("west", 1), ("east", 2)):
                name = f"{customer[0]}{side}"
                host = hosts[customer, side] = lab.host(name)
                lab.cable(host, "eth0", dut, name)
                set_addresses(host, network)
                devices[name] = ({"device": f"net_af_packet{len(devices)},iface={name}", "vrf": customer},
                                 [f"10.0.{network}.1/24", f"2001:db8:{network}::1/64"])
        lab.cable(shared, "eth0", dut, "shared")
        set_addresses(shared, 7)
        devices["shared"] = (f"net_af_packet{len(devices)},iface=shared", ["10.0.7.1/24", "2001:db8:7::1/64"])
        # Red reaches the shared host, and that reaches red's west; blue has no route to it.
        routes = [{"to": "10.0.7.0/24", "via": "10.0.7.2", "port": "shared", "vrf": "red"},
                  {"to": "10.0.1.0/24", "via": "10.0.1.2", "port": "rwest"}]
        running = Turnpike(lab, dut, router_config(devices, routes, vrfs=[{"name": c} for c in CUSTOMERS]))
        for n, customer in enumerate(CUSTOMERS, 1):
            west, east = hosts[customer, "west"], hosts[customer, "east"]
            wait_until(lambda w=west: w.run("ping -n -c 1 -W 1 2001:db8:2::2", check=False).returncode == 0,
                       "IPv6 goes")
            before = {key: echoes(host) for key, host in hosts.items()}
            for address in ("10.0.2.2", "2001:db8:2::2"):
                ping(west, address, count=3 + n)
            for key, host in hosts.items():
                more = tuple(a - b for a, b in zip(echoes(host), before[key]))
                assert more == ((3 + n,) * 2 if host is east else (0, 0)), (customer, key, more)
            out = west.run("ping -n -c 2 -i 0.01 -W 1 10.0.7.2", check=False).stdout
            assert (" 0% packet loss" in out) == (customer == "red"), out
        # An ICMP error to an address that both VRFs have is routed in the packet's own VRF.
        out = hosts["blue", "west"].run("ping -n -c 1 -W 1 10.0.7.2", check=False).stdout
        assert "From 10.0.1.1 icmp_seq=1 Destination Net Unreachable" in out, out
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
