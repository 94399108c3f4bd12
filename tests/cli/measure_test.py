# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-pcie measure as a user runs it, on recorded machines: measure_test.py PROGRAM [TEST...]"""
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402
from lib.sysfs_tree import unpack  # noqa: E402

PROGRAM = sys.argv.pop(1)
DATA = ROOT / "tests/data/pmu"
COUNTS = DATA / "icelakex.counts.yaml"


@contextlib.contextmanager
def machine(name):
    with tempfile.TemporaryDirectory(prefix="turnpike-sysfs-") as folder:
        yield unpack(DATA / f"{name}.tree", folder)


def run(*arguments):
    return subprocess.run([PROGRAM, "measure", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def said_why(done, part, code=1):
    assert done.returncode == code and done.stdout == "", (done.returncode, done.stdout)
    assert part in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_what_the_root_of_a_device_counted():
    with machine("icelakex") as sysfs:
        done = run("--sysfs", sysfs, "--counters", COUNTS, "--device", "0000:3b:00.0", "--json")
        assert done.returncode == 0, done.stderr
        whole = json.loads(done.stdout)
        assert whole["schema"] == "turnpike.pcie-measure/1" and whole["table"] == "icelakex", whole
        assert whole["seconds"] == 2
        device, = whole["devices"]
        assert device["of"] == "uncore_iio_2" and device["shared_with"] == ["0000:3b:00.1"], device
        metrics = device["metrics"]
        # 1116 million words of 4 bytes in two seconds; 450 clocks of 0.5 GHz a read.
        assert metrics["inbound_read_mb_s"] == 2232 and metrics["read_latency_ns"] == 900, metrics
        assert metrics["dram_utilisation"] is None and "dram_max_mb_s" in device["why"]["dram_utilisation"]
        assert "dram_bytes_per_packet" not in metrics  # the device has no packet counter here
        text = run("--sysfs", sysfs, "--counters", COUNTS, "--device", "0000:3b:00.0", "--dram-max", 1920).stdout
        assert "0000:3b:00.0  below uncore_iio_2 of die 0, with 0000:3b:00.1\n" in text, text
        assert [line.split()[1] for line in text.splitlines() if "dram_utilisation" in line] == ["0.1"], text


def test_all_network_devices_and_a_program():
    with machine("icelakex") as sysfs:
        done = run("--sysfs", sysfs, "--counters", COUNTS, "--", "sh", "-c", "echo meanwhile; exit 3")
        assert done.returncode == 3, done.stderr
        assert done.stdout.startswith("meanwhile\n"), done.stdout
        for device in ("0000:3b:00.0", "0000:3b:00.1", "0000:d8:00.0"):
            assert f"{device}  below uncore_iio_" in done.stdout, done.stdout
        done = run("--sysfs", sysfs, "--counters", COUNTS, "--json", "--", "sh", "-c", "echo meanwhile; exit 3")
        assert done.returncode == 3 and len(json.loads(done.stdout)["devices"]) == 3, done.stdout
        assert "meanwhile\n" in done.stderr, done.stderr
        assert run("--sysfs", sysfs, "--counters", COUNTS, "--", "/nowhere").returncode == 127


def test_counts_that_did_not_run_all_the_time_are_said_to_be_scaled():
    with machine("icelakex") as sysfs, tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(COUNTS.read_text(encoding="utf-8") + "shares: {uncore_iio_2: 50}\n")
        file.flush()
        text = run("--sysfs", sysfs, "--counters", file.name, "--device", "0000:3b:00.0").stdout
        assert "(scaled: counted 50 % of the time)" in text, text
        assert [line.split()[1] for line in text.splitlines() if "inbound_read_mb_s" in line] == ["4464"], text


def test_a_machine_without_counters_says_so_in_one_line():
    with machine("virtual") as sysfs:
        said_why(run("--sysfs", sysfs), "this kernel has no such PMU")
    with machine("icelakex") as sysfs, tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("refused: {uncore_iio_0: 13}\n")
        file.flush()
        said_why(run("--sysfs", sysfs, "--counters", file.name), "CAP_PERFMON")
    with tempfile.TemporaryDirectory() as nothing:
        said_why(run("--sysfs", nothing), "devices/system/cpu/modalias")


def test_what_is_wrong_is_named():
    with machine("icelakex") as sysfs, tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        said_why(run("--sysfs", sysfs, "--device", "0000:99:00.0", "--counters", COUNTS), "no such PCI device")
        file.write("family: [\n")
        file.flush()
        said_why(run("--sysfs", sysfs, "--events", file.name), file.name, 2)
        said_why(run("--sysfs", sysfs, "--counters", file.name), file.name, 2)
    assert run("--seconds", "0").returncode == 2
    assert run("--help").returncode == 0


tap.main(globals())
