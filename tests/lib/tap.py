# SPDX-License-Identifier: BSD-3-Clause
"""Run the test_* functions of a script and print TAP. Each has a time limit; skip() names the reason. The script runs
in separate namespaces (devtools/alone).

    from lib import tap
    def test_something(): ...
    if __name__ == "__main__":
        tap.main(globals())

`SCRIPT NAME...` runs only the named tests, and so does TURNPIKE_CASES="NAME..." (devtools/retry).
"""
import os
import signal
import sys
import traceback

from lib import machine
from lib.build import SLOWDOWN

LIMIT_S = 120
ALONE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../devtools/alone")


class Skip(Exception):
    pass


class TimedOut(Exception):
    pass


class Broken(Exception):
    """A failure that is not retried: turnpike crashed, its packet balance is wrong, or buffers were lost."""


def skip(why):
    raise Skip(why)


def skip_without_realtime():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        skip("the machine gives no real-time priority")


def limit(seconds):
    """Set the time limit of one test."""

    def mark(function):
        function.limit_s = seconds
        return function

    return mark


def _on_alarm(_signal, _frame):
    raise TimedOut("the test took longer than its limit")


def _on_term(_signal, _frame):
    raise SystemExit("terminated")


def _run(number, name, function):
    machine.begin_case()
    signal.alarm(SLOWDOWN * getattr(function, "limit_s", LIMIT_S))
    try:
        function()
    except Skip as why:
        print(f"ok {number} - {name} # SKIP {why}", flush=True)
        return True
    except Exception as failure:
        print(f"not ok {number} - {name}", flush=True)
        for line in traceback.format_exc().splitlines():
            print(f"# {line}", flush=True)
        for broken in _chain(failure):
            if isinstance(broken, Broken):
                print("# HARD: " + " ".join(str(broken).split())[:300], flush=True)
        return False
    finally:
        signal.alarm(0)
    missed = machine.not_judged()
    print(f"ok {number} - {name}" + (f" # SKIP not judged: {' '.join('; '.join(missed).split())}" if missed else ""), flush=True)
    return True


def _chain(failure):
    """An exception, with the exceptions during whose handling it was raised."""
    while failure is not None:
        yield failure
        failure = failure.__cause__ or failure.__context__


def main(names):
    if os.geteuid() == 0 and os.environ.get("TURNPIKE_ALONE") != "1":
        os.execv(ALONE, [ALONE, sys.executable, *sys.orig_argv[1:]])  # scripts change sys.argv
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.signal(signal.SIGTERM, _on_term)
    tests = [(name[5:], f) for name, f in names.items() if name.startswith("test_") and callable(f)]
    wanted = sys.argv[1:] or os.environ.get("TURNPIKE_CASES", "").split()
    if wanted:
        tests = [t for t in tests if t[0] in wanted or "test_" + t[0] in wanted]
    print(f"1..{len(tests)}", flush=True)
    results = [_run(number, name, function) for number, (name, function) in enumerate(tests, 1)]
    sys.exit(0 if tests and all(results) else 1)
