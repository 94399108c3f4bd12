#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests that doc/security.md and doc/reliability.md name exist."""
import functools
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)", re.MULTILINE)


@functools.cache
def unit_tests():
    return {f"{suite}.{name}" for file in (ROOT / "tests").rglob("*.cpp")
            for suite, name in UNIT.findall(file.read_text(encoding="utf-8"))}


def is_missing(name):
    """name: SUITE.TEST, FILE or FILE: TEST, below tests/."""
    if "/" not in name:
        return name not in unit_tests()
    file, _, test = name.partition(": ")
    path = ROOT / "tests" / file
    return not path.is_file() or (test != "" and f"def test_{test}(" not in path.read_text(encoding="utf-8"))


def named(page):
    """The names in the last column of the tables with three columns."""
    for line in (ROOT / "doc" / page).read_text(encoding="utf-8").splitlines():
        cells = line.strip("|").split("|") if line.startswith("|") else []
        if len(cells) == 3 and cells[2].strip() not in ("test", "---"):
            names = re.findall(r"`([^`]+)`", cells[2])
            assert names, f"no test: {line}"
            yield from names


def test_each_named_test_exists():
    by_page = {page: list(named(page)) for page in ("security.md", "reliability.md")}
    names = [name for all_ in by_page.values() for name in all_]
    assert all(len(all_) > 40 for all_ in by_page.values()), by_page
    missing = [name for name in names if is_missing(name)]
    assert not missing, missing


def test_a_missing_one_is_found():
    for name in ("nowhere.at_all", "system/nowhere_test.py", "system/control_test.py: nowhere"):
        assert is_missing(name), name
    assert not is_missing("system/control_test.py")


if __name__ == "__main__":
    tap.main(globals())
