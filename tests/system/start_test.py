#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starting turnpike: options, instruction sets, hugepages, errors."""
import contextlib
import errno
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.build import SANITIZED  # noqa: E402
from lib.dut import PROGRAM, Turnpike, check_report, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.sysfs_tree import unpack  # noqa: E402

# Starts a program without free hugepages. Only its mount namespace has that view: the machine's hugepages, and their
# users, are unaffected.
NO_HUGEPAGES = ("unshare", "--mount", "sh", "-ec", """
none=$(mktemp)
echo 0 >"$none"
for pool in /sys/devices/system/node/node*/hugepages/*/free_hugepages; do mount --bind "$none" "$pool"; done
rm "$none"
exec "$@"
""", "no-hugepages")
if platform.machine() == "aarch64":
    ISA_AT_WIDTH = {64: "scalar", 128: "neon", 256: "neon", 512: "neon"}
else:
    ISA_AT_WIDTH = {64: "scalar", 128: "sse42", 256: "avx2", 512: "avx512"}
# The kernel's names in /proc/cpuinfo.
FLAG_OF = {"neon": "asimd", "sse42": "sse4_2", "avx2": "avx2", "avx512": "avx512bw"}


def ring_to_null(**more):
    return patch_config("net_ring0", "net_null0", **more)


def run_for(config, seconds=0.3, eal=(), options=(), under=()):
    """Run for a short time; returns (exit code, report or None, output)."""
    with Lab() as lab:
        t = Turnpike(lab, lab.host("dut"), config, eal, ["--duration", str(seconds), *options], wait=False, under=under)
        code = t.finish(60)
        report = None
        if os.path.exists(t.report_file):
            with open(t.report_file, encoding="utf-8") as file:
                report = json.load(file)
        return code, report, t.output()


def program(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=30, check=False)


def test_duration_ends_it():
    code, report, said = run_for(ring_to_null())
    assert code == 0, said
    check_report(report)
    # By the TSC, whose rate EAL estimates; the end follows the kernel's clock.
    assert 0.3 * 0.99 <= report["duration_s"] < 2, report["duration_s"]


def test_isa_follows_max_simd_bitwidth():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next(line for line in file if line.startswith(("flags", "Features"))).split()
    for width, isa in ISA_AT_WIDTH.items():
        if isa != "scalar" and FLAG_OF[isa] not in flags:
            continue
        code, report, said = run_for(ring_to_null(), eal=[f"--force-max-simd-bitwidth={width}"])
        assert code == 0, said
        assert report["isa"] == {"max_simd_bitwidth": width, "ipv4_checksum": isa, "fast_ipv4": isa,
                                 "fast_ipv6": ISA_AT_WIDTH[max(width, 128)]}, report["isa"]
        check_report(report)


def status_of(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def is_filtered(pid, mode):
    return status_of(pid, pid)["Seccomp"] == mode


def test_system_calls_are_filtered():
    """The filter holds for every thread after the start, unless the operator asks for all calls. A sanitizer needs them all."""
    for options, mode in (([], "0" if SANITIZED else "2"), (["--all-syscalls"], "0")):
        with Lab() as lab:
            t = Turnpike(lab, lab.host("dut"), ring_to_null(), options=options)
            pid = t.process.pid
            # The filter comes after the line "forwarding", on which the start waits.
            wait_until(functools.partial(is_filtered, pid, mode), "the filter")
            for thread in os.listdir(f"/proc/{pid}/task"):
                status = status_of(pid, thread)
                assert status["Seccomp"] == mode, (options, status["Name"], status["Seccomp"])
                assert status["NoNewPrivs"] == ("1" if mode == "2" else "0"), (options, status["Name"])
            t.stop()


def test_simd_width_from_the_file():
    code, report, said = run_for(
        ring_to_null(eal="-l 0-1 --no-pci --in-memory --force-max-simd-bitwidth=128"))
    assert code == 0 and report["isa"]["ipv4_checksum"] == ISA_AT_WIDTH[128], said


def test_command_line_beats_the_file():
    code, report, said = run_for(ring_to_null(eal="-l 0-1 --no-pci --in-memory"), eal=["-l", "0"])
    assert code == 0, said
    assert [w["lcore"] for w in report["workers"]] == [0]


def test_the_limit_of_descriptors_is_raised():
    """EAL keeps one for each hugepage."""
    with Lab() as lab:
        t = Turnpike(lab, lab.host("dut"), ring_to_null(), under=["prlimit", "--nofile=256:4096", "--"])
        with open(f"/proc/{t.process.pid}/limits", encoding="ascii") as file:
            limit = next(line.split()[3:5] for line in file if line.startswith("Max open files"))
        assert limit == ["4096", "4096"], limit
        t.stop()


def test_stats_interval_prints_the_bill():
    code, _report, said = run_for(ring_to_null(), seconds=1, options=["--stats-interval", "0.2"])
    assert code == 0 and said.count("cycles/pkt") >= 4, said


def test_missing_hugepages_are_named():
    code, _report, said = run_for(ring_to_null(), under=NO_HUGEPAGES)
    assert code == 1, said
    assert "node 0 lacks" in said and "hugepages of 2 MB" in said and " 0 MB are free" in said, said
    assert "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages" in said
    assert "EAL: Detected" not in said, "EAL was started"


def test_two_by_default_without_a_hugetlbfs():
    """Without EAL options for its memory: no mounted hugetlbfs is needed, and two processes share no files."""
    with Lab() as lab:
        running = []
        for name in ("one", "two"):
            config = ring_to_null(eal="-l 0-1 --no-pci", mempool={"buffers": 4096},
                                  control={"socket": f"/run/{name}.sock"})
            running.append(Turnpike(lab, lab.host(name), config))
        for t in running:
            t.stop()


@contextlib.contextmanager
def cpuset(cpus):
    """The file of processes of a new control group that permits these CPUs, of version 2 or 1 of cgroups."""
    two, one = "/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"
    try:
        with open(f"{two}/cgroup.subtree_control", encoding="ascii") as file:
            parent = two if "cpuset" in file.read().split() else None
    except FileNotFoundError:
        parent = one if os.path.exists(f"{one}/cpuset.cpus") else None
    if parent is None:
        tap.skip("no writable cpuset: the controller is not enabled")
    folder = f"{parent}/turnpike-test-{os.getpid()}"
    try:
        os.mkdir(folder)
    except OSError as error:
        tap.skip(f"no writable cpuset: {error}")
    try:
        with open(f"{folder}/cpuset.cpus", "w", encoding="ascii") as file:
            file.write(cpus)
        if parent == one:
            with open(f"{one}/cpuset.mems", encoding="ascii") as file, open(f"{folder}/cpuset.mems", "w", encoding="ascii") as own:
                own.write(file.read())
        yield f"{folder}/cgroup.procs"
    finally:
        wait_until(functools.partial(is_removed, folder), "the kernel has removed the group's processes")


def is_removed(folder):
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def test_lcores_that_the_control_group_does_not_permit():
    """EAL would end the process by SIGABRT. The group of --check need not be the service's."""
    if len(os.sched_getaffinity(0)) < 2:
        tap.skip("one CPU")
    permitted, other = sorted(os.sched_getaffinity(0))[:2]
    said = f"lcores on CPU {other}, which this process's control group does not permit"
    with cpuset(str(permitted)) as processes, tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        yaml.safe_dump(ring_to_null(eal=f"-l {permitted},{other} --no-pci"), config)
        config.flush()
        for options, code in (((), 1), (("--check",), 0)):
            done = subprocess.run(["sh", "-ec", 'echo $$ >"$0"; exec "$@"', processes, PROGRAM, "--config", config.name, *options],
                                  capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == code and said in done.stderr, done
            assert "EAL: Detected" not in done.stderr, done


def test_without_hugepages_if_optional():
    config = ring_to_null()
    config["eal"]["hugepages"] = "optional"
    code, report, said = run_for(config, under=NO_HUGEPAGES)
    assert code == 0 and "starting without hugepages" in said, said
    check_report(report)


def test_check_starts_nothing():
    with Lab() as lab:
        t = Turnpike(lab, lab.host("dut"), ring_to_null(), options=["--check"], wait=False)
        assert t.finish() == 0
        assert "valid" in t.output() and "EAL" not in t.output(), t.output()


def test_check_says_every_error():
    config = """ports:
  - {name: a, device: net_null0, mtu: 1}
  - {name: b, device: net_null1, addreses: [10.0.2.1/24], addresses: [10.0.2.1/99]}
"""
    with Lab() as lab:
        t = Turnpike(lab, lab.host("dut"), config, options=["--check"], wait=False)
        assert t.finish() == 2, t.output()
        for said in ("turnpike.yaml:2: ports[0].mtu should be", "turnpike.yaml:3: ports[1] has no key 'addreses'",
                     "turnpike.yaml:3: ports[1].addresses[0] "):
            assert said in t.output(), t.output()


def test_a_wrong_file_is_exit_2_and_nothing_starts():
    code, _report, said = run_for("ports: [}")
    assert code == 2, said
    assert "turnpike.yaml:1: is not YAML" in said and "EAL" not in said, said


def test_wrong_options_are_exit_2():
    for words in ((), ("--config",), ("--config", "x", "--nonsense"), ("--config", "x", "--duration", "-1"),
                  ("--config", "x", "--duration", "long"), ("--config", "x", "--duration", "nan"),
                  ("--config", "x", "--stats-interval", "inf"), ("--no-pci", "--config", "x")):
        done = program(*words)
        assert done.returncode == 2 and done.stderr, (words, done)
        assert "EAL" not in done.stderr


def file_of(folder, config):
    path = os.path.join(folder, "turnpike.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def test_an_empty_value_takes_no_option():
    """A variable of a script without a value."""
    with tempfile.TemporaryDirectory() as folder:
        path = file_of(folder, ring_to_null())
        for words in (("--config", path, "--report=", "--check"), ("--config=", path, "--check"),
                      ("--config", path, "--report", "", "--check"), ("--config", path, "", "--check")):
            done = program(*words)
            assert done.returncode == 2 and "empty" in done.stderr and "EAL" not in done.stderr, (words, done)


def test_standard_output_that_is_full_or_closed():
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "wb") as full:
        path = file_of(folder, ring_to_null())
        for words in (("--print-schema",), ("--help",), ("--version",), ("--config", path, "--check")):
            done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
            assert done.returncode == 1 and "standard output" in done.stderr, (words, done)
            assert "No space left on device" in done.stderr, (words, done)
            done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', PROGRAM, *words], stderr=subprocess.PIPE, text=True,
                                  timeout=30, check=False)
            assert done.returncode == 1 and "standard output" in done.stderr, (words, done)
        done = subprocess.run([PROGRAM, "--config", path, "--duration", "0.3", "--report", "-"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "standard output: cannot be written (No space left on device)" in done.stderr, done


def test_a_report_of_a_path_that_is_not_utf_8():
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.join(os.fsencode(folder), b"k\xf6ln")
        os.mkdir(folder)
        config = os.path.join(folder, b"turnpike.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(with_list([{"action": "deny", "name": "all"}]), file)
        report = os.path.join(folder, b"report.json")
        done = subprocess.run([os.fsencode(PROGRAM), b"--config", config, b"--duration", b"0.3", b"--report", report],
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done
        with open(report, encoding="utf-8") as file:
            rule = json.load(file)["acl"][0]["rules"][1]
        assert "ln/turnpike.yaml:1" in rule["where"], rule


def test_an_unknown_option_is_named_before_the_missing_one():
    for words, text in ((("--confg", "x"), "'--confg' is unknown; did you mean '--config'?"),
                        (("--confg=x",), "'--confg=x' is unknown; did you mean '--config'?"),
                        (("a.yaml",), "'a.yaml' is unknown; the configuration file follows --config")):
        done = program(*words)
        assert done.returncode == 2 and done.stderr == f"turnpike: {text}\n", (words, done)
    assert "--config is required" in program().stderr


def test_missing_file_is_exit_2():
    done = program("--config", "/nonexistent/turnpike.yaml")
    assert done.returncode == 2 and "/nonexistent/turnpike.yaml" in done.stderr, done


def test_a_report_that_cannot_be_written_is_exit_2_and_nothing_starts():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        json.dump(ring_to_null(), config)
        config.flush()
        done = program("--config", config.name, "--report", "/nonexistent/report.json")
    assert done.returncode == 2 and "/nonexistent/report.json" in done.stderr, done
    assert "EAL" not in done.stderr


def test_a_report_replaces_the_one_before_when_it_is_whole():
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        target, link = os.path.join(folder, "today.json"), os.path.join(folder, "report.json")
        os.symlink(target, link)
        host = lab.host("dut")
        for before in ("", "old\n"):
            with open(target, "w", encoding="utf-8") as file:
                file.write(before)
            old = open(target, encoding="utf-8")
            t = Turnpike(lab, host, ring_to_null(), (), ["--duration", "0.3", "--report-html", link], wait=False)
            assert t.finish(60) == 0, t.output()
            assert os.path.islink(link), "the target is replaced, not the link"
            with open(target, encoding="utf-8") as file:
                assert "<html" in file.read(200), before
            with old:
                assert old.read() == before, "the file before is not overwritten"


def test_version_schema_and_help():
    assert program("--version").returncode == 0
    done = program("--print-schema")
    assert done.returncode == 0 and done.stderr == "", done
    port = json.loads(done.stdout)["definitions"]["port"]
    assert port["properties"]["mtu"]["maximum"] == 65517 and port["required"] == ["name", "device"], port
    assert "[EAL options --]" in program("--help").stdout


def refused_at_start(config, *words):
    code, _report, said = run_for(config)
    assert code == 1, said
    for word in words:
        assert word in said, f"'{word}' is not in:\n{said}"


def test_an_unknown_device_names_its_port():
    refused_at_start(patch_config("net_nonsense0", "net_null0"), "turnpike.yaml:", "port 'west'",
                     "net_nonsense0")


def test_a_missing_interface_names_its_port():
    refused_at_start(patch_config("net_null0", "net_af_packet0,iface=nope"), "port 'east'")


def test_a_worker_that_eal_was_not_given():
    refused_at_start(ring_to_null(workers=[7]), "lcore 7", "-l")


def test_the_main_lcore_beside_others():
    refused_at_start(ring_to_null(workers=[0, 1]), "lcore 0", "main")


def test_too_few_queues_say_how_many_there_are():
    config = patch_config({"device": "net_tap0,iface=t0", "rx_queues": 64}, "net_null0")
    refused_at_start(config, "port 'west'", "16 RX")


def test_core_counters_of_a_recorded_machine():
    data = os.path.join(os.path.dirname(__file__), "../data/pmu")
    with tempfile.TemporaryDirectory() as folder:
        sysfs = unpack(f"{data}/icelakex.tree", folder)
        # At the rate of a loaded machine, too, such frames exceed the nominal 10 Gbit/s, so that the port is no bound.
        config = patch_config("net_ring0", "net_null0,size=1500")
        code, report, said = run_for(config, options=["--sysfs", sysfs, "--counters", f"{data}/icelakex.counts.yaml"])
    assert code == 0, said
    check_report(report)
    worker = report["workers"][0]
    assert report["counters"] == {"table": "icelakex", "why": None}, report["counters"]
    # The recording has 11,160 instructions in 6,200 cycles, 6,200 of 5,200 at the TSC's rate; packets are this run's.
    assert worker["ipc"] == 1.8 and worker["core_cycles"] == 6_200_000_000, worker
    assert abs(worker["ipp"] - 11_160_000_000 / worker["packets"]) < 1e-6 * worker["ipp"], worker
    assert abs(worker["core_ghz"] - report["tsc_hz"] / 1e9 * 6.2 / 5.2) < 1e-6, worker["core_ghz"]
    assert worker["core"]["says"] == "33 % of cycles wait for L3" and worker["core"]["why"] is None, worker["core"]
    # net_null delivers packets without limit: the worker is busy, and its core waits.
    assert report["verdict"]["bound"] == "l3" and report["verdict"]["from"] == "measured", report["verdict"]
    assert "core of" in said and "verdict  l3 (measured)" in said, said


def test_core_counters_that_are_off_are_said_to_be():
    code, report, said = run_for(ring_to_null(), options=["--counters", "off"])
    assert code == 0, said
    assert report["counters"] == {"table": None, "why": "they are off (--counters off)"}, report["counters"]
    assert report["workers"][0]["ipc"] is None and said.count("core counters  not read: they are off") == 1, said


def test_pcie_bill_of_a_named_profile():
    west = {"device": "net_ring0", "pcie": {"profile": "ixgbe", "link": "gen3x8", "mps": 256}}
    code, report, said = run_for(patch_config(west, "net_null0"))
    assert code == 0, said
    west, east = (port["pcie"] for port in report["ports"])
    assert west["modelled"]["source"] == "modelled" and west["modelled"]["profile"] == "ixgbe"
    assert west["modelled"]["link"]["mps_bytes"] == 256
    # 64-byte frames: a cache line read on TX and one written on RX, and descriptors.
    assert west["modelled"]["per_packet"]["lines"]["rd_cur"] >= 1
    assert west["counted"] is None and west["why"]["counted"]
    assert east["modelled"] is None and "niantic-dpdk" in east["why"]["modelled"]
    assert "modelled: reads" in said


def test_wrong_pcie_profile_and_link_name_the_port():
    for pcie, word in (({"profile": "nic"}, "ixgbe"), ({"link": "gen9x8"}, "generations are 1 to 6")):
        config = patch_config({"device": "net_ring0", "pcie": pcie}, "net_null0")
        refused_at_start(config, "port 'west'", word)
        code, _report, said = run_for(config, options=("--check",))
        assert code == 2 and "port 'west'" in said and word in said, (code, said)


def test_a_pool_that_does_not_fit():
    refused_at_start(ring_to_null(mempool={"buffers": 4_000_000}), "lacks", "hugepages")


def with_list(rules, **more):
    """A cross-connect with one ACL, bound at both ends."""
    ends = ({"device": device, "acl": {direction: "edge"}} for device, direction in (("net_ring0", "in"),
                                                                                    ("net_null0", "out")))
    return patch_config(*ends, acl=[{"name": "edge", "rules": rules, **more}])


def test_access_lists_are_reported():
    code, report, said = run_for(with_list([{"action": "permit", "name": "web", "protocol": "tcp"}]))
    assert code == 0, said
    check_report(report)
    assert [(a["port"], a["direction"], a["list"]) for a in report["acl"]] == [("west", "in", "edge"),
                                                                             ("east", "out", "edge")]
    rule = report["acl"][0]["rules"][1]
    assert rule["name"] == "web" and rule["action"] == "permit" and "turnpike.yaml:" in rule["where"], rule
    assert report["isa"]["acl"], report["isa"]


def test_the_example_is_valid():
    example = os.path.join(os.path.dirname(__file__), "../../examples/acl.yaml")
    done = program("--config", example, "--check")
    assert done.returncode == 0, done


def test_a_wrong_access_list_is_exit_2_and_nothing_starts():
    for config, word in ((with_list([{"action": "permit", "destination_ports": 80}]), "needs protocol: tcp"),
                         (with_list([{"action": "permit", "file": "nowhere.rules"}]), "nowhere.rules"),
                         (patch_config({"device": "net_ring0", "acl": {"in": "edge"}}, "net_null0"), "'edge'")):
        code, _report, said = run_for(config)
        assert code == 2 and "turnpike.yaml:" in said and word in said, said
        assert "EAL" not in said, said


def test_a_wrong_line_of_a_rule_file_is_named():
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as rules:
        rules.write("# two good lines\n@0.0.0.0/0 10.0.0.0/8 0 : 65535 0 : 65535 0x06/0xFF\n@nonsense\n")
        rules.flush()
        code, _report, said = run_for(with_list([{"action": "deny", "file": rules.name}]))
    assert code == 2 and rules.name + ":3: " in said and "EAL" not in said, said


def test_an_access_list_that_does_not_fit():
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as rules:
        for i in range(20_000):
            rules.write(f"@2001:db8::{i:x}/128 2001:db8:1::{i:x}/128 0 : 65535 {i} : {i} 0x11/0xFF\n")
        rules.flush()
        refused_at_start(with_list([{"action": "deny", "file": rules.name}], memory_mb=1), "turnpike.yaml:",
                         "access list 'edge'", "20002 rules", "memory_mb: 1")


def test_two_ports_on_one_interface_are_refused():
    """By its name, and by an alternative name: each frame would be received twice."""
    with Lab() as lab:
        dut = lab.host("dut")
        lab.cable(dut, "e0", lab.host("peer"), "e0")
        dut.run("ip link property add dev e0 altname uplink0")
        for other, said in (("net_xsk1,iface=e0", "'e0', which port 'west' has already"),
                            ("net_af_packet1,iface=uplink0", "'uplink0', which port 'west' has already as 'e0'")):
            t = Turnpike(lab, dut, patch_config("net_af_packet0,iface=e0", other), options=["--check"], wait=False)
            assert t.finish() == 2, t.output()
            assert "port 'east' has the kernel's interface " + said in t.output(), t.output()


def test_a_device_of_eal_with_other_arguments_is_refused():
    """--vdev and a port name one device: the arguments of the port would be ignored."""
    with Lab() as lab:
        dut = lab.host("dut")
        for interface in ("e0", "e1", "e2"):
            lab.cable(dut, interface, lab.host(f"peer-{interface}"), "e0")
        config = patch_config("net_af_packet0,iface=e1", "net_af_packet1,iface=e2")
        config["eal"]["args"] += " --vdev net_af_packet0,iface=e0"
        t = Turnpike(lab, dut, config, wait=False)
        assert t.finish() == 1, t.output()
        assert "port 'west': EAL has device 'net_af_packet0' already, with other arguments" in t.output(), t.output()
        config = patch_config("net_af_packet0,iface=e0", "net_af_packet1,iface=e2")
        config["eal"]["args"] += " --vdev net_af_packet0,iface=e0"
        t = Turnpike(lab, dut, config, options=["--duration", "0.2"], wait=False)
        assert t.finish() == 0, t.output()


if __name__ == "__main__":
    tap.main(globals())
