# SPDX-License-Identifier: BSD-3-Clause
"""Random frames for a router, valid and invalid, each with a number that identifies its results: in the
payload, in the IPv4 identification or IPv6 flow label, and in the source port.

They are made for the network of NETWORK: hosts west and east, a router between them.
"""
import random
import struct

from lib.frames import (BROADCAST, DESTINATION, FRAGMENT, HOP_BY_HOP, ICMP, ICMPV6, IPV4, IPV6, ROUTING, TCP,
                        UDP, VLAN, checksum, ethernet, extension, fragment6, icmp4, icmp6, ipv4, ipv6, routing,
                        tag, tcp, udp, v4, v6)

NETWORK = {
    "ports": {"west": ["10.0.1.1/24", "2001:db8:1::1/64"], "east": ["10.0.2.1/24", "2001:db8:2::1/64"]},
    "hosts": {"west": ["10.0.1.2", "2001:db8:1::2", "10.0.1.77", "2001:db8:1::77"],
              "east": ["10.0.2.2", "2001:db8:2::2", "10.0.2.3", "2001:db8:2::3"]},
    "routes": [{"to": "10.9.0.0/16", "via": "10.0.2.2"}, {"to": "10.50.0.0/16", "via": "10.0.1.2"},
               {"to": "10.9.7.0/24", "via": "10.0.2.3"},
               {"to": "192.0.2.0/24", "type": "blackhole"}, {"to": "198.51.100.0/24", "type": "unreachable"},
               {"to": "2001:db8:9::/48", "via": "2001:db8:2::2"}, {"to": "2001:db8:50::/48", "via": "2001:db8:1::2"},
               {"to": "2001:db8:9:7::/64", "via": "2001:db8:2::3"},
               {"to": "10.9.128.0/17", "via": "10.0.2.2", "mtu": 300},
               {"to": "2001:db8:9:8000::/49", "via": "2001:db8:2::2", "mtu": 1300},
               {"to": "2001:db8:b::/48", "type": "blackhole"}, {"to": "2001:db8:c::/48", "type": "unreachable"}],
}
# Loose and strict source routes, one of them used up; record route, timestamp, router alert; none, and a wrong length.
OPTIONS4 = [b"\x83\7\4\n\0\2\3\0", b"\x89\7\4\n\0\2\3\0", b"\1\x83\7\x08\n\0\2\3", b"\7\7\4\0\0\0\0\0",
            b"\x44\x08\5\0\0\0\0\0", b"\x94\4\0\0", b"\1\1\1\0", b"\7\0\4\0"]
MARK = b"\xf0TPK"
# (weight, address): "*" is a random number.
TO4 = [(30, "10.0.2.2"), (10, "10.0.2.3"), (25, "10.9.*.*"), (5, "10.9.7.*"), (3, "10.0.2.*"), (3, "10.0.1.77"),
       (3, "10.50.1.*"), (4, "10.0.1.1"), (3, "10.0.2.1"), (3, "192.0.2.*"), (3, "198.51.100.*"), (3, "203.0.113.*"),
       (1, "10.0.2.255"), (1, "10.0.2.0"), (1, "10.0.1.255"), (1, "255.255.255.255"), (1, "224.0.0.5"),
       (1, "239.1.2.*"),
       (1, "127.0.0.1"), (1, "0.0.0.0"), (1, "0.1.2.3"), (1, "169.254.1.1"), (1, "240.0.0.*"), (2, "*.*.*.*")]
# Not behind west: 10.0.2.2, 10.9/16, 2001:db8:9::/48; without a route: 203.0.113/24, 2001:db9::/32.
FROM4 = [(60, "10.0.1.2"), (20, "10.50.*.*"), (5, "10.0.1.77"), (1, "10.0.2.2"), (1, "10.9.7.*"), (1, "203.0.113.*"), (1, "10.0.1.1"), (1, "10.0.2.1"),
         (1, "10.0.1.255"), (1, "10.0.1.0"), (1, "10.0.2.255"), (1, "127.0.0.1"), (1, "0.0.0.0"), (1, "0.1.2.3"),
         (1, "224.0.0.1"), (1, "255.255.255.255"), (1, "240.0.0.1"), (1, "169.254.1.1")]
TO6 = [(30, "2001:db8:2::2"), (10, "2001:db8:2::3"), (25, "2001:db8:9:*::*"), (5, "2001:db8:9:7::*"),
       (3, "2001:db8:2::*"),
       (3, "2001:db8:1::77"), (3, "2001:db8:50::*"), (4, "2001:db8:1::1"), (3, "2001:db8:2::1"), (3, "2001:db8:b::*"),
       (3, "2001:db8:c::*"), (3, "2001:db9::*"), (1, "ff02::1:2"), (1, "ff05::*"), (1, "ff0e::*"), (1, "::1"),
       (1, "::"), (1, "::ffff:10.0.2.2"), (1, "fe80::*"), (1, "fec0::*"), (1, "2001:db8:2::"), (2, "*:*:*:*:*:*:*:*")]
FROM6 = [(60, "2001:db8:1::2"), (20, "2001:db8:50::*"), (5, "2001:db8:1::77"), (1, "2001:db8:2::2"),
         (1, "2001:db8:9:*::*"), (1, "2001:db9::*"),
         (1, "2001:db8:1::1"), (1, "2001:db8:2::1"), (1, "::1"), (1, "::"), (1, "ff02::1"), (1, "ff0e::1"),
         (1, "fe80::*"), (1, "::ffff:10.0.1.2"), (1, "fec0::1")]


class Maker:
    def __init__(self, seed, router_mac, sender_mac):
        self.random = random.Random(seed)
        self.to, self.me = router_mac, sender_mac

    def address(self, choices, family):
        r = self.random
        text = r.choices([a for _, a in choices], [w for w, _ in choices])[0]
        while "*" in text:
            text = text.replace("*", f"{r.randrange(65536):x}" if family == 6 else str(r.randrange(256)), 1)
        return v6(text) if family == 6 else v4(text)

    def payload(self, n):
        size = self.random.choices((0, 30, 400, 1550), (5, 80, 10, 5))[0]
        return MARK + struct.pack("!I", n) + bytes(self.random.randrange(size + 1))

    def ttl(self):
        return self.random.choices((0, 1, 2, 64, 255), (1, 4, 4, 85, 6))[0]

    def upper(self, n, source, to, family):
        """(protocol, bytes) of the IP payload."""
        data, port = self.payload(n), 10000 + n
        echo = struct.pack("!HH", port, n & 0xFFFF) + data
        kinds = [(50, lambda: (UDP, udp(data, port))), (15, lambda: (TCP, tcp(data, port))),
                 (8, lambda: (47, data)), (4, lambda: (50, data)), (3, lambda: (132, udp(data, port)))]
        if family == 4:
            quoted = bytes(4) + ipv4(to, source, data)
            kinds += [(15, lambda: (ICMP, icmp4(8, 0, echo))), (3, lambda: (ICMP, icmp4(3, 1, quoted))),
                      (2, lambda: (ICMP, icmp4(8, 0, echo, check=0xBEEF))), (2, lambda: (ICMP, icmp4(0, 0, echo))),
                      (1, lambda: (0, data))]
        else:
            quoted = bytes(4) + ipv6(to, source, data)
            kinds += [(15, lambda: (ICMPV6, icmp6(source, to, 128, 0, echo))),
                      (3, lambda: (ICMPV6, icmp6(source, to, 1, 0, quoted))),
                      (2, lambda: (ICMPV6, icmp6(source, to, 128, 0, echo, check=0xBEEF))),
                      (2, lambda: (ICMPV6, icmp6(source, to, 129, 0, echo))), (1, lambda: (59, data))]
        return self.random.choices([k for _, k in kinds], [w for w, _ in kinds])[0]()

    def packet4(self, n):
        source, to = self.address(FROM4, 4), self.address(TO4, 4)
        protocol, rest = self.upper(n, source, to, 4)
        fragment = self.random.choices((0, 0x4000, 0x2000, 0x0010, 0x2010, 0x1FFE), (50, 39, 3, 3, 3, 1))[0]
        options = self.random.choices((b"", *OPTIONS4), (96, *[4 / len(OPTIONS4)] * len(OPTIONS4)))[0]
        return IPV4, ipv4(source, to, rest, protocol, self.ttl(), ident=n, fragment=fragment,
                          tos=self.random.choice((0, 0, 0, 0xB8)), options=options)

    def packet6(self, n):
        source, to = self.address(FROM6, 6), self.address(TO6, 6)
        protocol, rest = self.upper(n, source, to, 6)
        for _ in range(self.random.choices((0, 1, 2), (85, 12, 3))[0]):
            kind = self.random.choice((DESTINATION, DESTINATION, ROUTING, FRAGMENT, HOP_BY_HOP))
            wrap = {DESTINATION: lambda p, r: extension(p, self.random.randrange(3), r),
                    HOP_BY_HOP: lambda p, r: extension(p, 0, r),
                    ROUTING: lambda p, r: routing(p, self.random.choice((0, 4)), self.random.randrange(2), r),
                    FRAGMENT: lambda p, r: fragment6(p, self.random.choice((0, 1, 0x10, 0x11)), r)}
            protocol, rest = kind, wrap[kind](protocol, rest)
        return IPV6, ipv6(source, to, rest, protocol, self.ttl(), flow=n)

    def mutate(self, kind, packet):
        """Introduce one error into a packet."""
        r, packet = self.random, bytearray(packet)
        header = 20 if kind == IPV4 else 40
        choice = r.randrange(6)
        if choice == 0:
            packet[r.randrange(header)] ^= 1 << r.randrange(8)
        elif choice == 1:
            packet[r.randrange(header)] = r.randrange(256)
        elif choice == 2:  # also with a valid checksum
            packet[r.choice((0, 1, 2, 3, 6, 7, 8, 9)) if kind == IPV4 else r.randrange(8)] = r.randrange(256)
            if kind == IPV4:
                packet[10:12] = bytes(2)
                ihl = min(max(20, (packet[0] & 15) * 4), len(packet))
                packet[10:12] = struct.pack("!H", checksum(bytes(packet[:ihl])))
        elif choice == 3:
            del packet[r.randrange(len(packet)):]
        elif choice == 4:
            packet += bytes(r.randrange(1, 100))
        else:  # the upper layer
            mark = packet.find(MARK)
            if mark > header:
                packet[r.randrange(header, mark)] = r.randrange(256)
        return bytes(packet)

    def frame(self, n):
        r = self.random
        kind, packet = self.packet4(n) if r.random() < 0.55 else self.packet6(n)
        if r.random() < 0.35:
            packet = self.mutate(kind, packet)
        to = self.to
        odd = r.random()
        if odd < 0.01:
            to = r.choice((BROADCAST, b"\x33\x33\0\0\0\1", b"\2\xaa\0\0\0\1"))
        elif odd < 0.015:
            return ethernet(to, self.me, VLAN, tag(5, kind, packet))
        elif odd < 0.02:
            kind = r.choice((0x1234, IPV4, IPV6))
        return ethernet(to, self.me, kind, packet)


def number_of(frame):
    """The number of the frame that caused this one; None: unknown."""
    at = frame.rfind(MARK)
    if 0 <= at and at + 8 <= len(frame):
        return struct.unpack("!I", frame[at + 4:at + 8])[0]
    return _number_of_packet(frame[12:14], frame[14:])


def _number_of_packet(kind, packet):
    if kind == b"\x08\0" and len(packet) >= 20:
        upper = packet[(packet[0] & 15) * 4:]
        if packet[9] == ICMP and upper[:1] in (b"\3", b"\4", b"\5", b"\x0b", b"\x0c"):
            return _number_of_packet(kind, upper[8:])
        if packet[9] == TCP and upper[13:14] == b"\x14":  # a reset: to the port that it replies to
            return struct.unpack("!H", upper[2:4])[0] - 10000
        return struct.unpack("!H", packet[4:6])[0] or None
    if kind == b"\x86\xdd" and len(packet) >= 40:
        if packet[6] == ICMPV6 and packet[40:41] in (b"\1", b"\2", b"\3", b"\4"):
            return _number_of_packet(kind, packet[48:])
        if packet[6] == ICMPV6 and packet[40:41] == b"\x89":  # a redirect quotes in an option
            at = 80
            while at + 8 <= len(packet) and packet[at] != 4 and packet[at + 1]:
                at += packet[at + 1] * 8
            return _number_of_packet(kind, packet[at + 8:])
        if packet[6] == TCP and packet[53:54] == b"\x14":
            return struct.unpack("!H", packet[42:44])[0] - 10000
        return struct.unpack("!I", packet[:4])[0] & 0xFFFFF or None
    return None
