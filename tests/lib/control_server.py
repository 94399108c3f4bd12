# SPDX-License-Identifier: BSD-3-Clause
"""turnpikectl (the first argument of the test's program) as a user runs it, and a control server whose replies the test
sets."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

PROGRAM = sys.argv.pop(1)
GREETING = {"schema": "turnpike.control/1", "version": "0"}


class Server:
    """Replies to each request with the next of `answers`, and records the requests. An answer may be raw bytes, a function
    of the request, or None: the server closes the connection."""

    def __init__(self, *answers, greeting=GREETING):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-ctl-")
        self.path = os.path.join(self.folder.name, "socket")
        self.asked, self.answers, self.greeting = [], list(answers), greeting
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with connection, connection.makefile("rwb") as lines:
            lines.write(json.dumps(self.greeting).encode() + b"\n")
            lines.flush()
            for answer in self.answers:
                asked = lines.readline()
                if not asked:
                    return
                self.asked.append(json.loads(asked))
                if callable(answer):
                    answer = answer(self.asked[-1])
                if answer is None:
                    return
                lines.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
                lines.flush()
            lines.read()

    def run(self, *words):
        return run("--socket", self.path, *words)


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=20, check=False)


def output(server, *words):
    done = server.run(*words)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout
