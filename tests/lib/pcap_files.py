# SPDX-License-Identifier: BSD-3-Clause
"""Reads captures: pcap in each byte order and resolution, and pcapng, whose blocks may follow in several sections
(draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng). Written too: pcap of Ethernet."""
import struct

ETHERNET = 1
PCAP_MAGICS = {0xA1B2C3D4, 0xA1B23C4D}
SECTION, INTERFACE, SIMPLE, ENHANCED, OLD_PACKET = 0x0A0D0D0A, 1, 3, 6, 2
MAX_FRAME = 1 << 18


class Damaged(Exception):
    """The rest of the file cannot be read."""


def frames_of(path):
    """Yields (link type, frame) until the end. Raises Damaged; the frames in front of the damage were yielded."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 24:
        raise Damaged(f"{len(data)} bytes are no capture")
    for order in "<>":
        if struct.unpack_from(order + "I", data)[0] in PCAP_MAGICS:
            return _pcap(data, order)
    if struct.unpack_from("<I", data)[0] == SECTION:
        return _pcapng(data)
    raise Damaged("neither pcap nor pcapng")


def _pcap(data, order):
    link, at = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF, 24
    while at < len(data):
        if at + 16 > len(data):
            raise Damaged("the last record is cut off")
        size = struct.unpack_from(order + "I", data, at + 8)[0]
        at += 16
        if size > MAX_FRAME or at + size > len(data):
            raise Damaged(f"a record of {size} bytes exceeds the file")
        yield link, data[at:at + size]
        at += size


def _pcapng(data):
    order, links, at = "<", [], 0
    while at < len(data):
        if at + 12 > len(data):
            raise Damaged("the last block is cut off")
        if struct.unpack_from("<I", data, at)[0] == SECTION:
            order, links = ("<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"), []
        kind, size = struct.unpack_from(order + "II", data, at)
        if size < 12 or size % 4 or at + size > len(data):
            raise Damaged(f"a block of {size} bytes exceeds the file")
        body = data[at + 8:at + size - 4]
        at += size
        if kind == INTERFACE and len(body) >= 8:
            links.append(struct.unpack_from(order + "HHI", body)[::2])
        elif kind in (ENHANCED, OLD_PACKET, SIMPLE):
            yield _packet(kind, body, order, links)


def _packet(kind, body, order, links):
    try:
        if kind == SIMPLE:
            (link, snap), head, size = links[0], 4, struct.unpack_from(order + "I", body)[0]
            size = min(size, snap or size)
        else:
            number = struct.unpack_from(order + ("I" if kind == ENHANCED else "H"), body)[0]
            (link, _snap), head, size = links[number], 20, struct.unpack_from(order + "I", body, 12)[0]
    except (struct.error, IndexError) as why:
        raise Damaged(f"a packet block: {why}") from why
    if head + size > len(body):
        raise Damaged(f"a packet of {size} bytes exceeds its block")
    return link, body[head:head + size]


def write(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET))
        for n, frame in enumerate(frames):
            file.write(struct.pack("<IIII", n, 0, len(frame), len(frame)) + frame)
