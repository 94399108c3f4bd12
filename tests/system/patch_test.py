#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A cross-connect between hosts: west -- turnpike -- east."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dut import Turnpike, patch_config  # noqa: E402
from lib.flows import lost_datagrams  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import iperf, received  # noqa: E402

AF_PACKET = ("net_af_packet0,iface=w0", "net_af_packet1,iface=e0")
XSK = ("net_xsk0,iface=w0", "net_xsk1,iface=e0")


def two_hosts(lab, mtu=1500):
    west, dut, east = lab.host("west"), lab.host("dut"), lab.host("east")
    lab.cable(west, "eth0", dut, "w0", mtu)
    lab.cable(east, "eth0", dut, "e0", mtu)
    for n, host in ((1, west), (2, east)):
        host.run(f"ip addr add 10.0.0.{n}/24 dev eth0")
        host.run(f"ip addr add 2001:db8::{n}/64 dev eth0 nodad")
    return west, dut, east


def ping(host, address, count=5, options=""):
    host.run(f"ping -q -c {count} -i 0.01 -W 2 {options} {address}")


def drive(devices, **config):
    """Ping with both families in both directions, TCP and UDP through a cross-connect; returns the report."""
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(*devices, **config))
        for host, n in ((west, 2), (east, 1)):
            ping(host, f"10.0.0.{n}")
            ping(host, f"2001:db8::{n}")
        tcp = iperf(lab, west, east, "10.0.0.2")
        assert tcp["sum_received"]["bytes"] > 1_000_000, tcp["sum_received"]
        for sender, receiver, address in ((west, east, "10.0.0.2"), (east, west, "2001:db8::1")):
            lost = lost_datagrams(sender, receiver, address)
            assert not lost, f"to {address}: {len(lost)} from number {lost[0]} on"
        return running.stop()


def test_af_packet():
    report = drive(AF_PACKET)
    assert report["balance"]["tx"] > 1000
    assert [p["driver"] for p in report["ports"]] == ["net_af_packet", "net_af_packet"]
    worker = report["workers"][0]
    assert worker["lcore"] == 1 and worker["cpp"] > 0 and 0 < worker["utilisation"] <= 1
    assert sum(worker["bursts"].values()) > 0
    assert {s["name"] for s in worker["stages"]} == {"rx", "iface_input", "xconnect", "tx"}
    for port in report["ports"]:
        assert port["pcie"]["counted"] is None and port["pcie"]["why"]["counted"]


def test_xsk():
    drive(XSK)


def test_one_lcore():
    report = drive(AF_PACKET, eal="-l 0 --no-pci --in-memory")
    assert [w["lcore"] for w in report["workers"]] == [0]


def test_tap_to_af_packet():
    with Lab() as lab:
        dut, east = lab.host("dut"), lab.host("east")
        lab.cable(east, "eth0", dut, "e0")
        east.run("ip addr add 10.0.0.2/24 dev eth0")
        running = Turnpike(lab, dut, patch_config("net_tap0,iface=tap0", AF_PACKET[1]))
        dut.run("ip addr add 10.0.0.1/24 dev tap0")
        dut.run("ip link set tap0 up")
        # The kernel's end of the tap is the west host.
        dut.run("ip addr add 10.0.0.9/32 dev lo")
        ping(dut, "10.0.0.2", options="-I tap0")
        ping(east, "10.0.0.1")
        report = running.stop()
        assert report["ports"][0]["driver"] == "net_tap"
        assert report["balance"]["tx"] >= 20


def test_jumbo_within_mtu():
    with Lab() as lab:
        west, dut, east = two_hosts(lab, mtu=9000)
        device = "net_af_packet{},iface={},framesz=9216,blocksz=36864,framecnt=1024"
        config = patch_config({"device": device.format(0, "w0"), "mtu": 9000},
                              {"device": device.format(1, "e0"), "mtu": 9000},
                              mempool={"buffers": 4096, "buffer_size": 9344})
        running = Turnpike(lab, dut, config)
        ping(west, "10.0.0.2", options="-M do -s 8972")
        ping(east, "2001:db8::1", options="-M do -s 8952")
        running.stop()


def test_jumbo_in_small_buffers_is_refused():
    with Lab() as lab:
        _west, dut, _east = two_hosts(lab, mtu=9000)
        config = patch_config(*({"device": device, "mtu": 9000} for device in AF_PACKET[:2]))
        running = Turnpike(lab, dut, config, wait=False)
        assert running.finish() == 1
        said = running.output()
        assert "mempool.buffer_size" in said and "turnpike.yaml:" in said, said


def pass_tags(devices, tag_lists):
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(*devices))
        sender, receiver = west.raw("eth0"), east.raw("eth0")
        for tags in tag_lists:
            frame = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01" + tags + b"\x88\xb5" + bytes(range(64))
            sender.send(frame)
            got = wait_until(lambda: _until_test_frame(receiver), f"a frame with tags {tags.hex()}")
            assert got == frame, f"{got.hex()} is not {frame.hex()}"
        running.stop()


ONE_TAG = (b"", b"\x81\x00\x00\x05", b"\x81\x00\xe0\x00", b"\x81\x00\x0f\xff",
           b"\x81\x00\x00\x07\x81\x00\x00\x08")


def test_vlan_tags_pass_af_packet():
    # Without an outer 802.1ad tag: the kernel strips it, and net_af_packet restores it as 802.1Q in any
    # case.
    pass_tags(AF_PACKET, ONE_TAG)


def test_vlan_tags_pass_xsk():
    pass_tags(XSK, (*ONE_TAG, b"\x88\xa8\x00\x07\x81\x00\x00\x08"))


def _until_test_frame(receiver):
    while (frame := receive_frame(receiver, 0.5)) is not None:
        if frame[:12] == b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01":
            return frame
    return None


def test_sigterm_under_load():
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(*AF_PACKET))
        ping(west, "10.0.0.2", count=1)
        server = east.start("iperf3 -s -p 5201", stdout=-3, stderr=-3)
        wait_until(lambda: ":5201" in east.run("ss -ltn").stdout, "iperf3 listens")
        client = west.start("iperf3 -c 10.0.0.2 -u -b 0 -l 100 -t 20", stdout=-3, stderr=-3)
        wait_until(lambda: received(east) > 10_000, "it forwards")
        report = running.stop()
        assert report["balance"]["rx"] > 10_000, report["balance"]
        lab.end(client)
        lab.end(server)


def test_sigint_stops_it_too():
    with Lab() as lab:
        _west, dut, _east = two_hosts(lab)
        Turnpike(lab, dut, patch_config(*AF_PACKET)).stop(signal.SIGINT)


if __name__ == "__main__":
    tap.main(globals())
