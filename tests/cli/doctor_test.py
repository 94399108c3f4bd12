#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-doctor as a user runs it: doctor_test.py PROGRAM [TEST...]"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
CHECKS = {"hugepages", "iommu", "nics", "pcie", "numa", "af_xdp", "cores", "isolation", "interrupts", "smt", "frequency",
          "idle_states", "clock", "thp", "kernel", "limits", "ddio"}


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=30, check=False)


def configuration(folder, ports, eal, more=""):
    file = pathlib.Path(folder, "turnpike.yaml")
    lines = [f"  - {{name: {name}, device: \"{device}\", addresses: [10.0.{i}.1/24]}}" for i, (name, device) in enumerate(ports.items())]
    file.write_text(f"{more}eal: {{args: \"{eal}\"}}\nports:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return file


def examined(machine, ports=None, eal="-l 0-1", files=None, more=""):
    """{(check, level): [text of each diagnosis]} and the exit code; the configuration is optional.

    files: {path: content} that replaces the recording's ("/ path" and "> path" of a folder and a link); more: other lines of the configuration."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        config = ["--config", configuration(folder, ports, eal, more)] if ports else []
        tree = HERE / "doctor" / f"{machine}.tree"
        if files:
            files = {path if path[1] == " " else "= " + path: content for path, content in files.items()}
            kept = [line for line in tree.read_text("utf-8").splitlines() if line.split("\t")[0] not in files]
            tree = pathlib.Path(folder, "replaced.tree")
            tree.write_text("\n".join([*kept, *(f"{path}\t{content}" for path, content in files.items() if content is not None), ""]), encoding="utf-8")
        done = run("--replay", tree, "--json", *config)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "turnpike.doctor/1"
    found = {}
    for f in answer["diagnoses"]:
        assert f["check"] in CHECKS and f["subject"] and f["text"], f
        assert f["level"] == "ok" or f["reason"] or f["remedy"], f
        found.setdefault((f["check"], f["level"]), []).append(f"{f['subject']}: {f['text']} | {' | '.join(f['remedy'])}")
    assert (done.returncode == 1) == (answer["errors"] > 0), answer["errors"]
    return found, done.returncode


def has(found, check, level, *parts):
    assert any(all(part in text for part in parts) for text in found.get((check, level), [])), f"{check} {level} {parts}: {found}"


def lacks(found, *levels):
    assert not [item for item in found.items() if item[0][1] in levels], found


def test_a_tuned_machine_has_nothing_to_do():
    found, code = examined("xeon-tuned", {"west": "0000:3b:00.0", "east": "3B:00.1"}, "-l 1-3")
    assert code == 0
    lacks(found, "error", "warning")
    has(found, "hugepages", "ok", "node0", "900 of 1024 pages of 2 MB", "4 of 4 pages of 1 GB")
    has(found, "nics", "ok", "0000:3b:00.1", "vfio-pci")
    has(found, "pcie", "ok", "8.0 GT/s PCIe x8, as the card can")
    has(found, "pcie", "ok", "maximum payload 256 bytes, maximum read request 4096 bytes")
    has(found, "numa", "ok", "node 0, as its workers")
    has(found, "isolation", "ok", "cpu 2-3")
    has(found, "interrupts", "ok", "cpu 2-3")
    has(found, "ddio", "note", "not read", "rdmsr")


def test_the_node_of_a_card_is_compared_with_the_workers():
    """The main lcore touches no packet: its node does not count."""
    ports, workers = {"west": "0000:3b:00.0"}, "node 0, and no worker is there"
    found, _code = examined("xeon-tuned", ports, "-l 1,8-9")
    has(found, "numa", "note", "nodes 0-1", "the lcores are on more than one node")
    has(found, "numa", "warning", "0000:3b:00.0", workers, "CPUs of 0-7")
    found, _code = examined("xeon-tuned", ports, "--lcores 0@8,1@2,2@9")
    has(found, "numa", "ok", "0000:3b:00.0", "node 0, as its workers")
    found, _code = examined("xeon-tuned", ports, "-l 1,2,8", more="workers: [8]\n")
    has(found, "numa", "warning", "0000:3b:00.0", workers)
    found, _code = examined("xeon-tuned", ports, "-l 8")  # a main lcore alone is the worker
    has(found, "numa", "warning", "0000:3b:00.0", workers)


def test_lcores_that_cannot_be_read_are_said():
    for eal in ("-l 0-x", "--lcores=(0,1", "-c 0xg"):
        found, _code = examined("xeon-tuned", {"west": "0000:3b:00.0"}, eal)
        has(found, "cores", "warning", eal, "no list of lcores", "--lcores 0@2")


def test_the_main_lcore_is_that_of_eal():
    """The lowest ID, wherever its CPU is, or --main-lcore; `workers` may leave lcores out."""
    ports = {"west": "0000:3b:00.0"}
    found, _code = examined("xeon-tuned", ports, "--lcores 0@5,1@2")
    has(found, "isolation", "ok", "cpu 2: isolated")
    found, _code = examined("xeon-tuned", ports, "-l 2-4 --main-lcore 4")
    has(found, "isolation", "ok", "cpu 2-3: isolated")
    found, _code = examined("xeon-tuned", ports, "-l 2-4 --main-lcore=3")
    has(found, "interrupts", "ok", "cpu 2,4")
    found, _code = examined("xeon-tuned", ports, "-l 2-5", more="workers: [3, 4]\n")
    has(found, "isolation", "ok", "cpu 3-4: isolated")
    siblings = {f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": "1-2" for cpu in (1, 2)}
    found, _code = examined("xeon-tuned", ports, "--lcores 0@5,1@2", files=siblings)
    has(found, "smt", "note", "cpu 2", "other thread, cpu 1")


def test_workers_are_lcores_of_eal_but_the_main_one():
    """As turnpike refuses them. Without an option for lcores EAL has one for each CPU, and the workers' CPUs are judged as with one."""
    ports = {"west": "0000:3b:00.0"}
    for eal, workers, text in (("-l 0-1", "[5]", "names lcore 5, which EAL is not given (-l 0-1)"), ("--no-pci", "[99]", "names lcore 99, and this machine has no CPU 99"),
                               ("-l 2-4", "[2, 3]", "names lcore 2, the main lcore"), ("--lcores=3@1,4@2", "[2]", "names lcore 2, which EAL is not given"),
                               ("--no-pci", "[0, 2]", "names lcore 0, the main lcore")):
        found, code = examined("xeon-tuned", ports, eal, more=f"workers: {workers}\n")
        assert code == 1, found
        has(found, "cores", "error", f"workers: {text}", "workers: [...]")
    for eal, workers in (("-l 2", "[2]"), ("-l 2-4 --main-lcore 4", "[2, 3]"), ("--lcores=3@1,4@2", "[4]"), ("-l 4-5 -R", "[1]"), ("-l 0-x", "[9]"), ("--no-pci", "[2]")):
        assert ("cores", "error") not in examined("xeon-tuned", ports, eal, more=f"workers: {workers}\n")[0], (eal, workers)
    found, _code = examined("xeon-tuned", ports, "--no-pci", more="workers: [2, 3]\n")
    has(found, "isolation", "ok", "cpu 2-3: isolated, without a tick")
    has(found, "interrupts", "ok", "cpu 2-3")
    has(found, "numa", "ok", "0000:3b:00.0", "as its workers")
    found, _code = examined("xeon-tuned", ports, "--no-pci")
    has(found, "isolation", "warning", "on these workers' cores")


def test_only_threads_that_can_go_offline_are_told_to():
    """Linux has no `online` file of a CPU that always runs, as CPU 0 of x86."""
    ports, folder = {"west": "0000:3b:00.0"}, "/sys/devices/system/cpu"
    files = {f"{folder}/cpu2/topology/thread_siblings_list": "0-2,8"}
    mend = "isolate both threads of the core, or use another core"
    found, _code = examined("xeon-tuned", ports, "-l 2-3 --main-lcore 3", files)
    has(found, "smt", "note", "cpu 2: the core's other thread, cpu 0-1,8, runs other programs", mend)
    assert "echo 0" not in str(found["smt", "note"]), found
    found, _code = examined("xeon-tuned", ports, "-l 2-3 --main-lcore 3", files | {f"{folder}/cpu{cpu}/online": "1" for cpu in (1, 8)})
    has(found, "smt", "note", f"echo 0 > {folder}/cpu1/online | echo 0 > {folder}/cpu8/online | {mend}")
    assert "cpu0/online" not in str(found), found


def test_clocks_and_kinds_of_numa_balancing():
    clock, balancing = "/sys/devices/system/clocksource/clocksource0/current_clocksource", "/proc/sys/kernel/numa_balancing"
    found, _code = examined("guest", files={clock: "hyperv_clocksource_tsc_page", balancing: "2"})
    has(found, "clock", "ok", "hyperv_clocksource_tsc_page")
    assert ("clock", "warning") not in found, found
    has(found, "kernel", "note", "NUMA balancing is on", "echo 0 > /proc/sys/kernel/numa_balancing")
    found, _code = examined("guest", files={clock: "hyperv_clocksource_msr", balancing: "0"})
    has(found, "clock", "warning", "hyperv_clocksource_msr")
    assert ("kernel", "note") not in found, found


def test_managed_interrupts_are_the_kernels():
    """A write to smp_affinity_list fails with EIO: known before of a block device's queues, and no failure of --fix."""
    ports = {"west": "0000:3b:00.0"}
    files = {"/ /proc/irq": "24 25 26 27 28 29"}
    for irq, cpu, action in ((26, "2", "nvme0q3"), (27, "3", "virtio1-req.2"), (28, "2", "nvme0q0"), (29, "3", "eth0-TxRx-1")):
        files |= {f"/proc/irq/{irq}/effective_affinity_list": cpu, f"/proc/irq/{irq}/smp_affinity_list": cpu,
                  f"/ /proc/irq/{irq}": f"{action} effective_affinity_list smp_affinity_list"}
    found, _code = examined("xeon-tuned", ports, "-l 1-3", files)
    has(found, "interrupts", "note", "cpu 2-3: 2 interrupts of block devices' queues go there: 26 27", "isolcpus=managed_irq,domain,2-3")
    has(found, "interrupts", "warning", "2 interrupts of devices go there: 28 29")
    del files["/ /proc/irq/28"], files["/ /proc/irq/29"]
    found, _code = examined("xeon-tuned", ports, "-l 1-3", files | {"/ /proc/irq": "24 25 26 27"})
    assert ("interrupts", "note") in found and ("interrupts", "warning") not in found and ("interrupts", "ok") not in found, found
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        root = pathlib.Path(folder)
        for file, content in (("sys/devices/system/cpu/online", "0-3"), ("proc/irq/30/effective_affinity_list", "2"), ("proc/irq/31/effective_affinity_list", "2"),
                              ("proc/irq/31/smp_affinity_list", "0-3")):
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(content + "\n", encoding="utf-8")
        (root / "proc/irq/30/smp_affinity_list").symlink_to("/proc/self/mem")  # whose first byte cannot be written: EIO
        done = run("--root", root, "--config", configuration(folder, ports, "-l 1-2"), "--fix", "interrupts", "--yes")
        assert done.returncode == 0 and "irq/30/smp_affinity_list: managed by the kernel (EIO)" in done.stdout, done.stdout + done.stderr
        assert (root / "proc/irq/31/smp_affinity_list").read_text("utf-8") == "0-1,3\n"
        # CPUs isolated for another program, of either kind, get none; if no other CPU is left, they do.
        partition = root / "sys/fs/cgroup/cpuset.cpus.isolated"
        partition.parent.mkdir(parents=True)
        for isolated, partitions, cpus in (("2-3", "", "0-1"), ("2", "1-2", "0,3"), ("0-3", "", "0-1,3")):
            (root / "sys/devices/system/cpu/isolated").write_text(isolated + "\n", encoding="utf-8")
            partition.write_text(partitions + "\n", encoding="utf-8")
            shown = run("--root", root, "--config", configuration(folder, ports, "-l 1-2"))
            assert f"echo {cpus} > /proc/irq/N/smp_affinity_list" in shown.stdout, shown.stdout
            run("--root", root, "--config", configuration(folder, ports, "-l 1-2"), "--fix", "interrupts", "--yes")
            assert (root / "proc/irq/31/smp_affinity_list").read_text("utf-8") == f"{cpus}\n", (isolated, partitions)


def test_the_tick_is_what_the_kernel_lists():
    """Not the word of its command line: another form, or a kernel that cannot, changes nothing there."""
    ports, file = {"west": "0000:3b:00.0"}, "/sys/devices/system/cpu/nohz_full"
    found, _code = examined("xeon-tuned", ports, "-l 1-3", {"/proc/cmdline": "nohz_full=1-N isolcpus=2-7"})
    has(found, "isolation", "ok", "cpu 2-3", "without a tick")
    found, _code = examined("xeon-tuned", ports, "-l 1-3", {file: "(null)"})
    has(found, "isolation", "note", "cpu 2-3", "tick", "nohz_full=2-3")
    found, _code = examined("xeon-tuned", ports, "-l 1-3", {file: None})
    has(found, "isolation", "note", "cpu 2-3", "tick", "CONFIG_NO_HZ_FULL")


def test_an_untuned_machine():
    found, code = examined("xeon-untuned", {"west": "0000:3b:00.0", "east": "0000:3b:00.1"}, "--lcores=0@0,1@1,2@9")
    assert code == 1
    has(found, "hugepages", "error", "node0", "no hugepages are reserved", "echo 512 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages")
    has(found, "iommu", "warning", "off", "intel_iommu=on")
    has(found, "nics", "error", "port 'west'", "ixgbe", "dpdk-devbind.py -b vfio-pci 0000:3b:00.0")
    has(found, "nics", "error", "port 'east' would take eth3", "cut off")
    assert not any("vfio-pci 0000:3b:00.1" in text for texts in found.values() for text in texts), found
    has(found, "pcie", "warning", "0000:3b:00.0", "x4, and the card can 8.0 GT/s PCIe x8", "the slot can no more")
    has(found, "pcie", "warning", "0000:3b:00.1", "5.0 GT/s PCIe x8", "BIOS")
    has(found, "pcie", "warning", "maximum payload 128 bytes", "pci=pcie_bus_safe")
    assert "setpci" not in str(found) and "pcie_bus_perf" not in str(found), found
    has(found, "pcie", "warning", "ASPM L1", "echo performance > /sys/module/pcie_aspm/parameters/policy", "pcie_aspm.policy=performance on")
    assert "pcie_aspm=off" not in str(found), found  # leaves what the firmware enabled
    has(found, "pcie", "note", "0000:3b:00.1", "run as root")
    has(found, "numa", "warning", "node 1, and no worker is there", "4-7,12-15")
    has(found, "isolation", "warning", "cpu 1,9", "isolcpus=managed_irq,domain,1,9 nohz_full=1,9")
    has(found, "interrupts", "warning", "2 interrupts", "40 41")
    has(found, "smt", "warning", "cpu 1,9", "threads of one core")
    has(found, "frequency", "warning", "cpu 0-1,9", "powersave")
    has(found, "frequency", "note", "turbo")
    has(found, "idle_states", "note", "133 us")
    has(found, "clock", "warning", "hpet")
    has(found, "thp", "note", "always")
    has(found, "kernel", "note", "NUMA balancing")
    has(found, "kernel", "note", "NMI watchdog")
    has(found, "limits", "note", "8 MB")


def test_small_payloads_and_small_read_requests_have_their_own_remedies():
    tree = (HERE / "doctor/xeon-untuned.tree").read_text("utf-8")
    file = "/sys/bus/pci/devices/0000:3b:00.0/config"
    config = next(line for line in tree.splitlines() if line.startswith(f"= {file}\t")).split("\t")[1]
    bytes_of = re.findall(r"\\x..|.", config)
    mend = "setpci -s 0000:3b:00.0 CAP_EXP+8.w=2000:7000 (512 bytes)"
    for control, payload, request, remedies in ((0x1000, 128, 256, ("pcie_bus_safe", mend)), (0x1020, 256, 256, (mend,)), (0x2000, 128, 512, ("pcie_bus_safe",))):
        bytes_of[0x48:0x4a] = [f"\\x{control & 0xff:02x}", f"\\x{control >> 8:02x}"]
        found, _code = examined("xeon-untuned", {"west": "0000:3b:00.0"}, files={file: "".join(bytes_of)})
        has(found, "pcie", "warning", f"maximum payload {payload} bytes, maximum read request {request} bytes", *remedies)
        assert len(remedies) == 2 or ("pcie_bus_safe" in str(found)) != ("setpci" in str(found)), found


def test_a_machine_of_aarch64():
    """Its counter is constant by architecture, and /proc/cpuinfo has no flags of x86."""
    files = {"/proc/cpuinfo": r"processor\t: 0\nFeatures\t: fp asimd crc32\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
             "/sys/devices/system/clocksource/clocksource0/current_clocksource": r"arch_sys_counter\n"}
    found, _code = examined("xeon-untuned", {"west": "0000:3b:00.0", "east": "0000:3b:00.1"}, files=files)
    has(found, "clock", "ok", "arch_sys_counter")
    assert ("clock", "warning") not in found, found
    has(found, "iommu", "warning", "iommu.passthrough=1", "SMMU")


def test_domains_of_more_digits():
    """Intel's VMD has domains from 10000 on. Members of a bond are a port's devices, too."""
    there = {"/ /sys/bus/pci/devices": "0000:41:00.0 10000:e1:00.0", "/sys/bus/pci/devices/10000:e1:00.0/class": "0x020000",
             "> /sys/bus/pci/devices/10000:e1:00.0/driver": "../../../../bus/pci/drivers/ice"}
    found, code = examined("epyc", {"west": "10000:E1:00.0,arg=1", "east": "0000:41:0.0"}, files=there)
    assert code == 1, found
    has(found, "nics", "error", "10000:e1:00.0: port 'west': the kernel's driver ice has it", "dpdk-devbind.py -b vfio-pci 10000:e1:00.0")
    has(found, "nics", "ok", "0000:41:00.0")
    found, code = examined("epyc", {"west": "net_bonding0,slave=41:00.0,slave=20000:e1:00.0"}, files=there)
    has(found, "nics", "error", "20000:e1:00.0: port 'west': there is no such network device")
    has(found, "nics", "ok", "0000:41:00.0")


def test_ports_that_the_kernel_keeps():
    found, code = examined("epyc", {"west": "0000:41:00.0", "east": "0000:41:00.1"}, "-c 0x0207")
    assert code == 1, found
    has(found, "nics", "ok", "0000:41:00.0", "mlx5_core, which DPDK uses beside the kernel")
    # Outside flow isolated mode the port takes the packets to its MAC address, and broadcast, from the kernel.
    has(found, "nics", "error", "0000:41:00.1", "port 'east' would take enp65s0f1", "cut off")
    assert ("nics", "error") not in examined("epyc", {"west": "0000:41:00.0"})[0]
    has(examined("epyc")[0], "nics", "ok", "0000:41:00.1", "leave it to the kernel")
    has(found, "hugepages", "ok", "8 of 8 pages of 1 GB")
    has(found, "smt", "warning", "cpu 1,9", "threads of one core")
    has(found, "isolation", "note", "cpu 1-2,9", "tick")


def test_a_guest_with_af_xdp():
    found, code = examined("guest", {"west": "net_xsk0,iface=v0", "mid": "net_xsk1,iface=v1", "out": "net_xsk2,iface=ens3", "gone": "net_xsk3,iface=v9"}, "-l 0-3")
    assert code == 1
    has(found, "af_xdp", "ok", "v0", "1 receive queues", "copied")
    has(found, "af_xdp", "warning", "v1", "2 receive queues", "port 'mid' polls 1 of them", "ethtool -L v1 rx 1")
    has(found, "af_xdp", "error", "port 'out'", "cut off")
    has(found, "af_xdp", "error", "port 'gone'", "no such interface")
    has(found, "cores", "error", "cpu 2-3", "online: 0-1")
    has(found, "hugepages", "note", "no hugetlbfs is mounted: turnpike needs none", "--in-memory")
    assert not [key for key in found if key[0] in ("nics", "iommu", "ddio")], found


def test_queues_of_an_interface():
    """veth has no combined channels; with a filter, the kernel may keep some queues."""
    files = {"> /sys/class/net/v1/device/driver": "../../../../bus/pci/drivers/ice"}
    has(examined("guest", {"mid": "net_xsk1,iface=v1"}, files=files)[0], "af_xdp", "warning", "driver ice", "ethtool -L v1 combined 1")
    found, _code = examined("guest", {"mid": "net_xsk1,iface=v1,filter=f"})
    has(found, "af_xdp", "ok", "v1", "2 receive queues")
    assert ("af_xdp", "warning") not in found, found


def test_an_iommu_is_on_by_its_groups():
    """vfio's mode without an IOMMU makes groups, too."""
    ports, folder = {"west": "0000:3b:00.0"}, "/sys/kernel/iommu_groups"
    files = {f"/ {folder}": "0 1", f"{folder}/0/name": "vfio-noiommu", f"{folder}/1/name": "vfio-noiommu"}
    unsafe = {"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode": "Y"}
    needs = ("CAP_SYS_RAWIO", "CAP_SYS_ADMIN", "turnpike.service lacks", "a virtual IOMMU", "net_xsk")
    found = examined("xeon-tuned", ports, files=files | unsafe)[0]
    has(found, "iommu", "note", "off; vfio runs without it, for programs with CAP_SYS_RAWIO", *needs)
    has(examined("xeon-tuned", ports, files=files)[0], "iommu", "warning", "off: vfio-pci does not open devices", *needs)
    has(examined("xeon-tuned", ports, files=files | {f"/ {folder}": "0 1 2"})[0], "iommu", "ok", "on")
    # Devices beside the kernel's driver do without vfio.
    found, _code = examined("epyc", {"west": "0000:41:00.0"}, files={f"/ {folder}": None})
    has(found, "iommu", "ok", "off", "not needed")
    assert ("iommu", "warning") not in found, found


def test_ports_on_the_kernels_interfaces():
    """Their cards are judged as other ports' are, but not their drivers; and each kind of port that takes the default route's interface."""
    for device in ("net_xsk0,iface=eth2", "net_af_xdp0,iface=eth2", "net_af_packet0,iface=eth2", "net_xsk0,iface=eth2.7"):
        found, _code = examined("xeon-untuned", {"west": device}, files={"/sys/class/net/eth2/ifindex": "4", "/sys/class/net/eth2.7/ifindex": "5", "/ /sys/class/net/eth2.7": "lower_eth2"})
        has(found, "pcie", "warning", "0000:3b:00.0", "x4, and the card can 8.0 GT/s PCIe x8")
        has(found, "numa", "warning", "0000:3b:00.0", "node 1, and no worker is there")
        assert not [key for key in found if key[0] in ("nics", "iommu")] and "0000:3b:00.1" not in str(found), found
    for device in ("net_xsk0,iface=ens3", "net_af_xdp0,iface=ens3", "net_tap0,iface=t0,remote=ens3"):
        found, code = examined("guest", {"out": device})
        assert code == 1, found
        has(found, "af_xdp", "error", "ens3: port 'out'", "cut off")
    for device in ("net_xsk0,iface=ens3,filter=f", "net_af_packet0,iface=ens3", "net_tap0,iface=ens3"):
        assert ("af_xdp", "error") not in examined("guest", {"out": device})[0], device
    has(examined("guest", {"out": "net_af_packet0,iface=v9"})[0], "af_xdp", "error", "v9: port 'out': there is no such interface")


def test_a_guests_way_out_is_left_to_the_kernel():
    """A virtio device has its interface one folder deeper than other devices."""
    found, _ = examined("guest")
    has(found, "nics", "ok", "0000:00:03.0 (ens3)", "leave it to the kernel")
    has(found, "nics", "note", "0000:00:04.0", "virtio-pci", "dpdk-devbind.py -b vfio-pci 0000:00:04.0")
    has(found, "iommu", "warning", "enable_unsafe_noiommu_mode")
    found, code = examined("guest", {"west": "0000:00:03.0", "none": "0000:09:00.0"})
    assert code == 1
    has(found, "nics", "error", "port 'west' would take ens3", "cut off")
    has(found, "nics", "error", "0000:09:00.0", "port 'none'", "no such network device")


def test_default_routes_that_procfs_does_not_show():
    """Default routes of other tables, or with several paths, and by a bridge: its ports are interfaces below it."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        tree = pathlib.Path(folder, "guest.tree")
        tree.write_text((HERE / "doctor/guest.tree").read_text("utf-8") + "= netlink:default_routes\tbr0 v1\n"
                        "/ /sys/class/net/br0\tbridge lower_v0 queues\n", encoding="utf-8")
        config = configuration(folder, {"west": "net_xsk0,iface=v0", "mid": "net_xsk1,iface=v1"}, "-l 0-1")
        done = run("--replay", tree, "--json", "--config", config)
        texts = [f["text"] for f in json.loads(done.stdout)["diagnoses"] if f["level"] == "error"]
        assert [any(f"port '{port}'" in text and "cut off" in text for text in texts) for port in ("west", "mid")] == [True, True], texts
    if os.geteuid() != 0:
        tap.skip("needs root")
    for command in ("link add turnpike-dummy type veth peer name turnpike-peer", "link set turnpike-dummy up", "route add default dev turnpike-dummy table 100"):
        subprocess.run(["ip", *command.split()], check=True)
    line = "= netlink:default_routes\tturnpike-dummy\n"
    assert line not in run("--record", "-").stdout
    subprocess.run(["ip", "rule", "add", "lookup", "100"], check=True)
    assert line in run("--record", "-").stdout
    subprocess.run(["ip", "rule", "del", "lookup", "100"], check=True)
    subprocess.run(["ip", "link", "del", "turnpike-dummy"], check=True)


def test_a_container_without_hugepages_of_its_own():
    found, code = examined("pod", {"west": "net_memif0"}, "-l 1-2")
    assert code == 1
    has(found, "hugepages", "error", "cgroup", "at most 0 MB in pages of 2 MB", "/sys/fs/cgroup/kubepods.slice/pod1/hugetlb.2MB.max", "hugepages-2Mi")
    has(found, "limits", "note", "at most 0 MB may be locked")
    found, code = examined("pod", {"west": "net_memif0"}, "-l 1-2 --no-huge -m 512")
    assert code == 0, found
    has(found, "hugepages", "note", "--no-huge: turnpike uses no hugepages")
    assert [key for key in found if key[0] == "hugepages"] == [("hugepages", "note")], found


def test_hugepages_of_a_running_turnpike():
    node, running = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB", "procfs:turnpike_hugepages"
    few = {f"{node}/nr_hugepages": "512", f"{node}/free_hugepages": "12"}
    found, _code = examined("guest", files=few | {running: r"node0 2048 500\nnode1 2048 7\n"})
    has(found, "hugepages", "ok", "node0: 12 of 512 pages of 2 MB free and 500 in use by turnpike")
    for unread in (None, r"unread\n"):
        found, code = examined("guest", files=few | {running: unread})
        has(found, "hugepages", "note", "12 of 512 pages", "pages in use were not counted")
        assert ("hugepages", "warning") not in found and "nr_hugepages" in str(found), found
    found, _code = examined("guest", files=few | {running: r"node0 2048 20\n"})
    has(found, "hugepages", "warning", "turnpike needs some 512 MB", f"echo 992 > {node}/nr_hugepages")
    # A node of memory alone.
    found, _code = examined("guest", files={"/ /sys/devices/system/node": "node0 node1", "/sys/devices/system/node/node1/cpulist": ""})
    assert "node1" not in str(found), found
    # A group's use, too.
    pod, group = "/sys/fs/cgroup/kubepods.slice/pod1", {"/ /sys/fs/cgroup/kubepods.slice/pod1": "hugetlb.2MB.max hugetlb.2MB.current"}
    group |= {f"{pod}/hugetlb.2MB.max": "1073741824", f"{pod}/hugetlb.2MB.current": "1073741824"}
    found, _code = examined("pod", files=group)
    has(found, "hugepages", "note", "cgroup: at most 1024 MB", "all but 0 MB are in use")
    found, _code = examined("pod", files=group | {running: r"node0 2048 512\n"})
    has(found, "hugepages", "ok", "cgroup: at most 1024 MB")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        maps = ("7f0000000000 default file=/memfd:a huge dirty=2 N0=2 N1=1 kernelpagesize_kB=2048", "7f1000000000 default anon=3 N0=3 kernelpagesize_kB=4",
                "7f2000000000 default file=/b huge dirty=1 N0=5 kernelpagesize_kB=2048")
        for pid, name in ((7, "turnpike"), (8, "turnpikectl"), (9, "bash")):
            process = pathlib.Path(folder, "proc", str(pid))
            process.mkdir(parents=True)
            (process / "comm").write_text(name + "\n", encoding="utf-8")
            (process / "numa_maps").write_text("\n".join(maps) + "\n", encoding="utf-8")
        assert f"= {running}\tnode0 2048 7\\nnode1 2048 1\\n\n" in run("--root", folder, "--record", "-").stdout
        pathlib.Path(folder, "proc/7/numa_maps").unlink()
        assert f"= {running}\tunread\\n\n" in run("--root", folder, "--record", "-").stdout


def test_hugepages_that_the_kernel_does_not_find():
    """coredump_filter keeps some bits of a number that is written, as nr_hugepages keeps a part."""
    pathlib.Path("/proc/self/coredump_filter").write_text("0x33", encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        pages = pathlib.Path(folder, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        pages.parent.mkdir(parents=True)
        pages.write_text("64\n", encoding="utf-8")
        done = run("--root", folder, "--fix", "hugepages", "--yes")
        assert done.returncode == 0 and pages.read_text("utf-8") == "576\n", done.stdout + done.stderr
        pages.unlink()
        pages.symlink_to("/proc/self/coredump_filter")
        done = run("--root", folder, "--fix", "hugepages", "--yes")
        assert done.returncode == 2 and "nr_hugepages: the kernel reserved 21 pages of 545" in done.stderr, done.stdout + done.stderr


def test_hugepages_that_others_have():
    """All in use, and no turnpike runs: a remedy, not a note that turnpike may have them."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        pages = pathlib.Path(folder, "sys/devices/system/node/node0/hugepages/hugepages-2048kB")
        pages.mkdir(parents=True)
        pathlib.Path(folder, "proc").mkdir()
        for name, value in (("nr_hugepages", "512"), ("free_hugepages", "0")):
            (pages / name).write_text(value + "\n", encoding="utf-8")
        (pages.parents[1] / "cpulist").write_text("0-1\n", encoding="utf-8")
        done = run("--root", folder, "--fix", "hugepages")
        assert "may be turnpike's" not in done.stdout and "+1024" in done.stdout + done.stderr, done.stdout + done.stderr
        # Free, but reserved by mappings: the kernel counts these for all nodes.
        machine = pathlib.Path(folder, "sys/kernel/mm/hugepages/hugepages-2048kB")
        machine.mkdir(parents=True)
        for free, reserved, said, change in (("512", "500", "512 of 512 pages of 2 MB free, 500 of these reserved by mappings (resv_hugepages)", "+1012"),
                                             ("512", "100", "512 of 512 pages of 2 MB free, 100 of these reserved", None),
                                             ("1024", "500", "node0: 512 of 512 pages of 2 MB free", None)):  # another node has enough for them
            (pages / "free_hugepages").write_text("512\n", encoding="utf-8")
            (machine / "free_hugepages").write_text(free + "\n", encoding="utf-8")
            (machine / "resv_hugepages").write_text(reserved + "\n", encoding="utf-8")
            shown, done = run("--root", folder).stdout, run("--root", folder, "--fix", "hugepages").stdout
            assert said in shown and ("reserved by" in shown) == ("reserved" in said), shown
            assert change + "\n" in done if change else done == "nothing to change\n", done


def test_limits_of_control_groups():
    """All page sizes together, the groups above, and both versions count: the kubelet gives 0 to a size that a pod does not ask for."""
    ports, node, pod = {"west": "net_memif0"}, "/sys/devices/system/node/node0/hugepages", "/sys/fs/cgroup/kubepods.slice/pod1"
    large = {f"/ {node}": "hugepages-1048576kB hugepages-2048kB", f"{node}/hugepages-1048576kB/nr_hugepages": "2",
             f"{node}/hugepages-1048576kB/free_hugepages": "2", f"{pod}/hugetlb.1GB.max": "1073741824"}
    found, code = examined("pod", ports, "-l 1-2", large)
    assert code == 0, found
    has(found, "hugepages", "ok", "cgroup", "at most 0 MB in pages of 2 MB", "at most 1024 MB in pages of 1 GB")
    found, code = examined("pod", ports, "-l 1-2", large | {f"{pod}/hugetlb.1GB.max": "0"})
    assert code == 1, found
    has(found, "hugepages", "error", f"0 MB in pages of 1 GB by {pod}/hugetlb.1GB.max", "hugepages-2Mi | ", "hugepages-1Gi")
    found, code = examined("pod", ports, '-l 1-2", hugepages: "optional')
    assert code == 0 and ("hugepages", "warning") in found, found
    above = "/sys/fs/cgroup/kubepods.slice"
    found, code = examined("pod", ports, "-l 1-2", {f"{pod}/hugetlb.2MB.max": "max", f"/ {above}": "pod1 hugetlb.2MB.rsvd.max", f"{above}/hugetlb.2MB.rsvd.max": "104857600"})
    assert code == 1, found
    has(found, "hugepages", "error", f"at most 100 MB in pages of 2 MB by {above}/hugetlb.2MB.rsvd.max")
    # Version 1, in a container that sees its group as the uppermost one.
    old = {"/proc/self/cgroup": r"5:pids:/x\n4:hugetlb,misc:/kubepods/pod1\n0::/\n", "/ /sys/fs/cgroup/hugetlb": "hugetlb.2MB.limit_in_bytes hugetlb.2MB.usage_in_bytes",
           "/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes": "0"}
    found, code = examined("pod", ports, "-l 1-2", old)
    assert code == 1, found
    has(found, "hugepages", "error", "at most 0 MB in pages of 2 MB by /sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes")
    # AArch64's sizes.
    arm = {f"/ {node}": "hugepages-32768kB", f"{node}/hugepages-32768kB/nr_hugepages": "64", f"{node}/hugepages-32768kB/free_hugepages": "64",
           f"/ {pod}": "hugetlb.32MB.max", f"{pod}/hugetlb.32MB.max": "67108864"}
    found, code = examined("pod", ports, "-l 1-2", arm)
    assert code == 1, found
    has(found, "hugepages", "error", "at most 64 MB in pages of 32 MB", "hugepages-32Mi")


def test_without_a_configuration_all_devices_are_judged():
    found, code = examined("desktop")
    assert code == 1
    has(found, "nics", "ok", "0000:00:1f.6 (eno1)", "leave it to the kernel")
    assert not any("vfio-pci 0000:00:1f.6" in text for texts in found.values() for text in texts), found
    has(found, "nics", "warning", "uio_pci_generic", "reaches all memory")
    has(found, "kernel", "warning", "4.19")
    reason, = (f["reason"] for f in json.loads(run("--replay", HERE / "doctor/desktop.tree", "--json").stdout)["diagnoses"] if "4.19" in f["text"])
    assert "no busy polling, and BPF maps and programs count against RLIMIT_MEMLOCK" in reason, reason
    has(found, "clock", "warning", "nonstop_tsc")
    has(found, "idle_states", "note", "cpu 0-2", "890 us")
    has(found, "isolation", "note", "none")
    has(found, "thp", "ok", "[never]")


def test_this_machine_and_its_recording_say_the_same():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        tree = pathlib.Path(folder, "here.tree")
        here = run("--record", tree)
        assert here.returncode in (0, 1), here.stderr
        assert run("--replay", tree).stdout == here.stdout
        tree.write_bytes(tree.read_bytes().replace(b"\n", b"\r\n"))  # as mail or an editor may leave it
        assert run("--replay", tree).stdout == here.stdout
        assert "hugepages" in here.stdout and " errors, " in here.stdout.splitlines()[-1], here.stdout
        assert run("--record", "-").stdout.count("\n= /") > 10


def test_fix_shows_a_diff_and_writes_what_it_is_told():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        root = pathlib.Path(folder)
        for file, content in (("sys/devices/system/cpu/online", "0"), ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
                              ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"), ("proc/sys/kernel/osrelease", "6.1")):
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(content + "\n", encoding="utf-8")
        governor = root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
        shown = run("--root", root, "--fix", "frequency")
        assert shown.returncode == 0 and "-powersave\n+performance\n" in shown.stdout and "--yes" in shown.stdout, shown.stdout + shown.stderr
        assert governor.read_text("utf-8") == "powersave\n"
        assert run("--root", root, "--fix", "frequency", "--yes").returncode == 0
        assert governor.read_text("utf-8") == "performance\n"
        assert "[always]" in (root / "sys/kernel/mm/transparent_hugepage/enabled").read_text("utf-8")
        assert run("--root", root, "--fix", "frequency,thp", "--yes").returncode == 0
        assert (root / "sys/kernel/mm/transparent_hugepage/enabled").read_text("utf-8") == "madvise\n"
        assert run("--root", root, "--fix", "frequency").stdout == "nothing to change\n"


def test_a_file_that_cannot_be_written_is_named():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        root = pathlib.Path(folder)
        pages = root / "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
        pages.parent.mkdir(parents=True)
        pages.write_text("0\n", encoding="utf-8")
        moved = root / "moved"
        os.rename(pages, moved)
        pages.symlink_to("/proc/version")
        done = run("--root", root, "--fix", "hugepages", "--yes")
        assert done.returncode == 2 and "nr_hugepages" in done.stderr, done.stdout + done.stderr


def test_wrong_input_is_refused_by_place():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        bad = pathlib.Path(folder, "bad.tree")
        for text, place in (("= /a\tb\n? c\td\n", "bad.tree:2"), ("= /a\n", "bad.tree:1"), ("= /a\tx\\q\n", "bad.tree:1"), ("= /a\t\\x9\n", "bad.tree:1")):
            bad.write_text(text, encoding="utf-8")
            done = run("--replay", bad)
            assert done.returncode == 2 and place in done.stderr, done.stderr
        bad.write_bytes(os.urandom(4096))
        assert run("--replay", bad).returncode in (0, 1, 2)
        config = pathlib.Path(folder, "c.yaml")
        config.write_text("ports: 7\n", encoding="utf-8")
        done = run("--config", config)
        assert done.returncode == 2 and "c.yaml:1" in done.stderr, done.stderr
    for words in (("--fix", "everything"), ("--yes",), ("--replay", "/nowhere"), ("--no-such",)):
        done = run(*words)
        assert done.returncode == 2 and done.stderr, (words, done.stderr)
    assert run("--replay", HERE / "doctor/pod.tree", "--fix", "thp").returncode == 2
    assert all(name in run("--help").stdout for name in CHECKS)


if __name__ == "__main__":
    tap.main(globals())
