# SPDX-License-Identifier: BSD-3-Clause
"""A driver's accesses to its NIC as QEMU traced them, beside turnpike's model of the same packets. Plain functions of
texts and numbers: observer_test.py tests them without a guest."""
import collections
import math
import re
import statistics
import struct

Access = collections.namedtuple("Access", "write cpu address bytes")
_ACCESS = re.compile(r"memory_region_ops_(read|write) cpu (-?\d+) mr \S+ addr 0x([0-9a-f]+) value \S+ size (\d+)")

# Doorbell registers, by which a driver announces new descriptors, by their offset in a BAR.
# e1000e: Intel 82574 data sheet, RDT (2818h) and TDT (3818h) of queue 0.
# vmxnet3: TXPROD, RXPROD and RXPROD2 as Linux's drivers/net/vmxnet3/vmxnet3_defs.h lays BAR 0 out.
# virtio: virtio 1.2 section 4.1.4.4; QEMU's device has its notification area at 3000h of BAR 4, four bytes a queue;
# queue 0 receives and queue 1 transmits.
DOORBELLS = {
    "e1000e": (0, {0x2818: "rx", 0x3818: "tx"}),
    "vmxnet3": (0, {0x600: "tx", 0x800: "rx", 0xa00: "rx"}),
    "virtio": (4, {0x3000: "rx", 0x3004: "tx"}),
}


def accesses(lines):
    """The accesses to device memory among the lines of a trace (QEMU's events memory_region_ops_read and _write)."""
    for line in lines:
        found = _ACCESS.search(line)
        if found:
            yield Access(found[1] == "write", int(found[2]), int(found[3], 16), int(found[4]))


def bars(resource):
    """(first, last) of each BAR of a device, None where it has none: sysfs's file `resource`."""
    out = []
    for line in resource.splitlines()[:6]:
        first, last, _flags = (int(word, 16) for word in line.split())
        out.append((first, last) if last else None)
    return out


def seen_at(kind, resource, seen, cpu):
    """Accesses of one CPU to a NIC: doorbells `rx` and `tx`, `other` writes, `reads`."""
    ranges = bars(resource)
    doorbell_bar, doorbells = DOORBELLS[kind]
    count = dict.fromkeys(("rx", "tx", "other", "reads"), 0)
    for access in seen:
        where = next((n for n, bar in enumerate(ranges) if bar and bar[0] <= access.address <= bar[1]), None)
        if where is None or access.cpu != cpu:
            continue
        offset = access.address - ranges[where][0]
        if not access.write:
            count["reads"] += 1
        else:
            count[doorbells.get(offset, "other") if where == doorbell_bar else "other"] += 1
    return count


def modelled_doorbells(pcie):
    """Doorbells per packet of a port's `pcie` (doc/report.md)."""
    assert pcie["modelled"] is not None, pcie["why"]
    return pcie["modelled"]["per_packet"]["by_purpose"]["doorbells"]["lines"]["wil"]


def agrees(seen, modelled):
    """Where packets end in the middle of what shares a doorbell, it may have been before or after."""
    modelled = round(modelled, 6)
    return math.floor(modelled) <= seen <= math.ceil(modelled)


# Kinds that ask for no doorbell while they are at the burst before.
SUPPRESS = {"virtio"}


def differences(row):
    """Differences between QEMU's counts and the model in a row of vm_observer_test.py, in words. One port of the row
    has receives alone, the other has sends."""
    out = []
    for way, other in (("rx", "tx"), ("tx", "rx")):
        seen, modelled = row[way], row[f"{way}_model"] * row["packets"]
        fewer = row["kind"] in SUPPRESS and row["rounds"] <= seen[way] <= modelled
        if not fewer and not agrees(seen[way], modelled):
            out.append(f"{seen[way]} {way} doorbells for {row['packets']} packets, modelled are {modelled:.2f}")
        out += [f"{seen[what]} {what} at the port that has {way} alone" for what in (other, "other", "reads") if seen[what]]
    return [f"{row['kind']}, bursts of {row['burst']}: {what}" for what in out]


_KEPT_SPANS = 1 << 16  # as in count.c
_COUNTS = struct.Struct(f"=3Q{_KEPT_SPANS}I")


def spans_of(file, cpu, since=None):
    """The counts of the plugin (count.c) for a CPU: the number of syscalls, and the user's instructions from syscall
    to syscall after the first `since` (None: no spans)."""
    _user, _kernel, calls, *kept = _COUNTS.unpack_from(file, cpu * _COUNTS.size)
    since = calls if since is None else since
    assert calls - since <= _KEPT_SPANS, f"{calls - since} calls of the kernel are more than the plugin keeps"
    return calls, [kept[n % _KEPT_SPANS] for n in range(since, calls)]


def instructions_per_packet(spans, packets):
    """For a worker that sleeps when it finds nothing (`idle.sleep_us`): nearly all its spans are one empty round
    each, and the instructions of other spans beyond one round belong to packets."""
    empty = statistics.median_low(spans)
    return sum(span - empty for span in spans) / packets


TABLE_HEAD = """| NIC | burst | packets | rx seen | modelled | tx seen | modelled | instructions a packet |
|---|---|---|---|---|---|---|---|"""


def table_row(row):
    """A row of vm_observer_test.py's, whose doorbells are those of all its packets."""
    packets = row["packets"]
    return (f"| {row['kind']} | {row['burst']} | {packets} | {row['rx']['rx']} | {row['rx_model'] * packets:.1f} | "
            f"{row['tx']['tx']} | {row['tx_model'] * packets:.1f} | {row['instructions']:.0f} |")
