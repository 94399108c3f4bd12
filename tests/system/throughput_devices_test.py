#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/devices: turnpike-throughput through Linux, turnpike, testpmd and Open vSwitch by turns, with shorter trials."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.example import check_trials, run_example  # noqa: E402

STEPS = ["Linux router", "turnpike router", "turnpike patch", "testpmd io", "Open vSwitch bridge"]
# Programs run beside this on the same CPUs: a low rate, and any lag, so that each trial counts.
SHORT = {"sizes: [64, imix]": "sizes: [64]", "max: 400k, max_lag_us: 50000, tolerance_ppm: 5000": "max: 2k, max_lag_us: 10000000, "
         "tolerance_ppm: 900000", "trial_ms: 500": "trial_ms: 100", "resolution: 8k": "resolution: 500"}


def test_every_device_forwards():
    result, page, out = run_example("devices", {"router.yaml": SHORT, "bridge.yaml": SHORT}, 200)
    assert [s["name"] for s in result["steps"]] == STEPS, result
    for step in result["steps"]:
        size = step["sizes"][0]
        assert step["complete"] and size["throughput_fps"] > 0, (step["name"], step["result"]["sizes"])
        check_trials(step)
        assert step["name"] in out and step["name"] in page, out


if __name__ == "__main__":
    tap.main(globals())
