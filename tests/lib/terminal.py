# SPDX-License-Identifier: BSD-3-Clause
"""A program in a terminal: keyboard input, and screen contents."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time


class Terminal:
    """Runs `words` in a terminal of these rows and columns. `said` is the whole output, `screen()` the visible part."""

    def __init__(self, words, rows=24, columns=80, **environment):
        self.master, slave = pty.openpty()
        self.resize(rows, columns, tell=False)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.said = b""
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=self.take_terminal,
                                        env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment})

    @staticmethod
    def take_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests started by nohup ignore it

    def resize(self, rows, columns, tell=True):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:  # SIGWINCH goes to the foreground group, which does not include a session's first process
            os.kill(self.process.pid, signal.SIGWINCH)

    def type(self, text):
        os.write(self.master, text.encode())

    def receive(self, seconds=0.05):
        while select.select([self.master], [], [], seconds)[0]:
            try:
                heard = os.read(self.master, 65536)
            except OSError:  # the program has exited
                return
            if not heard:
                return
            self.said += heard
            seconds = 0

    def wait_for(self, what, seconds=15):
        """Wait until the output so far (as text) contains a text, or satisfies a predicate."""
        end = time.monotonic() + seconds
        while True:
            self.receive()
            if what(self.said.decode(errors="replace")) if callable(what) else what.encode() in self.said:
                return
            assert time.monotonic() < end, f"never {what!r}:\n{self.said!r}"

    def end(self, seconds=15):
        """Wait until the program exits by itself; returns its exit code."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            self.receive()
            assert time.monotonic() < limit, f"it does not end:\n{self.said!r}"
        self.receive(0)
        return self.process.returncode

    def is_as_before(self):
        """Whether the terminal's settings are restored."""
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


SEQUENCE = re.compile(rb"\x1b\[([?]?)([0-9;]*)([A-Za-z])|\r|\n|\x08|\x1b[=>78]|([^\x1b\r\n\x08]+)")


class Screen:
    """The screen after these output bytes: supports the few escape sequences that our programs write, and no others."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.alternate = False
        self.cursor = True
        self.left = []  # lines of the main screen while the alternate one is shown

    def text(self):
        return ["".join(line).rstrip() for line in self.lines]

    def write(self, said):
        at = 0
        while at < len(said):
            found = SEQUENCE.match(said, at)
            assert found, f"what is {said[at:at + 20]!r}?"
            at = found.end()
            if found[4]:
                for character in found[4].decode(errors="replace"):
                    assert self.column < self.columns, f"a line is longer than {self.columns}: {self.text()[self.row]}"
                    self.lines[self.row][self.column] = character
                    self.column += 1
            elif found[3]:
                self.control(found[1].decode(), found[2].decode(), found[3].decode())
            elif found[0] == b"\r":
                self.column = 0
            elif found[0] == b"\n":
                self.row += 1
                assert self.row < self.rows, f"more lines than {self.rows}"

    def control(self, private, numbers, what):
        if private == "?":
            assert numbers in ("25", "1049"), numbers
            if numbers == "25":
                self.cursor = what == "h"
            elif what == "h":
                self.alternate = True
            else:
                self.alternate = False
                self.lines = [[" "] * self.columns for _ in range(self.rows)]
        elif what == "H":
            self.row, self.column = [int(n or 1) - 1 for n in (numbers.split(";") + ["", ""])[:2]]
        elif what == "J":
            for row in range(self.row + (self.column > 0), self.rows):
                self.lines[row] = [" "] * self.columns
            if self.column:
                self.lines[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif what == "K":
            self.lines[self.row][self.column:] = [" "] * (self.columns - self.column)
        else:
            assert what == "m", what
