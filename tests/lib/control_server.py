# SPDX-License-Identifier: BSD-3-Clause
"""turnpikectl (the first argument of the test's program) as a user runs it, and a control server whose replies the test
sets."""
import fcntl
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
    of the request, or None: the server closes the connection. texts: of the files whose descriptors came with requests."""

    def __init__(self, *answers, greeting=GREETING):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-ctl-")
        self.path = os.path.join(self.folder.name, "socket")
        self.asked, self.texts, self.answers, self.greeting = [], [], list(answers), greeting
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def receive(self, connection, heard):
        """The next line of a client; None: there is no other."""
        while b"\n" not in heard:
            part, descriptors, _flags, _address = socket.recv_fds(connection, 65536, 4)
            for descriptor in descriptors:
                if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY:
                    self.texts.append(os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode())
                os.close(descriptor)
            if not part:
                return None
            heard += part
        end = heard.index(b"\n") + 1
        line = bytes(heard[:end])
        del heard[:end]
        return line

    def talk(self, connection):
        heard = bytearray()
        with connection:
            connection.sendall(json.dumps(self.greeting).encode() + b"\n")
            for answer in self.answers:
                asked = self.receive(connection, heard)
                if asked is None:
                    return
                self.asked.append(json.loads(asked))
                if callable(answer):
                    answer = answer(self.asked[-1])
                if answer is None:
                    return
                connection.sendall(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
            while connection.recv(65536):
                pass

    def run(self, *words):
        return run("--socket", self.path, *words)


def run(*words, **environment):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=20, check=False,
                          env={**os.environ, **environment})


def output(server, *words):
    done = server.run(*words)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout
