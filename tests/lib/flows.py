# SPDX-License-Identifier: BSD-3-Clause
"""Flows of numbered datagrams between hosts: time sent and egress host of each, from which follow losses, their
duration, and flows that changed their path."""
import collections
import select
import socket
import struct
import threading
import time

from lib.frames import IPV4, UDP, ethernet, ipv4, mac, udp

BURST, PAUSE_S = 8, 0.001
SO_RCVBUFFORCE = 33


def lost_datagrams(client, server, address, count=2000, size=1200, window=32):
    """Numbered UDP datagrams from one host's kernel to another's, at most `window` in flight: no ring overflows
    however late a worker is, so a datagram that does not arrive within 5 s is lost. Returns the numbers of lost datagrams."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with server.inside():
        receiver = socket.socket(family, socket.SOCK_DGRAM)
    with client.inside():
        sender = socket.socket(family, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.bind((address, 0))
        sender.connect(receiver.getsockname()[:2])
        payload, under_way, sent = bytes(range(256)) * (size // 256 + 1), set(), 0
        while sent < count or under_way:
            while sent < count and len(under_way) < window:
                under_way.add(sent)
                sender.send(struct.pack("!I", sent) + payload[4:size])
                sent += 1
            if not select.select([receiver], [], [], 5)[0]:
                break
            datagram = receiver.recv(size + 1)
            assert datagram[4:] == payload[4:size], "a datagram is not as it was sent"
            under_way.remove(struct.unpack("!I", datagram[:4])[0])  # KeyError: received twice
        return sorted(under_way)


class Counting:
    """The datagrams received by a host: [(flow, number)]."""

    def __init__(self, host, interface="eth0"):
        self.socket = host.raw(interface)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.socket.setblocking(False)
        self.seen = []

    def arrived(self):
        while True:
            try:
                frame = self.socket.recv(2048)
            except BlockingIOError:
                return self.seen
            except OSError:  # the link went down; datagrams received before are complete
                continue
            if frame[12:14] == b"\x08\0" and frame[23] == UDP and frame[42:46] == b"flow":
                self.seen.append(struct.unpack("!II", frame[46:54]))


class Traffic:
    """Numbered datagrams of several flows, a burst each millisecond, with their times."""

    def __init__(self, host, to, flows):
        """to: the router's MAC address; flows: source and destination of each; its UDP port is its number."""
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
    """{flow: receiving host of each of its packets, in the order of their numbers}, from {where: [(flow, number)]}."""
    ways = collections.defaultdict(list)
    for name, packets in seen.items():
        for flow, number in packets:
            ways[flow].append((number, name))
    return {flow: [name for _, name in sorted(packets)] for flow, packets in ways.items()}


def lost_of(sent, seen, since):
    """Numbers of packets sent from then on, or just before, that were received nowhere. Earlier losses are due to a busy
    machine, and no concern of the test."""
    came = {number for packets in seen.values() for _, number in packets}
    return [number for number, at in enumerate(sent) if at > since - 0.05 and number not in came]
