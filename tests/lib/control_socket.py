# SPDX-License-Identifier: BSD-3-Clause
"""A client of the control socket, without turnpikectl."""
import json
import socket

from lib.build import SLOWDOWN


class Operator:
    """A connection to a control socket."""

    def __init__(self, path, seconds=10):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds * SLOWDOWN)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.greeting = self.receive()

    def receive(self):
        line = self.lines.readline()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    def send(self, raw):
        self.socket.sendall(raw)
        return self.receive()

    def ask(self, request, **members):
        return self.send(json.dumps({"request": request, **members}).encode() + b"\n")

    def result(self, request, **members):
        answer = self.ask(request, **members)
        assert "result" in answer, answer
        return answer["result"]

    def show(self, what, **members):
        return self.result("show", what=what, **members)

    def error(self, request, **members):
        answer = self.ask(request, **members)
        assert "error" in answer, answer
        return answer["error"]

    def close(self):
        self.lines.close()
        self.socket.close()
