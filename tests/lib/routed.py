# SPDX-License-Identifier: BSD-3-Clause
"""A router between kernels: west 10.0.1.2 -- turnpike -- 10.0.2.2 east, and 2001:db8:1::2, 2001:db8:2::2."""
import json
import signal
import time

import yaml

from lib.dut import Turnpike, router_config
from lib.frames import mac, v6
from lib.hosts import wait_until

WEST, EAST = ("10.0.1.2", "2001:db8:1::2"), ("10.0.2.2", "2001:db8:2::2")
OURS = {"west": ["10.0.1.1/24", "2001:db8:1::1/64"], "east": ["10.0.2.1/24", "2001:db8:2::1/64"]}
OUR_ADDRESSES = [a.split("/")[0] for addresses in OURS.values() for a in addresses]
# Short neighbour timeouts, so that a test can wait for expiry.
HASTY = {"reachable_ms": 300, "retransmit_ms": 100, "attempts": 3, "negative_ms": 200}


def set_addresses(host, network, number=2, interface="eth0"):
    """The addresses 10.0.<network>.<number> and 2001:db8:<network>::<number>, and a default route to number 1."""
    host.run(f"ip addr add 10.0.{network}.{number}/24 dev {interface}")
    host.run(f"ip addr add 2001:db8:{network}::{number}/64 dev {interface} nodad")
    host.run(f"ip route add default via 10.0.{network}.1")
    host.run(f"ip -6 route add default via 2001:db8:{network}::1")


def cabled(lab, kernels=True):
    """(west, dut, east), cables to w0 and e0 of dut; kernels: with addresses."""
    west, dut, east = lab.host("west", not kernels), lab.host("dut", True), lab.host("east", not kernels)
    for network, host, interface in ((1, west, "w0"), (2, east, "e0")):
        lab.cable(host, "eth0", dut, interface)
        if kernels:
            set_addresses(host, network)
    return west, dut, east


def start(lab, dut, routes=(), mtu=(1500, 1500), queues=1, options=(), wait=True, **more):
    device = "net_af_packet{},iface={}" + (f",qpairs={queues}" if queues > 1 else "")
    devices = {name: ({"device": device.format(n, interface), "mtu": mtu[n], "rx_queues": queues}, OURS[name])
               for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))}
    return Turnpike(lab, dut, router_config(devices, routes, **more), options=options, wait=wait)


def rewrite(running, change):
    """Let change(configuration as data) edit the file, and reload it; returns turnpike's reply."""
    with open(running.config, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    change(config)
    with open(running.config, "w", encoding="utf-8") as file:
        file.write(yaml.safe_dump(config))
    return reload(running)


def reload(running):
    said = len(running.output())
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "SIGHUP: reload" in running.output()[said:] and running.output().endswith("\n"), "it answers")
    return running.output()[said:]


def ping(host, address, options="", check=True, count=3, wait=5):
    return host.run(f"ping -n -c {count} -i 0.01 -W {wait} {options} {address}", check=check)


def answers(host, address):
    """Whether an echo request is answered within a fifth of a second."""
    return host.run(f"ping -n -c 1 -W 0.2 {address}", check=False).returncode == 0


def link_local(address):
    """The link-local address that an interface derives from this MAC address."""
    m = mac(address)
    return v6("fe80::")[:8] + bytes((m[0] ^ 2, m[1], m[2], 0xFF, 0xFE)) + m[3:]


TCP = "-n 20M"  # iperf3's TCP transfer
FLOWS = "-n 20M -P 16"  # with several connections: RSS gives each queue some of them
UDP = "-u -b 20M -l 1200 -k 2000"  # for one second; a worker that waits for its CPU drops some


def iperf(lab, client, server, address, what=TCP):
    """iperf3's result for a TCP transfer, or for UDP datagrams."""
    listening = server.start("iperf3 -s -1 -p 5201", stdout=-3, stderr=-3)
    wait_until(lambda: ":5201" in server.run("ss -ltn").stdout, "iperf3 listens")
    done = client.run(f"iperf3 -J -c {address} {what}", timeout=30)
    lab.end(listening)
    return json.loads(done.stdout)["end"]


def received(host):
    """Number of packets that the host's kernel received on eth0."""
    return int(host.run("cat /sys/class/net/eth0/statistics/rx_packets").stdout)


def settle(seconds=0.2):
    """Wait until sent packets are counted."""
    time.sleep(seconds)
