# SPDX-License-Identifier: BSD-3-Clause
"""Switches side by side: the same frames enter the same ports of each, and a number in the payload identifies the
output frames of each port.

    wires = Wires(lab, "ours", switch_host, 6)     # cables to p0..p5 of switch_host
    out = wires.exchange([(0, frame), (3, other)], sentinels)     # {number: [(port, frame)]}
"""
import collections
import select
import socket
import struct
import time

from lib.frames import ethernet, mac, tag
from lib.hosts import SOL_PACKET, with_tag
from lib.station import EAGAIN, ENOBUFS, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE

MARK, SENTINEL = b"\xf0TPK", b"\xf0END"
TEST_TYPE = 0x88B5  # IEEE 802 local experimental EtherType
EVERYBODY = b"\xff" * 6
RUNTS = mac("02:00:00:02")


def station(n):
    return mac(f"02:00:00:00:{n >> 8:02x}:{n & 255:02x}")


def numbered(n, to, source, tags=(), size=60, kind=TEST_TYPE):
    """A frame with number n; tags: (TPID, TCI), the outer tag first; size: without the tags."""
    rest = MARK + struct.pack("!I", n)
    rest += bytes(max(0, size - 14 - len(rest)))
    for tag_type, tci in reversed(tags):
        rest = tag(tci, kind, rest)
        kind = tag_type
    return ethernet(to, source, kind, rest)


def runt(n, to, kind, size):
    """A frame too short for a number in its payload: its source address is its number."""
    return ethernet(to, RUNTS + struct.pack("!H", n), kind, bytes(size - 14))


def number_of(frame):
    """None: the frame has no number."""
    if frame[6:10] == RUNTS:
        return struct.unpack("!H", frame[10:12])[0]
    at = frame.find(MARK, 12)
    return struct.unpack("!I", frame[at + 4:at + 8])[0] if 0 < at <= len(frame) - 8 else None


class Wires:
    """The far ends of cables to ports p0, p1, ... of a switch: raw sockets that send nothing by themselves."""

    def __init__(self, lab, name, switch, mtus):
        self.far = lab.host(name, True)
        self.sockets = []
        for port, mtu in enumerate(mtus):
            lab.cable(self.far, f"h{port}", switch, f"p{port}", mtu)
            s = self.far.raw(f"h{port}")
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            s.setblocking(False)
            lab.cleanups.append(s.close)
            self.sockets.append(s)
        self.rounds = 0

    def send(self, port, frame):
        end = time.monotonic() + 2
        while True:
            try:
                self.sockets[port].send(frame)
                return
            except OSError as why:
                if why.errno not in (EAGAIN, ENOBUFS) or time.monotonic() > end:
                    raise AssertionError(f"port {port} does not take {len(frame)} bytes {frame[:40].hex()}") from why
                time.sleep(0.001)

    def exchange(self, frames, sentinels, seconds=10):
        """Send [(port, frame)], then the sentinels [(port, headers, ports)], each of which must arrive at all of `ports`: by then
        all earlier frames of its port have arrived, too. Returns {number: [(port, frame)]}."""
        self.rounds += 1
        for port, frame in frames:
            self.send(port, frame)
        missing = set()
        for port, head, out_of in sentinels:
            self.send(port, head + SENTINEL + struct.pack("!IB", self.rounds, port) + bytes(40))
            missing |= {(port, out) for out in out_of}
        out, end = collections.defaultdict(list), time.monotonic() + seconds
        while True:
            ready = select.select(self.sockets, [], [], 0.02 if not missing else 0.2)[0]
            if not ready and not missing:
                return out
            assert time.monotonic() < end, f"{self.far.name}: sentinels (from, to) that never came: {sorted(missing)}"
            for s in ready:
                self._drain(s, out, missing)

    def _drain(self, s, out, missing):
        port = self.sockets.index(s)
        while True:
            try:
                frame = with_tag(*s.recvmsg(4096, 64)[:2])
            except BlockingIOError:
                return
            at = frame.find(SENTINEL, 12)
            if at > 0:
                sent_round, sender = struct.unpack("!IB", frame[at + 4:at + 9])
                if sent_round == self.rounds:
                    missing.discard((sender, port))
            elif (n := number_of(frame)) is not None:
                out[n].append((port, frame))


def compare(frames, ours, theirs, kind_of, counts):
    """frames: {number: (port, frame)}. Counts equal results and differences by kind; returns
    differences of unknown kind, as text."""
    unexplained = []
    for n, (port, frame) in frames.items():
        us, them = sorted(ours.get(n, [])), sorted(theirs.get(n, []))
        if us == them:
            counts["same, " + ("nothing" if not us else "something")] += 1
            continue
        kind = kind_of(port, frame, us, them)
        counts[kind or "unexplained"] += 1
        if kind is None:
            unexplained.append(f"{n} into p{port} {frame[:60].hex()}... ({len(frame)})\n    turnpike {show(us)}\n"
                               f"    peer     {show(them)}")
    return unexplained


def show(frames):
    return [(f"p{port}", frame[:30].hex(), len(frame)) for port, frame in frames] or "nothing"
