# SPDX-License-Identifier: BSD-3-Clause
"""turnpike and a Linux router with the same MAC addresses, IP addresses and routes, each between two stations, west and east;
and the part of their output that must be equal."""
import contextlib
import time

from lib import linux_differences
from lib.dut import Turnpike, router_config
from lib.frames import ICMP, ICMPV6, TCP
from lib.station import Station

SIDES = (("west", "w0"), ("east", "e0"))


class Pair:
    """network: {"ports": {side: [address/length]}, "hosts": {side: [address]}, "routes": [...]}, as of random_frames.NETWORK;
    mtu: {side: bytes}; west: more keys of turnpike's port; reverse_path: Linux's rp_filter by side"""

    def __init__(self, lab, network, mtu, west=(), reverse_path=(0, 0)):
        self.network = network
        self.hosts = {name: lab.host(name, True) for name in ("lwest", "least", "twest", "teast", "dut")}
        self.hosts["linux"] = _linux_router(lab)
        for prefix, router in (("l", "linux"), ("t", "dut")):
            for name, interface in SIDES:
                lab.cable(self.hosts[prefix + name], "eth0", self.hosts[router], interface, mtu[name])
        for (name, interface), end in zip(SIDES, (1, 2)):
            for router, prefix in (("linux", "l"), ("dut", "t")):
                self.hosts[router].run(f"ip link set {interface} address 02:00:00:00:01:0{end}")
                self.hosts[prefix + name].run(f"ip link set eth0 address 02:00:00:00:02:0{end}")
        _configure_linux(self.hosts["linux"], network, reverse_path)
        devices = {name: ({"device": f"net_xsk{n},iface={interface}", "mtu": mtu[name]}, network["ports"][name])
                   for n, (name, interface) in enumerate(SIDES)}
        devices["west"][0].update(west)
        self.turnpike = Turnpike(lab, self.hosts["dut"], router_config(devices, network["routes"], icmp={"rate": 10_000_000}))
        time.sleep(1.5)  # our IPv6 addresses are tentative for a second, and no neighbour is solicited

    def router(self, side, version):
        """The routers' address on that side."""
        return next(a.split("/")[0] for a in self.network["ports"][side] if (":" in a) == (version == 6))

    @contextlib.contextmanager
    def stations(self, prefix):
        """{side: station} of turnpike (t) or Linux (l), which know the router and are known to it."""
        with Station(self.hosts[prefix + "west"], "eth0", self.network["hosts"]["west"]) as west, \
                Station(self.hosts[prefix + "east"], "eth0", self.network["hosts"]["east"]) as east:
            both = {"west": west, "east": east}
            for side, station in both.items():
                for version in (4, 6):
                    station.introduce(self.router(side, version))
            yield both

    def router_mac(self, stations):
        return stations["west"].introduce(self.router("west", 4))


def _linux_router(lab):
    host = lab.host("linux")
    for key, value in (("ipv4.ip_forward", 1), ("ipv6.conf.all.forwarding", 1), ("ipv6.auto_flowlabels", 0),
                       ("ipv4.conf.all.rp_filter", 0), ("ipv4.conf.default.rp_filter", 0),
                       ("ipv4.icmp_ratelimit", 0), ("ipv4.icmp_ratemask", 0), ("ipv6.icmp.ratelimit", 0),
                       ("ipv6.icmp.ratemask", ""), ("ipv4.icmp_errors_use_inbound_ifaddr", 1)):
        host.run(["sysctl", "-qw", f"net.{key}={value}"])
    return host


def _configure_linux(host, network, reverse_path):
    for (name, interface), value in zip(SIDES, reverse_path):
        host.run(f"sysctl -qw net.ipv4.conf.{interface}.rp_filter={value}")
        for address in network["ports"][name]:
            host.run(f"ip addr add {address} dev {interface} " + ("nodad" if ":" in address else ""))
    for route in network["routes"]:
        hop = f"via {route['via']}" if "via" in route else ""
        # Without lock, senders of IPv6 packets that exceed the link's MTU, too, are told the link's.
        mtu = f"mtu lock {route['mtu']}" if "mtu" in route else ""
        host.run(f"ip route add {route.get('type', '')} {route['to']} {hop} {mtu}")


def essence(side, frame):
    """The part of a frame that must be equal: all of a forwarded frame; of a router's own messages the part that the RFC
    specifies, without implementation choices."""
    packet = frame[14:]
    if frame[12:14] == b"\x08\0" and len(packet) >= 20:
        upper = packet[(packet[0] & 15) * 4:]
        if packet[12:16] in {a.packed for a in linux_differences.OURS4}:
            return _own((side, frame[:6], packet[12:20]), packet[9] == ICMP, packet[9] == TCP, upper, 0, 20)
    elif frame[12:14] == b"\x86\xdd" and len(packet) >= 40:
        upper = packet[40:]
        if packet[8:24] in {a.packed for a in linux_differences.OURS6}:
            return _own((side, frame[:6], packet[8:40]), packet[6] == ICMPV6, packet[6] == TCP, upper, 128, 40)
    return side, frame


def _own(head, icmp, tcp, upper, first_echo, header):
    if tcp:
        return *head, "reset"
    if not icmp:
        return *head, upper
    if upper[0] in (first_echo, first_echo + 1, 129):
        return *head, upper
    # An error: type, code, MTU or pointer, and the common length of the quoted packet, without its
    # TTL and checksum, which may or may not be the original ones.
    quoted = bytearray(upper[8:8 + header + 8])
    for at in (8, 10, 11) if header == 20 else (7,):
        if at < len(quoted):
            quoted[at] = 0
    return *head, "error", upper[0], upper[1], upper[4:8], bytes(quoted)


def show(frames):
    return [(side, f.hex()) for side, f in frames] or "nothing"
