#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-throughput between two PCI NICs in a guest, through a turnpike on two further ones. QEMU is the NICs and their cables."""
import json
import os
import pathlib
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(__file__), "..")]
import image  # noqa: E402
from guest import CTL, KINDS, TURNPIKE, Turnpike, binding  # noqa: E402
from lib import dut, tap  # noqa: E402
from machine import FORWARDER, Machine  # noqa: E402

THROUGHPUT = os.path.abspath(os.path.join(dut.BUILD, "app/throughput/turnpike-throughput"))
FLOWS = 20
RATE = 200  # of a guest under software emulation beside others on two CPUs
RUN = {"traffic": {"flows": FLOWS, "both_ways": True, "sizes": [64, 1518]},
       "rate": {"max": RATE, "max_lag_us": 10_000_000, "tolerance_ppm": 900_000, "settle_ms": 500},
       "throughput": {"method": "rfc2544", "trial_ms": 1000, "resolution": 50},
       "latency": {"trial_ms": 1000, "percent": [50]}}
BOOT_LINE = FORWARDER.replace("hugepages=160", "hugepages=256")


class Guest:
    """Two cables for each kind of NIC: at one end a NIC of the tester, at the other one of the device."""

    def __init__(self):
        lacking = image.missing(header=False)
        if lacking:
            tap.skip(f"a guest: {lacking}")
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-vm-")

    def __enter__(self):
        work = pathlib.Path(self.folder.name)
        wires, self.pairs, slot = [], {}, 1
        for kind, device in KINDS.items():
            tester, forwarder = self.pairs[kind] = [], []
            for _ in range(2):
                wires.append([f"{device},romfile=,mac=02:00:00:00:00:{slot + end:02x}" for end in range(2)])
                tester.append(f"0000:{slot:02x}:00.0")
                forwarder.append(f"0000:{slot + 1:02x}:00.0")
                slot += 2
        try:
            self.machine = Machine(str(work), image.PARTS / "vmlinuz", image.build(work, [TURNPIKE, CTL, THROUGHPUT]),
                                   more=["-device", "intel-iommu"], memory_mb=1024, kernel_line=BOOT_LINE, wires=wires)
        except BaseException:
            self.folder.cleanup()
            raise
        for address in (address for pair in self.pairs.values() for end in pair for address in end):
            self.run(binding(address, "vfio-pci"))
        return self

    def __exit__(self, *_):
        self.machine.close()
        self.folder.cleanup()

    def run(self, command, seconds=30):
        return self.machine.shell.run(command, seconds)

    def clear(self):
        """Turnpike's hook before its start: each of these tests ends the processes that it started."""

    def measure(self, devices):
        """turnpike-throughput's result and table."""
        ports = [{"name": name, "device": device} for name, device in zip(("left", "right"), devices)]
        self.machine.shell.write("/tmp/run.yaml", json.dumps({"ports": ports, **RUN}))
        code, table = self.machine.shell.try_run(
            f"{THROUGHPUT} -l 0 -- /tmp/run.yaml --output /tmp/result.json 2>/tmp/errors", 120)
        assert code == 0, table + self.run("cat /tmp/errors")
        return json.loads(self.run("cat /tmp/result.json")), table


def check_counts(result):
    """At a rate that any device bears, each frame arrives: in both directions, undamaged, once, in order."""
    assert result["complete"] and result["stopped"] is None and len(result["sizes"]) == 2, result
    for size in result["sizes"]:
        assert size["throughput"]["throughput_fps"] == RATE, (size["throughput"], size["trials"])
        assert size["streams"] == 2 and size["trials"], size
        for t in size["trials"]:
            seen = t["frames"]
            assert seen["received"] == seen["sent"] > 0, t
            assert (seen["lost"], seen["damaged"], seen["duplicated"], t["misdirected"], t["foreign"]) == (0, 0, 0, 0, 0), t
            assert all(s["received"] == s["sent"] > 0 for s in t["streams"]), t
        latency, = size["latency"]
        assert 0 < latency["min_us"] <= latency["p50_us"] <= latency["max_us"], latency


@tap.limit(400)
def test_pci_devices():
    with Guest() as vm:
        for kind, (tester, forwarder) in vm.pairs.items():
            ports = [{"name": name, "device": device} for name, device in zip(("west", "east"), forwarder)]
            running = Turnpike(vm, {"ports": ports, "xconnects": [["west", "east"]]},
                               wait_for_links=2 if kind == "e1000e" else 0)
            result, table = vm.measure(tester)
            report = running.stop()
            check_counts(result)
            sent = sum(t["frames"]["sent"] for size in result["sizes"] for t in size["trials"])
            # Before each size's first trial every flow is sent once in both directions.
            learning = 2 * FLOWS * len(result["sizes"])
            assert report["balance"]["tx"] >= sent + learning and report["balance"]["drops"] == 0, (sent, report["balance"])
            latency = [size["latency"][0]["p50_us"] for size in result["sizes"]]
            print(f"# {kind} ({report['ports'][0]['driver']}): {sent} frames sent, all received; median latency {latency} us")
            print("".join(f"# {line}\n" for line in table.splitlines()), end="", flush=True)


if __name__ == "__main__":
    tap.main(globals())
