#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-throughput over simnic's wires: a device of known loss, delay and buffer, and runs that must end with an error."""
import ipaddress
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import frames, machine, tap  # noqa: E402
from lib.build import BUILD, SLOWDOWN  # noqa: E402
from lib.hosts import wait_until  # noqa: E402
from lib.terminal import Terminal  # noqa: E402

PROGRAM = os.path.join(BUILD, "app/throughput/turnpike-throughput")
FLOWS = 50
# Other programs run on the same CPUs: where only counts are compared, any lag is accepted.
ANY_LAG = "max_lag_us: 10000000, tolerance_ppm: 900000, settle_ms: 100"

# No trial counts: no interval at this rate is a whole number of TSC cycles.
MISSED_RATE = "max: 9973, max_lag_us: 10000000, tolerance_ppm: 0, settle_ms: 50"


class Run:
    """One execution; `right` impairs the frames from left to right."""

    def __init__(self, procedures, right="", left="", rate=f"max: 20k, {ANY_LAG}",
                 wires=("peer:net_simnic1", "peer:net_simnic0"), traffic=f"flows: {FLOWS}", ports=("", ""), files=None):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-test-")
        for name, content in (files or {}).items():
            with open(os.path.join(self.folder.name, name), "wb") as file:
                file.write(content)
        self.file = os.path.join(self.folder.name, "run.yaml")
        self.output = os.path.join(self.folder.name, "result.json")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f'ports:\n  - {{name: left, device: "net_simnic0,wire={wires[0]}{left}"{ports[0]}}}\n'
                       f'  - {{name: right, device: "net_simnic1,wire={wires[1]}{right}"{ports[1]}}}\n'
                       f"traffic: {{{traffic}}}\nrate: {{{rate}}}\n{procedures}\n")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([PROGRAM, self.file, "--output", self.output], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def end(self, code=0, seconds=60):
        """The result, or without a result file None; standard output and standard error."""
        try:
            out, errors = self.process.communicate(timeout=seconds * SLOWDOWN)
        finally:
            self.process.kill()
        assert self.process.returncode == code, (self.process.returncode, out, errors)
        if not os.path.exists(self.output):
            return None, out, errors
        with open(self.output, encoding="utf-8") as file:
            return json.load(file), out, errors

    def size(self, seconds=60):
        result, _out, _errors = self.end(seconds=seconds)
        assert result["complete"] and result["stopped"] is None, result
        return result["sizes"][0]


class Mt19937:
    """std::mt19937_64, by its definition in the C++ standard (rand.eng.mers)."""
    N, M, MASK = 312, 156, (1 << 64) - 1

    def __init__(self, seed):
        self.state = [seed]
        for i in range(1, self.N):
            last = self.state[-1]
            self.state.append((6364136223846793005 * (last ^ last >> 62) + i) & self.MASK)
        self.at = self.N

    def __call__(self):
        if self.at == self.N:
            for i in range(self.N):
                y = self.state[i] & (self.MASK << 31 & self.MASK) | self.state[(i + 1) % self.N] & ((1 << 31) - 1)
                self.state[i] = self.state[(i + self.M) % self.N] ^ y >> 1 ^ (0xB5026F5AA96619E9 if y & 1 else 0)
            self.at = 0
        y = self.state[self.at]
        self.at += 1
        y ^= y >> 29 & 0x5555555555555555
        y ^= y << 17 & 0x71D67FFFEDA60000
        y ^= y << 37 & 0xFFF7EEE000000000
        return y ^ y >> 43


class Wire:
    """simnic's impairments of frames, as its README describes them: shares of loss, corruption, duplicates and reordering."""

    def __init__(self, loss, corrupt, duplicate, reorder):
        self.shares = (loss, corrupt, duplicate, reorder)
        self.random = Mt19937(1)
        self.held = None

    def outcome(self):
        drawn = (self.random() >> 11) * 2.0 ** -53
        for kind, share in enumerate(self.shares):
            drawn -= share
            if drawn < 0:
                return kind
        return None

    def carry(self, frame):
        """The frames that arrive, with whether each is damaged."""
        outcome = self.outcome()
        if outcome == 0:
            return []
        if outcome == 1:
            return [(frame, True)]
        if outcome == 3 and self.held is None:
            self.held = frame
            return []
        out = [(frame, False)] * (2 if outcome == 2 else 1)
        if self.held is not None:
            out.append((self.held, False))
            self.held = None
        return out

    def trial(self, number, sent):
        """A receiver's counts of a trial's frames."""
        seen, newest = set(), -1
        count = {"sent": sent, "lost": 0, "received": 0, "damaged": 0, "duplicated": 0, "reordered": 0, "late": 0}
        for n in range(sent):
            for (trial, sequence), damaged in self.carry((number, n)):
                if damaged:
                    count["damaged"] += 1
                elif trial != number:
                    count["late"] += 1
                elif sequence in seen:
                    count["duplicated"] += 1
                else:
                    seen.add(sequence)
                    count["reordered"] += sequence < newest
                    newest = max(newest, sequence)
        count["received"] = len(seen)
        count["lost"] = sent - len(seen) - count["damaged"]
        return count


HERE, THERE = b"\2\0\0\0\0\7", b"\2\0\0\0\0\x09"


def of_ipv4(rest, protocol, **more):
    return frames.ethernet(THERE, HERE, frames.IPV4, frames.ipv4("10.0.0.1", "10.9.0.2", rest, protocol, **more))


def of_ipv6(rest, protocol):
    return frames.ethernet(THERE, HERE, frames.IPV6, frames.ipv6("2001:db8::1", "2001:db8:9::2", rest, protocol))


def udp_with_checksum(rest):
    datagram = bytearray(frames.udp(rest, to=9))
    datagram[6] = 1  # any: the tester computes it anew
    return bytes(datagram)


# Frames of each kind; three are lengthened, and the last two are skipped.
CAPTURED = [of_ipv4(udp_with_checksum(b"x" * 100), frames.UDP), of_ipv4(udp_with_checksum(b"y" * 1001), frames.UDP),
            of_ipv4(frames.udp(b"z" * 50, to=9), frames.UDP), of_ipv4(udp_with_checksum(b""), frames.UDP) + bytes(18),
            of_ipv4(frames.tcp(b"t" * 300, to=9), frames.TCP), of_ipv4(frames.tcp(to=9), frames.TCP) + bytes(6),
            of_ipv4(frames.icmp4(8, 0, bytes(60)), frames.ICMP), of_ipv4(b"g" * 64, 253),
            of_ipv4(udp_with_checksum(b"o" * 30), frames.UDP, options=b"\x94\4\0\0"),
            frames.ethernet(THERE, HERE, frames.VLAN, frames.tag(5, frames.IPV4, frames.ipv4(
                "10.0.0.3", "10.9.0.4", udp_with_checksum(b"v" * 77)))),
            of_ipv6(udp_with_checksum(b"6" * 99), frames.UDP), of_ipv6(frames.tcp(to=9), frames.TCP),
            of_ipv6(frames.icmp6("2001:db8::1", "2001:db8:9::2", 128, 0, bytes(64)), frames.ICMPV6),
            frames.ethernet(THERE, HERE, 0x88B5, b"an experiment" * 5),
            b"short", of_ipv4(bytes(50), frames.UDP, total=999)]


def pcap_of(all_frames):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return out + b"".join(struct.pack("<IIII", n, 0, len(f), len(f)) + f for n, f in enumerate(all_frames))


def decoded(path, *fields):
    """A row of fields for each frame; tshark finds no error in any, checksums included."""
    if shutil.which("tshark") is None:
        tap.skip("tshark is not installed")
    words = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=|", "-o", "tcp.analyze_sequence_numbers:FALSE"]
    words += [w for protocol in ("ip", "tcp", "udp") for w in ("-o", f"{protocol}.check_checksum:TRUE")]
    words += ["-o", "udp.ignore_ipv6_zero_checksum:TRUE"]  # of tunnels: RFC 6935
    words += ["-d", "udp.port==9,data", "-d", "tcp.port==9,data"]  # a stamp may look like a message of another protocol
    fields = (*fields, "_ws.malformed", "_ws.expert.severity")
    done = subprocess.run(words + [w for f in fields for w in ("-e", f)], capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split("|") for line in done.stdout.splitlines()]
    warning = 0x600000  # PI_WARN
    for row in rows:
        assert not row[-2] and all(int(s) < warning for s in row[-1].split(",") if s), row
    return rows


def test_every_nth_frame_is_lost():
    trials = Run("frame_loss: {trial_ms: 100}", right=",loss_every=7").size()["trials"]
    before = FLOWS  # learning frames
    for t in trials:
        count = t["frames"]
        after = before + count["sent"]
        assert count["lost"] == after // 7 - before // 7 and count["received"] == count["sent"] - count["lost"], t
        assert count["duplicated"] == count["reordered"] == count["damaged"] == 0, t
        before = after
    assert len(trials) >= 10, trials


def test_every_kind_of_traffic():
    """Over a cable, nothing is lost or damaged, at the sizes' limits, too."""
    for traffic, sizes in ((f"flows: {FLOWS}, sizes: [64, 65, 1518, 9000, 9018]", 5), (f"ip: 6, flows: {FLOWS}, sizes: [84, 1500]", 2),
                           (f"flows_by: mac, flows: {FLOWS}", 1), (f"flows: {FLOWS}, vlan: 7, sizes: [68, imix]", 2),
                           ("flows_by: mac", 1)):
        result, _out, _errors = Run("back_to_back: {repeats: 1, max_frames: 100}", traffic=traffic + ", both_ways: true").end()
        assert len(result["sizes"]) == sizes, result["sizes"]
        for size in result["sizes"]:
            assert size["back_to_back"]["limited"], (traffic, size)
            for t in size["trials"]:
                for s in t["streams"]:
                    assert s["received"] == s["sent"] > 0 and s["damaged"] == s["duplicated"] == s["reordered"] == 0, (traffic, t)


def test_duplicates_reordering_and_damage():
    shares = {"loss": 0.02, "corrupt": 0.03, "duplicate": 0.05, "reorder": 0.04}
    trials = Run("frame_loss: {trial_ms: 200}", right="".join(f",{k}={v}" for k, v in shares.items())).size()["trials"]
    wire = Wire(**shares)
    wire.trial(0, FLOWS)
    sums = {}
    for number, t in enumerate(trials, 1):
        expected = wire.trial(number, t["frames"]["sent"])
        assert dict(t["frames"], late=t["late"]) == expected, (number, t, expected)
        for key, value in expected.items():
            sums[key] = sums.get(key, 0) + value
    assert all(sums[k] > 100 for k in ("lost", "damaged", "duplicated", "reordered")), sums


def test_a_capture_with_every_impairment():
    shares = {"loss": 0.02, "corrupt": 0.03, "duplicate": 0.05, "reorder": 0.04}
    result, _out, _errors = Run("frame_loss: {trial_ms: 200}", right="".join(f",{k}={v}" for k, v in shares.items()),
                                traffic="pcap: x.pcap", files={"x.pcap": pcap_of(CAPTURED)}).end()
    sent = len(CAPTURED) - 2
    assert result["traffic"] == {"pcap": "x.pcap", "frames": sent, "lengthened": 3, "skipped": 2}, result["traffic"]
    size = result["sizes"][0]
    assert size["size"] == "capture", size
    wire = Wire(**shares)
    wire.trial(0, sent)
    for number, t in enumerate(size["trials"], 1):
        expected = wire.trial(number, t["frames"]["sent"])
        assert dict(t["frames"], late=t["late"]) == expected and t["foreign"] == 0, (number, t, expected)
    assert len(size["trials"]) >= 10


def reversed_frame(frame):
    """With exchanged MAC and IPv4 addresses."""
    out = frame[6:12] + frame[:6] + frame[12:]
    return out[:26] + out[30:34] + out[26:30] + out[34:] if frame[12:14] == b"\x08\0" else out


def conversation(n):
    """n packets from 10.0.0.1, and n // 2 answers; no two have the same size."""
    there = [of_ipv4(udp_with_checksum(bytes(30 + i)), frames.UDP) for i in range(n)]
    return there + [reversed_frame(of_ipv4(udp_with_checksum(bytes(200 + i)), frames.UDP)) for i in range(n // 2)]


def test_captures_in_both_directions():
    """One mirrored, two files, and one that is split by its senders: the counts of each direction are exact."""
    whole, n = conversation(10), 10
    for traffic, frames_of, used in (
            ("pcap: x.pcap, both_ways: true", (len(CAPTURED) - 2, len(CAPTURED) - 2), {"x.pcap": pcap_of(CAPTURED)}),
            ("pcap: [x.pcap, y.pcap]", (n, n // 2), {"x.pcap": pcap_of(whole[:n]), "y.pcap": pcap_of(whole[n:])}),
            ("pcap: x.pcap, split: [10.0.0.0/24]", (n, n // 2), {"x.pcap": pcap_of(whole)})):
        result, _out, _errors = Run("frame_loss: {trial_ms: 200}", right=",loss_every=7", left=",loss_every=5", traffic=traffic,
                                    files=used).end()
        assert result["complete"] and result["traffic"]["both_ways"], result
        assert (result["traffic"]["frames"], result["traffic"]["back"]["frames"]) == frames_of, result["traffic"]
        before = [max(frames_of)] * 2  # learning frames
        for t in result["sizes"][0]["trials"]:
            assert t["foreign"] == 0 and t["misdirected"] == 0, t
            for i, every in enumerate((7, 5)):
                count = t["streams"][i]
                after = before[i] + count["sent"]
                assert count["lost"] == after // every - before[i] // every > 0, (traffic, i, t)
                assert count["received"] == count["sent"] - count["lost"] and count["damaged"] == 0, (traffic, i, t)
                before[i] = after


def test_frames_of_a_capture_s_second_port():
    """A mirrored capture: the second port sends it with exchanged addresses and ports, and valid checksums."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "sent.pcap")
        size = Run("back_to_back: {repeats: 1, max_frames: 100}", wires=("sink", f"record:{path}"),
                   traffic="pcap: x.pcap, both_ways: true", files={"x.pcap": pcap_of(CAPTURED)}).size()
        rows = decoded(path, "eth.dst", "ip.src", "ipv6.src", "udp.srcport", "tcp.srcport")
    good = CAPTURED[:-2]
    assert len(rows) == len(good) + sum(t["streams"][1]["sent"] for t in size["trials"]), (len(rows), size)
    assert {row[0] for row in rows} == {"02:00:00:00:00:07"}, rows[0]
    assert [r[1] for r in rows[:14]] == ["10.9.0.2"] * 9 + ["10.9.0.4"] + [""] * 4, rows[:14]
    assert [r[2] for r in rows[10:13]] == ["2001:db8:9::2"] * 3, rows[:14]
    assert {r[3] for r in rows} == {"9", ""} and {r[4] for r in rows} == {"9", ""}, rows[:14]


def test_a_capture_is_sent_in_its_order_with_valid_checksums():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "sent.pcap")
        size = Run("back_to_back: {repeats: 1, max_frames: 100}", wires=(f"record:{path}", "sink"), traffic="pcap: x.pcap",
                   files={"x.pcap": pcap_of(CAPTURED)}).size()
        rows = decoded(path, "frame.len", "eth.dst", "ip.dst", "ipv6.dst", "udp.length", "tcp.len", "vlan.id")
    good = CAPTURED[:-2]
    assert len(rows) == len(good) + sum(t["frames"]["sent"] for t in size["trials"]), (len(rows), size)
    for row, frame in zip(rows, good):
        # UDP of 0 bytes, TCP of 0 bytes, and a frame that is not IP
        longer = {60: (60, 72), 74: (92,), 79: (97,)}.get(len(frame), (len(frame),))
        assert int(row[0]) in longer and row[1] == "02:00:00:00:00:09", (row, len(frame))
    first = [row[0:7] for row in rows[:len(good)]]
    assert [r[2] for r in first] == ["10.9.0.2"] * 9 + ["10.9.0.4"] + [""] * 4, first
    assert [r[4] for r in first] == ["108", "1009", "58", "26", "", "", "", "", "38", "85", "107", "", "", ""], first
    assert [r[5] for r in first if r[5]] == ["300", "18", "18"] and first[9][6] == "5", first


def test_destinations_of_a_table():
    table = b"# drawn with a seed\n203.0.113.0/24 via 10.0.0.1\n198.51.100.128/25\n2001:db8::/32\n"
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "sent.pcap")
        result, _out, _errors = Run("back_to_back: {repeats: 1, max_frames: 10}", wires=(f"record:{path}", "sink"),
                                    traffic="destinations: table.txt, seed: 5, flows: 500", files={"table.txt": table}).end()
        rows = decoded(path, "ip.src", "ip.dst")
    assert result["traffic"] | {"prefixes": 2, "seed": 5, "destinations": "table.txt"} == result["traffic"], result["traffic"]
    networks = [ipaddress.ip_network(n) for n in ("203.0.113.0/24", "198.51.100.128/25")]
    hits = [sum(ipaddress.ip_address(row[1]) in n for row in rows) for n in networks]
    assert sum(hits) == len(rows) >= 500 and min(hits) > 200, hits
    assert [row[0] for row in rows[:3]] == ["198.18.0.0", "198.18.0.1", "198.18.0.2"], rows[:3]
    trials = Run("frame_loss: {trial_ms: 100}", traffic="destinations: table.txt, flows: 100000, both_ways: true",
                 files={"table.txt": table}).size()["trials"]
    assert all(t["frames"]["received"] == t["frames"]["sent"] > 0 and not t["foreign"] for t in trials), trials


def vtep(here, there, more="", network="10.0.0."):
    return f', address: "{network}{here}", vxlan: {{vni: 7, remote: "{network}{there}"{more}}}'


def test_a_transit_of_vxlan():
    trials = Run("frame_loss: {trial_ms: 100}", right=",loss_every=7", ports=(vtep(1, 2), vtep(2, 1))).size()["trials"]
    before = FLOWS
    for t in trials:
        after = before + t["frames"]["sent"]
        assert t["frames"]["lost"] == after // 7 - before // 7 and not t["foreign"] and not t["frames"]["damaged"], t
        before = after
    # Frames that are not encapsulated, or of another VNI.
    plain = Run("back_to_back: {repeats: 1, max_frames: 10}", ports=("", vtep(2, 1))).size()["trials"]
    assert all(t["frames"]["damaged"] == t["frames"]["sent"] for t in plain), plain
    other = Run("back_to_back: {repeats: 1, max_frames: 10}", ports=(vtep(1, 2).replace("7", "8"), vtep(2, 1))).size()["trials"]
    assert all(t["frames"]["lost"] == t["foreign"] == t["frames"]["sent"] for t in other), other


def test_frames_of_vxlan_have_valid_headers():
    check_headers_of_vxlan("10.0.0.", "ip", "174")


def test_frames_of_vxlan_over_ipv6_have_valid_headers():
    check_headers_of_vxlan("2001:db8::", "ipv6", "194")


def check_headers_of_vxlan(network, layer, length):
    """`length` of a frame of 128 bytes, without FCS, in the tunnel."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "sent.pcap")
        Run("back_to_back: {repeats: 1, max_frames: 10}", wires=(f"record:{path}", "sink"), traffic="flows: 50, sizes: [128]",
            ports=(vtep(1, 2, network=network), vtep(2, 1, network=network))).size()
        rows = decoded(path, "frame.len", "vxlan.vni", f"{layer}.src", f"{layer}.dst", "udp.dstport", "udp.srcport")
    assert len(rows) > 50, len(rows)
    for n, row in enumerate(rows[:50]):
        inner = (f",198.18.0.{n}", f",198.19.0.{n}") if layer == "ip" else ("", "")
        assert row[:5] == [length, "7", f"{network}1{inner[0]}", f"{network}2{inner[1]}", "4789,9"], row
    assert len({row[5] for row in rows[:50]}) == 50, "a source port for each flow"


def ip(*words, inside=None):
    subprocess.run([*(["ip", "netns", "exec", inside] if inside else []), "ip", *words], check=True, timeout=20)


class KernelVtep:
    """Linux as a VTEP between `left`, which has the tunnel, and `right`: a bridge in a network namespace."""

    def __init__(self, network, length):
        self.network, self.length = network, length

    def __enter__(self):
        self.name = f"tput{os.getpid()}"
        self.ports = [f"{self.name}{side}" for side in "lr"]
        ip("netns", "add", self.name)
        for port, inner in zip(self.ports, ("dut1", "dut2")):
            ip("link", "add", port, "type", "veth", "peer", "name", inner, "netns", self.name)
            ip("link", "set", port, "up")
            for interface, namespace in ((port, None), (inner, self.name)):
                command = ["ethtool", "-K", interface, "tx", "off"]
                subprocess.run([*(["ip", "netns", "exec", namespace] if namespace else []), *command], check=True,
                               capture_output=True, timeout=20)
        # Tunnels over IPv6 have no UDP checksum (RFC 6935), which Linux must be told.
        over = "udp6zerocsumrx" if ":" in self.network else ""
        nodad = "nodad" if ":" in self.network else ""
        for words in (f"link add vxlan7 type vxlan id 7 local {self.network}1 remote {self.network}2 dstport 4789 {over}",
                      "link add br0 type bridge", "link set vxlan7 master br0", "link set dut2 master br0",
                      f"address add {self.network}1/{self.length} dev dut1 {nodad}",
                      "link set lo up", "link set dut1 up", "link set dut2 up", "link set vxlan7 up", "link set br0 up"):
            ip(*words.split(), inside=self.name)
        wait_until(lambda: all(self.is_up(inner) for inner in ("dut1", "dut2", "br0")), "the links are up")
        time.sleep(0.2)  # the kernel activates their queues just after (linkwatch_do_dev)
        return self

    def is_up(self, interface):
        command = ["ip", "netns", "exec", self.name, "cat", f"/sys/class/net/{interface}/operstate"]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout == "up\n"

    def __exit__(self, *_):
        for port in self.ports:
            ip("link", "del", port)
        ip("netns", "del", self.name)


def test_linux_as_a_vtep():
    check_linux_as_a_vtep("10.0.1.", 24)


def test_linux_as_a_vtep_over_ipv6():
    check_linux_as_a_vtep("2001:db8:1::", 64)


def check_linux_as_a_vtep(network, length):
    with KernelVtep(network, length) as device, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "run.yaml")
        with open(file, "w", encoding="utf-8") as run:
            run.write(f"""ports:
  - {{name: left, device: "net_af_packet0,iface={device.ports[0]}", address: "{network}2", gateway: "{network}1",
     vxlan: {{vni: 7}}}}
  - {{name: right, device: "net_af_packet1,iface={device.ports[1]}"}}
traffic: {{flows_by: mac, flows: 20, both_ways: true, sizes: [100]}}
rate: {{max: 2k, {ANY_LAG}}}
frame_loss: {{trial_ms: 300}}
""")
        done = subprocess.run([PROGRAM, file, "--json"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        for t in json.loads(done.stdout)["sizes"][0]["trials"]:
            for stream in t["streams"]:
                assert stream["received"] > 0.9 * stream["sent"] > 100 and stream["damaged"] == 0, t


def test_known_delay():
    """The minimum: other frames wait while other programs have the receiver's CPU, too."""
    delay = 2000.0
    rows = Run("throughput: {method: rfc2544, trial_ms: 100}\nlatency: {trial_ms: 400, percent: [10, 100]}",
               right=f",delay={delay:.0f}").size()["latency"]
    for row in rows:
        assert delay <= row["min_us"] < 1.05 * delay, row
        assert row["frames"] > 100 and row["min_us"] <= row["p50_us"] <= row["p99_us"] <= row["max_us"], row


def test_known_delay_without_the_tester_s_own():
    """The minimum is within a microsecond or 5 % of the delay, once the least latency of a direct wire is subtracted."""
    direct = '["net_simnic2,wire=peer:net_simnic3", "net_simnic3,wire=peer:net_simnic2"]'
    for delay in (10, 200):
        result, out, _errors = Run("throughput: {method: rfc2544, trial_ms: 100}\n"
                                   f"latency: {{trial_ms: 400, percent: [10, 100], direct: {direct}}}", right=f",delay={delay}").end()
        assert "direct wire" in result["tester_latency"]["method"] and len(result["tester_latency"]["devices"]) == 2, result
        assert "the least latency over a direct wire" in out, out
        for row in result["sizes"][0]["latency"]:
            assert row["tester_us"] > 0, row
            assert abs(row["min_us"] - delay) <= max(1, 0.05 * delay), row
        of_tester = [t for t in result["sizes"][0]["trials"] if t["procedure"] == "tester's latency"]
        assert {t["load_fps"] for t in of_tester} == {row["load_fps"] for row in result["sizes"][0]["latency"]}, of_tester


def test_hardware_timestamps():
    """The receiving device has a clock of another frequency and epoch: a known delay is found by its timestamps."""
    delay_us, tick_us = 2000, 0.008
    run = Run("throughput: {method: rfc2544, trial_ms: 100}\nlatency: {trial_ms: 400, percent: [10, 50]}",
              rate=f"max: 10k, min: 9k, {ANY_LAG}", right=f",delay={delay_us},profile=i40e,clock=125000000")
    result, out, _errors = run.end()
    assert [p["rx_timestamps"] for p in result["ports"]] == ["software", "hardware"], result["ports"]
    assert "timestamps of received frames: left software, right hardware" in out, out
    for row in result["sizes"][0]["latency"]:
        assert abs(row["min_us"] - delay_us) < 0.05 * delay_us + tick_us and row["mean_us"] >= row["min_us"], row
        assert row["frames"] > 100, row


def test_latencies_are_of_the_hardware_s_timestamps():
    """A clock of 1 ms stamps frames up to 1 ms too early, which a figure of the software's clock cannot be."""
    delay_us = 2000
    size = Run("throughput: {method: rfc2544, trial_ms: 100}\nlatency: {trial_ms: 400, percent: [60, 70, 80, 90, 100]}",
               rate=f"max: 10k, min: 9k, {ANY_LAG}", right=f",delay={delay_us},profile=i40e,clock=1000").size()
    # A tester that other programs interrupt has longer delays: the shortest counts.
    assert min(row["min_us"] for row in size["latency"]) < delay_us - 200, size["latency"]


def test_a_clock_of_timestamps_that_steps():
    """Latencies do not count; the throughput, which needs no timestamps, does."""
    result, out, _errors = Run("throughput: {method: rfc2544, trial_ms: 100}\nlatency: {trial_ms: 400, percent: [50]}",
                               rate=f"max: 10k, attempts: 2, {ANY_LAG}", right=",profile=i40e,clock=125000000,clock_step=100").end()
    size = result["sizes"][0]
    assert result["complete"] and size["throughput"]["throughput_fps"] == 10000, size["throughput"]
    of_latency = [t for t in size["trials"] if t["procedure"] == "latency"]
    assert len(of_latency) == 2 and all(t["why"] == "the clock of port 'right' stepped" for t in of_latency), of_latency
    assert not size["latency"][0]["counts"] and "does not count" in out, out


def test_a_latency_of_no_frame_is_none():
    """The device loses every second frame, and each trial of latency has one."""
    result, out, _errors = Run("throughput: {method: rfc2544, trial_ms: 50, loss_ppm: 600000}\n"
                               "latency: {trial_ms: 1, percent: [10, 20, 30, 40]}", right=",loss_every=2", rate=f"max: 2k, {ANY_LAG}").end()
    lost = [row for row in result["sizes"][0]["latency"] if row["frames"] == 0]
    arrived = [row for row in result["sizes"][0]["latency"] if row["frames"] == 1]
    assert lost and arrived and len(lost) + len(arrived) == 4, result["sizes"][0]["latency"]
    assert all(row["counts"] and row["loss_ratio"] == 1 and row["min_us"] is None and row["pdv_us"] is None for row in lost), lost
    assert all(row["loss_ratio"] == 0 and row["min_us"] > 0 for row in arrived), arrived
    assert out.count("  no frame arrived\n") == len(lost), out


def test_software_timestamps_without_latency_or_offload():
    for procedures, right, expected in (("back_to_back: {repeats: 1, max_frames: 10}", ",profile=i40e", None),
                                        ("throughput: {method: rfc2544, trial_ms: 50}\nlatency: {trial_ms: 50}", "", "software")):
        result, _out, _errors = Run(procedures, right=right).end()
        assert [p["rx_timestamps"] for p in result["ports"]] == [expected] * 2, result["ports"]


def test_a_direct_wire_that_is_none():
    result, _out, errors = Run("throughput: {method: rfc2544, trial_ms: 50}\nlatency: {trial_ms: 50, percent: [50], "
                               'direct: ["net_simnic2,wire=sink", "net_simnic3,wire=sink"]}').end(1)
    assert "no frame passed the direct wire" in errors and not result["complete"], errors


def test_a_capped_device_s_rate():
    """Within 0.5 %: its buffer is 0.17 % of a trial's frames, the search's resolution 0.2 % of the rate. The lag that a trial may
    have is less than the time in which the buffer fills."""
    tap.skip_without_realtime()
    cap, device, rate = 20000, ",cap=20k,buffer=10", "max: 40k, max_lag_us: 200, settle_ms: 50, attempts: 120, realtime: true"
    binary = Run("throughput: {method: rfc2544, trial_ms: 300, resolution: 40}", right=device, rate=rate).size(240)["throughput"]
    goal = "{name: ndr, trial_ms: 300, sum_ms: 300, width_ppm: 2000}"
    mlr = Run(f"throughput: {{method: mlrsearch, goals: [{goal}]}}", right=device, rate=rate).size(240)["throughput"]["goals"][0]
    for found, whole in ((binary["throughput_fps"], binary), (mlr["conditional_throughput_fps"], mlr)):
        machine.judge(found is not None and abs(found / cap - 1) <= 0.005, f"{found} frames/s of a device of {cap}: {whole}")


def test_known_buffer():
    """A frame leaves every 5 ms, much later than a burst ends."""
    result, out, _errors = Run("back_to_back: {repeats: 2, max_frames: 100}", right=",cap=200,buffer=20",
                               rate="max: 400, settle_ms: 3000").end()
    b = result["sizes"][0]["back_to_back"]
    assert b["min_frames"] == b["max_frames"] == 20 and not b["limited"] and b["implied_buffer_us"] > 0, b
    # The throughput, by which RFC 9004 corrects the buffer, is not known.
    assert b["buffer_frames"] is None and b["corrected_buffer_us"] is None, b
    assert re.search(r" 20 +20 +- +-\n", out), out


def test_the_buffer_is_corrected_by_the_goal_without_loss():
    """The first goal accepts the loss of every second frame, the second one none: the device's rate is known of the first alone."""
    size = Run("throughput: {method: mlrsearch, goals: [{name: half, loss_ppm: 600000, trial_ms: 50, sum_ms: 50}, "
               "{name: none, trial_ms: 50, sum_ms: 50}]}\nback_to_back: {repeats: 1, max_frames: 100}",
               right=",loss_every=2", rate=f"max: 2k, min: 200, {ANY_LAG}").size()
    half, none = size["throughput"]["goals"]
    b = size["back_to_back"]
    assert half["relevant_lower_bound_fps"] == 2000 and none["relevant_lower_bound_fps"] is None, (half, none)
    assert b["buffer_frames"] is None and b["corrected_buffer_us"] is None and b["max_frames"] <= 1, b


def test_the_buffer_time_is_corrected_by_the_throughput():
    """RFC 9004 section 6.4: the device forwards at its throughput during the burst."""
    size = Run("throughput: {method: rfc2544, trial_ms: 100, resolution: 100}\nback_to_back: {repeats: 1, max_frames: 200}",
               rate=f"max: 20k, {ANY_LAG}").size()
    b = size["back_to_back"]
    assert b["limited"] and b["mean_frames"] == 200, b
    assert b["buffer_frames"] == max(0, 200 - 20000 * b["implied_buffer_us"] / 1e6) < 200, b
    assert abs(b["corrected_buffer_us"] / b["implied_buffer_us"] - b["buffer_frames"] / 200) < 1e-9, b


def test_a_burst_takes_at_least_its_time_on_the_wire():
    """The port's descriptors accept the whole burst at once."""
    size = Run("back_to_back: {repeats: 1, max_frames: 200}", left=",link=10", traffic=f"flows: {FLOWS}, sizes: [1518]",
               rate=f"max: 20k, {ANY_LAG}").size()
    assert size["back_to_back"]["implied_buffer_us"] >= 199e6 / size["line_rate_fps"] * (1 - 1e-9), size
    assert abs(size["line_rate_fps"] / 812744 - 1) < 1e-3, size


def test_system_recovery():
    """The device loses every 20th frame until its 18000th: 600 ms of overload are 13200 frames, which the learning frames precede."""
    size = Run("system_recovery: {rate: 20k, overload_ms: 600, then_ms: 1500, repeats: 2}", right=",loss_every=20,loss_until=18000",
               rate=f"max: 40k, {ANY_LAG}").size()
    found = size["system_recovery"]
    assert found["overload_fps"] == 22000 and found["then_fps"] == 10000 and found["overload_s"] == 0.6, found
    last = 18000 - 1 - FLOWS
    recovery_ms = (last - 13200) / 10
    first, second = found["results"]
    assert first["overloaded"] and first["recovered"] and abs(first["recovery_ms"] - recovery_ms) < 0.01, (first, recovery_ms)
    assert not second["overloaded"] and second["recovered"] and second["recovery_ms"] == 0, "it lost nothing any more"
    assert found["complete"] and abs(found["mean_ms"] - recovery_ms / 2) < 0.01 and found["min_ms"] == 0, found
    trial = size["trials"][0]
    assert trial["then_fps"] == 10000 and trial["frames"]["sent"] == 13200 + 15000, trial


def test_system_recovery_that_does_not_come():
    result, out, _errors = Run("system_recovery: {rate: 10k, overload_ms: 100, then_ms: 100}", right=",loss_every=3").end()
    found = result["sizes"][0]["system_recovery"]
    assert not found["results"][0]["recovered"] and found["mean_ms"] is None, found
    assert "not recovered: 1 of 1 trials" in out, out


def test_reset():
    """The device loses 4000 frames."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        marker = os.path.join(folder, "marker")
        result, out, errors = Run(f"reset: {{rate: 10k, trial_ms: 1500, after_ms: 200, command: 'echo restarts; touch {marker}'}}",
                                  right=f",outage={5000 + FLOWS}-4000").end()
        assert os.path.exists(marker) and "restarts" in errors and "restarts" not in out, (out, errors)
    size = result["sizes"][0]
    row, trial = size["reset"]["results"][0], size["trials"][0]
    assert row["recovered"] and row["counts"] and size["reset"]["complete"], row
    assert abs(row["reset_ms"] - 400) < 0.01 and abs(row["longest_gap_ms"] - 400) < 0.01, (row, trial)
    assert trial["frames"]["lost"] == 4000 and size["reset"]["mean_ms"] == row["reset_ms"], size
    # Losses before and after are part of the time, not of the gap.
    size = Run("reset: {rate: 10k, trial_ms: 1500, after_ms: 10, command: 'true'}", right=f",outage={5000 + FLOWS}-4000,"
               "loss_every=100,loss_until=6000").size()
    row = size["reset"]["results"][0]
    assert abs(row["reset_ms"] - 400 - 0.1 * (5000 // 100)) < 0.01 and abs(row["longest_gap_ms"] - 400) < 0.01, row


def test_a_reset_that_does_not_end():
    result, out, _errors = Run("reset: {rate: 10k, trial_ms: 500, after_ms: 10, command: 'true'}", right=",outage=500-1000000").end()
    reset = result["sizes"][0]["reset"]
    assert not reset["results"][0]["recovered"] and reset["mean_ms"] is None, reset
    assert "not recovered: 1 of 1 trials" in out, out


def test_a_reset_s_link_goes_down():
    """A device that takes the link with it: the trial goes on, and the next one waits for the link."""
    size = Run("reset: {rate: 10k, trial_ms: 2000, after_ms: 10, repeats: 2, command: 'true'}", right=",flap=200-100").size()
    assert len(size["reset"]["results"]) == 2 and size["reset"]["complete"], size["reset"]
    assert all(row["reset_ms"] > 0 for row in size["reset"]["results"]), size["reset"]


def test_commands_of_a_reset_that_fail():
    for command, said in (("exit 3", "reset.command: ended with exit code 3"), ("kill -9 $$", "reset.command: ended by signal 9")):
        result, _out, errors = Run(f"reset: {{rate: 1k, trial_ms: 300, after_ms: 10, command: '{command}'}}").end(1)
        assert said in errors and not result["complete"] and not result["sizes"][0]["reset"]["complete"], errors


class Scale:
    """A plan with two steps, whose runs have different maxima over a whole cable; the device is a shell that writes a report."""

    def __init__(self, more="", device="trap 'cp given.json report.json; exit' TERM; touch ready; sleep 60 & wait"):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-test-")
        device = f"cd {self.folder.name}; {device}"
        self.write("given.json", json.dumps({"workers": [{"packets": 100, "cpp": 50, "ipp": 90, "ipc": 1.8},
                                                         {"packets": 300, "cpp": 70, "ipp": None, "ipc": None}]}))
        for name, rate in (("a", "10k"), ("b", "20k")):
            self.write(f"{name}.yaml", 'ports: [{name: l, device: "net_simnic0,wire=peer:net_simnic1"}, '
                       '{name: r, device: "net_simnic1,wire=peer:net_simnic0"}]\ntraffic: {flows: 10}\n'
                       f"rate: {{max: {rate}, {ANY_LAG}}}\nthroughput: {{method: rfc2544, trial_ms: 50}}\n")
        self.write("plan.yaml", f"""ready: test -e {self.folder.name}/ready
report: report.json
unit: workers
{more}
steps:
  - {{name: one, units: 1, run: a.yaml, device: {json.dumps(device)}}}
  - {{name: four, units: 4, run: b.yaml, device: {json.dumps(device)}}}
""")

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)

    def end(self, code=0):
        self.output = os.path.join(self.folder.name, "scale.json")
        self.page = os.path.join(self.folder.name, "scale.html")
        done = subprocess.run([PROGRAM, "scale", os.path.join(self.folder.name, "plan.yaml"), "--output", self.output,
                               "--html", self.page], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        with open(self.output, encoding="utf-8") as file:
            return json.load(file), done.stdout, done.stderr


def test_scale():
    scale = Scale()
    result, out, _errors = scale.end()
    assert result["schema"] == "turnpike.throughput-scale/1" and result["complete"] and result["unit"] == "workers", result
    one, four = result["steps"]
    exact = {"size": "64", "at_least": False, "why": None}
    assert one["sizes"] == [{**exact, "throughput_fps": 10000, "speedup": 1, "efficiency": 1}], one["sizes"]
    assert four["sizes"] == [{**exact, "throughput_fps": 20000, "speedup": 2, "efficiency": 0.5}], four["sizes"]
    for step in (one, four):
        assert (step["cpp"], step["ipp"], step["ipc"]) == (65, 90, 1.8) and step["result"]["complete"], step
    rows = [line.split() for line in out.splitlines() if line.startswith(("one", "four"))]
    assert rows == [["one", "1", "64", "0.010000", "1.00", "1.00", "65", "90", "1.80"],
                    ["four", "4", "64", "0.020000", "2.00", "0.50", "65", "90", "1.80"]], out
    with open(scale.page, encoding="utf-8") as file:
        page = file.read()
    for part in ("functional rate", "Throughput by frame size", "Speedup over the first step", "0.020000"):
        assert part in page, part
    again = subprocess.run([PROGRAM, "--result", scale.output, "--html", scale.page], capture_output=True, text=True, check=True)
    assert again.stdout == out
    with open(scale.page, encoding="utf-8") as file:
        assert file.read() == page
    refused = subprocess.run([PROGRAM, "--compare", scale.output, scale.output], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "is not a result" in refused.stderr, refused


def test_scale_of_a_lower_bound():
    """MLRsearch ends at the maximum, which the device forwards: its throughput is at least that, and the second step has no speedup."""
    scale = Scale()
    scale.write("a.yaml", 'ports: [{name: l, device: "net_simnic0,wire=peer:net_simnic1"}, '
                '{name: r, device: "net_simnic1,wire=peer:net_simnic0"}]\ntraffic: {flows: 10}\n'
                f"rate: {{max: 10k, {ANY_LAG}}}\nthroughput: {{method: mlrsearch, goals: [{{name: ndr, trial_ms: 50, sum_ms: 50}}]}}\n")
    result, out, _errors = scale.end()
    (one,), (four,) = (step["sizes"] for step in result["steps"])
    assert one["at_least"] and one["why"] == "irregular: max_load_lower" and one["throughput_fps"] == 10000, one
    assert four["speedup"] is None and not four["at_least"] and four["why"] == "the first step's throughput is a lower bound", four
    assert re.search(r"one +1 +64 +>= 0\.010000 +- +- ", out) and ">= (a lower bound), irregular: max_load_lower: one (64)\n" in out, out


def test_scale_of_devices_that_fail():
    for more, device, said in (("", "exit 7", "the device of step 'one' ended with exit code 7"),
                               ("ready_ms: 300", "sleep 60", "was not ready within 0.3 s")):
        result, out, errors = Scale(more, device).end(1)
        assert said in errors and not result["complete"] and not result["steps"], errors
        assert "not complete: " in out, out
    scale = Scale()
    scale.write("b.yaml", "ports: []\n")
    result, _out, errors = scale.end(1)
    assert "the run of step 'four' ended with exit code 2" in errors and len(result["steps"]) == 1, errors


SHELL_DEVICE = "trap 'cp given.json report.json; exit' TERM; echo $CPUS $WORKERS $CORES $SMT $MHZ >>setups; touch ready; " \
    "sleep 60 & wait"


def test_scale_by_a_sweep():
    """One core, and setups that no machine has: they are named and left out."""
    scale = Scale()
    scale.write("plan.yaml", f"""run: a.yaml
ready: test -e {scale.folder.name}/ready
report: report.json
sweep: {{cores: [1, 1000], smt: without, mhz: [9999], device: "x"}}
""")
    result, out, _errors = scale.end()
    assert result["complete"] and [s["complete"] for s in result["steps"]] == [False, False], result["steps"]
    scale.write("plan.yaml", f"""run: a.yaml
ready: test -e {scale.folder.name}/ready
report: report.json
sweep: {{cpus: 0-1, cores: [1, 1000], smt: without, device: {json.dumps(f"cd {scale.folder.name}; {SHELL_DEVICE}")}}}
""")
    result, out, errors = scale.end()
    one, many = result["steps"]
    assert one["name"] == "1 core" and one["cpus"] == [0] and one["sizes"][0]["throughput_fps"] == 10000 and one["cpp"] == 65, one
    assert many["name"] == "1000 cores" and not many["sizes"] and "for the device" in many["why"] and many["result"] is None, many
    assert "1000 cores: this machine has" in out and "step 2 of 2: 1000 cores: left out" in errors, (out, errors)
    with open(os.path.join(scale.folder.name, "setups"), encoding="utf-8") as file:
        assert file.read() == "0 1 1 0 0\n"


def paper(scale, workloads, code=0, more="smt: without"):
    scale.write("plan.yaml", f"""name: this machine
run: a.yaml
ready: test -e {scale.folder.name}/ready
report: report.json
cpus: 0-1
cores: [1, 1000]
{more}
workloads:
{workloads}""")
    output, page = (os.path.join(scale.folder.name, f"paper.{kind}") for kind in ("json", "html"))
    done = subprocess.run([PROGRAM, "paper", os.path.join(scale.folder.name, "plan.yaml"), "--output", output, "--html", page],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    again = subprocess.run([PROGRAM, "--result", output, "--html", page], capture_output=True, text=True, check=True)
    assert again.stdout == done.stdout, again.stdout
    with open(output, encoding="utf-8") as file, open(page, encoding="utf-8") as html:
        return json.load(file), done.stdout, done.stderr, html.read()


def page_of_paper():
    scale = Scale()
    device = json.dumps(f"cd {scale.folder.name}; {SHELL_DEVICE}")
    return paper(scale, f"  - {{name: a router of turnpike, device: {device}}}\n  - {{name: another, device: {device}}}\n",
                 more="smt: both")[3]


def test_paper():
    """Three workloads: a turnpike (its report), another device, and one that fails, which does not end the others."""
    scale = Scale()
    enter = f"cd {scale.folder.name}; "
    turnpike = json.dumps(enter + SHELL_DEVICE)
    other = json.dumps(enter + "touch ready; sleep 60 & wait")
    result, out, errors, page = paper(scale, f"  - {{name: mine, device: {turnpike}}}\n  - {{name: broken, device: exit 7}}\n"
                                      f"  - {{name: other, device: {other}, run: b.yaml}}\n", 1)
    assert result["schema"] == "turnpike.throughput-paper/1" and not result["complete"], result
    assert "this machine: 1 of 6 steps failed" in result["stopped"] and "ended with exit code 7" in errors, (result["stopped"], errors)
    found = {(s["workload"], s["cores"]): s for s in result["steps"]}
    assert len(found) == 6 and found["mine", 1]["ipp"] == 90 and found["other", 1]["why"] == "no report", found
    hz = found["mine", 1]["core_hz"]
    assert hz > 1e8 and found["mine", 1]["core_hz_source"] == "the TSC's", found["mine", 1]
    lines = [line.split() for line in out.splitlines()]
    assert ["mine", "0.010", "90", "1.80", "65", f"{hz / 1e4:.0f}"] in lines, out
    assert ["other", "0.020"] + ["no", "report"] * 3 + [f"{hz / 2e4:.0f}"] in lines, out
    assert ["broken", *["n/a"] * 5] in lines and ["mine", "1.00", "n/a"] in lines and ["linear", "1.00", "1000.00"] in lines, out
    for part in ("method: section 13.4 of the paper, but ", "trials of 0.05 s, not 20", "10 flows by IP addresses, not 62500",
                 "this machine has", "no report: the device is not turnpike", "broken, 1 core: failed: "):
        assert part in out and part in page, (part, out)
    for part in ("functional rate", "Performance and efficiency of one core", "Speedup over 1 core"):
        assert part in page, part


def test_a_score_beside_the_workloads():
    """A benchmark that sends no frames, as the paper's CoreMark: relative to one core, and its speedup by cores."""
    scale = Scale()
    scale.write("plan.yaml", "cpus: 0-1\ncores: [1, 2]\nsmt: without\nworkloads:\n"
                "  - {name: marks, score: \"echo warming up; echo score: $((WORKERS * 40 + 10)) on $CPUS >&2; echo "
                "$((WORKERS * 40 + 10)).5\"}\n  - {name: silent, score: echo none}\n  - {name: ends, score: exit 4}\n")
    output = os.path.join(scale.folder.name, "paper.json")
    done = subprocess.run([PROGRAM, "paper", os.path.join(scale.folder.name, "plan.yaml"), "--output", output], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1, done
    with open(output, encoding="utf-8") as file:
        steps = json.load(file)["steps"]
    assert [s.get("score") for s in steps] == [50.5, 90.5, None, None, None, None], steps
    assert "printed is no number above 0" in steps[2]["why"] and "ended with exit code 4" in steps[4]["why"], steps
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["marks", "1.00", "x"] + ["n/a"] * 4 in lines and ["marks", "1.00", "1.79"] in lines, done.stdout


def test_commands_of_a_plan_have_no_input():
    """They would stop at the tester's terminal, or wait for a pipe that stays open."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        plan = os.path.join(folder, "plan.yaml")
        with open(plan, "w", encoding="utf-8") as file:
            file.write("cpus: 0-1\ncores: [1]\nsmt: without\nworkloads: [{name: marks, score: cat; echo 7}]\n")
        with Terminal([PROGRAM, "paper", plan]) as terminal:
            assert terminal.end(30) == 0, terminal.said
        with subprocess.Popen([PROGRAM, "paper", plan, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
            try:
                assert run.wait(timeout=30) == 0
            finally:
                run.kill()
            assert json.load(run.stdout)["steps"][0]["score"] == 7


def test_paper_without_a_pmu():
    """The report's reason is in the cells and below them."""
    scale = Scale()
    scale.write("given.json", json.dumps({"counters": {"table": None, "why": "this machine has no PMU"}, "workers": [
        {"packets": 9, "cpp": 50, "ipp": None, "ipc": None, "groups": [
            {"name": "io", "cycles_per_packet": 20}, {"name": "processing", "cycles_per_packet": 25},
            {"name": "other", "cycles_per_packet": 5}]}]}))
    device = json.dumps(f"cd {scale.folder.name}; {SHELL_DEVICE}")
    result, out, _errors, page = paper(scale, f"  - {{name: mine, device: {device}}}\n")
    lines = [line.split() for line in out.splitlines()]
    assert ["mine", "0.010", "no", "PMU", "no", "PMU", "50", f"{result['steps'][0]['core_hz'] / 1e4:.0f}"] in lines, out
    assert ["mine", "20", "25", "5"] in lines, out
    for text in (out, page):
        assert "no PMU: this machine has no PMU" in text and "no PMU" in text, text


def long_paper():
    """A plan whose first step does not end by itself; its command line and result."""
    scale = Scale()
    device = json.dumps(f"cd {scale.folder.name}; {SHELL_DEVICE}")
    scale.write("a.yaml", open(os.path.join(scale.folder.name, "a.yaml"), encoding="utf-8").read()
                .replace("trial_ms: 50", "trial_ms: 200, trials: 1000"))
    scale.write("plan.yaml", f"run: a.yaml\nready: test -e {scale.folder.name}/ready\nreport: report.json\ncpus: 0-1\ncores: [1]\n"
                f"smt: without\nworkloads: [{{name: mine, device: {device}}}, {{name: next, device: {device}}}]\n")
    output = os.path.join(scale.folder.name, "paper.json")
    return scale, [PROGRAM, "paper", os.path.join(scale.folder.name, "plan.yaml"), "--output", output], output


def check_interrupted(output):
    """The result has the first step up to the signal, and the report that its device wrote at its end."""
    with open(output, encoding="utf-8") as file:
        result = json.load(file)
    assert not result["complete"] and "stopped" in result["stopped"] and len(result["steps"]) == 1, result
    step, = result["steps"]
    assert not step["complete"] and step["cpp"] == 65, step


def test_an_interrupted_paper():
    """Started with nohup: only the second signal stops it."""
    _scale, words, output = long_paper()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as run:
        assert any("rate: " in line for line in run.stderr), "the tester of the step has started"
        run.send_signal(signal.SIGHUP)
        time.sleep(2)
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=20)
    assert run.returncode == 0, (run.returncode, errors)
    check_interrupted(output)
    assert "not complete: " in out, out


def test_a_terminal_that_hangs_up():
    """As Ctrl-C, though standard output and standard error fail from then on."""
    _scale, words, output = long_paper()
    with Terminal(words) as terminal:
        terminal.wait_for("rate: ")  # the tester of the step has started
        time.sleep(2)
        os.close(terminal.master)
        terminal.master = os.open("/dev/null", os.O_RDONLY)
        assert terminal.process.wait(timeout=20) == 1
    check_interrupted(output)


def test_files_that_cannot_be_written_are_refused_before_the_run():
    """A run takes hours: its files are checked before EAL, or a plan's first step."""
    scale = Scale()
    inside = scale.folder.name
    for kind in ((), ("scale",)):
        plan = os.path.join(inside, "plan.yaml" if kind else "a.yaml")
        for words in (("--output", "/nonexistent/x.json"), ("--html", "/nonexistent/x.html"),
                      ("--output", os.path.join(inside, "good.json"), "--html", "/nonexistent/x.html")):
            done = subprocess.run([PROGRAM, *kind, plan, *words], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 2 and "/nonexistent/x." in done.stderr and not done.stdout, (words, done)
            assert len(done.stderr.splitlines()) == 1, done.stderr
    assert sorted(os.listdir(inside)) == ["a.yaml", "b.yaml", "given.json", "plan.yaml"], os.listdir(inside)


def test_plans_that_are_refused():
    for text, why in (("workloads: []\nrun: a.yaml\n", "at least one workload"), ("run: a.yaml\n", "lacks the key 'workloads'"),
                      ("workloads: [{name: a, device: x}]\n", "lacks the key 'run'"),
                      ("run: a\ncores: [1, 1]\nworkloads: [{name: a, device: x}]\n", "is there twice"),
                      ("run: a\ncores: [0]\nworkloads: [{name: a, device: x}]\n", "from 1 to 1024"),
                      ("run: a\nsmt: maybe\nworkloads: [{name: a, device: x}]\n", "without or with or both"),
                      ("run: a\ncpus: x\nworkloads: [{name: a, device: x}]\n", "should be a list of CPUs"),
                      ("run: a\nworkloads: [{name: a, device: x}, {name: a, device: y}]\n", "is the name of another workload"),
                      ("workloads: [{name: a, score: x, run: y}]\n", "excludes score"),
                      ("run: a\nspeed: 1\nworkloads: [{name: a, device: x}]\n", "has no key 'speed'")):
        with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
            plan = os.path.join(folder, "plan.yaml")
            with open(plan, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([PROGRAM, "paper", plan], capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 2 and why in done.stderr and plan + ":" in done.stderr and not done.stdout, (text, done)


def test_a_rate_above_the_sender_s():
    size = Run("throughput: {method: rfc2544, trial_ms: 50, resolution: 20M}", rate=f"max: 1G, {ANY_LAG}").size()
    assert size["throughput"]["sender_limited"], size["throughput"]
    first = size["trials"][0]
    assert not first["counts"] and "the sender" in first["why"], first
    # Frames that the port did not accept in time are no loss.
    for t in size["trials"]:
        assert t["frames"]["lost"] == 0 and t["frames"]["received"] == t["frames"]["sent"] > 0, t


def test_frame_loss_goes_on_while_no_trial_counts():
    """No frame is lost, but each trial misses its rate: two of them are no reason to stop."""
    rows = Run("frame_loss: {trial_ms: 100}", rate=f"{MISSED_RATE}, attempts: 1").size()["frame_loss"]
    assert [row["percent"] for row in rows] == list(range(100, 0, -10)), rows
    assert not any(row["counts"] or row["loss_ratio"] for row in rows), rows


def frames_in(path):
    """The frames of a pcap file."""
    with open(path, "rb") as file:
        content = file.read()
    at, out = 24, []
    while at < len(content):
        end = at + 16 + struct.unpack_from("<I", content, at + 8)[0]
        out.append(content[at + 16:end])
        at = end
    return out


def learning_phases(procedures, more=""):
    """The number of times that the left port sent its learning frames, and of trials."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "sent.pcap")
        trials = Run(procedures, wires=(f"record:{path}", "sink"), rate=f"max: 20k, {ANY_LAG}{more}").size()["trials"]
        phases = (len(frames_in(path)) - sum(t["frames"]["sent"] for t in trials)) / FLOWS
    return round(phases), len(trials)


def test_learning_frames_precede_trials():
    """Phase b of RFC 2544 section 23: before each trial, or once the last are old enough."""
    assert learning_phases("frame_loss: {trial_ms: 50}", ", relearn_ms: 0") == (10, 10)
    assert learning_phases("frame_loss: {trial_ms: 50}") == (1, 10), "the default is 30 s"
    phases, trials = learning_phases("frame_loss: {trial_ms: 200}", ", relearn_ms: 400")
    assert 1 < phases < trials == 10, (phases, trials)


def test_learning_frames_follow_a_reset():
    assert learning_phases("reset: {rate: 10k, trial_ms: 200, after_ms: 10, repeats: 3, command: 'true'}") == (3, 3)


def test_requests_for_the_gateway_have_the_traffic_s_tag():
    """Padded with zeros. Without an answer the run ends."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "sent.pcap")
        _result, _out, errors = Run("frame_loss: {trial_ms: 50}", wires=(f"record:{path}", "sink"), traffic="flows: 50, vlan: 7",
                                    ports=(", address: 10.0.0.2, gateway: 10.0.0.1", "")).end(1)
        requests = frames_in(path)
    assert "its gateway 10.0.0.1 did not answer" in errors, errors
    assert len(requests) > 10, requests
    for request in requests:
        assert request[:6] == b"\xff" * 6 and request[12:18] == b"\x81\0\0\7\x08\x06" and len(request) == 60, request
        assert request[42:46] == bytes([10, 0, 0, 1]) and not any(request[46:]), request


def test_attempts_of_a_trial():
    """No trial counts: each load has as many as the run file permits, and the search's duration is that of them all."""
    size = Run("throughput: {method: mlrsearch, goals: [{name: ndr, trial_ms: 100}]}",
               rate=f"{MISSED_RATE}, min: 5k, attempts: 2").size()
    found, loads = size["throughput"], [t["load_fps"] for t in size["trials"]]
    assert found["goals"][0]["irregularity"] == "sender_limit" and not any(t["counts"] for t in size["trials"]), size
    assert len(set(loads)) > 10 and all(1 <= loads.count(load) <= 2 for load in loads), loads
    # Measured from the first frame to the last: longer and shorter than planned where other programs interrupt the sender.
    planned = sum(t["duration_s"] for t in size["trials"])
    assert 0.8 * planned < found["search_duration_s"] < 1.5 * planned, (found, planned)


def test_frames_of_others():
    size = Run("frame_loss: {trial_ms: 100}", wires=("gen,rate=2k,src=10.0.0.1,dst=10.1.0.1", "sink")).size()
    for t in size["trials"]:
        assert t["foreign"] > 10 and t["frames"]["received"] == 0, t
        assert t["frames"]["lost"] == t["frames"]["sent"] > 0 and t["misdirected"] == 0, t


def test_a_storm_of_others_frames():
    """As many frames of others as the tester can receive: each trial ends, and names the sender where it missed its rate."""
    run = Run("back_to_back: {repeats: 1, max_frames: 50}", wires=("gen,src=10.0.0.1,dst=10.1.0.1", "sink"))
    for t in run.size(seconds=90)["trials"]:
        assert t["frames"]["received"] == 0 and t["foreign"] > 10 * t["frames"]["sent"] > 0, t


def test_a_link_that_is_down():
    result, _out, errors = Run("frame_loss: {trial_ms: 100}", right=",flap=1-600000").end(1, 30)
    assert "port right: its link " in errors, errors
    assert result is None or (not result["complete"] and "port right: its link is down" in result["stopped"]), result


def test_a_link_that_fails_in_a_run():
    result, _out, errors = Run("throughput: {method: rfc2544, trial_ms: 400, trials: 1000}",
                               right=",flap=3000-3000").end(1, 60)
    assert "port right: its link" in errors, errors
    if result is not None:  # not where it was down at the start
        assert not result["complete"] and "its link is down" in result["stopped"], result


def test_an_interrupted_run():
    run = Run("throughput: {method: rfc2544, trial_ms: 200, trials: 1000}")
    assert run.process.stderr.readline().startswith("functional rate: ")  # EAL has started
    time.sleep(4)
    run.process.send_signal(signal.SIGINT)
    started = time.monotonic()
    result, out, _errors = run.end()
    assert time.monotonic() - started < 5
    assert not result["complete"] and "stopped" in result["stopped"], result
    assert result["sizes"][0]["trials"] and not result["sizes"][0]["throughput"]["complete"], result
    assert "not complete: " in out, out


def test_progress_on_a_terminal():
    """A line that fits the terminal, from the beginning of the first trial on; nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "run.yaml")
        with open(file, "w", encoding="utf-8") as run:
            run.write('ports: [{name: left, device: "net_simnic0,wire=peer:net_simnic1"}, {name: right, device: '
                      f'"net_simnic1,wire=peer:net_simnic0"}}]\ntraffic: {{flows: {FLOWS}}}\nrate: {{max: 1k, {ANY_LAG}}}\n'
                      "frame_loss: {trial_ms: 1500}\n")
        columns = 60
        with Terminal([PROGRAM, file], columns=columns) as terminal:
            terminal.wait_for("64: frame loss rate, trial 1: 1 kfps for 1.5 s", 30)
            assert b"trial 2" not in terminal.said, terminal.said
            assert terminal.end(60) == 0
        shown = terminal.said.decode().split("\r\x1b[K")
        lines = [line for line in shown if "trial" in line.split("\n")[0]]
        assert len(lines) > 1 and lines[1].startswith("64: frame loss rate, trial 2: 900 fps for 1.5 s; before: 1 "), lines
        assert all(len(line) < columns and "\n" not in line for line in lines), lines
        assert "trial" not in shown[-1].split("\n")[0] and shown[-2] == lines[-1], shown[-2:]


def test_run_files_that_are_refused():
    for text, place, why in (("frame_loss: {trial: 100}", ":6", "trial"), ("frame_loss: {trial_ms: soon}", ":6", "number"),
                             ("latency: {trial_ms: 100}", ":6", "it needs throughput"),
                             ("reset: {trial_ms: 100}", ":6", "it needs throughput, or its own rate"),
                             ("", ":1", "names no procedure")):
        result, out, errors = Run(text).end(2, 20)
        assert result is None and not out, (text, out)
        assert "run.yaml" + place in errors and why in errors, (text, errors)


if __name__ == "__main__":
    tap.main(globals())
