# SPDX-License-Identifier: BSD-3-Clause
"""A guest with two NICs of each kind, and turnpike in it."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import time

import image
import observer
from lib import dut, tap
from machine import Machine

TURNPIKE = os.path.abspath(dut.PROGRAM)
CTL = os.path.abspath(os.path.join(dut.BUILD, "app/turnpikectl/turnpikectl"))
WORKER_CPU = 1
MEMORY_ACCESS = ("memory_region_ops_read", "memory_region_ops_write")
# ioeventfd: without KVM it would only hide notifications from the trace. iommu_platform: the device's DMA goes
# through the IOMMU, as in hardware.
KINDS = {
    "e1000e": "e1000e",
    "vmxnet3": "vmxnet3",
    "virtio": "virtio-net-pci,disable-legacy=on,ioeventfd=off,iommu_platform=on",
}



def binding(address, driver):
    """The guest's command that binds a device to a driver."""
    device = f"/sys/bus/pci/devices/{address}"
    return (f"[ ! -e {device}/driver ] || echo {address} >{device}/driver/unbind; "
            f"echo {driver} >{device}/driver_override; echo {address} >/sys/bus/pci/drivers_probe; "
            f"[ $(basename $(readlink {device}/driver)) = {driver} ]")


Nic = collections.namedtuple("Nic", "kind address mac cable")


class Guest:
    """Booted where it is entered; skips where it cannot be."""

    def __init__(self):
        self.folder = self.machine = None

    def boot(self):
        lacking = image.missing()
        if lacking:
            tap.skip(f"a guest: {lacking}")
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-vm-")
        work = pathlib.Path(self.folder.name)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-I{image.PARTS}/include", "-o", work / "count.so",
                        pathlib.Path(__file__).parent / "count.c"], check=True)
        kinds = [kind for kind in KINDS for _ in range(2)]
        macs = [f"02:00:00:00:00:{n + 1:02x}" for n in range(len(kinds))]
        devices = [f"{KINDS[kind]},mac={mac},romfile=" for kind, mac in zip(kinds, macs)]
        self.machine = Machine(str(work), image.PARTS / "vmlinuz", image.build(work, [TURNPIKE, CTL]), devices,
                               plugin=f"{work}/count.so,counts={work}/counts", more=["-device", "intel-iommu"])
        self.nics = {}
        for n, (kind, mac) in enumerate(zip(kinds, macs)):
            nic = Nic(kind, f"0000:{n + 1:02x}:00.0", mac, self.machine.cables[n])
            self.nics.setdefault(kind, []).append(nic)
            has = self.run(f"cat /sys/bus/pci/devices/{nic.address}/vendor").strip()
            assert has in ("0x8086", "0x15ad", "0x1af4"), (nic, has)
        self.bind("vfio-pci")

    def close(self):
        if self.machine:
            self.machine.close()
        if self.folder:
            self.folder.cleanup()

    def run(self, command, seconds=30):
        return self.machine.shell.run(command, seconds)

    def clear(self):
        """Kills the processes that a failed test left running, and drains frames in flight."""
        self.run("[ ! -s /tmp/pid ] || { kill -CONT $(cat /tmp/pid); kill -KILL $(cat /tmp/pid); wait $job; rm /tmp/pid; }")
        for cable in self.machine.cables:
            cable.receive(1 << 16, seconds=0)

    def bind(self, driver):
        """All NICs to a driver of the guest's kernel that gives them to programs."""
        self.clear()
        for nic in (nic for pair in self.nics.values() for nic in pair):
            self.run(binding(nic.address, driver))

    def spans(self, since=None):
        """The worker's calls of the kernel so far, and (observer.spans_of) its instructions between those since."""
        with open(os.path.join(self.folder.name, "counts"), "rb") as file:
            return observer.spans_of(file.read(), WORKER_CPU, since)

    def resource(self, nic):
        return self.run(f"cat /sys/bus/pci/devices/{nic.address}/resource")

    def traced(self):
        """Records the accesses made within the block (observer.accesses()) in a list, which is filled at the block's
        end."""
        return _Traced(self.machine)


class _Traced:
    def __init__(self, machine):
        self.machine, self.seen = machine, []

    def __enter__(self):
        self.start = os.path.getsize(self.machine.trace_log) if os.path.exists(self.machine.trace_log) else 0
        self.machine.monitor.trace(MEMORY_ACCESS, True)
        return self.seen

    def __exit__(self, *_):
        self.machine.monitor.trace(MEMORY_ACCESS, False)
        with open(self.machine.trace_log, encoding="ascii", errors="replace") as log:
            log.seek(self.start)
            self.seen.extend(observer.accesses(log))


class Turnpike:
    """turnpike in the guest; stopped, and its report checked, by stop(). One that a test left behind goes before the next.
    config  as data, to which defaults are added, or as YAML
    folder  where it is started"""

    def __init__(self, guest, config, wait_for_links=0, folder="/"):
        self.guest = guest
        if not isinstance(config, str):
            config = {"eal": {"args": "-l 0-1 --in-memory --no-telemetry"}, "idle": {"sleep_us": 100},
                      "control": {"socket": "/run/turnpike.sock"}, **config}
        self.config = config
        guest.clear()
        guest.machine.shell.write("/tmp/turnpike.yaml", config if isinstance(config, str) else json.dumps(config))  # JSON is YAML
        # Its parent is not the shell that reads our commands: a signal breaks off what that reads when a child stops.
        guest.run(f"(cd {folder}; {TURNPIKE} --config /tmp/turnpike.yaml --report /tmp/report.json >/tmp/log 2>&1 & echo $! >/tmp/pid; "
                  "wait $!; echo $? >/tmp/code) & job=$!")
        guest.run("while [ ! -s /tmp/pid ]; do usleep 1000; done; pid=$(cat /tmp/pid)")
        self._wait_for("turnpike: forwarding", 1)
        self._wait_for("link up", wait_for_links)

    def _wait_for(self, text, times, seconds=30):
        deadline = time.monotonic() + seconds
        while self.guest.run(f"grep -c '{text}' /tmp/log || true").strip() < str(times):
            alive, _ = self.guest.machine.shell.try_run("kill -0 $pid")
            if alive != 0 or time.monotonic() > deadline:
                raise AssertionError(f"turnpike in the guest did not say '{text}' {times} times:\n{self.log()}")
            time.sleep(0.05)

    def log(self):
        return self.guest.run("cat /tmp/log")

    def ask(self, what):
        return json.loads(self.guest.run(f"{CTL} --socket /run/turnpike.sock --json {what}"))

    def reload(self, config):
        self.guest.machine.shell.write("/tmp/turnpike.yaml", json.dumps(config))
        return self.ask("reload")

    def wait_for_links(self, names, seconds=20):
        deadline = time.monotonic() + seconds
        while not all(port["link"] == "up" for port in self.ask("show ports")["ports"] if port["name"] in names):
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)

    def pause(self):
        """Frames that come now wait in the rings."""
        self.guest.run("kill -STOP $pid")

    def go_on(self):
        self.guest.run("kill -CONT $pid")

    def all_at_once(self, cable, frames):
        """Sends frames into a cable so that the worker receives them in one poll."""
        self.pause()
        cable.send(frames)
        self.guest.machine.monitor.ask("query-status")  # QEMU's loop has been round: the device has had them
        self.go_on()

    def stop(self):
        code = self.guest.run("kill $pid; wait $job; rm /tmp/pid; cat /tmp/code").strip()
        assert code == "0", f"turnpike in the guest: exit code {code}:\n{self.log()}"
        return dut.check_report(json.loads(self.guest.run("cat /tmp/report.json")))
