#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/lookup-limits with its smallest workload: lookup_limits_test.py PROGRAM. A table in L1 reads no line from
elsewhere, so its sum is the cost of its instructions."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve().parents[2]
SCRIPT = ROOT / "devtools/lookup-limits"


def limits(*options):
    return subprocess.run([SCRIPT, "--build", BUILD, *options], capture_output=True, text=True, timeout=110, check=False)


def test_a_table_in_l1_costs_its_instructions():
    run = limits("--json", "acl_1k")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    (row,) = report["rows"]
    assert 50 < row["instructions"] < 1000 and 0.2 < row["ipc"] < 8, row
    assert all(lines >= 0 for lines in row["lines"].values()), row
    assert row["lines"]["DRAM"] < 0.01 < row["lines"]["L2"], row
    cost = report["machine"]["line_cycles"]
    added = sum(lines * cost[level] for level, lines in row["lines"].items())
    assert abs(row["sum_cycles"] - row["l1_cycles"] - added) < 1e-6, row


def test_wrong_names_are_refused():
    run = limits("fib5")
    assert run.returncode != 0 and "fib5" in run.stderr, run
    run = subprocess.run([os.path.join(BUILD, "tests/budget/lookup-limits")], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and "usage" in run.stderr, run


if __name__ == "__main__":
    tap.main(globals())
