#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the sysfs trees of detect_test.cpp: make_sysfs.py FOLDER (here: tests/unit/pcie/sysfs).

Config spaces laid out as those devices have them (capability order and offsets), with the link
settings below. The result is committed; run this again to change it.
"""
import os
import struct
import sys

STATUS_HAS_LIST = 0x10
PM, VPD, MSI, PCIE, MSIX = 0x01, 0x03, 0x05, 0x10, 0x11
AER, SERIAL, ARI = 0x0001, 0x0003, 0x000E
ENDPOINT, INTEGRATED = 0, 9


class Config:
    def __init__(self, vendor, device, size=4096, class_code=0x020000):
        self.bytes = bytearray(size)
        self.put("<HH", 0x00, vendor, device)
        self.put("<HH", 0x04, 0x0406, 0)  # memory decoding, bus master, INTx off
        self.put("<I", 0x08, class_code << 8 | 0x01)
        self.put("<I", 0x10, 0xFBC0000C)  # BAR 0: 64-bit, prefetchable

    def put(self, form, at, *values):
        struct.pack_into(form, self.bytes, at, *values)

    def capabilities(self, *id_and_offset):
        self.put("<H", 0x06, STATUS_HAS_LIST)
        self.bytes[0x34] = id_and_offset[0][1]
        for (number, at), following in zip(id_and_offset, id_and_offset[1:] + ((0, 0),)):
            self.put("<BB", at, number, following[1])
        return self

    def extended(self, *id_and_offset):
        for (number, at), following in zip(id_and_offset, id_and_offset[1:] + ((0, 0),)):
            self.put("<I", at, following[1] << 20 | 1 << 16 | number)
        return self

    def pcie(self, at, gen, lanes, mps, mrrs, rcb=64, port_type=ENDPOINT):
        self.put("<H", at + 0x02, port_type << 4 | 2)
        self.put("<I", at + 0x04, 2 | 1 << 15)  # up to 512 bytes of payload, role-based errors
        self.put("<H", at + 0x08, size_bits(mrrs) << 12 | size_bits(mps) << 5 | 0x091F)
        self.put("<I", at + 0x0C, lanes << 4 | gen)
        self.put("<H", at + 0x10, 0x0040 | (8 if rcb == 128 else 0))  # common clock
        self.put("<H", at + 0x12, 0x1000 | lanes << 4 | gen if lanes else 0)
        return self

    def ecrc(self, at):
        self.put("<I", at + 0x18, 0x1E0)  # generation and checking: capable and enabled
        return self


def size_bits(size):
    return (size // 128).bit_length() - 1


def devices():
    intel, nvidia, red_hat = 0x8086, 0x15B3, 0x1AF4
    yield "0000:3b:00.0", (Config(intel, 0x10FB)  # 82599
                           .capabilities((PM, 0x40), (MSI, 0x50), (MSIX, 0x70), (PCIE, 0xA0))
                           .pcie(0xA0, gen=2, lanes=8, mps=256, mrrs=512)
                           .extended((AER, 0x100), (SERIAL, 0x140), (ARI, 0x150)))
    yield "0000:5e:00.0", (Config(intel, 0x1572)  # X710
                           .capabilities((PM, 0x40), (MSI, 0x50), (MSIX, 0x70), (PCIE, 0xA0),
                                         (VPD, 0xE0))
                           .pcie(0xA0, gen=3, lanes=8, mps=256, mrrs=512)
                           .extended((AER, 0x100), (SERIAL, 0x140), (ARI, 0x150)))
    yield "0000:5e:02.0", (Config(intel, 0x154C)  # a virtual function: no link attributes
                           .capabilities((MSIX, 0x70), (PCIE, 0xA0))
                           .pcie(0xA0, gen=0, lanes=0, mps=128, mrrs=128))
    yield "0000:af:00.0", (Config(nvidia, 0x1017)  # ConnectX-5
                           .capabilities((PCIE, 0x60), (VPD, 0x48), (MSIX, 0x9C), (PM, 0x40))
                           .pcie(0x60, gen=3, lanes=16, mps=512, mrrs=4096, rcb=128)
                           .extended((AER, 0x100), (ARI, 0x150)).ecrc(0x100))
    yield "10000:01:00.0", (Config(nvidia, 0x1021)  # ConnectX-7, in a separate domain
                            .capabilities((PCIE, 0x60), (PM, 0x40))
                            .pcie(0x60, gen=5, lanes=16, mps=512, mrrs=1024))
    yield "0000:00:03.0", (Config(red_hat, 0x1000, size=256)  # virtio-net of a virtual machine
                           .capabilities((MSIX, 0x98), (0x09, 0x84)))
    yield "0000:00:04.0", (Config(intel, 0x19E4)  # integrated in the root complex
                           .capabilities((PM, 0x40), (PCIE, 0xA0))
                           .pcie(0xA0, gen=0, lanes=0, mps=128, mrrs=512, port_type=INTEGRATED))
    plain = Config(intel, 0x1572, size=64)  # as a user other than root reads it
    plain.put("<H", 0x06, STATUS_HAS_LIST)
    plain.bytes[0x34] = 0x40
    yield "0000:17:00.0", plain
    looped = Config(intel, 0x1572).capabilities((PM, 0x40), (MSI, 0x50))
    looped.put("<B", 0x51, 0x40)
    yield "0000:18:00.0", looped
    yield "0000:19:00.0", Config(0xFFFF, 0xFFFF, size=32)  # cut short
    future = Config(intel, 0x1572).capabilities((PCIE, 0xA0))
    yield "0000:1a:00.0", future.pcie(0xA0, gen=7, lanes=8, mps=256, mrrs=512)
    gone = Config(intel, 0x1572)  # surprise removal: every read returns ones
    gone.bytes[:] = b"\xff" * len(gone.bytes)
    yield "0000:1b:00.0", gone
    endless = Config(intel, 0x1572).capabilities((PCIE, 0xA0))
    endless.pcie(0xA0, gen=4, lanes=8, mps=256, mrrs=512).extended((SERIAL, 0x140), (ARI, 0x150))
    endless.extended((ARI, 0x100))
    endless.put("<I", 0x100, 0x100 << 20 | 1 << 16 | ARI)  # an extended list that never ends
    yield "0000:1c:00.0", endless


def main():
    for address, config in devices():
        folder = os.path.join(sys.argv[1], "bus/pci/devices", address)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config"), "wb") as out:
            out.write(config.bytes)
    virtual = os.path.join(sys.argv[1], "bus/pci/devices/0000:5e:02.0/physfn")
    if not os.path.islink(virtual):
        os.symlink("../0000:5e:00.0", virtual)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main()
