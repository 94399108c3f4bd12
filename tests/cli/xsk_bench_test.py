#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-xsk as a user runs it: xsk_bench_test.py PROGRAM [TEST...]"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import machine, tap  # noqa: E402

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=110, check=False)


def interfaces():
    return sorted(os.listdir("/sys/class/net"))


def test_wrong_words_are_refused():
    assert run("--frame", "65").returncode == 2
    assert "--long" in run("--help").stdout


@tap.limit(360)
def test_every_contestant_forwards_and_nothing_is_left():
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("needs root and two CPUs")
    before = interfaces()
    for _ in range(3):
        done = run("--json", "--quick", "--app", "turnpike", "--frame", "64")
        assert done.returncode == 0, done.stderr
        printed = json.loads(done.stdout)
        if all(c["mpps"] is not None for c in printed["cells"]):
            break
        # A cell whose generator had no core to itself is null, with a reason.
        assert all(c["why"] for c in printed["cells"] if c["mpps"] is None), printed["cells"]
    else:
        tap.skip("the machine gave the generator no core to itself, three times")
    assert printed["schema"] == "turnpike.bench/1" and printed["bench"] == "xsk"
    cells = {(c["pmd"], c["mode"]): c for c in printed["cells"]}
    assert set(cells) == {("net_xsk", "driver"), ("net_xsk", "skb"), ("net_af_xdp", "driver"),
                          ("net_af_packet", "kernel")}
    for cell in cells.values():
        assert cell["app"] == "turnpike" and cell["frame_bytes"] == 64
        assert cell["mpps"] > 0, cell
        machine.judge(cell["mpps"] < 1.05 * cell["offered_mpps"], f"more than offered: {cell}")
        # Their ratio depends on the machine's load, and the kernel splits them by its ticks: only the sum is checked.
        assert cell["kernel_cycles"] >= 0 and cell["cycles"] >= 0, cell
        assert cell["kernel_cycles"] + cell["cycles"] > 0, cell
    for mode in ("driver", "skb"):
        ours = cells["net_xsk", mode]
        assert ours["peer"] == "net_af_xdp" and ours["peer_mpps"] == cells["net_af_xdp", "driver"]["mpps"]
        machine.judge(ours["syscalls_per_packet"] < 1 / 24, f"too many system calls a packet: {ours}")
    assert printed["summary"]["mpps_vs_net_af_xdp"] > 0
    assert interfaces() == before


if __name__ == "__main__":
    tap.main(globals())
