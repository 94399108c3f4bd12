# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of rate and time, judged only if the machine did not stall meanwhile.

    machine.judge(lost < 0.02 * sent, f"{lost} of {sent} packets lost")

devtools/test samples stalls (devtools/stalls) into the file TURNPIKE_STALLS. A threshold that is missed
while a CPU stalled for STALL_S or longer is not judged: tap.py reports it, and devtools/tally counts such
cases separately. Without the file (a test run by hand) every threshold is judged.
"""
import os
import time

STALL_S = 0.03

_case_start = time.time()
_not_judged = []


def begin_case():
    global _case_start
    _case_start = time.time()
    _not_judged.clear()


def not_judged():
    """The missed thresholds of this case that were not judged."""
    return list(_not_judged)


def longest_stall_s(start, end=None, path=None):
    """The longest stall of a CPU that overlaps a time span, in seconds; None without samples."""
    path = path or os.environ.get("TURNPIKE_STALLS")
    if not path or not os.path.exists(path):
        return None
    longest = 0.0
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) != 3 or not words[2].startswith("cpu"):
                continue
            began, seconds = float(words[0]), float(words[1])
            if began + seconds >= start and (end is None or began <= end):
                longest = max(longest, seconds)
    return longest


def judge(good, text):
    """Fails the test where `good` is false, unless the machine has stalled since the start of the case."""
    if good:
        return
    stall = longest_stall_s(_case_start)
    if stall is None or stall < STALL_S:
        raise AssertionError(text)
    _not_judged.append(f"{text}; a CPU stood still for {1000 * stall:.0f} ms meanwhile")
