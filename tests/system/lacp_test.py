#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""LACP by DPDK's net_bonding as a port (doc/lacp.md): two turnpikes with two cables between them, a host behind each."""
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dut import Turnpike  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import answers, ping, rewrite  # noqa: E402


def box(lab, host, lcore, folder):
    """turnpike with a bridge of port edge (interface e0) and port trunk, a LACP bond of b0 and b1."""
    return Turnpike(lab, host, {
        "eal": {"args": f"-l {lcore} --no-pci --in-memory --vdev net_xsk1,iface=b0 --vdev net_xsk2,iface=b1",
                "hugepages": "optional"},
        "control": {"socket": f"{folder}/{host.name}.sock"},
        "ports": [{"name": "edge", "device": "net_xsk0,iface=e0", "descriptors": 512},
                  {"name": "trunk", "device": "net_bonding0,mode=4,slave=net_xsk1,slave=net_xsk2",
                   "descriptors": 512}],
        "bridges": [{"name": "lan", "members": [{"port": "edge"}, {"port": "trunk"}]}]})


def carried(host):
    """Number of packets received by each cable."""
    return [int(host.run(f"cat /sys/class/net/b{n}/statistics/rx_packets").stdout) for n in range(2)]


def busy_cable(west, one):
    """The cable by which east's replies arrive."""
    before = carried(one)
    ping(west, "10.0.0.2", count=40)
    came = [after - b for b, after in zip(before, carried(one))]
    assert max(came) >= 40, came
    return came.index(max(came))


def agreed(west):
    started = time.monotonic()
    wait_until(lambda: answers(west, "10.0.0.2"), "LACP agrees", 40)
    print(f"# agreed after {time.monotonic() - started:.1f} s")


def pull(west, one, cable):
    """Pull a cable while west pings; returns how many of 100 replies are missing."""
    going = west.start("ping -q -n -i 0.02 -c 100 -W 1 10.0.0.2", stdout=-1, text=True)
    time.sleep(0.5)
    one.run(f"ip link set b{cable} down")
    said, _ = going.communicate(timeout=30)
    print("# while a cable is pulled:", said.strip().splitlines()[-2])
    return 100 - int(re.search(r"(\d+) received", said).group(1))


@tap.limit(180)
def test_two_cables():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-lacp-") as folder:
        one, other = lab.host("one", True), lab.host("other", True)
        west, east = lab.host("west"), lab.host("east")
        for n, (host, at) in enumerate(((west, one), (east, other))):
            lab.cable(host, "eth0", at, "e0")
            host.run(f"ip addr add 10.0.0.{n + 1}/24 dev eth0")
        for n in range(2):
            lab.cable(one, f"b{n}", other, f"b{n}")
        boxes = [box(lab, host, lcore, folder) for lcore, host in enumerate((one, other))]
        agreed(west)
        pulled = busy_cable(west, one)
        assert pull(west, one, pulled) <= 20
        assert busy_cable(west, one) == 1 - pulled
        one.run(f"ip link set b{pulled} up")
        # The port goes down and up.
        taken = []
        rewrite(boxes[1], lambda c: taken.extend((c["ports"].pop(), c["bridges"][0]["members"].pop())))
        assert not answers(west, "10.0.0.2")
        rewrite(boxes[1], lambda c: (c["ports"].append(taken[0]), c["bridges"][0]["members"].append(taken[1])))
        agreed(west)
        for running in boxes:
            report = running.stop()
            assert [p["driver"] for p in report["ports"][:2]] == ["net_xsk", "net_bonding"], report["ports"]


if __name__ == "__main__":
    tap.main(globals())
