#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sFlow: samples, drop notifications and counters of a router between generators, at a decoder of our own and at nfdump's
collector."""
import collections
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
from lib.dut import BUILD, Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import rewrite  # noqa: E402
from lib.sflow import Collector  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
RATE, ONE_IN = 20_000, 100
# sFlow version 5: values of "interface" beside an ifIndex, and codes of drop reasons.
NO_INTERFACE, DISCARDED, MULTIPLE = 0x3FFFFFFF, 0x40000000, 0x80000000
NET_UNKNOWN, TRAFFIC_SHAPING = 6, 261


def device(n, to, rate, more="l3flows=100"):
    return {"device": f"net_simnic{n},wire=gen,rate={rate},{more},src=198.18.{n}.1,dst={to}", "descriptors": 4096}


def router(lab, later=None, **more):
    """Two generators send to each other's networks; a third one to a network without a route. later: address of a collector that the
    host does not have yet."""
    dut = lab.host("dut", True)
    dut.run("ip link set lo up")
    path = f"/tmp/turnpike-sflow-{os.getpid()}.sock"

    devices = {"west": (device(0, "198.18.1.0", RATE), ["10.0.0.1/24"]), "east": (device(1, "198.18.0.0", RATE), ["10.0.1.1/24"]),
               "lost": (device(2, "203.0.113.0", 1000), ["10.0.2.1/24"])}
    static = [{"address": f"10.0.{n}.2", "mac": f"02:00:00:00:00:{n:02x}"} for n in range(3)]
    if later:
        dut.run(f"ip address add {later}/32 dev lo")
    collector = Collector(dut, *filter(None, [later]))
    if later:
        dut.run(f"ip address del {later}/32 dev lo")
    sflow = {"collectors": [collector.name], "agent": "10.0.0.1", "sample": ONE_IN, "counters_s": 1, "drops": 10,
             **more.pop("sflow", {})}
    sflow = {key: value for key, value in sflow.items() if value is not None}
    routes = [{"to": f"198.18.{n}.0/24", "via": f"10.0.{n}.2"} for n in range(more.pop("routes_to", 2))]
    running = Turnpike(lab, dut, router_config(
        devices, routes, neighbours={"static": static},
        control={"socket": path}, sflow=sflow, mempool={"buffers": 65536},
        eal=f"-l 0-1 --no-pci --in-memory --file-prefix=sflow{os.getpid()}", **more))
    return dut, collector, running, Operator(path)


def samples_of_more_than(packets, collector):
    def pools():
        return [max((s["pool"] for s in collector.read().samples("flow") if s["source"] == source), default=0) for source in (1, 2)]

    wait_until(lambda: min(pools()) > packets, pools, 60)
    return collector.samples("flow")


def test_samples_are_within_the_binomial_bound():
    with Lab() as lab:
        _dut, collector, running, operator = router(lab)
        flows = samples_of_more_than(RATE, collector)
        assert {d["agent"] for d in collector.datagrams} == {"10.0.0.1"}
        assert [d["sequence"] for d in collector.datagrams] == list(range(1, len(collector.datagrams) + 1))
        for source in (1, 2):
            mine = [s for s in flows if s["source"] == source]
            assert [s["sequence"] for s in mine] == list(range(1, len(mine) + 1)), source
            assert all((s["rate"], s["input"], s["output"], s["lost"]) == (ONE_IN, source, 3 - source, 0) for s in mine)
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
            # 200 samples leave 13 of 100 flows unseen, with a standard deviation of 2.8: five of these.
            assert len(flows_seen) > 72, f"{len(flows_seen)} of 100 flows"
        shown = operator.show("sflow")["sflow"]
        assert shown["lost_samples"] == 0 and shown["unsent"] == 0 and shown["samples"] >= len(flows), shown
        running.stop()


def test_a_collector_without_a_route_is_one_later():
    """At the start the kernel has no route to it: turnpike forwards, and counts unsent datagrams."""
    with Lab() as lab:
        dut, collector, running, operator = router(lab, "198.51.100.7", sflow={"agent": None})
        wait_until(lambda: operator.show("sflow")["sflow"]["unsent"] > 2, "datagrams without a route")
        assert operator.show("sflow")["sflow"]["datagrams"] == 0
        dut.run("ip address add 198.51.100.7/32 dev lo")
        wait_until(lambda: collector.read().samples("flow"), "samples")
        assert {d["agent"] for d in collector.datagrams} == {"198.51.100.7"}
        running.stop()


def test_counters_of_another_port_begin_anew():
    """A port that takes the number of one that is gone: its counters and their sequence begin anew."""
    with Lab() as lab:
        _dut, collector, running, operator = router(lab)
        of_third = lambda: [s for s in collector.read().samples("counters") if s["source"] == 3]  # noqa: E731
        wait_until(lambda: len(of_third()) > 2, "counters")
        operator.result("change", do=[{"del": {"neighbour": {"address": "10.0.2.2", "port": "lost"}}}, {"del": {"port": {"name": "lost"}}}])
        operator.result("change", do=[{"add": {"port": {"name": "new", **device(3, "203.0.113.0", 1000), "addresses": ["10.0.3.1/24"]}}}])
        wait_until(lambda: len([s for s in of_third() if s["name"] == "new"]) > 1, "counters of the new port")
        assert [s["sequence"] for s in of_third() if s["name"] == "new"][:2] == [1, 2], of_third()
        running.stop()


def test_status_and_promiscuous_mode_are_the_ports():
    """ifAdminStatus and ifOperStatus in two bits (RFC 2863); ifPromiscuousMode: 1 true, 2 false."""
    with Lab() as lab:
        _dut, collector, running, operator = router(lab, sflow={"sample": 0, "drops": 0})

        def expect(**ports):
            last = lambda: {s["name"]: (s["status"], s["promiscuous"]) for s in collector.read().samples("counters")}  # noqa: E731
            wait_until(lambda: all(last().get(name) == its for name, its in ports.items()), lambda: f"{last()}, not {ports}")

        expect(west=(3, 2), lost=(3, 2))
        operator.result("change", do=[{"set": {"port": {"name": "lost", "shutdown": True}}},
                                      {"add": {"port": {"name": "member", **device(3, "203.0.113.0", 1)}}},
                                      {"add": {"bridge": {"name": "lan", "members": [{"port": "member"}]}}}])
        expect(west=(3, 2), lost=(0, 2), member=(3, 1))
        operator.result("change", do=[{"set": {"port": {"name": "lost", "shutdown": False}}}])
        expect(lost=(3, 2))
        running.stop()


def outputs_of(samples):
    return {output: [s for s in samples if s["output"] == output] for output in {s["output"] for s in samples}}


def test_output_is_the_end_of_the_path():
    """Samples of received packets name the egress interface; the reason, where a packet was dropped; the number of
    interfaces, where a bridge flooded it; and that it ended at the router."""
    with Lab() as lab:
        dut = lab.host("dut", True)
        dut.run("ip link set lo up")
        path = f"/tmp/turnpike-sflow-{os.getpid()}.sock"
        collector = Collector(dut)
        devices = {"west": (device(0, "198.18.1.0", 2000), ["10.0.0.1/24"]),
                   "east": (device(1, "198.18.0.0", 2000), ["10.0.1.1/24"]),
                   "lost": (device(2, "203.0.113.0", 2000), ["10.0.2.1/24"]),
                   "ours": (device(3, "10.0.3.1", 2000, "l3flows=1"), ["10.0.3.1/24"])}
        config = router_config(devices, [{"to": f"198.18.{n}.0/24", "via": f"10.0.{n}.2"} for n in range(2)], neighbours={"static": [
            {"address": f"10.0.{n}.2", "mac": f"02:00:00:00:00:{n:02x}"} for n in range(2)]}, control={"socket": path},
            sflow={"collectors": [collector.name], "sample": 20, "counters_s": 0, "drops": 0}, mempool={"buffers": 65536},
            eal=f"-l 0-1 --no-pci --in-memory --file-prefix=sflow{os.getpid()}")
        # A bridge of four ports, one of which sends to addresses that no port has.
        config["ports"] += [{"name": f"b{n}", "descriptors": 1024, "device": f"net_simnic{4 + n},wire=gen," + (
            "l2flows=64,rate=2k,dst_mac=06:00:09:00:00:00" if n == 0 else "l2flows=1,rate=1")} for n in range(4)]
        config["bridges"] = [{"name": "lan", "members": [{"port": f"b{n}"} for n in range(4)]}]
        running = Turnpike(lab, dut, config)
        operator = Operator(path)
        by_port = lambda port: outputs_of([s for s in collector.samples("flow") if s["source"] == port])  # noqa: E731
        wait_until(lambda: all(sum(len(s) for s in collector.read() and by_port(port).values()) > 200 for port in (1, 2, 3, 4, 5)),
                   "samples of all ports", 60)
        print("#", {port: {hex(o): len(s) for o, s in by_port(port).items()} for port in range(1, 9)})
        assert set(by_port(1)) == {2} and set(by_port(2)) == {1}, "routed"
        assert set(by_port(3)) == {DISCARDED | NET_UNKNOWN}, "dropped"
        assert set(by_port(5)) == {MULTIPLE | 3}, "flooded"
        # The router takes as many as its policer permits.
        to_us = by_port(4)
        assert NO_INTERFACE in to_us and set(to_us) <= {NO_INTERFACE, DISCARDED | TRAFFIC_SHAPING}, set(to_us)
        assert all(s["input"] == s["source"] for s in collector.samples("flow"))
        # The same while packets are traced, and captured, which other stage tables do.
        operator.result("trace", packets=64, port="lost")
        wait_until(lambda: len(operator.show("trace", most=32)["traces"]) == 32, "traces")
        with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
            capture = subprocess.Popen([CTL, "--socket", path, "capture", "any", "-w", f"{folder}/all.pcapng"])
            wait_until(lambda: operator.show("captures")["captures"], "the capture begins")
            collector.read().datagrams.clear()
            wait_until(lambda: all(sum(len(s) for s in collector.read() and by_port(port).values()) > 50 for port in (1, 2, 3, 5)),
                       "samples of captured packets", 60)
            assert operator.show("captures")["captures"], "the capture goes on"
            capture.terminate()
            capture.wait()
        assert set(by_port(3)) == {DISCARDED | NET_UNKNOWN} and set(by_port(1)) == {2} and set(by_port(5)) == {MULTIPLE | 3}
        running.stop()


def is_udp(frame):
    """Whether an untagged frame has a UDP datagram over IPv4, as all generated frames do."""
    return frame[12:14] == b"\x08\x00" and frame[23] == 17


def is_icmp(frame):
    """Whether an untagged frame has an ICMP message over IPv4."""
    return frame[12:14] == b"\x08\x00" and frame[23] == 1


def test_sent_packets_are_sampled():
    """`direction: out` samples the frames as sent, of each egress port, with the ingress port as input; the router's own
    packets have none."""
    with Lab() as lab:
        _dut, collector, running, operator = router(lab, sflow={"direction": "out"}, routes_to=3)
        flows = samples_of_more_than(RATE, collector)
        for source in (1, 2):
            # A few frames of the port are the router's own: it announces its addresses.
            mine = [s for s in flows if s["source"] == source and (s["input"] != NO_INTERFACE or is_udp(s["header"]))]
            others = [s for s in mine if (s["rate"], s["input"], s["output"]) != (ONE_IN, 3 - source, source)]
            assert not others, others
            pool = mine[-1]["pool"]
            off = abs(len(mine) - pool / ONE_IN)
            print(f"# port {source}: {len(mine)} samples of {pool} sent packets, 1 in {pool / len(mine):.1f}")
            assert pool > RATE and off < 1 + 5 * math.sqrt(len(mine) / 3), (source, len(mine), pool)
            # The frame as sent has the next hop's MAC address and a decremented TTL.
            assert {s["header"][0:6] for s in mine} == {bytes((2, 0, 0, 0, 0, source - 1))}
            assert {s["header"][26:29] for s in mine} == {bytes((198, 18, 2 - source))} and {s["header"][22] for s in mine} == {63}
        tx = {p["name"]: p["tx_packets"] for p in operator.show("ports")["ports"]}
        assert flows[-1]["pool"] <= max(tx.values()), (flows[-1], tx)
        # Errors about packets without a route.
        collector.datagrams.clear()
        rewrite(running, lambda c: c["sflow"].update(sample=1))
        errors = wait_until(lambda: [s for s in collector.read().samples("flow") if s["source"] == 3 and is_icmp(s["header"])],
                            "samples of errors")
        assert {(s["input"], s["output"]) for s in errors} == {(NO_INTERFACE, 3)}, errors[0]
        assert all(s["header"][34] == 3 for s in errors), errors[0]
        # Both: the samples of a port are of packets that it received, and that it sent.
        rewrite(running, lambda c: c["sflow"].update(sample=ONE_IN, direction="both"))
        collector.read_for(0.7)
        collector.datagrams.clear()
        def paths():
            return collections.Counter((s["input"], s["output"]) for s in collector.read().samples("flow") if s["source"] == 1)

        wait_until(lambda: min(paths()[way] for way in ((1, 2), (2, 1))) > 100, "samples of both directions", 30)
        assert set(paths()) == {(1, 2), (2, 1)}, paths()
        # Copies of mirrors are not sampled.
        rewrite(running, lambda c: c.update(mirrors=[{"name": "far", "ports": ["west"], "direction": "in", "remote": "10.0.1.2",
                                                      "local": "10.0.1.1"}]))
        wait_until(lambda: operator.show("mirrors")["mirrors"][0]["packets"] > RATE // 2, "copies")
        sent = [s for s in collector.read().samples("flow") if s["source"] == 2]
        assert len(sent) > RATE // ONE_IN // 2 and all(is_udp(s["header"]) for s in sent if s["input"] != NO_INTERFACE), sent[-1]
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
        for ports in (before, after):
            for p in ports.values():  # octets of sFlow include the FCS
                p.update({f"{d}_bytes": p[f"{d}_bytes"] + 4 * p[f"{d}_packets"] for d in ("rx", "tx")})
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
        wait_until(lambda: len(collector.read().samples("flow")) > 1000, "samples", 20)
        before = operator.show("sflow")["sflow"]
        other = Collector(dut)
        rewrite(running, lambda c: c["sflow"].update(collectors=[other.name, collector.name], sample=10))
        after = operator.show("sflow")["sflow"]  # counters go on (doc/metrics.md)
        assert after["samples"] >= before["samples"] and after["datagrams"] >= before["datagrams"], (before, after)
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
        for wrong, said in (({"collectors": "10.9.9.9:"}, "ADDRESS:PORT"), ({"collectors": ["unix:/tmp/x"]}, "UDP port"),
                            ({"collectors": [collector.name, collector.name]}, "twice"),
                            ({"agent": "ten"}, "ten"), ({"sample": -1}, "sample"), ({"header": 4}, "14"), ({"direction": "up"}, "direction"), ({"drops": 100000}, "10000"),
                            ({"colour": 1}, "colour")):
            text = rewrite(running, lambda c, w=wrong: c["sflow"].update(w))
            assert said in text and "sflow" in text and "turnpike.yaml:" in text, (wrong, text)
            rewrite(running, lambda c, w=wrong: (c["sflow"].update(collectors=[collector.name], agent="10.0.0.1", sample=ONE_IN,
                                                                   header=128, drops=10, direction="in"), c["sflow"].pop("colour", None)))
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
        ways = subprocess.run(["nfdump", "-R", folder, "-o", "fmt:%in %out", "-q"], capture_output=True, text=True, timeout=60,
                              check=True).stdout
        assert {tuple(line.split()) for line in ways.splitlines() if line.strip()} >= {("1", "2"), ("2", "1")}, ways[:400]
        print(f"# nfdump: {packets} packets, from {end - begin} to {operator and end} samples of 1 in {ONE_IN}")
        assert (end - begin) * ONE_IN <= packets <= (end + 5 * RATE // ONE_IN) * ONE_IN, (begin, end, packets)


if __name__ == "__main__":
    tap.main(globals())
