# SPDX-License-Identifier: BSD-3-Clause
"""turnpike under test: started in a host; its report is checked when it stops."""
import json
import os
import signal
import subprocess
import tempfile
import time

import yaml

from lib import tap
from lib.build import BUILD, SLOWDOWN

PROGRAM = os.path.join(BUILD, "app/turnpike/turnpike")
# Many instances run on few CPUs, mostly waiting. A configuration that a test writes as text is used as it is.
IDLE = {"sleep_us": 1000}
LONG = os.environ.get("TURNPIKE_LONG") == "1"


def check_report(report):
    """Check the invariants of a clean stop: the packet balance, and every buffer back in the pool. A violation is final
    (tap.Broken): it is not retried."""
    try:
        _check_invariants(report)
    except AssertionError as violation:
        raise tap.Broken(f"the final report is wrong: {violation}") from violation
    return report


def _check_invariants(report):
    b = report["balance"]
    assert b["rx"] + b["originated"] == b["tx"] + b["consumed"] + b["drops"] + b["held"], b
    assert b["held"] == 0, b
    assert b["drops"] == sum(report["drops"].values()), report["drops"]
    pool = report["mempool"]
    assert pool["in_use"] - pool["kept_by_drivers"] == pool["in_use_at_start"], pool
    if not any(p["driver"] == "net_af_xdp" for p in report["ports"]):
        assert pool["kept_by_drivers"] == 0, pool
    assert report["schema"] == "turnpike.report/2"


def ended_badly(code, output):
    """The failure for an unexpected exit code: final after a signal or a sanitizer's report."""
    final = code < 0 or "Sanitizer" in output or "runtime error:" in output
    return (tap.Broken if final else AssertionError)(
        f"turnpike was killed by signal {-code}:\n{output}" if code < 0 else f"turnpike ended with {code}:\n{output}")


class Turnpike:
    """A running turnpike. `config` is the YAML as text or as Python data; `eal` come before `--`; `under` is a command that
    starts it."""

    def __init__(self, lab, host, config, eal=(), options=(), wait=True, under=()):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-test-")
        self.config = os.path.join(self.folder.name, "turnpike.yaml")
        self.report_file = os.path.join(self.folder.name, "report.json")
        self.log = os.path.join(self.folder.name, "log")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config if isinstance(config, str) else yaml.safe_dump({"idle": IDLE, **config}))
        command = [*under, PROGRAM]
        if eal:
            command += [*eal, "--"]
        command += ["--config", self.config, "--report", self.report_file, *options]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = host.start(command, stdout=log, stderr=subprocess.STDOUT)
        if wait:
            self.wait_for("turnpike: forwarding")

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, text, seconds=20):
        end = time.monotonic() + seconds * SLOWDOWN
        while text not in self.output():
            if self.process.poll() is not None:
                raise ended_badly(self.process.returncode, self.output())
            if time.monotonic() > end:
                raise AssertionError(f"turnpike never said '{text}':\n{self.output()}")
            time.sleep(0.02)

    def finish(self, seconds=20):
        """Wait for its exit; returns the exit code."""
        return self.process.wait(seconds * SLOWDOWN)

    def stop(self, signal_number=signal.SIGTERM):
        """Stop it like an operator; returns its report, checked."""
        self.process.send_signal(signal_number)
        code = self.finish()
        if code != 0:
            raise ended_badly(code, self.output())
        return self.report()

    def report(self):
        """The report written at exit, checked."""
        with open(self.report_file, encoding="utf-8") as file:
            return check_report(json.load(file))


def patch_config(west, east, workers=None, eal="-l 0-1 --no-pci --in-memory", **more):
    """The YAML of one cross-connect between two device strings (or port maps)."""
    ports = []
    for name, device in (("west", west), ("east", east)):
        ports.append({"name": name, **(device if isinstance(device, dict) else {"device": device})})
    config = {"eal": {"args": eal}, "ports": ports, "xconnects": [["west", "east"]], **more}
    if workers is not None:
        config["workers"] = workers
    return config


def router_config(devices, routes=(), eal="-l 0-1 --no-pci --in-memory", **more):
    """The YAML of a router: {port name: (device string or port map, [addresses])}."""
    ports = [{"name": name, **(device if isinstance(device, dict) else {"device": device}),
              "addresses": list(addresses)} for name, (device, addresses) in devices.items()]
    return {"eal": {"args": eal, "hugepages": "optional"}, "ports": ports, "routes": list(routes), **more}
