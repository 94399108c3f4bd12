#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/paper: the paper's tables of turnpike, testpmd and Open vSwitch on this machine, with shorter trials."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.example import check_trials, run_example  # noqa: E402

WORKLOADS = ["testpmd io", "turnpike patch", "turnpike bridge", "Open vSwitch bridge", "turnpike router"]
# Programs run beside this on the same CPUs: a low rate, and any lag, so that each trial counts.
SHORT = {"preset: paper": "preset: paper, trials: 1, trial_ms: 100, resolution: 500",
         "max: 14.88M, max_lag_us: 50000, tolerance_ppm: 5000": "max: 2k, max_lag_us: 10000000, tolerance_ppm: 900000, settle_ms: 200"}


def test_every_workload_has_its_row():
    # A machine without a second core still has the row, with the reason.
    result, page, out = run_example("paper", {
        "mac.yaml": SHORT, "ip.yaml": {**SHORT, "flows: 62500": "flows: 1000"},
        "paper.yaml": {"cores: [1, 2]\n": "cores: [1, 999]\n", "smt: both\n": "smt: both\n"}}, 400)
    assert len(result["steps"]) == 4 * len(WORKLOADS), result
    for workload in WORKLOADS:
        one, = [s for s in result["steps"] if (s["workload"], s["cores"], s["smt"]) == (workload, 1, False)]
        assert one["complete"] and one["sizes"][0]["throughput_fps"] > 0, (workload, one)
        check_trials(one)
        is_ours = workload.startswith("turnpike")
        assert (one["cpp"] is not None) == is_ours and (one["groups"] is not None) == is_ours, (workload, one["cpp"], one["why"])
        # Instructions, or the reason that there are none.
        assert (one["ipp"] is None) == bool(one["why"]) and (is_ours or one["why"] == "no report"), (workload, one["ipp"], one["why"])
        assert workload in out and workload in page, out
        many, = [s for s in result["steps"] if (s["workload"], s["cores"], s["smt"]) == (workload, 999, False)]
        assert "for the device" in many["why"] and many["result"] is None, many
    for text in (out, page):
        assert "method: section 13.4 of the paper, but " in text and "Speedup over 1 core" in text, text


if __name__ == "__main__":
    tap.main(globals())
