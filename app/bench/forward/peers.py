# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's forwarders as contestants: testpmd, and l2fwd and l3fwd, which Debian ships as source code only."""
import os
import re
import subprocess

from machine import Unavailable
from process import Forwarder, find_program
from workloads import devices_of

EXAMPLES = "/usr/share/dpdk/examples"
# l3fwd's source limits the tables of --lookup=fib to 65,536 routes per family. For a full table, these macros raise the
# limit without other changes to the source.
ROOM = """#include <rte_fib.h>
#include <rte_fib6.h>
#define rte_fib_create(name, socket, conf) ((conf)->max_routes = ROUTES4, rte_fib_create(name, socket, conf))
#define rte_fib6_create(name, socket, conf) \\
    ((conf)->max_routes = ROUTES6, (conf)->trie.num_tbl8 = ROUTES6 * 5 / 2, rte_fib6_create(name, socket, conf))
"""
USUAL_ROOM = 65536


class Examples:
    """DPDK's example programs, built once per run in its folder."""

    def __init__(self, folder):
        self.folder, self.built = folder, {}

    def build(self, name, without="", extra=(), key=""):
        """Builds a program and returns its path. without: suffix of sources that others include; extra: compiler flags; key:
        distinguishes builds with different flags."""
        if name + key not in self.built:
            try:
                self.built[name + key] = self._build(name, without, list(extra), key)
            except (OSError, subprocess.SubprocessError) as why:
                said = getattr(why, "stderr", None) or str(why)
                self.built[name + key] = Unavailable(f"cannot build {name}: {said.strip()[-300:]}")
        if isinstance(self.built[name + key], Unavailable):
            raise self.built[name + key]
        return self.built[name + key]

    def _build(self, name, without, extra, key):
        sources, program = os.path.join(EXAMPLES, name), os.path.join(self.folder, name + key)
        if not os.path.isdir(sources):
            return Unavailable(f"no {sources} (Debian's package dpdk-doc)")
        flags = run("pkg-config", "--cflags", "--libs", "libdpdk").split()
        files = [os.path.join(sources, f) for f in sorted(os.listdir(sources))
                 if f.endswith(".c") and not (without and f.endswith(without))]
        run("gcc", "-O3", "-w", "-DALLOW_EXPERIMENTAL_API", f"-I{EXAMPLES}/common", *extra, *files, "-o", program,
            *flags)
        return program

    def l3fwd(self, routes4, routes6):
        """l3fwd with room for this number of routes in its FIB tables."""
        extra, key = [], ""
        if max(routes4, routes6) >= USUAL_ROOM:
            header = os.path.join(self.folder, "room.h")
            with open(header, "w", encoding="utf-8") as file:
                file.write(ROOM)
            room = [max(USUAL_ROOM - 1, n + 16) for n in (routes4, routes6)]
            extra = ["-include", header, f"-DROUTES4={room[0]}", f"-DROUTES6={room[1]}"]
            key = f"-{room[0]}-{room[1]}"
        return self.build("l3fwd", "_route_parse.c", extra, key)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def start_testpmd(bench, case, rate_pps=0):
    forwarder = Forwarder(bench.machine, bench.folder, "testpmd")
    eal = bench.machine.eal(forwarder.prefix, devices_of(case, bench.folder, rate_pps), case.pool)
    record = ["--record-core-cycles"] if case.workload.guest else []
    forwarder.start([find_program("dpdk-testpmd", "dpdk"), *eal, "--", f"--forward-mode={case.mode}",
                     "--total-num-mbufs=16384", "--no-mlockall", "--no-flush-rx", *record])
    return forwarder


def busy_cycles(testpmd):
    """Cycles per packet of poll rounds with packets. Ends the process, which then prints them."""
    testpmd.end()
    with open(testpmd.log, encoding="utf-8", errors="replace") as log:
        printed = re.findall(r"CPU cycles/packet=([0-9.]+)", log.read())
    if not printed:
        raise Unavailable(f"testpmd printed no cycles per packet: {testpmd.last_words()}")
    return float(printed[-1])


def start_l2fwd(bench, case, rate_pps=0):
    program = bench.examples.build("l2fwd")
    forwarder = Forwarder(bench.machine, bench.folder, "l2fwd")
    eal = bench.machine.eal(forwarder.prefix, devices_of(case, bench.folder, rate_pps), case.pool,
                            str(bench.machine.worker_cpu))
    forwarder.start([program, *eal, "--", "-p", "0x3", "-q", "2", "-T", "0", "-P"])
    return forwarder


def start_l3fwd(bench, case, rate_pps=0):
    tables = case.workload.tables
    routes = [bench.sizes.get(t, 8) if case.mode == "fib" else 0 for t in tables]
    program = bench.examples.l3fwd(*routes)
    forwarder = Forwarder(bench.machine, bench.folder, "l3fwd")
    if max(routes) >= USUAL_ROOM:
        forwarder.note = f"l3fwd holds {USUAL_ROOM} routes; built with room for {max(routes)}"
    rules = [f"{bench.folder}/{t}.l3fwd" for t in tables]
    if case.mode == "acl":  # its IPv6 list takes five-tuples, and must not be empty
        rules[1] = f"{bench.folder}/acl6.l3fwd"
        with open(rules[1], "w", encoding="utf-8") as file:
            file.write("R0:0:0:0:0:0:0:0/0 0:0:0:0:0:0:0:0/0 0 : 65535 0 : 65535 0x00/0x00 1\n")
    eal = bench.machine.eal(forwarder.prefix, devices_of(case, bench.folder, rate_pps), case.pool,
                            str(bench.machine.worker_cpu))
    worker = bench.machine.worker_cpu
    forwarder.start([program, *eal, "--", "-p", "0x3", "-P", f"--lookup={case.mode}",
                     f"--config=(0,0,{worker}),(1,0,{worker})", f"--rule_ipv4={rules[0]}", f"--rule_ipv6={rules[1]}"])
    return forwarder
