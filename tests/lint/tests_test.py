#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names that tests must contain: tests_test.py BUILD_FOLDER [TEST...]"""
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1))
# Fuzzers name everything, and so prove nothing of one.
OF_TESTS = ("unit", "system", "peer", "cli", "lib")


def words_of_tests():
    """Every word of the tests' sources."""
    files = [path for folder in OF_TESTS for path in (ROOT / "tests" / folder).rglob("*")
             if path.suffix in (".py", ".cpp", ".hpp")]
    assert len(files) > 100, files
    return set(word for path in files for word in re.findall(r"\w+", path.read_text("utf-8")))


def test_every_test_has_a_name_of_its_own():
    """`meson test NAME` runs all of a name."""
    tests = json.loads((BUILD / "meson-info/intro-tests.json").read_text("utf-8"))
    suites = collections.defaultdict(list)
    for test in tests:
        suites[test["name"]].append(test["suite"])
    assert len(suites) > 20, suites
    several = {name: of for name, of in suites.items() if len(of) > 1}
    assert not several, several


def test_every_drop_reason_is_in_a_test():
    reasons = re.findall(r"^\| `(\w+)` \|", (ROOT / "doc/drops.md").read_text("utf-8"), re.MULTILINE)
    assert len(reasons) > 100, reasons
    words = words_of_tests()
    missing = [reason for reason in reasons if reason not in words]
    assert not missing, missing


def test_every_number_of_show_control_plane_and_bridges_is_in_a_test():
    text = (ROOT / "doc/control.md").read_text("utf-8")
    rows = {what: re.search(rf"^\| `{what}` \|.*$", text, re.MULTILINE).group() for what in ("control-plane", "bridges")}
    names = {name for row in rows.values() for name in re.findall(r"`(\w+)`", row)}
    assert {"not_taken", "not_followed", "messages_lost", "overruns"} <= names, names
    words = words_of_tests()
    missing = sorted(name for name in names if name not in words)
    assert not missing, missing


if __name__ == "__main__":
    tap.main(globals())
