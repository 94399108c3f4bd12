# SPDX-License-Identifier: BSD-3-Clause
"""grout and VPP as contestants, from their installation prefixes. They must be linked dynamically with the same DPDK as
the plug-ins, or they cannot load net_simnic; the cell then has their error message. Sources of the commands: grout's
manual pages (grout(8), grcli-*(1)), VPP's startup.conf and command-line reference."""
import os
import subprocess

from machine import Unavailable
from process import START_S, Forwarder, wait_until
from workloads import devices_of


def program_of(prefix, option, *names):
    """Paths of the programs under the prefix."""
    if not prefix:
        raise Unavailable(f"no {option} PREFIX given")
    paths = [os.path.join(prefix, "bin", name) for name in names]
    for path in paths:
        if not os.access(path, os.X_OK):
            raise Unavailable(f"{option} {prefix}: no {path}")
    return paths


def routes_of(bench, tables):
    """(prefix, gateway, port) of the table's routes."""
    for table in tables:
        with open(f"{bench.folder}/{table}.routes", encoding="utf-8") as file:
            for line in file:
                to, _, via = line.split()
                yield to, via, via.split("." if "." in via else ":")[2]


def addresses():
    """(port, address, gateway) for both families."""
    for n in range(2):
        yield n, f"10.0.{n}.1/24", f"10.0.{n}.2"
        yield n, f"2001:db8:{n}::1/64", f"2001:db8:{n}::2"


class Grout(Forwarder):
    """grout starts EAL without telemetry: its own client reads the devices' counters."""

    def __init__(self, bench, programs):
        super().__init__(bench.machine, bench.folder, "grout", ports=1)
        self.grout, self.grcli = programs
        self.socket = os.path.join(bench.folder, f"{self.prefix}.sock")

    def command(self, lines):
        done = subprocess.run([self.grcli, "-s", self.socket], input="\n".join(lines) + "\n", capture_output=True,
                              text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise Unavailable(f"grcli: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def wait_until_it_forwards(self, learning=0):
        self.wait_for_frames(learning)

    def counts(self):
        """Sums over both ports from lines of PORT.NAME VALUE."""
        sums = {}
        for line in self.command(["stats show hardware zero"]).splitlines():
            words = line.split()
            if len(words) == 2 and words[1].isdigit():
                name = words[0].rsplit(".", 1)[-1]
                sums[name] = sums.get(name, 0) + int(words[1])
        return [sums]


def start_grout(bench, case, rate_pps=0):
    forwarder = Grout(bench, program_of(bench.options.grout, "--grout", "grout", "grcli"))
    machine, sizes = bench.machine, [bench.sizes.get(t, 0) + 1024 for t in case.workload.tables]
    extra = [*machine.width_option(), *machine.plugin("librte_net_simnic.so"), f"--mbuf-pool-ops-name={case.pool}"]
    forwarder.start([forwarder.grout, "-p", "-s", forwarder.socket, "--", *extra])
    try:
        wait_until(lambda: forwarder.check_alive() or os.path.exists(forwarder.socket), "grout's socket", START_S)
        lines = [f"route config set default rib4-routes {sizes[0]} rib6-routes {sizes[1]}"]
        for n, device in enumerate(devices_of(case, bench.folder, rate_pps)):
            lines.append(f"interface add port p{n} devargs {device}")
        for n, address, gateway in addresses():
            lines.append(f"address add {address} iface p{n}")
            lines.append(f"nexthop add l3 iface p{n} address {gateway} mac 02:00:00:00:00:{n:02x}")
        lines += [f"route add {to} via {via}" for to, via, _ in routes_of(bench, case.workload.tables)]
        forwarder.command(lines)
    except BaseException:
        forwarder.stop()
        raise
    return forwarder


STARTUP = """unix {{ nodaemon exec {commands} }}
api-segment {{ prefix {prefix} }}
statseg {{ socket-name {at}.stats }}
cpu {{ main-core {control} corelist-workers {worker} }}
dpdk {{ no-pci telemetry file-prefix {prefix} {vdevs} }}
"""


def vpp_commands(bench, case):
    lines = [f"set interface state p{n} up" for n in range(2)]
    if case.mode == "patch":
        return lines + ["test l2patch rx p0 tx p1", "test l2patch rx p1 tx p0"]
    if case.mode == "bridge":
        return lines + [f"set interface l2 bridge p{n} 1" for n in range(2)]
    for n, address, gateway in addresses():
        lines.append(f"set interface ip address p{n} {address}")
        lines.append(f"set ip neighbor p{n} {gateway} 02:00:00:00:00:{n:02x} static")
    return lines + [f"ip route add {to} via {via} p{port}" for to, via, port in routes_of(bench, case.workload.tables)]


def start_vpp(bench, case, rate_pps=0):
    program, = program_of(bench.options.vpp, "--vpp", "vpp")
    forwarder, machine = Forwarder(bench.machine, bench.folder, "vpp"), bench.machine
    at = os.path.join(bench.folder, forwarder.prefix)
    vdevs = " ".join(f"vdev {d} {{ name p{n} }}" for n, d in enumerate(devices_of(case, bench.folder, rate_pps)))
    with open(f"{at}.commands", "w", encoding="utf-8") as file:
        file.write("\n".join(vpp_commands(bench, case)) + "\n")
    with open(f"{at}.conf", "w", encoding="utf-8") as file:
        file.write(STARTUP.format(commands=f"{at}.commands", prefix=forwarder.prefix, at=at, vdevs=vdevs,
                                  control=machine.control_cpu, worker=machine.worker_cpu))
    forwarder.start([program, "-c", f"{at}.conf"])
    return forwarder
