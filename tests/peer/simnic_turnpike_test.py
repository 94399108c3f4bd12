#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike on net_simnic: it carries the plug-in, patches and routes between generators, loses nothing;
and real hosts talk through it over taps."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dpdk_program import file_prefix, wait_for_hugepages  # noqa: E402
from lib.dut import Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402

DIRTY = ("gen_lost", "gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign", "fault_translation",
         "fault_descriptor", "fault_tail", "rx_missed_errors")


def patched(arguments):
    prefix = file_prefix("patch")
    wait_for_hugepages()
    with Lab() as lab:
        dut = Turnpike(lab, lab.host("dut"), patch_config(
            f"net_simnic0,wire=gen,{arguments}", f"net_simnic1,wire=gen,{arguments}",
            eal=f"-l 0-1 --no-pci --in-memory --file-prefix={prefix}"))
        telemetry = Telemetry(prefix)
        ports = []

        def enough():
            ports[:] = [telemetry.ask(f"/ethdev/xstats,{p}") for p in range(2)]
            return all(p.get("gen_received", 0) > 20_000 for p in ports)

        wait_until(enough, "20,000 frames patched", 60)
        telemetry.close()
        report = dut.stop()
        assert all(p["driver"] == "net_simnic" for p in report["ports"])
        return ports, report


def test_patch():
    for arguments in ("rate=100k", "rate=100k,profile=i40e,size=64-1518"):
        ports, report = patched(arguments)
        for port in ports:
            bad = {name: port[name] for name in DIRTY if port[name] != 0}
            assert not bad, bad
            assert port["gen_ttl_kept"] == port["gen_received"]
            assert port["pcie_lines_wil"] > 0
        assert report["balance"]["rx"] > 40_000
        pool = report["mempool"]
        assert pool["ops"] == "cache_aware" and pool["overhead"] <= 0.04, pool
        assert pool["set_max_over_mean"]["l1d"] <= 1.15, pool
        assert 0 < pool["low_water"] < pool["buffers"], pool
        assert sum(report["drops"].values()) == 0 or set(report["drops"]) == {"stopping"}, report["drops"]


def test_counted_is_modelled():
    """Small frames start at a line, as the model has it: nothing is paid twice."""
    wait_for_hugepages()
    with Lab() as lab:
        dut = Turnpike(lab, lab.host("dut"), patch_config(
            *({"device": f"net_simnic{i},wire=gen,profile=ixgbe,link=10",
               "pcie": {"profile": "ixgbe", "link": "gen3x8"}} for i in range(2))))
        time.sleep(1.5)
        for port in dut.stop()["ports"]:
            assert port["rx_packets"] > 50_000, port
            over = port["pcie"]["counted"]["over_modelled"]
            for group, name in (("lines", "rd_cur"), ("lines", "rfo"), ("tlps", "mrd"), ("tlps", "mwr"),
                                ("tlps", "cpld"), ("bytes", "up"), ("bytes", "down")):
                assert abs(over[group][name]) < 0.05, (group, name, over)


def test_hosts_over_taps():
    """west -- tap -- simnic0 | turnpike | simnic1 -- tap -- east"""
    wait_for_hugepages()
    with Lab() as lab:
        west, east, dut = lab.host("west"), lab.host("east"), lab.host("dut")
        running = Turnpike(lab, dut, patch_config("net_simnic0,wire=tap:tpkw", "net_simnic1,wire=tap:tpke"))
        for host, interface, address in ((west, "tpkw", "10.9.0.1"), (east, "tpke", "10.9.0.2")):
            dut.run(f"ip link set {interface} netns {host.ns}")
            host.run(f"ip addr add {address}/24 dev {interface}")
            host.run(f"ip link set {interface} up")
        west.run("ping -c 20 -i 0.01 -W 5 10.9.0.2")
        west.run("ping -c 5 -i 0.01 -s 1400 -W 5 10.9.0.2")
        report = running.stop()
        assert report["balance"]["tx"] >= 50, report["balance"]


if __name__ == "__main__":
    tap.main(globals())
