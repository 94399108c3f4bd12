#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A compiler cache and precompiled headers: a checkout of the same contents, with other modification times, builds."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]


def sloppiness():
    """The differences that ccache overlooks in devtools/test."""
    return re.search(r"CCACHE_SLOPPINESS=(\S+)", (TOP / "devtools/test").read_text(encoding="utf-8")).group(1)


def arguments():
    """The lines of meson.build about the times in clang's precompiled headers."""
    text = (TOP / "meson.build").read_text(encoding="utf-8")
    return re.search(r"# ccache may return.*?\nendif\n", text, re.S).group(0)


def build(folder, meson_build):
    """Two checkouts of one project at one place. The second one changes a source, but not the precompiled header."""
    (folder / "pch").mkdir()
    (folder / "meson.build").write_text(meson_build, encoding="utf-8")
    (folder / "pch/all.hpp").write_text("#include <vector>\n", encoding="utf-8")
    environment = os.environ | {"CCACHE_DIR": str(folder / "cache"), "CCACHE_SLOPPINESS": sloppiness(), "CXX": "ccache clang++"}
    run = lambda *command: subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=50)  # noqa: E731
    for time, value in ((1_000_000_000, 0), (1_000_001_000, 1)):
        (folder / "main.cpp").write_text(f"int main() {{ return static_cast<int>(std::vector<int>({value}).size()); }}\n",
                                         encoding="utf-8")
        os.utime(folder / "pch/all.hpp", (time, time))
        assert (setup := run("meson", "setup", f"build-{value}")).returncode == 0, setup.stdout
        (folder / f"build-{value}").rename(folder / "build")
        built = run("ninja", "-C", "build", "-v")
        if built.returncode != 0:
            return built.stdout
        assert subprocess.run([folder / "build/program"], check=False).returncode == value
        (folder / "build").rename(folder / f"done-{value}")
    return ""


PROJECT = """project('x', 'cpp', default_options: 'cpp_std=c++20')
cpp = meson.get_compiler('cpp')
{}executable('program', 'main.cpp', cpp_pch: 'pch/all.hpp')
"""


def test_a_second_checkout_builds_with_the_first_ones_precompiled_header():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        assert build(pathlib.Path(folder), PROJECT.format(arguments())) == ""


def test_clang_would_reject_it_otherwise():
    """This shows that the other test can fail."""
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        assert "has been modified since the precompiled header" in build(pathlib.Path(folder), PROJECT.format(""))


tap.main(globals())
