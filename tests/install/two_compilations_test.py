#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The committed tree, compiled twice with the flags of the Debian packages, in two folders and without ccache, gives the same
bytes. TURNPIKE_PARTS: folders whose installed files are compiled and compared ("app data drivers lib": the whole tree);
NINJA_FLAGS: ninja's options. Minutes to an hour: devtools/test --long."""
import difflib
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
PARTS = os.environ.get("TURNPIKE_PARTS", "lib drivers app/turnpikectl").split()
LIMIT_S = 7200


def run(words, folder, environment, umask=0o022):
    done = subprocess.run(words, cwd=folder, env=environment, umask=umask, text=True, capture_output=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def compiled(folder, umask, **more):
    """{path below the build folder: path} of the installed files of PARTS, with their debug information."""
    environment = {name: value for name, value in os.environ.items() if name != "TURNPIKE_BUILD"} | more | {
        "CCACHE_DISABLE": "1", "SOURCE_DATE_EPOCH": run(["git", "log", "-1", "--format=%ct"], TOP, os.environ).strip()}
    folder.mkdir(parents=True)
    run(["sh", "-c", f"git -C {TOP} archive HEAD | tar -x && cp -r {TOP}/.sdk ."], folder, environment, umask)
    run(["debian/rules", "override_dh_auto_configure"], folder, environment, umask)
    build = next(folder.glob("*/build.ninja")).parent
    installed = [pathlib.Path(path) for path in json.loads(run(["meson", "introspect", "--installed", build], folder, environment))]
    made = [str(path.relative_to(build)) for path in installed if path.is_relative_to(build)]
    targets = [path for path in made if any(path.startswith(part + "/") for part in PARTS)]
    run(["ninja", "-C", build, *shlex.split(os.environ.get("NINJA_FLAGS", "")), *(t for t in targets if not (build / t).exists())],
        folder, environment, umask)
    return {path: build / path for path in [*targets, *(path for path in made if path.startswith("meson-private/"))]}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def difference(one, other):
    """The first different texts of two files."""
    texts = [run(["strings", "-a", path], TOP, os.environ).splitlines() for path in (one, other)]
    return [line for line in difflib.unified_diff(*texts, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")][:6]


@tap.limit(2 * LIMIT_S)
def test_two_compilations_give_the_same_bytes():
    """The second one in a folder with a longer path, with another umask, time zone and language."""
    if not (TOP / ".sdk").exists() or shutil.which("dh") is None:
        raise AssertionError("devtools/setup has not run")
    with tempfile.TemporaryDirectory(prefix="turnpike-compiled-") as folder:
        first = compiled(pathlib.Path(folder) / "one", 0o022, TZ="UTC", LC_ALL="C.UTF-8")
        second = compiled(pathlib.Path(folder) / "a-longer-path" / "two", 0o027, TZ="Asia/Kathmandu", LC_ALL="C")
        assert first.keys() == second.keys() and first, sorted(first)
        different = {path: difference(first[path], second[path]) for path in first if digest(first[path]) != digest(second[path])}
        assert not different, json.dumps(different, indent=1)
        print(f"# {len(first)} files, {sum(path.stat().st_size for path in first.values()) >> 20} MB")


if __name__ == "__main__":
    tap.main(globals())
