# SPDX-License-Identifier: BSD-3-Clause
"""The results that `meson test` recorded in a build folder, by program and case (module of tally and retry).

meson writes two files a run, meson-logs/testlog-NAME.{json,junit.xml}. The first has one line a program: command,
environment, output, exit code. The second has the cases of programs that speak TAP or write GoogleTest's XML.
"""
import dataclasses
import glob
import json
import os
import pathlib
import re
import xml.etree.ElementTree as xml

BAD = ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")
NOT_JUDGED = "not judged: "  # begins the reason of a TAP skip: tests/lib/machine.py

# A failure that no second run forgives. tests/lib/tap.py prints HARD for one that a test found itself.
HARD_SUITES = {"lint", "budget"}
HARD_OUTPUT = re.compile(
    r"^(?:# )?HARD: .*|^.*(?:ERROR: (?:Address|Leak)Sanitizer|WARNING: ThreadSanitizer|: runtime error: ).*", re.MULTILINE)


@dataclasses.dataclass
class Case:
    name: str
    outcome: str  # passed, failed, skipped, unjudged
    reason: str = ""


@dataclasses.dataclass
class Program:
    folder: str
    name: str
    suites: set
    result: str
    returncode: int
    output: str
    command: list
    environment: dict
    started: float  # seconds since the epoch
    seconds: float
    cases: list = dataclasses.field(default_factory=list)
    protocol: str = "exitcode"  # or tap, gtest

    @property
    def failed(self):
        return self.result in BAD

    def title(self):
        return f"{self.folder}: {'+'.join(sorted(self.suites))} / {self.name}"

    def hard(self):
        """Why its failure is final; None where it may be tried again."""
        return hard_reason(self.returncode, self.output) or (
            f"suite {min(self.suites & HARD_SUITES)}" if self.failed and self.suites & HARD_SUITES else None)


def hard_reason(returncode, output):
    """Why a program's end is a hard failure, whatever its cases say."""
    if returncode < 0 and returncode not in (-9, -15):  # SIGKILL and SIGTERM end a program after a time-out
        return f"killed by signal {-returncode}"
    found = HARD_OUTPUT.search(output)
    return found[0].strip() if found else None


def _case(element, output):
    skipped = element.find("skipped")
    if element.find("failure") is not None or element.find("error") is not None:
        return Case(element.get("name"), "failed")
    if skipped is None and element.get("status") != "notrun":
        return Case(element.get("name"), "passed")
    given = (skipped.get("message") or skipped.text) if skipped is not None else None
    given = given or element.findtext("system-out") or (output.strip().splitlines() or ["no reason given"])[-1]
    reason = " ".join(re.sub(r"^.*?: Skipped", "", given, flags=re.DOTALL).split())
    return Case(element.get("name"), "unjudged" if reason.startswith(NOT_JUDGED) else "skipped", reason)


def _add_cases(programs, project, root):
    """Hands each <testsuite> to its program, by meson's title: PROJECT.TITLE (TAP), PROJECT.TITLE.SUITE (GoogleTest), or
    PROJECT with one <testcase> a program that has an exit code only."""
    for suite in root.iter("testsuite"):
        name = suite.get("name", "")
        if name == project:
            for element in suite.findall("testcase"):
                if program := programs.get(element.get("name")):
                    program.cases.append(_case(element, element.findtext("system-out") or program.output))
            continue
        name = name[len(project) + 1:]
        program = programs.get(name)
        if program:
            program.protocol = "tap"
            for element in suite.findall("testcase"):
                case = _case(element, suite.findtext("system-out") or "")
                case.name = re.sub(r"^\d+ (?:- )?", "", case.name)
                program.cases.append(case)
            continue
        owner = max((n for n in programs if name.startswith(n + ".")), key=len, default=None)
        if owner:
            programs[owner].protocol = "gtest"
            for element in suite.findall("testcase"):
                case = _case(element, "")
                case.name = f"{name[len(owner) + 1:]}.{case.name}"
                programs[owner].cases.append(case)


def _introspected(folder, what, otherwise):
    path = pathlib.Path(folder) / f"meson-info/intro-{what}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else otherwise


def programs(folder):
    """Every program that was run in a build folder, in the order of the logs."""
    found, project, suites = [], _introspected(folder, "projectinfo", {}).get("descriptive_name", ""), {}
    for test in _introspected(folder, "tests", []):
        suites[test["name"]] = {suite.rpartition(":")[2] for suite in test["suite"]}
    for log in sorted(glob.glob(f"{folder}/meson-logs/testlog*.json")):
        of_log = {}
        for line in pathlib.Path(log).read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            name = test["name"].rpartition(" / ")[2]  # behind "turnpike:system+quiet / "
            of_log[test["name"]] = Program(
                folder=str(folder), name=name, suites=suites.get(name, set()), result=test["result"],
                returncode=test.get("returncode", 0), output=test.get("stdout", "") + test.get("stderr", ""),
                command=test.get("command", []), environment=test.get("env", {}), started=test.get("starttime", 0),
                seconds=test.get("duration", 0))
        junit = log[:-len(".json")] + ".junit.xml"
        if of_log and os.path.exists(junit):
            _add_cases(of_log, project, xml.parse(junit).getroot())
        found += of_log.values()
    return found
