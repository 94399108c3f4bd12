#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-throughput over simnic's wires: a device of known loss, delay and buffer, and runs that must end with an error."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.dut import BUILD  # noqa: E402

PROGRAM = os.path.join(BUILD, "app/throughput/turnpike-throughput")
FLOWS = 50
# Other programs run on the same CPUs: where only counts are compared, any lag is accepted.
ANY_LAG = "max_lag_us: 10000000, tolerance_ppm: 900000, settle_ms: 100"


class Run:
    """One execution; `right` impairs the frames from left to right."""

    def __init__(self, procedures, right="", left="", rate=f"max: 20k, {ANY_LAG}",
                 wires=("peer:net_simnic1", "peer:net_simnic0")):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-test-")
        self.file = os.path.join(self.folder.name, "run.yaml")
        self.output = os.path.join(self.folder.name, "result.json")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f'ports:\n  - {{name: left, device: "net_simnic0,wire={wires[0]}{left}"}}\n'
                       f'  - {{name: right, device: "net_simnic1,wire={wires[1]}{right}"}}\n'
                       f"traffic: {{flows: {FLOWS}}}\nrate: {{{rate}}}\n{procedures}\n")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([PROGRAM, self.file, "--output", self.output], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def end(self, code=0, seconds=60):
        """The result, or without a result file None; standard output and standard error."""
        try:
            out, errors = self.process.communicate(timeout=seconds)
        finally:
            self.process.kill()
        assert self.process.returncode == code, (self.process.returncode, out, errors)
        if not os.path.exists(self.output):
            return None, out, errors
        with open(self.output, encoding="utf-8") as file:
            return json.load(file), out, errors

    def size(self):
        result, _out, _errors = self.end()
        assert result["complete"] and result["stopped"] is None, result
        return result["sizes"][0]


class Mt19937:
    """std::mt19937_64, by its definition in the C++ standard (rand.eng.mers)."""
    N, M, MASK = 312, 156, (1 << 64) - 1

    def __init__(self, seed):
        self.state = [seed]
        for i in range(1, self.N):
            last = self.state[-1]
            self.state.append((6364136223846793005 * (last ^ last >> 62) + i) & self.MASK)
        self.at = self.N

    def __call__(self):
        if self.at == self.N:
            for i in range(self.N):
                y = self.state[i] & (self.MASK << 31 & self.MASK) | self.state[(i + 1) % self.N] & ((1 << 31) - 1)
                self.state[i] = self.state[(i + self.M) % self.N] ^ y >> 1 ^ (0xB5026F5AA96619E9 if y & 1 else 0)
            self.at = 0
        y = self.state[self.at]
        self.at += 1
        y ^= y >> 29 & 0x5555555555555555
        y ^= y << 17 & 0x71D67FFFEDA60000
        y ^= y << 37 & 0xFFF7EEE000000000
        return y ^ y >> 43


class Wire:
    """simnic's impairments of frames, as its README describes them: shares of loss, corruption, duplicates and reordering."""

    def __init__(self, loss, corrupt, duplicate, reorder):
        self.shares = (loss, corrupt, duplicate, reorder)
        self.random = Mt19937(1)
        self.held = None

    def fate(self):
        drawn = (self.random() >> 11) * 2.0 ** -53
        for kind, share in enumerate(self.shares):
            drawn -= share
            if drawn < 0:
                return kind
        return None

    def carry(self, frame):
        """The frames that arrive, with whether each is damaged."""
        fate = self.fate()
        if fate == 0:
            return []
        if fate == 1:
            return [(frame, True)]
        if fate == 3 and self.held is None:
            self.held = frame
            return []
        out = [(frame, False)] * (2 if fate == 2 else 1)
        if self.held is not None:
            out.append((self.held, False))
            self.held = None
        return out

    def trial(self, number, frames):
        """A receiver's counts of a trial's frames."""
        seen, newest = set(), -1
        count = {"sent": frames, "lost": 0, "received": 0, "damaged": 0, "duplicated": 0, "reordered": 0, "late": 0}
        for n in range(frames):
            for (trial, sequence), damaged in self.carry((number, n)):
                if damaged:
                    count["damaged"] += 1
                elif trial != number:
                    count["late"] += 1
                elif sequence in seen:
                    count["duplicated"] += 1
                else:
                    seen.add(sequence)
                    count["reordered"] += sequence < newest
                    newest = max(newest, sequence)
        count["received"] = len(seen)
        count["lost"] = frames - len(seen) - count["damaged"]
        return count


def test_every_nth_frame_is_lost():
    trials = Run("frame_loss: {trial_ms: 100}", right=",loss_every=7").size()["trials"]
    before = FLOWS  # learning frames
    for t in trials:
        frames = t["frames"]
        after = before + frames["sent"]
        assert frames["lost"] == after // 7 - before // 7 and frames["received"] == frames["sent"] - frames["lost"], t
        assert frames["duplicated"] == frames["reordered"] == frames["damaged"] == 0, t
        before = after
    assert len(trials) >= 10, trials


def test_duplicates_reordering_and_damage():
    shares = {"loss": 0.02, "corrupt": 0.03, "duplicate": 0.05, "reorder": 0.04}
    trials = Run("frame_loss: {trial_ms: 200}", right="".join(f",{k}={v}" for k, v in shares.items())).size()["trials"]
    wire = Wire(**shares)
    wire.trial(0, FLOWS)
    sums = {}
    for number, t in enumerate(trials, 1):
        expected = wire.trial(number, t["frames"]["sent"])
        assert dict(t["frames"], late=t["late"]) == expected, (number, t, expected)
        for key, value in expected.items():
            sums[key] = sums.get(key, 0) + value
    assert all(sums[k] > 100 for k in ("lost", "damaged", "duplicated", "reordered")), sums


def test_known_delay():
    """The minimum: other frames wait while other programs have the receiver's CPU, too."""
    delay = 2000.0
    rows = Run("throughput: {method: rfc2544, trial_ms: 100}\nlatency: {trial_ms: 400, percent: [10, 100]}",
               right=f",delay={delay:.0f}").size()["latency"]
    for row in rows:
        assert delay <= row["min_us"] < 1.05 * delay, row
        assert row["frames"] > 100 and row["min_us"] <= row["p50_us"] <= row["p99_us"] <= row["max_us"], row


def test_known_buffer():
    """A frame leaves every 5 ms, much later than a burst ends."""
    size = Run("back_to_back: {repeats: 2, max_frames: 100}", right=",cap=200,buffer=20",
               rate="max: 400, settle_ms: 1000").size()
    b = size["back_to_back"]
    assert b["min_frames"] == b["max_frames"] == b["buffer_frames"] == 20 and not b["limited"], b


def test_a_rate_above_the_sender_s():
    size = Run("throughput: {method: rfc2544, trial_ms: 50, resolution: 20M}", rate=f"max: 1G, {ANY_LAG}").size()
    assert size["throughput"]["sender_limited"], size["throughput"]
    first = size["trials"][0]
    assert not first["counts"] and "the sender" in first["why"], first


def test_frames_of_others():
    size = Run("frame_loss: {trial_ms: 100}", wires=("gen,rate=2k,src=10.0.0.1,dst=10.1.0.1", "sink")).size()
    for t in size["trials"]:
        assert t["foreign"] > 10 and t["frames"]["received"] == 0, t
        assert t["frames"]["lost"] == t["frames"]["sent"] > 0 and t["misdirected"] == 0, t


def test_a_link_that_is_down():
    result, _out, errors = Run("frame_loss: {trial_ms: 100}", right=",flap=1-600000").end(1, 30)
    assert "port right: its link " in errors, errors
    assert result is None or (not result["complete"] and "port right: its link is down" in result["stopped"]), result


def test_a_link_that_fails_in_a_run():
    result, _out, errors = Run("throughput: {method: rfc2544, trial_ms: 400, trials: 1000}",
                               right=",flap=3000-3000").end(1, 60)
    assert "port right: its link" in errors, errors
    if result is not None:  # not where it was down at the start
        assert not result["complete"] and "its link is down" in result["stopped"], result


def test_an_interrupted_run():
    run = Run("throughput: {method: rfc2544, trial_ms: 200, trials: 1000}")
    assert run.process.stderr.readline().startswith("functional rate: ")  # EAL has started
    time.sleep(4)
    run.process.send_signal(signal.SIGINT)
    started = time.monotonic()
    result, out, _errors = run.end()
    assert time.monotonic() - started < 5
    assert not result["complete"] and "stopped" in result["stopped"], result
    assert result["sizes"][0]["trials"] and not result["sizes"][0]["throughput"]["complete"], result
    assert "not complete: " in out, out


def test_run_files_that_are_refused():
    for text, place, why in (("frame_loss: {trial: 100}", ":6", "trial"), ("frame_loss: {trial_ms: soon}", ":6", "number"),
                             ("latency: {trial_ms: 100}", ":6", "it needs throughput"),
                             ("", ":1", "names no procedure")):
        result, out, errors = Run(text).end(2, 20)
        assert result is None and not out, (text, out)
        assert "run.yaml" + place in errors and why in errors, (text, errors)


if __name__ == "__main__":
    tap.main(globals())
