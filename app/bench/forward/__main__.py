# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-forward: the whole datapath beside other software forwarders, on the same simulated NICs, on one core,
in turn; described in doc/bench-forward.md."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import picture
import report
from command_line import clean_up_at_signals, number
from machine import Machine
from measurement import Bench, measure_group
from workloads import Condition, groups

QUICK = (Condition(), Condition(memory="cold"))
WHOLE = (Condition(), Condition(memory="cold"), Condition(frame="imix"), Condition(load=0.5))


def pattern(text):
    try:
        return re.compile(text)
    except re.error as why:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {why}") from None


def readable(text):
    try:
        with open(text, "rb"):
            return os.path.abspath(text)
    except OSError as why:
        raise argparse.ArgumentTypeError(f"{text}: {why.strerror}") from None


def folder(text):
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text}: no such folder")
    return os.path.abspath(text)


def svg(text):
    if not text.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"'{text}': the file name must end in .svg")
    inside = folder(os.path.dirname(text) or ".")
    if not os.access(inside, os.W_OK):
        raise argparse.ArgumentTypeError(f"{inside}: the folder is not writable")
    return text


def parse_options(words):
    p = argparse.ArgumentParser(prog="turnpike-bench-forward", allow_abbrev=False, description=__doc__)
    p.add_argument("--json", action="store_true", help="print one JSON object (turnpike.bench/1) on standard output")
    p.add_argument("--quick", action="store_true", help="64-byte frames, few of them cold: four minutes")
    p.add_argument("--only", type=pattern, metavar="PATTERN", help="cells whose names match this regular expression")
    p.add_argument("--list", action="store_true", help="print the cells' names and exit")
    p.add_argument("--rounds", type=number(1, int), help="windows per cell and sitting, in turn (5)")
    p.add_argument("--sittings", type=number(1, int), help="number of restarts of all forwarders (2; 1 with --quick)")
    p.add_argument("--seconds", type=number(0.05, float), help="length of a window (0.5; 0.3 with --quick)")
    p.add_argument("--table", type=readable, metavar="FILE", help="a full table, one prefix per line (default: generated)")
    p.add_argument("--rules", type=readable, metavar="FILE", help="ClassBench rules of IPv4 (default: generated)")
    p.add_argument("--max-simd-bitwidth", type=int, choices=(64, 128, 256, 512), help="EAL option for all forwarders")
    p.add_argument("--turnpike", type=readable, metavar="PROGRAM", help="another build of turnpike")
    p.add_argument("--grout", type=folder, metavar="PREFIX", help="also measure grout, installed under this prefix")
    p.add_argument("--vpp", type=folder, metavar="PREFIX", help="also measure VPP, installed under this prefix")
    p.add_argument("--picture", type=svg, metavar="FILE.svg", help="draw the results: .svg, -dark.svg, and .png if possible")
    o = p.parse_args(words)
    o.rounds = o.rounds or 5
    o.sittings = o.sittings or (1 if o.quick else 2)
    o.seconds = o.seconds or (0.3 if o.quick else 0.5)
    return p, o


def chosen(options):
    """Groups of cases; a case at half the full rate includes the full-rate case."""
    every = list(groups(QUICK if options.quick else WHOLE, options.quick))
    wanted = {c.name for g in every for c in g if not options.only or options.only.search(c.name)}
    wanted |= {c.at(load=1.0).name for g in every for c in g if c.name in wanted}
    kept = [[c for c in g if c.name in wanted] for g in every]
    return [g for g in kept if g]


def make_inputs(machine, options, cases, into):
    """Runs the program that creates the inputs in the folder; returns its envelope."""
    make = sorted({name for c in cases for name in c.workload.inputs})
    words = [*machine.width_option(), "-l", str(machine.worker_cpu), "--", "--json", "--into", into]
    for name in make:
        words += ["--make", name]
    for frame in sorted({c.condition.frame for c in cases}):
        words += ["--frame", frame]
    for option in ("table", "rules"):
        if getattr(options, option):
            words += [f"--{option}", getattr(options, option)]
    done = subprocess.run([machine.inputs, *words], capture_output=True, text=True, check=False,
                          preexec_fn=machine.for_children())
    if done.returncode != 0:
        log((done.stderr.strip().splitlines() or ["turnpike-bench-forward: cannot create the inputs"])[-1])
        raise SystemExit(2)
    return json.loads(done.stdout)


def log(line):
    print(line, file=sys.stderr, flush=True)


def measure(machine, options, wanted, into):
    envelope = make_inputs(machine, options, [c for g in wanted for c in g], into)
    bench = Bench(machine, into, options, envelope["host"]["tsc_hz"], envelope["summary"])
    seen = {}
    log(report.HEADER)
    for cases in wanted:
        outcomes = measure_group(bench, cases, seen)
        seen |= {o.case.name: o for o in outcomes}
        for o in outcomes:
            log(report.line_of(o))
    envelope["cells"] = [report.cell_of(o, seen) for o in seen.values()]
    envelope["summary"] = {**report.summary_of(seen), "inputs": bench.sizes}
    return envelope


def main():
    parser, options = parse_options(sys.argv[1:])
    wanted = chosen(options)
    if not wanted:
        parser.error(f"--only '{options.only.pattern}': no cell matches (--list prints their names)")
    if options.list:
        print("\n".join(c.name for g in wanted for c in g))
        return 0
    machine = Machine(options.turnpike, options.max_simd_bitwidth)
    why = machine.check()
    if why:
        log(f"turnpike-bench-forward: {why}")
        return 2
    clean_up_at_signals()
    os.sched_setaffinity(0, {machine.control_cpu})
    with tempfile.TemporaryDirectory(prefix="turnpike-forward-") as into:
        envelope = measure(machine, options, wanted, into)
    print(json.dumps(envelope, indent=1) if options.json else "\n".join(report.summary_lines(envelope["summary"])), flush=True)
    try:
        for line in picture.draw(envelope, options.picture) if options.picture else ():
            log(line)
    except OSError as why:
        log(f"turnpike-bench-forward: {why.filename}: {why.strerror}")
        return 1
    return 0


sys.exit(main())
