# SPDX-License-Identifier: BSD-3-Clause
"""turnpike with two generators at its ports, and an operator at its control socket."""
import json
import os
import socket
import subprocess
import time

START_S = 30


class Failed(Exception):
    pass


class Appliance:
    """Forwards from each port to the other inside the with-block, independent of changes to other routes."""

    def __init__(self, machine, folder, rate):
        self.folder = folder
        self.path = os.path.join(folder, "control.sock")
        self.configuration = os.path.join(folder, "turnpike.yaml")
        self.log = os.path.join(folder, "log")
        self.base = {
            "eal": {"args": " ".join(machine.eal(f"tpkcontrol{os.getpid()}", (), None))},
            "workers": [machine.worker_cpu], "control": {"socket": self.path},
            "ports": [{"name": f"p{n}", "addresses": [f"10.0.{n}.1/24"],
                       "device": f"net_simnic{n},wire=gen,rate={rate},l3flows=200,src=198.18.{n}.1,dst=198.18.{1 - n}.0"}
                      for n in range(2)],
            "neighbours": {"static": [{"address": f"10.0.{n}.{h}", "mac": f"02:00:00:00:{n:02x}:{h:02x}"}
                                      for n in range(2) for h in range(2, 10)]},
            "routes": [{"to": f"198.18.{n}.0/24", "via": f"10.0.{n}.2"} for n in range(2)]}
        write(self.configuration, json.dumps(self.base))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([machine.turnpike, "--config", self.configuration], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=machine.environment(), start_new_session=True,
                                            preexec_fn=machine.for_children())
        try:
            self._connect()
        except BaseException:
            self.stop()
            raise

    def _connect(self):
        end = time.monotonic() + START_S
        while True:
            if self.process.poll() is not None:
                raise Failed(f"turnpike exited with {self.process.returncode}: {self.last_words()}")
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(60)
            try:
                self.socket.connect(self.path)
                self.lines = self.socket.makefile("rb")
                greeting = self.lines.readline()
                if greeting:
                    self.version = json.loads(greeting)["version"]
                    return
            except OSError:  # not created yet, or removed by a turnpike that failed to start
                pass
            self.socket.close()
            if time.monotonic() > end:
                raise Failed(f"no control socket within {START_S} s: {self.last_words()}")
            time.sleep(0.05)

    def last_words(self):
        with open(self.log, "rb") as file:
            return " | ".join(file.read()[-400:].decode(errors="replace").splitlines())

    def send(self, line):
        """Sends a request as bytes and returns its reply."""
        try:
            self.socket.sendall(line)
            answer = self.lines.readline()
        except OSError as why:
            raise Failed(f"the control socket: {why}: {self.last_words()}") from None
        if not answer:
            raise Failed(f"the control socket was closed: {self.last_words()}")
        answer = json.loads(answer)
        if "result" not in answer:
            raise Failed(f"{line[:80]!r}: {answer['error']['what']}")
        return answer["result"]

    def ask(self, request, **members):
        return self.send(request_of(request, **members))

    def traffic(self):
        """Packets so far: received from the wires, sent, and lost in full rings or by a drop reason."""
        ports = self.ask("show", what="report")["ports"]
        return {"offered": sum(p["rx_packets"] + p["rx_missed"] for p in ports),
                "sent": sum(p["tx_packets"] for p in ports),
                "lost": sum(p["rx_missed"] + sum(p["drops"].values()) for p in ports)}

    def control_cpu_s(self):
        """CPU time of the control thread, which is the first thread."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="utf-8") as file:
            return int(file.read().split()[0]) / 1e9

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def request_of(request, **members):
    return json.dumps({"request": request, **members}).encode() + b"\n"
