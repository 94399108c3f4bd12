#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-testpmd on net_simnic: every frame at a paced rate arrives, whole and in order."""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.hosts import wait_until  # noqa: E402
from lib.testpmd import EAL, Testpmd, peer_environment, vdevs  # noqa: E402

RATE = "200k"
FAULTS = ("fault_translation", "fault_descriptor", "fault_tail", "rx_missed_errors", "rx_errors",
          "tx_errors", "rx_mbuf_allocation_errors")
DIRTY = ("gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign")


def check_clean(stats, names):
    bad = {name: stats[name] for name in names if stats[name] != 0}
    assert not bad, bad


def forward(mode, arguments, seconds=0.4, options=(), eal=()):
    """Two generators face to face through testpmd; returns both ports' counts after a stop."""
    devices = [f"net_simnic{i},wire=gen,rate={RATE},{arguments}" for i in range(2)]
    with Testpmd(devices, mode, options, eal) as pmd:
        pmd.command("start")
        time.sleep(seconds)
        pmd.command("stop")
        return [pmd.xstats(0), pmd.xstats(1)]


def check_forwarded(counts):
    for here, there in (counts, reversed(counts)):
        check_clean(here, FAULTS + DIRTY)
        assert here["rx_good_packets"] > 10_000, here
        # Frames that testpmd had received when it stopped are not lost: it sent them; frames in its RX ring stay
        # there.
        left = there["rx_good_packets"] - here["gen_received"]
        assert 0 <= left <= 1024, (left, here)
        assert here["tx_good_packets"] == here["gen_received"]


def test_io():
    check_forwarded(forward("io", "size=64"))


def test_mac():
    check_forwarded(forward("mac", "size=64-1518"))


def test_macswap():
    check_forwarded(forward("macswap", "size=imix,profile=i40e"))


def test_hot_plug_beside_a_secondary_process():
    """EAL takes a port back that a secondary process cannot attach."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "hugetlbfs", "none", folder], check=True)
        try:
            eal = ("--file-prefix", f"two{os.getpid()}", "--huge-dir", folder)
            with Testpmd(["net_simnic0,wire=gen"], eal=eal, shared=True) as pmd:
                with Testpmd([], eal=(*eal, "--proc-type=secondary"), shared=True,
                             options=("--num-procs=2", "--proc-id=1")) as other:
                    assert "Port 1 is attached" in pmd.command("port attach net_simnic1,wire=gen"), pmd.log
                    there = other.command("show port summary all")
                    assert "net_simnic0" in there and "net_simnic1" in there, there
                    pmd.command("port stop 1")
                    assert "is detached" in pmd.command("port detach 1"), pmd.log
        finally:
            subprocess.run(["umount", folder], check=True)


def test_cold_memory():
    check_forwarded(forward("mac", "size=64-1518,memory=cold"))


def test_every_profile():
    for profile in ("ixgbe", "i40e", "ice", "e1000", "igb", "niantic-dpdk"):
        check_forwarded(forward("io", f"profile={profile}", seconds=0.5))


def test_every_instruction_set():
    """The burst mode that testpmd shows is the one that its --force-max-simd-bitwidth permits."""
    wide = "avx512f" in open("/proc/cpuinfo", encoding="utf-8").read()
    for bits, isa in ((64, "scalar"), (128, "sse42"), (256, "avx2"), (512, "avx512")):
        if bits == 512 and not wide:
            continue
        devices = [f"net_simnic{i},wire=gen,rate={RATE}" for i in range(2)]
        with Testpmd(devices, "io", eal=[f"--force-max-simd-bitwidth={bits}"]) as pmd:
            assert f"Burst mode: {isa}\n" in pmd.command("show rxq info 0 0")
            pmd.command("start")
            time.sleep(0.3)
            pmd.command("stop")
            check_forwarded([pmd.xstats(0), pmd.xstats(1)])


def test_several_queues():
    """Four queues each way, spread by RSS as testpmd asks for it; queues overtake each other."""
    for here in forward("io", "l3flows=1000", options=["--rxq=4", "--txq=4"]):
        check_clean(here, FAULTS + ("gen_duplicated", "gen_damaged", "gen_foreign"))
        assert here["gen_received"] > 10_000, here
        assert here["gen_lost"] <= 4 * 1024, here  # frames that wait in a queue
        for queue in range(4):
            assert here[f"rx_q{queue}_packets"] > here["rx_good_packets"] / 8, here
            assert here[f"tx_q{queue}_packets"] > 0, here


def test_two_workers_on_two_queues():
    """A core each: what each receives it sends, and the halves are alike."""
    for here in forward("io", "l3flows=1000", options=["--rxq=2", "--txq=2", "--nb-cores=2"],
                        eal=["--lcores", "0@0,1@0,2@1"]):
        check_clean(here, ("fault_translation", "fault_descriptor", "fault_tail", "gen_duplicated", "gen_damaged",
                           "gen_foreign"))
        for queue in range(2):
            assert abs(here[f"rx_q{queue}_packets"] / here["rx_good_packets"] - 0.5) < 0.05, here


def test_jumbo_frames():
    """Five buffers a frame, received and sent."""
    check_forwarded(forward("io", "size=64-9018", options=["--max-pkt-len=9018", "--enable-scatter",
                                                          "--tx-offloads=0x8000"]))


def test_virtual_addresses():
    check_forwarded(forward("mac", "size=64", eal=["--iova-mode=va"]))


def test_external_memory():
    """Buffers outside EAL's own memory, registered with it."""
    check_forwarded(forward("io", "size=64", options=["--mp-alloc=xmemhuge"]))


def test_the_device_on_a_thread():
    """The device's own thread, on a machine with other busy processes: a slow wire, big rings."""
    devices = [f"net_simnic{i},wire=gen,rate=20k,engine=thread" for i in range(2)]
    with Testpmd(devices, "io", ["--rxd=4096", "--txd=4096"]) as pmd:
        pmd.command("start")
        # Wire time stops with the thread, so how long this takes is the machine's business.
        wait_until(lambda: all(pmd.xstats(p)["gen_received"] > 2_000 for p in (0, 1)), "2,000 frames", 60)
        pmd.command("stop")
        counts = [pmd.xstats(0), pmd.xstats(1)]
    for here in counts:
        check_clean(here, ("fault_translation", "fault_descriptor", "fault_tail", "gen_duplicated",
                           "gen_reordered", "gen_damaged", "gen_foreign"))
        assert here["gen_lost"] == 0, here


def test_swapped_addresses_keep_the_ttl():
    """testpmd's 5tswap turns addresses and ports round; checksums and TTL stay right."""
    for here in forward("5tswap", "size=64", seconds=0.3):
        assert here["gen_ttl_kept"] == here["gen_received"] > 1000, here
        assert here["gen_ttl_decremented"] == 0


def test_rxonly():
    counts = forward("rxonly", "size=64-1518")
    for here in counts:
        check_clean(here, FAULTS)
        assert here["rx_good_packets"] > 10_000
        assert here["tx_good_packets"] == 0


def test_txonly_and_flowgen_over_a_cable():
    for mode in ("txonly", "flowgen"):
        devices = ["net_simnic0,wire=peer:net_simnic1,link=10", "net_simnic1,wire=peer:net_simnic0,link=10"]
        with Testpmd(devices, mode) as pmd:
            assert "Link status: up" in pmd.command("show port info 0")
            pmd.command("start")
            time.sleep(0.5)
            pmd.command("stop")
            one, other = pmd.xstats(0), pmd.xstats(1)
        for here, there in ((one, other), (other, one)):
            check_clean(here, ("fault_translation", "fault_descriptor", "fault_tail", "tx_errors"))
            assert here["tx_good_packets"] > 1000, here
            # Each sent frame was received, waits in the cable, or was lost where the host did not receive it.
            assert there["rx_good_packets"] + there["wire_fifo_lost"] <= here["tx_good_packets"]
            # a FIFO of 1 MB holds at most 1 MB / 72 frames of 64 bytes
            assert here["tx_good_packets"] - there["rx_good_packets"] - there["wire_fifo_lost"] <= 15_000


def test_wrong_arguments_are_refused_by_name():
    for arguments, says in (("profile=mlx5", "profile=mlx5: an Intel-style ring cannot emulate this device"),
                            ("wire=gen,size=10", "size=10: size takes frame bytes"),
                            ("colour=red", "colour=red: unknown argument")):
        done = subprocess.run(["dpdk-testpmd", *EAL, *vdevs([f"net_simnic0,{arguments}"])],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                              check=False, env=peer_environment())
        assert says in done.stdout + done.stderr, done.stderr


if __name__ == "__main__":
    tap.main(globals())
