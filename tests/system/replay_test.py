#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/replay: captures of every format through turnpike and through Linux; and it finds a difference that there is."""
import collections
import importlib.machinery
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import linux_differences, pcap_files, tap  # noqa: E402
from lib.dut import BUILD  # noqa: E402
from lib.frames import ethernet, ipv4, ipv6, udp  # noqa: E402
from lib.linux_pair import essence, show  # noqa: E402
from lib.random_frames import Maker  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../devtools/replay")
ROUTER, HOST = b"\2\0\0\0\1\1", b"\2\0\0\0\2\1"
PACKETS = {4: ipv4("192.0.2.1", "203.0.113.9", udp(b"four")), 6: ipv6("2001:db8::1", "2001:db8:ffff::9", udp(b"six"), 17)}


def replay(*paths, code=0):
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        result = os.path.join(folder, "result.json")
        done = subprocess.run([sys.executable, PROGRAM, *paths, "--build", BUILD, "--json", result], capture_output=True,
                              text=True, timeout=100, check=False)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        if not os.path.exists(result):
            return None, done
        with open(result, encoding="utf-8") as file:
            return json.load(file), done


def write_other_links(path, order):
    """IP packets behind the headers of other link types, in a pcapng of one section with an interface for each."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

    heads = {101: b"", 113: bytes(14) + b"\x08\0", 276: b"\x08\0" + bytes(18), 0: struct.pack("<I", 2), 105: b""}
    data = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    for link in heads:
        data += block(1, struct.pack(order + "HHI", link, 0, 0))
    for number, head in enumerate(heads.values()):
        frame = head + PACKETS[4]
        data += block(6, struct.pack(order + "IIIII", number, 0, 0, len(frame), len(frame)) + frame)
    with open(path, "wb") as file:
        file.write(data)


def test_captures_of_every_format():
    with tempfile.TemporaryDirectory(prefix="turnpike-captures-") as folder:
        maker = Maker(7, ROUTER, HOST)
        pcap_files.write(os.path.join(folder, "random.pcap"), [maker.frame(n) for n in range(1, 301)])
        os.mkdir(os.path.join(folder, "more"))
        write_other_links(os.path.join(folder, "more/little.pcapng"), "<")
        write_other_links(os.path.join(folder, "more/big.pcapng"), ">")
        whole = os.path.join(folder, "cut.pcap")
        pcap_files.write(whole, [ethernet(ROUTER, HOST, 0x86DD, PACKETS[6])] * 3)
        with open(whole, "r+b") as file:
            file.truncate(os.path.getsize(whole) - 5)
        with open(os.path.join(folder, "none.cap"), "wb") as file:
            file.write(b"not a capture at all, but long enough")
        result, done = replay(folder)
    assert result["files"] == 5 and result["frames"] == 300 + 2 * 4 + 2, result
    assert result["skipped"] == {"damaged files": 2, "frames of other link types, or shorter than 14 bytes": 2}, result
    assert "cut.pcap: a record of" in done.stderr and "none.cap: neither" in done.stderr, done.stderr
    assert result["unexplained"] == [] and sum(result["results"].values()) == 2 * 302 + 8, result
    assert result["came_out"] > 300 and result["drops"], result


def module():
    loader = importlib.machinery.SourceFileLoader("replay", PROGRAM)
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader("replay", loader))
    loader.exec_module(loaded)
    for name, value in (("linux_differences", linux_differences), ("essence", essence), ("show", show), ("pcap_files", pcap_files)):
        setattr(loaded, name, value)
    return loaded


def test_a_difference_is_found():
    """A router that forwards what the other one loses, or another byte, with no documented kind."""
    r = module()
    r.ours_of(r.NETWORK)
    sent = [("re-addressed", ethernet(ROUTER, HOST, 0x0800, PACKETS[4])), ("re-addressed", ethernet(ROUTER, HOST, 0x86DD, PACKETS[6]))]
    changed = sent[0][1][:-1] + b"x"
    for outputs in (lambda frames: ([("east", f) for f in frames], [("east", f) for f in frames if f != sent[1][1]]),
                    lambda frames: ([("east", f) for f in frames], [("east", changed if f == sent[0][1] else f) for f in frames]),
                    lambda frames: ([("west", f) for f in frames], [("east", f) for f in frames])):
        one = r.Replay.__new__(r.Replay)
        one.kinds, one.unexplained, one.came_out, one._outputs = collections.Counter(), [], 0, outputs
        one.compare("here.pcap", sent)
        assert one.unexplained and one.kinds["unexplained"] == len(one.unexplained), (one.kinds, one.unexplained)


def test_wrong_arguments():
    _result, done = replay("/nowhere", code=1)
    assert "there is no /nowhere" in done.stderr, done.stderr
    with tempfile.TemporaryDirectory(prefix="turnpike-captures-") as folder:
        _result, done = replay(folder, code=1)
        assert "no frame was sent" in done.stderr, done.stderr


if __name__ == "__main__":
    tap.main(globals())
