# SPDX-License-Identifier: BSD-3-Clause
"""Flows of numbered datagrams between hosts without kernels: what was sent when, what came out where, and so what was
lost, for how long, and whose way changed."""
import collections
import socket
import struct
import threading
import time

from lib.frames import IPV4, UDP, ethernet, ipv4, mac, udp

BURST, PAUSE_S = 8, 0.001
SO_RCVBUFFORCE = 33


class Counting:
    """What comes out at a host: [(flow, number)]."""

    def __init__(self, host, interface="eth0"):
        self.socket = host.raw(interface)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.socket.setblocking(False)
        self.seen = []

    def take(self):
        while True:
            try:
                frame = self.socket.recv(2048)
            except BlockingIOError:
                return self.seen
            except OSError:  # the link went down; what came before is there
                continue
            if frame[12:14] == b"\x08\0" and frame[23] == UDP and frame[42:46] == b"flow":
                self.seen.append(struct.unpack("!II", frame[46:54]))


class Traffic:
    """Numbered datagrams of some flows, a burst each millisecond; when each was sent."""

    def __init__(self, host, to, flows):
        """to: the router's MAC address; flows: source and destination of each, its port is its number."""
        self.sent, self.socket, me = [], host.raw("eth0"), mac(host.mac("eth0"))
        self.frames = [bytearray(ethernet(to, me, IPV4, ipv4(a, b, udp(b"flow" + bytes(8), 10_000 + n))))
                       for n, (a, b) in enumerate(flows)]
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.end.is_set():
            for _ in range(BURST):
                number = len(self.sent)
                flow = number % len(self.frames)
                frame = self.frames[flow]
                frame[46:54] = struct.pack("!II", flow, number)
                self.sent.append(time.monotonic())
                self.socket.send(frame)
            time.sleep(PAUSE_S)

    def stop(self):
        self.end.set()
        self.thread.join()
        return self.sent


def by_flow(seen):
    """{flow: where each of its packets came out, in the order of their numbers}, of {where: [(flow, number)]}."""
    ways = collections.defaultdict(list)
    for name, packets in seen.items():
        for flow, number in packets:
            ways[flow].append((number, name))
    return {flow: [name for _, name in sorted(packets)] for flow, packets in ways.items()}


def lost_of(sent, seen, since):
    """The numbers of packets that were sent from then on, or just before, and came out nowhere. What a busy machine lost
    before is not what a test is about."""
    came = {number for packets in seen.values() for _, number in packets}
    return [number for number, at in enumerate(sent) if at > since - 0.05 and number not in came]
