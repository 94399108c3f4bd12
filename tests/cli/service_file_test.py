#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/turnpike.service, as systemd reads it: service_file_test.py TURNPIKE TURNPIKECTL [TEST...]"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAMS = {f"/usr/local/bin/{name} ": os.path.abspath(sys.argv.pop(1)) + " " for name in ("turnpike", "turnpikectl")}


def verified(text):
    """The output of `systemd-analyze verify` for a unit, with the paths of the build's programs."""
    if shutil.which("systemd-analyze") is None:
        tap.skip("systemd-analyze (package systemd) is not installed")
    for installed, built in PROGRAMS.items():
        assert installed in text, installed
        text = text.replace(installed, built)
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        unit = pathlib.Path(folder, "turnpike.service")
        unit.write_text(text, encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True,
                              timeout=60, check=False)
    # systemd speaks of units of the machine's own, too.
    return [line for line in (done.stdout + done.stderr).splitlines() if "turnpike" in line]


def example():
    return (ROOT / "examples/turnpike.service").read_text("utf-8")


def test_nothing_is_wrong_with_it():
    said = verified(example())
    assert not said, said


def test_what_would_be_wrong_is_seen():
    for right, wrong in (("WatchdogSec=30", "WatchdogSec=soon"), ("RuntimeDirectory=", "RuntimeFolder="),
                         ("Type=notify", "Type=notifies")):
        assert right in example()
        assert verified(example().replace(right, wrong)), wrong


def test_the_options_of_its_programs_are_theirs():
    """turnpike refuses an unknown option with 2, and a file that is not there."""
    command, = [line.removeprefix("ExecStart=").split() for line in example().splitlines() if line.startswith("ExecStart=")]
    program = PROGRAMS["/usr/local/bin/turnpike "].strip()
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        config = pathlib.Path(folder, "turnpike.yaml")
        config.write_text("ports: [{name: a, device: net_null0, addresses: [10.0.0.1/24]}]\n", encoding="utf-8")
        words = [str(config) if word.endswith(".yaml") else word for word in command[1:]]
        done = subprocess.run([program, *words, "--check"], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    tap.main(globals())
