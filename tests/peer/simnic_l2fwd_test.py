#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's l2fwd (built here from its sources, outside the tree) forwards between two generators."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dpdk_program import Running, build_example, unclean  # noqa: E402


def check(options):
    devices = [f"net_simnic{i},wire=gen,rate=100k,size=64-1518" for i in range(2)]
    with Running(build_example("l2fwd"), devices, ["-p", "0x3", "-q", "2", "-T", "0", "-P", *options],
                 "l2fwd") as l2fwd:
        for port in l2fwd.wait_for_frames(20_000):
            bad = unclean(port)
            assert not bad, bad
            assert port["gen_ttl_kept"] == port["gen_received"]
            assert port["pcie_lines_itom"] > 0 and port["pcie_tx_data_tlps_mrd"] > 0


def test_addresses_rewritten():
    check([])


def test_addresses_kept():
    check(["--no-mac-updating"])


if __name__ == "__main__":
    tap.main(globals())
