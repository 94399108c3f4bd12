# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with DPDK as a contestant: a private database, switch and bridge in the run's folder; the bridge's
local interface is in a network namespace that is removed with it."""
import os
import re
import subprocess
import tempfile

from machine import Unavailable
from process import Forwarder, wait_until
from workloads import ENDPOINTS, MACS, TUNNELS_MTU, VLANS, devices_of

VSWITCHD = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


def table_flows(bench, tables, vlans=None):
    """A flow per route of l3fwd's file, with a router's actions. vlans: by port."""
    flows = []
    for table in tables:
        with open(f"{bench.folder}/{table}.l3fwd", encoding="utf-8") as file:
            for line in file:
                network, port = line[1:].split()
                family = "ipv6,ipv6_dst" if ":" in network else "ip,nw_dst"
                tag = f"mod_vlan_vid:{vlans[int(port)]}," if vlans else ""
                flows.append(f"{family}={network},actions={tag}mod_dl_src:{MACS[int(port)]},"
                             f"mod_dl_dst:02:00:00:00:00:{int(port):02x},dec_ttl,output:sn{port}")
    return flows


def interface(device):
    """The words of ovs-vsctl for the interface of a device. A vhost-user port has its own type."""
    kind, *words = device.split(",")
    if kind.startswith("net_vhost"):
        path = next(word.removeprefix("iface=") for word in words if word.startswith("iface="))
        return "type=dpdkvhostuserclient", f'options:vhost-server-path="{path}"'
    return "type=dpdk", f'options:dpdk-devargs="{device}"'


class Switch(Forwarder):
    def __init__(self, bench):
        super().__init__(bench.machine, bench.folder, "ovs")
        if not os.path.exists(VSWITCHD):
            raise Unavailable(f"no {VSWITCHD} (Debian's package openvswitch-switch-dpdk)")
        self.folder = tempfile.TemporaryDirectory(prefix="ovs-", dir=bench.folder)
        at = self.folder.name
        self.environment = {**bench.machine.environment(), "OVS_RUNDIR": at, "OVS_LOGDIR": at, "OVS_DBDIR": at,
                            "OVS_SYSCONFDIR": at}

    def run(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{words[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def vsctl(self, *words):
        return self.run("ovs-vsctl", "--timeout=20", f"--db=unix:{self.folder.name}/db.sock", *words)

    def open(self, devices, pool, bridge_of=lambda number: "br0"):
        at, machine = self.folder.name, self.machine
        self.run("ovsdb-tool", "create", f"{at}/conf.db", SCHEMA)
        self.start(["ovsdb-server", f"--remote=punix:{at}/db.sock", f"{at}/conf.db"], self.environment)
        wait_until(lambda: os.path.exists(f"{at}/db.sock"), "ovsdb-server", 20)
        extra = " ".join(["--in-memory", "--no-pci", f"--file-prefix={self.prefix}", *machine.width_option(),
                          *machine.plugin("librte_net_simnic.so"), f"--mbuf-pool-ops-name={pool}"])
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   f"other_config:dpdk-lcore-mask={1 << machine.control_cpu:#x}",
                   f"other_config:pmd-cpu-mask={1 << machine.worker_cpu:#x}", f"other_config:dpdk-extra={extra}")
        self.start(["unshare", "--net", VSWITCHD, f"--unixctl={at}/ctl", f"unix:{at}/db.sock"], self.environment)
        for bridge in sorted({bridge_of(number) for number in range(len(devices))}):
            self.vsctl("add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev", "fail_mode=secure",
                       "other-config:mac-table-size=1000000")
        for number, device in enumerate(devices):
            self.vsctl("add-port", bridge_of(number), f"sn{number}", "--", "set", "Interface", f"sn{number}", *interface(device))
            error = self.vsctl("get", "Interface", f"sn{number}", "error").strip()
            if error != "[]":
                raise Unavailable(error)

    def flows(self, flows, bridge="br0"):
        path = os.path.join(self.folder.name, "flows")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(flows) + "\n")
        self.run("ovs-ofctl", "add-flows", f"unix:{self.folder.name}/{bridge}.mgmt", path)

    def ctl(self, *words):
        return self.run("ovs-appctl", f"--target={self.folder.name}/ctl", *words)

    def tunnels(self):
        """As in "userspace tunneling" of its documentation: the underlay's bridge has the address, br0 the tunnels. Its
        kernel interface is in the switch's network namespace."""
        self.vsctl("set", "Interface", "sn0", f"mtu_request={TUNNELS_MTU}")
        self.vsctl("set", "bridge", "underlay", f"other-config:hwaddr={MACS[0]}")
        inside = ("nsenter", f"--net=/proc/{self.process.pid}/ns/net", "ip")
        self.run(*inside, "address", "add", "10.0.0.1/24", "dev", "underlay")
        self.run(*inside, "link", "set", "underlay", "up")
        for n in range(ENDPOINTS):
            self.vsctl("add-port", "br0", f"t{n}", "--", "set", "Interface", f"t{n}", "type=vxlan",
                       f"options:remote_ip=10.0.0.{2 + n}", "options:key=100")
            self.ctl("tnl/neigh/set", "underlay", f"10.0.0.{2 + n}", f"02:00:00:00:00:{n:02x}")
        self.flows(["actions=NORMAL"], "underlay")
        self.flows(["actions=NORMAL"])

    def stop(self):
        super().stop()
        self.folder.cleanup()


def busy_cycles(switch):
    """Cycles per packet of its PMD thread's poll rounds with packets."""
    printed = switch.ctl("dpif-netdev/pmd-stats-show")
    found = re.search(r"avg processing cycles per packet: ([0-9.]+)", printed)
    if not found:
        raise Unavailable(f"ovs-appctl printed no cycles per packet: {printed.strip()[-300:]}")
    return float(found[1])


def start(bench, case, rate_pps=0):
    switch = Switch(bench)
    try:
        devices = devices_of(case, bench.folder, rate_pps)
        switch.ports = len(devices)
        if case.mode == "vxlan":
            switch.open(devices, case.pool, lambda number: "underlay" if number == 0 else "br0")
            switch.tunnels()
            return switch
        switch.open(devices, case.pool)
        if case.mode == "flows":
            switch.flows(["in_port=sn0,actions=output:sn1", "in_port=sn1,actions=output:sn0"])
        elif case.mode == "normal":
            switch.flows(["actions=NORMAL"])
        else:
            switch.flows(table_flows(bench, case.workload.tables, VLANS if case.mode == "vlan-routes" else None))
    except BaseException:
        switch.stop()
        raise
    return switch
