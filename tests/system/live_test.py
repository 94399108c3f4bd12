#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Workers, queues and ports change while generators offer half of the path's capacity; every frame has a sequence
number. A ring that overflows while its worker has no CPU is due to the machine, up to a fifth of
all frames; any other lost frame fails the test."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.dpdk_program import file_prefix, wait_for_hugepages  # noqa: E402
from lib.dut import BUILD, LONG, Turnpike  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import rewrite, settle  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
# Control and the second worker share a CPU: there may be no third. The rings hold 4,096 frames while a worker is late.
EAL = "--lcores=0@0,1@1,2@0 --no-pci --in-memory --file-prefix="
DESCRIPTORS = 4096
MAX_RING_LOSS = 0.2
WRONG = ("gen_duplicated", "gen_reordered", "gen_damaged", "gen_foreign")
FAULTS = ("fault_translation", "fault_descriptor", "fault_tail")


def port(name, rate, **more):
    number = "abcdef".index(name)
    return {"name": name, "device": f"net_simnic{number},wire=gen,l3flows=64,rate={rate}", "descriptors": DESCRIPTORS,
            **more}


class Patched:
    """A turnpike with cross-connects between pairs of generators, and their devices' counters."""

    def __init__(self, lab, names, rate, workers):
        wait_for_hugepages()
        prefix = file_prefix("live")
        ports = [port(name, rate) for name in names]
        self.dut = Turnpike(lab, lab.host("dut"), {
            "eal": {"args": EAL + prefix}, "workers": workers, "mempool": {"buffers": 65535},
            # Frames stay in the ring of a sleeping worker: simnic sends when it is polled.
            "idle": {"sleep_us": 0},
            "ports": ports, "xconnects": [list(pair) for pair in zip(names[::2], names[1::2])]})
        self.telemetry = Telemetry(prefix)

    def counts(self, names):
        """Counters by device; missing devices are left out."""
        out = {}
        for number in self.telemetry.ask("/ethdev/list"):
            about = self.telemetry.ask(f"/ethdev/info,{number}")
            name = "abcdef"[int(about["name"].removeprefix("net_simnic"))]
            if name in names:
                out[name] = self.telemetry.ask(f"/ethdev/xstats,{number}")
        return out

    def judge(self, names, what):
        """Stop, and print these ports' totals: offered, lost beyond full rings, wrong, lost to full rings."""
        settle(0.5)

        def refused():
            by_port = self.ask("drops")["ports"]
            return sum(by_port[name].get("tx_refused", 0) for name in names)

        def seen():
            """Totals while no frame is refused."""
            before, ports = refused(), self.counts(names).values()
            return (before, ports) if refused() == before else None

        # A device that is not polled for long refuses frames: its worker may not have had a CPU.
        full, ports = wait_until(seen, "no frame is refused for a moment")
        assert len(ports) == len(names)
        total = {key: sum(p.get(key, 0) for p in ports) for key in
                 ("gen_sent", "gen_lost", "rx_missed_errors", *WRONG, *FAULTS)}
        assert not any(total[key] for key in FAULTS), total
        full += total["rx_missed_errors"]
        report = self.stop()
        lost, wrong = total["gen_lost"] - full, sum(total[key] for key in WRONG)
        if wrong:
            print(f"# wrong: { {key: total[key] for key in WRONG if total[key]} }")
        print(f"# {what}: offered {total['gen_sent']}, lost {lost}, wrong {wrong} (full rings: {full})")
        return report, total["gen_sent"], lost, wrong, full

    @staticmethod
    def ask(what):
        done = subprocess.run([CTL, "--json", "show", what], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def stop(self):
        self.telemetry.close()
        return self.dut.stop()


_capacity = []


def half_rate(ports):
    """A port's share of half of the capacity of one worker here."""
    if not _capacity:
        with Lab() as lab:
            patched = Patched(lab, "ab", 0, [1])
            wait_until(lambda: sum(p["gen_received"] for p in patched.counts("ab").values()) > 0, "it forwards")
            before = sum(p["gen_received"] for p in patched.counts("ab").values())
            time.sleep(1)
            _capacity.append(sum(p["gen_received"] for p in patched.counts("ab").values()) - before)
            patched.stop()
        print(f"# one worker patches {_capacity[0]} packets a second")
    return _capacity[0] // 2 // ports


def change_workers(rate, times, pause):
    with Lab() as lab:
        patched = Patched(lab, "abcd", rate, [1, 2])
        settle(0.5)
        began = time.monotonic()
        for _ in range(times):
            for workers, polled_by in (([1], []), ([1, 2], []), ([2], []), ([1, 2], [1]), ([1, 2], [2])):
                def change(config, workers=workers, polled_by=polled_by):
                    config["workers"] = workers
                    for p in config["ports"][:2]:
                        p.pop("rx_workers", None)
                        if polled_by:
                            p["rx_workers"] = list(polled_by)
                said = rewrite(patched.dut, change)
                assert "changed" in said and "nothing" not in said, said
                settle(pause)
        took = time.monotonic() - began
        report, offered, lost, wrong, full = patched.judge(
            "abcd", f"{5 * times} changes of workers and queues in {took:.1f} s")
        assert lost == 0 and wrong == 0
        assert report["changes"] == 1 + 5 * times
        assert [(w["lcore"], w["forwards"]) for w in report["workers"]] == [(1, True), (2, True)]
        assert sum(w["packets"] for w in report["workers"]) == report["balance"]["rx"]
        assert set(report["drops"]) <= {"stopping", "tx_refused"}, report["drops"]
        return offered, full


def test_a_worker_is_taken_away_and_comes_back():
    """And its queues move: nothing is lost except in rings that overflow."""
    offered, full = change_workers(half_rate(4), 60 if LONG else 10, 0.02)
    assert full <= offered * MAX_RING_LOSS


def test_workers_change_while_rings_suffice():
    """So slow that no ring overflows although two workers and control share two CPUs: nothing is lost at all."""
    offered, full = change_workers(20_000, 40 if LONG else 8, 0.05)
    assert full == 0 and offered > 100_000


def test_a_port_is_removed_and_added():
    times = 100 if LONG else 50
    with Lab() as lab:
        patched = Patched(lab, "abcd", half_rate(4), [1])
        settle(0.5)
        kept = []

        def take_away(config):
            kept[:] = config["ports"][2:]
            del config["ports"][2:]
            del config["xconnects"][1:]

        def bring_back(config):
            config["ports"] += kept
            config["xconnects"].append(["c", "d"])

        began = time.monotonic()
        in_use = []
        for _ in range(times):
            assert "2 ports, 2 interfaces changed" in rewrite(patched.dut, take_away)
            assert list(patched.counts("cd")) == []
            in_use.append(patched.ask("memory")["mempool"]["in_use"])
            assert "2 ports, 2 interfaces changed" in rewrite(patched.dut, bring_back)
            wait_until(lambda: all(p["gen_received"] > 0 for p in patched.counts("cd").values()), "they forward")
        took = time.monotonic() - began
        print(f"# buffers in use without them: {in_use[0]} at first, {in_use[-1]} at last, {max(in_use)} at most")
        # Two full rings, frames waiting for TX and for freeing, and caches.
        assert max(in_use) <= 2 * 2 * DESCRIPTORS + 2048, in_use
        report, offered, lost, wrong, full = patched.judge(
            "ab", f"others, while two ports went and came {times} times in {took:.1f} s")
        assert lost == 0 and wrong == 0 and full <= offered * MAX_RING_LOSS
        assert report["changes"] == 1 + 2 * times
        assert set(report["drops"]) <= {"stopping", "tx_refused", "port_down"}, report["drops"]


def test_a_port_is_opened_anew_under_its_name():
    """With other queues, descriptors or arguments, in turns; other ports lose nothing."""
    times = 60 if LONG else 10
    with Lab() as lab:
        patched = Patched(lab, "abcd", half_rate(4), [1])
        settle(0.5)
        device = port("c", half_rate(4))["device"]
        forms = [{"rx_queues": 2}, {"descriptors": 2048}, {"device": device + ",seed=7"},
                 {"rx_queues": 4, "descriptors": 1024, "device": device + ",mac=02:00:00:00:0c:0c"}, {}]
        began = time.monotonic()
        for _ in range(times):
            for form in forms:
                def change(config, form=form):
                    for p in config["ports"][2:4]:
                        p["descriptors"], p["rx_queues"] = DESCRIPTORS, 1
                    config["ports"][2].update({"device": device, **form})
                assert "1 port changed" in rewrite(patched.dut, change)
                shown = next(p for p in patched.ask("ports")["ports"] if p["name"] == "c")
                assert all(shown[key] == value for key, value in form.items()), shown
                wait_until(lambda: all(p["gen_received"] > 0 for p in patched.counts("cd").values()), "they forward")
        took = time.monotonic() - began
        assert shown["mac"] != "02:00:00:00:0c:0c"
        report, offered, lost, wrong, full = patched.judge(
            "ab", f"others, while a port was opened anew {len(forms) * times} times in {took:.1f} s")
        assert lost == 0 and wrong == 0 and full <= offered * MAX_RING_LOSS
        assert report["changes"] == 1 + len(forms) * times
        assert set(report["drops"]) <= {"stopping", "tx_refused", "port_down"}, report["drops"]


def test_a_port_that_does_not_open_anew_is_opened_as_it_was():
    """A rule of the same change, which denies all frames of another port, is not in force meanwhile."""
    def edge(*rules):
        return [{"name": "edge", "default": "permit", "rules": [*rules, {"action": "permit", "protocol": "tcp"}]}]

    def bind(config):
        config["acl"] = edge()
        config["ports"][0]["acl"] = {"in": "edge"}

    with Lab() as lab:
        patched = Patched(lab, "abcd", half_rate(4), [1])
        assert "refused" not in rewrite(patched.dut, bind)
        settle(0.5)

        def sent(name):
            return patched.counts(name)[name]["gen_sent"]

        def to(**form):
            def change(config):
                config["ports"][2].update(form)
                config["acl"] = edge({"action": "deny"})
            return rewrite(patched.dut, change)

        right = port("c", half_rate(4))["device"]
        # Errors that can be checked ahead are: nothing is closed, and the generator continues.
        before = sent("c")
        said = to(rx_queues=9)
        assert "turnpike.yaml:" in said and "gives it 4 RX and 4 TX queues; 9 and 1" in said, said
        assert "reopened ports" not in said and sent("c") > before
        for wrong in ("profile=none", "queues=0", "wire=tap:" + "x" * 40):
            before = sent("c")
            said = to(rx_queues=1, device=f"net_simnic2,{wrong}")
            assert "net_simnic2" in said and "the running configuration stays, with reopened ports: 'c'" in said, said
            wait_until(lambda: 0 < sent("c"), "it is open")
            wait_until(lambda: all(p["gen_received"] > 0 for p in patched.counts("cd").values()), "they forward")
            shown = next(p for p in patched.ask("ports")["ports"] if p["name"] == "c")
            assert shown["device"] == right and shown["link"] == "up", shown
        report, _, lost, wrong, _ = patched.judge("ab", "others, while a port did not open")
        assert lost == 0 and wrong == 0 and report["changes"] == 2
        assert set(report["drops"]) <= {"stopping", "tx_refused", "port_down"}, report["drops"]


def test_ports_swap_their_devices():
    """Each needs the other's device."""
    with Lab() as lab:
        patched = Patched(lab, "abcd", half_rate(4), [1])
        settle(0.3)

        def swap(config):
            one, other = config["ports"][2:4]
            one["device"], other["device"] = other["device"], one["device"]

        for _ in range(3):
            assert "2 ports changed" in rewrite(patched.dut, swap)
            wait_until(lambda: all(p["gen_received"] > 0 for p in patched.counts("cd").values()), "they forward")
        shown = {p["name"]: p["device"].split(",")[0] for p in patched.ask("ports")["ports"] if "device" in p}
        assert shown["c"] == "net_simnic3" and shown["d"] == "net_simnic2", shown
        _, _, lost, wrong, _ = patched.judge("ab", "others, while two swapped devices")
        assert lost == 0 and wrong == 0


if __name__ == "__main__":
    tap.main(globals())
