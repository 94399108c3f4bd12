#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/leaf-spine unmodified: two leaves and two spines, each a turnpike with an FRR, unnumbered BGP
and BFD every 50 ms. A spine is killed under numbered traffic: its flows soon use the other one, and the other's flows
lose nothing. After a restart it gets its share again."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import machine, tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.daemons import Frr  # noqa: E402
from lib.dut import Turnpike  # noqa: E402
from lib.flows import Counting, Traffic, by_flow, lost_of  # noqa: E402
from lib.frames import mac  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import ping  # noqa: E402

EXAMPLE = os.path.join(os.path.dirname(__file__), "../../examples/leaf-spine")
FLOWS = 64
CABLES = (("rack1", "eth0", "leaf1", "eth1"), ("rack2", "eth0", "leaf2", "eth1"),
          ("leaf1", "eth2", "spine1", "eth1"), ("leaf1", "eth3", "spine2", "eth1"),
          ("leaf2", "eth2", "spine1", "eth2"), ("leaf2", "eth3", "spine2", "eth2"))
# BFD detects after 150 ms. Four turnpikes and four FRRs share two CPUs here.
MOST_LOST_S = 1.0


def example(name):
    with open(os.path.join(EXAMPLE, name), encoding="utf-8") as file:
        return file.read()


class Fabric:
    """simulated: on simulated NICs, whose wires are TAPs; bridges of a kernel are the cables between them"""

    def __init__(self, lab, simulated=False):
        self.lab, self.simulated = lab, simulated
        self.racks = {name: lab.host(name, True) for name in ("rack1", "rack2")}
        self.boxes = {name: lab.host(name, True) for name in ("leaf1", "leaf2", "spine1", "spine2")}
        self.kernels = {name: lab.host("k" + name) for name in self.boxes}
        for one, one_if, other, other_if in () if simulated else CABLES:
            lab.cable(self.racks.get(one) or self.boxes[one], one_if, self.boxes[other], other_if)
        self.running = {name: self.start(name) for name in self.boxes}
        if simulated:
            self.connect_taps()
        self.frr = {name: Frr(lab, self.kernels[name], example(f"{name}.conf"), ("bfdd", "bgpd")) for name in self.boxes}

    def connect_taps(self):
        cables = self.lab.host("cables", True)
        for number, (one, one_if, other, other_if) in enumerate(CABLES):
            if one in self.racks:
                self.boxes[other].run(f"ip link set {other_if} netns {self.racks[one].ns} name {one_if}")
                self.racks[one].run(f"ip link set {one_if} up")
                continue
            cables.run(f"ip link add cable{number} type bridge mcast_snooping 0")
            cables.run(f"ip link set cable{number} up")
            for box, interface in ((one, one_if), (other, other_if)):
                self.boxes[box].run(f"ip link set {interface} netns {cables.ns} name {box}-{interface}")
                cables.run(f"ip link set {box}-{interface} master cable{number} up")

    def start(self, name):
        """As in the example, except that four share two CPUs, and one /run."""
        config = example(f"{name}.yaml").replace(f"namespace: {name}", f"namespace: {self.kernels[name].ns}")
        if self.simulated:
            # Simulated NICs have the same MAC addresses in each process by default.
            box = list(self.boxes).index(name)
            config = re.sub(r"net_xsk(\d),iface=(\w+)", rf"net_simnic\1,wire=tap:\2,mac=02:53:4e:00:0{box}:0\1", config)
        config += f"idle: {{sleep_us: 200}}\ncontrol: {{socket: /run/{name}.sock}}\n"
        if name == "leaf2" and not self.simulated:  # the rack has no kernel that would reply
            config += f"neighbours: {{static: [{{address: 10.2.0.2, mac: \"{self.racks['rack2'].mac('eth0')}\"}}]}}\n"
        return Turnpike(self.lab, self.boxes[name], config)

    def operator(self, name):
        return Operator(f"/run/{name}.sock")

    def ways(self, leaf, to):
        """The ports by which a leaf sends to a destination."""
        with_route = self.operator(leaf).show("routes", to=to)["routes"]
        if not with_route or with_route[0]["origin"] != "learned":
            return set()
        route = with_route[0]
        return {m["interface"] for m in route.get("members", [route])}

    def ways_of_leaves(self):
        return [self.ways("leaf1", "10.2.0.0/24"), self.ways("leaf2", "10.1.0.0/24")]

    def whole(self):
        return self.ways_of_leaves() == [{"up1", "up2"}] * 2

    def bfd_went_down(self, name):
        """Number of times that a box's BFD sessions went down."""
        said = self.frr[name].vty("show bfd peers counters")
        return sum(int(line.split(":")[1]) for line in said.splitlines() if "Session down events" in line)

    def received(self, name):
        return sum(p["rx_packets"] for p in self.operator(name).show("ports")["ports"])


def kill_a_spine(fabric):
    """Packets sent and received."""
    interfaces = fabric.operator("leaf1").show("interfaces")["interfaces"]
    leaf = mac(next(i["mac"] for i in interfaces if i["name"] == "lan"))
    out = Counting(fabric.racks["rack2"])
    traffic = Traffic(fabric.racks["rack1"], leaf, [("10.1.0.2", "10.2.0.2")] * FLOWS)
    time.sleep(0.5)
    fabric.running["spine1"].process.kill()
    killed = time.monotonic()
    fabric.running["spine1"].process.wait()
    time.sleep(1.5)
    sent = traffic.stop()
    time.sleep(0.2)
    return killed, sent, {"rack2": out.arrived()}


@tap.limit(200)
def test_a_spine_that_dies():
    with Lab() as lab:
        fabric = Fabric(lab)
        wait_until(fabric.whole, "both leaves have both ways", 60)
        before = fabric.bfd_went_down("spine2")
        killed, sent, seen = kill_a_spine(fabric)
        false = fabric.bfd_went_down("spine2") - before
        lost = lost_of(sent, seen, killed)
        assert lost, "no packet was lost: nothing went by the spine that was killed"
        hit = {number % FLOWS for number in lost}
        window = sent[lost[-1]] - killed
        print(f"# {len(hit)} of {FLOWS} flows lost {len(lost)} packets until {window * 1000:.0f} ms after the kill; "
              f"BFD lost the other spine {false} times")
        machine.judge(window < MOST_LOST_S, f"packets were lost for {window:.3f} s")
        if not false:  # if a machine stalls for 150 ms, BFD reports a failure
            assert FLOWS / 4 < len(hit) < FLOWS * 3 / 4, "flows of the other spine lost packets, too"
        assert len(by_flow(seen)) == FLOWS
        # At once, unless BFD reported the other spine too, before or after it was counted: its routes come back then.
        deadline = time.monotonic() + 1
        while (ways := fabric.ways_of_leaves()) != [{"up2"}] * 2:
            false = false or fabric.bfd_went_down("spine2") - before
            assert time.monotonic() < deadline + (20 if false else 0), f"the leaves still use {ways}; BFD lost the other spine {false} times"
            time.sleep(0.1)
        # The spine restarts.
        began = time.monotonic()
        fabric.running["spine1"] = fabric.start("spine1")
        wait_until(fabric.whole, "both leaves have both ways again", 30)
        print(f"# started again, it has its part after {time.monotonic() - began:.1f} s")
        for running in fabric.running.values():
            running.stop()


@tap.limit(200)
def test_on_simnic():
    with Lab() as lab:
        fabric = Fabric(lab, simulated=True)
        for n, (name, rack) in enumerate(fabric.racks.items(), 1):
            rack.run(f"ip addr add 10.{n}.0.2/24 dev eth0")
            rack.run(f"ip route add default via 10.{n}.0.1")
        wait_until(fabric.whole, "both leaves have both ways", 60)
        ping(fabric.racks["rack1"], "10.2.0.2")
        for running in fabric.running.values():
            running.stop()


if __name__ == "__main__":
    tap.main(globals())
