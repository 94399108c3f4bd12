# SPDX-License-Identifier: BSD-3-Clause
"""What a running DPDK application says of itself on its telemetry socket."""
import json
import os
import socket

from lib.hosts import wait_until


class Telemetry:
    """DPDK's telemetry socket, as dpdk-telemetry.py speaks to it."""

    def __init__(self, prefix):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2"
        wait_until(lambda: os.path.exists(path), path, 30)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.socket.recv(1024)

    def ask(self, command):
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(65536))[command.split(",")[0]]

    def close(self):
        self.socket.close()
