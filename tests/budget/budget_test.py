#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a packet may cost, in instructions: instructions.json, for each path and ISA, held within 2 %.

  budget_test.py PATH_BUDGET COMPILER            a test
  budget_test.py PATH_BUDGET COMPILER --write    makes the file say what is

Counted by callgrind over the real worker (path_budget.cpp): deterministic for one binary. Another compiler makes
another binary, so the file is one compiler's. Valgrind knows no AVX-512.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402

FIGURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")
ISAS = {"scalar": 64, "sse42": 128, "avx2": 256}
TOLERANCE = 0.02
PROGRAM, COMPILER = sys.argv[1], sys.argv[2]


def budget():
    with open(FIGURES, encoding="utf-8") as file:
        return json.load(file)


def instructions(path, simd_bits):
    """Instructions a packet of a path."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=*measured_round*", "--collect-atstart=no",
             f"--callgrind-out-file={folder}/out", PROGRAM, path, str(simd_bits)],
            capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(f"{folder}/out", encoding="utf-8") as out:
            counted = int(re.search(r"^(?:summary|totals): (\d+)", out.read(), re.M)[1])
    return counted / int(re.search(r"^(\d+) packets", done.stdout, re.M)[1])


def check(path, isa):
    def test():
        if COMPILER != budget()["compiler"]:
            tap.skip(f"the figures are those of {budget()['compiler']}, this is built by {COMPILER}")
        wanted, is_now = budget()["instructions"][path][isa], instructions(path, ISAS[isa])
        assert abs(is_now / wanted - 1) <= TOLERANCE, (
            f"{is_now:.1f} instructions a packet, {wanted} in {FIGURES}: where that is meant, write the file "
            "anew (--write), and say why in the commit")
    return test


def write():
    paths = budget()["instructions"]
    found = {path: {isa: round(instructions(path, bits), 1) for isa, bits in ISAS.items()} for path in paths}
    with open(FIGURES, "w", encoding="utf-8") as file:
        json.dump({"compiler": COMPILER, "instructions": found}, file, indent=1)
        file.write("\n")


if sys.argv[3:] == ["--write"]:
    write()
else:
    tests = {f"test_{path}_{isa}": check(path, isa) for path in budget()["instructions"] for isa in ISAS}
    sys.argv[1:] = []
    tap.main(tests)
