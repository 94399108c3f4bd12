#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/leftovers names what a run leaves behind, kind by kind, and nothing else."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(__file__), "../../devtools/leftovers")


def named(leave):
    """What is said after `leave` has run, in namespaces of this test's own; leave() returns how to undo it."""
    with tempfile.TemporaryDirectory() as ours, tempfile.NamedTemporaryFile() as before:
        environment = {**os.environ, "TMPDIR": ours, "TURNPIKE_RUN": f"leftovers-test-{os.getpid()}"}
        subprocess.run([PROGRAM, "look", before.name], check=True, env=environment)
        undo = leave(environment)
        try:
            done = subprocess.run([PROGRAM, "compare", before.name], env={**environment, "TURNPIKE_PATIENCE": "0"},
                                  capture_output=True, text=True, check=False)
        finally:
            undo()
    return done.returncode, done.stdout


def shell(do, undo):
    def leave(environment):
        subprocess.run(do, shell=True, check=True, env=environment)
        return lambda: subprocess.run(undo, shell=True, check=True, env=environment)
    return leave


def check(kind, name, leave):
    code, said = named(leave)
    assert code == 1 and said.splitlines() == [f"left behind: {kind} {name}"], said


def test_nothing_is_nothing():
    assert named(shell("true", "true")) == (0, "")


def test_a_link():
    code, said = named(shell("ip link add left0 type veth peer name left1", "ip link del left0"))
    assert code == 1 and sorted(said.splitlines()) == ["left behind: link left0@left1",
                                                       "left behind: link left1@left0"], said


def test_a_file_in_shared_memory():
    path = f"/dev/shm/left{os.getpid()}"
    check("file", path, shell(f"touch {path}", f"rm {path}"))


def test_a_file_under_run():
    os.mkdir("/run/some")
    check("file", "/run/some/left", shell("touch /run/some/left", "rm /run/some/left"))


def test_a_folder_of_ours_in_tmp():
    path = f"/tmp/turnpike-left{os.getpid()}"
    check("file", path, shell(f"mkdir {path}", f"rmdir {path}"))


def test_a_file_in_the_temporary_folder():
    code, said = named(shell("touch $TMPDIR/left", "rm $TMPDIR/left"))
    assert code == 1 and said.startswith("left behind: file ") and said.endswith("/left\n"), said


def test_a_mount():
    os.makedirs("/run/mount", exist_ok=True)  # mount's own
    check("mount", "left /mnt tmpfs", shell("mount -t tmpfs left /mnt", "umount /mnt"))


def test_a_namespace_is_seen_with_what_it_needs():
    code, said = named(shell("ip netns add left", "ip netns del left"))
    assert code == 1 and "left behind: namespace left\n" in said, said


def test_a_process():
    def leave(environment):
        process = subprocess.Popen(["sleep", "60"], env=environment)

        def undo():
            process.kill()
            process.wait()
        return undo
    code, said = named(leave)
    assert code == 1 and said.startswith("left behind: process ") and said.endswith(" sleep\n"), said


if __name__ == "__main__":
    tap.main(globals())
