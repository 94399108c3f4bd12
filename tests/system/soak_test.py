#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/soak in its short form: every event once, and nothing lost, leaked or unbalanced."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.build import SLOWDOWN  # noqa: E402
from lib.dut import BUILD, LONG  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../devtools/soak")
MINUTES = 30 if LONG else 0.3
RATE = 50_000 // SLOWDOWN  # the rings hold the packets of 80 ms: beside other tests, a worker waits for its CPU


def module():
    loader = importlib.machinery.SourceFileLoader("soak", PROGRAM)
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
    loader.exec_module(loaded)
    return loaded


@tap.limit(int(60 * MINUTES) + 120)
def test_every_event_under_load():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "result.json")
        done = subprocess.run([sys.executable, PROGRAM, "--minutes", str(MINUTES), "--rate", str(RATE), "--build", BUILD, "--json", file],
                              capture_output=True, text=True, timeout=60 * MINUTES + 100 * SLOWDOWN, check=False)
        print("".join(f"# {line}\n" for line in done.stdout.splitlines()), end="")
        assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
        with open(file, encoding="utf-8") as text:
            result = json.load(text)
    events = module().Events
    assert set(result["events"]) == set(events.names()), result["events"]
    assert result["packets"] > 100_000 and not result["failures"], result
    assert result["lost"] == sum(result["events"][name]["lost"] for name in events.LOSES), result
    assert len(result["resources"]) >= 6, result


def test_wrong_arguments():
    for words, text in ((("--rate", "-5"), "over 0"), (("--rate", "0"), "over 0"), (("--minutes", "nan"), "over 0"),
                        (("--build", "/nowhere"), "there is no turnpike in /nowhere")):
        done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2 and text in done.stderr, (words, done)


def test_growth_is_found():
    soak = module()
    flat = {"at": 0, "resident KB": 100_000, "heap bytes": 1_000_000, "threads": 9, "file descriptors": 30}
    failures = []
    late = lambda n: {**flat, "at": n * soak.WARM_S / 39}  # noqa: E731
    assert soak.growth([late(n) for n in range(40)], failures) and not failures
    for name, step in (("resident KB", 300), ("heap bytes", 20_000), ("threads", 1), ("file descriptors", 1)):
        failures = []
        soak.growth([{**late(n), name: flat[name] + n * step} for n in range(40)], failures)
        assert len(failures) == 1 and failures[0].startswith(name), failures
    failures = []
    soak.growth([{**flat, "at": n, "resident KB": 100_000 + n * 1000} for n in range(40)], failures)
    assert not failures, "the start is not judged"
    assert soak.growth([flat] * 7, []) == {}, "too few samples say nothing"


if __name__ == "__main__":
    tap.main(globals())
