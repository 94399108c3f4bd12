# SPDX-License-Identifier: BSD-3-Clause
"""Routing daemons of Debian, unmodified, in hosts of a lab: FRR's by one `Frr` per host, BIRD by `Bird`."""
import os
import subprocess
import tempfile

from lib.hosts import wait_until

FRR = "/usr/lib/frr"


class Frr:
    """zebra and other FRR daemons in a host, each with a part of one configuration."""

    def __init__(self, lab, host, config, daemons=("bgpd",)):
        self.host, self.lab = host, lab
        # The daemons run as user frr, which must own their files.
        self.folder = tempfile.mkdtemp(prefix="turnpike-frr-", dir="/run")
        self.config = os.path.join(self.folder, "frr.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)
        subprocess.run(["chown", "-R", "frr:frr", self.folder], check=True)
        os.chmod(self.folder, 0o755)
        os.makedirs("/var/tmp/frr", exist_ok=True)
        self.processes = {}
        for daemon in ("zebra", *daemons):
            self.start(daemon)
            wait_until(lambda: os.path.exists(os.path.join(self.folder, daemon + ".vty")), f"{daemon} listens")

    def start(self, daemon):
        self.processes[daemon] = self.host.start(
            [os.path.join(FRR, daemon), "-f", self.config, "-i", os.path.join(self.folder, daemon + ".pid"),
             "-z", os.path.join(self.folder, "zserv.api"), "--vty_socket", self.folder, "-A", "127.0.0.1", "-P", "0",
             "--log", "file:" + os.path.join(self.folder, daemon + ".log")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def vty(self, *commands):
        words = ["vtysh", "--vty_socket", self.folder]
        for command in commands:
            words += ["-c", command]
        return self.host.run(words, check=False).stdout

    def said(self):
        out = ""
        for name in os.listdir(self.folder):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    out += f"--- {name}\n" + file.read()
        return out


class Bird:
    """BIRD 2 in a host. recovers: graceful restart, neighbours keep its routes (bird -R)."""

    def __init__(self, lab, host, config, recovers=False):
        self.host = host
        self.folder = tempfile.mkdtemp(prefix="turnpike-bird-", dir="/run")
        self.config = os.path.join(self.folder, "bird.conf")
        self.socket = os.path.join(self.folder, "ctl")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)
        self.process = host.start(["bird", *(["-R"] if recovers else []), "-f", "-c", self.config, "-s", self.socket],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.socket) or self.process.poll() is not None, "bird listens")
        assert self.process.poll() is None, host.run(["bird", "-p", "-c", self.config], check=False).stderr

    def ask(self, words):
        return self.host.run(["birdc", "-s", self.socket, *words.split()], check=False).stdout
