# SPDX-License-Identifier: BSD-3-Clause
"""A host at a NIC of the guest: it answers for its addresses and computes the frames that a router must send for its
packets."""
import struct
import time

from lib import frames


class Host:
    """Number N of net N, 10.0.N.2 and 2001:db8:N::2; the router is .1 and ::1 there."""

    def __init__(self, nic, number, vlan=None):
        self.cable, self.vlan = nic.cable, vlan
        self.mac = bytes((2, 0xBB, 0, 0, 0, number))
        self.router_mac = frames.mac(nic.mac)
        self.v4, self.router_v4 = f"10.0.{number}.2", f"10.0.{number}.1"
        self.v6, self.router_v6 = f"2001:db8:{number}::2", f"2001:db8:{number}::1"

    def send(self, kind, packet, to=None):
        to = self.router_mac if to is None else to
        if self.vlan is not None:
            kind, packet = frames.VLAN, frames.tag(self.vlan, kind, packet)
        self.cable.send([frames.ethernet(to, self.mac, kind, packet)])

    def _send_frame(self, frame):
        self.send(struct.unpack_from("!H", frame, 12)[0], frame[14:], to=frame[:6])

    def receive(self, wanted, what, seconds=15):
        """The first packet that is wanted(kind, packet), without its Ethernet header; questions for our addresses are
        answered meanwhile."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for frame in self.cable.receive(1, deadline - time.monotonic()):
                kind, packet = struct.unpack_from("!H", frame, 12)[0], frame[14:]
                if self.vlan is not None:
                    if kind != frames.VLAN or struct.unpack_from("!H", packet)[0] & 0xFFF != self.vlan:
                        continue
                    kind, packet = struct.unpack_from("!H", packet, 2)[0], packet[4:]
                if wanted(kind, packet):
                    assert frame[6:12] == self.router_mac, frame.hex()
                    assert frame[:6] == self.mac, frame.hex()
                    return packet
                self._answer(kind, packet)
        raise AssertionError(f"{self.v4} at {self.cable} heard no {what}")

    def _answer(self, kind, packet):
        if kind == frames.ARP and packet[6:8] == b"\0\1" and packet[24:28] == frames.v4(self.v4):
            self.send(frames.ARP, frames.arp(2, self.mac, self.v4, packet[8:14], packet[14:18]))
        if kind == frames.IPV6 and packet[6] == frames.ICMPV6 and packet[40] == 135 and packet[48:64] == frames.v6(self.v6):
            self._send_frame(frames.advertisement(self.mac, self.v6, self.router_mac, packet[8:24]))

    def finds_router(self):
        """By broadcast and by multicast, as hosts do: the NIC must let both in."""
        self.send(frames.ARP, frames.arp(1, self.mac, self.v4, bytes(6), self.router_v4), frames.BROADCAST)
        said = self.receive(lambda kind, packet: kind == frames.ARP and packet[6:8] == b"\0\2", "ARP reply")
        assert said[8:14] == self.router_mac, said.hex()
        self._send_frame(frames.solicitation(self.mac, self.v6, self.router_v6))
        solicited = 0x40
        said = self.receive(lambda kind, packet: kind == frames.IPV6 and packet[40] == 136 and packet[44] & solicited,
                         "neighbour advertisement")
        assert said[48:64] == frames.v6(self.router_v6), said.hex()

    def pings(self):
        """The router itself."""
        self.finds_router()
        self.send(frames.IPV4, frames.ipv4(self.v4, self.router_v4, frames.icmp4(8, 0, b"\0\7\0\1" + bytes(40)), frames.ICMP))
        reply = self.receive(lambda kind, packet: kind == frames.IPV4 and packet[9] == frames.ICMP, "echo reply")
        assert reply[20] == 0 and reply[12:16] == frames.v4(self.router_v4), reply.hex()

    def sends_to(self, other, lengths=(18, 100, 1472)):
        """Sends through the router, both families; returns the number of packets. Received packets are compared byte
        for byte."""
        for length in lengths:
            body = frames.udp(bytes(n % 251 for n in range(length)))
            self._sends_v4(other, body)
            self._sends_v6(other, body[:-20] if length == 1472 else body)
        return 2 * len(lengths)

    def _sends_v4(self, other, body):
        packet = frames.ipv4(self.v4, other.v4, body, ttl=7)
        self.send(frames.IPV4, packet)
        got = other.receive(lambda kind, _: kind == frames.IPV4, f"IPv4 packet of {self.v4}")
        expected = frames.ipv4(self.v4, other.v4, body, ttl=6)
        assert got[:len(expected)] == expected, f"{got.hex()} is not {expected.hex()}"

    def _sends_v6(self, other, body):
        packet = frames.ipv6(self.v6, other.v6, body, hops=7)
        self.send(frames.IPV6, packet)
        got = other.receive(lambda kind, p: kind == frames.IPV6 and p[6] == frames.UDP, f"IPv6 packet of {self.v6}")
        expected = frames.ipv6(self.v6, other.v6, body, hops=6)
        assert got[:len(expected)] == expected, f"{got.hex()} is not {expected.hex()}"
