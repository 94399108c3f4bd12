#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""20,000 random frames through turnpike and through a Linux router with the same MAC addresses, IP addresses
and routes; their outputs are compared frame by frame. A difference must be of a kind that
doc/linux-differences.md explains."""
import collections
import contextlib
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import linux_differences, tap  # noqa: E402
from lib.dut import LONG  # noqa: E402
from lib.frames import checksum  # noqa: E402
from lib.hosts import Lab  # noqa: E402
from lib.linux_pair import Pair, essence, show  # noqa: E402
from lib.random_frames import NETWORK, Maker, number_of  # noqa: E402

# With more in flight, Linux's table of IPv6 neighbours overflows (gc_thresh3).
FRAMES, SEEDS = 20_000, range(1, 11) if LONG else range(1, 2)
MTU = {"west": 1700, "east": 1500}


@contextlib.contextmanager
def driven(pair, prefix, frames_of):
    """Send the frames; yields them and {side: station}, which record the output meanwhile."""
    with pair.stations(prefix) as stations:
        west = stations["west"]
        frames = frames_of(pair.router_mac(stations), west.mac)
        for at in range(0, len(frames), 250):
            west.send(frames[at:at + 250])
            west.ping("10.0.1.1")
        yield frames, stations


def heard(stations, frames):
    """{number: [(side, frame)]}, and the frames without a known number."""
    out, strange = collections.defaultdict(list), []
    for side, station in stations.items():
        for frame in station.frames:
            n = number_of(frame)
            if n is None or not 0 < n <= len(frames):
                strange.append((side, frame))
            else:
                out[n].append((side, frame))
    return out, strange


@tap.limit(600 if LONG else 120)
def test_what_comes_out_is_what_linux_sends():
    for seed in SEEDS:
        compare(seed)


def compare(seed):
    started = time.monotonic()
    with Lab() as lab:
        # The equivalent of Linux's rp_filter and send_redirects.
        pair = Pair(lab, NETWORK, MTU, west={"urpf": "strict", "send_redirects": True}, reverse_path=(1, 0))

        def frames_of(to, me):
            maker = Maker(seed, to, me)
            return [maker.frame(n) for n in range(1, FRAMES + 1)]

        with driven(pair, "t", frames_of) as (frames, ours), driven(pair, "l", lambda *_: frames) as (_, theirs):
            time.sleep(4.5)  # until the last unreachable neighbour has failed
        report = pair.turnpike.stop()
    turnpike, strange = heard(ours, frames)
    linux, linux_strange = heard(theirs, frames)
    # A few whose numbers the mutations overwrote; Linux also sends some messages by itself.
    known = [essence(*f) for f in linux_strange]
    for f in strange:
        assert essence(*f) in known, f"no sent frame matches {f[1].hex()}"
    check_own_messages(turnpike)
    kinds, unexplained = collections.Counter(), []
    for n, frame in enumerate(frames, 1):
        ours = sorted(map(repr, (essence(*f) for f in turnpike[n])))
        theirs = sorted(map(repr, (essence(*f) for f in linux[n])))
        if ours == theirs:
            kinds["same, " + ("nothing" if not ours else "something")] += 1
            continue
        kind = linux_differences.kind_of(frame, turnpike[n], linux[n])
        kinds[kind or "unexplained"] += 1
        if kind is None:
            unexplained.append(f"{n} {frame.hex()}\n    turnpike {show(turnpike[n])}\n    linux    {show(linux[n])}")
    for kind, count in sorted(kinds.items()):
        print(f"# {count:6} {kind}")
    print(f"# {time.monotonic() - started:.0f} s, drops: { {k: v for k, v in report['drops'].items() if v} }")
    assert not unexplained, f"{len(unexplained)} differences:\n" + "\n".join(unexplained[:25])
    assert kinds["same, something"] > FRAMES / 4, kinds
    redirects = {who: sum(bool(linux_differences.redirects_of(out[n])) for n in range(1, FRAMES + 1))
                 for who, out in (("turnpike", turnpike), ("linux", linux))}
    assert min(redirects.values()) > 0, redirects
    assert report["drops"]["ipv4_source_routed"] > FRAMES / 1000
    assert report["drops"]["urpf"] > FRAMES / 100, report["drops"]


def check_own_messages(out):
    """IPv4 header checksums are right in all frames from turnpike."""
    for frames in out.values():
        for _side, f in frames:
            if f[12:14] == b"\x08\0":
                assert checksum(f[14:14 + (f[14] & 15) * 4]) == 0, f.hex()
                assert struct.unpack("!H", f[16:18])[0] == len(f) - 14, f.hex()


def test_the_document_has_every_kind():
    rows = linux_differences.documented("Routing")
    assert rows == list(linux_differences.KINDS), (rows, list(linux_differences.KINDS))


if __name__ == "__main__":
    tap.main(globals())
