# SPDX-License-Identifier: BSD-3-Clause
"""Frames for tests, header by header, as bytes: ethernet(MAC, MAC, 0x0800, ipv4("10.0.1.2", "10.0.2.2",
udp(b"x"))). Lengths and checksums are computed from the inner parts; an explicit field stays as given.
Bytes instead of scapy, because tests make tens of thousands of them.
"""
import functools
import socket
import struct

IPV4, ARP, VLAN, SERVICE, IPV6 = 0x0800, 0x0806, 0x8100, 0x88A8, 0x86DD
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60
BROADCAST = b"\xff" * 6


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


@functools.lru_cache(None)
def v4(text):
    return socket.inet_pton(socket.AF_INET, text)


@functools.lru_cache(None)
def v6(text):
    return socket.inet_pton(socket.AF_INET6, text)


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(to, source, kind, rest):
    return to + source + struct.pack("!H", kind) + rest


def tag(tci, kind, rest):
    """A VLAN tag, inside ethernet(..., VLAN, ...) and followed by the payload of EtherType `kind`."""
    return struct.pack("!HH", tci, kind) + rest


def ipv4(source, to, rest, protocol=UDP, ttl=64, ident=0, fragment=0, tos=0, version=4, ihl=None,
         total=None, check=None, options=b""):
    source, to = (v4(a) if isinstance(a, str) else a for a in (source, to))
    ihl = 5 + len(options) // 4 if ihl is None else ihl
    total = 20 + len(options) + len(rest) if total is None else total
    header = struct.pack("!BBHHHBBH", version << 4 | ihl, tos, total, ident, fragment, ttl, protocol, 0)
    header += source + to + options
    check = checksum(header) if check is None else check
    return header[:10] + struct.pack("!H", check) + header[12:] + rest


def ipv6(source, to, rest, next_header=UDP, hops=64, flow=0, version=6, length=None):
    source, to = (v6(a) if isinstance(a, str) else a for a in (source, to))
    length = len(rest) if length is None else length
    return struct.pack("!IHBB", version << 28 | flow, length, next_header, hops) + source + to + rest


def extension(next_header, units, rest):
    """Hop-by-hop or destination options: 8 * (units + 1) bytes, filled by a PadN option."""
    return bytes((next_header, units, 1, 4 + 8 * units)) + bytes(4 + 8 * units) + rest


def routing(next_header, kind, segments_left, rest):
    return bytes((next_header, 2, kind, segments_left)) + bytes(20) + rest


def fragment6(next_header, offset_more, rest, ident=7):
    return struct.pack("!BBHI", next_header, 0, offset_more, ident) + rest


def udp(rest, source=1111, to=2222):
    """Without a checksum, as IPv4 permits; routers do not check it."""
    return struct.pack("!HHHH", source, to, 8 + len(rest), 0) + rest


def tcp(rest=b"", source=3333, to=80, flags=2):
    return struct.pack("!HHIIBBHHH", source, to, 1, 2, 0x50, flags, 1000, 0, 0) + rest


def icmp4(kind, code, rest=bytes(4), check=None):
    """rest: everything behind the checksum."""
    message = bytes((kind, code, 0, 0)) + rest
    check = checksum(message) if check is None else check
    return message[:2] + struct.pack("!H", check) + message[4:]


def icmp6(source, to, kind, code, rest=bytes(4), check=None):
    source, to = (v6(a) if isinstance(a, str) else a for a in (source, to))
    message = bytes((kind, code, 0, 0)) + rest
    pseudo = source + to + struct.pack("!II", len(message), ICMPV6)
    check = checksum(pseudo + message) if check is None else check
    return message[:2] + struct.pack("!H", check) + message[4:]


def option(kind, address, units=1):
    """A link-layer address option of neighbour discovery."""
    return bytes((kind, units)) + address


def arp(operation, sender_mac, sender, target_mac, target, hardware=1, protocol=IPV4, hlen=6, plen=4):
    sender, target = (v4(a) if isinstance(a, str) else a for a in (sender, target))
    return (struct.pack("!HHBBH", hardware, protocol, hlen, plen, operation)
            + sender_mac + sender + target_mac + target)


def solicited_node(address):
    return v6("ff02::1:ff00:0")[:13] + address[13:]


def multicast_mac(address):
    return b"\x33\x33" + address[12:]


def solicitation(source_mac, source, target, to=None, to_mac=None):
    """A complete neighbour solicitation frame."""
    source, target = v6(source), v6(target)
    to = solicited_node(target) if to is None else to
    to_mac = multicast_mac(to) if to_mac is None else to_mac
    message = icmp6(source, to, 135, 0, bytes(4) + target + option(1, source_mac))
    return ethernet(to_mac, source_mac, IPV6, ipv6(source, to, message, ICMPV6, hops=255))


def advertisement(source_mac, source, to_mac, to, flags=0x60000000):
    """A complete neighbour advertisement frame for `source`; solicited, override."""
    source, to = (v6(a) if isinstance(a, str) else a for a in (source, to))
    message = icmp6(source, to, 136, 0, struct.pack("!I", flags) + source + option(2, source_mac))
    return ethernet(to_mac, source_mac, IPV6, ipv6(source, to, message, ICMPV6, hops=255))
