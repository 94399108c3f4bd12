#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A scrape as text, read by Prometheus' own parsers; and the examples of monitoring, which use it:
open_metrics_test.py PROGRAM [TEST...]"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
METRICS = ROOT / "app/turnpike/observe/metrics.hpp"
EXAMPLES = ROOT / "examples/monitoring"
AWKWARD = "a \"quoted\\name\"\nof two lines"


def text(kind):
    return subprocess.run([PROGRAM, kind], capture_output=True, text=True, check=True).stdout


def families(kind="openmetrics"):
    try:
        from prometheus_client import parser
        from prometheus_client.openmetrics import parser as open_parser
    except ImportError:
        tap.skip("python3-prometheus-client is not installed")
    read = open_parser if kind == "openmetrics" else parser
    return list(read.text_string_to_metric_families(text(kind)))  # ValueError: not of the format


def promtool(*arguments, **more):
    if shutil.which("promtool") is None:
        tap.skip("promtool (package prometheus) is not installed")
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def key(sample):
    return sample.name, tuple(sorted(sample.labels.items()))


def values(kind="openmetrics"):
    return {key(s): s.value for f in families(kind) for s in f.samples}


def test_every_row_is_a_family_once():
    parsed = families()
    names = [f.name for f in parsed]
    assert len(names) == len(set(names)), names
    rows = re.findall(r'^    \{"(\w+)", (counter|gauge), ', METRICS.read_text("utf-8"), re.MULTILINE)
    derived = METRICS.read_text("utf-8").count("derived},")
    assert len(rows) > 80 and derived == 7, (len(rows), derived)
    others = [f for f in parsed if f.type in ("info", "histogram")]
    assert {f.name for f in others} == {"turnpike_build", "turnpike_port", "turnpike_interface", "turnpike_tunnel",
                                        "turnpike_acl_rule", "turnpike_worker_rx_burst_packets", "turnpike_latency_seconds"}, others
    assert len(parsed) == len(rows) - derived + len(others), sorted(names)
    for family in parsed:
        assert family.name.startswith("turnpike_"), family.name
        assert family.documentation, family.name
        assert family.samples, f"{family.name} has no sample in {PROGRAM}"
        samples = [key(s) for s in family.samples]
        assert len(samples) == len(set(samples)), samples
        suffixes = {"counter": {"_total"}, "gauge": {""}, "info": {"_info"}, "histogram": {"_bucket", "_count", "_sum"}}
        assert {name for name, _ in samples} == {family.name + s for s in suffixes[family.type]}, samples
        assert not family.name.endswith(("_total", "_created", "_bucket", "_count", "_sum", "_info")), family.name
        assert not family.unit or family.name.endswith("_" + family.unit), family.name


def test_a_name_of_a_file_that_is_not_utf_8():
    for kind in ("openmetrics", "prometheus"):
        places = {s.labels.get("where") for f in families(kind) for s in f.samples}
        assert "k\\xf6ln.yaml:3" in places, places


def test_no_series_is_there_twice():
    for kind in ("openmetrics", "prometheus"):
        keys = [key(s) for f in families(kind) for s in f.samples]
        assert len(keys) == len(set(keys)), [k for k in keys if keys.count(k) > 1]


def test_both_formats_have_the_same_samples():
    # The parser of 0.0.4 has floats only.
    old, new = values("prometheus"), {k: float(v) for k, v in values().items()}
    assert old == new
    assert text("openmetrics").endswith("\n# EOF\n")
    assert "# EOF" not in text("prometheus") and "# UNIT" not in text("prometheus")


def test_what_is_in_it():
    value = values()
    assert value["turnpike_worker_packets_total", (("lcore", "1"),)] == 1_000_000
    assert ("turnpike_worker_core_cycles_total", (("lcore", "7"),)) not in value, "a count of nothing"
    assert not [name for name, _ in value if name.startswith("turnpike_worker_cpp")], "a query divides by itself"
    ports = {labels[0][1] for name, labels in value if name == "turnpike_port_rx_packets_total"}
    assert ports == {"west", AWKWARD, "counted", "(removed)"}, ports
    assert sum(v for (name, _), v in value.items() if name == "turnpike_port_dropped_packets_total") == 3 * (7 + (1 << 60))
    assert value["turnpike_acl_permitted_packets_total", (("direction", "out"), ("interface", "west"), ("list", "edge"))] == 5
    assert value["turnpike_port_speed_bytes_per_second", (("port", "west"),)] == 25e9 / 8
    assert ("turnpike_port_speed_bytes_per_second", (("port", "(removed)"),)) not in value
    assert value["turnpike_interface_tx_bytes_total", (("interface", "west"),)] == 200
    assert ("turnpike_interface_tx_bytes_total", (("interface", AWKWARD),)) not in value, "nothing counts it"
    assert value["turnpike_mirror_unreachable_packets_total", (("mirror", "west"),)] == 2
    assert value["turnpike_fib_routes", (("family", "ipv4"), ("vrf", AWKWARD))] == 100_000
    assert value["turnpike_neighbour_entries", (("state", "failed"),)] == 1
    assert ("turnpike_neighbour_entries", (("state", "limit"),)) not in value, "not a state"
    limits = [v for (name, _), v in value.items() if name == "turnpike_resource_limits"]
    assert limits and set(limits) <= {0, 1} and sum(limits) <= 1, limits


COUNTED = {  # of the objects named "counted", and of families without labels
    "port": {"rx_packets_total": 103, "tx_packets_total": 104, "rx_bytes_total": 105, "tx_bytes_total": 106, "rx_missed_packets_total": 101,
             "rx_no_buffer_total": 102, "originated_packets_total": 107, "consumed_packets_total": 108, "admin_up": 0, "up": 1,
             "speed_bytes_per_second": 1e6},
    "process": {"configuration_changes_total": 111, "configuration_unsaved": 1, "configuration_unconfirmed": 0,
                "tsc_frequency_hertz": 2e9, "gather_seconds": 0.001, "duration_seconds": 2},
    "mempool": {"overhead_ratio": 0.125, "low_water_buffers": 121, "buffers": 8191, "buffer_size_bytes": 122,
                "in_use_at_start_buffers": 123, "in_use_buffers": 124, "kept_by_drivers_buffers": 125},
    "acl": {"permitted_packets_total": 131, "denied_packets_total": 132, "table_bytes": 133},
    "punt": {"punted_packets_total": 141, "dropped_packets_total": 142},
    "interface": {"up": 1, "mtu_bytes": 151, "rx_packets_total": 152, "rx_bytes_total": 153, "tx_packets_total": 154, "tx_bytes_total": 155},
    "fib": {"routes": {"ipv4": 161, "ipv6": 162}, "size_bytes": {"ipv4": 163, "ipv6": 164}},
    "rib": {"routes": 165},
    "bridge": {"fdb_entries": 171, "fdb_max_entries": 172, "fdb_learned_total": 173, "fdb_moved_total": 174, "fdb_aged_total": 175,
               "fdb_dampened_total": 176, "fdb_refused_total": 177, "rx_packets_total": 178, "rx_bytes_total": 179,
               "tx_packets_total": 180, "flooded_packets_total": 181},
    "tunnel": {"rx_packets_total": 191, "rx_bytes_total": 192, "tx_packets_total": 193, "tx_bytes_total": 194},
    "mirror": {"copied_packets_total": 201, "copied_bytes_total": 202, "lost_packets_total": 203, "unreachable_packets_total": 204},
    "host_interface": {"admin_up": 0, "carrier": 1, "to_kernel_packets_total": 211, "from_kernel_packets_total": 212,
                       "lost_packets_total": 213},
    "table": {"entries": 221, "max_entries": 222},
    "netlink": {"no_room": 223, "not_followed_routes": 224, "messages_total": 241, "refused_messages_total": 242, "overruns_total": 243,
                "synchronizing": 1},
    "sflow": {"datagrams_total": 231, "unsent_datagrams_total": 232, "samples_total": 233, "drop_notifications_total": 234,
              "lost_samples_total": 235, "lost_drop_notifications_total": 236},
}


def test_each_row_has_its_own_number():
    there = {}
    for (name, labels), value in values().items():
        labels = dict(labels)
        if name.endswith("_info") or "reason" in labels and name.startswith("turnpike_port_dropped"):
            continue
        if not labels or "counted" in labels.values():
            there[name] = {**there.get(name, {}), labels["family"]: value} if "family" in labels else value
    expected = {f"turnpike_{kind}_{name}": value for kind, rows in COUNTED.items() for name, value in rows.items()}
    of_sums = {name for name in there if name.startswith("turnpike_balance_")}  # of several objects
    assert there.keys() - of_sums == expected.keys(), (there.keys() - of_sums) ^ expected.keys()
    wrong = {name: (there[name], value) for name, value in expected.items() if there[name] != value}
    assert not wrong, wrong


def test_bursts_are_a_histogram():
    value = values()
    bucket = {dict(labels)["le"]: v for (name, labels), v in value.items()
              if name.endswith("_burst_packets_bucket") and dict(labels)["lcore"] == "1"}
    assert bucket == {"1.0": 100, "4.0": 120, "8.0": 120, "16.0": 120, "31.0": 123, "+Inf": 31123}, bucket
    assert value["turnpike_worker_rx_burst_packets_count", (("lcore", "1"),)] == 31123
    assert value["turnpike_worker_rx_burst_packets_sum", (("lcore", "1"),)] == 1_000_000


def test_latencies_are_histograms_of_seconds():
    value = values()
    pair = (("in", "east"), ("out", "west"))
    bucket = {float(dict(labels)["le"]): v for (name, labels), v in value.items()
              if name == "turnpike_latency_seconds_bucket" and dict(labels)["out"] == "west"}
    assert bucket[512e-9] == 0 and bucket[1.024e-6] == 6 and bucket[float("inf")] == 8, bucket
    assert bucket[(1 << 19) / 1e9] == 6 and bucket[(1 << 20) / 1e9] == 8, bucket
    assert value["turnpike_latency_seconds_count", pair] == 8 and value["turnpike_latency_seconds_sum", pair] == 0.001


def test_rules_of_short_lists():
    value = values()
    hits = {dict(labels)["rule"]: v for (name, labels), v in value.items()
            if name == "turnpike_acl_rule_matched_packets_total" and (dict(labels)["list"], dict(labels)["direction"]) == ("edge", "in")}
    assert hits == {"tiny-fragment": 2, "web": 4, "#6": 3, "#7": 0, AWKWARD: 0, "neighbour-discovery": 0, "default": 1}, hits
    infos = [dict(labels) for name, labels in value if name == "turnpike_acl_rule_info"]
    assert {"interface": "west", "direction": "in", "list": "edge", "rule": AWKWARD, "name": AWKWARD, "action": "deny",
            "where": "f.yaml:6"} in infos, infos
    assert len([i for i in infos if i["list"] == "listed"]) == 64 + 3, "turnpike's own rules do not count"
    assert not [i for i in infos if i["list"] == "long"], "one more is not listed"


def test_promtool_has_no_complaint():
    assert promtool("check", "metrics", input=text("prometheus")).strip() == ""


def names_in(expression):
    """Names of turnpike's metrics in a query."""
    return set(re.findall(r"\bturnpike_\w+", expression))


def test_dashboard_asks_for_existing_metrics():
    exist = {name for name, _ in values()}
    board = json.loads((EXAMPLES / "grafana-dashboard.json").read_text("utf-8"))
    queries = [t["expr"] for panel in board["panels"] for t in panel.get("targets", [])]
    queries += [v["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    assert len(queries) > 15, queries
    asked = set.union(*(names_in(q) for q in queries))
    assert asked and asked <= exist, asked - exist
    for panel in board["panels"]:
        assert panel["title"] and (panel["type"] == "row" or panel["description"]), panel


def test_alert_rules():
    exist = {name for name, _ in values()}
    rules = (EXAMPLES / "alerts.yml").read_text("utf-8")
    asked = names_in("\n".join(line for line in rules.splitlines() if not line.strip().startswith("#")))
    asked -= {"turnpike_alerts"}
    assert asked and asked <= exist, asked - exist
    promtool("check", "rules", "alerts.yml", cwd=EXAMPLES)
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml", cwd=EXAMPLES)
    alerts = set(re.findall(r"- alert: (\w+)", rules))
    tested = set(re.findall(r"alertname: (\w+)", (EXAMPLES / "alerts_test.yml").read_text("utf-8")))
    assert alerts == tested, alerts ^ tested


def test_doc_lists_every_metric():
    doc = (ROOT / "doc/metrics.md").read_text("utf-8")
    listed = set(re.findall(r"`(turnpike_\w+)`", doc))
    exist = {f.name + {"counter": "_total", "info": "_info"}.get(f.type, "") for f in families()}
    assert listed == exist, (sorted(listed - exist), sorted(exist - listed))


if __name__ == "__main__":
    tap.main(globals())
