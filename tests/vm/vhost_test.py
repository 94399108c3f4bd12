#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Guests at vhost-user ports of turnpike: Debian's kernel in QEMU with virtio NICs. They exchange pings and TCP and UDP streams, and
they and turnpike are restarted meanwhile. West's QEMU listens and turnpike connects; east's QEMU connects."""
import concurrent.futures
import os
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(__file__), "..")]
import image  # noqa: E402
import vhost_guest  # noqa: E402
from lib import tap  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import set_addresses  # noqa: E402

HOST = "10.0.3.2"
# A guest under software emulation beside others on two CPUs: far below the slowest seen.
LEAST_BITS_PER_S = 1e6


class Site:
    """turnpike between two guests, west (10.0.1.2) and east (10.0.2.2), and a host of the kernel (10.0.3.2)."""

    def __init__(self):
        lacking = image.missing(image.VIRTIO_MODULES, header=False) or ("" if shutil.which("iperf3") else "no iperf3: devtools/setup")
        if lacking:
            tap.skip(f"a guest: {lacking}")
        # A guest ends with the thread that started it (PR_SET_PDEATHSIG): these last as long as the site.
        self.threads = concurrent.futures.ThreadPoolExecutor(2)
        self.lab, self.folder = Lab(), tempfile.TemporaryDirectory(prefix="turnpike-vhost-")

    def __enter__(self):
        work = self.folder.name
        self.lab.__enter__()
        self.dut, self.host = self.lab.host("dut", True), self.lab.host("host")
        self.lab.cable(self.host, "eth0", self.dut, "n0")
        set_addresses(self.host, 3)
        made = vhost_guest.initramfs(work)
        self.west = vhost_guest.VhostGuest(work, made, 1, f"{work}/west", listens=True)
        self.east = vhost_guest.VhostGuest(work, made, 2, f"{work}/east", listens=False)
        try:
            self.start()
            list(self.threads.map(lambda guest: guest.boot(), (self.west, self.east)))
            self.east.serve_iperf()
        except BaseException:
            self.close()
            raise
        return self

    def start(self):
        work = self.folder.name
        self.running = Turnpike(self.lab, self.dut, router_config({
            "west": (f"net_vhost0,iface={work}/west,client=1", ["10.0.1.1/24", "2001:db8:1::1/64"]),
            "east": (f"net_vhost1,iface={work}/east", ["10.0.2.1/24", "2001:db8:2::1/64"]),
            "north": ("net_af_packet0,iface=n0", ["10.0.3.1/24", "2001:db8:3::1/64"])}, mempool={"buffers": 16384}))

    def wait_for_path(self, guest, address, seconds=30):
        """Returns the seconds until `address` answered the guest."""
        start = time.monotonic()
        wait_until(lambda: guest.answers(address), f"{address} answers {guest.address}: {self.running.output()}", seconds)
        return time.monotonic() - start

    def close(self):
        for guest in (self.west, self.east):
            guest.kill()
        self.threads.shutdown()
        self.lab.__exit__(None, None, None)
        self.folder.cleanup()

    def __exit__(self, *_):
        self.close()


def lost(pings):
    """Ends a running `ping` by SIGINT; returns (sent, lost)."""
    pings.send_signal(signal.SIGINT)
    said = pings.communicate(timeout=20)[0]
    sent, received = map(int, re.search(r"(\d+) packets transmitted, (\d+) received", said).groups())
    return sent, sent - received


@tap.limit(240)
def test_ping_tcp_and_udp_between_guests():
    with Site() as site:
        west, east = site.west, site.east
        for address in (east.address, east.address6, HOST, "2001:db8:3::2"):
            site.wait_for_path(west, address)
        for address in (east.address, east.address6):
            assert "5 packets received" in west.run(f"ping -c 5 -i 0.1 -s 1400 {address}"), address
        for what in (f"{east.address} -t 2", f"{east.address} -t 2 -R", f"{east.address6} -t 2"):
            got = west.iperf(*what.split(" ", 1))["sum_received"]
            print(f"# TCP {what}: {got['bits_per_second'] / 1e6:.0f} Mbit/s", flush=True)
            assert got["bits_per_second"] > LEAST_BITS_PER_S, got
        udp = west.iperf(east.address, "-u -b 4M -l 1200 -t 3")["sum"]
        print(f"# UDP: {udp['lost_packets']} of {udp['packets']} lost", flush=True)
        assert udp["packets"] > 1000 and udp["lost_packets"] < 0.05 * udp["packets"], udp
        report = site.running.stop()
        assert report["balance"]["tx"] > 5_000, report["balance"]
        # A guest that waits for its CPU does not empty its ring; its kernel sends MLD and DAD.
        assert report["drops"].keys() <= {"stopping", "tx_refused", "ipv6_source", "ipv6_destination"}, report["drops"]


def check_guest_restart(site, victim, other):
    """Traffic of the other guest and of the host loses nothing meanwhile."""
    pings = site.host.start(f"ping -n -q -i 0.02 -W 5 {other.address}", stdout=-1, text=True)
    flood = site.host.start(f"ping -n -q -i 0.005 -W 1 {victim.address}", stdout=-3)
    time.sleep(1)
    victim.kill()
    time.sleep(1)
    victim.boot()
    seconds = site.wait_for_path(other, victim.address)
    site.lab.end(flood)
    sent, missing = lost(pings)
    print(f"# guest {victim.number}: {seconds:.1f} s after its boot it was reached; {missing} of {sent} pings to the other were lost",
          flush=True)
    assert sent > 100 and missing == 0, (sent, missing, site.running.output())


@tap.limit(300)
def test_guests_restart_under_traffic():
    with Site() as site:
        site.wait_for_path(site.west, site.east.address)
        for victim, other in ((site.east, site.west), (site.west, site.east), (site.east, site.west)):
            check_guest_restart(site, victim, other)
        site.east.serve_iperf()
        assert site.west.iperf(site.east.address, "-t 2")["sum_received"]["bits_per_second"] > LEAST_BITS_PER_S
        site.running.stop()


def restart(site, how):
    site.running.process.send_signal(how)
    code = site.running.finish()
    assert code == (0 if how == signal.SIGTERM else -how), (code, site.running.output())
    site.start()


@tap.limit(300)
def test_turnpike_restarts_under_traffic():
    """The guests' connection lasts."""
    with Site() as site:
        site.wait_for_path(site.west, site.east.address)
        for how in (signal.SIGTERM, signal.SIGKILL):
            site.west.start_iperf(site.east.address, "-t 15")
            time.sleep(3)
            restart(site, how)
            print(f"# {how.name}: forwarded {site.wait_for_path(site.west, site.east.address):.1f} s after the start", flush=True)
            got = site.west.iperf_result()["sum_received"]
            assert got["bytes"] > 1 << 20, got
        site.running.stop()


if __name__ == "__main__":
    tap.main(globals())
