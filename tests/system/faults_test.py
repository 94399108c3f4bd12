#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of doc/reliability.md that no other test has: no free buffer for a time, and a port whose peer stands still or is slow.
Traffic of other ports is checked by sequence numbers."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
from lib import tap  # noqa: E402
from lib.dut import LONG, Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from steer_test import Nothing, Steered  # noqa: E402

EMPTY_S = 60 if LONG else 3
FULL_RATE_AFTER_S = 1.0


def hold_pool(folder):
    """The library for LD_PRELOAD."""
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=True).stdout.split()
    library = f"{folder}/hold_pool.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-DALLOW_EXPERIMENTAL_API", *flags, "-o", library,
                    pathlib.Path(__file__).with_name("hold_pool.c")], check=True)
    return library


def missed(s):
    """Packets that the devices of p0 and p1 had no buffer for."""
    return sum(s.counts(port)["rx_missed_errors"] for port in (0, 1))


@tap.limit(240)
def test_no_free_buffer_for_a_time():
    """Each packet that is lost meanwhile is counted, and a second later none is lost."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-faults-") as folder:
        wanted = pathlib.Path(folder, "wanted")
        s = Steered(lab, under=["env", f"LD_PRELOAD={hold_pool(folder)}", f"HOLD_POOL={wanted}"],
                    mempool={"buffers": 65536, "ops": "ring_mp_mc"})
        _, lost_before, wrong_before = s.settle()
        before = missed(s)
        wanted.touch()
        wait_until(lambda: missed(s) > before + 1000, "the pool is empty")
        time.sleep(EMPTY_S)
        wanted.unlink()
        time.sleep(FULL_RATE_AFTER_S)
        with Nothing(s, "a second after there were buffers again"):
            time.sleep(2)
        _, lost, wrong = s.settle()
        counted = missed(s) - before
        shown, failed = (sum(p[key] for p in s.operator.show("ports")["ports"]) for key in ("rx_missed", "rx_no_buffer"))
        report = s.stop()  # and every buffer is in the pool
        print(f"# {EMPTY_S} s without buffers: {lost - lost_before} packets lost, {counted} counted by ports, drops {report['drops']}")
        dropped = report["balance"]["drops"] - report["drops"].get("local_protocol", 0)
        assert wrong == wrong_before and lost - lost_before == counted + dropped, (lost - lost_before, counted, report["drops"])
        assert shown == before + counted and failed > 0, (shown, before, counted, failed)


@tap.limit(180)
def test_a_port_that_stands_still_or_is_slow():
    """The guest behind a vhost-user port is stopped, and then runs a tenth of the time: only packets to it are lost, as tx_refused."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-faults-") as folder:
        s = Steered(lab, extra=[
            "net_simnic3,wire=gen,rate=5k,l3flows=100,src=198.18.3.1,dst=198.19.0.0", f"net_vhost4,iface={folder}/socket"],
            routes=[{"to": f"198.18.{n}.0/24", "via": f"10.0.{n}.2"} for n in range(2)] + [{"to": "198.19.0.0/16", "via": "10.0.4.2"}])
        peer = Turnpike(lab, lab.host("peer"), patch_config(
            f"net_virtio_user0,path={folder}/socket,queue_size=1024", "net_null0,no-rx=1", eal="-l 0 --no-pci --in-memory --single-file-segments",
            mempool={"buffers": 8192}))

        def to_guest():
            return next(p for p in s.operator.show("ports")["ports"] if p["name"] == "p4")["tx_packets"]

        def refused():
            return s.operator.show("drops")["drops"].get("tx_refused", 0)

        def state():
            return s.operator.show("drops")["drops"], [(p["name"], p["rx_packets"], p["tx_packets"]) for p in s.operator.show("ports")["ports"]]

        wait_until(lambda: to_guest() > 1000, lambda: f"the guest gets packets: {state()}", 60)
        with Nothing(s, "a guest that stands still"):
            peer.process.send_signal(signal.SIGSTOP)
            before = refused()
            wait_until(lambda: refused() > before + 1_000, lambda: f"packets to the guest are dropped: {state()}", 60)
        with Nothing(s, "a guest that is slow"):
            got = to_guest()
            for _ in range(20):
                peer.process.send_signal(signal.SIGCONT)
                time.sleep(0.01)
                peer.process.send_signal(signal.SIGSTOP)
                time.sleep(0.09)
            assert to_guest() > got, "it got some"
        peer.process.send_signal(signal.SIGCONT)
        got, before = to_guest(), refused()
        wait_until(lambda: to_guest() > got + 2_000,  # more than its ring holds
                   lambda: f"the guest gets all again: {to_guest() - got} packets, {refused() - before} refused, {state()}", 60)
        report = s.stop()
        peer.stop()
        assert report["drops"].keys() <= {"tx_refused", "port_down", "local_protocol", "stopping"}, report["drops"]


if __name__ == "__main__":
    tap.main(globals())
