#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""20,000 random frames through turnpike and through a Linux router with the same MAC addresses, IP addresses
and routes; their outputs are compared frame by frame. A difference must be of a kind that
doc/linux-differences.md explains."""
import collections
import contextlib
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import linux_differences, tap  # noqa: E402
from lib.dut import LONG, Turnpike, router_config  # noqa: E402
from lib.frames import ICMP, ICMPV6, TCP, checksum, mac  # noqa: E402
from lib.hosts import Lab  # noqa: E402
from lib.random_frames import NETWORK, Maker, number_of  # noqa: E402
from lib.station import Station  # noqa: E402

# With more in flight, Linux's table of IPv6 neighbours overflows (gc_thresh3).
FRAMES, SEEDS = 20_000, range(1, 11) if LONG else range(1, 2)
SIDES = (("west", "w0"), ("east", "e0"))
MTU = {"west": 1700, "east": 1500}


def linux_router(lab):
    host = lab.host("linux")
    for key, value in (("ipv4.ip_forward", 1), ("ipv6.conf.all.forwarding", 1), ("ipv6.auto_flowlabels", 0),
                       ("ipv4.conf.all.rp_filter", 0), ("ipv4.conf.default.rp_filter", 0),
                       ("ipv4.icmp_ratelimit", 0), ("ipv4.icmp_ratemask", 0), ("ipv6.icmp.ratelimit", 0),
                       ("ipv6.icmp.ratemask", ""), ("ipv4.icmp_errors_use_inbound_ifaddr", 1)):
        host.run(["sysctl", "-qw", f"net.{key}={value}"])
    return host


def configure_linux(host):
    for name, interface in SIDES:
        host.run(f"sysctl -qw net.ipv4.conf.{interface}.rp_filter={1 if name == 'west' else 0}")
        for address in NETWORK["ports"][name]:
            host.run(f"ip addr add {address} dev {interface} " + ("nodad" if ":" in address else ""))
    for route in NETWORK["routes"]:
        hop = f"via {route['via']}" if "via" in route else ""
        # Without lock, senders of IPv6 packets that exceed the link's MTU, too, are told the link's.
        mtu = f"mtu lock {route['mtu']}" if "mtu" in route else ""
        host.run(f"ip route add {route.get('type', '')} {route['to']} {hop} {mtu}")


@contextlib.contextmanager
def driven(lab, prefix, frames_of):
    """Send the frames; yields them and {side: station}, which record the output meanwhile."""
    with Station(lab[f"{prefix}west"], "eth0", NETWORK["hosts"]["west"]) as west, \
            Station(lab[f"{prefix}east"], "eth0", NETWORK["hosts"]["east"]) as east:
        to = west.introduce("10.0.1.1")
        west.introduce("2001:db8:1::1")
        for router in ("10.0.2.1", "2001:db8:2::1"):
            east.introduce(router)
        frames = frames_of(to, west.mac)
        for at in range(0, len(frames), 250):
            west.send(frames[at:at + 250])
            west.ping("10.0.1.1")
        yield frames, {"west": west, "east": east}


def heard(stations, frames):
    """{number: [(side, frame)]}, and the frames without a known number."""
    out, strange = collections.defaultdict(list), []
    for side, station in stations.items():
        for frame in station.frames:
            n = number_of(frame)
            if n is None or not 0 < n <= len(frames):
                strange.append((side, frame))
            else:
                out[n].append((side, frame))
    return out, strange


def essence(side, frame):
    """The part of a frame that must be equal: all of a forwarded frame; of a router's own messages the part that the RFC
    specifies, without implementation choices."""
    packet = frame[14:]
    if frame[12:14] == b"\x08\0":
        upper = packet[(packet[0] & 15) * 4:]
        if packet[12:16] in (b"\x0a\0\1\1", b"\x0a\0\2\1"):
            return _own((side, frame[:6], packet[12:20]), packet[9] == ICMP, packet[9] == TCP, upper, 0, 20)
    else:
        upper = packet[40:]
        if packet[8:24].hex() in ("20010db8000100000000000000000001", "20010db8000200000000000000000001"):
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


@tap.limit(600 if LONG else 120)
def test_what_comes_out_is_what_linux_sends():
    for seed in SEEDS:
        compare(seed)


def compare(seed):
    started = time.monotonic()
    with Lab() as lab:
        hosts = {name: lab.host(name, True) for name in ("lwest", "least", "twest", "teast", "dut")}
        hosts["linux"] = linux_router(lab)
        for prefix, router in (("l", "linux"), ("t", "dut")):
            for name, interface in SIDES:
                lab.cable(hosts[prefix + name], "eth0", hosts[router], interface, MTU[name])
        for (name, interface), end in zip(SIDES, (1, 2)):
            for router, prefix in (("linux", "l"), ("dut", "t")):
                hosts[router].run(f"ip link set {interface} address 02:00:00:00:01:0{end}")
                hosts[prefix + name].run(f"ip link set eth0 address 02:00:00:00:02:0{end}")
        configure_linux(hosts["linux"])
        devices = {name: ({"device": f"net_xsk{n},iface={interface}", "mtu": MTU[name]}, NETWORK["ports"][name])
                   for n, (name, interface) in enumerate(SIDES)}
        devices["west"][0].update(urpf="strict", redirects=True)  # equivalent of rp_filter=1 and send_redirects
        running = Turnpike(lab, hosts["dut"], router_config(devices, NETWORK["routes"], icmp={"rate": 10_000_000}))

        time.sleep(1.5)  # our IPv6 addresses are tentative for a second, and no neighbour is solicited

        def frames_of(to, me):
            maker = Maker(seed, to, me)
            return [maker.frame(n) for n in range(1, FRAMES + 1)]

        with driven(hosts, "t", frames_of) as (frames, ours), driven(hosts, "l", lambda *_: frames) as (_, theirs):
            time.sleep(4.5)  # until the last unreachable neighbour has failed
        report = running.stop()
    turnpike, strange = heard(ours, frames)
    linux, linux_strange = heard(theirs, frames)
    # A few whose numbers the mutations overwrote; Linux also sends some messages by itself.
    known = [essence(*f) for f in linux_strange]
    for f in strange:
        assert essence(*f) in known, f"no sent frame matches {f[1].hex()}"
    check_own_messages(turnpike)
    kinds, unexplained = collections.Counter(), []
    for n, frame in enumerate(frames, 1):
        ours = sorted(map(repr, (essence(*f) for f in turnpike[n])))
        theirs = sorted(map(repr, (essence(*f) for f in linux[n])))
        if ours == theirs:
            kinds["same, " + ("nothing" if not ours else "something")] += 1
            continue
        kind = linux_differences.kind_of(frame, turnpike[n], linux[n])
        kinds[kind or "unexplained"] += 1
        if kind is None:
            unexplained.append(f"{n} {frame.hex()}\n    turnpike {show(turnpike[n])}\n    linux    {show(linux[n])}")
    for kind, count in sorted(kinds.items()):
        print(f"# {count:6} {kind}")
    print(f"# {time.monotonic() - started:.0f} s, drops: { {k: v for k, v in report['drops'].items() if v} }")
    assert not unexplained, f"{len(unexplained)} differences:\n" + "\n".join(unexplained[:25])
    assert kinds["same, something"] > FRAMES / 4, kinds
    redirects = {who: sum(bool(linux_differences.redirects_of(out[n])) for n in range(1, FRAMES + 1))
                 for who, out in (("turnpike", turnpike), ("linux", linux))}
    assert min(redirects.values()) > 0, redirects
    assert report["drops"]["ipv4_source_routed"] > FRAMES / 1000
    assert report["drops"]["urpf"] > FRAMES / 100, report["drops"]


def show(frames):
    return [(side, f.hex()) for side, f in frames] or "nothing"


def check_own_messages(out):
    """IPv4 header checksums are right in all frames from turnpike."""
    for frames in out.values():
        for _side, f in frames:
            if f[12:14] == b"\x08\0":
                assert checksum(f[14:14 + (f[14] & 15) * 4]) == 0, f.hex()
                assert struct.unpack("!H", f[16:18])[0] == len(f) - 14, f.hex()


def test_the_document_has_every_kind():
    rows = linux_differences.documented("Routing")
    assert rows == list(linux_differences.KINDS), (rows, list(linux_differences.KINDS))


if __name__ == "__main__":
    tap.main(globals())
