#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long runs: a hundred polls of every subject per second cost workers almost nothing and no packet,
and memory does not grow over a million changes."""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import machine, tap  # noqa: E402
from lib.build import SANITIZED  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import LONG  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from live_test import WRONG, Patched  # noqa: E402
from steer_test import Nothing, Steered, lines_of, some_prefixes  # noqa: E402

HZ, SUBJECTS, ELSEWHERE = 100, ("ports", "drops", "cost"), "config"
NOT_ALONE = "other processes use the CPUs, too"  # tests/expected.txt allows this reason


def sample(operator, seconds):
    """Poll each of the subjects at this rate. Returns how many were shown, and the time of a round."""
    begin, shown, took = time.monotonic(), 0, 0
    while (now := time.monotonic()) < begin + seconds:
        for what in SUBJECTS:
            operator.show(what)
        took += time.monotonic() - now
        shown += len(SUBJECTS)
        time.sleep(max(0, begin + shown / len(SUBJECTS) / HZ - time.monotonic()))
    return shown, took * len(SUBJECTS) / shown


def look_elsewhere(operator, seconds, took):
    """Keep control, and this program, as busy as sample() does, with subjects that no worker writes."""
    begin, rounds = time.monotonic(), 0
    while (now := time.monotonic()) < begin + seconds:
        while time.monotonic() < now + took:
            operator.show(ELSEWHERE)
        rounds += 1
        time.sleep(max(0, begin + rounds / HZ - time.monotonic()))


def test_looking_loses_nothing_and_costs_next_to_nothing():
    """Cycles per packet of a worker that is always busy, in alternating windows: an operator polls data that the worker
    writes, or, for as long, other data. (A neighbour on the core or cache slows the worker in either window.) Other load on
    the machine only adds to some windows, so the cheaper ones are compared; without quiet windows the cost of
    polling is not judged."""
    windows, seconds, most, enough = (100, 0.2, 1.01, 40) if LONG else (12, 0.2, 1.05, 6)
    with Lab() as lab:
        patched = Patched(lab, "ab", 0, [1])
        wait_until(lambda: all(p["gen_received"] > 0 for p in patched.counts("ab").values()), "they forward")
        operator = Operator("/run/turnpike/control.sock", 60)
        _, took = sample(operator, seconds)

        def cycles_a_packet(looks):
            """None: another process had the CPU of the worker or of control."""
            def counted():
                worker = operator.show("report")["workers"][0]
                return worker["busy_cycles"], worker["packets"]
            nonlocal took
            before, late = counted(), False
            if looks:
                shown, took = sample(operator, seconds)
                late = shown < 0.8 * HZ * len(SUBJECTS) * seconds
            else:
                look_elsewhere(operator, seconds, took)
            busy, packets = (now - was for now, was in zip(counted(), before))
            return None if late or packets == 0 else busy / packets

        def ratio():
            """The ratio of one set of windows; None: other processes had the CPUs, or equal windows differ too much."""
            costs = {False: [], True: []}
            for n in range(2 * windows):
                cost = cycles_a_packet(n % 2 == 1)
                if cost is not None:
                    costs[n % 2 == 1].append(cost)
            if min(map(len, costs.values())) < enough:
                return None
            quiet = {looks: sorted(some)[:max(1, len(some) // 5)] for looks, some in costs.items()}
            without, with_it = (statistics.median(quiet[looks]) for looks in (False, True))
            print(f"# a packet costs {with_it:.1f} cycles looked at {HZ} times a second, {without:.1f} else: {with_it / without:.4f}")
            # Both kinds separately: the cost of polling is in all of its windows.
            return None if any(max(some) > 1.1 * min(some) for some in quiet.values()) else with_it / without

        # Polling costs its cycles in each set, a neighbour in some.
        least = None
        for _ in range(1 if LONG else 4):
            one = ratio()
            least = min((r for r in (least, one) if r is not None), default=None)
            if least is not None and least < most:
                break
        total = {key: sum(p[key] for p in patched.counts("ab").values()) for key in ("gen_lost", *WRONG)}
        operator.close()
        report = patched.stop()
        assert not any(total.values()) and set(report["drops"]) <= {"stopping"}, (total, report["drops"])
        if least is None:
            tap.skip(f"{NOT_ALONE}: the cost of polling cannot be measured")
        machine.judge(least < most, f"a packet costs {least:.3f} as much while the operator looks")


def test_memory_after_many_changes():
    """Routes are added, deleted, moved and rolled back; lists and addresses change between them."""
    routes, each = (1000, 1000) if LONG else (100, 400)  # changes of routes: requests, lines of each
    with Lab() as lab:
        s = Steered(lab)
        prefixes = [some_prefixes(each, seed) for seed in range(5)]

        def resident_kb():
            with open(f"/proc/{s.turnpike.process.pid}/status", encoding="utf-8") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

        def used():
            """Memory of the process, of EAL's heap, and of the tables, after pending deferred frees."""
            time.sleep(0.1)
            memory = s.operator.show("memory")
            return {"resident_kb": resident_kb(), "heap": s.telemetry.ask("/eal/heap_info,0")["Alloc_size"],
                    "fib4": memory["fib4"]["live_bytes"], "next_hops": memory["next_hops"]["in_use"]}

        def change(n):
            chosen = prefixes[n % len(prefixes)]
            s.operator.result("routes", lines=lines_of("add", chosen))
            s.operator.result("routes", lines=lines_of("replace", chosen, port=1))
            if n % 10 == 0:
                s.operator.result("rollback")
            rule = {"list": "l", "rule": {"action": "count", "protocol": n % 250}}
            s.operator.result("change", do=[{"add": {"acl": {"name": "l", "default": "permit", "rules": []}}},
                                            {"add": {"rule": rule}}, {"replace": {"port": {"name": "p2", "acl": {"in": "l"}}}},
                                            {"add": {"address": {"port": "p2", "address": f"10.77.{n % 250}.1/24"}}}])
            s.operator.result("change", do=[{"replace": {"port": {"name": "p2", "acl": {"in": None}}}}, {"del": {"acl": {"name": "l"}}},
                                            {"del": {"address": {"port": "p2", "address": f"10.77.{n % 250}.1/24"}}}])
            s.operator.result("routes", lines=lines_of("del", chosen))

        requests = routes // 3
        with Nothing(s, f"{3 * requests * each} changes of routes"):
            began = time.monotonic()
            for n in range(requests // 5):
                change(n)
            early = used()
            for n in range(requests // 5, requests):
                change(n)
            took = time.monotonic() - began
        late = used()
        print(f"# in {took:.1f} s; a fifth of the way {early}, at the end {late}")
        s.stop()
        assert late["fib4"] == early["fib4"] and late["next_hops"] == early["next_hops"]
        # ASan keeps freed memory for a while (quarantine_size_mb).
        assert SANITIZED or late["resident_kb"] <= early["resident_kb"] + 2048, (early, late)
        assert late["heap"] <= early["heap"] + 262144, (early, late)


if __name__ == "__main__":
    tap.main(globals())
