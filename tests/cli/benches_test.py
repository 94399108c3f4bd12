#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benches of single libraries as a user runs them, each with its shortest measurement: benches_test.py NAME
PROGRAM [TEST...]. The test requires that numbers are there; their values depend on the machine."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

NAME, PROGRAM = sys.argv.pop(1), sys.argv.pop(1)
RULES = "".join(f"@10.{n}.0.0/16\t192.168.{n}.0/24\t0 : 65535\t{n} : {n + 9}\t0x06/0xFF\t0x0000/0x0000\n" for n in range(200))
ROUTES = "".join(f"10.{n}.0.0/16\n10.{n}.{n}.0/24\n" for n in range(200))
# {bench: (options, a file for the last of them, what tells its cells apart)}
BENCHES = {
    "acl": (["--no-updates", "--only", "few.rules", "--rules"], ("few.rules", RULES), ("isa", "traffic", "categories")),
    "hash": (["--key-bytes", "8", "--keys", "3125"], None, ("isa", "hit_rate", "traffic")),
    "fib": (["--family", "4", "--traffic", "one", "--table"], ("few.txt", ROUTES), ("isa", "table", "width_bytes")),
    "mempool": (["--op", "get_put"], None, ("handler",)),
    "pmd": ([], None, ("driver", "burst")),
}
# {bench: a seed of small sets}
FRESH = {"acl": "1", "fib": "1"}


def bench(*options):
    return subprocess.run([PROGRAM, "--no-huge", "-m", "512", "--no-pci", "--no-shconf", "--", *options],
                          capture_output=True, text=True, timeout=100, check=False)


def numbers(value, path=""):
    """(path, number) of every number in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def test_its_cells_are_whole():
    options, file, keys = BENCHES[NAME]
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        if file:
            path = pathlib.Path(folder, file[0])
            path.write_text(file[1], encoding="utf-8")
            options = [*options, str(path)]
        run = bench("--json", "--quick", *options)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["schema"], report["bench"]) == ("turnpike.bench/1", NAME) and report["version"], report
    assert report["host"]["tsc_hz"] > 1e8 and report["host"]["isas"], report["host"]
    cells = report["cells"]
    assert len(cells) > 1, cells
    for key in keys:
        assert all(key in cell for cell in cells), (key, cells)
    measured = [cell for cell in cells if cell.get("cycles") is not None]
    assert measured, cells
    for cell in cells:
        if cell.get("cycles") is None:
            assert cell.get("why") or cell.get("mpps", 0) > 0, cell
            continue
        assert cell["cycles"] > 0, cell
        peer = cell.get("peer_cycles")
        assert (cell["ratio"] is None) == (peer is None), cell
        if peer is not None:
            assert peer > 0 and abs(cell["ratio"] - peer / cell["cycles"]) < 1e-9, cell
    if NAME == "hash":  # no table of 3,125 keys has 100,000 places
        reports = [*report["summary"]["adds"], *(s for width, s in report["summary"].items() if width.isdigit())]
        assert len(reports) > 1 and all(r["load_at_resize"] is None and r["adds_per_s"] > 0 for r in reports), report["summary"]
    summary = dict(numbers(report["summary"]))
    assert summary and all(value > 0 for path, value in summary.items() if "counting" not in path), report["summary"]


def test_fresh_sets_are_those_of_their_seed():
    if NAME not in FRESH:
        run = bench("--fresh")
        assert run.returncode == 2 and "--fresh" in run.stderr, run
        return
    sets = []
    for _ in range(2):
        run = bench("--json", "--quick", "--fresh", "1", "--seed", FRESH[NAME])
        assert run.returncode == 0, run.stderr
        assert f"--fresh 1 --seed {FRESH[NAME]}" in run.stderr, run.stderr
        report = json.loads(run.stdout)
        assert report["summary"]["seed"] == int(FRESH[NAME]), report["summary"]
        rows = [part for part in report["summary"]["256"].values() if part]
        assert rows and all(part["sets"] == 1 and part["geomean"] >= part["least"] > 0 for part in rows), report["summary"]
        sets.append({cell["statistics"] for cell in report["cells"]})
    assert sets[0] == sets[1] and sets[0], sets
    run = bench("--seed", "1")
    assert run.returncode == 2 and "--fresh" in run.stderr, run


if NAME == "hash":  # the shortest; all benches print by the same function
    def test_a_result_that_cannot_be_printed():
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in ((), ("--json",)):
                run = subprocess.run([PROGRAM, "--no-huge", "-m", "512", "--no-pci", "--no-shconf", "--", "--quick", "--only", "adds",
                                      "--key-bytes", "8", "--keys", "3125", *words], stdout=full, stderr=subprocess.PIPE, text=True,
                                     timeout=100, check=False)
                assert run.returncode == 1 and "turnpike-bench-hash: standard output: cannot be written (No space" in run.stderr, run


def test_wrong_words_are_refused():
    for words in (("--nonsense",), ("--quick=x",), ("word",)):
        run = bench(*words)
        assert run.returncode == 2 and run.stderr and not run.stdout, (words, run)


if __name__ == "__main__":
    tap.main(globals())
