#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-throughput's ports: several pairs, devices that misdirect and flood, and ports of other drivers."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.dut import Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from throughput_test import ANY_LAG, FLOWS, PROGRAM, ip  # noqa: E402


def run_of_pairs(losses, procedures, both_ways):
    """The result of pairs of simnic's ports; losses: of every n-th frame that a port receives, by port; 0: none."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "run.yaml")
        ports = [f'{{name: p{n}, device: "net_simnic{n},wire=peer:net_simnic{n ^ 1}{f",loss_every={every}" if every else ""}"}}'
                 for n, every in enumerate(losses)]
        with open(file, "w", encoding="utf-8") as run:
            run.write(f"ports: [{', '.join(ports)}]\ntraffic: {{flows: {FLOWS}, both_ways: {str(both_ways).lower()}}}\n"
                      f"rate: {{max: 5k, {ANY_LAG}}}\n{procedures}\n")
        done = subprocess.run([PROGRAM, file, "--json"], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def test_three_pairs_of_ports():
    """Each stream's counts are exact."""
    losses = (5, 7, 11, 13, 0, 17)
    for both_ways in (True, False):
        result = run_of_pairs(losses, "frame_loss: {trial_ms: 200}", both_ways)
        streams = [n for n in range(6) if both_ways or n % 2 == 0]
        size = result["sizes"][0]
        assert [p["name"] for p in result["ports"]] == [f"p{n}" for n in range(6)] and size["streams"] == len(streams), result["ports"]
        before = dict.fromkeys(streams, FLOWS)  # learning frames
        for t in size["trials"]:
            assert t["misdirected"] == 0 and t["foreign"] == 0 and len(t["streams"]) == len(streams), t
            for stream, count in zip(streams, t["streams"]):
                every = losses[stream ^ 1]  # of the receiving port
                after = before[stream] + count["sent"]
                lost = after // every - before[stream] // every if every else 0
                assert count["lost"] == lost and count["received"] == count["sent"] - lost > 0, (stream, t)
                before[stream] = after


def test_ports_that_are_crossed():
    """Frames that leave the device by another pair's port are misdirected, not received."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "run.yaml")
        ports = [f'{{name: p{n}, device: "net_simnic{n},wire=peer:net_simnic{peer}"}}' for n, peer in enumerate((2, 3, 0, 1))]
        with open(file, "w", encoding="utf-8") as run:
            run.write(f"ports: [{', '.join(ports)}]\ntraffic: {{flows: 10}}\nrate: {{max: 1k, {ANY_LAG}}}\n"
                      "back_to_back: {repeats: 1, max_frames: 20}\n")
        done = subprocess.run([PROGRAM, file, "--json"], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        for t in json.loads(done.stdout)["sizes"][0]["trials"]:
            assert t["frames"]["received"] == 0 and t["misdirected"] == t["frames"]["sent"] > 0, t


class Hub:
    """A bridge of Linux that sends each frame out of all ports, the incoming one too."""

    def __enter__(self):
        self.name = f"hub-{os.getpid()}"
        self.ports = [f"hub{n}-{os.getpid()}" for n in range(2)]
        ip("netns", "add", self.name)
        subprocess.run(["ip", "netns", "exec", self.name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                        "net.ipv6.conf.default.disable_ipv6=1"], check=True)
        ip("-n", self.name, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        for n, port in enumerate(self.ports):
            ip("link", "add", port, "type", "veth", "peer", "name", f"in{n}", "netns", self.name)
            subprocess.run(["sysctl", "-qw", f"net.ipv6.conf.{port}.disable_ipv6=1"], check=True)
            ip("-n", self.name, "link", "set", f"in{n}", "master", "br0", "up")
            subprocess.run(["bridge", "-n", self.name, "link", "set", "dev", f"in{n}", "hairpin", "on", "learning", "off"], check=True)
            ip("link", "set", port, "up")
        ip("-n", self.name, "link", "set", "br0", "up")
        return self

    def __exit__(self, *_):
        for port in self.ports:
            ip("link", "del", port)
        ip("netns", "del", self.name)


def test_a_device_that_floods():
    """Frames arrive at their port, and come back to the sending one: misdirected, and neither lost nor duplicated."""
    with Hub() as hub, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "run.yaml")
        with open(file, "w", encoding="utf-8") as run:
            run.write(f'ports: [{{name: left, device: "net_xsk0,iface={hub.ports[0]}"}}, {{name: right, device: '
                      f'"net_xsk1,iface={hub.ports[1]}"}}]\ntraffic: {{flows_by: mac, flows: 20}}\nrate: {{max: 1k, {ANY_LAG}}}\n'
                      "throughput: {method: rfc2544, trial_ms: 200, resolution: 200}\n")
        done = subprocess.run([PROGRAM, file, "--json"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        size = json.loads(done.stdout)["sizes"][0]
        assert size["throughput"]["throughput_fps"] == 1000, size["throughput"]
        for t in size["trials"]:
            assert t["misdirected"] == t["frames"]["sent"] == t["frames"]["received"] > 0 == t["frames"]["duplicated"], t


def start_both_ways(folder, left, right, *eal, traffic="sizes: [64, 1518]"):
    """A run in both directions, through anything that loses no frame of so few."""
    file = os.path.join(folder, "run.yaml")
    with open(file, "w", encoding="utf-8") as run:
        run.write(f'ports: [{{name: left, device: "{left}"}}, {{name: right, device: "{right}"}}]\n'
                  f"traffic: {{flows: 20, both_ways: true, {traffic}}}\nrate: {{max: 5k, {ANY_LAG}}}\n"
                  "throughput: {method: rfc2544, trial_ms: 200, resolution: 500}\n")
    return subprocess.Popen([PROGRAM, "-l", "0", "--no-pci", "--in-memory", *eal, "--", file, "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def check_that_all_arrive(process):
    """Every frame arrives in both directions."""
    try:
        out, errors = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    for size in json.loads(out)["sizes"]:
        assert size["throughput"]["throughput_fps"] > 0 and size["streams"] == 2, size["throughput"]
        for t in size["trials"]:
            assert all(s["received"] == s["sent"] > 0 and s["damaged"] == 0 for s in t["streams"]) and t["misdirected"] == 0, t


def test_memif():
    """Two ports that are connected; ARP is not needed."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        check_that_all_arrive(start_both_ways(folder, *(f"net_memif{n},role={role},socket={folder}/memif,socket-abstract=no"
                                                        for n, role in enumerate(("server", "client")))))


def test_frames_of_several_buffers():
    """Frames longer than a buffer of net_xsk, which come as chains, are read as a whole."""
    names = [f"big{n}-{os.getpid()}" for n in range(2)]
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        ip("link", "add", names[0], "mtu", "9000", "type", "veth", "peer", "name", names[1], "mtu", "9000")
        try:
            for name in names:
                subprocess.run(["sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1"], check=True)
                ip("link", "set", name, "up")
            check_that_all_arrive(start_both_ways(folder, *(f"net_xsk{n},iface={name}" for n, name in enumerate(names)),
                                                  traffic="sizes: [1518, 2000, 9018]"))
        finally:
            ip("link", "del", names[0])


def patch_of_turnpike(lab, *devices):
    return Turnpike(lab, lab.host("dut"), patch_config(*devices, eal="-l 0 --no-pci --in-memory --single-file-segments",
                                                       mempool={"buffers": 8192}))


def test_vhost_user():
    """The device has ports of a guest (virtio-user), and the tester has the ports of its host (net_vhost)."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        sockets = [f"{folder}/{n}" for n in range(2)]
        running = start_both_ways(folder, *(f"net_vhost{n},iface={path}" for n, path in enumerate(sockets)))
        try:
            wait_until(lambda: running.poll() is not None or all(os.path.exists(path) for path in sockets), "the host's sockets")
            device = patch_of_turnpike(lab, *(f"net_virtio_user{n},path={path}" for n, path in enumerate(sockets)))
        finally:
            check_that_all_arrive(running)
        device.stop()


def test_virtio_user():
    """The device has ports of a host, and the tester has ports of a guest, whose memory the device reads and writes."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        sockets = [f"{folder}/{n}" for n in range(2)]
        device = patch_of_turnpike(lab, *(f"net_vhost{n},iface={path}" for n, path in enumerate(sockets)))
        check_that_all_arrive(start_both_ways(folder, *(f"net_virtio_user{n},path={path}" for n, path in enumerate(sockets)),
                                              "--single-file-segments"))
        device.stop()


if __name__ == "__main__":
    tap.main(globals())
