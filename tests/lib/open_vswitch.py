# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch in a separate folder, without DPDK: its userspace datapath on a host's interfaces."""
import os
import shutil
import subprocess
import tempfile

from lib import tap
from lib.hosts import wait_until

VSWITCHD = ("/usr/lib/openvswitch-switch/ovs-vswitchd", "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


class OpenVswitch:
    """ovsdb-server and ovs-vswitchd in a host, with a bridge br0; all removed when the block ends."""

    def __init__(self, lab, host):
        self.lab, self.host = lab, host
        program = next((p for p in VSWITCHD if os.path.exists(p)), None)
        if program is None or not shutil.which("ovsdb-server"):
            tap.skip(f"none of {VSWITCHD} (package openvswitch-switch-dpdk)")
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-ovs-")
        lab.cleanups.append(self.folder.cleanup)
        at = self.folder.name
        self.environment = {**os.environ, "OVS_RUNDIR": at, "OVS_LOGDIR": at, "OVS_DBDIR": at, "OVS_SYSCONFDIR": at}
        self.run("ovsdb-tool", "create", f"{at}/conf.db", SCHEMA)
        self.start("ovsdb-server", f"--remote=punix:{at}/db.sock", f"{at}/conf.db")
        wait_until(lambda: os.path.exists(f"{at}/db.sock"), "ovsdb-server")
        self.vsctl("--no-wait", "init")
        self.start(program, f"--unixctl={at}/ctl", f"unix:{at}/db.sock")
        self.vsctl("set", "Open_vSwitch", ".", "other_config:vlan-limit=2", "other_config:max-revalidator=100")
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def output(self):
        path = os.path.join(self.folder.name, "log")
        return open(path, encoding="utf-8").read() if os.path.exists(path) else ""

    def run(self, *words):
        done = subprocess.run(self.host.command(words), env=self.environment, capture_output=True, text=True,
                              timeout=30, check=False)
        assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}\n{self.output()[-2000:]}"
        return done.stdout

    def start(self, *words):
        with open(os.path.join(self.folder.name, "log"), "a", encoding="utf-8") as log:
            self.host.start(words, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def vsctl(self, *words):
        return self.run("ovs-vsctl", "--timeout=20", f"--db=unix:{self.folder.name}/db.sock", *words)

    def appctl(self, *words):
        return self.run("ovs-appctl", "-t", f"{self.folder.name}/ctl", *words)

    def add_port(self, interface, **columns):
        self.vsctl("add-port", "br0", interface, "--", "set", "port", interface,
                   *(f"{name}={value}" for name, value in columns.items()))
        assert self.vsctl("get", "Interface", interface, "error").strip() == "[]", self.output()
