# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-pcie as a user runs it: pcie_test.py PROGRAM [TEST...]"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
SYSFS = ROOT / "tests/unit/pcie/sysfs"
EXAMPLE = ROOT / "examples/pcie-profile/l3fwd-2017.yaml"
SHARED = pathlib.Path(os.environ.get("TURNPIKE_SHARED", ROOT.parent / "shared"))


def run(*arguments, **options):
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def output(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
    assert done.stderr == "", done.stderr
    return done.stdout


def refused(*arguments, code=2):
    """The message of a command line that must not be accepted."""
    done = run(*arguments)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}, {done.stderr}"
    assert done.stdout == "", f"{arguments}: printed {done.stdout}"
    return done.stderr


def expect_in(part, text):
    assert part in text, f"'{part}' is not in: {text}"


def test_help_and_version():
    expect_in("--profile", output("--help"))
    assert output("--version").strip()[0].isdigit()


def test_without_options_every_profile_at_64_bytes():
    text = output()
    for name in ("simple", "niantic-dpdk", "ixgbe", "mlx5", "vmxnet3"):
        expect_in(f"\n{name} ", text)


def test_one_cell_shows_its_bill_by_purpose():
    text = output("--profile", "ixgbe", "--frame", "1518")
    for word in ("rx_descriptor_fetch", "doorbells", "total", "known", "assumed"):
        expect_in(word, text)


def test_json_envelope():
    printed = json.loads(output("--profile", "niantic-dpdk,simple", "--link", "gen3x8",
                                "--mps", 256, "--mrrs", 512, "--frame", "64-1500", "--json"))
    assert printed["schema"] == "turnpike.bench/1" and printed["bench"] == "pcie"
    assert {"version", "host", "cells", "summary"} <= printed.keys()
    assert len(printed["cells"]) == 2 * 1437
    cell = printed["cells"][0]
    assert cell["profile"] == "niantic-dpdk" and cell["frame_bytes"] == 64
    assert set(cell["bandwidth_gbps"]) == {"tx", "rx", "both"}
    assert cell["binds"] in ("link_up", "link_down", "ethernet")
    pcie = cell["pcie"]
    assert set(pcie) == {"source", "profile", "link", "per_packet", "assumptions"}
    assert set(pcie["per_packet"]) == {"lines", "tlps", "bytes", "by_purpose"}
    assert set(pcie["per_packet"]["lines"]) == {"rd_cur", "itom", "rfo", "wil", "prd"}
    assert set(pcie["per_packet"]["tlps"]) == {"mrd", "mwr", "cpld"}
    assert set(pcie["per_packet"]["bytes"]) == {"up", "down"}


def oracle(name):
    path = SHARED / "data/pcie" / name
    if not path.exists():
        tap.skip(f"{path} is not here (set TURNPIKE_SHARED)")
    return {int(row["frame_bytes"]): row for row in csv.DictReader(path.open())}


def expect_oracle(rows, *switches):
    columns = {"simple": "simple", "niantic-kernel": "kernel", "niantic-dpdk": "dpdk"}
    printed = csv.DictReader(io.StringIO(
        output("--profile", ",".join(columns), "--frame", "64-1500", "--csv", *switches)))
    compared = 0
    for row in printed:
        expected, column = rows[int(row["frame_bytes"])], columns[row["profile"]]
        for ours, theirs in (("tx", "txonly"), ("rx", "rxonly"), ("both", "bidir")):
            difference = float(row[f"{ours}_gbps"]) - float(expected[f"{column}_{theirs}_gbps"])
            where = f"{row['profile']} {row['frame_bytes']} {ours}"
            assert abs(difference) < 0.01, f"{where}: {difference}"
            compared += 1
    assert compared == 3 * 3 * 1437


def test_figure_1_equals_the_oracle():
    expect_oracle(oracle("fig1_gen3x8_mps256_mrrs512_rxdesc_mrd_fixed.csv"))


def test_figure_1_as_published():
    expect_oracle(oracle("fig1_gen3x8_mps256_mrrs512_ascode.csv"), "--as-published")


def test_frame_lists():
    def frames(text):
        cells = json.loads(output("--profile", "simple", "--json", "--frame", text))["cells"]
        return [cell["frame_bytes"] for cell in cells]

    assert frames("64") == [64]
    assert frames("64,1518,128") == [64, 1518, 128]
    assert frames("64-66") == [64, 65, 66]
    assert frames("64-100:16,9000") == [64, 80, 96, 9000]
    for wrong in ("63", "16385", "64-", "-64", "64-63", "64-128:0", "64:", "64,", ",64",
                  "64,,65", "6 4", "64-128-256", "x", "99999999999", "64-128:99999999999",
                  "64:4:4"):
        expect_in("frame size", refused("--frame", wrong, "--profile", "simple"))
    expect_in("--frame: is empty", refused("--frame", "", "--profile", "simple"))


def test_own_profiles():
    cells = json.loads(output("--profiles", EXAMPLE, "--json"))["cells"]
    assert [cell["profile"] for cell in cells] == ["l3fwd-2017"]
    lines = cells[0]["pcie"]["per_packet"]["lines"]
    assert abs(lines["rfo"] - 0.288) < 0.02 * 0.288, lines
    expect_in("l3fwd-2017", output("--profiles", EXAMPLE, "--list-profiles"))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as wrong:
        wrong.write("profiles:\n  - name: mine\n    speed: 10\n")
        wrong.flush()
        message = refused("--profiles", wrong.name)
        expect_in(f"{wrong.name}:3: 'profile' has no field 'speed'", message)
    expect_in("/nowhere.yaml: cannot read", refused("--profiles", "/nowhere.yaml"))


def test_detect():
    expect_in("0000:af:00.0 is gen3x16", output("--detect", "0000:af:00.0", "--sysfs", SYSFS))
    printed = json.loads(output("--detect", "3b:00.0", "--sysfs", SYSFS, "--profile", "ixgbe",
                                "--json"))
    link = printed["summary"]["link"]
    assert (link["gen"], link["lanes"], link["mps_bytes"], link["mrrs_bytes"]) == (2, 8, 256, 512)
    assert printed["summary"]["detected"] == "3b:00.0" and len(printed["cells"]) == 1
    expect_in("MPS 128", output("--detect", "3b:00.0", "--sysfs", SYSFS, "--mps", 128))
    expect_in("run as root", refused("--detect", "17:00.0", "--sysfs", SYSFS))
    expect_in("no such PCI device", refused("--detect", "77:00.0", "--sysfs", SYSFS))
    expect_in("no PCI Express capability", refused("--detect", "00:03.0", "--sysfs", SYSFS))
    expect_in("--link", refused("--detect", "3b:00.0", "--sysfs", SYSFS, "--link", "gen3x8"))


def test_wrong_options_are_named():
    for arguments, part in (
        (("--profile", "fast"), "profile 'fast': no NIC profile has that name; there are:"),
        (("--link", "gen9x8"), "link 'gen9x8': PCIe generations are 1 to 6"),
        (("--link", "3x8"), "should be generation and lanes, as gen3x8"),
        (("--mps", "300"), "MPS is 128, 256"),
        (("--mps", "-1"), "--mps"),
        (("--mps", "70000"), "--mps"),
        (("--mrrs", "64"), "MRRS is 128, 256"),
        (("--rcb", "32"), "RCB is 64 or 128"),
        (("--burst", "0"), "--burst"),
        (("--burst", "nan"), "--burst"),
        (("--ethernet", "-1"), "--ethernet"),
        (("--json", "--csv"), "--csv"),
        (("--json", "--profile", "all", "--frame", "64-16384"), "cells; one JSON object can have at most 16384"),
        (("--colour",), "--colour"),
        (("surplus",), "surplus"),
        (("--profile", "ixgbe", "surplus"), "surplus"),
        (("--figure", "/nowhere/at/all"), "--figure '/nowhere/at/all'"),
        (("--figure", "x", "--frame", "64"), "two frame sizes or more"),
    ):
        expect_in(part, refused(*arguments))


def test_gen_6_is_labelled_approximate():
    expect_in("approximate", output("--link", "gen6x16"))


def test_figure_needs_gnuplot():
    with tempfile.TemporaryDirectory() as folder:
        done = run("--figure", f"{folder}/f", env={"PATH": folder})
        assert done.returncode == 1, done.returncode
        expect_in("gnuplot: cannot run it to draw the figure; install it", done.stderr)


def test_figure():
    with tempfile.TemporaryDirectory() as folder:
        done = run("--figure", f"{folder}/it's one.svg")
        if "cannot run it" in done.stderr:
            tap.skip("gnuplot is not installed")
        assert done.returncode == 0, done.stderr
        assert (pathlib.Path(folder) / "it's one.png").read_bytes().startswith(b"\x89PNG")
        svg = (pathlib.Path(folder) / "it's one.svg").read_text()
        for title in ("Effective PCIe BW", "40G Ethernet", "Simple NIC",
                      "Modern NIC (kernel driver)", "Modern NIC (DPDK driver)"):
            expect_in(title, svg)


def test_figure_where_nothing_can_be_written():
    done = run("--figure", "/proc/figure")
    assert done.returncode == 1 and done.stdout == "", done.stdout[:80]


def test_a_full_disk_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1, done.returncode
    expect_in("No space left", done.stderr)


if __name__ == "__main__":
    tap.main(globals())
