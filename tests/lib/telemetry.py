# SPDX-License-Identifier: BSD-3-Clause
"""A client of a running DPDK application's telemetry socket."""
import json
import socket

from lib.hosts import wait_until


class Telemetry:
    """DPDK's telemetry socket, as used by dpdk-telemetry.py. `check_alive` may raise the reason why there is none."""

    def __init__(self, prefix, check_alive=lambda: None):
        path = f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2"

        def connected():
            check_alive()
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.socket.settimeout(10)
            try:
                self.socket.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):  # not there, or not listening yet
                self.socket.close()
                return False
            return True

        wait_until(connected, path, 30)
        self.socket.recv(1024)

    def ask(self, command):
        """{}: no data yet (the socket replies before the ports exist)."""
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(65536))[command.split(",")[0]] or {}

    def close(self):
        self.socket.close()
