#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sFlow: samples, drop notifications and counters of a router between generators, at a decoder of our own and at nfdump's
collector."""
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import rewrite  # noqa: E402
from lib.sflow import Collector  # noqa: E402

RATE, ONE_IN = 20_000, 100


def router(lab, **more):
    """Two generators send to each other's networks; a third one to a network without a route."""
    dut = lab.host("dut", True)
    dut.run("ip link set lo up")
    path = f"/tmp/turnpike-sflow-{os.getpid()}.sock"

    def device(n, to, rate):
        return {"device": f"net_simnic{n},wire=gen,rate={rate},l3flows=100,src=198.18.{n}.1,dst={to}", "descriptors": 4096}

    devices = {"west": (device(0, "198.18.1.0", RATE), ["10.0.0.1/24"]), "east": (device(1, "198.18.0.0", RATE), ["10.0.1.1/24"]),
               "lost": (device(2, "203.0.113.0", 1000), ["10.0.2.1/24"])}
    static = [{"address": f"10.0.{n}.2", "mac": f"02:00:00:00:00:{n:02x}"} for n in range(3)]
    collector = Collector(dut)
    sflow = {"collectors": [collector.name], "agent": "10.0.0.1", "sample": ONE_IN, "counters_s": 1, "drops": 10,
             **more.pop("sflow", {})}
    running = Turnpike(lab, dut, router_config(
        devices, [{"to": f"198.18.{n}.0/24", "via": f"10.0.{n}.2"} for n in range(2)], neighbours={"static": static},
        control={"socket": path}, sflow=sflow, mempool={"buffers": 32768},
        eal=f"-l 0-1 --no-pci --in-memory --file-prefix=sflow{os.getpid()}", **more))
    return dut, collector, running, Operator(path)


def test_samples_are_within_the_binomial_bound():
    with Lab() as lab:
        _dut, collector, running, operator = router(lab)
        collector.read_for(5)
        flows = collector.samples("flow")
        assert {d["agent"] for d in collector.datagrams} == {"10.0.0.1"}
        assert [d["sequence"] for d in collector.datagrams] == list(range(1, len(collector.datagrams) + 1))
        for source in (1, 2):
            mine = [s for s in flows if s["source"] == source]
            assert [s["sequence"] for s in mine] == list(range(1, len(mine) + 1)), source
            assert all((s["rate"], s["input"], s["output"], s["lost"]) == (ONE_IN, source, 0, 0) for s in mine)
            pool = mine[-1]["pool"]
            # Gaps are uniform in [1, 2n - 1]: with k samples the standard deviation of their sum is n sqrt(k / 3).
            off = abs(len(mine) - pool / ONE_IN)
            print(f"# port {source}: {len(mine)} samples of {pool} packets, 1 in {pool / len(mine):.1f}")
            assert pool > RATE and off < 1 + 5 * math.sqrt(len(mine) / 3), (source, len(mine), pool)
            # The generator's addresses, in the header as received.
            sources = {s["header"][26:29] for s in mine}
            assert sources == {bytes((198, 18, source - 1))}, sources
            assert all(s["frame_bytes"] == 64 and s["stripped"] == 4 and len(s["header"]) == 60 for s in mine)
            flows_seen = {s["header"][26:34] for s in mine}
            assert len(flows_seen) > 80, f"{len(flows_seen)} of 100 flows"
        shown = operator.show("sflow")["sflow"]
        assert shown["lost_samples"] == 0 and shown["unsent"] == 0 and shown["samples"] >= len(flows), shown
        running.stop()


def test_counters_equal_what_show_says():
    with Lab() as lab:
        _dut, collector, running, operator = router(lab, sflow={"sample": 0, "drops": 0})
        collector.read_for(2.5)
        names = {s["name"]: s for s in collector.samples("counters")}
        assert set(names) == {"west", "east", "lost"}, names
        before = {p["name"]: p for p in operator.show("ports")["ports"]}
        collector.datagrams.clear()
        # The first of each may have been on the way.
        wait_until(lambda: len(collector.read().samples("counters")) >= 6, "counters")
        after = {p["name"]: p for p in operator.show("ports")["ports"]}
        for s in collector.samples("counters")[-3:]:
            for ours, theirs in (("in_packets", "rx_packets"), ("in_bytes", "rx_bytes"), ("out_packets", "tx_packets"),
                                 ("out_bytes", "tx_bytes")):
                least, most = before[s["name"]][theirs], after[s["name"]][theirs]
                assert least <= s[ours] <= most, (s["name"], ours, least, s[ours], most)
            assert s["status"] == 3 and s["index"] == s["source"], s
        assert not collector.samples("flow") and not collector.samples("drop")
        running.stop()


def test_drops_have_their_reason_and_a_limited_rate():
    with Lab() as lab:
        _dut, collector, running, operator = router(lab, sflow={"sample": 0, "header": 40})
        seconds = 4
        collector.read_for(seconds)
        drops = collector.samples("drop")
        # 1,000 packets a second have no route; ten notifications a second are sent.
        assert 10 * (seconds - 1) <= len(drops) <= 10 * (seconds + 2), len(drops)
        assert {(s["source"], s["reason"], s["source_class"]) for s in drops} == {(3, 6, 0)}, drops[0]  # dst_net_unknown
        assert all(len(s["header"]) == 40 for s in drops)
        # The generator's packets, and the errors to their sources, which have no route either.
        received = [s for s in drops if s["header"][12:14] == b"\x08\x00"]
        assert len(received) > 10 and all(s["header"][30:33] == bytes((203, 0, 113)) for s in received), len(received)
        assert [s["sequence"] for s in drops] == list(range(1, len(drops) + 1))
        assert drops[-1]["lost"] > 500, drops[-1]
        shown = operator.show("sflow")["sflow"]
        dropped = sum(operator.show("drops")["drops"].values())
        assert 1000 < shown["lost_drop_notifications"] + shown["drop_notifications"] <= dropped, (shown, dropped)
        running.stop()


def test_it_changes_while_it_runs():
    with Lab() as lab:
        dut, collector, running, operator = router(lab)
        wait_until(lambda: len(collector.read().samples("flow")) > 100, "samples")
        other = Collector(dut)
        rewrite(running, lambda c: c["sflow"].update(collectors=[other.name, collector.name], sample=10))
        wait_until(lambda: len(other.read().samples("flow")) > 1000, "samples at both")
        assert {s["rate"] for s in other.samples("flow")} == {10}
        # A change of something else does not begin a new session.
        sequence = other.read().datagrams[-1]["sequence"]
        rewrite(running, lambda c: c["routes"].append({"to": "198.51.100.0/24", "via": "10.0.0.2"}))
        time.sleep(0.5)
        assert other.read().datagrams[-1]["sequence"] > sequence
        rewrite(running, lambda c: c.pop("sflow"))
        other.read_for(0.5)
        seen = len(other.datagrams)
        assert len(other.read_for(0.5).datagrams) == seen and operator.show("sflow")["sflow"]["collectors"] == []
        report = running.stop()
        assert report["balance"]["rx"] > 1000


def test_bad_input_is_refused_by_its_place():
    with Lab() as lab:
        _dut, collector, running, _operator = router(lab)
        for wrong, said in (({"collectors": "10.9.9.9"}, "ADDRESS:PORT"), ({"collectors": ["unix:/tmp/x"]}, "UDP port"),
                            ({"collectors": [collector.name, collector.name]}, "twice"),
                            ({"collectors": ["192.0.2.1:6343"]}, "no route"), ({"agent": "ten"}, "ten"),
                            ({"sample": -1}, "sample"), ({"header": 4}, "14"), ({"drops": 100000}, "10000"),
                            ({"colour": 1}, "colour")):
            text = rewrite(running, lambda c, w=wrong: c["sflow"].update(w))
            assert said in text and "sflow" in text and "turnpike.yaml:" in text, (wrong, text)
            rewrite(running, lambda c, w=wrong: (c["sflow"].update(collectors=[collector.name], agent="10.0.0.1", sample=ONE_IN,
                                                                   header=128, drops=10), c["sflow"].pop("colour", None)))
        running.stop()


def test_nfdump_collects():
    """nfdump's sFlow collector, with the sampling rate applied, sees the packets that were received."""
    if shutil.which("sfcapd") is None:
        tap.skip("sfcapd (package nfdump-sflow) is not installed")
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        dut = lab.host("collector", True)
        dut.run("ip link set lo up")
        dut, _collector, running, operator = router(lab, sflow={"collectors": ["127.0.0.1:6343"], "counters_s": 0, "drops": 0})
        collector = dut.start(f"sfcapd -w {folder} -p 6343 -b 127.0.0.1 -t 60")
        time.sleep(1)
        begin = operator.show("sflow")["sflow"]["samples"]
        time.sleep(4)
        end = operator.show("sflow")["sflow"]["samples"]
        time.sleep(1.2)
        running.stop()
        lab.end(collector)
        text = subprocess.run(["nfdump", "-R", folder, "-o", "csv", "-q"], capture_output=True, text=True, timeout=60,
                              check=True).stdout
        summary = subprocess.run(["nfdump", "-R", folder, "-I"], capture_output=True, text=True, timeout=60, check=True).stdout
        packets = int(next(line.split(":")[1] for line in summary.splitlines() if line.startswith("Packets:")))
        assert "198.18.0." in text and "198.18.1." in text, text[:400]
        print(f"# nfdump: {packets} packets, from {end - begin} to {operator and end} samples of 1 in {ONE_IN}")
        assert (end - begin) * ONE_IN <= packets <= (end + 5 * RATE // ONE_IN) * ONE_IN, (begin, end, packets)


if __name__ == "__main__":
    tap.main(globals())
