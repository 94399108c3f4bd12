#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's programs with our mempool handler: testpmd and l3fwd on net_simnic."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.testpmd import POOL_EAL, Testpmd  # noqa: E402
import simnic_l3fwd_test  # noqa: E402
import simnic_testpmd_test as simnic  # noqa: E402


def test_testpmd():
    simnic.check_forwarded(simnic.forward("mac", "size=64-1518", eal=POOL_EAL))


def test_testpmd_with_virtual_addresses_and_odd_buffers():
    simnic.check_forwarded(simnic.forward("io", "size=64", options=["--mbuf-size=4096"],
                                          eal=[*POOL_EAL, "--iova-mode=va"]))


def test_testpmd_in_external_memory():
    for kind in ("native", "xmemhuge"):
        simnic.check_forwarded(simnic.forward("io", "size=64", seconds=0.5, options=[f"--mp-alloc={kind}"],
                                              eal=POOL_EAL))


def test_testpmd_says_whose_pool_it_is():
    with Testpmd(["net_simnic0,wire=gen,rate=1k", "net_simnic1,wire=gen,rate=1k"], eal=POOL_EAL) as pmd:
        assert "cache_aware" in pmd.command("dump_mempool mb_pool_0"), pmd.log[-2000:]


def test_l3fwd():
    simnic_l3fwd_test.check("lpm", 200, eal=POOL_EAL)


if __name__ == "__main__":
    tap.main(globals())
