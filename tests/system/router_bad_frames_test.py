#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad frames received by a router: each is counted under the drop reason of lib/bad_frames."""
import collections
import os
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import bad_frames, tap  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.frames import (ARP, ICMP, ICMPV6, IPV4, IPV6, arp, ethernet, icmp4, mac,  # noqa: E402
                        solicitation)  # noqa: E402
from lib.hosts import Lab  # noqa: E402
from lib.station import Station  # noqa: E402

def expected_drops(rows):
    return collections.Counter(r.outcome for r in rows if r.outcome not in ("forwarded", "fragmented", "consumed"))


def explain(rows, wanted, got):
    """The reasons whose counts differ, and the frames that may be the cause."""
    lines = []
    for reason in sorted(set(wanted) | set(got)):
        if wanted[reason] != got[reason]:
            lines.append(f"{reason}: {got[reason]} instead of {wanted[reason]}")
            lines += [f"    {r.what}" for r in rows if r.outcome == reason][:20]
    return "\n".join(lines)


def icmp_errors(frames):
    """(type, code) of each ICMP error that a station received."""
    out = collections.Counter()
    for f in frames:
        kind = int.from_bytes(f[12:14], "big")
        if kind == IPV4 and f[23] == ICMP and f[34] in (3, 11):
            out["v4", f[34], f[35]] += 1
        elif kind == IPV6 and f[20] == ICMPV6 and f[54] < 128:
            out["v6", f[54], f[55]] += 1
    return out


def is_ipv4_fragment(frame):
    return frame[12:14] == b"\x08\0" and len(frame) >= 22 and frame[20:22] != b"\0\0" and (
        int.from_bytes(frame[20:22], "big") & 0x3FFF) != 0


def drive(device, takes, mtu=None):
    """Send the selected rows through a router over these devices, and compare frames, errors and counters."""
    with Lab() as lab:
        west, dut, east = lab.host("west", True), lab.host("dut", True), lab.host("east", True)
        lab.cable(west, "eth0", dut, "w0", mtu or 1500)
        lab.cable(east, "eth0", dut, "e0")
        config = router_config({name: (device.format(n, interface), bad_frames.ROUTER["ports"][name])
                                for n, name, interface in ((0, "west", "w0"), (1, "east", "e0"))},
                               bad_frames.ROUTER["routes"], icmp={"rate": 1_000_000},
                               neighbours={"rate": 1_000_000})
        running = Turnpike(lab, dut, config)
        if mtu:
            dut.run(f"ip link set w0 mtu {mtu}")  # the driver set it to the port's
        own = (bad_frames.WEST, bad_frames.WEST6, bad_frames.WEST_TOO)
        with Station(west, "eth0", own) as w, Station(east, "eth0", bad_frames.EASTS) as e:
            asked = [w.introduce(r) for r in (bad_frames.US, bad_frames.US6)]
            assert asked == 2 * [mac(dut.mac("w0"))]
            asked += [e.introduce(r) for r in bad_frames.OUR_EAST]
            rows = [r for r in bad_frames.table(asked[0], w.mac) if takes(r.frame)]
            for at in range(0, len(rows), 64):
                w.send(r.frame for r in rows[at:at + 64])
                w.ping(bad_frames.US)
                w.ping(bad_frames.US6)
            time.sleep(0.3)  # all replies are sent, but not yet read here
            report = running.stop()
            check_counters(rows, report, len(asked) + w.pings + w.answers + e.answers)
            check_frames(rows, w, e, mac(dut.mac("e0")))


def check_counters(rows, report, talk):
    """talk: consumed packets to us that are not in the table."""
    wanted = expected_drops(rows)
    got = collections.Counter({reason: n for reason, n in report["drops"].items() if n})
    assert got == wanted, "\n" + explain(rows, wanted, got)
    consumed = sum(r.outcome == "consumed" for r in rows) + talk
    assert report["balance"]["consumed"] == consumed, (report["balance"], consumed)
    assert report["ports"][0]["drops"] == report["drops"]


def check_frames(rows, west, east, east_mac):
    forwarded = [r for r in rows if r.outcome == "forwarded"]
    turned = [r for r in forwarded if r.what in bad_frames.GO_BACK]
    wanted = [bad_frames.after_router(r.frame, east_mac, east.mac) for r in forwarded if r not in turned]
    # Fragments and whole frames of one burst may be reordered.
    whole = [f for f in east.frames if f in wanted or not is_ipv4_fragment(f)]
    assert whole == wanted, first_difference(whole, wanted)
    pieces = [p for r in rows if r.outcome == "fragmented"
              for p in bad_frames.in_pieces(bad_frames.after_router(r.frame, east_mac, east.mac))]
    assert [f for f in east.frames if f not in whole] == pieces
    back = [bad_frames.after_router(r.frame, r.frame[:6], west.mac) for r in turned]
    assert [f for f in west.frames if f in back] == back
    errors = collections.Counter()
    for r in rows:
        if r.reply:
            errors["v6" if r.frame[12:14] == b"\x86\xdd" else "v4", *r.reply] += 1
    assert icmp_errors(west.frames) == errors, (icmp_errors(west.frames), errors)


def test_af_packet():
    # The kernel reassembles IPv4 fragments before net_af_packet gets them (PACKET_FANOUT_FLAG_DEFRAG).
    drive("net_af_packet{},iface={}", lambda frame: not is_ipv4_fragment(frame), mtu=3000)


def test_xsk():
    # No frame exceeds the MTU; but VLAN tags and fragments arrive as on the wire.
    drive("net_xsk{},iface={}", lambda frame: len(frame) <= 1514)


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 17, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def read_pcap(path):
    with open(path, "rb") as file:
        data = file.read()
    at, frames = 24, []
    while at < len(data):
        length = struct.unpack("<I", data[at + 8:at + 12])[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def test_what_no_cable_carries():
    """Frames from files: runts, truncated tags, 64 KB, and padding over several mbufs."""
    us, ours_east = b"\x02pcap\0", b"\x02pcap\1"  # net_pcap's MAC addresses
    west, east = b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"
    t = bad_frames.Table(us, west)
    for n in range(14):
        t.add(f"{n} bytes", "runt", (us + west + b"\x08\0")[:n])
    for n in range(4):
        t.add(f"tag cut to {n}", "vlan_truncated", us + west + b"\x81\0" + b"\0\5\x08"[:n])
    t.ip("64 KB", "fragmented", rest=bytes(range(256)) * 255)
    t.ip("64 KB, do not fragment", "ipv4_too_big", rest=bytes(65515), fragment=0x4000, reply=(3, 4))
    t.ip6("64 KB of IPv6", "ipv6_too_big", rest=bytes(65495), reply=(2, 0))
    t.ip6("64 KB of IPv6 and padding", "ipv6_too_big", rest=bytes(65535), padding=bytes(1000), reply=(2, 0))
    t.ip("64 KB for us", "local_protocol", to=bad_frames.US, rest=bytes(65515), reply=(3, 3))
    t.ip("an echo request of 64 KB", "consumed", to=bad_frames.US, rest=icmp4(8, 0, bytes(65511)), protocol=ICMP)
    t.ip("an echo request of 64 KB, do not fragment", "originated_too_big", to=bad_frames.US,
         rest=icmp4(8, 0, bytes(65511)), protocol=ICMP, fragment=0x4000)
    for padding in (1500, 2000, 2048, 4096, 60000):
        t.ip(f"padding of {padding}", "forwarded", padding=b"\xaa" * padding)
        t.ip6(f"IPv6 padding of {padding}", "forwarded", padding=b"\xaa" * padding)
        t.ip(f"1500 and padding of {padding}", "forwarded", rest=bytes(1480), padding=b"\xaa" * padding)
    talk = [ethernet(b"\xff" * 6, mac_, ARP, arp(1, mac_, address, bytes(6), router))
            for mac_, address, router in ((west, bad_frames.WEST, bad_frames.US),
                                          (east, bad_frames.EAST, bad_frames.OUR_EAST[0]))]
    talk += [solicitation(west, bad_frames.WEST6, bad_frames.US6),
             solicitation(east, bad_frames.EAST6, bad_frames.OUR_EAST[1])]
    with Lab() as lab, tempfile.TemporaryDirectory() as folder:
        write_pcap(f"{folder}/west", [talk[0], talk[2], *(r.frame for r in t.rows)])
        write_pcap(f"{folder}/east", [talk[1], talk[3]])
        config = router_config({name: (f"net_pcap{n},rx_pcap={folder}/{name},tx_pcap={folder}/to-{name}",
                                       bad_frames.ROUTER["ports"][name]) for n, name in enumerate(("west", "east"))},
                               icmp={"rate": 1_000_000})
        running = Turnpike(lab, lab.host("dut", True), config, options=["--duration", "2"])
        assert running.finish() == 0
        report = running.report()
        # The 64 KB echo request that must not be fragmented was to us, too; its reply is dropped.
        check_counters(t.rows, report, len(talk) + 1)
        sent_west, sent_east = (read_pcap(f"{folder}/to-{name}") for name in ("west", "east"))
        forwarded = [bad_frames.after_router(r.frame, ours_east, east) for r in t.rows if r.outcome == "forwarded"]
        forwarded += [p for r in t.rows if r.outcome == "fragmented"
                      for p in bad_frames.in_pieces(bad_frames.after_router(r.frame, ours_east, east))]
        # The first packets wait for their neighbour, so their order may change.
        assert sorted(f for f in sent_east if f[:6] == east and f in forwarded) == sorted(forwarded)
        our_address = bytes(map(int, bad_frames.US.split(".")))
        replies = [f for f in sent_west if is_ipv4_fragment(f) and f[26:30] == our_address]
        assert sum(len(f) - 34 for f in replies) == 65515, len(replies)
        assert sum(icmp_errors(sent_west).values()) == sum(r.reply is not None for r in t.rows)


def first_difference(got, wanted):
    for n, (a, b) in enumerate(zip(got, wanted)):
        if a != b:
            return f"frame {n}: {a.hex()} instead of {b.hex()}"
    return f"{len(got)} frames instead of {len(wanted)}"


if __name__ == "__main__":
    tap.main(globals())
