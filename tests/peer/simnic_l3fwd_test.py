#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's l3fwd (built here from its sources, outside the tree) routes between two generators."""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.hosts import wait_until  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402
from lib.testpmd import peer_environment, vdevs  # noqa: E402

SOURCES = "/usr/share/dpdk/examples/l3fwd"
RATE = "200k"
_folder = tempfile.TemporaryDirectory(prefix="turnpike-l3fwd-")
_program = os.path.join(_folder.name, "l3fwd")


def program():
    if not os.path.isdir(SOURCES):
        tap.skip(f"no {SOURCES} (package dpdk-doc)")
    if not os.path.exists(_program):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libdpdk"], check=True,
                               capture_output=True, text=True).stdout.split()
        sources = [os.path.join(SOURCES, f) for f in os.listdir(SOURCES) if f.endswith(".c")
                   and not f.endswith("_route_parse.c")]  # those are included by others
        subprocess.run(["gcc", "-O2", "-w", "-DALLOW_EXPERIMENTAL_API", f"-I{SOURCES}/../common",
                        *sources, "-o", _program, *flags],
                       check=True)
    return _program


def check(lookup, flows, sources=("198.18.0.1", "198.18.1.1"), rules=(), eal=()):
    """Port 0's generator sends to networks behind port 1 and the other way round."""
    prefix = f"tpk{os.getpid()}{lookup}"
    devices = [f"net_simnic{i},wire=gen,rate={RATE},l3flows={flows},dst=198.18.{1 - i}.0,src={sources[1 - i]}"
               for i in range(2)]
    command = [program(), "-l", "0", "--in-memory", "--no-pci", f"--file-prefix={prefix}", "-d",
               "librte_net_simnic.so", *eal, *vdevs(devices), "--", "-p", "0x3", "-P", "--lookup", lookup,
               "--config=(0,0,0),(1,0,0)", *rules]
    log = os.path.join(_folder.name, f"{lookup}.log")
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=peer_environment())
    try:
        telemetry = Telemetry(prefix)
        ports = []

        def enough():
            assert process.poll() is None, open(log, encoding="utf-8").read()
            ports[:] = [telemetry.ask(f"/ethdev/xstats,{p}") for p in range(2)]
            return all(p.get("gen_received", 0) > 20_000 for p in ports)

        wait_until(enough, f"20,000 frames routed: {open(log, encoding='utf-8').read()[-2000:]}", 60)
        telemetry.close()
        for port in ports:
            bad = {name: port[name] for name in port if port[name] != 0 and (
                name.startswith("fault_") or name in ("gen_lost", "gen_duplicated", "gen_reordered",
                "gen_damaged", "gen_foreign", "gen_ttl_kept", "rx_missed_errors", "rx_errors", "tx_errors"))}
            assert not bad, bad
            assert port["gen_ttl_decremented"] == port["gen_received"]
            assert port["pcie_lines_rd_cur"] > 0 and port["pcie_bytes_up"] > 0
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_lpm():
    check("lpm", 200)


def test_fib():
    check("fib", 200)


def test_em():
    # The default table's one flow a port: 198.18.N.1 to 198.18.N.0, ports 9 and 9.
    check("em", 1)


def test_acl():
    rules = {}
    for family, lines in (("ipv4", "@192.168.0.0/16 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00\n"
                           "R0.0.0.0/0 198.18.0.0/24 0 : 65535 0 : 65535 0x00/0x00 0\n"
                           "R0.0.0.0/0 198.18.1.0/24 0 : 65535 0 : 65535 0x00/0x00 1\n"),
                          ("ipv6", "R0:0:0:0:0:0:0:0/0 2001:200:0:0:0:0:0:0/64 0 : 65535 0 : 65535 0x00/0x00 0\n")):
        rules[family] = os.path.join(_folder.name, f"acl-{family}")
        with open(rules[family], "w", encoding="utf-8") as file:
            file.write(lines)
    check("acl", 200, rules=[f"--rule_{f}={path}" for f, path in rules.items()])


if __name__ == "__main__":
    tap.main(globals())
