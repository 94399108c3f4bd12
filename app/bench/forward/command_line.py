# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of the benchmarks' command lines."""
import argparse
import math
import signal


def number(least, kind):
    def parse(text):
        value = kind(text)
        if not least <= value < math.inf:  # NaN, too
            raise argparse.ArgumentTypeError(f"'{text}': {least} is the least")
        return value
    parse.__name__ = "number"
    return parse


def end_by_signal(number_of_signal, _frame):
    raise SystemExit(128 + number_of_signal)


def clean_up_at_signals():
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, end_by_signal)
