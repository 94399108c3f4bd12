#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a packet in instructions: instructions.json, for each path and ISA, held within 2 %.

  budget_test.py PATH_BUDGET COMPILER            a test
  budget_test.py PATH_BUDGET COMPILER --write    writes the measured counts into the file
  budget_test.py PATH_BUDGET COMPILER --compare OTHER    prints both programs' counts

Counted by callgrind over the real worker (path_budget.cpp): deterministic for one binary. Another compiler makes
another binary, so the file is one compiler's. Valgrind knows no AVX-512.
"""
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402

FIGURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")
ISAS = {"scalar": 64, "sse42": 128, "avx2": 256}
TOLERANCE = 0.02
COUNTERS_SHARE = 0.03
WORST_FACTOR = 20
PROGRAM, COMPILER = sys.argv[1], sys.argv[2]


def budget():
    with open(FIGURES, encoding="utf-8") as file:
        return json.load(file)


@functools.cache
def instructions(isa, program=PROGRAM):
    """{path: instructions a packet}"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
             "--toggle-collect=*measured_round*", f"--callgrind-out-file={folder}/out", program, str(ISAS[isa])],
            capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        packets = dict(re.findall(r"^(\w+): (\d+) packets", done.stdout, re.M))
        found = {}
        for file in pathlib.Path(folder).iterdir():
            text = file.read_text(encoding="utf-8")
            if path := re.search(r"^desc: Trigger: Client Request: (\w+)", text, re.M):
                counted = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M)[1])
                found[path[1]] = counted / int(packets[path[1]])
        assert found.keys() == packets.keys(), (found, packets)
        return found


def check(path, isa):
    def test():
        if COMPILER != budget()["compiler"]:
            tap.skip(f"the figures are those of {budget()['compiler']}, this is built by {COMPILER}")
        wanted, is_now = budget()["instructions"][path][isa], instructions(isa)[path]
        assert abs(is_now / wanted - 1) <= TOLERANCE, (
            f"{is_now:.1f} instructions a packet, {wanted} in {FIGURES}: where that is meant, write the file "
            "anew (--write), and say why in the commit")
    return test


def check_counters(path, isa):
    """The machine's counters are on: a worker reads its instructions at each stage of one burst in 64."""
    def test():
        off, on = instructions(isa)[path], instructions(isa)[path + "_counters"]
        assert -0.2 < on - off <= COUNTERS_SHARE * off, f"{on - off:.2f} of {off:.1f} instructions a packet are the counters'"
    return test


def check_worst(isa):
    """No sender makes a packet that costs the worker more than 20 usual ones."""
    def test():
        found = instructions(isa)
        rows = {path: cost / found["ipv4"] for path, cost in found.items() if path.startswith("worst_")}
        assert len(rows) > 10, rows
        for path, times in sorted(rows.items(), key=lambda row: -row[1]):
            print(f"# {path}: {times:.1f} times ipv4, {found[path]:.0f} instructions")
        assert max(rows.values()) <= WORST_FACTOR, rows
    return test


def write():
    found = {path: {isa: round(instructions(isa)[path], 1) for isa in ISAS} for path in sorted(instructions("scalar"))
             if not path.startswith("worst_")}
    with open(FIGURES, "w", encoding="utf-8") as file:
        json.dump({"compiler": COMPILER, "instructions": found}, file, indent=1)
        file.write("\n")


def compare(other):
    """Prints a Markdown table of the widest ISA, and the extremes of all counts."""
    ratios = []
    print("| path | instructions | other build | difference |\n|---|---|---|---|")
    for isa in ISAS:
        ours, theirs = instructions(isa), instructions(isa, other)
        for path in sorted(ours):
            ratios.append(100 * (ours[path] / theirs[path] - 1))
            if isa == list(ISAS)[-1]:
                print(f"| {path} | {ours[path]:.1f} | {theirs[path]:.1f} | {ratios[-1]:+.2f} % |")
    print(f"\n{len(ratios)} counts of {', '.join(ISAS)}: {min(ratios):+.2f} to {max(ratios):+.2f} %, median {statistics.median(ratios):+.2f} %")


if sys.argv[3:] == ["--write"]:
    write()
elif sys.argv[3:4] == ["--compare"]:
    compare(sys.argv[4])
else:
    tests = {f"test_{path}_{isa}": check(path, isa) for path in budget()["instructions"] for isa in ISAS}
    tests |= {f"test_counters_of_{path}_{isa}": check_counters(path, isa) for path in ("patch", "ipv4") for isa in ISAS}
    tests |= {f"test_worst_packets_{isa}": check_worst(isa) for isa in ISAS}
    sys.argv[1:] = []
    tap.main({name: tap.limit(400)(test) for name, test in tests.items()})
