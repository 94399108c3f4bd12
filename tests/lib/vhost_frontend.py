# SPDX-License-Identifier: BSD-3-Clause
"""A guest's side of a vhost-user port, without a guest: its memory and two split virtqueues (virtio 1.2 section 2.7), whose
descriptors a test writes as it likes. Protocol: QEMU's docs/interop/vhost-user.rst."""
import mmap
import os
import socket
import struct

GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE, SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE = 1, 2, 3, 5, 8, 9, 10
SET_VRING_KICK, SET_VRING_CALL = 12, 13
VERSION_1, INDIRECT_DESC = 1 << 32, 1 << 28
NEXT, WRITE, INDIRECT = 1, 2, 4  # flags of a descriptor
SIZE, ENTRIES = 1 << 20, 256
USER = 0x7000_0000  # where the process of the guest would have mapped its memory
RX, TX = 0, 1  # queues, as the guest calls them
HEADER = 12  # of a packet (virtio_net_hdr_v1)


def ring(queue):
    """Offsets of a queue's descriptors, and of its available and used rings."""
    base = 0x8000 * queue
    return base, base + 0x2000, base + 0x4000


class Frontend:
    """Connected, with its queues started: turnpike's port is up."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.memory_fd = os.memfd_create("guest")
        os.ftruncate(self.memory_fd, SIZE)
        self.memory = mmap.mmap(self.memory_fd, SIZE)
        self.events = []
        offered = self._features()
        self._send(SET_FEATURES, struct.pack("<Q", offered & (VERSION_1 | INDIRECT_DESC)))
        self._send(SET_OWNER)
        self._send(SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, 0, SIZE, USER, 0), self.memory_fd)
        self.available = 0
        for queue in (RX, TX):
            descriptors, available, used = (USER + offset for offset in ring(queue))
            self._send(SET_VRING_NUM, struct.pack("<II", queue, ENTRIES))
            self._send(SET_VRING_BASE, struct.pack("<II", queue, 0))
            self._send(SET_VRING_ADDR, struct.pack("<IIQQQQ", queue, 0, descriptors, used, available, 0))
            for request in (SET_VRING_CALL, SET_VRING_KICK):
                event = os.eventfd(0)
                self.events.append(event)
                self._send(request, struct.pack("<Q", queue), event)

    def _send(self, request, payload=b"", fd=None):
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))]
        self.socket.sendmsg([struct.pack("<III", request, 1, len(payload)) + payload], rights)

    def _features(self):
        self._send(GET_FEATURES)
        return struct.unpack("<Q", self.socket.recv(20, socket.MSG_WAITALL)[12:])[0]

    def describe(self, number, address, length, flags=0, following=0, table=None):
        """Writes a descriptor of TX, or of an indirect table."""
        base = ring(TX)[0] if table is None else table
        struct.pack_into("<QIHH", self.memory, base + 16 * number, address, length, flags, following)

    def offer(self, *heads, jump=0):
        """Makes chains available to turnpike. jump: added to the ring's index without entries."""
        available = ring(TX)[1]
        for head in heads:
            struct.pack_into("<H", self.memory, available + 4 + 2 * (self.available % ENTRIES), head & 0xFFFF)
            self.available = (self.available + 1) & 0xFFFF
        self.available = (self.available + jump) & 0xFFFF
        struct.pack_into("<H", self.memory, available + 2, self.available)

    def send(self, frame):
        """As a driver does."""
        at = 0x20000
        self.memory[at:at + HEADER + len(frame)] = bytes(HEADER) + frame
        self.describe(0, at, HEADER + len(frame))
        self.offer(0)

    def close(self):
        self.socket.close()
        self.memory.close()
        for fd in (self.memory_fd, *self.events):
            os.close(fd)
