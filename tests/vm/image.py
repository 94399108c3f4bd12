# SPDX-License-Identifier: BSD-3-Clause
"""The guest's initramfs: busybox, programs with their libraries and DPDK's drivers, kernel modules, our init. The
kernel, its modules and QEMU's plugin header are what `devtools/setup --vm` laid into .vm/."""
import glob
import os
import pathlib
import re
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
PARTS = TOP / ".vm"
MODULES = ("uio", "uio_pci_generic", "irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci")
VIRTIO_MODULES = ("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "failover",
                  "net_failover", "virtio_net")
TUNNEL_MODULES = ("tun", "udp_tunnel", "ip6_udp_tunnel", "vxlan")
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_vmxnet3", "net_virtio")
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "gcc": "gcc"}


def missing(modules=MODULES, header=True):
    """The missing tools and packages, as a sentence; empty where a guest with these modules can be booted. header: of QEMU's
    plugins"""
    lacking = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    parts = ["vmlinuz", *(f"modules/{name}.ko" for name in modules), *(["include/qemu-plugin.h"] if header else [])]
    lacking += [f"{PARTS.name}/{part}" for part in parts if not (PARTS / part).exists()]
    return f"no {', '.join(lacking)}; 'devtools/setup --vm' gets what a guest needs" if lacking else ""


def libraries(listing):
    """The files that `ldd` names, at the paths that the program looks for them."""
    if "not found" in listing:
        raise AssertionError(f"a program for the guest lacks libraries: {listing}")
    return re.findall(r"(/\S+) \(0x", listing)


def copy_in(root, path):
    """At its path, and where that leads by symbolic links, as one file: DPDK's drivers are loaded by both names."""
    real = os.path.realpath(path)
    for name in (real, os.path.normpath(path)):
        target = root / name.lstrip("/")
        if os.path.lexists(target):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if name == real:
            shutil.copy(real, target)
        else:
            target.symlink_to(real)


def _libraries_of(path):
    return libraries(subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout)


def _copy_program(root, path):
    for each in (path, *_libraries_of(path)):
        copy_in(root, each)


def _dpdk_drivers(program):
    """Drivers of the DPDK that a program is linked with, from the folder where its EAL searches for them."""
    eal = next(path for path in _libraries_of(program) if "/librte_eal.so" in path)
    folder = max(glob.glob(f"{os.path.dirname(eal)}/dpdk/pmds-*"))
    return [max(glob.glob(f"{folder}/librte_{name}.so.*"), key=len) for name in DRIVERS]


def build(work, programs, modules=MODULES, drivers=True):
    """Makes work/initramfs of the programs, of kernel modules in the order in which they are loaded, and of DPDK's drivers for
    the first program."""
    root = work / "root"
    for folder in ("bin", "modules", "lib64"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for program in [*programs, *(_dpdk_drivers(programs[0]) if drivers else ())]:
        _copy_program(root, program)
    for module in modules:
        shutil.copy(PARTS / f"modules/{module}.ko", root / "modules")
    (root / "modules/order").write_text("\n".join(modules) + "\n")
    shutil.copy(pathlib.Path(__file__).parent / "init", root / "init")
    (root / "init").chmod(0o755)
    image = work / "initramfs"
    with open(image, "wb") as out:
        names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=out, check=True)
    shutil.rmtree(root)
    return image
