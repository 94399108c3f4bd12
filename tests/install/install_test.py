#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` puts down is whole: a user builds our examples against it with pkg-config."""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

BUILD = os.environ["TURNPIKE_BUILD"]
SOURCE = os.path.join(os.path.dirname(__file__), "../..")
_folder = tempfile.TemporaryDirectory(prefix="turnpike-install-")
PREFIX = os.path.join(_folder.name, "usr/local")


def run(*words, env=None):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def environment():
    pc = os.path.dirname(glob.glob(f"{PREFIX}/lib/**/turnpike-base.pc", recursive=True)[0])
    return {**os.environ, "PKG_CONFIG_PATH": pc}


def test_install():
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", _folder.name)
    # Installed below another root: let pkg-config find it there.
    for pc in glob.glob(f"{PREFIX}/lib/**/turnpike-*.pc", recursive=True):
        with open(pc, encoding="utf-8") as file:
            text = file.read()
        with open(pc, "w", encoding="utf-8") as file:
            file.write(re.sub(r"^prefix=.*$", f"prefix={PREFIX}", text, flags=re.M))
    assert os.access(f"{PREFIX}/bin/turnpike", os.X_OK)


def test_libraries_are_versioned():
    for library in glob.glob(f"{PREFIX}/lib/*/libturnpike-*.so"):
        target = os.readlink(library)
        assert re.search(r"\.so\.\d+$", target), f"{library} -> {target}"


def test_every_header_compiles_alone():
    env = environment()
    rooms = sorted(os.listdir(f"{PREFIX}/include/turnpike"))
    assert {"base", "isa", "packet", "cost", "rxtx"} <= set(rooms), rooms
    for room in rooms:
        flags = run("pkg-config", "--cflags", f"turnpike-{room}", "libdpdk", env=env).split()
        headers = "".join(f'#include "{room}/{h}"\n'
                          for h in sorted(os.listdir(f"{PREFIX}/include/turnpike/{room}")))
        source = os.path.join(_folder.name, "all.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(headers)
        run("g++", "-std=c++20", "-fsyntax-only", "-DALLOW_EXPERIMENTAL_API", source, *flags)


def test_examples_build_with_pkg_config():
    env = environment()
    for example in sorted(glob.glob(f"{SOURCE}/examples/*.cpp")):
        with open(example, encoding="utf-8") as file:
            rooms = sorted(set(re.findall(r'^#include "(\w+)/', file.read(), re.M)))
        flags = run("pkg-config", "--cflags", "--libs", *(f"turnpike-{r}" for r in rooms), "libdpdk",
                    env=env).split()
        program = os.path.join(_folder.name, os.path.basename(example)[:-4])
        run("g++", "-std=c++20", "-DALLOW_EXPERIMENTAL_API", example, "-o", program, *flags)
        libraries = os.path.dirname(glob.glob(f"{PREFIX}/lib/**/libturnpike-isa.so", recursive=True)[0])
        linked = run("ldd", program, env={**os.environ, "LD_LIBRARY_PATH": libraries})
        assert "not found" not in linked, linked


if __name__ == "__main__":
    tap.main(globals())
