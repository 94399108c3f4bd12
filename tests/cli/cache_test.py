#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-cache as a user runs it: cache_test.py PROGRAM [TEST...]"""
import collections
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
ARM = ("--geometry", "1:256x4")  # the article's cache: 64 KB of 4 ways


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, **options)


def output(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
    return done.stdout


def lines_per_set(*arguments):
    """{(placement, level): [lines of each set]}"""
    found = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(output("--csv", *arguments))):
        assert int(row["set"]) == len(found[row["placement"], row["level"]])
        found[row["placement"], row["level"]].append(int(row["lines"]))
    return found


def test_help_and_version():
    assert "--geometry" in output("--help")
    assert output("--version").strip()[0].isdigit()


def test_the_articles_histograms():
    """8,192 buffers: at 2,048 bytes gaps (figure 14), at 2,368 none (figure 15), touched lines alike."""
    for size, unused in ((2048, 256 - 24), (2368, 0)):
        lines = lines_per_set("--object", size, "--objects", 8192, *ARM, "--page", "none")["naive", "1"]
        assert len(lines) == 256 and sum(lines) == 3 * 8192
        assert lines.count(0) == unused, lines


def test_ours_is_even_where_the_others_are_not():
    for size in (1024, 2048, 2368, 4096, 8192):
        lines = lines_per_set("--object", size, "--geometry", "1:64x8,2:2048x8", "--objects", 16384)
        for level, sets in (("1", 64), ("2", 2048)):
            ours = lines["turnpike", level]
            assert max(ours) <= 1.15 * sum(ours) / sets, (size, level)
        if size in (2048, 4096, 8192):
            naive = lines["naive", "1"]
            assert max(naive) > 5 * sum(naive) / 64, size


def test_table():
    text = output("--object", 2048, "--geometry", "1:64x8")
    for word in ("naive", "dpdk", "turnpike", "33 lines", "most/mean", "8192 objects of 2048 bytes"):
        assert word in text, text


def test_buffer_size_is_the_data_buffer():
    assert "of 2368 bytes" in output("--buffer-size", 2176, "--geometry", "1:64x8")


def test_this_machines_caches_or_a_clear_error():
    done = run()
    assert done.returncode == 0 or "describes no data cache" in done.stderr, done.stderr
    with tempfile.TemporaryDirectory() as folder:
        done = run("--sysfs", folder)
        assert done.returncode == 1 and "specify the geometry by hand" in done.stderr, done.stderr


def test_figure():
    with tempfile.TemporaryDirectory() as folder:
        done = run("--object", 2048, "--geometry", "1:64x8", "--figure", os.path.join(folder, "sets"))
        if "install it" in done.stderr:
            tap.skip("no gnuplot")
        assert done.returncode == 0, done.stderr
        svg = pathlib.Path(folder, "sets.svg").read_text(encoding="utf-8")
        assert "naive" in svg and "turnpike" in svg and svg.rstrip().endswith("</svg>")
        assert pathlib.Path(folder, "sets.png").read_bytes()[1:4] == b"PNG"


def test_refused():
    for arguments, says in ((("--geometry", "64x8"), "is not a geometry"), (("--object", 0), "--object"),
                            (("--object", 2048, "--buffer-size", 2048), "excludes"), (("--page", "3M"), "--page"),
                            (("--hot", "4096"), "is not in an object"), (("--objects", "-1"), "--objects"),
                            (("--figure", "x", "--level", 3, "--geometry", "1:64x8"), "is none of these caches")):
        done = run(*arguments)
        assert done.returncode == 2 and says in done.stderr and done.stdout == "", (arguments, done.stderr)


if __name__ == "__main__":
    tap.main(globals())
