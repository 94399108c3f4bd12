# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's example programs with our plug-ins: built from their sources outside the tree, run between simnics,
and queried by telemetry."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from lib import tap
from lib.hosts import wait_until
from lib.telemetry import Telemetry
from lib.testpmd import peer_environment, vdevs

EXAMPLES = "/usr/share/dpdk/examples"
HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
_folder = tempfile.TemporaryDirectory(prefix="turnpike-dpdk-program-")

# Device counters that must be 0 for a program that forwards everything in order.
UNCLEAN = ("gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign", "rx_missed_errors",
           "rx_errors", "tx_errors", "fault_translation", "fault_descriptor", "fault_tail")


def unclean(port, names=UNCLEAN):
    return {name: port[name] for name in names if port[name] != 0}


def wait_for_hugepages(pages=200):
    """Another program may still be freeing its memory. If the hugepages stay too few, the test reports it."""
    def free():
        with open(HUGEPAGES, encoding="utf-8") as file:
            return int(file.read())
    wait_until(lambda: free() >= pages, lambda: f"{pages} hugepages of 2 MB free ({free()} are)", 60)


def file_prefix(name):
    """Unique for every run: the socket of a crashed run must not be mistaken for the new one's."""
    return f"tpk{os.getpid()}{name}{time.monotonic_ns()}"


def build_example(name, without=""):
    """Path of the program. `without`: suffix of sources that other sources include."""
    sources = os.path.join(EXAMPLES, name)
    program = os.path.join(_folder.name, name)
    if not os.path.isdir(sources):
        tap.skip(f"no {sources} (package dpdk-doc)")
    if not os.path.exists(program):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libdpdk"], check=True, capture_output=True,
                               text=True).stdout.split()
        files = [os.path.join(sources, f) for f in os.listdir(sources)
                 if f.endswith(".c") and not (without and f.endswith(without))]
        subprocess.run(["gcc", "-O2", "-w", "-DALLOW_EXPERIMENTAL_API", f"-I{EXAMPLES}/common", *files, "-o",
                        program, *flags], check=True)
    return program


class Running:
    """A DPDK program on simnics, in the foreground; stopped when the block ends."""

    def __init__(self, program, devices, options, name, eal=("-l", "0")):
        wait_for_hugepages()
        self.prefix = file_prefix(name)
        self.log = os.path.join(_folder.name, f"{self.prefix}.log")
        command = [program, *eal, "--in-memory", "--no-pci", f"--file-prefix={self.prefix}", "-d",
                   "librte_net_simnic.so", *vdevs(devices), "--", *options]
        with open(self.log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=peer_environment())
        self.telemetry = None
        try:
            self.telemetry = Telemetry(self.prefix, self.check_alive)
        except BaseException:
            self.stop()
            raise

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def check_alive(self):
        assert self.process.poll() is None, self.output()

    def wait_for_frames(self, frames, name="gen_received", ports=2):
        """Extended statistics of both ports, once each has received this many frames."""
        counts = []

        def enough():
            self.check_alive()
            counts[:] = [self.telemetry.ask(f"/ethdev/xstats,{p}") for p in range(ports)]
            return all(c.get(name, 0) > frames for c in counts)

        wait_until(enough, lambda: f"{frames} {name}: {counts}\n{self.output()[-2000:]}", 60)
        return counts

    def stop(self):
        if self.telemetry:
            self.telemetry.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(f"/var/run/dpdk/{self.prefix}", ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
