# SPDX-License-Identifier: BSD-3-Clause
"""The build folder whose programs are tested (TURNPIKE_BUILD), and how much slower than an ordinary build it is."""
import json
import os

BUILD = os.path.abspath(os.environ.get("TURNPIKE_BUILD", os.path.join(os.path.dirname(__file__), "../../build")))


def _sanitized():
    try:
        with open(os.path.join(BUILD, "meson-info/intro-buildoptions.json"), encoding="utf-8") as file:
            return next(o["value"] for o in json.load(file) if o["name"] == "sanitize") != "none"
    except OSError:  # an installed turnpike
        return False


SANITIZED = _sanitized()
# Limits of time of tests are for an ordinary build. tap.py (a case's limit), hosts.wait_until() and dut.py multiply by this.
SLOWDOWN = 5 if SANITIZED else 1
if SANITIZED:  # as `meson test` sets them: a report ends the program
    for _name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        os.environ.setdefault(_name, "halt_on_error=1:abort_on_error=1:print_summary=1")
