#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/demo, as a first-time user runs it: demo_test.py BUILD_FOLDER [TEST...]"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402
from lib.hosts import wait_until  # noqa: E402

BUILD = sys.argv.pop(1)
DEMO = str(ROOT / "devtools/demo")


def start(folder, *options):
    if os.geteuid() != 0:
        tap.skip("needs root, for network namespaces")
    # A new session: an interrupt from a terminal goes to its whole process group.
    return subprocess.Popen([DEMO, "--short", BUILD, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "TMPDIR": folder}, start_new_session=True)


def nothing_left(folder):
    assert not os.listdir(folder), os.listdir(folder)
    hosts = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    assert "tpkdemo" not in hosts, hosts


def test_it_shows_what_it_says():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        demo = start(folder)
        said, _ = demo.communicate(timeout=90)
        assert demo.returncode == 0, said
        nothing_left(folder)
    parts = [part.split("\n", 1) for part in said.split("\n== ")[1:]]
    shown = {title: text for title, text in parts}
    assert len(shown) == 7, list(shown)
    assert shown["ping, west to east"].count(" 0% packet loss") == 2, said
    for hop in (" 1  10.0.1.1", " 2  10.0.2.2", " 1  2001:db8:1::1", " 2  2001:db8:2::2"):
        assert hop in shown["traceroute, west to east"], said
    rates = re.findall(r"([\d.]+) [GM]bits/sec .*(?:sender|receiver)", shown["iperf3, west to east: TCP, then UDP"])
    assert len(rates) == 4 and all(float(rate) > 0 for rate in rates), said
    assert "cycles/pkt" in shown["the bill"] and "west" in shown["the bill"], said
    last, = (text for title, text in parts if title.startswith("1 s at full rate"))
    assert "cycles/pkt" in last and "left" in last, said


def test_interrupted_it_cleans_up():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        demo = start(folder)
        wait_until(lambda: "== ping" in demo.stdout.readline(), "it is under way", 30)
        os.killpg(demo.pid, signal.SIGINT)
        demo.communicate(timeout=30)
        assert demo.returncode == 130, demo.returncode
        nothing_left(folder)


def test_wrong_words_are_refused():
    for words in (["--long"], ["--short"], ["--short", "a", "b"]):
        done = subprocess.run([DEMO, *words], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2 and "usage: devtools/demo" in done.stderr, (words, done)


if __name__ == "__main__":
    tap.main(globals())
