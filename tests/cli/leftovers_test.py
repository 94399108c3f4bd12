#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/leftovers names leftovers of a run, kind by kind, and nothing else."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(__file__), "../../devtools/leftovers")


def named(leave):
    """The output after `leave` has run, in namespaces of this test; leave() returns how to undo it. Other tests share /tmp: their
    files there are left out."""
    with tempfile.TemporaryDirectory() as ours, tempfile.NamedTemporaryFile() as before:
        environment = {**os.environ, "TMPDIR": ours, "TURNPIKE_RUN": f"leftovers-test-{os.getpid()}"}
        subprocess.run([PROGRAM, "look", before.name], check=True, env=environment)
        undo = leave(environment)
        try:
            done = subprocess.run([PROGRAM, "compare", before.name], env={**environment, "TURNPIKE_PATIENCE": "0"},
                                  capture_output=True, text=True, check=False)
        finally:
            undo()
    assert done.returncode == (1 if done.stdout else 0), done
    ours = [line for line in done.stdout.splitlines() if line.endswith("/left") or "-left" in line or not line.startswith("left behind: file /tmp/turnpike")]
    return (1 if ours else 0), "".join(line + "\n" for line in ours)


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


def nothing(leave):
    assert named(leave) == (0, "")


def test_a_file_in_shared_memory():
    path = f"/dev/shm/turnpike-left{os.getpid()}"
    check("file", path, shell(f"touch {path}", f"rm {path}"))


def test_a_file_under_run():
    os.mkdir("/run/dpdk")
    check("file", "/run/dpdk/left", shell("touch /run/dpdk/left", "rm /run/dpdk/left"))


def test_a_folder_of_ours_in_tmp():
    path = f"/tmp/turnpike-left{os.getpid()}"
    check("file", path, shell(f"mkdir {path}", f"rmdir {path}"))


def test_a_file_in_the_temporary_folder():
    code, said = named(shell("touch $TMPDIR/left", "rm $TMPDIR/left"))
    assert code == 1 and said.startswith("left behind: file ") and said.endswith("/left\n"), said


def test_a_mount():
    check("mount", "turnpike-left /mnt tmpfs", shell("mount -t tmpfs turnpike-left /mnt", "umount /mnt"))


def test_a_mount_in_the_temporary_folder():
    code, said = named(shell("mkdir $TMPDIR/on && mount -t tmpfs any $TMPDIR/on", "umount $TMPDIR/on; rmdir $TMPDIR/on"))
    assert code == 1 and "left behind: mount any " in said, said


def test_a_namespace():
    code, said = named(shell("ip netns add tpk1-left", "ip netns del tpk1-left"))
    assert code == 1 and "left behind: namespace tpk1-left\n" in said, said


def test_a_hugepage_file_that_nobody_maps():
    subprocess.run("mkdir /mnt/huge && mount -t hugetlbfs none /mnt/huge", shell=True, check=True)
    check("hugepage file", "/mnt/huge/tpk1map_0", shell("touch /mnt/huge/tpk1map_0", "rm /mnt/huge/tpk1map_0"))
    nothing(shell("touch /mnt/huge/rtemap_0", "rm /mnt/huge/rtemap_0"))


def test_another_run_s_are_not_ours():
    folder = f"/tmp/turnpike-tmp-left{os.getpid()}"
    nothing(shell(f"mkdir {folder} && mount -t tmpfs turnpike-tmp {folder} && touch {folder}/left", f"umount {folder}; rmdir {folder}"))


def test_what_others_do_is_theirs():
    """A login, a package manager, a container, a journal: they come and go on any machine."""
    path = f"/dev/shm/PostgreSQL.{os.getpid()}"
    nothing(shell(f"touch {path}", f"rm {path}"))
    nothing(shell("mkdir -p /run/user/1000", "rmdir /run/user/1000 /run/user"))
    nothing(shell("mount -t tmpfs theirs /mnt", "umount /mnt"))
    nothing(shell("ip netns add theirs", "ip netns del theirs"))
    nothing(shell("ip link add theirs0 type veth peer name theirs1", "ip link del theirs0"))


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
    for place in ("/dev/shm", "/mnt"):  # in a namespace: devtools/alone
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    tap.main(globals())
