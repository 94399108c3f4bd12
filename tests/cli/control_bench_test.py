#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-control as a user runs it: control_bench_test.py PROGRAM [TEST...]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402
from lib.dpdk_program import wait_for_hugepages  # noqa: E402

PROGRAM = sys.argv.pop(1)
CELLS = ["load/socket", "load/file", "replace/1000", "replace/12000", "add-del/12000", "single", "statistics/100Hz"]


def run(*arguments):
    """Returns the finished process and the files left in its temporary folder."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=100, check=False,
                              env={**os.environ, "TMPDIR": folder})
        return done, os.listdir(folder)


def needs_a_machine():
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("needs root and two CPUs")
    wait_for_hugepages()


def test_wrong_words_are_refused():
    for words, part in ((["--routes", "5"], "20000 is the least"), (["--routes", "many"], "invalid number"),
                        (["--turnpike", "/nowhere"], "/nowhere: no such program"), (["--colour"], "--colour")):
        done, _ = run(*words)
        assert done.returncode == 2 and part in done.stderr, (words, done.stderr)
        assert not done.stdout, done.stdout


def test_a_turnpike_that_does_not_start_is_said():
    needs_a_machine()
    done, left = run("--rate", "fast")
    assert done.returncode == 1, done
    assert "turnpike exited with" in done.stderr and "fast" in done.stderr, done.stderr
    assert not left, left


def test_every_cell_is_measured():
    needs_a_machine()
    done, left = run("--json", "--quick", "--routes", "24000", "--rate", "100k")
    assert done.returncode == 0, done.stderr
    assert not left, left
    envelope = json.loads(done.stdout)
    assert (envelope["schema"], envelope["bench"]) == ("turnpike.bench/1", "control"), envelope
    host = envelope["host"]
    assert host.keys() == {"cpu", "tsc_hz", "max_simd_bitwidth", "isas"} and host["isas"][0] == "scalar", host
    cells = {cell["name"]: cell for cell in envelope["cells"]}
    assert list(cells) == CELLS, list(cells)
    for cell in cells.values():
        assert cell["offered"] > 0 and cell["sent"] > 0.9 * cell["offered"], cell
        assert cell["peer"] is None and cell["why"], cell
        assert cell["seconds"] > 0 and cell["control_cpu_s"] > 0 and cell["rss_mb"] > 10, cell
    for name, changes in (("load/socket", 24_000), ("load/file", 24_000), ("replace/1000", 24_000), ("replace/12000", 24_000)):
        assert cells[name]["changes"] == changes, cells[name]
        assert abs(cells[name]["changes_per_s"] * cells[name]["seconds"] - changes) < 1, cells[name]
    single = cells["single"]
    assert 0 < single["p50_ms"] <= single["p99_ms"] <= single["max_ms"], single
    summary = envelope["summary"]
    assert summary["single_p99_ms"] == single["p99_ms"], summary
    assert summary["changes_per_s"] == cells["replace/12000"]["changes_per_s"], summary
    assert all(isinstance(value, (int, float)) for value in summary.values()), summary


if __name__ == "__main__":
    tap.main(globals())
