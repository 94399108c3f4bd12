# SPDX-License-Identifier: BSD-3-Clause
"""The machine: programs beside this one (built or installed), plug-ins, the two CPUs, hugepages."""
import ctypes
import os
import signal
import sys

# Flags of /proc/cpuinfo that a kernel of this instruction set may use, as in lib/isa/isa.cpp; narrowest first.
ISA_FLAGS = {"scalar": "", "sse42": "sse4_2 popcnt", "avx2": "avx2 bmi1 bmi2 popcnt",
             "avx512": "avx2 bmi1 bmi2 popcnt avx512f avx512bw avx512dq avx512vl avx512cd"}
HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
PLUGINS = {"librte_net_simnic.so": "drivers/net/simnic", "librte_mempool_cache_aware.so": "drivers/mempool/cache_aware"}


class Unavailable(Exception):
    """The reason that a case cannot be measured; it becomes the cell's `why`."""


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
        """The reason that no measurement is possible; None: it is possible.
        inputs: the run needs the files of turnpike-bench-forward-inputs"""
        if not self.turnpike or not os.access(self.turnpike, os.X_OK):
            return f"{self.turnpike or 'turnpike'}: no such program beside this one"
        if inputs and not self.inputs:
            return "turnpike-bench-forward-inputs: no such program beside this one"
        if os.geteuid() != 0:
            return "run as root: hugepages and DPDK's run-time folder belong to root"
        if len(self.all_cpus) < 2:
            return "needs two CPUs: one forwards, the other is for everything else"
        if free_hugepages() < 200:
            return (f"{free_hugepages()} hugepages of 2 MB are free; 200 are needed (full tables: 700): "
                    "echo 1024 > /proc/sys/vm/nr_hugepages")
        return None

    @staticmethod
    def cpu_fields():
        """The first CPU's lines in /proc/cpuinfo."""
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            fields = dict(line.split(":", 1) for line in reversed(file.read().splitlines()) if ":" in line)
        return {name.strip(): value.strip() for name, value in fields.items()}

    def isas(self):
        """Instruction sets whose kernels this CPU can run."""
        field = self.cpu_fields()
        if "Features" in field:  # AArch64
            return ["scalar", "neon"] if "asimd" in field["Features"].split() else ["scalar"]
        has = set(field.get("flags", "").split())
        widest = max(n for n, needed in enumerate(ISA_FLAGS.values()) if has.issuperset(needed.split()))
        return list(ISA_FLAGS)[:widest + 1]

    def cpu_name(self):
        field = self.cpu_fields()
        if "model name" in field:
            return field["model name"]
        # AArch64's kernel prints numbers only.
        return f"implementer {field['CPU implementer']}, part {field['CPU part']}" if "CPU implementer" in field else "unknown"

    def environment(self):
        """EAL refuses a plug-in's path if it contains a world-writable folder, but passes a bare name to the dynamic
        linker. EAL finds installed plug-ins itself."""
        return {**os.environ, **({"LD_LIBRARY_PATH": ":".join(self.folders)} if self.folders else {})}

    def plugin(self, name):
        return ["-d", name] if self.folders else []

    def lcores(self, workers):
        """Lcore 0 for control, and up to two workers: the second has a CPU that no other lcore has, or control's."""
        cpus = [self.control_cpu, self.worker_cpu, self.all_cpus[2] if len(self.all_cpus) > 2 else self.control_cpu]
        return ",".join(f"{lcore}@{cpu}" for lcore, cpu in enumerate(cpus[:1 + workers]))

    def eal(self, prefix, devices, pool, cpus=None):
        """cpus: of the lcores (default: both), or a map of lcores to CPUs"""
        cpus = cpus or f"{self.control_cpu},{self.worker_cpu}"
        words = ["--lcores" if "@" in cpus else "-l", cpus, "--in-memory", "--no-pci",
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
        """Runs in a child before exec: permits all CPUs, raises its priority, and has it killed when this process ends
        for any reason."""
        libc = ctypes.CDLL(None)
        cpus = set(self.all_cpus)

        def prepare():
            os.sched_setaffinity(0, cpus)
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            try:
                os.setpriority(os.PRIO_PROCESS, 0, -20)
                if os.getsid(0) == os.getpid():  # otherwise the caller's autogroup would change permanently
                    with open("/proc/self/autogroup", "w", encoding="utf-8") as group:
                        group.write("-20")  # with autogroups, nice applies only within the group (sched(7))
            except OSError:
                pass  # each window records the worker's share of its core
        return prepare


def free_hugepages():
    try:
        with open(HUGEPAGES, encoding="utf-8") as file:
            return int(file.read())
    except OSError:
        return 0
