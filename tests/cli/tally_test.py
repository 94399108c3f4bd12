#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/tally counts cases, and says which programs get one more try and what became of it."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(__file__), "../../devtools/tally")


def record(folder, log, **programs):
    """What `meson test` leaves of programs: {"system / router": {"ping": True, ...}}; result by its cases."""
    os.makedirs(f"{folder}/meson-logs", exist_ok=True)
    base = f"{folder}/meson-logs/testlog-{log}"
    with open(base + ".json", "w", encoding="utf-8") as lines, open(base + ".junit.xml", "w", encoding="utf-8") as xml:
        xml.write("<testsuites>")
        for name, cases in programs.items():
            name = "turnpike:" + name.replace("__", " / ")
            result = "OK" if all(cases.values()) else "FAIL"
            lines.write(json.dumps({"name": name, "result": result, "stdout": f"{log} said this"}) + "\n")
            xml.write(f'<testsuite name="turnpike.{name}">')
            for case, passed in cases.items():
                xml.write(f'<testcase name="{case}">{"" if passed else "<failure/>"}</testcase>')
            xml.write("</testsuite>")
        xml.write("</testsuites>")


def tally(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def again(folder):
    code, lines = tally("--again", folder)
    assert code == 0
    return [line for line in lines if line]


def test_counts():
    with tempfile.TemporaryDirectory() as folder:
        record(folder, "most", system__a={"x": True, "y": True}, unit__b={"z": True})
        assert tally(folder) == (0, ["3 passed, 0 failed, 0 skipped"])
        assert again(folder) == []
        record(folder, "quiet", system__c={"x": False, "y": True})
        code, lines = tally(folder)
        assert code == 1 and lines[-1] == "4 passed, 1 failed, 0 skipped", lines
        assert any("system / c: x" in line for line in lines) and "quiet said this" in lines, lines


def test_one_more_try_that_passes():
    with tempfile.TemporaryDirectory() as folder:
        record(folder, "most", system__a={"x": True, "y": False}, unit__b={"z": True})
        assert again(folder) == ["a"]
        record(folder, "again", system__a={"x": True, "y": True})
        code, lines = tally(folder)
        assert code == 0 and lines[-1] == "3 passed, 0 failed, 0 skipped", lines
        assert "most said this" in lines and any("passed only when run again" in line for line in lines), lines


def test_one_more_try_that_fails():
    with tempfile.TemporaryDirectory() as folder:
        record(folder, "most", peer__a={"x": False}, unit__b={"z": True})
        record(folder, "again", peer__a={"x": False})
        code, lines = tally(folder)
        assert code == 1 and lines[-1] == "1 passed, 1 failed, 0 skipped", lines
        assert not any("passed only" in line for line in lines), lines


def test_no_more_try_for_units_or_for_many():
    with tempfile.TemporaryDirectory() as folder:
        record(folder, "most", unit__b={"z": False}, system__a={"x": False})
        assert again(folder) == []
    with tempfile.TemporaryDirectory() as folder:
        record(folder, "most", **{f"system__{n}": {"x": False} for n in range(4)})
        assert again(folder) == []


if __name__ == "__main__":
    tap.main(globals())
