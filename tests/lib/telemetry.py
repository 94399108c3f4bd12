# SPDX-License-Identifier: BSD-3-Clause
"""What a running DPDK application says of itself on its telemetry socket."""
import json
import socket

from lib.hosts import wait_until


class Telemetry:
    """DPDK's telemetry socket, as dpdk-telemetry.py speaks to it. `check_alive` may say why there is none."""

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
        """{}: there is nothing of that yet (the socket answers before the ports are there)."""
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(65536))[command.split(",")[0]] or {}

    def close(self):
        self.socket.close()
