#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike on PCI devices with DPDK's own drivers, in a guest; and what QEMU, which is the devices and the CPU, saw of
it: register writes per packet beside lib/pcie's model, instructions per packet."""
import atexit
import os
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(__file__), "..")]
import observer  # noqa: E402
from guest import KINDS, WORKER_CPU, Guest, Turnpike  # noqa: E402
from host import Host  # noqa: E402
from lib import frames, tap  # noqa: E402

_guest = Guest()
atexit.register(_guest.close)


def guest():
    if _guest.machine is None:
        _guest.boot()
    return _guest


def patch(vm, kind, pool=None, **port):
    west, east = vm.nics[kind]
    ports = [{"name": name, "device": nic.address, "descriptors": 512, **port}
             for name, nic in (("west", west), ("east", east))]
    return west, east, Turnpike(vm, {"ports": ports, "xconnects": [["west", "east"]], "mempool": pool or {}},
                                wait_for_links=2 if kind == "e1000e" else 0)


def check_frames(there, here, sent):
    there.cable.send(sent)
    got = here.cable.receive(len(sent))
    assert got == sent, (there.kind, len(got), [frame.hex() for frame in got])


def frame_of(length, number):
    body = bytes((number + n) % 256 for n in range(length - 14))
    return frames.ethernet(frames.mac("02:aa:00:00:00:01"), frames.mac("02:aa:00:00:00:02"), 0x88B5, body)


def check_patch(kind):
    vm = guest()
    west, east, running = patch(vm, kind)
    plain = [frame_of(length, length) for length in (60, 61, 64, 65, 127, 128, 255, 256, 511, 1023, 1513, 1514)]
    tagged = [frames.ethernet(b"\2" * 6, b"\4" * 6, frames.VLAN, frames.tag(tci, 0x88B5, bytes(100)))
              for tci in (5, 0xE000, 0xFFF)]
    for there, here in ((west, east), (east, west)):
        check_frames(there, here, plain + tagged)
    report = running.stop()
    assert report["balance"]["drops"] == 0, report["drops"]
    print(f"# {kind}: {report['ports'][0]['driver']}, isa {report['isa']}", flush=True)
    for nic, port in zip((west, east), report["ports"]):
        check_link(vm, nic, port["pcie"])


def check_link(vm, nic, pcie):
    """The link that the model reads from config space is what the guest's kernel reads there."""
    speed, width = (vm.run(f"cat /sys/bus/pci/devices/{nic.address}/current_link_{what}") for what in ("speed", "width"))
    link = pcie["modelled"]["link"]
    assert (link["gen"], link["lanes"]) == (1, int(width)) and speed.startswith("2.5 GT/s"), (link, speed, width)


def test_patch_e1000e():
    check_patch("e1000e")


def test_patch_vmxnet3():
    check_patch("vmxnet3")


def test_patch_virtio():
    check_patch("virtio")


@tap.limit(180)
def test_jumbo():
    """Frames longer than a buffer, where the device supports several buffers a frame; QEMU's vmxnet3 uses one, since
    its driver announces no chained buffers (maxNumRxSG 0)."""
    vm = guest()
    for kind in KINDS:
        pool = {"buffers": 8192, "buffer_size": 9344} if kind == "vmxnet3" else {"buffers": 16384}
        west, east, running = patch(vm, kind, pool, mtu=9000)
        check_frames(west, east, [frame_of(length, length) for length in (60, 1514, 2049, 4000, 9014)])
        assert running.stop()["balance"]["drops"] == 0


@tap.limit(180)
def test_a_device_goes_and_comes_back():
    vm = guest()
    for kind in KINDS:
        west, east, running = patch(vm, kind)
        whole = running.config
        for _ in range(2):
            running.reload({**whole, "ports": [whole["ports"][0] | {"addresses": ["10.0.0.1/24"]}], "xconnects": []})
            running.reload(whole)
            running.wait_for_links(["west", "east"])
            west.cable.receive(1 << 16, 0), east.cable.receive(1 << 16, 0)  # messages that the router sent meanwhile
            check_frames(west, east, [frame_of(60, number) for number in range(8)])
        running.stop()


def routed(vm):
    """A port of each kind, routed, and a VLAN on the last; hosts at the cables."""
    nics = [pair[0] for pair in vm.nics.values()]
    hosts = [Host(nic, n) for n, nic in enumerate(nics, 1)]
    ports = [{"name": nic.kind, "device": nic.address, "addresses": [f"10.0.{n}.1/24", f"2001:db8:{n}::1/64"]}
             for n, nic in enumerate(nics, 1)]
    vlan = Host(nics[-1], 9, vlan=100)
    running = Turnpike(vm, {"ports": ports, "interfaces": [{"port": nics[-1].kind, "vlan": 100, "addresses": [
        "10.0.9.1/24", "2001:db8:9::1/64"]}]}, wait_for_links=1)
    return running, [*hosts, vlan]


def check_route(vm):
    running, hosts = routed(vm)
    sent = 0
    for source in hosts:
        for host in (source, *hosts):
            if host is not source:
                sent += source.sends_to(host)
        source.pings()
    report = running.stop()
    for port in report["ports"]:
        print(f"# {port['driver']}: {port['link']}, {port['rx_packets']} received, {port['tx_packets']} sent", flush=True)
    assert report["balance"]["tx"] >= sent, (sent, report["balance"])


@tap.limit(180)
def test_route():
    check_route(guest())


@tap.limit(180)
def test_route_without_iommu():
    vm = guest()
    vm.bind("uio_pci_generic")
    try:
        check_route(vm)
    finally:
        vm.bind("vfio-pci")


BURSTS = (1, 4, 8, 16, 32, 64)
# Profiles whose doorbells QEMU's devices implement. Its virtio requests no receive notifications: doc/vm-observer.md
# describes profile `virtio` for a device that does.
PROFILES = {"e1000e": "e1000", "vmxnet3": "vmxnet3", "virtio": "virtio-qemu"}


def bursts_through(running, pair, sent, rounds):
    for _ in range(rounds):
        running.all_at_once(pair[0].cable, sent)
        got = pair[1].cable.receive(len(sent))
        assert got == sent, f"{len(got)} of {len(sent)} frames came"


def sample(vm, running, pair, burst):
    """Sends enough bursts that deferred work is done; returns a row of the table. None: QEMU put a burst's last
    frames into the ring only after turnpike's poll, as it does where it waits for its CPU."""
    west, east = pair
    rounds = max(4, -(-132 // burst))
    sent = [frame_of(60, number) for number in range(burst)]
    # The first burst's allocations are done; and virtio's driver, which ends a burst where a line of its ring ends
    # (four entries), finds the next ones at its beginning.
    bursts_through(running, pair, sent, 4)
    running.ask("clear counters")
    calls, _ = vm.spans()
    with vm.traced() as seen:
        bursts_through(running, pair, sent, rounds)
    _, spans = vm.spans(calls)
    model = {port["name"]: observer.modelled_doorbells(port) for port in running.ask("show pcie")["ports"]}
    bursts = sum(n for worker in running.ask("show cost")["workers"] for n in worker["bursts"].values())
    packets = rounds * burst
    if bursts != rounds * -(-burst // 32):
        print(f"# {rounds} times {burst} frames came in {bursts} bursts: once more", flush=True)
        return None
    return {"kind": west.kind, "burst": burst, "packets": packets, "rounds": rounds,
            "rx": observer.seen_at(west.kind, vm.resource(west), seen, WORKER_CPU), "rx_model": model["west"],
            "tx": observer.seen_at(east.kind, vm.resource(east), seen, WORKER_CPU), "tx_model": model["east"],
            "instructions": observer.instructions_per_packet(spans, packets)}


@tap.limit(300)
def test_doorbells():
    vm = guest()
    wrong = []
    print("# " + observer.TABLE_HEAD.replace("\n", "\n# "))
    for kind in KINDS:
        *pair, running = patch(vm, kind, pcie={"profile": PROFILES[kind]})
        for burst in BURSTS:
            row = next(filter(None, (sample(vm, running, pair, burst) for _ in range(5))), None)
            assert row is not None, f"{burst} frames at once never came so"
            print("# " + observer.table_row(row), flush=True)
            wrong += observer.differences(row)
        running.stop()
    assert not wrong, "; ".join(wrong)


if __name__ == "__main__":
    tap.main(globals())
