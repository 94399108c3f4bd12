#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The observer's results for given traces, counts and models, without a guest."""
import os
import struct
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(__file__), "..")]
import image  # noqa: E402
import observer  # noqa: E402
from lib import tap  # noqa: E402

RESOURCE = """\
0x00000000fdc00000 0x00000000fdc1ffff 0x0000000000040200
0x00000000fdc20000 0x00000000fdc3ffff 0x0000000000040200
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x00000000fe200000 0x00000000fe203fff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000000000000000 0x0000000000000000
"""


def line(what, cpu, address):
    return (f"memory_region_ops_{what} cpu {cpu} mr 0x55d89d3ad5e0 addr 0x{address:x} value 0x1f size 4 "
            "name 'e1000e-mmio'\n")


def test_accesses_are_read_from_a_trace():
    lines = ["virtio_queue_notify vdev 0x55 n 1 vq 0x55\n", line("write", 1, 0xFDC03818), line("read", -1, 0xFEE000B0), "\n"]
    assert list(observer.accesses(lines)) == [(True, 1, 0xFDC03818, 4), (False, -1, 0xFEE000B0, 4)]


def test_doorbells_are_told_from_other_registers_and_devices():
    seen = list(observer.accesses([
        line("write", 1, 0xFDC03818), line("write", 1, 0xFDC03818), line("write", 1, 0xFDC02818),
        line("write", 1, 0xFDC00018), line("read", 1, 0xFDC00008),
        line("write", 1, 0xFDC23818),  # another BAR
        line("write", 0, 0xFDC03818), line("write", 1, 0xFDA03818)]))  # another CPU, another device
    assert observer.seen_at("e1000e", RESOURCE, seen, 1) == {"rx": 1, "tx": 2, "other": 2, "reads": 1}
    virtio = list(observer.accesses([line("write", 1, 0xFE203000), line("write", 1, 0xFE203004), line("write", 1, 0xFE203008)]))
    assert observer.seen_at("virtio", RESOURCE, virtio, 1) == {"rx": 1, "tx": 1, "other": 1, "reads": 0}


def row(**more):
    none = {"rx": 0, "tx": 0, "other": 0, "reads": 0}
    return {"kind": "e1000e", "burst": 4, "packets": 132, "rounds": 33, "rx": none | {"rx": 3}, "rx_model": 1 / 36,
            "tx": none | {"tx": 33}, "tx_model": 1 / 4, "instructions": 431.2, **more}


def test_what_agrees_and_what_does_not():
    none = {"rx": 0, "tx": 0, "other": 0, "reads": 0}
    assert observer.differences(row()) == []
    assert observer.differences(row(rx=none | {"rx": 4})) == []  # 132 / 36 are 3.67
    assert observer.differences(row(rx=none | {"rx": 5})) == [
        "e1000e, bursts of 4: 5 rx doorbells for 132 packets, modelled are 3.67"]
    assert observer.differences(row(tx=none | {"tx": 32})) and observer.differences(row(tx=none | {"tx": 34}))
    assert observer.differences(row(tx=none | {"tx": 33, "reads": 1})) == [
        "e1000e, bursts of 4: 1 reads at the port that has tx alone"]


def test_fewer_only_where_a_device_suppresses_them():
    none = {"rx": 0, "tx": 0, "other": 0, "reads": 0}
    of = {"burst": 64, "packets": 256, "rounds": 4, "rx": none, "rx_model": 0, "tx_model": 1 / 32}
    for kind, seen, good in (("virtio", 8, True), ("virtio", 6, True), ("virtio", 3, False), ("virtio", 9, False),
                             ("vmxnet3", 6, False), ("vmxnet3", 8, True)):
        assert (observer.differences(row(kind=kind, tx=none | {"tx": seen}, **of)) == []) == good, (kind, seen)


def test_spans_between_calls():
    kept = 1 << 16
    spans = [0] * kept
    spans[:4], spans[-2:] = (70000, 1285, 1285, 2347), (1285, 1361)
    counts = struct.pack(f"=3Q{kept}I", 0, 0, 0, *[0] * kept) + struct.pack(f"=3Q{kept}I", 9, 9, kept + 4, *spans)
    assert observer.spans_of(counts, 1) == (kept + 4, [])
    assert observer.spans_of(counts, 1, kept - 2) == (kept + 4, [1285, 1361, 70000, 1285, 1285, 2347])
    assert observer.spans_of(counts, 0) == (0, [])


def test_instructions_are_those_beyond_empty_rounds():
    assert observer.instructions_per_packet([1285, 8807, 1285, 1285, 8799, 1285], 64) == (7522 + 7514) / 64


def test_a_table():
    heads, _ = observer.TABLE_HEAD.splitlines()
    assert observer.table_row(row()).count("|") == heads.count("|")
    assert observer.table_row(row()) == "| e1000e | 4 | 132 | 3 | 3.7 | 33 | 33.0 | 431 |"


def test_what_a_guest_lacks_is_said():
    libraries = image.libraries("\tlibz.so.1 => /lib/libz.so.1 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n")
    assert libraries == ["/lib/libz.so.1", "/lib64/ld-linux-x86-64.so.2"]
    parts, image.PARTS = image.PARTS, image.TOP / "no-such-folder"
    try:
        assert "no-such-folder/vmlinuz" in image.missing() and "devtools/setup --vm" in image.missing()
    finally:
        image.PARTS = parts


def test_a_library_and_its_links_are_one_file():
    with tempfile.TemporaryDirectory() as folder:
        here = image.pathlib.Path(folder)
        (here / "lib.so.1").write_text("x")
        (here / "lib.so").symlink_to("lib.so.1")
        root = here / "root"
        image.copy_in(root, here / "lib.so")
        image.copy_in(root, f"{folder}/root/../lib.so.1")
        copy = root / folder.lstrip("/")
        assert (copy / "lib.so.1").read_text() == "x" and os.readlink(copy / "lib.so") == f"{folder}/lib.so.1"


if __name__ == "__main__":
    tap.main(globals())
