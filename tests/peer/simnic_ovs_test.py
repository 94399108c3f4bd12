#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with DPDK, started by hand in a separate folder, switches between two simnics."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dpdk_program import file_prefix, unclean, wait_for_hugepages  # noqa: E402
from lib.hosts import wait_until  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402
from lib.testpmd import peer_environment  # noqa: E402

VSWITCHD = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


class Switch:
    """ovsdb-server and ovs-vswitchd with a bridge br0; all is gone when the block is left."""

    def __init__(self):
        if not os.path.exists(VSWITCHD):
            tap.skip(f"no {VSWITCHD} (package openvswitch-switch-dpdk)")
        wait_for_hugepages()
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-ovs-")
        at = self.folder.name
        self.prefix = file_prefix("ovs")
        self.environment = {**peer_environment(), "OVS_RUNDIR": at, "OVS_LOGDIR": at, "OVS_DBDIR": at,
                            "OVS_SYSCONFDIR": at}
        self.processes = []
        self.telemetry = None
        try:
            self.run("ovsdb-tool", "create", f"{at}/conf.db", SCHEMA)
            self.start("ovsdb-server", f"--remote=punix:{at}/db.sock", f"{at}/conf.db")
            wait_until(lambda: os.path.exists(f"{at}/db.sock"), "ovsdb-server")
            self.vsctl("--no-wait", "init")
            self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                       "other_config:pmd-cpu-mask=0x2", "other_config:dpdk-extra=--in-memory --no-pci "
                       f"--file-prefix={self.prefix} -d librte_net_simnic.so")
            self.start(VSWITCHD, f"--unixctl={at}/ctl", f"unix:{at}/db.sock")
            self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
            self.telemetry = Telemetry(self.prefix, self.check_alive)
        except BaseException:
            self.stop()
            raise

    def run(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}\n{self.output()[-2000:]}"
        return done.stdout

    def start(self, *words):
        with open(os.path.join(self.folder.name, "log"), "a", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log))

    def output(self):
        path = os.path.join(self.folder.name, "log")
        return open(path, encoding="utf-8").read() if os.path.exists(path) else ""

    def check_alive(self):
        assert all(p.poll() is None for p in self.processes), self.output()

    def vsctl(self, *words):
        return self.run("ovs-vsctl", "--timeout=20", f"--db=unix:{self.folder.name}/db.sock", *words)

    def add_port(self, number, arguments):
        self.vsctl("add-port", "br0", f"sn{number}", "--", "set", "Interface", f"sn{number}", "type=dpdk",
                   f"options:dpdk-devargs=net_simnic{number},{arguments}")
        assert self.vsctl("get", "Interface", f"sn{number}", "error").strip() == "[]", self.output()

    def flows(self, *flows):
        self.run("ovs-ofctl", "del-flows", "br0")
        for flow in flows:
            self.run("ovs-ofctl", "add-flow", "br0", flow)

    def counts(self):
        self.check_alive()
        return [self.telemetry.ask(f"/ethdev/xstats,{port}") for port in range(2)]

    def wait_for_frames(self, frames):
        """The counts of each port while each received so many frames back."""
        before, after = self.counts(), []

        def enough():
            after[:] = self.counts()
            return all(a["gen_received"] - b["gen_received"] > frames for a, b in zip(after, before))

        wait_until(enough, lambda: f"{frames} frames each way: {after}", 60)
        return [{name: a[name] - b.get(name, 0) for name in a} for a, b in zip(after, before)]

    def stop(self):
        if self.telemetry:
            self.telemetry.close()
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(f"/var/run/dpdk/{self.prefix}", ignore_errors=True)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def check(switch):
    # Frames before the first flow, and flooded frames, did not take this path.
    switch.wait_for_frames(1_000)
    for port in switch.wait_for_frames(20_000):
        bad = unclean(port)
        assert not bad, bad
        assert port["gen_ttl_kept"] == port["gen_received"]
        for name in ("pcie_lines_rd_cur", "pcie_lines_wil", "pcie_rx_data_tlps_mwr", "pcie_tx_data_tlps_mrd"):
            assert port[name] > 0, name


def test_flows_from_port_to_port():
    with Switch() as switch:
        for port in range(2):
            switch.add_port(port, "wire=gen,rate=50k,l3flows=100")
        switch.flows("in_port=sn0,actions=output:sn1", "in_port=sn1,actions=output:sn0")
        check(switch)


def test_normal():
    """OVS learns where addresses are: each generator sends to the source address that the other has."""
    macs = ("06:00:00:00:00:00", "06:00:01:00:00:00")  # what generators 0 and 1 send from
    with Switch() as switch:
        for port in range(2):
            switch.add_port(port, f"wire=gen,rate=50k,l3flows=100,dst_mac={macs[1 - port]}")
        switch.flows("actions=NORMAL")
        check(switch)
        table = switch.run("ovs-appctl", "-t", f"{switch.folder.name}/ctl", "fdb/show", "br0")
        assert all(mac in table for mac in macs), table


if __name__ == "__main__":
    tap.main(globals())
