#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The units of data/systemd, as systemd reads them: service_file_test.py TURNPIKE TURNPIKECTL FOLDER BINDIR [TEST...]"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

BUILT = {name: os.path.abspath(sys.argv.pop(1)) for name in ("turnpike", "turnpikectl")}
UNITS = pathlib.Path(sys.argv.pop(1))
BINDIR = sys.argv.pop(1)
RESERVE = ROOT / "data/systemd/reserve-hugepages"


def unit(name="turnpike.service"):
    return (UNITS / name).read_text("utf-8")


def analyze(*words, **units):
    """The output of systemd-analyze for units with the paths of the build's programs, and its exit code."""
    if shutil.which("systemd-analyze") is None:
        tap.skip("systemd-analyze (package systemd) is not installed")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        for name, text in units.items():
            for program, built in BUILT.items():
                text = text.replace(f"{BINDIR}/{program} ", built + " ")
            text = re.sub(r"/\S+/reserve-hugepages", str(RESERVE), text)
            pathlib.Path(folder, f"{name}.service").write_text(text, encoding="utf-8")
        done = subprocess.run(["systemd-analyze", *words, *(f"{folder}/{name}.service" for name in units)], capture_output=True,
                              text=True, timeout=60, check=False)
    # systemd speaks of units of the machine's own, too.
    return [line for line in (done.stdout + done.stderr).splitlines() if "turnpike" in line], done


def verified(text):
    """The complaints of `systemd-analyze verify`; the user is made by the package."""
    said, _ = analyze("verify", "--man=no", turnpike=text.replace("User=turnpike", "User=daemon").replace("Group=turnpike", "Group=daemon"))
    return [line for line in said if "turnpike-hugepages.service" not in line or "turnpike.service:" in line]


def test_nothing_is_wrong_with_them():
    assert not verified(unit()), verified(unit())
    said, _ = analyze("verify", "--man=no", hugepages=unit("turnpike-hugepages.service"))
    assert not said, said


def test_what_would_be_wrong_is_seen():
    for right, wrong in (("WatchdogSec=30", "WatchdogSec=soon"), ("RuntimeDirectory=", "RuntimeFolder="),
                         ("Type=notify", "Type=notifies"), ("ProtectSystem=strict", "ProtectSystem=severe")):
        assert right in unit()
        assert verified(unit().replace(right, wrong)), wrong


def test_its_exposure_is_small():
    """At most 1.8 of 10 by `systemd-analyze security`; a unit without these restrictions has more."""
    lines, done = analyze("security", "--offline=true", "--threshold=18", "--no-pager", turnpike=unit())
    assert done.returncode == 0, done.stdout + done.stderr
    assert any("Overall exposure level" in line for line in done.stdout.splitlines()), lines
    _, open_one = analyze("security", "--offline=true", "--threshold=18", "--no-pager",
                          turnpike=unit().replace("User=turnpike", "User=root").replace("ProtectSystem=strict", ""))
    assert open_one.returncode != 0, open_one.stdout


def test_sockets_of_others_outlast_a_restart():
    """The folder has sockets at which QEMU listens: doc/guests.md."""
    assert re.search("^RuntimeDirectory=turnpike$", unit(), re.MULTILINE)
    assert re.search("^RuntimeDirectoryPreserve=yes$", unit(), re.MULTILINE)


def test_the_oom_killer_prefers_other_processes():
    values = dict(line.split("=", 1) for line in unit().splitlines() if re.match(r"\w+=", line))
    assert -1000 < int(values["OOMScoreAdjust"]) <= -900, values


def test_a_refused_configuration_is_not_tried_again():
    """Its exit code is the one that systemd does not start again; any other failure is tried until it succeeds."""
    values = dict(line.split("=", 1) for line in unit().splitlines() if re.match(r"\w+=", line))
    assert values["Restart"] == "on-failure" and values["StartLimitIntervalSec"] == "0", values
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write("ports: [broken\n")
        config.flush()
        done = subprocess.run([BUILT["turnpike"], "--config", config.name], capture_output=True, text=True, timeout=30, check=False)
    assert str(done.returncode) == values["RestartPreventExitStatus"], done


def test_the_options_of_its_programs_are_theirs():
    """turnpike refuses an unknown option with 2, and a file that is not there."""
    command, = [line.removeprefix("ExecStart=").split() for line in unit().splitlines() if line.startswith("ExecStart=")]
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        config = pathlib.Path(folder, "turnpike.yaml")
        config.write_text("ports: [{name: a, device: net_null0, addresses: [10.0.0.1/24]}]\n", encoding="utf-8")
        words = [str(config) if word.endswith(".yaml") else word for word in command[1:]]
        done = subprocess.run([BUILT["turnpike"], *words, "--check"], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def reserve(sysfs, kilobytes=62 << 20, **settings):
    """Runs reserve-hugepages on a machine with so much memory."""
    meminfo = pathlib.Path(sysfs, "meminfo")
    meminfo.write_text(f"MemTotal:       {kilobytes} kB\nMemFree:        1024 kB\n", encoding="utf-8")
    return subprocess.run([RESERVE], env={"PATH": os.environ["PATH"], "SYSFS": str(sysfs), "MEMINFO": str(meminfo), **settings},
                          capture_output=True, text=True, timeout=10, check=False)


def test_hugepages_are_raised_and_never_lowered():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        pages = pathlib.Path(folder, "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        pages.parent.mkdir(parents=True)
        pages.write_text("8\n", encoding="utf-8")
        assert reserve(folder, HUGEPAGES="64").returncode == 0 and pages.read_text("utf-8") == "64\n"
        assert reserve(folder, HUGEPAGES="16").returncode == 0 and pages.read_text("utf-8") == "64\n"
        of_node = pathlib.Path(folder, "devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages")
        of_node.parent.mkdir(parents=True)
        of_node.write_text("0\n", encoding="utf-8")
        assert reserve(folder, HUGEPAGES="2", HUGEPAGE_KB="1048576", HUGEPAGE_NODE="1").returncode == 0
        assert of_node.read_text("utf-8") == "2\n" and pages.read_text("utf-8") == "64\n"


def test_hugepages_that_there_are_not():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        for pages in ("many", "0800", "9" * 20):
            wrong = reserve(folder, HUGEPAGES=pages)
            assert wrong.returncode == 2 and f"HUGEPAGES should be a number of pages, not '{pages}'" in wrong.stderr, wrong.stderr
        missing = reserve(folder, HUGEPAGE_KB="16", HUGEPAGE_NODE="3")
        assert missing.returncode == 1 and "no hugepages of 16 kB on node 3" in missing.stderr, missing.stderr
        few = pathlib.Path(folder, "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        few.parent.mkdir(parents=True)
        few.symlink_to("/proc/self/oom_score")  # a number that cannot be written, as where memory is short
        short = reserve(folder, HUGEPAGES="20000")
        assert short.returncode == 1 and "could be reserved" in short.stderr, short.stderr


def test_hugepages_that_would_take_nearly_all_memory():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        node = pathlib.Path(folder, "devices/system/node/node1")
        files = {"": pathlib.Path(folder, "kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"),
                 "1": node / "hugepages/hugepages-1048576kB/nr_hugepages"}
        for file in files.values():
            file.parent.mkdir(parents=True)
            file.write_text("0\n", encoding="utf-8")
        (node / "meminfo").write_text("Node 1 MemTotal:       16777216 kB\nNode 1 MemFree:        1024 kB\n", encoding="utf-8")
        for on, pages, said in (("", 512, "HUGEPAGES=512 of 1048576 kB are 512 GB, and this machine has 62 GB"), ("", 47, "47 GB"),
                                ("1", 13, "are 13 GB, and node 1 of this machine has 16 GB")):
            refused = reserve(folder, HUGEPAGES=str(pages), HUGEPAGE_KB="1048576", HUGEPAGE_NODE=on)
            assert refused.returncode == 2 and said in refused.stderr, refused.stderr
            assert files[on].read_text("utf-8") == "0\n"
        for on, pages in (("", 46), ("1", 12)):
            assert reserve(folder, HUGEPAGES=str(pages), HUGEPAGE_KB="1048576", HUGEPAGE_NODE=on).returncode == 0
            assert files[on].read_text("utf-8") == f"{pages}\n"
        # Reserved by the kernel's command line.
        files[""].write_text("60\n", encoding="utf-8")
        assert reserve(folder, HUGEPAGES="60", HUGEPAGE_KB="1048576").returncode == 0


if __name__ == "__main__":
    tap.main(globals())
