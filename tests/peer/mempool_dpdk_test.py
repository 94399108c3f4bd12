#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own tests of mempools and mbufs with our mempool handler, beside ring_mp_mc in the same run: a failure with
our handler alone is ours."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.testpmd import peer_environment  # noqa: E402

HANDLERS = ("ring_mp_mc", "cache_aware")
# mempool_perf_autotest has 720 cells of 5 seconds by the TSC's rate; with a small rate given, it runs them all.
SHORT_SECONDS = "#include <stdint.h>\nuint64_t rte_get_tsc_hz(void) { return 1000000; }\n"


def command(handler):
    program = shutil.which("dpdk-test")
    if program is None:
        tap.skip("no dpdk-test (package dpdk)")
    return ["stdbuf", "-oL", program, "-l", "0-1", "--in-memory", "--no-pci", "--no-telemetry", "-m", "1500",
            f"--file-prefix=tpkpool{os.getpid()}", "-d", "librte_mempool_cache_aware.so",
            f"--mbuf-pool-ops-name={handler}"]


def run(handler, test, seconds, environment):
    """Returns the whole output, and whether the program ended by itself."""
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


if __name__ == "__main__":
    tap.main(globals())
