# SPDX-License-Identifier: BSD-3-Clause
"""A forwarder process: start, stop and continue, read its ports' counters, end."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from machine import Unavailable

RUNTIME = "/var/run/dpdk"
START_S = 60  # full tables and 10,000 rules in rte_acl load slowly
_numbers = iter(range(1_000_000))


def wait_until(condition, what, seconds):
    """what: a text, or a function that returns one if needed."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Unavailable(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def find_program(name, package):
    program = shutil.which(name)
    if not program:
        raise Unavailable(f"no {name} (Debian's package {package})")
    return program


def file_prefix():
    """A unique name per run, so that the socket of a crashed run is not used."""
    return f"tpkforward{os.getpid()}n{next(_numbers)}"


class Telemetry:
    """A client of DPDK's telemetry socket, like dpdk-telemetry.py."""

    def __init__(self, prefix, check_alive):
        path = f"{RUNTIME}/{prefix}/dpdk_telemetry.v2"

        def connected():
            check_alive()
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.socket.settimeout(10)
            try:
                self.socket.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):  # not created, or not listening yet
                self.socket.close()
                return False
            return True

        wait_until(connected, f"its telemetry socket {path}", START_S)
        self.socket.recv(1024)

    def ask(self, command):
        """Returns {} if the data does not exist yet (the socket replies before the ports exist)."""
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(65536))[command.split(",")[0]] or {}

    def close(self):
        self.socket.close()


class Forwarder:
    """Starts commands in order, the last of which forwards. Leaving the with-block ends them."""

    def __init__(self, machine, folder, name, ports=2):
        self.machine, self.name, self.ports = machine, name, ports
        self.prefix = file_prefix()
        self.log, self.errors = (os.path.join(folder, f"{self.prefix}.{kind}") for kind in ("log", "errors"))
        self.processes, self.telemetry = [], None
        self.note = None  # a remark for the report
        self.workers = 1
        self.guest = None  # sends its packets where its own devices do not (guest.Guest)

    def start(self, command, environment=None):
        # A new session: the terminal's Ctrl-C must not reach the child; this process ends it.
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
        return "no output"

    def check_alive(self):
        for process in self.processes:
            if process.poll() is not None:
                raise Unavailable(f"exited with {process.returncode}: {self.last_words()}")
        if self.guest:
            self.guest.check_alive()

    def connect_telemetry(self):
        if self.telemetry is None:
            self.telemetry = Telemetry(self.prefix, self.check_alive)

    def wait_until_it_forwards(self, learning=0):
        """Waits until it received that many more frames, or half a minute: it learns from each frame."""
        (self.guest or self).connect_telemetry()
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
        """Hook before the measurement."""

    def counts(self):
        if self.guest:
            return self.guest.counts()
        return [self.telemetry.ask(f"/ethdev/xstats,{port}") for port in range(self.ports)]

    def ran_ns(self):
        """CPU time of the forwarding thread, which is its busiest; of several, the least."""
        all_ns = []
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{thread}/schedstat", encoding="utf-8") as file:
                    all_ns.append(int(file.read().split()[0]))
            except OSError:
                continue  # a thread that ended
        return sorted(all_ns, reverse=True)[self.workers - 1]

    def pause(self):
        self.signal_both(signal.SIGSTOP)

    def resume(self):
        self.signal_both(signal.SIGCONT)

    def signal_both(self, number):
        for one in filter(None, (self.guest, self)):
            one.process.send_signal(number)

    def end(self):
        """Ends its processes; its output stays. The guest is stopped before: its driver must not use rings that go away."""
        if self.guest and self.guest.processes:
            self.guest.pause()
        if self.telemetry:
            self.telemetry.close()
            self.telemetry = None
        while self.processes:
            process = self.processes.pop()
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
            try:
                process.communicate(b"\n", timeout=20)  # testpmd exits on Enter
            except (subprocess.TimeoutExpired, OSError):
                process.kill()
                process.wait()
        if self.guest:
            self.guest.stop()

    def stop(self):
        """May be called again."""
        self.end()
        shutil.rmtree(f"{RUNTIME}/{self.prefix}", ignore_errors=True)
        for path in (self.log, self.errors):
            if os.path.exists(path):
                os.unlink(path)  # l3fwd logs a line per route

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
