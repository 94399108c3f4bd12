# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own programs with our plug-ins, driven interactively."""
import os
import re
import shutil
import subprocess

from lib.build import BUILD

PLUGIN_FOLDER = os.path.join(BUILD, "drivers/net/simnic")
POOL_FOLDER = os.path.join(BUILD, "drivers/mempool/cache_aware")
POOL_EAL = ["-d", "librte_mempool_cache_aware.so", "--mbuf-pool-ops-name=cache_aware"]
EAL = ["-l", "0-1", "--in-memory", "--no-pci", "--no-telemetry", "-d", "librte_net_simnic.so"]


def peer_environment(folders=(PLUGIN_FOLDER, POOL_FOLDER)):
    """EAL rejects a plug-in path with a world-writable folder, so the dynamic linker searches for the bare
    name."""
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}


def vdevs(devices):
    words = []
    for device in devices:
        words += ["--vdev", device]
    return words


class Testpmd:
    """An interactive dpdk-testpmd; stopped when the block ends."""

    def __init__(self, devices, mode="io", options=(), eal=(), shared=False):
        """shared: with another process"""
        program = shutil.which("dpdk-testpmd")
        assert program, "dpdk-testpmd is not installed (package dpdk)"
        # Its replies go through stdio and its prompt does not: unbuffered, they stay in order.
        own = EAL[2:] if "--lcores" in eal else EAL
        if shared:
            own = [word for word in own if word != "--in-memory"]
        command = ["stdbuf", "-o0", program, *own, *eal, *vdevs(devices), "--", "-i", f"--forward-mode={mode}",
                   "--total-num-mbufs=16384", "--no-flush-rx", "--no-mlockall", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=peer_environment())
        self.log = ""
        self.until_prompt()

    def until_prompt(self):
        text = ""
        while not text.endswith("testpmd> "):
            character = self.process.stdout.read(1)
            if character == "":
                raise AssertionError(f"testpmd ended:\n{self.log}{text}")
            text += character
        self.log += text
        return text

    def command(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.until_prompt()

    def xstats(self, port):
        found = re.findall(r"^(\w+): (\d+)$", self.command(f"show port xstats {port}"), re.M)
        assert found, self.log
        return {name: int(value) for name, value in found}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            try:
                self.process.stdin.write("quit\n")
                self.process.stdin.flush()
                self.process.stdout.read()
                self.process.wait(20)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
