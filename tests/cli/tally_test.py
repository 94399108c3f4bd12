#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The judges of a test run, devtools/retry and devtools/tally, over real `meson test` runs of small projects: final
failures, repeated tests, missing tests, and tests that are not judged."""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import dut, hosts, machine, tap  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "devtools"))
import flakes  # noqa: E402

# A test script: `cases` is the body of its test functions; count(NAME) returns the number of its calls over all runs.
SCRIPT = """#!/usr/bin/python3
import os, signal, subprocess, sys
sys.path.insert(0, "{top}/tests")
from lib import dut, hosts, machine, tap
def count(name):
    with open("{folder}/" + name, "a+") as file:
        file.write("x"); file.seek(0)
        return len(file.read())
{cases}
tap.main(globals())
"""
# GoogleTest's own part in a run: XML and exit code. {cases}: lines "Suite.case expression", an expression of count().
GTEST = """#!/usr/bin/python3
import sys
def count(name):
    with open("{folder}/" + name, "a+") as file:
        file.write("x"); file.seek(0)
        return len(file.read())
wanted = [a.split("=", 1)[1].split(":") for a in sys.argv if a.startswith("--gtest_filter=")]
out = [a.split(":", 1)[1] for a in sys.argv if a.startswith("--gtest_output=")] or ["{folder}/{name}.xml"]
results = {{}}
for line in {cases!r}.strip().splitlines():
    name, expression = line.split(None, 1)
    if not wanted or name in wanted[0]:
        print("[ RUN      ]", name)
        results[name] = bool(eval(expression))
with open(out[0], "w") as file:
    file.write('<testsuites><testsuite name="s">' + "".join(
        f'<testcase name="{{n.split(".")[1]}}" classname="s" status="run">{{"" if ok else "<failure/>"}}</testcase>'
        for n, ok in results.items()) + "</testsuite></testsuites>")
sys.exit(not all(results.values()))
"""


# One run of all programs, which the tests below look at from their sides. {program: (template, suite, its cases)}
GOOD = "def test_good(): pass\n"
PROGRAMS = {
    "good": (SCRIPT, "system", GOOD + "def test_too(): pass\n"),
    "crashed": (SCRIPT, "system", GOOD + "def test_bad():\n    if count('crashed') == 1: os.kill(os.getpid(), signal.SIGSEGV)\n"),
    # turnpike died beside the test, which saw nothing of it; the lab looks at its end.
    "turnpike_crashed": (SCRIPT, "system", GOOD + """
hosts.BUILD = "/bin"
def test_bad():
    with hosts.Lab() as lab:
        lab.processes.append(subprocess.Popen(["/bin/sh", "-c", "kill -SEGV $$" if count("dead") == 1 else "exit 0"]))
        lab.processes[0].wait()
"""),
    "unbalanced": (SCRIPT, "system", GOOD + """
def test_bad():
    report = {"balance": {"rx": 5, "originated": 0, "tx": 4 + (count("unbalanced") > 1), "consumed": 0, "drops": 0, "held": 0},
              "drops": {}, "ports": [], "schema": "turnpike.report/2",
              "mempool": {"in_use": 0, "kept_by_drivers": 0, "in_use_at_start": 0}}
    dut.check_report(report)
"""),
    "sanitizer": (SCRIPT, "unit", GOOD + "def test_bad():\n    if count('ubsan') == 1: print('x.cpp:3:4: runtime error: shift')\n"),
    "slow": (SCRIPT, "cli", "def test_once(): assert count('once') == 1\ndef test_slow(): assert count('slow') > 1\n"),
    "third": (SCRIPT, "system", "def test_third(): assert count('third') in (2, 4)\n"),
    "bad": (SCRIPT, "peer", "def test_bad(): assert False\n"),
    "gtest": (GTEST, "unit", "s.once count('g_once') == 1\ns.slow count('g_slow') > 1\n"),
    "timeout": (SCRIPT, "system", "import time\ndef test_slow():\n    if count('timeout') == 1: time.sleep(20)\n"),
    "lint": (SCRIPT, "lint", "def test_bad(): assert count('lint') > 1\n"),
    "budget": (SCRIPT, "budget", "def test_bad(): assert count('budget') > 1\n"),
    "decoded": (SCRIPT, "system", "def test_decoded(): tap.skip('no tshark here')\n" + GOOD),
    "stalled": (SCRIPT, "system", "os.environ['TURNPIKE_STALLS'] = '{folder}/stalls'\n"
                "def test_rate(): machine.judge(False, '3 % lost')\n"),
    "steady": (SCRIPT, "system", "os.environ['TURNPIKE_STALLS'] = '{folder}/steady'\n"
               "def test_rate(): machine.judge(False, '3 % lost')\n"),
}
HARD = {"crashed": "killed by signal 11", "turnpike_crashed": "was killed by signal 11", "unbalanced": "the final report is wrong",
        "sanitizer": "runtime error: shift", "lint": "suite lint", "budget": "suite budget"}


def environment(**more):
    return {**{k: v for k, v in os.environ.items() if k != "TURNPIKE_CASES"}, "TURNPIKE_ALONE": "1", **more}


def retry(build, **more):
    done = subprocess.run([f"{TOP}/devtools/retry", build], capture_output=True, text=True, check=False, env=environment(**more))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tally(build, *options, expected=""):
    """(exit code, lines)"""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as manifest:
        manifest.write(expected)
        manifest.flush()
        done = subprocess.run([f"{TOP}/devtools/tally", "--expected", manifest.name, *options, build], capture_output=True,
                              text=True, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stdout + done.stderr
    return done.returncode, done.stdout.splitlines()


FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def the_run():
    """(build folder, what retry printed) of a run of all programs and its second look."""
    folder = pathlib.Path(FOLDER.name)
    now = time.time()
    (folder / "stalls").write_text(f"{now:.3f} 3600.0 cpu0\n", encoding="utf-8")
    (folder / "steady").write_text(f"{now - 9:.3f} 0.5 cpu0\n{now:.3f} 0.02 cpu0\n{now:.3f} 9 steal\n", encoding="utf-8")
    lines = ["project('turnpike')"]
    for name, (template, suite, cases) in PROGRAMS.items():
        path = folder / f"{name}.py"
        path.write_text(template.format(top=TOP, folder=folder, name=name, cases=cases.replace("{folder}", str(folder))),
                        encoding="utf-8")
        path.chmod(0o755)
        protocol = "gtest" if template is GTEST else "tap"
        lines.append(f"test('{name}', find_program('{path}'), suite: '{suite}', protocol: '{protocol}', timeout: {5 if name == 'timeout' else 60})")
    (folder / "meson.build").write_text("\n".join(lines) + "\n", encoding="utf-8")
    build = folder / "build"
    subprocess.run(["meson", "setup", build, folder], check=True, capture_output=True)
    subprocess.run(["meson", "test", "-C", build], capture_output=True, check=False, env=environment())
    return build, retry(build)


def about(lines, program):
    return [line for line in lines if f": {program}: " in line or f"/ {program}" in line]


def test_a_hard_failure_is_final():
    """Its second run would pass."""
    build, again = the_run()
    code, lines = tally(build)
    for program, why in HARD.items():
        assert sum(line.startswith("failed: ") and why in line for line in about(lines, program)) == 1, about(lines, program)
        assert not about(again.splitlines(), program), again


def test_a_soft_failure_passes_twice_in_a_row():
    build, again = the_run()
    _, lines = tally(build)
    assert "/ slow: slow: passed, passed\n" in again and "/ gtest: s.slow: passed, passed\n" in again, again
    assert "once" not in again, "only the failed case runs again"
    assert sum(line.startswith("passed only when run again by itself: ") for line in lines) == 3, lines
    row = next(line for line in lines if line.startswith("| slow: slow |"))
    assert "AssertionError" in row and len(row.split("|")) == 7, row


def test_a_time_out_runs_the_whole_program_again():
    assert "/ timeout: *: passed, passed\n" in the_run()[1], the_run()[1]


def test_one_failure_in_three():
    """Fails in the run, passes, fails, passes: no two in a row of three tries."""
    build, again = the_run()
    assert "/ third: third: passed, failed, passed\n" in again, again
    assert any(line.startswith("failed: ") for line in about(tally(build)[1], "third"))


def test_a_second_failure_ends_it():
    build, again = the_run()
    assert "/ bad: bad: failed, failed\n" in again, again
    assert any(line.startswith("failed: ") for line in about(tally(build)[1], "bad"))


def test_not_judged():
    """A missed threshold is not judged where a CPU stood still meanwhile, and fails where it did not."""
    build, again = the_run()
    code, lines = tally(build)
    assert any("3 % lost; a CPU stood still for 3600000 ms" in line for line in about(lines, "stalled")), lines
    assert not about(again.splitlines(), "stalled") and "/ steady: rate: failed, failed\n" in again, again


def test_the_closing_lines():
    code, lines = tally(the_run()[0])
    failed = len(HARD) + len(("third", "bad", "steady"))
    passed = 13  # of PROGRAMS, crashed's and others' good case among them
    assert code == 1 and lines[-2:] == ["1 not judged", f"{passed} passed, {failed} failed, 1 skipped"], lines


def test_a_test_that_is_gone():
    build, _ = the_run()
    _, lines = tally(build, expected="build good 3\nbuild gone 7 # seven\nbuild slow 2\n")
    assert "failed: build: good: 2 cases ran, 3 are expected (tests/expected.txt)" in lines, lines
    assert "failed: build: gone: did not run; it has 7 cases" in lines and not any("slow: 2 cases" in line for line in lines), lines


def test_a_missing_tshark():
    """By hand a skip is named; in CI it fails, unless the manifest allows it."""
    build, _ = the_run()
    assert any(line.startswith("skipped") and "no tshark here" in line for line in about(tally(build)[1], "decoded"))
    assert any(line.startswith("failed: ") and "no tshark here" in line for line in about(tally(build, "--strict")[1], "decoded"))
    allowed = tally(build, "--strict", expected="skip build decoded dec* no * here\n")[1]
    assert any(line.startswith("skipped: ") for line in about(allowed, "decoded")), allowed


def test_a_bad_manifest_is_refused():
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as manifest:
        manifest.write("build good many\n")
        manifest.flush()
        done = subprocess.run([f"{TOP}/devtools/tally", "--expected", manifest.name, the_run()[0]], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"{manifest.name}:1: " in done.stderr, done.stderr


def test_retries_end_with_their_time():
    build, _ = the_run()
    record = build / "meson-logs/retry.json"
    before = record.read_text(encoding="utf-8")
    try:
        retry(build, TURNPIKE_RETRY_S="0")
        assert any("no time left" in line for line in about(tally(build)[1], "slow"))
    finally:
        record.write_text(before, encoding="utf-8")


def test_a_run_without_tests_fails():
    with tempfile.TemporaryDirectory() as folder:
        assert tally(folder) == (1, ["0 passed, 0 failed, 0 skipped"])


def git(tree, *words):
    return subprocess.run(["git", "-C", tree, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True,
                          text=True).stdout


def test_a_changed_test_runs_three_times():
    with tempfile.TemporaryDirectory() as folder:
        tree, project = pathlib.Path(folder, "tree"), pathlib.Path(folder, "project")
        for path in (tree / "devtools", tree / "tests/lib", project):
            path.mkdir(parents=True)
        subprocess.run(f"cp {TOP}/devtools/*.py {TOP}/devtools/retry {TOP}/devtools/tally {tree}/devtools; "
                       f"cp {TOP}/tests/lib/*.py {tree}/tests/lib", shell=True, check=True)
        changed, same = tree / "tests/changed_test.py", tree / "tests/same_test.py"
        texts = {path: SCRIPT.format(top=TOP, folder=project, cases=cases) for path, cases in (
            (changed, "def test_third(): assert count('third') != 3\n"), (same, "def test_any(): assert count('any') == 1\n"))}

        changed.write_text("pass\n", encoding="utf-8")
        same.write_text(texts[same], encoding="utf-8")
        git(tree, "init", "-b", "main"), git(tree, "add", "-A"), git(tree, "commit", "-m", "before"), git(tree, "checkout", "-b", "work")
        changed.write_text(texts[changed], encoding="utf-8")
        same.write_text("# a comment\n" + texts[same], encoding="utf-8")
        git(tree, "commit", "-a", "-m", "after")
        (project / "meson.build").write_text("project('turnpike')\n" + "".join(
            f"test('{path.stem}', find_program('/usr/bin/python3'), args: '{path}', suite: 'system', protocol: 'tap')\n"
            for path in texts), encoding="utf-8")
        env = environment()
        subprocess.run(["meson", "setup", project / "build", project], check=True, capture_output=True)
        subprocess.run(["meson", "test", "-C", project / "build"], check=True, capture_output=True, env=env)
        again = subprocess.run([tree / "devtools/retry", project / "build"], capture_output=True, text=True, check=True, env=env)
        done = subprocess.run([tree / "devtools/tally", project / "build"], capture_output=True, text=True, check=False)
    assert "run 3 of 3 failed" in again.stdout and "1 cases of 1 programs differ" in again.stdout, again.stdout + again.stderr
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "2 passed, 1 failed, 0 skipped", done.stdout


def test_a_case_that_flakes_twice_is_final():
    assert flakes.repeated() is not None, "the record can be read"
    row = "| {} | {} | cpu | 0 ms | text |\n"
    with tempfile.TemporaryDirectory() as folder:
        flakes.TOP = f"{folder}/tree"
        git(folder, "init", "tree"), git(flakes.TOP, "commit", "--allow-empty", "-m", "a"), git(flakes.TOP, "commit", "--allow-empty", "-m", "b")
        commits = git(flakes.TOP, "log", "--format=%h").split()
        twice = "".join(row.format("a: b", commit) for commit in commits)
        assert flakes.repeated(twice) == {"a: b"}
        assert flakes.repeated(row.format("a: b", commits[0]) + row.format("a: c", commits[0])) == set()
        assert flakes.repeated(row.format("a: b", "0123456789ab") * 2) == {"a: b"}, "commits that are unknown count as recent"
        assert flakes.repeated("| case | commit | CPU | longest stall | text |\n|---|---|---|---|---|\n") == set()
        git(folder, "clone", "--depth", "1", f"file://{folder}/tree", "shallow")
        flakes.TOP = f"{folder}/shallow"
        assert flakes.repeated(twice) == set() == flakes.repeated(row.format("a: b", "0123456789ab") * 2)
        assert flakes.repeated(row.format("a: b", commits[0]) * 2) == {"a: b"}


def test_a_stall_is_sampled():
    """A CPU that a real-time thread takes for 100 ms stands still for others."""
    tap.skip_without_realtime()
    with tempfile.TemporaryDirectory() as folder:
        path, cpu = f"{folder}/stalls", min(os.sched_getaffinity(0))
        sampler = subprocess.Popen([f"{TOP}/devtools/stalls", path])
        try:
            time.sleep(0.3)
            start = time.time()
            subprocess.run([sys.executable, "-c", f"import os, time; os.sched_setaffinity(0, {{{cpu}}}); "
                            "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)); end = time.monotonic() + 0.1\n"
                            "while time.monotonic() < end: pass"], check=True)
            end = time.monotonic() + 5
            while (machine.longest_stall_s(start, path=path) or 0) < 0.08 and time.monotonic() < end:
                time.sleep(0.02)
            assert 0.08 <= machine.longest_stall_s(start, path=path) < 5
        finally:
            sampler.terminate()
            sampler.wait()


def test_the_sampler_of_stalls_ends_with_a_run_that_is_killed():
    """And does not hold the run's lock meanwhile: devtools/test starts it without."""
    with open(f"{TOP}/devtools/test", encoding="utf-8") as file:
        start = next(line for line in file if line.startswith("setsid devtools/stalls"))
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TURNPIKE_STALLS": f"{folder}/stalls"}
        run = subprocess.Popen(["bash", "-c", f'exec {{lock}}<"{folder}"\nflock "$lock"\n{start}echo $!\nread -r'], cwd=TOP,
                               env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        sampler = pathlib.Path(f"/proc/{int(run.stdout.readline())}")
        hosts.wait_until(lambda: os.path.exists(f"{folder}/stalls"), "the sampler")
        held = [fd for fd in (sampler / "fd").iterdir() if os.path.realpath(fd) == folder]
        run.kill()
        run.wait()
        assert held == [], held
        hosts.wait_until(lambda: not sampler.exists() or "(zombie)" in (sampler / "status").read_text(encoding="utf-8"), "its end")


def test_stress_goes_on_after_a_failure():
    """And names the failed case."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "second.py")
        script.write_text(SCRIPT.format(top=TOP, folder=folder, cases="def test_second(): assert count('second') != 2, 'twice'\n"), encoding="utf-8")
        pathlib.Path(folder, "meson.build").write_text(
            f"project('turnpike')\ntest('second', find_program('/usr/bin/python3'), args: '{script}', protocol: 'tap')\n", encoding="utf-8")
        build = f"{folder}/build"
        subprocess.run(["meson", "setup", build, folder], check=True, capture_output=True)
        done = subprocess.run([f"{TOP}/devtools/stress", "second", "--times", "3", "--build", build], capture_output=True, text=True,
                              check=False, env=environment(TMPDIR=folder))
    assert done.returncode == 1 and done.stdout.endswith("second: 2 of 3 passed\n"), done.stdout + done.stderr
    assert "second: run 2 failed, log " in done.stdout and "not ok 1 - second" in done.stdout and "AssertionError: twice" in done.stdout, done.stdout


def test_the_manifest_is_what_ran():
    done = subprocess.run([f"{TOP}/devtools/tally", "--manifest", the_run()[0]], capture_output=True, text=True, check=True)
    assert "build good 2\n" in done.stdout and "build gtest 2\n" in done.stdout, done.stdout


if __name__ == "__main__":
    tap.main(globals())
