# SPDX-License-Identifier: BSD-3-Clause
"""sFlow version 5 datagrams, decoded as sFlow.org's specification describes them."""
import ipaddress
import socket
import struct
import time


class Xdr:
    def __init__(self, data):
        self.data, self.at = data, 0

    def word(self):
        value = struct.unpack_from("!I", self.data, self.at)[0]
        self.at += 4
        return value

    def words(self, *names):
        return {name: self.word() for name in names}

    def double(self):
        return self.word() << 32 | self.word()

    def read(self, size):
        assert self.at + size <= len(self.data), (self.at, size, len(self.data))
        self.at += size
        return self.data[self.at - size:self.at]

    def opaque(self):
        size = self.word()
        value = self.read(size)
        assert self.read(-size % 4) == b"\0" * (-size % 4), "padding"
        return value

    def sized(self):
        return Xdr(self.read(self.word()))

    def end(self):
        assert self.at == len(self.data), f"{len(self.data) - self.at} bytes are left"


def header_of(xdr):
    """The raw packet header of a sample: its one flow record."""
    assert xdr.word() == 1 and xdr.word() == 1
    record = xdr.sized()
    assert record.word() == 1, "Ethernet"
    out = {"frame_bytes": record.word(), "stripped": record.word(), "header": record.opaque()}
    record.end()
    return out


def flow_sample(xdr):
    out = {"kind": "flow", **xdr.words("sequence", "source", "rate", "pool", "lost", "input", "output")}
    return {**out, **header_of(xdr)}


def discarded_packet(xdr):
    out = {"kind": "drop", **xdr.words("sequence", "source_class", "source", "lost", "input", "output", "reason")}
    return {**out, **header_of(xdr)}


def counters_sample(xdr):
    out = {"kind": "counters", **xdr.words("sequence", "source")}
    for _ in range(xdr.word()):
        kind, record = xdr.word(), xdr.sized()
        if kind == 1:
            out.update(record.words("index", "type"))
            out["speed"] = record.double()
            out.update(record.words("direction", "status"))
            out["in_bytes"] = record.double()
            out.update(record.words("in_packets", "in_multicast", "in_broadcast", "in_discards", "in_errors", "in_unknown"))
            out["out_bytes"] = record.double()
            out.update(record.words("out_packets", "out_multicast", "out_broadcast", "out_discards", "out_errors",
                                    "promiscuous"))
        elif kind == 1005:
            out["name"] = record.opaque().decode()
        else:
            raise AssertionError(f"unknown counters record {kind}")
        record.end()
    return out


KINDS = {1: flow_sample, 2: counters_sample, 5: discarded_packet}


def decode(data):
    xdr = Xdr(data)
    assert xdr.word() == 5, "version"
    agent = ipaddress.ip_address(xdr.read(4 if xdr.word() == 1 else 16))
    out = {"agent": str(agent), **xdr.words("sub_agent", "sequence", "uptime_ms"), "samples": []}
    for _ in range(xdr.word()):
        kind, body = xdr.word(), xdr.sized()
        out["samples"].append(KINDS[kind](body))
        body.end()
    xdr.end()
    return out


class Collector:
    """A UDP socket in a host, and the datagrams that it received."""

    def __init__(self, host, address="127.0.0.1"):
        with host.inside():
            self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind((address, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.setblocking(False)
        port = self.socket.getsockname()[1]
        self.name = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        self.datagrams = []

    def read(self):
        while True:
            try:
                data = self.socket.recv(65536)
            except BlockingIOError:
                return self
            self.datagrams.append(decode(data))
            assert len(data) <= 1400 or len(self.datagrams[-1]["samples"]) == 1, len(data)

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            time.sleep(0.01)
        return self.read()

    def samples(self, kind):
        return [s for d in self.datagrams for s in d["samples"] if s["kind"] == kind]
