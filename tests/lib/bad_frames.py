# SPDX-License-Identifier: BSD-3-Clause
"""Frames that a router must survive, and the expected result of each: "forwarded", "fragmented" (forwarded in
fragments), "consumed", or its drop reason. `reply` is the (type, code) of the ICMP error to its source, if any.

They are made for the network ROUTER below, and arrive at its port west.
"""
import dataclasses
import struct

from lib.frames import (ARP, BROADCAST, DESTINATION, FRAGMENT, HOP_BY_HOP, ICMP, ICMPV6, IPV4, IPV6, ROUTING,
                        SERVICE, TCP, UDP, VLAN, arp, ethernet, extension, fragment6, icmp4, icmp6, ipv4, ipv6,
                        multicast_mac, option, routing, solicited_node, tag, tcp, udp, v4, v6)

US, WEST, EAST = "10.0.1.1", "10.0.1.2", "10.0.2.2"
US6, WEST6, EAST6 = "2001:db8:1::1", "2001:db8:1::2", "2001:db8:2::2"
OUR_EAST, EASTS = ("10.0.2.1", "2001:db8:2::1"), (EAST, EAST6)
WEST_TOO = "10.0.1.77"  # a second address of west
GO_BACK = ("back where it came from",)  # forwarded, but to west
ROUTER = {
    "ports": {"west": [US + "/24", US6 + "/64"], "east": [OUR_EAST[0] + "/24", OUR_EAST[1] + "/64"]},
    "routes": [
        {"to": "10.9.0.0/16", "via": EAST},
        {"to": "2001:db8:9::/48", "via": EAST6},
        {"to": "192.0.2.0/24", "type": "blackhole"},
        {"to": "2001:db8:b::/48", "type": "blackhole"},
        {"to": "198.51.100.0/24", "type": "unreachable"},
        {"to": "2001:db8:c::/48", "type": "unreachable"},
    ],
}
DATA = bytes(range(20))
DATAGRAM = udp(DATA)
LATE, TOO_BIG6 = (11, 0), (2, 0)


@dataclasses.dataclass
class Row:
    what: str
    frame: bytes
    outcome: str
    reply: tuple = None


class Table:
    def __init__(self, router_mac, sender_mac):
        self.to, self.me = router_mac, sender_mac
        self.rows = []

    def add(self, what, outcome, frame, reply=None):
        self.rows.append(Row(what, frame, outcome, reply))

    def ip(self, what, outcome, source=WEST, to=EAST, rest=DATAGRAM, reply=None, padding=b"", **fields):
        self.add(what, outcome, ethernet(self.to, self.me, IPV4, ipv4(source, to, rest, **fields) + padding), reply)

    def ip6(self, what, outcome, source=WEST6, to=EAST6, rest=DATAGRAM, reply=None, padding=b"", **fields):
        self.add(what, outcome, ethernet(self.to, self.me, IPV6, ipv6(source, to, rest, **fields) + padding), reply)

    def nd(self, what, outcome, kind, body, source=WEST6, to=None, code=0, check=None, hops=255, rest=None):
        to = solicited_node(v6(US6)) if to is None else v6(to)
        message = icmp6(source, to, kind, code, body, check) if rest is None else rest
        frame_to = multicast_mac(to) if to[0] == 0xFF else self.to
        next_header = ICMPV6 if rest is None else FRAGMENT
        self.add(what, outcome, ethernet(frame_to, self.me, IPV6, ipv6(source, to, message, next_header, hops)))


def ethernet_rows(t):
    good, good6 = ipv4(WEST, EAST, DATAGRAM), ipv6(WEST6, EAST6, DATAGRAM)
    for kind, name in ((IPV4, "ipv4"), (IPV6, "ipv6"), (ARP, "arp")):
        t.add(f"only a header, type {kind:x}", name + "_truncated", ethernet(t.to, t.me, kind, b""))
    t.add("no type we know", "ether_type_unknown", ethernet(t.to, t.me, 0x1234, DATA))
    t.add("IEEE 802.3 length", "ether_type_unknown", ethernet(t.to, t.me, 46, bytes(46)))
    group = b"\x33\x33\0\0\0\1"
    t.add("from a multicast MAC", "ether_source_group", ethernet(t.to, group, IPV4, good))
    t.add("from the broadcast MAC", "ether_source_group", ethernet(t.to, BROADCAST, IPV6, good6))
    for to, outcome in ((b"\2\xaa\0\0\0\1", "dst_mac_not_ours"), (bytes(6), "dst_mac_not_ours"), (BROADCAST, "l2_multicast"),
                     (group, "l2_multicast"), (b"\1\0\x5e\0\0\1", "l2_multicast")):
        t.add(f"IPv4 to MAC {to.hex()}", outcome, ethernet(to, t.me, IPV4, good))
        t.add(f"IPv6 to MAC {to.hex()}", outcome, ethernet(to, t.me, IPV6, good6))
    t.add("ARP to another MAC", "dst_mac_not_ours",
          ethernet(b"\2\xaa\0\0\0\1", t.me, ARP, arp(1, t.me, WEST, bytes(6), US)))


def vlan_rows(t):
    """The kernel strips the outermost tag, and net_af_packet restores it."""
    inside = ipv4(WEST, EAST, DATAGRAM)
    for tags in range(1, 11):
        rest = tag(100, IPV4, inside)
        for vid in range(1, tags):
            rest = tag(vid, VLAN, rest)
        t.add(f"{tags} VLAN tags", "vlan_on_routed_port", ethernet(t.to, t.me, VLAN, rest))
    for tci in (0xE000, 0, 0x0FFF, 0xFFFF):  # VID 0 is only a priority
        t.add(f"tag {tci:04x}", "vlan_on_routed_port" if tci & 0x0FFF else "forwarded",
              ethernet(t.to, t.me, VLAN, tag(tci, IPV6, ipv6(WEST6, EAST6, DATAGRAM))))
    t.add("service and customer tag", "vlan_on_routed_port",
          ethernet(t.to, t.me, SERVICE, tag(7, VLAN, tag(8, IPV4, inside))))
    t.add("second tag cut", "vlan_on_routed_port", ethernet(t.to, t.me, VLAN, tag(7, VLAN, b"\0\5\x08")))
    t.add("tagged ARP", "vlan_on_routed_port",
          ethernet(BROADCAST, t.me, VLAN, tag(7, ARP, arp(1, t.me, WEST, bytes(6), US))))


def ipv4_rows(t):
    t.ip("IPv4", "forwarded")
    for version in (0, 5, 6, 15):
        t.ip(f"version {version}", "ipv4_version", version=version)
    for ihl in range(5):
        t.ip(f"IHL {ihl}", "ipv4_header_length", ihl=ihl)
    t.ip("IHL past the total length", "ipv4_total_length", ihl=15)
    t.ip("options past the frame", "ipv4_truncated", ihl=15, total=60)
    for total in (0, 1, 19):
        t.ip(f"total length {total}", "ipv4_total_length", total=total)
    for total in (49, 1500, 65535):
        t.ip(f"total length {total} of 48", "ipv4_truncated", total=total)
    for n in range(1, 20):
        t.add(f"{n} bytes of IPv4", "ipv4_truncated", ethernet(t.to, t.me, IPV4, ipv4(WEST, EAST, b"")[:n]))
    for check in (0, 0xBEEF, 0xFFFF):
        t.ip(f"checksum {check:x}", "ipv4_checksum", check=check)
    for ttl in (0, 1):
        t.ip(f"TTL {ttl}", "ipv4_ttl", ttl=ttl, reply=LATE)
        t.ip(f"TTL {ttl}, for us", "consumed", to=US, rest=icmp4(0, 0), protocol=ICMP, ttl=ttl)
    t.ip("TTL 2", "forwarded", ttl=2)
    t.ip("TTL 255", "forwarded", ttl=255)
    t.ip("all options", "forwarded", options=b"\1" * 40)
    t.ip("a record route option", "forwarded", options=b"\7\7\4\0\0\0\0\0")
    t.ip("protocol 0", "forwarded", protocol=0)
    t.ip("no payload", "forwarded", rest=b"")
    for flags in (0x3FFF, 0x1FFF, 0x1FFA):  # RFC 791 section 3.1: 65,535 bytes, header included
        t.ip(f"48 bytes at fragment field {flags:04x}", "ipv4_fragment_beyond_end", fragment=flags)
    for flags in (0x2000, 0x2005, 0x0005, 0x1FF9, 0x3FF9, 0x8000, 0x4000, 0x6000):
        t.ip(f"fragment field {flags:04x}", "forwarded", fragment=flags)
    t.ip("tiny first fragment", "forwarded", fragment=0x2000, rest=bytes(8), protocol=TCP)
    for padding in (1, 18, 46, 500, 1450):
        t.ip(f"padding of {padding}", "forwarded", padding=b"\xaa" * padding)
    t.ip("padding behind no payload", "forwarded", rest=b"", padding=b"\xaa" * 26)
    for source in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "169.254.1.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
                   "255.255.255.255", US, "10.0.1.255", "10.0.1.0"):
        t.ip(f"from {source}", "ipv4_source", source=source)
    for to in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "169.254.1.1", "224.0.0.1", "224.0.0.5", "239.1.1.1",
               "240.0.0.1", "255.255.255.255"):
        t.ip(f"to {to}", "ipv4_destination", to=to)
    t.ip("from its destination", "ipv4_source_is_destination", source=EAST)
    for to in ("10.0.2.255", "10.0.2.0", "10.0.1.255", "10.0.1.0"):
        t.ip(f"to the broadcast address {to}", "directed_broadcast", to=to)


def ipv4_route_rows(t):
    t.ip("by a route", "forwarded", to="10.9.1.1")
    t.ip("back where it came from", "forwarded", to=WEST, source=WEST_TOO)
    t.ip("no route", "no_route", to="203.0.113.1", reply=(3, 0))
    t.ip("blackhole", "route_blackhole", to="192.0.2.1")
    t.ip("unreachable", "route_unreachable", to="198.51.100.1", reply=(3, 1))
    t.ip("1500 bytes", "forwarded", rest=bytes(1480), fragment=0x4000)
    t.ip("1501 bytes, do not fragment", "ipv4_too_big", rest=bytes(1481), fragment=0x4000, reply=(3, 4))
    t.ip("1501 bytes", "fragmented", rest=bytes(1481))
    t.ip("longer than the receive slot", "ipv4_truncated", rest=bytes(2800))
    t.ip("TTL 1, no route", "no_route", to="203.0.113.1", ttl=1, reply=(3, 0))
    # No error about an error, a later fragment, or a broadcast frame (RFC 1812 section 4.3.2.7).
    quoted = bytes(4) + ipv4(EAST, WEST, DATAGRAM)
    for kind in (3, 4, 5, 11, 12):
        t.ip(f"TTL 1, an ICMP error {kind}", "ipv4_ttl", ttl=1, rest=icmp4(kind, 0, quoted), protocol=ICMP)
    t.ip("TTL 1, an error cut short", "ipv4_ttl", ttl=1, rest=b"\3\0\0\0", protocol=ICMP)
    t.ip("TTL 1, an error about an error", "ipv4_ttl", ttl=1, protocol=ICMP,
         rest=icmp4(3, 1, bytes(4) + ipv4(EAST, WEST, icmp4(3, 1, quoted), ICMP)))
    t.ip("TTL 1, an echo request", "ipv4_ttl", ttl=1, rest=icmp4(8, 0), protocol=ICMP, reply=LATE)
    t.ip("TTL 1, a later fragment", "ipv4_ttl", ttl=1, fragment=5)
    t.ip("no route, a later fragment", "no_route", to="203.0.113.1", fragment=5)


def ipv4_local_rows(t):
    t.ip("UDP for us", "local_protocol", to=US, reply=(3, 3))
    t.ip("UDP for our other port", "local_protocol", to="10.0.2.1", reply=(3, 3))
    t.ip("TCP for us", "local_protocol", to=US, rest=tcp(), protocol=TCP, reply=(3, 3))
    t.ip("GRE for us", "local_protocol", to=US, rest=bytes(8), protocol=47, reply=(3, 2))
    t.ip("a first fragment for us", "local_fragment", to=US, fragment=0x2000)
    t.ip("a later fragment for us", "local_fragment", to=US, fragment=5)
    t.ip("an echo reply for us", "consumed", to=US, rest=icmp4(0, 0), protocol=ICMP)
    quoted = bytes(4) + ipv4(US, WEST, DATAGRAM)
    for cut in (4, 8, 12, 24, len(quoted)):
        t.ip(f"an error that quotes {cut - 4}", "consumed", to=US, rest=icmp4(3, 1, quoted[:cut]), protocol=ICMP)
    t.ip("an unassigned ICMP type", "consumed", to=US, rest=icmp4(77, 0), protocol=ICMP)
    t.ip("ICMP checksum", "icmp_checksum", to=US, rest=icmp4(8, 0, check=0xBEEF), protocol=ICMP)
    for n in (0, 1, 4, 7):
        t.ip(f"{n} bytes of ICMP", "icmp_truncated", to=US, rest=icmp4(8, 0)[:n], protocol=ICMP)


def ipv6_rows(t):
    t.ip6("IPv6", "forwarded")
    for version in (0, 4, 7, 15):
        t.ip6(f"IPv6 version {version}", "ipv6_version", version=version)
    for length in (29, 1500, 65535):
        t.ip6(f"payload length {length} of 28", "ipv6_truncated", length=length)
    for n in range(1, 40, 6):
        t.add(f"{n} bytes of IPv6", "ipv6_truncated", ethernet(t.to, t.me, IPV6, ipv6(WEST6, EAST6, b"")[:n]))
    t.ip6("payload length 0", "forwarded", rest=b"")
    t.ip6("payload length 0 and padding", "forwarded", rest=b"", padding=b"\xaa" * 46)
    t.ip6("jumbogram", "ipv6_jumbogram", rest=extension(UDP, 0, DATAGRAM), next_header=HOP_BY_HOP, length=0)
    t.ip6("no next header", "forwarded", rest=b"", next_header=59)
    for hops in (0, 1):
        t.ip6(f"hop limit {hops}", "ipv6_hop_limit", hops=hops, reply=(3, 0))
    t.ip6("hop limit 2", "forwarded", hops=2)
    for padding in (1, 500, 1400):
        t.ip6(f"IPv6 padding of {padding}", "forwarded", padding=b"\xaa" * padding)
    for source in ("::", "::1", "ff02::1", "ff0e::1", "::ffff:10.0.1.2"):
        t.ip6(f"from {source}", "ipv6_source", source=source)
    for to in ("::", "::1", "::ffff:10.0.2.2", "ff02::99", "ff05::3", "ff0e::1"):
        t.ip6(f"to {to}", "ipv6_destination", to=to)
    t.ip6("from link-local", "link_local_source", source="fe80::1")
    t.ip6("from link-local's other end", "link_local_source", source="febf::1")
    t.ip6("to link-local", "link_local", to="fe80::1")
    t.ip6("from its destination", "ipv6_source_is_destination", source=EAST6)
    t.ip6("by a route", "forwarded", to="2001:db8:9::1")
    t.ip6("no route", "no_route", to="2001:db9::1", reply=(1, 0))
    t.ip6("blackhole", "route_blackhole", to="2001:db8:b::1")
    t.ip6("unreachable", "route_unreachable", to="2001:db8:c::1", reply=(1, 3))
    t.ip6("1500 bytes of IPv6", "forwarded", rest=bytes(1460))
    t.ip6("1501 bytes of IPv6", "ipv6_too_big", rest=bytes(1461), reply=TOO_BIG6)


def chain_rows(t):
    upper = tcp()
    t.ip6("hop-by-hop", "forwarded", rest=extension(TCP, 1, upper), next_header=HOP_BY_HOP)
    late = extension(HOP_BY_HOP, 0, extension(TCP, 0, upper))
    t.ip6("hop-by-hop not first", "ipv6_hop_by_hop_late", rest=late, next_header=DESTINATION)
    t.ip6("hop-by-hop twice", "ipv6_hop_by_hop_late", rest=late, next_header=HOP_BY_HOP)
    t.ip6("routing type 0", "ipv6_routing_type_0", rest=routing(TCP, 0, 1, upper), next_header=ROUTING)
    t.ip6("routing type 0, used up", "forwarded", rest=routing(TCP, 0, 0, upper), next_header=ROUTING)
    t.ip6("routing type 4", "forwarded", rest=routing(TCP, 4, 1, upper), next_header=ROUTING)
    t.ip6("atomic fragment", "forwarded", rest=fragment6(TCP, 0, upper), next_header=FRAGMENT)
    t.ip6("first fragment", "forwarded", rest=fragment6(TCP, 1, upper), next_header=FRAGMENT)
    t.ip6("later fragment", "forwarded", rest=fragment6(TCP, 0x11, upper), next_header=FRAGMENT)
    t.ip6("fragment past 65535", "forwarded", rest=fragment6(TCP, 0xFFF8, upper), next_header=FRAGMENT)
    t.ip6("two fragment headers", "ipv6_fragment_twice", next_header=FRAGMENT,
          rest=fragment6(FRAGMENT, 1, fragment6(TCP, 1, upper)))
    chain = upper
    for headers in range(1, 46):
        chain = extension(TCP if headers == 1 else DESTINATION, 0, chain)
        fits = 14 + 40 + 8 * headers + 20 <= 256
        t.ip6(f"{headers} chained headers", "forwarded" if fits else "ipv6_chain_long", rest=chain,
              next_header=DESTINATION)
    whole = extension(ROUTING, 1, routing(TCP, 4, 1, upper))
    for n in range(1, len(whole)):
        t.ip6(f"chain cut to {n}", "ipv6_chain_truncated" if n < 16 + 24 else "forwarded", rest=whole[:n],
              next_header=DESTINATION)


def ipv6_local_rows(t):
    t.ip6("UDP for us", "local_protocol", to=US6, reply=(1, 4))
    t.ip6("UDP for our other port", "local_protocol", to="2001:db8:2::1", reply=(1, 4))
    t.ip6("TCP for us", "local_protocol", to=US6, rest=tcp(), next_header=TCP, reply=(1, 4))
    t.ip6("a fragment for us", "local_fragment", to=US6, rest=fragment6(UDP, 1, DATAGRAM), next_header=FRAGMENT)
    t.ip6("an echo reply for us", "consumed", to=US6, rest=icmp6(WEST6, US6, 129, 0), next_header=ICMPV6)
    t.ip6("ICMPv6 checksum", "icmp_checksum", to=US6, rest=icmp6(WEST6, US6, 128, 0, check=0xBEEF),
          next_header=ICMPV6)
    for n in (0, 1, 7):
        t.ip6(f"{n} bytes of ICMPv6", "icmp_truncated", to=US6, rest=icmp6(WEST6, US6, 128, 0)[:n], next_header=ICMPV6)
    quoted = bytes(4) + ipv6(EAST6, WEST6, DATAGRAM)
    for kind in (1, 2, 3, 4, 100, 127):
        t.ip6(f"hop limit 1, an ICMPv6 error {kind}", "ipv6_hop_limit", hops=1, next_header=ICMPV6,
              rest=icmp6(WEST6, EAST6, kind, 0, quoted))
    t.ip6("hop limit 1, an echo request", "ipv6_hop_limit", hops=1, next_header=ICMPV6,
          rest=icmp6(WEST6, EAST6, 128, 0), reply=(3, 0))
    t.ip6("an error that quotes nothing, for us", "consumed", to=US6, rest=icmp6(WEST6, US6, 1, 0),
          next_header=ICMPV6)


def arp_rows(t):
    def row(what, outcome, *, to=BROADCAST, operation=1, sender_mac=t.me, sender=WEST, target=US, rest=b"", **fields):
        t.add(f"ARP {what}", outcome,
              ethernet(to, t.me, ARP, arp(operation, sender_mac, sender, bytes(6), target, **fields) + rest))

    for n in (1, 8, 27):
        t.add(f"{n} bytes of ARP", "arp_truncated", ethernet(BROADCAST, t.me, ARP, arp(1, t.me, WEST, bytes(6), US)[:n]))
    for fields in ({"hardware": 6}, {"protocol": IPV6}, {"hlen": 8}, {"plen": 16}, {"hlen": 0}, {"plen": 0}):
        row(f"with {fields}", "arp_format", **fields)
    for operation in (0, 3, 8, 65535):
        row(f"operation {operation}", "arp_operation", operation=operation)
    for sender_mac in (BROADCAST, b"\1\0\x5e\0\0\1", bytes(6)):
        row(f"from MAC {sender_mac.hex()}", "arp_sender_mac", sender_mac=sender_mac)
    for sender in ("127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"):
        row(f"from {sender}", "arp_sender_ip", sender=sender)
    row("reply from 0.0.0.0", "arp_sender_ip", operation=2, sender="0.0.0.0")
    row("request from us", "arp_sender_is_us", sender=US)
    row("reply from us", "arp_sender_is_us", sender=US, operation=2)
    row("for another host", "consumed", target="10.0.1.99")
    row("padded", "consumed", target="10.0.1.99", rest=bytes(18))
    row("from another network", "consumed", sender="10.77.0.1", target="10.0.1.99")
    row("unsolicited reply", "consumed", to=t.to, operation=2, sender="10.0.1.98")
    for _ in range(100):
        row("gratuitous, of a storm", "consumed", sender="10.0.1.97", target="10.0.1.97")


def nd_rows(t):
    other = bytes(4) + v6("2001:db8:1::99")  # a target that is not ours
    mine = option(1, t.me)
    ask, say = 135, 136
    t.nd("solicitation for another host", "consumed", ask, other + mine)
    t.nd("solicitation with hop limit 254", "nd_hop_limit", ask, other + mine, hops=254)
    t.nd("solicitation with a bad checksum", "icmp_checksum", ask, other + mine, check=0xBEEF)
    t.nd("solicitation with code 1", "nd_code", ask, other + mine, code=1)
    t.nd("solicitation cut short", "icmp_truncated", ask, other[:12])
    t.nd("option of length 0", "nd_option_empty", ask, other + option(1, t.me, units=0))
    t.nd("option past the end", "nd_option_truncated", ask, other + option(1, t.me, units=2))
    t.nd("half an option", "nd_option_truncated", ask, other + b"\1")
    t.nd("target multicast", "nd_target", ask, bytes(4) + v6("ff02::1") + mine)
    t.nd("from :: with its MAC", "nd_option_source", ask, other + mine, source="::", to="ff02::1:ff00:99")
    t.nd("from :: to another group", "nd_destination", ask, other, source="::", to="ff02::1")
    t.nd("from ::, duplicate detection", "consumed", ask, other, source="::", to="ff02::1:ff00:99")
    t.nd("from a group", "nd_source", ask, other, source="ff02::5")
    for address in (bytes(6), BROADCAST, b"\1\0\x5e\0\0\1"):
        t.nd(f"MAC {address.hex()}", "nd_link_address", ask, other + option(1, address))
    t.nd("MAC of 14 bytes", "nd_link_address", ask, other + option(1, t.me + bytes(8), units=2))
    t.nd("option of an unknown type", "consumed", ask, other + option(99, bytes(6)))
    t.nd("solicited advertisement to a group", "nd_solicited", say, b"\x40\0\0\0" + other[4:], to="ff02::1")
    t.nd("unsolicited advertisement", "consumed", say, b"\x20\0\0\0" + other[4:], to="ff02::1")
    t.nd("router solicitation", "consumed", 133, bytes(4) + mine, to="ff02::2")
    t.nd("router solicitation from :: with its MAC", "nd_option_source", 133, bytes(4) + mine, source="::",
         to="ff02::2")
    t.nd("router advertisement", "consumed", 134, bytes(12), source="fe80::7", to="ff02::1")
    t.nd("router advertisement from a global address", "nd_source", 134, bytes(12), to="ff02::1")
    about = v6("2001:db8:9::1")
    t.nd("redirect", "consumed", 137, bytes(4) + v6("fe80::9") + about, source="fe80::7", to=US6)
    t.nd("redirect from a global address", "nd_source", 137, bytes(4) + v6("fe80::9") + about, to=US6)
    t.nd("redirect to no next hop", "nd_target", 137, bytes(4) + v6("2001:db8:8::1") + about, source="fe80::7",
         to=US6)
    message = icmp6(WEST6, US6, ask, 0, other + mine)
    t.nd("solicitation in fragments", "nd_fragment", ask, b"", to=US6, rest=fragment6(ICMPV6, 0, message))


def table(router_mac, sender_mac):
    t = Table(router_mac, sender_mac)
    for rows in (ethernet_rows, vlan_rows, ipv4_rows, ipv4_route_rows, ipv4_local_rows, ipv6_rows, chain_rows,
                 ipv6_local_rows, arp_rows, nd_rows):
        rows(t)
    return t.rows


def after_router(frame, router_mac, neighbour_mac):
    """The router's output for a good frame: priority tag popped, padding trimmed, TTL decremented, new MAC addresses."""
    if frame[12:14] == struct.pack("!H", VLAN):
        frame = frame[:12] + frame[16:]
    kind, packet = struct.unpack("!H", frame[12:14])[0], bytearray(frame[14:])
    if kind == IPV4:
        del packet[struct.unpack("!H", packet[2:4])[0]:]
        packet[8] -= 1
        header = (packet[0] & 15) * 4
        packet[10:12] = bytes(2)
        packet[10:12] = struct.pack("!H", _sum(packet[:header]))
    else:
        del packet[40 + struct.unpack("!H", packet[4:6])[0]:]
        packet[7] -= 1
    return ethernet(neighbour_mac, router_mac, kind, bytes(packet))


def in_pieces(frame, mtu=1500):
    """The router's output for a good frame that exceeds the egress MTU: RFC 791 section 3.2. All IP options are copied, or
    there are none."""
    packet = bytearray(frame[14:])
    header = (packet[0] & 15) * 4
    data, most, out = packet[header:], (mtu - header) & ~7, []
    for at in range(0, len(data), most):
        piece = packet[:header] + data[at:at + most]
        more = 0x2000 if at + most < len(data) else 0
        piece[2:4] = struct.pack("!H", len(piece))
        piece[6:8] = struct.pack("!H", more | at // 8)
        piece[10:12] = bytes(2)
        piece[10:12] = struct.pack("!H", _sum(piece[:header]))
        out.append(frame[:14] + bytes(piece))
    return out


def _sum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
