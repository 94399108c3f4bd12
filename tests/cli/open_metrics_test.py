#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report as OpenMetrics, read as a scraper reads it, by Prometheus' own parser: open_metrics_test.py PROGRAM [TEST...]"""
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
METRICS = ROOT / "app/turnpike/observe/metrics.cpp"
TABLES = {"of_workers": "worker", "of_ports": "port", "of_mempool": "mempool", "of_acls": "acl", "of_balance": "balance"}
BESIDE = {"turnpike_drops": "counter", "turnpike_bound": "gauge", "turnpike_used": "gauge",
          "turnpike_headroom_pps": "gauge"}


def families():
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        tap.skip("python3-prometheus-client is not installed")
    text = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout
    return list(text_string_to_metric_families(text))  # ValueError: no OpenMetrics


def expected():
    """{family: type}: the rows of metrics.cpp, and those of no table."""
    out, prefix = dict(BESIDE), None
    for line in METRICS.read_text("utf-8").splitlines():
        if table := re.match(r"constexpr rows<\w+> (\w+)\[\]", line):
            prefix = TABLES[table[1]]
        elif row := re.match(r' +\{"(\w+)", (counter|gauge),', line):
            out[f"turnpike_{prefix}_{row[1]}"] = row[2]
    assert len(out) > 35, out
    return out


def test_every_metric_is_a_family_once():
    parsed = families()
    names = [f.name for f in parsed]
    assert len(names) == len(set(names)), names
    assert {f.name: f.type for f in parsed} == expected()
    for family in parsed:
        assert family.documentation, family.name
        samples = [(s.name, tuple(sorted(s.labels.items()))) for s in family.samples]
        assert len(samples) == len(set(samples)), samples
        # "Counters: the sample's name has the suffix _total"; a gauge has none. No family's name ends so itself.
        suffix = "_total" if family.type == "counter" else ""
        assert {name for name, _ in samples} <= {family.name + suffix}, samples
        assert not family.name.endswith(("_total", "_created", "_bucket", "_count", "_sum", "_info")), family.name


def test_what_is_in_it():
    value = {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families() for s in f.samples}
    assert value["turnpike_worker_packets_total", (("lcore", "1"),)] == 1_000_000
    assert value["turnpike_worker_cpp", (("lcore", "1"),)] == 100
    assert math.isnan(value["turnpike_worker_cpp", (("lcore", "7"),)]), "a gauge of nothing"
    assert ("turnpike_worker_core_cycles_total", (("lcore", "7"),)) not in value, "a count of nothing"
    ports = {labels[0][1] for name, labels in value if name == "turnpike_port_rx_packets_total"}
    assert ports == {"west", "a \"quoted\\name\"\nof two lines", "(removed)"}, ports
    assert sum(v for (name, _), v in value.items() if name == "turnpike_drops_total") == 3 * (7 + (1 << 60))
    assert value["turnpike_acl_permitted_total", (("direction", "out"), ("list", "edge"), ("port", "west"))] == 5
    bounds = [v for (name, _), v in value.items() if name == "turnpike_bound"]
    assert bounds and set(bounds) <= {0, 1} and sum(bounds) <= 1, bounds


if __name__ == "__main__":
    tap.main(globals())
