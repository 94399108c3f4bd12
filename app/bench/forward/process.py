# SPDX-License-Identifier: BSD-3-Clause
"""A forwarder that runs: started, stopped for others' turn, asked what its ports counted, ended."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from machine import Unavailable

RUNTIME = "/var/run/dpdk"
START_S = 60  # full tables and 10,000 rules in rte_acl take their time
_numbers = iter(range(1_000_000))


def wait_until(condition, what, seconds):
    """what: a text, or a function that makes one when it is needed."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Unavailable(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def file_prefix():
    """Of its own for every run: a socket of a run that crashed must not be taken for a new one."""
    return f"tpkforward{os.getpid()}n{next(_numbers)}"


class Telemetry:
    """DPDK's telemetry socket, as dpdk-telemetry.py speaks to it."""

    def __init__(self, prefix, check_alive):
        path = f"{RUNTIME}/{prefix}/dpdk_telemetry.v2"

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

        wait_until(connected, f"its telemetry socket {path}", START_S)
        self.socket.recv(1024)

    def ask(self, command):
        """{}: there is nothing of that yet (the socket answers before the ports are there)."""
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(65536))[command.split(",")[0]] or {}

    def close(self):
        self.socket.close()


class Forwarder:
    """Commands in order, the last of them forwards. Gone when the block is left."""

    def __init__(self, machine, folder, name, ports=2):
        self.machine, self.name, self.ports = machine, name, ports
        self.prefix = file_prefix()
        self.log, self.errors = (os.path.join(folder, f"{self.prefix}.{kind}") for kind in ("log", "errors"))
        self.processes, self.telemetry = [], None
        self.note = None  # what a reader of its figures should know

    def start(self, command, environment=None):
        # A session of its own: the terminal's Ctrl-C is for us, and we end it.
        with open(self.log, "ab") as log, open(self.errors, "ab") as errors:
            self.processes.append(subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=errors, start_new_session=True,
                env=environment or self.machine.environment(), preexec_fn=self.machine.for_children()))

    @property
    def process(self):
        return self.processes[-1]

    def last_words(self):
        for path in (self.errors, self.log):
            with open(path, "rb") as file:
                file.seek(max(0, os.path.getsize(path) - 4000))
                lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
            if lines:
                return " | ".join(lines[-3:])[-400:]
        return "it said nothing"

    def check_alive(self):
        for process in self.processes:
            if process.poll() is not None:
                raise Unavailable(f"ended with {process.returncode}: {self.last_words()}")

    def wait_until_it_forwards(self, learning=0):
        """And has seen so many more frames, as far as it can in half a minute: it learns from each."""
        if self.telemetry is None:
            self.telemetry = Telemetry(self.prefix, self.check_alive)
        self.wait_for_frames(learning)

    def wait_for_frames(self, learning):
        def sent():
            self.check_alive()
            return sum(port.get("tx_good_packets", 0) for port in self.counts())
        wait_until(lambda: sent() > 10_000, lambda: f"10,000 frames forwarded: {self.last_words()}", START_S)
        end = time.monotonic() + START_S / 2
        while sent() < learning and time.monotonic() < end:
            time.sleep(0.1)

    def before_window(self):
        """What it is to do before it is measured."""

    def counts(self):
        return [self.telemetry.ask(f"/ethdev/xstats,{port}") for port in range(self.ports)]

    def ran_ns(self):
        """CPU time of its busiest thread: of the one that forwards."""
        most = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{thread}/schedstat", encoding="utf-8") as file:
                    most = max(most, int(file.read().split()[0]))
            except OSError:
                continue  # a thread that ended
        return most

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        """May be called again."""
        if self.telemetry:
            self.telemetry.close()
            self.telemetry = None
        while self.processes:
            process = self.processes.pop()
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
            try:
                process.communicate(b"\n", timeout=20)  # testpmd waits for Enter
            except (subprocess.TimeoutExpired, OSError):
                process.kill()
                process.wait()
        shutil.rmtree(f"{RUNTIME}/{self.prefix}", ignore_errors=True)
        for path in (self.log, self.errors):
            if os.path.exists(path):
                os.unlink(path)  # l3fwd writes a line a route

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
