# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-control: the cost of configuration changes while turnpike forwards; described in doc/bench-control.md."""
import argparse
import json
import os
import sys
import tempfile
import time

from appliance import Appliance, Failed, request_of, write
from changes import one_by_one, prefixes, shuffled, together, via
from command_line import clean_up_at_signals, number
from machine import Machine

NO_PEER = "no peer here accepts a stream of routes"


def parse_options(words):
    p = argparse.ArgumentParser(prog="turnpike-bench-control", allow_abbrev=False, description=__doc__)
    p.add_argument("--json", action="store_true", help="print one JSON object (turnpike.bench/1) on standard output")
    p.add_argument("--quick", action="store_true", help="the same cells with a fifth of the changes")
    p.add_argument("--routes", type=number(20_000, int), default=1_000_000, metavar="N", help="table size (1,000,000)")
    p.add_argument("--rate", default="500k", help="packets per second at each of two ports, in simnic's format (500k)")
    p.add_argument("--max-simd-bitwidth", type=int, choices=(64, 128, 256, 512), help="EAL's")
    p.add_argument("--turnpike", metavar="PROGRAM", help="another build of turnpike")
    return p.parse_args(words)


class Bench:
    def __init__(self, appliance, options):
        self.appliance, self.options, self.cells = appliance, options, []
        self.changes = 200_000 if options.quick else 1_000_000
        self.table = prefixes(options.routes, 1)

    def cell(self, name, work, count=None):
        """Runs work() between two readings of the traffic counters and adds its results to the cell."""
        before, cpu = self.appliance.traffic(), self.appliance.control_cpu_s()
        start = time.monotonic()
        more = work() or {}
        seconds = time.monotonic() - start
        cpu, after = self.appliance.control_cpu_s() - cpu, self.appliance.traffic()
        cell = {"name": name, "seconds": seconds, "control_cpu_s": cpu,
                **{key: after[key] - before[key] for key in after}, "rss_mb": self.appliance.rss_mb(),
                "peer": None, "ratio": None, "why": NO_PEER, **more}
        if count:
            cell |= {"changes": count, "changes_per_s": count / seconds, "changes_per_cpu_s": count / cpu}
        self.cells.append(cell)
        print(line_of(cell), file=sys.stderr, flush=True)

    def send(self, requests):
        for request in requests:
            self.appliance.send(request)

    def load(self):
        requests = together([f"add {to} {via(i)}" for i, to in enumerate(self.table)])
        self.cell("load/socket", lambda: self.send(requests), len(self.table))
        # The same routes from a file, into an empty table.
        routes = os.path.join(self.appliance.folder, "full.routes")
        whole = os.path.join(self.appliance.folder, "full.yaml")
        write(routes, "".join(f"{to} {via(i)}\n" for i, to in enumerate(self.table)))
        write(whole, json.dumps({**self.appliance.base, "routes": [*self.appliance.base["routes"], {"file": routes}]}))
        self.appliance.ask("apply", file=self.appliance.configuration)
        self.cell("load/file", lambda: self.appliance.send(request_of("apply", file=whole)) and None, len(self.table))

    def replace(self, batch):
        count = min(self.changes, len(self.table)) // batch * batch
        lines = [f"replace {to} {via(i + 1)}" for i, to in enumerate(shuffled(self.table, batch)[:count])]
        requests = one_by_one(lines, batch)
        self.cell(f"replace/{batch}", lambda: self.send(requests), count)

    def come_and_go(self, batch):
        there = set(self.table)
        new = [to for to in prefixes(self.changes // 4, 2) if to not in there]
        new = shuffled(new, 3)[:len(new) // batch * batch]
        requests = one_by_one([f"add {to} {via(i)}" for i, to in enumerate(new)], batch)
        requests += one_by_one([f"del {to}" for to in new], batch)
        self.cell(f"add-del/{batch}", lambda: self.send(requests), 2 * len(new))

    def single(self):
        count = 1_000 if self.options.quick else 5_000
        requests = [request_of("change", do=[{"replace": {"route": {"to": to, "via": f"10.0.{i & 1}.{2 + i % 8}"}}}])
                    for i, to in enumerate(shuffled(self.table, 4)[:count])]

        def work():
            took = []
            for request in requests:
                start = time.perf_counter()
                self.appliance.send(request)
                took.append((time.perf_counter() - start) * 1e3)
            took.sort()
            return {"p50_ms": took[count // 2], "p99_ms": took[count * 99 // 100], "max_ms": took[-1]}
        self.cell("single", work, count)

    def statistics(self):
        """The worker's busy cycles per packet, with and without report requests at 100 Hz, alternating."""
        seconds, turns = (0.5, 3) if self.options.quick else (2.0, 5)
        asking = [request_of("show", what=what) for what in ("ports", "drops", "cost")]
        cycles = {"asked": [], "not_asked": []}

        def busy():
            worker = self.appliance.ask("show", what="report")["workers"][0]
            return worker["busy_cycles"], worker["packets"] + worker["injected"]

        def work():
            for _ in range(turns):
                for kind, found in cycles.items():
                    before = busy()
                    start = time.monotonic()
                    for tick in range(1, int(seconds * 100) + 1):
                        if kind == "asked":
                            self.send(asking)
                        time.sleep(max(0.0, start + tick / 100 - time.monotonic()))
                    after = busy()
                    found.append((after[0] - before[0]) / max(1, after[1] - before[1]))
            asked, alone = (sorted(found)[turns // 2] for found in (cycles["asked"], cycles["not_asked"]))
            return {"cpp_asked": asked, "cpp_not_asked": alone, "cost": asked / alone - 1}
        self.cell("statistics/100Hz", work)

    def summary(self):
        by_name = {cell["name"]: cell for cell in self.cells}
        changing = [cell["rss_mb"] for cell in self.cells if cell["name"].startswith(("replace", "add-del"))]
        return {"load_socket_s": by_name["load/socket"]["seconds"], "load_file_s": by_name["load/file"]["seconds"],
                "changes_per_s": by_name["replace/12000"]["changes_per_s"],
                "single_p99_ms": by_name["single"]["p99_ms"], "statistics_cost": by_name["statistics/100Hz"]["cost"],
                "rss_mb_growth": changing[-1] - changing[0], "lost": sum(cell["lost"] for cell in self.cells)}


def line_of(cell):
    rate = f"{cell['changes_per_s']:11.0f} {cell['changes_per_cpu_s']:11.0f}" if "changes" in cell else f"{'':23}"
    rest = ", ".join(f"{key} {cell[key]:.3g}" for key in ("p50_ms", "p99_ms", "max_ms", "cpp_asked", "cpp_not_asked", "cost")
                     if key in cell)
    return (f"{cell['name']:18} {cell['seconds']:7.2f} {rate} {cell['offered']:11} {cell['lost']:7} "
            f"{cell['rss_mb']:7.0f}  {rest}").rstrip()


HEADER = f"{'':18} {'seconds':>7} {'changes/s':>11} {'/CPU s':>11} {'offered':>11} {'lost':>7} {'RSS MB':>7}"


def measure(machine, options, folder):
    with Appliance(machine, folder, options.rate) as appliance:
        isa = appliance.ask("show", what="isa")["isa"]
        tsc_hz = appliance.ask("show", what="cost")["tsc_hz"]
        bench = Bench(appliance, options)
        print(HEADER, file=sys.stderr, flush=True)
        bench.load()
        bench.replace(1_000)
        bench.replace(12_000)
        bench.come_and_go(12_000)
        bench.single()
        bench.statistics()
        return {"schema": "turnpike.bench/1", "bench": "control", "version": appliance.version,
                "host": {"cpu": machine.cpu_name(), "tsc_hz": tsc_hz, "max_simd_bitwidth": isa["max_simd_bitwidth"],
                         "isas": machine.isas()},
                "cells": bench.cells, "summary": bench.summary()}


def main():
    options = parse_options(sys.argv[1:])
    machine = Machine(options.turnpike, options.max_simd_bitwidth)
    why = machine.check(inputs=False)
    if why:
        print(f"turnpike-bench-control: {why}", file=sys.stderr)
        return 2
    clean_up_at_signals()
    os.sched_setaffinity(0, {machine.control_cpu})
    try:
        with tempfile.TemporaryDirectory(prefix="turnpike-control-") as folder:
            envelope = measure(machine, options, folder)
    except Failed as failure:
        print(f"turnpike-bench-control: {failure}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(envelope, indent=1))
    else:
        print("\n".join(f"{key:18} {value:12.3f}" for key, value in envelope["summary"].items()))
    return 0


sys.exit(main())
