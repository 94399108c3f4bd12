# SPDX-License-Identifier: BSD-3-Clause
"""A host that is only a raw socket: it has the given addresses, answers ARP and neighbour
discovery for them, records every other frame, and sends the given bytes. Unlike a kernel it sends nothing
by itself, so that counters can be compared exactly.

    with Station(west, "eth0", ["10.0.1.2", "2001:db8:1::2"]) as station:
        station.introduce("10.0.1.1")
        station.send(frames)
        station.ping("10.0.1.1")      # all earlier frames are processed
        station.frames
"""
import select
import socket
import struct
import threading
import time

from lib.frames import (ARP, BROADCAST, ICMP, ICMPV6, IPV4, IPV6, advertisement, arp, ethernet, icmp4, icmp6,
                        ipv4, ipv6, mac, solicitation, v4, v6)
from lib.hosts import SOL_PACKET, wait_until

SO_RCVBUFFORCE, PACKET_IGNORE_OUTGOING = 33, 23
EAGAIN, ENOBUFS = 11, 105
PING = b"station ping "


class Station:
    def __init__(self, host, interface, addresses, address=None):
        """addresses: the first of each family is the source address."""
        self.mac = mac(host.mac(interface) if address is None else address)
        self.addresses = list(addresses)
        self.own = {v6(a) if ":" in a else v4(a) for a in self.addresses}
        self.frames = []
        self.macs = {}  # MAC addresses by sender of replies
        self.answers = 0  # number of replies sent
        self.silent = False  # true: send no replies
        self._socket = host.raw(interface)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self._socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self._socket.setblocking(False)
        self.pings = 0
        self._pongs = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._socket.close()

    def _listen(self):
        while not self._end.is_set():
            select.select([self._socket], [], [], 0.05)
            while not self._end.is_set():
                try:
                    frame = self._socket.recv(65536)
                except OSError:  # no more frames; or the link went down
                    break
                if not self._take(frame):
                    self.frames.append(frame)

    def _take(self, frame):
        """True for neighbour discovery, membership reports, and replies to ping()."""
        if frame[:6] == b"\x33\x33\0\0\0\x16":
            return True
        if frame[12:14] == b"\x08\x06":
            self.macs[frame[28:32]] = frame[22:28]
            if frame[20:22] == b"\0\1" and frame[38:42] in self.own and frame[28:32] != frame[38:42]:
                self._answer(ethernet(frame[22:28], self.mac, ARP,
                                      arp(2, self.mac, frame[38:42], frame[22:28], frame[28:32])))
            return True
        if frame[12:14] == b"\x86\xdd" and frame[20:21] == bytes((ICMPV6,)) and frame[54:55] in (b"\x87", b"\x88"):
            if frame[54] == 136:
                self.macs[frame[62:78]] = frame[6:12]
            elif frame[62:78] in self.own:
                self._answer(advertisement(self.mac, frame[62:78], frame[6:12], frame[22:38]))
            return True
        at = frame.find(PING, 14, 80)
        if at >= 22 and frame[at - 8] in (0, 129):
            self._pongs.add(frame[at:at + len(PING) + 4])
            return True
        return False

    def _answer(self, frame):
        if not self.silent:
            self.answers += 1
            self.send([frame])

    def send(self, frames):
        for frame in frames:
            end = time.monotonic() + 2
            while True:
                try:
                    self._socket.send(frame)
                    break
                except OSError as why:
                    if why.errno not in (EAGAIN, ENOBUFS) or time.monotonic() > end:
                        raise AssertionError(f"the link does not take {len(frame)} bytes {frame.hex()}") from why
                    time.sleep(0.001)

    def _source(self, other):
        return next(a for a in self.addresses if (":" in a) == (":" in other))

    def introduce(self, router):
        """Resolve the router's MAC address, which also learns ours; returns it."""
        source = self._source(router)
        if ":" in router:
            key, frame = v6(router), solicitation(self.mac, source, router)
        else:
            key = v4(router)
            frame = ethernet(BROADCAST, self.mac, ARP, arp(1, self.mac, source, bytes(6), router))
        self.macs.pop(key, None)
        self.send([frame])
        wait_until(lambda: key in self.macs, f"{router} answers")
        return self.macs[key]

    def ping(self, router, seconds=20):
        """Echo request to the router: its reply shows that all earlier frames were processed."""
        key = v6(router) if ":" in router else v4(router)
        source = self._source(router)
        self.pings += 1
        mark = PING + b"%04d" % (self.pings % 10000)
        rest = struct.pack("!HH", 4242, self.pings & 0xFFFF) + mark
        if ":" in router:
            packet = ipv6(source, router, icmp6(source, router, 128, 0, rest), ICMPV6)
        else:
            packet = ipv4(source, router, icmp4(8, 0, rest), ICMP)
        kind = IPV6 if ":" in router else IPV4
        self.send([ethernet(self.macs[key], self.mac, kind, packet)])
        wait_until(lambda: mark in self._pongs, f"{router} answers an echo request", seconds)
