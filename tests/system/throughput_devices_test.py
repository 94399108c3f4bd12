#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/devices: turnpike-throughput through Linux, turnpike, testpmd and Open vSwitch by turns, with shorter trials."""
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

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/devices"
PROGRAMS = ("turnpike", "turnpikectl", "throughput")
STEPS = ["Linux router", "turnpike router", "turnpike patch", "testpmd io", "Open vSwitch bridge"]
# Programs run beside this on the same CPUs: a low rate, and any lag, so that each trial counts.
SHORT = {"sizes: [64, imix]": "sizes: [64]", "max: 400k, max_lag_us: 50000, tolerance_ppm: 5000": "max: 2k, max_lag_us: 10000000, "
         "tolerance_ppm: 900000", "trial_ms: 500": "trial_ms: 100", "resolution: 8k": "resolution: 500"}


def test_every_device_forwards():
    for program in ("dpdk-testpmd", "ovsdb-server", "ethtool"):
        if shutil.which(program) is None:
            tap.skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        copy = pathlib.Path(folder, "devices")
        shutil.copytree(EXAMPLE, copy)
        for name in ("router.yaml", "bridge.yaml"):
            text = (copy / name).read_text(encoding="utf-8")
            for old, new in SHORT.items():
                assert old in text, (name, old)
                text = text.replace(old, new)
            (copy / name).write_text(text, encoding="utf-8")
        path = ":".join(os.path.join(BUILD, "app", p) for p in PROGRAMS)
        done = subprocess.run([copy / "run", "--output", f"{folder}/result.json", "--html", f"{folder}/result.html"],
                              env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "TMPDIR": folder}, text=True,
                              capture_output=True, timeout=200, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(pathlib.Path(folder, "result.json").read_text(encoding="utf-8"))
        page = pathlib.Path(folder, "result.html").read_text(encoding="utf-8")
        assert result["complete"] and [s["name"] for s in result["steps"]] == STEPS, result
        for step in result["steps"]:
            size = step["sizes"][0]
            assert step["complete"] and size["throughput_fps"] > 0, (step["name"], step["result"]["sizes"])
            for trial in step["result"]["sizes"][0]["trials"]:
                assert trial["frames"]["damaged"] == 0 and trial["misdirected"] == 0, (step["name"], trial)
            assert step["name"] in done.stdout and step["name"] in page, done.stdout
        assert "devices" not in subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
        assert sorted(os.listdir(folder)) == ["devices", "result.html", "result.json"], os.listdir(folder)


if __name__ == "__main__":
    tap.main(globals())
