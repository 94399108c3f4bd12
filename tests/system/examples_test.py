#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The configurations of examples/ between kernels: each as it is, on net_xsk, and with net_simnic in its place."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import answers, ping  # noqa: E402

EXAMPLES = os.path.join(os.path.dirname(__file__), "../../examples")


class Network:
    """An example's turnpike and the hosts at its ports.
    device  xsk: as the example has it, on veth; simnic: simulated NICs, whose wires are TAPs"""

    def __init__(self, lab, name, device):
        self.lab, self.name, self.simulated = lab, name, device == "simnic"
        self.dut = lab.host("dut", True)
        self.stations = []

    def station(self, port, name, *addresses, gateways=(), mtu=1500):
        """A host with a cable to eth<port> of the device under test, which start() lays."""
        host = self.lab.host(name)
        self.stations.append((host, port, addresses, gateways, mtu))
        return host

    def start(self):
        """(turnpike, its operator)"""
        with open(os.path.join(EXAMPLES, self.name, "turnpike.yaml"), encoding="utf-8") as file:
            config = file.read()
        if self.simulated:
            config, count = re.subn(r"net_xsk(\d),iface=(\w+)", r"net_simnic\1,wire=tap:\2", config)
            assert count == len(self.stations), config
        else:
            for host, port, _, _, mtu in self.stations:
                self.lab.cable(host, "eth0", self.dut, f"eth{port}", mtu)
        running = Turnpike(self.lab, self.dut, config)
        for host, port, addresses, gateways, mtu in self.stations:
            if self.simulated:
                self.dut.run(f"ip link set eth{port} netns {host.ns} name eth0")
                host.run(f"ip link set eth0 mtu {mtu} up")
            for address in addresses:
                host.run(f"ip addr add {address} dev eth0" + (" nodad" if ":" in address else ""))
            for gateway in gateways:
                host.run(f"ip {'-6 ' if ':' in gateway else ''}route add default via {gateway}")
        return running, Operator("/run/turnpike/control.sock")


def check_router(device):
    with Lab() as lab:
        network = Network(lab, "router", device)
        office = network.station(1, "office", "10.0.1.2/24", "2001:db8:1::2/64", gateways=("10.0.1.1", "2001:db8:1::1"))
        network.station(2, "lab", "10.0.2.2/24", "2001:db8:2::2/64", gateways=("10.0.2.1", "2001:db8:2::1"))
        network.station(3, "uplink", "192.0.2.1/30", "2001:db8:ffff::1/64", "8.8.8.8/32", "2001:4860::8/128",
                        gateways=("192.0.2.2", "2001:db8:ffff::2"))
        running, _ = network.start()
        for to in ("10.0.2.2", "2001:db8:2::2", "8.8.8.8", "2001:4860::8"):
            ping(office, to)
        refused = office.run("ping -n -c 1 -W 2 10.9.9.9", check=False)
        assert "Destination Host Unreachable" in refused.stdout, refused.stdout
        office.run("ip addr add 10.7.7.7/32 dev lo")
        assert office.run("ping -n -c 1 -W 0.5 -I 10.7.7.7 10.0.2.2", check=False).returncode != 0
        assert running.stop()["drops"].get("urpf", 0) >= 1


def check_bridge(device):
    with Lab() as lab:
        network = Network(lab, "bridge", device)
        desk = network.station(1, "desk", "10.0.10.2/24", "2001:db8:10::2/64", gateways=("10.0.10.1", "2001:db8:10::1"))
        camera = network.station(2, "camera", "10.0.20.2/24", gateways=("10.0.20.1",))
        network.station(3, "trunk")
        running, operator = network.start()
        ping(desk, "10.0.10.1")
        ping(desk, "2001:db8:10::1")
        ping(desk, "10.0.20.2")
        ping(camera, "10.0.10.2")
        found = {(entry["vlan"], entry["port"]) for entry in operator.show("fdb")["fdb"] if entry.get("port") in ("desk", "camera")}
        assert found == {(10, "desk"), (20, "camera")}, found
        running.stop()


def check_firewall(device):
    with Lab() as lab:
        network = Network(lab, "firewall", device)
        inside = network.station(1, "inside", "10.0.1.5/24", "10.0.1.80/24", gateways=("10.0.1.1",))
        outside = network.station(2, "outside", "198.51.100.9/24", gateways=("198.51.100.1",))
        running, operator = network.start()
        ping(inside, "198.51.100.9")
        assert not answers(outside, "10.0.1.5")
        serve = "python3 -m http.server --bind {} {}"
        for host, address, port in ((inside, "10.0.1.80", 80), (inside, "10.0.1.5", 22), (outside, "198.51.100.9", 443)):
            host.start(serve.format(address, port), stdout=-3, stderr=-3)
        get = "python3 -c \"import urllib.request as u; print(u.urlopen('http://{}/', timeout={}).status)\""
        wait_until(lambda: outside.run(get.format("10.0.1.80:80", 2), check=False).stdout == "200\n", "the web server answers", 20)
        wait_until(lambda: inside.run(get.format("198.51.100.9:443", 2), check=False).stdout == "200\n", "connections from inside", 20)
        assert outside.run(get.format("10.0.1.5:22", 1), check=False).returncode != 0
        bound, = [a for a in operator.show("acl")["acl"] if a["list"] == "from-outside"]
        rules = {rule.get("name"): rule["packets"] for rule in bound["rules"]}
        assert rules["web"] > 0 and rules["answers"] > 0 and rules["ping-answers"] > 0, rules
        running.stop()


def check_vxlan_gateway(device):
    with Lab() as lab:
        network = Network(lab, "vxlan-gateway", device)
        far = network.station(1, "far", "10.0.9.2/24", mtu=1550)
        near = network.station(2, "near", "10.1.0.2/24", gateways=("10.1.0.1",))
        running, _ = network.start()
        far.run("ip link add vx type vxlan id 100 local 10.0.9.2 remote 10.0.9.1 dstport 4789")
        far.run("ip link set vx up")
        far.run("ip addr add 10.1.0.3/24 dev vx")
        for to in ("10.1.0.1", "10.1.0.3"):
            ping(near, to)
        ping(near, "10.1.0.3", "-s 1472 -M do")
        ping(far, "10.1.0.1")
        running.stop()


def check_patch(device):
    with Lab() as lab:
        network = Network(lab, "patch", device)
        left = network.station(1, "left", "10.0.1.1/24", "2001:db8::1/64")
        network.station(2, "right", "10.0.1.2/24", "2001:db8::2/64")
        running, _ = network.start()
        ping(left, "10.0.1.2")
        ping(left, "2001:db8::2")
        assert not sum(running.stop()["drops"].values())


def test_router():
    check_router("xsk")


def test_router_on_simnic():
    check_router("simnic")


def test_bridge():
    check_bridge("xsk")


def test_bridge_on_simnic():
    check_bridge("simnic")


def test_firewall():
    check_firewall("xsk")


def test_firewall_on_simnic():
    check_firewall("simnic")


def test_vxlan_gateway():
    check_vxlan_gateway("xsk")


def test_vxlan_gateway_on_simnic():
    check_vxlan_gateway("simnic")


def test_patch():
    check_patch("xsk")


def test_patch_on_simnic():
    check_patch("simnic")


if __name__ == "__main__":
    tap.main(globals())
