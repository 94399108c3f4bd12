# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of differences between turnpike and a Linux router that doc/linux-differences.md explains. A kind is
a predicate of the sent frame, turnpike's output, and Linux's output; the first kind that
matches names the difference."""
import dataclasses
import ipaddress
import os
import re

from lib.frames import ICMP, ICMPV6, ROUTING, TCP, UDP, checksum

OURS4 = {ipaddress.ip_address(a) for a in ("10.0.1.1", "10.0.2.1")}
OURS6 = {ipaddress.ip_address(a) for a in ("2001:db8:1::1", "2001:db8:2::1")}
NETWORKS4 = [ipaddress.ip_network(a) for a in ("10.0.1.0/24", "10.0.2.0/24")]
BEHIND_WEST = [ipaddress.ip_network(a) for a in ("10.0.1.0/24", "10.50.0.0/16", "2001:db8:1::/64", "2001:db8:50::/48", "fe80::/10")]
ANYCAST = {ipaddress.ip_address(a) for a in ("2001:db8:1::", "2001:db8:2::")}
UNREACHABLE6 = ipaddress.ip_network("2001:db8:c::/48")
MARTIANS4 = [ipaddress.ip_network(a) for a in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3")]
MARTIANS6 = [ipaddress.ip_network(a) for a in ("::/127", "::ffff:0:0/96", "ff00::/8")]
EXTENSIONS = (0, 43, 44, 51, 60, 135, 139, 140)


@dataclasses.dataclass
class Out:
    """The output of a router for one frame."""
    forwarded: list
    errors: list  # (ICMP type, code)
    echoes: list
    resets: list
    redirects: list
    error_frames: list

    @property
    def nothing(self):
        return not (self.forwarded or self.errors or self.echoes or self.resets or self.redirects)


class Frame:
    def __init__(self, frame):
        self.v4, packet = frame[12:14] == b"\x08\0", frame[14:]
        self.to_group = bool(frame[0] & 1)
        self.packet = packet
        if self.v4:
            self.source, self.to = (ipaddress.ip_address(packet[n:n + 4]) for n in (12, 16))
            self.header, self.protocol, self.hops = (packet[0] & 15) * 4, packet[9], packet[8]
            self.total = int.from_bytes(packet[2:4], "big")
            self.fragment = int.from_bytes(packet[6:8], "big")
            self.chain, self.later, self.unsound_chain = [], bool(self.fragment & 0x1FFF), False
        else:
            self.source, self.to = (ipaddress.ip_address(packet[n:n + 16]) for n in (8, 24))
            self.hops, self.total = packet[7], 40 + int.from_bytes(packet[4:6], "big")
            self._walk(packet)
        self.upper = packet[self.header:self.total]

    def _walk(self, packet):
        at, kind, self.chain, self.later = 40, packet[6], [], False
        while kind in EXTENSIONS and at + 8 <= self.total and not self.later:
            self.chain.append((kind, packet[at:at + 8]))
            self.later = kind == 44 and bool(packet[at + 2] or packet[at + 3] & 0xF8)
            size = 8 if kind == 44 else (packet[at + 1] + 2) * 4 if kind == 51 else (packet[at + 1] + 1) * 8
            kind, at = packet[at], at + size
        self.protocol, self.header = kind, at
        cut = kind in EXTENSIONS and not self.later
        late = any(k == 0 for k, _ in self.chain[1:])
        twice = sum(k == 44 for k, _ in self.chain) > 1
        self.unsound_chain = cut or late or twice or at > self.total

    def has(self, kind):
        return any(k == kind for k, _ in self.chain)

    @property
    def ours(self):
        return self.to in (OURS4 if self.v4 else OURS6)

    @property
    def source_routed(self):
        return any(k == ROUTING and h[2] == 0 and h[3] for k, h in self.chain)

    def upper_is_sound(self):
        """Whether length and checksum of TCP, UDP or ICMP are valid."""
        upper = self.upper
        if self.protocol not in (TCP, UDP, ICMPV6, ICMP):
            return True
        if self.protocol == UDP:
            if len(upper) < 8 or not 8 <= int.from_bytes(upper[4:6], "big") <= len(upper):
                return False
            upper = upper[:int.from_bytes(upper[4:6], "big")]
            if upper[6:8] == b"\0\0":
                return self.v4
        if self.protocol == ICMP:
            return checksum(upper) == 0
        pseudo = self.source.packed + self.to.packed + len(upper).to_bytes(4, "big") + self.protocol.to_bytes(4, "big")
        return checksum(pseudo + upper) == 0


def _in(address, networks):
    return any(address in n for n in networks if n.version == address.version)


def _sort(frames):
    out = Out([], [], [], [], [], [])
    for _side, f in frames:
        p = f[14:]
        v4 = f[12:14] == b"\x08\0"
        source = ipaddress.ip_address(p[12:16] if v4 else p[8:24])
        upper = p[(p[0] & 15) * 4:] if v4 else p[40:]
        icmp = p[9] == ICMP if v4 else p[6] == ICMPV6
        own = source in (OURS4 if v4 else OURS6) or source.is_link_local
        if icmp and own and upper[0] == (5 if v4 else 137):
            out.redirects.append(f)
        elif own and icmp and upper[0] in ((3, 11, 12) if v4 else (1, 2, 3, 4)):
            out.errors.append((upper[0], upper[1]))
            out.error_frames.append(f)
        elif own and icmp and upper[0] in ((0,) if v4 else (129,)):
            out.echoes.append(f)
        elif own and not icmp and (p[9] if v4 else p[6]) == TCP and upper[13] == 0x14:
            out.resets.append(f)
        else:
            out.forwarded.append(f)
    return out


def redirects_of(frames):
    return _sort(frames).redirects


def _is_broadcast(a):
    return a.version == 4 and any(a in (n.network_address, n.broadcast_address) for n in NETWORKS4)


def _error_rate(f, us, linux):
    wanted = ([(3, 0)], [(3, 1)]) if f.v4 else ([(1, 3)],)
    return us.errors in wanted and linux.nothing and f.to not in ANYCAST


def _error_source(f, us, linux):
    if len(us.errors) != 1 or us.errors != linux.errors:
        return False
    if f.v4:
        return f.ours
    ours, theirs = (out.error_frames[0][:22] + out.error_frames[0][38:56] + out.error_frames[0][58:] for out in (us, linux))
    return not f.ours and ours == theirs  # but for the source and the checksum


def _martian_destination(f, us, linux):
    return us.nothing and _in(f.to, MARTIANS4 + MARTIANS6) and not linux.echoes


def _network_address(f, us, linux):
    return us.nothing and f.to in (n.network_address for n in NETWORKS4)


def _martian_source(f, us, linux):
    forged = _in(f.source, MARTIANS4 + MARTIANS6) or _is_broadcast(f.source) or f.source in OURS6
    return us.nothing and forged and not linux.nothing


def _same_addresses(f, us, linux):
    return us.nothing and f.source == f.to and not linux.nothing


def _link_local(f, us, linux):
    return us.nothing and (f.source.is_link_local or f.to.is_link_local)


def _routing_type_0(f, us, linux):
    return us.nothing and f.source_routed


def _unsound_chain(f, us, linux):
    return us.nothing and f.unsound_chain


def _fragment_beyond_end(f, us, linux):
    return f.v4 and (f.fragment & 0x1FFF) * 8 + f.total > 65535 and us.nothing


def _group_frame(f, us, linux):
    return f.to_group and us.nothing and f.ours and linux.echoes


def _discovery(f, us, linux):
    return not f.v4 and us.nothing and f.protocol == ICMPV6 and 133 <= f.upper[0] <= 137


def _icmp_type(f, us, linux):
    return f.v4 and f.protocol == ICMP and f.upper[:1] > b"\x12" and len(us.errors) == 1 and linux.nothing


def _unreachable_code(f, us, linux):
    return f.to in UNREACHABLE6 and us.errors == [(1, 3)] and linux.errors == [(1, 0)]


def _anycast(f, us, linux):
    return f.to in ANYCAST and (us.errors in ([(1, 3)], [(3, 0)]) or us.nothing)


def _upper_checksum(f, us, linux):
    return f.ours and us.errors in ([(3, 3)], [(1, 4)]) and linux.nothing and not f.upper_is_sound()


def _transport_for_us(f, us, linux):
    return f.ours and us.errors in ([(3, 3)], [(1, 4)]) and (linux.resets or linux.errors in ([(3, 2)], [(4, 1)]))


def _next_header_for_us(f, us, linux):
    return not f.v4 and f.ours and us.nothing and linux.errors == [(4, 1)]


def _extensions_for_us(f, us, linux):
    return not f.v4 and f.ours and f.chain


def _hop_by_hop(f, us, linux):
    return f.has(0) and not us.nothing and (linux.nothing or (linux.errors and linux.errors[0][0] == 4))


def _redirect(f, us, linux):
    # The quoted length of IPv6 redirects may differ, and the target's link-layer address is there only while it is known
    # (RFC 4861 section 4.5), which depends on the time.
    if us.redirects and linux.redirects:
        return all(a[14:54] == b[14:54] or a[54:56] + a[58:94] == b[54:56] + b[58:94]
                   for a, b in zip(us.redirects, linux.redirects))
    return (us.redirects or linux.redirects) and (us.forwarded == linux.forwarded or us.errors)


def _icmp_unread(f, us, linux):
    return (f.later or len(f.upper) < 8) and f.protocol in (ICMPV6, ICMP) and us.nothing and linux.errors


def _options(f, us, linux):
    return f.v4 and f.header > 20 and (not us.nothing or linux.errors == [(12, 0)])


def _reverse_path(f, us, linux):
    if f.v4:
        return us.nothing and linux.errors in ([(3, 0)], [(3, 1)]) and not _in(f.source, BEHIND_WEST)
    return us.nothing and not _in(f.source, BEHIND_WEST)


def _quoted_fragment(f, us, linux):
    return f.v4 and f.total > 1500 and us.errors == linux.errors == [(3, 1)]


KINDS = {
    "error_rate": _error_rate, "error_source": _error_source, "martian_destination": _martian_destination,
    "network_address": _network_address, "martian_source": _martian_source, "same_addresses": _same_addresses,
    "link_local": _link_local, "routing_type_0": _routing_type_0,
    "unsound_chain": _unsound_chain, "fragment_beyond_end": _fragment_beyond_end, "group_frame": _group_frame, "discovery": _discovery, "icmp_type": _icmp_type,
    "unreachable_code": _unreachable_code, "anycast": _anycast, "upper_checksum": _upper_checksum,
    "transport_for_us": _transport_for_us, "next_header_for_us": _next_header_for_us,
    "extensions_for_us": _extensions_for_us, "hop_by_hop": _hop_by_hop, "redirect": _redirect,
    "icmp_unread": _icmp_unread, "options": _options, "urpf": _reverse_path,
    "quoted_fragment": _quoted_fragment,
}


def kind_of(frame, turnpike, linux):
    """frame: as sent; turnpike, linux: [(side, frame)] as received. None: an unknown kind."""
    if frame[12:14] not in (b"\x08\0", b"\x86\xdd") or len(frame) < (34 if frame[12:14] == b"\x08\0" else 54):
        return None
    f, us, they = Frame(frame), _sort(turnpike), _sort(linux)
    return next((name for name, holds in KINDS.items() if holds(f, us, they)), None)


def documented(part):
    """The kinds with a row in doc/linux-differences.md under the heading with this ending."""
    path = os.path.join(os.path.dirname(__file__), "../../doc/linux-differences.md")
    with open(path, encoding="utf-8") as file:
        text = next(text for text in re.split(r"^#+ ", file.read(), flags=re.M) if text.split("\n")[0].endswith(part))
    return re.findall(r"^\| `(\w+)` \|", text, re.M)
