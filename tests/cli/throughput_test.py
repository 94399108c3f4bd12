#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike-throughput's results as a user looks at them: tables, comparison and page. throughput_test.py PROGRAM [TEST...]"""
import copy
import html
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)


def counts(sent, lost=0):
    return {"sent": sent, "received": sent - lost, "lost": lost, "duplicated": 0, "reordered": 0, "damaged": 0}


def trial(procedure, load, lost=0, sent=100000):
    return {"procedure": procedure, "load_fps": load, "loss_ratio": lost / sent, "frames": counts(sent, lost), "counts": True}


def latency(percent, scale=1.0):
    row = {key + "_us": scale * us for key, us in {"min": 5, "mean": 9, "p50": 8, "p90": 12, "p99": 30, "p99_9": 90, "max": 200}.items()}
    return {**row, "pdv_us": scale * 85, "percent": percent, "load_fps": percent * 1e4, "counts": True}


def result():
    """A complete result with every procedure."""
    binary = {"size": "64", "mean_bytes": 64, "line_rate_fps": 1488095.2, "max_rate_fps": 1e6,
              "throughput": {"method": "rfc2544", "throughput_fps": 500000.0, "failed_fps": 505000.0, "sender_limited": False,
                             "complete": True},
              "trials": [trial("throughput", 1e6, 900), trial("throughput", 5e5), trial("frame loss rate", 1e6, 1000)],
              "latency": [latency(50), latency(100)],
              "frame_loss": [{"percent": 100, "load_fps": 1e6, "loss_ratio": 0.01, "counts": True}],
              "back_to_back": {"repeats": 9, "mean_frames": 100.0, "min_frames": 97, "max_frames": 103, "deviation_frames": 2.0,
                               "buffer_frames": 90.0, "implied_buffer_us": 70.0, "corrected_buffer_us": 63.2, "limited": False, "complete": True}}
    goal = {"name": "ndr", "conditional_throughput_fps": 80000.0, "relevant_lower_bound_fps": 80000.0,
            "relevant_upper_bound_fps": 80400.0, "regular": True, "irregularity": None}
    mlr = {"size": "imix", "mean_bytes": 362, "line_rate_fps": 330000.0, "max_rate_fps": 3e5,
           "throughput": {"method": "mlrsearch", "goals": [goal], "complete": True}, "trials": [trial("throughput", 8e4)]}
    return {"schema": "turnpike.throughput/1", "version": "1", "name": "a <device>", "complete": True, "stopped": None,
            "kind": "functional rate", "setup": "one machine", "host": {"cpu": "x", "cpus": 2, "tsc_hz": 1},
            "ports": [{"name": n, "device": d, "driver": "net_ring", "mac": "02:00:00:00:00:01", "link_mbps": 1000}
                      for n, d in (("left", "a"), ("right", "b"))],
            "traffic": {"flows": 50}, "trial": {"tolerance": 0.001}, "sizes": [binary, mlr]}


def run(*words, files=()):
    """With files of the given contents as the last arguments: the process."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        paths = []
        for number, content in enumerate(files):
            paths.append(os.path.join(folder, f"{number}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(content if isinstance(content, str) else json.dumps(content))
        return subprocess.run([PROGRAM, *words, *paths], capture_output=True, text=True, check=False, timeout=60)


def rows(a, b):
    """{(size, figure): row}"""
    done = run("--json", "--compare", files=(a, b))
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)
    assert compared["schema"] == "turnpike.throughput-comparison/1"
    return {(r["size"], r["figure"]): r for r in compared["rows"]}, compared


def test_equal_results_are_the_same():
    found, compared = rows(result(), result())
    assert len(found) == 10 and all(r["verdict"] == "same" and r["change"] == 0 for r in found.values()), found
    assert not compared["differs"] and not compared["missing"], compared


def test_a_change_within_the_search_s_interval_is_none():
    later = result()
    for throughput, failed, verdict in ((509000, 514000, "same"), (511000, 516000, "more"), (480000, 485000, "less")):
        later["sizes"][0]["throughput"].update(throughput_fps=throughput, failed_fps=failed)
        row = rows(result(), later)[0]["64", "throughput"]
        assert row["verdict"] == verdict and abs(row["change"] - (throughput / 5e5 - 1)) < 1e-9, row
        assert abs(row["noise"] - 0.02) < 1e-9, row
    for goal, verdict in ((80700.0, "same"), (81000.0, "more")):
        later["sizes"][1]["throughput"]["goals"][0].update(
            conditional_throughput_fps=goal, relevant_lower_bound_fps=goal, relevant_upper_bound_fps=goal + 400)
        assert rows(result(), later)[0]["imix", "ndr conditional throughput"]["verdict"] == verdict


def test_noise_of_loss_and_bursts_is_that_of_their_trials():
    later = result()
    # 1 % of 100,000 frames: a standard deviation of 0.0315 %.
    for percent, verdict in ((1.15, "same"), (1.25, "more"), (0.75, "less")):
        later["sizes"][0]["frame_loss"][0]["loss_ratio"] = percent / 100
        assert rows(result(), later)[0]["64", "frame loss at 100 %"]["verdict"] == verdict, percent
    for frames, verdict in ((103.5, "same"), (105.0, "more")):
        later["sizes"][0]["back_to_back"]["mean_frames"] = frames
        assert rows(result(), later)[0]["64", "back-to-back"]["verdict"] == verdict, frames
    # Attempts whose rate was missed come before the trial of the figure.
    first, later = result(), result()
    first["sizes"][0]["trials"] = later["sizes"][0]["trials"] = [*[trial("frame loss rate", 1e6, 900, sent=10**7)] * 8, trial("frame loss rate", 1e6, 1000)]
    later["sizes"][0]["frame_loss"][0]["loss_ratio"] = 0.0115
    row = rows(first, later)[0]["64", "frame loss at 100 %"]
    assert row["verdict"] == "same" and 0.18 < row["noise"] < 0.2, row


def test_figures_that_do_not_count_have_no_verdict():
    for name in ("latency", "frame_loss", "back_to_back"):
        later = result()
        measured = later["sizes"][0][name]
        (measured if name == "back_to_back" else measured[0])["counts"] = False
        found = rows(result(), later)[0]
        unknown = {figure for (_, figure), row in found.items() if row["verdict"] == "unknown"}
        assert unknown and all(figure.startswith(name.replace("_", "-" if name == "back_to_back" else " ")) for figure in unknown), unknown
        assert all(row["noise"] is None for row in found.values() if row["verdict"] == "unknown"), found


def test_latency_of_one_trial_has_no_known_noise():
    later = result()
    later["sizes"][0]["latency"] = [latency(50, 1.5), latency(100)]
    found = rows(result(), later)[0]
    assert found["64", "latency p50 at 50 %"]["verdict"] == "unknown" and found["64", "latency p50 at 50 %"]["change"] == 0.5
    assert found["64", "latency p99 at 100 %"]["verdict"] == "same"


def test_setups_and_figures_that_differ_are_named():
    later = result()
    later["traffic"]["flows"] = 100
    later["ports"][1]["driver"] = "net_memif"
    del later["sizes"][1]
    done = run("--compare", files=(result(), later))
    assert done.returncode == 0, done.stderr
    assert "the setups differ: traffic.flows: 50, 100" in done.stdout and 'ports[1].driver: "net_ring", "net_memif"' in done.stdout
    assert "imix ndr conditional throughput: not in the second file" in done.stdout, done.stdout


def test_conditions_that_differ_are_named():
    """The rate, the trials, the goals and the latency of two results differ."""
    def with_conditions(rate, seconds, ppm, source, method, burst):
        one = result()
        first, second = one["sizes"]
        first.update(max_rate_fps=rate)
        first["throughput"].update(loss_ratio=ppm / 1e6, trial_s=seconds, trials_per_load=1)
        first["trials"] += [{**trial(procedure, 1e6), "duration_s": seconds} for procedure in ("latency", "frame loss rate")]
        first["back_to_back"]["max_burst_frames"] = burst
        second["throughput"]["goals"][0].update(goal_loss_ratio=ppm / 1e6, goal_exceed_ratio=ppm / 1e5,
                                                goal_final_trial_duration_s=seconds, goal_duration_sum_s=2 * seconds)
        one["ports"][1]["rx_timestamps"] = source
        one["tester_latency"] = {"method": method}
        return one
    a = with_conditions(1e6, 1.5, 0, "software", "not measured", 100)
    assert not rows(a, copy.deepcopy(a))[1]["differs"]
    # Another release's result, without the members.
    assert not rows(a, result())[1]["differs"] and not rows(result(), a)[1]["differs"]
    differs = rows(a, with_conditions(2e6, 3.0, 5, "hardware", "subtracted", 200))[1]["differs"]
    for one in ("64 rate.max: 1000000.0, 2000000.0", "64 throughput.loss_ratio: 0.0, 5e-06", "64 throughput.trial_s: 1.5, 3.0",
                "64 latency.duration_s: 1.5, 3.0", "64 frame loss rate.duration_s: 1.5, 3.0", "64 back_to_back.max_burst_frames: 100, 200",
                "imix ndr.goal_loss_ratio: 0.0, 5e-06", "imix ndr.goal_exceed_ratio: 0.0, 5e-05",
                "imix ndr.goal_final_trial_duration_s: 1.5, 3.0", "imix ndr.goal_duration_sum_s: 3.0, 6.0",
                'ports[1].rx_timestamps: "software", "hardware"', 'tester_latency.method: "not measured", "subtracted"'):
        assert one in differs, (one, differs)
    assert len(differs) == 12, differs


def test_figures_under_other_conditions_have_no_verdict():
    later = result()
    later["sizes"][0]["frame_loss"][0].update(load_fps=2e6, loss_ratio=0.5)
    row = rows(result(), later)[0]["64", "frame loss at 100 %"]
    assert (row["verdict"], row["why"], row["noise"]) == ("unknown", "another load", None), row
    for first, second in ((True, False), (False, True), (True, True)):
        one, later = result(), result()
        one["sizes"][0]["back_to_back"]["limited"], later["sizes"][0]["back_to_back"]["limited"] = first, second
        row = rows(one, later)[0]["64", "back-to-back"]
        assert (row["verdict"], row["why"], row["noise"]) == ("unknown", "limited by max_frames", None), row
    assert "unknown: limited by max_frames\n" in run("--compare", files=(one, later)).stdout


def test_equal_lower_bounds_are_not_the_same():
    """The sender limited both searches, or one of them: the device's throughputs are not known."""
    limited = result()
    limited["sizes"][0]["throughput"].update(sender_limited=True, failed_fps=None)
    goal = limited["sizes"][1]["throughput"]["goals"][0]
    goal.update(regular=False, irregularity="max_load_lower", relevant_upper_bound_fps=None)
    for one, other in ((limited, limited), (limited, result()), (result(), limited)):
        found = rows(one, other)[0]
        for key, why in ((("64", "throughput"), "limited by the sender"),
                         (("imix", "ndr conditional throughput"), "irregular: max_load_lower")):
            row = found[key]
            assert (row["verdict"], row["why"], row["noise"]) == ("unknown", why, None), row
    # A load above failed: intervals that do not overlap have a verdict.
    limited["sizes"][0]["throughput"].update(failed_fps=700000.0)
    for throughput, failed, verdict, why in ((500000, 505000, "unknown", "limited by the sender"), (710000, 715000, "more", None)):
        later = result()
        later["sizes"][0]["throughput"].update(throughput_fps=throughput, failed_fps=failed)
        row = rows(limited, later)[0]["64", "throughput"]
        assert (row["verdict"], row["why"]) == (verdict, why), row


class Nesting(html.parser.HTMLParser):
    ALONE = {"meta", "link"}

    def __init__(self, page):
        super().__init__()
        self.open, self.outside = [], []
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.outside += [value for name, value in attrs if name in ("src", "href") and not value.startswith("data:")]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.open)


def page_of(content):
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "page.html")
        done = run("--html", path, "--result", files=(content,))
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            return file.read()


def test_the_page_stands_alone_and_names_its_setup_first():
    page = page_of(result())
    assert not Nesting(page).outside and "<script" not in page
    body = page[page.index("<body>"):]
    assert body.index("functional rate") < body.index("one machine") < body.index("a &lt;device&gt;") < body.index("64 bytes")
    for part in ("line rate", "RFC 2544 throughput", "ndr, conditional throughput", "500 k", "80.0 k", "1.49 M", "Frame loss rate",
                 "at 50 % of the throughput", "99.9 %", "no frame lost", "net_ring", "Latency, in microseconds", "85.0",
                 "Back-to-back frames", "100.0", "90.0", "63.2"):
        assert part in body, part
    assert body.count("<circle") == 3 + 1 + 2 * 5, "trials, loads with loss, percentiles"
    stopped = result()
    stopped.update(complete=False, stopped="stopped", sizes=[])
    assert "not complete: stopped" in page_of(stopped)


def test_back_to_back_frames_that_do_not_count():
    """The tester did not send a longer burst: the table and the page name it. An earlier release's result has no mark."""
    for counts in (None, True, False):
        one = result()
        if counts is not None:
            one["sizes"][0]["back_to_back"]["counts"] = counts
        done = run("--result", files=(one,))
        assert done.returncode == 0 and ("  does not count\n" in done.stdout) == (counts is False), (counts, done.stdout)
        assert ("9, does not count" in page_of(one)) == (counts is False), counts
    # Without a throughput the buffer is not known.
    one["sizes"][0]["back_to_back"].update(buffer_frames=None, corrected_buffer_us=None)
    done = run("--result", files=(one,))
    assert done.returncode == 0 and re.search(r" 103 +- +-  does not count\n", done.stdout) and "<td" in page_of(one), (done.stdout, done.stderr)


def recovery(*results):
    """A system recovery of trials (ms, whether the trial counts)."""
    return {"overload_fps": 1e6, "then_fps": 5e5, "overload_s": 1, "mean_ms": 12.0, "min_ms": 12.0, "max_ms": 12.0, "complete": True,
            "results": [{"recovery_ms": ms, "overloaded": True, "recovered": True, "counts": counted} for ms, counted in results]}


def test_the_page_marks_figures_that_do_not_count():
    one = result()
    size = one["sizes"][0]
    size["latency"][1]["counts"] = False
    size["frame_loss"] += [{"percent": 90, "load_fps": 9e5, "loss_ratio": 0.3, "counts": False}]
    size["system_recovery"] = recovery((12, True), (700, False))
    page = page_of(one)
    for mark in ("at 100 % of the throughput, does not count", "100 %, does not count<", "64 bytes, does not count<", "700.000 (does not count)<"):
        assert mark in page, mark
        assert mark not in page_of(result()), mark
    # The line of the loss has one of its two points.
    assert page.count("<polyline") == page_of(result()).count("<polyline"), page


def test_recoveries_without_an_overload_are_named():
    """RFC 2544 section 26.5 overloads the device: a trial that lost no frame has the time 0, and measured no recovery."""
    one = result()
    one["sizes"][0]["system_recovery"] = recovery((12, True), (0, True), (0, True))
    remark = "not overloaded: 2 of 3 trials"
    assert remark not in run("--result", files=(one,)).stdout and remark not in page_of(one)
    for row in one["sizes"][0]["system_recovery"]["results"][1:]:
        row["overloaded"] = False
    done = run("--result", files=(one,))
    assert f"12.000  {remark}\n" in done.stdout and f"12.000, 0.000, 0.000; {remark}<" in page_of(one), done.stdout


def test_the_page_names_throughputs_that_are_not_the_device_s():
    one = result()
    assert "limited by the sender" not in page_of(one) and "irregular" not in page_of(one)
    one["sizes"][0]["throughput"]["sender_limited"] = True
    one["sizes"][1]["throughput"]["goals"][0].update(regular=False, irregularity="max_load_lower")
    page = page_of(one)
    table = run("--result", files=(one,)).stdout
    for remark, where in (("limited by the sender", "64 bytes, RFC 2544 throughput: "), ("irregular: max_load_lower", "IMIX, ndr: ")):
        assert where + remark + "<" in page and f"  {remark}\n" in table, (remark, table)


def test_a_latency_of_no_frame_is_none():
    one = result()
    lost = one["sizes"][0]["latency"][1]
    lost.update({key: None for key in lost if key.endswith("_us")}, frames=0, loss_ratio=1.0)
    one["sizes"][0]["latency"][0].update(frames=990, loss_ratio=0.01)
    done = run("--result", files=(one,))
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["64", "100", "%", "1.000000", *["-"] * 9, "no", "frame", "arrived"] in lines, done.stdout
    assert ["64", "50", "%", "0.500000", "5.0"] in [line[:5] for line in lines] and "  1 % lost\n" in done.stdout, done.stdout
    page = page_of(one)
    assert "100 %, no frame arrived<" in page and "50 %, 1 % lost<" in page and "at 100 % of the throughput" not in page, page
    found, compared = rows(result(), one)
    assert ("64", "latency p50 at 50 %") in found and "64 latency p50 at 100 %: not in the second file" in compared["missing"], compared


def test_a_file_that_cannot_be_written_loses_nothing_else():
    """The tables, and the other file."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        page = os.path.join(folder, "page.html")
        for words, said in ((("--output", "/dev/full", "--html", page), "/dev/full: cannot be written (No space left"),
                            (("--output", "/nonexistent/x", "--html", page), "/nonexistent/x: cannot be written"),
                            (("--html", "/dev/full", "--output", page), "/dev/full: cannot be written")):
            done = run(*words, "--result", files=(result(),))
            assert done.returncode in (1, 2) and said in done.stderr and "rfc2544" in done.stdout, (words, done)
            assert os.path.getsize(page) > 1000, words
            os.unlink(page)
    done = run("--output", "/dev/full", "--compare", files=(result(), result()))
    assert done.returncode == 1 and "back-to-back" in done.stdout, done


def test_standard_output_that_cannot_be_written():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, open("/dev/full", "w", encoding="utf-8") as full:
        json.dump(result(), file)
        file.flush()
        for words in ((), ("--json",)):
            done = subprocess.run([PROGRAM, *words, "--result", file.name], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=60)
            assert done.returncode == 1 and "standard output: cannot be written (No space left" in done.stderr, done


def test_an_earlier_result_is_shown_as_tables():
    done = run("--result", files=(result(),))
    assert done.returncode == 0 and "rfc2544" in done.stdout and "0.500000" in done.stdout, (done.stdout, done.stderr)
    assert re.search(r" 100 % +1\.000000 .* 200\.0 +85\.0 +-\n", done.stdout), done.stdout


def scaled(*sizes):
    """turnpike.throughput-scale/1 of steps whose only size has these figures: throughput, speedup, reason for a lower bound."""
    names = ("one", "two", "four")
    return {"schema": "turnpike.throughput-scale/1", "version": "1", "name": "x", "complete": True, "stopped": None, "unit": "workers",
            "steps": [{"name": name, "units": 2**i, "complete": True, "result": result(), "why": None, "cpp": 50, "ipp": 90, "ipc": 1.8,
                       "sizes": [{"size": "64", "throughput_fps": fps, "speedup": speedup, "efficiency": speedup and speedup / 2**i,
                                  "at_least": bool(why) and "first" not in why, "why": why}]}
                      for i, (name, (fps, speedup, why)) in enumerate(zip(names, sizes))]}


def test_speedups_of_lower_bounds_are_marked():
    limited = "limited by the sender"
    one = scaled((1e6, 1, None), (1.9e6, 1.9, None), (2.6e6, 2.6, limited))
    done = run("--result", files=(one,))
    assert done.returncode == 0, done.stderr
    lines = [re.split("  +", line.strip()) for line in done.stdout.splitlines()]
    assert ["two", "2", "64", "1.900000", "1.90", "0.95", "50", "90", "1.80"] in lines, done.stdout
    assert ["four", "4", "64", ">= 2.600000", ">= 2.60", ">= 0.65", "50", "90", "1.80"] in lines, done.stdout
    note = ">= (a lower bound), limited by the sender: four (64)"
    page = page_of(one)
    assert f"\n{note}\n" in done.stdout and html.escape(note) in page and "64 bytes, at least<" in page, page
    assert page.count("&gt;= 2.60") == 2, page  # Mfps and speedup
    # A ratio to a lower bound is none.
    base = "the first step's throughput is a lower bound"
    one = scaled((1e6, None, limited), (1.9e6, None, base))
    done = run("--result", files=(one,))
    assert re.search(r"two +2 +64 +1\.900000 +- +- ", done.stdout) and f"\nno speedup, {base}: two (64)\n" in done.stdout, done.stdout
    assert "Speedup over" not in page_of(one)


# Table 4 (2.2 GHz) and table 5 (3.2 GHz) of the paper: Mpps, instructions per packet and per cycle, cycles per packet, each
# without and with SMT.
TABLES = {2200: {"DPDK-Testpmd L2 Loop": ((34.6, 92, 1.4, 64), (44.9, 97, 2.0, 49)),
                 "VPP IPv4 Routing": ((10.5, 496, 2.4, 210), (12.2, 499, 2.8, 180))},
          3200: {"DPDK-Testpmd L2 Loop": ((47.0, 92, 1.4, 68), (63.8, 96, 1.9, 50)),
                 "VPP IPv4 Routing": ((15.1, 494, 2.3, 212), (17.8, 497, 2.8, 180))}}


def paper_step(workload, cores, smt, mhz, mpps, ipp=None, ipc=None, why="no report"):
    """A step of turnpike.throughput-paper/1 by the paper's method; without a throughput it was not performed."""
    run_of = {**result(), "traffic": {"flows_by": "ip", "ip": 4, "flows": 62500, "both_ways": False}}
    size = {"size": "64", "throughput": {"method": "rfc2544", "trial_s": 20, "trials_per_load": 8, "loss_ratio": 0.000099,
                                         "resolution_fps": 1e5, "throughput_fps": 0, "sender_limited": False}}
    figures = {"cpp": None, "ipp": ipp, "ipc": ipc, "groups": None, "core_hz": mhz * 1e6, "core_hz_source": "set"}
    return {"name": f"{workload}, {cores}", "units": cores, "workload": workload, "cores": cores, "smt": smt, "mhz": mhz, "cpus": [1],
            "sizes": [{"size": "64", "throughput_fps": mpps * 1e6, "speedup": 1, "efficiency": 1}] if mpps else [],
            "why": None if ipp else why, "complete": bool(mpps), "result": {**run_of, "sizes": [size]} if mpps else None, **figures}


def paper_result():
    steps = [paper_step(workload, 1, smt, mhz, *row[smt][:3]) for mhz, table in TABLES.items() for workload, row in table.items()
             for smt in (False, True)]
    steps += [paper_step(workload, 2, smt, 2200, 2 * row[smt][0] if workload.startswith("VPP") else None, why="no second core")
              for workload, row in TABLES[2200].items() for smt in (False, True)]
    return {"schema": "turnpike.throughput-paper/1", "version": "1", "name": "Xeon", "complete": True, "stopped": None, "unit": "cores",
            "steps": steps}


def test_the_paper_s_tables_come_out_of_the_paper_s_figures():
    done = run("--result", files=(paper_result(),))
    assert done.returncode == 0, done.stderr
    sections = dict(section.split("\n", 1) for section in done.stdout.split("\n\n") if "\n" in section)
    for mhz, table in TABLES.items():
        lines = sections[f"Performance and efficiency of one core, {mhz} MHz"].splitlines()
        shown = {cells[0]: cells[1:] for cells in (re.split("  +", line) for line in lines)}
        for workload, (one, two) in table.items():
            cells = shown[workload]
            assert [float(c) for c in cells[:6]] == [one[0], two[0], one[1], two[1], one[2], two[2]], (workload, cells)
            for cell, cycles in zip(cells[-2:], (one[3], two[3])):
                assert abs(float(cell) - cycles) <= 1.5, (workload, mhz, cell, cycles)
    frequency = sections["Speedup with frequency over 2200 MHz, one core"]
    assert "3200 MHz (linear: 1.45)" in frequency and [line.split()[-2:] for line in frequency.splitlines()[1:]] == [
        ["1.36", "1.42"], ["1.44", "1.46"]], frequency
    smt = sections["Speedup with SMT, one core"]
    assert [line.split()[-2:] for line in smt.splitlines()[1:]] == [["1.30", "1.36"], ["1.16", "1.18"]], smt
    cores = sections["Speedup over 1 core, 2200 MHz"]
    assert [line.split()[-2:] for line in cores.splitlines()[1:]] == [["1.00", "n/a"], ["1.00", "2.00"], ["1.00", "2.00"]], cores
    assert "method: section 13.4 of the paper\n" in done.stdout and "\n2: no second core\n" in done.stdout
    page = page_of(paper_result())
    assert not Nesting(page).outside and "<script" not in page
    for part in ("functional rate", "34.600", "instructions per packet", "instructions per cycle", "linear", "no second core"):
        assert part in page, part


def test_lower_bounds_of_the_paper_s_tables_are_marked():
    one = paper_result()
    for step in one["steps"]:
        if step["sizes"] and step["smt"]:
            step["sizes"][0].update(at_least=True, why="limited by the sender")
    done = run("--result", files=(one,))
    assert done.returncode == 0, done.stderr
    sections = dict(section.split("\n", 1) for section in done.stdout.split("\n\n") if "\n" in section)
    shown = {cells[0]: cells[1:] for cells in (re.split("  +", line) for line in sections["Performance and efficiency of one core, 2200 MHz"].splitlines())}
    cells = shown["VPP IPv4 Routing"]
    assert cells[:2] == ["10.500", ">= 12.200"] and cells[-1] == "<= 180" and not cells[-2].startswith("<"), cells
    assert ">= 1.16" in sections["Speedup with SMT, one core"], sections
    cores = [line.split("  ")[-1].strip() for line in sections["Speedup over 1 core, SMT, 2200 MHz"].splitlines()[1:]]
    assert cores == ["n/a", "n/a", "2.00"], cores
    assert ">= (a lower bound), limited by the sender: DPDK-Testpmd L2 Loop, 1 (64), VPP" in done.stdout, done.stdout
    assert "&gt;= 12.200" in page_of(one)


def test_bad_input_is_named():
    for words, files, said in (
            ((), (), "needs RUN.yaml, --result, --compare, scale or paper"),
            (("--result",), ("{}",), "0.json: is not a result of turnpike-throughput"),
            (("--compare",), (result(), "no JSON"), "1.json: is not a result of turnpike-throughput"),
            (("--compare",), (result(), {**result(), "sizes": [{}]}), "lacks a member"),
            (("--compare",), (result(), {**result(), "sizes": [{"size": 64}]}), "has a member of another type"),
            (("scale",), (), "PLAN is required"),
            (("scale",), ("steps: []",), "should have at least one step"),
            (("scale",), ("steps: [{name: a}]",), "lacks the key 'run'"),
            (("scale",), ("run: r\nsteps: [{name: a}, {name: a}]",), "has the name of another step"),
            (("scale",), ("run: r\nsteps: [{name: a, units: none}]",), "should be a number above 0"),
            (("scale", "/nowhere"), (), "/nowhere"),
            (("paper",), (), "PLAN is required"),
            (("paper",), ("workloads: [{name: a, device: x}]",), "lacks the key 'run'"),
            (("--compare",), (paper_result(), paper_result()), "is not a result of turnpike-throughput (turnpike.throughput/1)"),
            (("--compare", "/nowhere"), (result(),), "/nowhere: cannot be read (No such file or directory)"),
            (("--result", "/nowhere", "--compare"), (result(), result()), "excludes")):
        done = run(*words, files=files)
        assert done.returncode == 2 and said in done.stderr, (words, done.returncode, done.stderr)
    for section, wrong in (("sizes", 1), ("kind", 1), ("ports", [1])):
        bad = copy.deepcopy(result())
        bad[section] = wrong
        done = run("--result", files=(bad,))
        assert done.returncode in (0, 2) and "terminate" not in done.stderr, (section, done.stderr)


if __name__ == "__main__":
    tap.main(globals())
