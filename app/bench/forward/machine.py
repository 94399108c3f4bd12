# SPDX-License-Identifier: BSD-3-Clause
"""Where things are: the programs beside this one (built or installed), plug-ins, the two CPUs, huge pages."""
import ctypes
import os
import signal
import sys

HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
PLUGINS = {"librte_net_simnic.so": "drivers/net/simnic", "librte_mempool_cache_aware.so": "drivers/mempool/cache_aware"}


class Unavailable(Exception):
    """Why something cannot be measured here; it becomes a cell's `why`."""


def first_that_is(*paths):
    return next((p for p in paths if os.access(p, os.X_OK)), None)


class Machine:
    def __init__(self, turnpike=None, max_simd_bitwidth=None):
        here = os.path.dirname(os.path.realpath(sys.argv[0]))
        self.turnpike = turnpike or first_that_is(f"{here}/turnpike", f"{here}/../turnpike/turnpike")
        self.inputs = first_that_is(f"{here}/turnpike-bench-forward-inputs",
                                    f"{here}/../libexec/turnpike/turnpike-bench-forward-inputs")
        build = os.path.join(here, "../..")
        self.folders = [f for f in (os.path.realpath(os.path.join(build, p)) for p in PLUGINS.values())
                        if os.path.isdir(f)]
        self.width = max_simd_bitwidth
        cpus = sorted(os.sched_getaffinity(0))
        self.all_cpus, self.control_cpu, self.worker_cpu = cpus, cpus[0], cpus[-1] if len(cpus) < 2 else cpus[1]

    def check(self, inputs=True):
        """Why nothing can be measured at all; None: it can.
        inputs: those that turnpike-bench-forward-inputs makes are needed"""
        if not self.turnpike or not os.access(self.turnpike, os.X_OK):
            return f"{self.turnpike or 'turnpike'}: no such program beside this one"
        if inputs and not self.inputs:
            return "turnpike-bench-forward-inputs: no such program beside this one"
        if os.geteuid() != 0:
            return "run as root: huge pages and DPDK's run-time folder are root's"
        if len(self.all_cpus) < 2:
            return "needs two CPUs: one forwards, the other is for everything else"
        if free_hugepages() < 200:
            return (f"{free_hugepages()} huge pages of 2 MB are free, 200 are the least (full tables: 700): "
                    "echo 1024 > /proc/sys/vm/nr_hugepages")
        return None

    @staticmethod
    def cpu_name():
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")

    def environment(self):
        """EAL refuses a plug-in by a path with a world-writable folder in it; a bare name goes to the dynamic
        linker. What is installed lies where EAL looks."""
        return {**os.environ, **({"LD_LIBRARY_PATH": ":".join(self.folders)} if self.folders else {})}

    def plugin(self, name):
        return ["-d", name] if self.folders else []

    def eal(self, prefix, devices, pool, cpus=None):
        words = ["-l", cpus or f"{self.control_cpu},{self.worker_cpu}", "--in-memory", "--no-pci",
                 f"--file-prefix={prefix}", *self.width_option(), *self.plugin("librte_net_simnic.so")]
        if pool:
            words += [*(self.plugin(f"librte_mempool_{pool}.so") if pool == "cache_aware" else []),
                      f"--mbuf-pool-ops-name={pool}"]
        for device in devices:
            words += ["--vdev", device]
        return words

    def width_option(self):
        return [f"--force-max-simd-bitwidth={self.width}"] if self.width else []

    def for_children(self):
        """Run in a child before its program: it has all CPUs, comes before the machine's other work, and goes when
        we go, however that is."""
        libc = ctypes.CDLL(None)
        cpus = set(self.all_cpus)

        def prepare():
            os.sched_setaffinity(0, cpus)
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            try:
                os.setpriority(os.PRIO_PROCESS, 0, -20)
                if os.getsid(0) == os.getpid():  # else it would be the group of whoever started us, and for good
                    with open("/proc/self/autogroup", "w", encoding="utf-8") as group:
                        group.write("-20")  # where there are such groups, nice counts within one (sched(7))
            except OSError:
                pass  # the windows say how much of its core the worker had
        return prepare


def free_hugepages():
    try:
        with open(HUGEPAGES, encoding="utf-8") as file:
            return int(file.read())
    except OSError:
        return 0
