#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-dma as a user runs it: dma_bench_test.py PROGRAM CONTRARY_DRIVER [TEST...]"""
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
CONTRARY = sys.argv.pop(1)
TESTS = ("LAT_RD", "LAT_WRRD", "BW_RD", "BW_WR", "BW_RDWR")
MEMORY = ("--no-huge", "-m", "256", "--no-pci")
# Results possible with an engine that copies, for each of the paper's tests; and with one that fills writes without
# reading.
COPIES = {"LAT_RD": "upper_bound", "LAT_WRRD": "upper_bound", "BW_RD": "lower_bound", "BW_WR": "lower_bound", "BW_RDWR": "measured"}
FILLS = {**COPIES, "BW_WR": "measured"}


def bench(*arguments, eal=("--vdev=dma_skeleton0",), path=None):
    environment = {**os.environ, **({"PATH": path} if path is not None else {})}
    return subprocess.run([PROGRAM, *MEMORY, *eal, "--", *arguments], capture_output=True, text=True, timeout=60,
                          check=False, env=environment)


def contrary(arguments):
    return ("-d", CONTRARY, f"--vdev=dma_contrary0,{arguments}")


def report_of(run):
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["schema"] == "turnpike.bench/1" and report["bench"] == "dma", report
    return report


def modelled_gbps(cell):
    """Equations 1 to 3 of the paper on its link, gen3 x8 with MPS 256 and MRRS 512: 57.885 Gb/s at the TLP layer."""
    size, up, down = cell["size"], 0, 0
    if cell["test"] != "BW_WR":
        up += math.ceil(size / 512) * 24
        down += math.ceil(size / 256) * 20 + size
    if cell["test"] != "BW_RD":
        up += math.ceil(size / 256) * 24 + size
    return 57.885 * size / max(up, down)


def check_latency(cell):
    ns = cell["latency_ns"]
    order = [ns[name] for name in ("min", "median", "p95", "p99", "p999", "max")]
    assert order == sorted(order) and ns["min"] > 0 and ns["min"] <= ns["mean"] <= ns["max"], cell
    values, shares = zip(*ns["cdf"])
    assert values[0] == ns["min"] and values[-1] == ns["max"] and shares[-1] == 1, cell
    assert list(values) == sorted(set(values)) and list(shares) == sorted(set(shares)) and shares[0] > 0, cell
    assert min(s for v, s in ns["cdf"] if v >= ns["median"]) >= 0.5, cell
    assert ns["count"] == cell["transfers"] * 5, cell
    # Every transfer's data was looked at, and the window behind them.
    assert cell["checked_bytes"] >= ns["count"] * cell["size"] and "gbps" not in cell, cell


def check_cell(cell, means, tsc_hz):
    assert cell["means"] == means[cell["test"]], cell
    assert cell["peer"] is None and cell["why"] and cell["ratio"] is None, cell
    low, high = cell["repetitions"]
    assert 0 < low <= cell["cycles"] <= high, cell
    assert cell["checked_bytes"] >= cell["window"] // 2, cell
    if cell["test"].startswith("LAT"):
        check_latency(cell)
        return
    assert abs(cell["gbps"] - cell["size"] * 8 * tsc_hz / cell["cycles"] / 1e9) < 1e-6 * cell["gbps"], cell
    if cell["offset"] == 0:
        assert abs(cell["model_gbps"] - modelled_gbps(cell)) < 1e-3, cell


def test_every_combination_of_the_six_parameters_has_its_cell():
    asked = {"pattern": ("sequential", "random"), "offset": (0, 4, 63), "size": (1, 64, 200), "window": (4096, 65536),
             "cache": ("cold", "warm", "device")}
    words = [w for name, values in asked.items() for w in (f"--{name}", ",".join(map(str, values)))]
    report = report_of(bench("--json", "--quick", "--node", "0", "--transfers", "300", *words))
    seen = [tuple(c[name] for name in ("test", *asked)) for c in report["cells"]]
    assert sorted(seen) == sorted(itertools.product(TESTS, *asked.values())), len(seen)
    for cell in report["cells"]:
        check_cell(cell, COPIES, report["host"]["tsc_hz"])
        assert cell["node"] == 0 and cell["local"] is True and cell["transfers"] == 300, cell


def test_the_papers_cold_cache():
    report = report_of(bench("--json", "--quick", "--transfers", "300", "--cache", "thrash"))
    assert [(c["test"], c["cache"]) for c in report["cells"]] == [(name, "thrash") for name in TESTS], report["cells"]
    for cell in report["cells"]:
        check_cell(cell, COPIES, report["host"]["tsc_hz"])


def test_says_what_its_engine_cannot_separate():
    run = bench("--json", "--quick", "--transfers", "2000", "--size", "64")
    summary = report_of(run)["summary"]
    assert summary["engine"]["name"] == "dma_skeleton0" and summary["engine"]["pci"] is False, summary
    assert {"mem_to_mem", "copy"} <= set(summary["engine"]["capabilities"]), summary
    assert {name: t["means"] for name, t in summary["tests"].items()} == COPIES, summary
    for name in TESTS:
        assert summary["tests"][name]["how"] in run.stderr, (name, run.stderr)
    assert "no figure shows PCIe" in run.stderr, run.stderr
    for name in ("lat_rd_64_ns", "lat_wrrd_64_ns", "bw_rd_64_gbps", "bw_wr_64_gbps", "bw_rdwr_64_gbps"):
        assert summary[name] > 0, summary


def test_an_engine_that_fills_writes_without_reading():
    report = report_of(bench("--json", "--quick", "--transfers", "2000", "--size", "64,100", "--offset", "0,3",
                             eal=contrary("caps=copy+mem_to_mem+fill")))
    assert {name: t["means"] for name, t in report["summary"]["tests"].items()} == FILLS, report["summary"]
    assert len(report["cells"]) == 20
    for cell in report["cells"]:
        check_cell(cell, FILLS, report["host"]["tsc_hz"])


def test_data_that_is_not_what_was_sent_is_noticed():
    for test, fault in itertools.product(TESTS, ("flip", "lose", "spill")):
        if fault == "spill" and test in ("LAT_RD", "BW_RD"):
            continue  # it spills beside the window, into what no transfer reads
        for caps in ("copy+mem_to_mem", "copy+mem_to_mem+fill"):
            # Behind the 64 copies that wake the engine, at the write of a pair, and nothing comes behind it that would
            # cover it.
            run = bench("--json", "--quick", "--test", test, "--size", "40", "--window", "64K", "--transfers", "500",
                        eal=contrary(f"fault={fault},after={64 + 480},caps={caps}"))
            assert run.returncode == 1 and run.stdout == "", (test, fault, caps, run.returncode, run.stderr)
            assert f"turnpike-bench-dma: {test} of 40 bytes" in run.stderr and "the figures are void" in run.stderr, run.stderr


def test_an_engine_that_fails_is_named():
    for fault, said in (("status", "dma_contrary0: a transfer failed with status"),
                        ("refuse", "dma_contrary0: it rejected a transfer: Input/output error"),
                        ("stuck", "did not complete within 5 s")):
        run = bench("--json", "--quick", "--test", "BW_RD", eal=contrary(f"fault={fault}"))
        assert run.returncode == 1 and said in run.stderr and run.stdout == "", (fault, run.stderr)


def test_what_an_engine_must_have_is_said():
    for caps, said in (("copy", "needs an engine with mem_to_mem; this one has copy"),
                       ("mem_to_mem+fill", "needs an engine with copy; this one has mem_to_mem, fill")):
        run = bench(eal=contrary(f"caps={caps}"))
        assert run.returncode == 1 and said in run.stderr, run.stderr
    run = bench(eal=("--vdev=net_null0",))
    assert run.returncode == 1 and "EAL found no dmadev; pass one to EAL" in run.stderr, run.stderr
    run = bench("--dev", "dma_other")
    assert run.returncode == 1 and "no dmadev 'dma_other'; EAL found dma_skeleton0" in run.stderr, run.stderr


def test_wrong_words_are_refused():
    for words, said in ((["--test", "LAT_WR"], "--test: unknown 'LAT_WR'; known are LAT_RD,"),
                        (["--pattern", "zipf"], "--pattern: unknown 'zipf'; known are sequential, random"),
                        (["--cache", "hot"], "--cache: unknown 'hot'; known are cold, warm, device, thrash"),
                        (["--offset", "64"], "--offset: 64 is not within a cache line: 0 to 63"),
                        (["--size", "0"], "--size: a transfer needs at least one byte"),
                        (["--size", "2M"], "--size: 2M is more than 1048576 bytes"),
                        (["--size", "8k"], "--size: '8k' is not a number of bytes"),
                        (["--window", "4096", "--size", "4097"], "--window: 4096 bytes have room for 0 transfers of 4097"),
                        (["--window", "4K", "--size", "4K", "--test", "BW_RDWR"], "at least 2 are needed"),
                        (["--window", "2G"], "the largest window is 1G"),
                        (["--node", "99"], "--node: no NUMA node '99'; EAL has memory on 0"),
                        (["--depth", "0"], "--depth: 0 is not 1 to 65535"),
                        (["--transfers", "-1"], "--transfers: -1 is not 1 to 10000000"),
                        (["--link", "gen9x3"], "gen9x3"),
                        (["--against", "/dev/null"], "/dev/null: is not a run of turnpike-bench-dma"),
                        (["--frames"], "--frames")):
        run = bench(*words)
        assert run.returncode == 2 and said in run.stderr and run.stdout == "", (words, run.returncode, run.stderr)
    for words, said in ((["--figures", "/nowhere"], "--figures: '/nowhere' is not a folder"),
                        (["--against", "/nowhere"], "/nowhere: cannot be read")):
        run = bench(*words)
        assert run.returncode == 1 and said in run.stderr and run.stdout == "", (words, run.returncode, run.stderr)
    run = bench("--window", "512M")
    assert run.returncode == 1 and "reserve more for EAL" in run.stderr, run.stderr


def numbers_of(path):
    """Columns x and y of each block of a .dat file."""
    blocks = path.read_text(encoding="utf-8").split("\n\n\n")
    return [[tuple(map(float, line.split()[:2])) for line in block.splitlines() if not line.startswith("#")] for block in blocks]


@tap.limit(100)
def test_figures_have_what_was_found_and_what_the_paper_says():
    rows = ("--quick", "--json", "--transfers", "100", "--size", "8,64,128,512", "--window", "8K,64K", "--cache", "cold,warm")
    with tempfile.TemporaryDirectory(prefix="turnpike-dma-") as folder:
        there = pathlib.Path(folder)
        (there / "none").mkdir()
        without = report_of(bench(*rows, "--figures", folder, path=str(there / "none")))
        assert "not drawn: gnuplot is not installed" in without["summary"]["figures"]["5"], without["summary"]
        assert not list(there.glob("*.svg")) and (there / "figure5.gnuplot").exists(), os.listdir(folder)
        kept = there / "kept.json"
        kept.write_text(json.dumps(without), encoding="utf-8")
        report = report_of(bench(*rows, "--figures", folder, "--against", str(kept)))
        for number, said in report["summary"]["figures"].items():
            picture = there / f"figure{number}"
            if number == "8":  # a machine with one node, and EAL without hugepages: nothing is made up
                assert said.startswith("not drawn: BW_RD was measured on one NUMA node only") and not picture.with_suffix(".dat").exists(), said
                continue
            assert said == f"{picture}.svg", said
            assert picture.with_suffix(".svg").stat().st_size > 1000 and picture.with_suffix(".png").stat().st_size > 1000, number
        assert set(report["summary"]["figures"]) == {"4", "5", "6", "7", "8", "9"}, report["summary"]
        found = {(c["test"], c["size"]): c for c in report["cells"] if c["window"] == 8192 and c["cache"] == "warm"}
        reads, model = numbers_of(there / "figure5.dat")[:2]
        assert [x for x, _ in reads] == [8, 64, 128, 512]
        assert all(abs(y - found["BW_RD", x]["gbps"]) < 1e-4 * y for x, y in reads), reads
        assert all(abs(y - modelled_gbps({"test": "BW_RD", "size": x})) < 1e-3 for x, y in model), model[:3]
        assert [(128, 626)] in numbers_of(there / "figure6.dat") and [(128, 529)] in numbers_of(there / "figure6.dat")
        before = {(c["size"], c["window"]): c["gbps"] for c in without["cells"] if c["test"] == "BW_RD" and c["cache"] == "warm"}
        now = {(c["size"], c["window"]): c["gbps"] for c in report["cells"] if c["test"] == "BW_RD" and c["cache"] == "warm"}
        change = numbers_of(there / "figure9.dat")[0]  # of 64 bytes
        assert [x for x, _ in change] == [8192, 65536], change
        for window, percent in change:
            assert abs(percent - 100 * (now[64, window] / before[64, window] - 1)) < 1e-2, (window, percent)


def test_a_figure_that_fails_loses_nothing_else():
    """A gnuplot that fails, and a file that cannot be written: the cells and the other figures' files are there."""
    rows = ("--quick", "--json", "--transfers", "100", "--size", "64,128", "--window", "8K", "--cache", "warm")
    with tempfile.TemporaryDirectory(prefix="turnpike-dma-") as folder:
        there = pathlib.Path(folder)
        (there / "bin").mkdir()
        gnuplot = there / "bin/gnuplot"
        gnuplot.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        gnuplot.chmod(0o755)
        (there / "figure5.dat").mkdir()
        run = bench(*rows, "--figures", folder, path=str(there / "bin"))
        assert run.returncode == 1, run.stderr
        report = json.loads(run.stdout)
        assert len(report["cells"]) == 2 * len(TESTS), report["cells"]
        figures = report["summary"]["figures"]
        assert figures["5"].startswith(f"not drawn: {there}/figure5.dat: cannot be written"), figures
        assert figures["6"].startswith("not drawn: gnuplot: it did not draw the figure") and (there / "figure6.dat").is_file(), figures


def test_the_papers_numbers_are_in_its_text():
    """Where the paper is at hand: each number stands there, in the section that is named."""
    paper = ROOT.parent / "shared" / "sources" / "pcie-performance-end-host.txt"
    if not paper.exists():
        tap.skip("the paper is not at hand (../shared/sources)")
    text = paper.read_text(encoding="utf-8")
    kept = json.loads((ROOT / "data/pcie-bench/paper.json").read_text(encoding="utf-8"))
    for system in kept["systems"]:
        assert system["name"] in text and system["cpu"] in text, system
    for number in kept["numbers"]:
        section = number["where"].split(":")[0]
        begin = text.index(f"\n{section} ")
        body = text[begin:text.index("\n7 LESSON")] if section == "6.4" else text[begin:text.index(f"\n6.{int(section[-1]) + 1} ")]
        size = abs(number["value"])
        said = "no " if size == 0 else "5-7%" if "range" in number else f"{size:g}{'%' if number['unit'] == '%' else number['unit'].lower() if number['unit'] == 'ns' else 'Gb/s'}"
        assert said in body, (number, said)


if __name__ == "__main__":
    tap.main(globals())
