#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures with the RX timestamps of simulated devices, whose clocks have any frequency and may step."""
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from capture_test import Capture, lost, packets  # noqa: E402
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402


def generators(clocks, **keys):
    """Two cross-connected ports that receive 20,000 packets a second each."""
    return patch_config(*({"device": f"net_simnic{n},wire=gen,rate=20k,l3flows=9{clock}", "descriptors": 1024, **keys}
                          for n, clock in enumerate(clocks)), idle={"sleep_us": 0})


def times_of(path, file):
    """{(port, 1: received, 2: sent): {payload: time}}, the ports' descriptions, and the row of `show captures`."""
    def shown():
        return Operator(path).show("captures")["captures"][-1]

    before = time.time()
    c = Capture(path, "any", "-w", file)
    wait_until(lambda: shown()["accepted"] > 30_000, "packets")
    state = shown()
    code, _out, said = c.end()
    assert code == 0 and lost(said) == 0, said
    times, descriptions = {}, {}
    for port, way, payload, at, description in packets(file, "frame.interface_name", "frame.packet_flags_direction", "udp.payload",
                                                       "frame.time_epoch", "frame.interface_description"):
        assert before - 0.005 < float(at) < time.time() + 0.005, (port, way, before, at)
        times.setdefault((port, int(way, 16)), {})[payload] = float(at)
        descriptions[port] = description
    return times, descriptions, state


def distinct(times):
    return len(set(times.values())) / len(times)


def test_rx_timestamps_of_devices():
    """A clock of 1 kHz gives all packets of a millisecond one time; a packet arrives before it is sent. The key is live."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path, file = os.path.join(folder, "control.sock"), os.path.join(folder, "stamps.pcapng")
        clocks = [",profile=ice,clock=1000", ",profile=ice,clock=125000000"]
        running = Turnpike(lab, lab.host("dut", True), {**generators(clocks), "control": {"socket": path}})
        times, descriptions, state = times_of(path, file)
        assert state["timed_by_device"] == 0 and not [d for d in descriptions.values() if "timestamps" in d], (state, descriptions)
        assert distinct(times["west", 1]) > 0.2, distinct(times["west", 1])
        Operator(path).result("change", do=[{"replace": {"port": {"name": name, "timestamps": True}}} for name in ("west", "east")])
        time.sleep(0.2)
        times, descriptions, state = times_of(path, file)
        assert state["timed_by_device"] > 0.4 * state["accepted"], state
        assert all(d.endswith(", RX timestamps of the device") for d in descriptions.values()), descriptions
        print(f"# distinct times: west {distinct(times['west', 1]):.1%}, east {distinct(times['east', 1]):.1%}")
        assert distinct(times["west", 1]) < 0.15 and distinct(times["east", 1]) > 0.2
        arrived, sent = times["east", 1], times["west", 2]
        both = arrived.keys() & sent.keys()
        assert len(both) > 1000 and all(-50e-6 < sent[payload] - arrived[payload] < 1 for payload in both), len(both)
        running.stop()


def test_rx_timestamps_of_a_clock_that_steps():
    """The clock jumps by a second ten times a second: until it is read again, packets have the software's time."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path, file = os.path.join(folder, "control.sock"), os.path.join(folder, "stamps.pcapng")
        steps = ",profile=ice,clock=125000000,clock_step=100"
        running = Turnpike(lab, lab.host("dut", True), {**generators([steps, steps], timestamps=True), "control": {"socket": path}})
        times, _descriptions, state = times_of(path, file)
        assert 0 < state["timed_by_device"] < 0.5 * state["accepted"], state
        for way in (("west", 1), ("east", 1)):
            at = list(times[way].values())
            assert all(b - a > -50e-6 for a, b in zip(at, at[1:])), way
        running.stop()


def test_devices_without_timestamps_refuse_the_key():
    """By its place in a file, and live: the port then goes on."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        dut, path = lab.host("dut", True), os.path.join(folder, "control.sock")
        refused = Turnpike(lab, dut, generators(["", ""], timestamps=True), wait=False)
        assert refused.process.wait(30) != 0
        assert re.search(r"turnpike.yaml:\d+.*net_simnic gives the device no RX timestamps", refused.output()), refused.output()
        running = Turnpike(lab, dut, {**generators(["", ""]), "control": {"socket": path}})
        operator = Operator(path)

        def received():
            return operator.show("ports")["ports"][0]["rx_packets"]

        before = received()
        error = operator.error("change", do=[{"replace": {"port": {"name": "west", "timestamps": True}}}])
        assert "no RX timestamps" in error["what"], error
        wait_until(lambda: received() > before + 1000, "the port receives")
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
