#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-vxlan as a user runs it: vxlan_bench_test.py PROGRAM [TEST...]"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
LOOKUPS = ("simd", "one_entry", "one_entry_bulk", "table")


def bench(*arguments):
    return subprocess.run([PROGRAM, "--no-huge", "-m", "256", "--no-pci", "--", *arguments],
                          capture_output=True, text=True, timeout=120, check=False)


def test_every_lookup_has_its_cells():
    run = bench("--json", "--quick", "--endpoints", "2")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["schema"] == "turnpike.bench/1" and report["bench"] == "vxlan", report
    isas = report["host"]["isas"]
    seen = {(c["family"], c["interleaved"], c["lookup"], c["isa"]) for c in report["cells"]}
    assert seen == {(f, i, lookup, isa) for f in (4, 6) for i in (False, True) for lookup in LOOKUPS
                    for isa in isas}, seen
    for cell in report["cells"]:
        assert cell["endpoints"] == 2 and cell["cycles"] > 0 and cell["peer_cycles"] > 0, cell
        assert cell["peer"] in ("one_entry", "one_entry_bulk"), cell
        assert abs(cell["ratio"] - cell["peer_cycles"] / cell["cycles"]) < 1e-9, cell
    widths = {str(c["width_bits"]) for c in report["cells"] if c["chosen"]}
    assert widths and set(report["summary"]) == widths, report["summary"]
    for width, summary in report["summary"].items():
        # The speedup depends on the machine (doc/bench-vxlan.md); the test requires that a burst by turns is not
        # slower.
        assert summary["simd_vs_one_entry_min"] > 1, (width, summary)
        assert summary["one_endpoint_extra_cycles"] is None, summary  # one endpoint was not asked for


def test_refuses_what_is_no_number_of_endpoints():
    run = bench("--endpoints", "-3")
    assert run.returncode == 2 and "--endpoints is 1 to 1000000, not -3" in run.stderr, run.stderr
    assert run.stdout == "", run.stdout


if __name__ == "__main__":
    tap.main(globals())
