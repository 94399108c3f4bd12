# SPDX-License-Identifier: BSD-3-Clause
"""Time windows of running forwarders, in turn, and their statistics."""
import statistics
import subprocess
import time

import grout_vpp
import guest
import ovs
import peers
import turnpike
import workloads
from machine import Unavailable
from process import START_S, wait_until

BUSY = {"turnpike": turnpike.busy_cycles, "testpmd": peers.busy_cycles, "ovs": ovs.busy_cycles}
STARTS = {"turnpike": turnpike.start, "testpmd": peers.start_testpmd, "l2fwd": peers.start_l2fwd,
          "l3fwd": peers.start_l3fwd, "ovs": ovs.start, "grout": grout_vpp.start_grout, "vpp": grout_vpp.start_vpp}
LINES = ("rd_cur", "itom", "rfo", "wil", "prd")
TLPS = ("mrd", "mwr", "cpld")
BYTES = ("up", "down")
SETTLE_S = 0.1  # refills caches after other forwarders used the core
LEAST_CORE_SHARE = 0.97  # repeat windows in which the worker had a smaller share of its core
MOST_LOST = 0.01


class Bench:
    """A run: the machine, its folder, its inputs, and the number and duration of windows."""

    def __init__(self, machine, folder, options, tsc_hz, sizes):
        self.machine, self.folder, self.options = machine, folder, options
        self.tsc_hz, self.sizes = tsc_hz, sizes
        self.examples = peers.Examples(folder)


def stolen_ns(cpu):
    """Steal time of this CPU."""
    with open("/proc/stat", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == f"cpu{cpu}":
                return int(words[8]) * 10_000_000
    return 0


def measure_window(bench, forwarder, case):
    """One window: {cpp, mpps, lost, share, engine, per packet counts}."""
    forwarder.before_window()
    time.sleep(SETTLE_S)
    cpu = bench.machine.worker_cpu
    ran, stolen, start = forwarder.ran_ns(), stolen_ns(cpu), time.monotonic()
    before = forwarder.counts()
    time.sleep(bench.options.seconds)
    passed, ran = time.monotonic() - start, forwarder.ran_ns() - ran
    # Read the ports in the same order both times, so that the delay of reading cancels out.
    after = forwarder.counts()
    grown = {key: sum(b.get(key, 0) - a.get(key, 0) for a, b in zip(before, after)) for key in after[0] | after[-1]}
    return evaluate(grown, passed, bench.tsc_hz, (ran - (stolen_ns(cpu) - stolen)) / (passed * 1e9), after,
                    case.workload.numbers.get("copies", 1), forwarder.workers)


def evaluate(grown, passed, tsc_hz, share, ports, copies, workers):
    """copies: number of packets sent per received packet."""
    packets = grown["tx_good_packets"]
    if packets == 0:
        raise Unavailable("forwarded nothing in a window")
    sent = copies * (grown.get("gen_sent", 0) + grown.get("pcap_sent", 0))
    # A sink has no counters.
    back = packets if any(not {"gen_sent", "pcap_sent"} & p.keys() for p in ports) else \
        grown.get("gen_received", 0) + grown.get("pcap_received", 0)
    return {"cpp": (workers * tsc_hz * passed - grown["engine_cycles"]) / packets, "mpps": packets / passed / 1e6,
            "engine": grown["engine_cycles"] / packets, "lost": max(0.0, 1 - back / sent) if sent else 1.0,
            "share": share,
            **{f"lines_{k}": grown.get(f"pcie_lines_{k}", 0) / packets for k in LINES},
            **{f"tlps_{k}": grown.get(f"pcie_tlps_{k}", 0) / packets for k in TLPS},
            **{f"bytes_{k}": grown.get(f"pcie_bytes_{k}", 0) / packets for k in BYTES}}


class Outcome:
    """Result of one case: its windows, or the reason that there are none."""

    def __init__(self, case):
        self.case, self.windows, self.why, self.busy, self.note = case, [], None, [], None

    @property
    def undisturbed(self):
        return sum(w["share"] >= LEAST_CORE_SHARE for w in self.windows)

    @property
    def quiet(self):
        """The windows in which the worker had its core; all windows if fewer than half are such."""
        good = [w for w in self.windows if w["share"] >= LEAST_CORE_SHARE]
        return good if len(good) * 2 > len(self.windows) else self.windows

    def median(self, key):
        return statistics.median(w[key] for w in self.quiet)

    def least(self, key):
        return min(w[key] for w in self.quiet)

    def cycles(self):
        """Cycles per packet that are compared: with a guest, which may be slower than the forwarder, the busy ones."""
        return statistics.median(self.busy) if self.case.workload.guest else self.median("cpp")


def start(bench, case, rate_pps=0):
    forwarder = STARTS[case.forwarder](bench, case, rate_pps)
    try:
        if case.workload.guest:
            forwarder.guest = guest.start(bench, case, forwarder, rate_pps)
        # Each address at each port is a flow, whose first packets a learning switch processes in its slow path.
        flows, teller = case.workload.numbers.get("l2flows", 0), workloads.teller(case)
        forwarder.wait_until_it_forwards(4 * flows)
        if teller is not None:
            wait_until(lambda: forwarder.counts()[teller].get("rx_good_packets", 0) > 2 * flows, "all addresses learnt", START_S)
    except BaseException:
        forwarder.stop()
        raise
    return forwarder


# Failures of a forwarder or its tools.
FAILURES = (Unavailable, OSError, subprocess.SubprocessError, ValueError, KeyError, ZeroDivisionError)


def explain(why):
    return str(why) if isinstance(why, Unavailable) else f"{type(why).__name__}: {why}"


def start_all(bench, outcomes, running):
    """Starts a group, adds started forwarders to `running`, and stops them (SIGSTOP) if there are several."""
    for outcome in outcomes:
        try:
            forwarder = running[outcome] = start(bench, outcome.case)
            outcome.note = forwarder.note
            if len(outcomes) > 1:
                forwarder.pause()
        except FAILURES as why:
            outcome.why = explain(why)


def measure_turn(bench, outcome, forwarder, pauses):
    """Ends a forwarder that failed, which frees the core."""
    try:
        if pauses:
            forwarder.resume()
        outcome.windows.append(measure_window(bench, forwarder, outcome.case))
        if pauses:
            forwarder.pause()
    except FAILURES as why:
        outcome.why = explain(why)
        forwarder.stop()


def by_turns(bench, outcomes):
    """Runs all forwarders of a group; one is continued at a time, the others are stopped."""
    running = {}
    try:
        start_all(bench, outcomes, running)
        wanted = {o: o.undisturbed + bench.options.rounds for o in running}
        for number in range(2 * bench.options.rounds):
            turn = list(running)
            first = number % len(turn) if turn else 0
            for o in turn[first:] + turn[:first]:
                if not o.why and o.undisturbed < wanted[o]:
                    measure_turn(bench, o, running[o], len(outcomes) > 1)
    finally:
        for forwarder in running.values():
            forwarder.stop()


def alone(bench, outcome, rate_pps=0, windows=1):
    """Starts one forwarder per window: a generator with a rate would send a burst after a pause, and busy cycles are of a
    forwarder without pauses."""
    guest = outcome.case.workload.guest
    for _ in range(windows):
        try:
            with start(bench, outcome.case, rate_pps) as forwarder:
                window = measure_window(bench, forwarder, outcome.case)
                if rate_pps or guest:
                    outcome.windows.append(window)
                if guest or (outcome.case.ours and not rate_pps):
                    outcome.busy.append(BUSY[outcome.case.forwarder](forwarder))
        except FAILURES as why:
            outcome.why = outcome.why or explain(why)
            return


def measure_group(bench, cases, seen):
    """Outcomes of the cases. seen: earlier outcomes, for cases at half their rate."""
    outcomes = [Outcome(case) for case in cases]
    full = [o for o in outcomes if o.case.condition.load == 1]
    if full and cases[0].workload.guest:
        for _ in range(bench.options.sittings * bench.options.rounds):
            for o in full:
                if not o.why:
                    alone(bench, o)
    elif full:
        for _ in range(bench.options.sittings * cases[0].workload.times):
            by_turns(bench, [o for o in full if o.case.takes_turns and not o.why])
            for o in full:
                if not o.case.takes_turns and not o.why:
                    by_turns(bench, [o])
        for o in full:
            if o.case.ours and o.windows:
                alone(bench, o, windows=bench.options.sittings)
    for o in outcomes:
        if o in full:
            continue
        base = seen.get(o.case.at(load=1.0).name)
        if base is None or base.why:
            o.why = base.why if base else "its full rate was not measured"
            continue
        ports = 1 if o.case.workload.wire.endswith("-one-way") else 2 * workloads.workers_of(o.case)
        rate = o.case.condition.load * base.median("mpps") * 1e6 / ports
        alone(bench, o, rate, max(5, bench.options.rounds))
    for o in outcomes:
        if not o.why and o.median("lost") > MOST_LOST:
            o.why = f"lost {o.median('lost') * 100:.1f} % of the received packets"
    return outcomes
