#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-bench-forward as a user runs it: forward_bench_test.py PROGRAM [TEST...]"""
import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.append(str(ROOT / "app/bench/forward"))
from lib import machine, tap  # noqa: E402
from lib.dpdk_program import wait_for_hugepages  # noqa: E402
from lib.dut import LONG  # noqa: E402
from lib.hosts import wait_until  # noqa: E402
from machine import Machine  # noqa: E402

PROGRAM = sys.argv.pop(1)
SHORT_CELLS = "^patch/64/(turnpike|testpmd-mac|vpp)|^bridge_3125/64/turnpike"
GUEST_CELLS = "|^vhost/64/(turnpike|ovs-flows)|^memif/64/(turnpike|testpmd-io)"
LONG_CELLS = "|^(trunk|vlan|stick|stranger|workers|vxlan_in|vxlan_out)/64/turnpike|^(ip4_small|mixed)/64/(turnpike|l3fwd-lpm)"
SHORT = ("--json", "--quick", "--rounds", "1", "--seconds", "0.1")


class Run:
    """The bench in a separate temporary folder, so that the test sees the files left there."""

    def __init__(self, *arguments, **environment):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-test-")
        self.process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, "TMPDIR": self.folder.name, **environment})

    def finish(self):
        self.stdout, self.stderr = self.process.communicate(timeout=100)
        return self.process.returncode

    def forwarders(self):
        """Process ids of what it started: their run-time folders have its id."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    if f"tpkforward{self.process.pid}n".encode() in file.read():
                        found.append(int(path.split("/")[2]))
            except OSError:
                continue
        return found

    def left_behind(self):
        return [*os.listdir(self.folder.name), *glob.glob(f"/var/run/dpdk/tpkforward{self.process.pid}n*"),
                *self.forwarders()]


def needs_a_machine():
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("needs root and two CPUs")
    wait_for_hugepages()


def our_priority():
    """The session's scheduling group, which children share until they start a session."""
    try:
        return pathlib.Path("/proc/self/autogroup").read_text("utf-8")
    except OSError:
        return None  # a kernel without such groups


def measured(*arguments, **environment):
    needs_a_machine()
    run, before = Run(*SHORT, *arguments, **environment), our_priority()
    assert run.finish() == 0, run.stderr
    assert our_priority() == before, f"{before} is {our_priority()} now"
    assert not run.left_behind(), run.left_behind()
    return json.loads(run.stdout), run.stderr


def test_wrong_words_are_refused():
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as bad:
        bad.write("10.0.0.0/8\n10.0.0.0/33\n")
        bad.flush()
        for arguments, part in (
            (("--only", "nosuch"), "no cell matches"),
            (("--only", "("), "argument --only: '(' is not a regular expression"),
            (("--rounds", "0"), "argument --rounds: '0': 1 is the least"),
            (("--seconds", "x"), "argument --seconds: invalid number value: 'x'"),
            (("--seconds", "nan"), "argument --seconds: 'nan': 0.05 is the least"),
            (("--table", "/nowhere"), "argument --table: /nowhere: No such file or directory"),
            (("--picture", "x.png"), "argument --picture: 'x.png': the file name must end in .svg"),
            (("--picture", "/nowhere/x.svg"), "argument --picture: /nowhere: no such folder"),
            (("--grout", "/nowhere"), "argument --grout: /nowhere: no such folder"),
            (("--max-simd-bitwidth", "3"), "argument --max-simd-bitwidth: invalid choice: 3"),
            (("--table", bad.name, "--only", "^ip4_full_zipf/64/turnpike"), f"{bad.name}:2: "),
            (("--rules", bad.name, "--only", "^acl1k/64/turnpike"), f"{bad.name}:1: "),
        ):
            if "full" in arguments[-1] or "acl" in arguments[-1]:
                needs_a_machine()
            run = Run(*arguments)
            assert run.finish() == 2, f"{arguments}: exit {run.process.returncode}, {run.stderr}"
            assert part in run.stderr and run.stdout == "", f"{arguments}: {run.stderr}"
            assert not run.left_behind(), run.left_behind()


def test_every_cell_has_a_name_of_its_own():
    run = Run("--list")
    assert run.finish() == 0
    names = run.stdout.split()
    assert len(names) > 200 and len(set(names)) == len(names)
    for name in ("patch/64/testpmd-io", "ip4_small/64-cold/l3fwd-lpm", "acl10k/imix/l3fwd-acl", "mixed/64-50%/turnpike",
                 "bridge_1M/64/ovs-normal", "flood/64/ovs-normal", "learning/64/turnpike-new", "vlan/64/ovs-vlan-routes", "vxlan_out/imix/ovs-vxlan", "vhost/64/ovs-flows", "memif/imix/testpmd-io", "ip6_full_zipf/64/grout-routes", "ip4_small/64-ring_mp_mc/turnpike"):
        assert name in names, name


def check_cell(cell):
    machine.judge(cell["lost"] < 0.01, f"{cell['lost']:.2%} were lost: {cell}")
    assert cell["mpps"] > 0 and cell["cpp_wall_min"] <= cell["cpp_wall"], cell
    lines = cell["pcie"]["per_packet"]["lines"]
    assert lines["rd_cur"] >= 1 and cell["pcie"]["writes"] == lines["itom"] + lines["rfo"] >= 1, cell["pcie"]
    assert cell["pcie"]["mmio"] > 0 and cell["engine_cycles"] > 0, cell


@tap.limit(110)
def test_cells_and_summary():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        printed, said = measured("--only", SHORT_CELLS + GUEST_CELLS + (LONG_CELLS if LONG else ""), "--picture", f"{folder}/it's <one>.svg")
        for file in ("it's <one>.svg", "it's <one>-dark.svg"):
            assert xml.etree.ElementTree.parse(f"{folder}/{file}").getroot().tag.endswith("svg")
        pngs = [line for line in said.splitlines() if ".png" in line]
        assert len(pngs) == 2 and all(os.path.exists(line[6:]) if line.startswith("wrote ") else "rsvg-convert" in line
                                      for line in pngs), said
    assert (printed["schema"], printed["bench"]) == ("turnpike.bench/1", "forward") and printed["version"]
    assert {"cpu", "tsc_hz", "max_simd_bitwidth", "isas"} <= printed["host"].keys() and printed["host"]["tsc_hz"] > 1e8
    assert printed["host"]["isas"] == Machine().isas(), "lib/isa's, which turnpike-bench-control does not ask"
    cells = {c["name"]: c for c in printed["cells"]}
    for name in ("patch/64/turnpike", "patch/64/testpmd-mac", "bridge_3125/64/turnpike"):
        check_cell(cells[name])
    check_against_peer(cells["patch/64/turnpike"], "testpmd mac")
    summary = printed["summary"]
    expected = cells["patch/64/turnpike"]["cpp_wall"] / cells["patch/64/testpmd-mac"]["cpp_wall"]
    assert summary["patch_vs_testpmd_mac"] == expected, summary
    assert summary["ip4_full_vs_l3fwd_fib"] is None, summary
    assert "was not measured" in summary["why"]["ip4_full_vs_l3fwd_fib"]
    # A cell without a measurement has its reason.
    assert cells["patch/64/vpp-patch"]["why"] == "no --vpp PREFIX given" and cells["patch/64/vpp-patch"]["mpps"] is None
    expected = cells["bridge_3125/64/turnpike"]["cpp_wall"] / cells["patch/64/turnpike"]["cpp_wall"]
    assert summary["bridge_vs_patch"] == expected, summary
    assert summary["bridge_vs_ovs_normal"] is None and "was not measured" in summary["why"]["bridge_vs_ovs_normal"]
    check_guest_cells(cells, summary)
    if LONG:
        check_long_cells(cells, summary)


def check_guest_cells(cells, summary):
    """The busy cycles are compared, and ports in memory have no PCIe."""
    for workload, forwarder, mode in (("vhost", "ovs", "flows"), ("memif", "testpmd", "io")):
        ours, peer = cells[f"{workload}/64/turnpike"], cells[f"{workload}/64/{forwarder}-{mode}"]
        for cell in (ours, peer):
            machine.judge(cell["lost"] < 0.01, f"{cell['lost']:.2%} were lost: {cell}")
            assert cell["mpps"] > 0 and cell["cpp_busy"] > 0 and cell["pcie"] is None and cell["engine"] == "guest", cell
        assert ours["peer"] == f"{forwarder} {mode}" and ours["cycles"] == ours["cpp_busy"], ours
        assert ours["peer_cycles"] == peer["cpp_busy"] and ours["ratio"] == peer["cpp_busy"] / ours["cpp_busy"], ours
        assert summary[f"{workload}_vs_{forwarder}_{mode}"] == ours["cpp_busy"] / peer["cpp_busy"], summary


def check_against_peer(cell, peer):
    assert cell["peer"] == peer and cell["cycles"] == cell["cpp_wall"] and cell["cpp_busy"] > 0, cell
    assert cell["ratio"] == cell["peer_cycles"] / cell["cycles"], cell


def check_long_cells(cells, summary):
    for name in ("ip4_small/64/turnpike", "ip4_small/64/l3fwd-lpm", "mixed/64/turnpike", "mixed/64/l3fwd-lpm",
                 "trunk/64/turnpike", "vlan/64/turnpike", "workers/64/turnpike-two", "vxlan_in/64/turnpike", "vxlan_out/64/turnpike"):
        check_cell(cells[name])
    for name, is_long in (("vlan", 68), ("vxlan_in", 114), ("vxlan_out", 64)):
        assert cells[f"{name}/64/turnpike"]["frame_bytes"] == is_long, name
    check_against_peer(cells["ip4_small/64/turnpike"], "l3fwd lpm")
    assert summary["ip4_small_vs_l3fwd_lpm"] > 0 and summary["two_workers_vs_one"] > 0, summary


def test_a_peer_that_is_missing_or_fails_is_named():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as prefix:
        os.mkdir(f"{prefix}/bin")
        for name, words in (("grout", "echo no such device >&2; exit 3"), ("grcli", "exit 0")):
            path = pathlib.Path(prefix, "bin", name)
            path.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
            path.chmod(0o755)
        printed, said = measured("--only", "^patch/64/(testpmd-mac|l2fwd|vpp)|^ip4_small/64/grout|^memif/64/turnpike", "--grout", prefix,
                                 "--vpp", prefix, PATH=f"{prefix}/bin")
    why = {c["name"]: c["why"] for c in printed["cells"]}
    assert why["patch/64/testpmd-mac"] == "no dpdk-testpmd (Debian's package dpdk)", why
    assert why["memif/64/turnpike"] == "no dpdk-testpmd (Debian's package dpdk)", why  # its guest
    assert "pkg-config" in why["patch/64/l2fwd-mac"] or "dpdk-doc" in why["patch/64/l2fwd-mac"], why
    assert why["patch/64/vpp-patch"] == f"--vpp {prefix}: no {prefix}/bin/vpp", why
    assert why["ip4_small/64/grout-routes"] == "exited with 3: no such device", why
    for name, reason in why.items():
        assert any(line.startswith(name) and reason in line for line in said.splitlines()), said


def test_a_picture_that_cannot_be_written_loses_nothing_else():
    needs_a_machine()
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        os.mkdir(f"{folder}/x-dark.svg")
        run = Run(*SHORT, "--only", "^patch/64/turnpike$", "--picture", f"{folder}/x.svg")
        assert run.finish() == 1, (run.process.returncode, run.stderr)
        assert f"{folder}/x-dark.svg: Is a directory" in run.stderr and "Traceback" not in run.stderr, run.stderr
        assert [c["name"] for c in json.loads(run.stdout)["cells"]] == ["patch/64/turnpike"], run.stdout


def interrupted(number):
    """A run that is signalled while it measures: its exit code and leftovers."""
    needs_a_machine()
    run = Run("--json", "--quick", "--seconds", "30", "--only", "^patch/64/(turnpike|testpmd-mac)")
    wait_until(lambda: len(run.forwarders()) == 2, "both forwarders", 30)
    time.sleep(0.7)  # one is stopped now, the other measured
    run.process.send_signal(number)
    return run, run.finish()


def test_interrupted_it_cleans_up():
    for number in (signal.SIGINT, signal.SIGTERM):
        run, code = interrupted(number)
        assert code == 128 + number and run.stdout == "", (code, run.stdout, run.stderr)
        assert not run.left_behind(), run.left_behind()


def test_killed_it_takes_its_forwarders_along():
    run, code = interrupted(signal.SIGKILL)
    assert code == -signal.SIGKILL
    wait_until(lambda: not run.forwarders(), "its forwarders to end", 10)


if __name__ == "__main__":
    tap.main(globals())
