#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's l3fwd (built here from its sources, outside the tree) routes between two generators."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dpdk_program import UNCLEAN, Running, build_example, unclean  # noqa: E402

RATE = "200k"


def check(lookup, flows, sources=("198.18.0.1", "198.18.1.1"), rules=(), eal=()):
    """Port 0's generator sends to networks behind port 1 and the other way round."""
    devices = [f"net_simnic{i},wire=gen,rate={RATE},l3flows={flows},dst=198.18.{1 - i}.0,src={sources[1 - i]}"
               for i in range(2)]
    options = ["-p", "0x3", "-P", "--lookup", lookup, "--config=(0,0,0),(1,0,0)", *rules]
    with Running(build_example("l3fwd", without="_route_parse.c"), devices, options, lookup,
                 eal=("-l", "0", *eal)) as l3fwd:
        for port in l3fwd.wait_for_frames(20_000):
            bad = unclean(port, UNCLEAN + ("gen_ttl_kept",))
            assert not bad, bad
            # Read one after the other, while frames come.
            assert port["gen_ttl_decremented"] >= port["gen_received"]
            assert port["pcie_lines_rd_cur"] > 0 and port["pcie_bytes_up"] > 0


def test_lpm():
    check("lpm", 200)


def test_fib():
    check("fib", 200)


def test_em():
    # The default table's one flow a port: 198.18.N.1 to 198.18.N.0, ports 9 and 9.
    check("em", 1)


def test_acl():
    folder = tempfile.TemporaryDirectory(prefix="turnpike-l3fwd-")
    rules = {}
    for family, lines in (("ipv4", "@192.168.0.0/16 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00\n"
                           "R0.0.0.0/0 198.18.0.0/24 0 : 65535 0 : 65535 0x00/0x00 0\n"
                           "R0.0.0.0/0 198.18.1.0/24 0 : 65535 0 : 65535 0x00/0x00 1\n"),
                          ("ipv6", "R0:0:0:0:0:0:0:0/0 2001:200:0:0:0:0:0:0/64 0 : 65535 0 : 65535 0x00/0x00 0\n")):
        rules[family] = os.path.join(folder.name, f"acl-{family}")
        with open(rules[family], "w", encoding="utf-8") as file:
            file.write(lines)
    check("acl", 200, rules=[f"--rule_{f}={path}" for f, path in rules.items()])


if __name__ == "__main__":
    tap.main(globals())
