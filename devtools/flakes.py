# SPDX-License-Identifier: BSD-3-Clause
"""tests/flakes.md, the record of tests that failed and then passed alone (module of tally and retry).

A case that stands there twice within COMMITS commits is no longer tried again, until the commit that mends it removes
its lines.
"""
import collections
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
RECORD = TOP / "tests/flakes.md"
COMMITS = 20
TEXT_BYTES = 160


def _git(*words):
    done = subprocess.run(["git", "-C", str(TOP), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def name_of(program, case):
    """A case's name in the record: the same in every build folder."""
    return f"{program}: {case}"


def _position(commit):
    """How many commits lead to it; None for a commit that this clone lacks."""
    count = _git("rev-list", "--count", commit, "--")
    return int(count) if count else None


def repeated(text=None):
    """The cases that the record has twice within COMMITS commits. An unknown commit counts as recent, in a shallow clone as old."""
    text = RECORD.read_text(encoding="utf-8") if text is None and RECORD.exists() else text or ""
    positions = collections.defaultdict(list)
    for case, commit in re.findall(r"^\| *([^|]+?) *\| *([0-9a-f]{7,40}) *\|", text, re.MULTILINE):
        positions[case].append(_position(commit))
    if _git("rev-parse", "--is-shallow-repository") == "true":
        positions = {case: [one for one in seen if one is not None] for case, seen in positions.items()}
    return {case for case, seen in positions.items() if len(seen) > 1 and (
        None in seen or any(b - a <= COMMITS for a, b in zip(sorted(seen), sorted(seen)[1:])))}


def _cpu():
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return "unknown"
    field = dict(re.findall(r"^(.*?)\s*: (.*)$", info, re.MULTILINE))
    if "CPU implementer" in field:  # AArch64's kernel prints numbers only
        return f"implementer {field['CPU implementer']}, part {field.get('CPU part', '?')}"
    return f"{field.get('model name', 'unknown')} {field.get('cpu family', '?')}/{field.get('model', '?')}"


def line(program, case, stall_ms, output):
    """A row for the record. output: what the program printed when it failed."""
    commit = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    complaint = re.findall(r"^(?:# )?(.*(?:Error|Failure|Exception|Timed|TimedOut).*)$", output, re.MULTILINE)
    text = (complaint or output.strip().splitlines() or ["no output"])[-1]
    text = re.sub(r"[|\s]+", " ", text).strip()[:TEXT_BYTES]
    stall = "not sampled" if stall_ms is None else f"{stall_ms:.0f} ms"
    return f"| {name_of(program, case)} | {commit} | {_cpu()} | {stall} | {text} |"
