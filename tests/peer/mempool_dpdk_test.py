#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's programs with our mempool handler: its own tests of mempools and mbufs, beside ring_mp_mc in the
same run (what fails with ours alone is ours); testpmd and l3fwd on net_simnic."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.testpmd import POOL_EAL, Testpmd, peer_environment  # noqa: E402
import simnic_l3fwd_test  # noqa: E402
import simnic_testpmd_test as simnic  # noqa: E402

HANDLERS = ("ring_mp_mc", "cache_aware")
# mempool_perf_autotest has 720 cells of 5 seconds by the TSC's rate; told a small one, it does them all.
SHORT_SECONDS = "#include <stdint.h>\nuint64_t rte_get_tsc_hz(void) { return 1000000; }\n"


def command(handler):
    program = shutil.which("dpdk-test")
    if program is None:
        tap.skip("no dpdk-test (package dpdk)")
    return ["stdbuf", "-oL", program, "-l", "0-1", "--in-memory", "--no-pci", "--no-telemetry", "-m", "1500",
            f"--file-prefix=tpkpool{os.getpid()}", "-d", "librte_mempool_cache_aware.so",
            f"--mbuf-pool-ops-name={handler}"]


def run(handler, test, seconds, environment):
    """All that it said, and whether it came to its end by itself."""
    process = subprocess.Popen(command(handler), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True,
                               env={**peer_environment(), **environment})
    try:
        return process.communicate(f"{test}\nquit\n", timeout=seconds)[0], True
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0], False


def check(test, seconds, environment=None):
    said = {handler: run(handler, test, seconds, environment or {}) for handler in HANDLERS}
    for handler, (output, ended) in said.items():
        assert ended and "Test OK" in output, f"{handler}: {output[-3000:]}"


def test_mempool_autotest():
    check("mempool_autotest", 60)


def test_mbuf_autotest():
    check("mbuf_autotest", 60)


def test_mempool_perf_autotest():
    with tempfile.TemporaryDirectory(prefix="turnpike-hz-") as folder:
        library = os.path.join(folder, "hz.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SHORT_SECONDS, text=True,
                       check=True)
        check("mempool_perf_autotest", 55, {"LD_PRELOAD": library})


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
        assert "cache_aware" in pmd.say("dump_mempool mb_pool_0"), pmd.log[-2000:]


def test_l3fwd():
    simnic_l3fwd_test.check("lpm", 200, eal=POOL_EAL)


if __name__ == "__main__":
    tap.main(globals())
