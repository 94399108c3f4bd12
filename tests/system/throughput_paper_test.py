#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/paper: the paper's tables of turnpike, testpmd and Open vSwitch on this machine, with shorter trials."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.dut import BUILD  # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/paper"
PROGRAMS = ("turnpike", "turnpikectl", "throughput")
WORKLOADS = ["testpmd io", "turnpike patch", "turnpike bridge", "Open vSwitch bridge", "turnpike router"]
# Programs run beside this on the same CPUs: a low rate, and any lag, so that each trial counts.
SHORT = {"preset: paper": "preset: paper, trials: 1, trial_ms: 100, resolution: 500",
         "max: 14.88M, max_lag_us: 50000, tolerance_ppm: 5000": "max: 2k, max_lag_us: 10000000, tolerance_ppm: 900000, settle_ms: 200"}


def test_every_workload_has_its_row():
    for program in ("dpdk-testpmd", "ovsdb-server", "ethtool"):
        if shutil.which(program) is None:
            tap.skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        copy = pathlib.Path(folder, "paper")
        shutil.copytree(EXAMPLE, copy)
        for name in ("mac.yaml", "ip.yaml"):
            text = (copy / name).read_text(encoding="utf-8")
            for old, new in SHORT.items():
                assert old in text, (name, old)
                text = text.replace(old, new)
            (copy / name).write_text(text.replace("flows: 62500", "flows: 1000"), encoding="utf-8")
        plan = (copy / "paper.yaml").read_text(encoding="utf-8")
        assert "cores: [1, 2]\n" in plan and "smt: both\n" in plan, plan
        # A machine without a second core still has the row, with the reason.
        (copy / "paper.yaml").write_text(plan.replace("cores: [1, 2]\n", "cores: [1, 999]\n"), encoding="utf-8")
        path = ":".join(os.path.join(BUILD, "app", p) for p in PROGRAMS)
        done = subprocess.run([copy / "run", "--output", f"{folder}/result.json", "--html", f"{folder}/result.html"],
                              env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "TMPDIR": folder}, text=True,
                              capture_output=True, timeout=400, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(pathlib.Path(folder, "result.json").read_text(encoding="utf-8"))
        page = pathlib.Path(folder, "result.html").read_text(encoding="utf-8")
        assert result["complete"] and len(result["steps"]) == 4 * len(WORKLOADS), result
        for workload in WORKLOADS:
            one, = [s for s in result["steps"] if (s["workload"], s["cores"], s["smt"]) == (workload, 1, False)]
            assert one["complete"] and one["sizes"][0]["throughput_fps"] > 0, (workload, one)
            for trial in one["result"]["sizes"][0]["trials"]:
                assert trial["frames"]["damaged"] == 0 and trial["misdirected"] == 0, (workload, trial)
            is_ours = workload.startswith("turnpike")
            assert (one["cpp"] is not None) == is_ours and (one["groups"] is not None) == is_ours, (workload, one["cpp"], one["why"])
            # Instructions, or the reason that there are none.
            assert (one["ipp"] is None) == bool(one["why"]) and (is_ours or one["why"] == "no report"), (workload, one["ipp"], one["why"])
            assert workload in done.stdout and workload in page, done.stdout
            many, = [s for s in result["steps"] if (s["workload"], s["cores"], s["smt"]) == (workload, 999, False)]
            assert "for the device" in many["why"] and many["result"] is None, many
        for text in (done.stdout, page):
            assert "method: section 13.4 of the paper, but " in text and "Speedup over 1 core" in text, text
        assert "paper" not in subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
        assert sorted(os.listdir(folder)) == ["paper", "result.html", "result.json"], os.listdir(folder)


if __name__ == "__main__":
    tap.main(globals())
