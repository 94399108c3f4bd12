#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The files of `meson install` are complete: a user builds our examples against them with pkg-config."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dpdk_program import wait_for_hugepages  # noqa: E402

BUILD = os.environ["TURNPIKE_BUILD"]
SOURCE = os.path.join(os.path.dirname(__file__), "../..")
_folder = tempfile.TemporaryDirectory(prefix="turnpike-install-")
PREFIX = os.path.join(_folder.name, "usr/local")


def run(*words, env=None):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def environment(**more):
    pc = os.path.dirname(glob.glob(f"{PREFIX}/lib/**/turnpike-base.pc", recursive=True)[0])
    return {**os.environ, "PKG_CONFIG_PATH": pc, **more}


def flags(*names):
    """Compiler flags of our libraries below another root, and of DPDK in its installed place."""
    ours = run("pkg-config", "--define-prefix", "--cflags", "--libs", *names, env=environment())
    return [*ours.split(), *run("pkg-config", "--cflags", "--libs", "libdpdk").split()]


def test_install():
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", _folder.name)
    for program in ("turnpike", "turnpikectl"):
        assert os.access(f"{PREFIX}/bin/{program}", os.X_OK), program
    for made in ("share/man/man1/turnpike.1", "share/man/man1/turnpikectl.1", "share/bash-completion/completions/turnpikectl",
                 "share/zsh/site-functions/_turnpikectl", "share/fish/vendor_completions.d/turnpikectl.fish"):
        with open(f"{PREFIX}/{made}", encoding="utf-8") as file:
            assert file.read().count("turnpike") > 2, made


def test_a_prefix_of_its_own_has_every_file():
    """Nothing beside it, not even the drivers, which an installation of the system puts into DPDK's folder."""
    with tempfile.TemporaryDirectory(prefix="turnpike-prefix-") as folder:
        run("meson", "setup", f"{folder}/build", SOURCE, "--prefix", f"{folder}/opt", "-Dtests=false", "-Dexamples=false")
        plan = json.loads(run("meson", "introspect", "--installed", f"{folder}/build"))
    assert any(target.endswith("/librte_net_xsk.so") for target in plan.values()), plan
    outside = [target for target in plan.values() if not target.startswith(f"{folder}/opt/")]
    assert not outside, outside


def test_tables_of_counters_are_there():
    """The program has them inside; here they can be read and copied (doc/measure.md)."""
    there = os.listdir(f"{PREFIX}/share/turnpike/pmu")
    assert sorted(there) == sorted(os.listdir(f"{SOURCE}/data/pmu")), there


def test_what_the_paper_says_is_there():
    if not os.path.exists(f"{PREFIX}/bin/turnpike-bench-dma"):
        tap.skip("built without the benches (-Dbench=false)")
    with open(f"{PREFIX}/share/turnpike/pcie-bench/paper.json", encoding="utf-8") as file:
        assert all(number["where"] for number in json.load(file)["numbers"])


def test_libraries_are_versioned():
    for library in shared_libraries():
        target = os.readlink(library)
        assert re.search(r"\.so\.\d+$", target), f"{library} -> {target}"


def shared_libraries():
    found = glob.glob(f"{PREFIX}/lib/**/libturnpike-*.so", recursive=True)
    assert found
    return found


def test_libraries_find_each_other():
    """In whatever folder they lie: without LD_LIBRARY_PATH, and not through the system's search path."""
    bare = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for library in shared_libraries():
        linked = run("ldd", library, env=bare)
        assert "not found" not in linked, f"{library}: {linked}"


def test_pkg_config_follows_the_prefix_and_the_sysroot():
    """A copied installation folder, and the root of another machine's file system."""
    libraries = os.path.dirname(shared_libraries()[0])
    for room in os.listdir(f"{PREFIX}/include/turnpike"):
        for how, env in ((["--define-prefix"], environment()),
                         ([], environment(PKG_CONFIG_SYSROOT_DIR=_folder.name))):
            said = run("pkg-config", *how, "--cflags-only-I", "--libs-only-L", f"turnpike-{room}", env=env).split()
            assert {w for w in said if w.endswith("/turnpike")} == {f"-I{PREFIX}/include/turnpike"}, (room, how, said)
            if os.path.exists(f"{libraries}/libturnpike-{room}.so"):
                assert f"-L{libraries}" in said, (room, how, said)


def test_every_header_compiles_alone():
    rooms = sorted(os.listdir(f"{PREFIX}/include/turnpike"))
    assert {"base", "isa", "packet", "counters", "rxtx"} <= set(rooms), rooms
    for room in rooms:
        headers = "".join(f'#include "{room}/{h}"\n'
                          for h in sorted(os.listdir(f"{PREFIX}/include/turnpike/{room}")))
        source = os.path.join(_folder.name, "all.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(headers)
        run("g++", "-std=c++20", "-fsyntax-only", "-DALLOW_EXPERIMENTAL_API", source, *flags(f"turnpike-{room}"))


def test_examples_build_with_pkg_config():
    for example in sorted(glob.glob(f"{SOURCE}/examples/*.c*")):
        with open(example, encoding="utf-8") as file:
            rooms = sorted(set(re.findall(r'^#include "(\w+)/', file.read(), re.M)))
        name, suffix = os.path.splitext(os.path.basename(example))
        program = os.path.join(_folder.name, name)
        compiler = ("g++", "-std=c++20", "-DALLOW_EXPERIMENTAL_API") if suffix == ".cpp" else ("gcc", "-std=c17", "-D_DEFAULT_SOURCE")
        run(*compiler, example, "-o", program,
            *flags(*(f"turnpike-{r}" for r in rooms)))
        linked = run("ldd", program, env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(shared_libraries()[0])})
        assert "not found" not in linked, linked


def test_bench_forward_finds_what_it_starts():
    """turnpike and its part in C++, beside it and below the prefix; the cell takes neither ports nor a worker."""
    if not os.path.exists(f"{PREFIX}/bin/turnpike-bench-forward"):
        tap.skip("built without the benches (-Dbench=false)")
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        tap.skip("turnpike-bench-forward needs root and two CPUs")
    wait_for_hugepages()
    folders = {os.path.dirname(library) for library in shared_libraries()}
    folders |= {os.path.dirname(path) for path in glob.glob(f"{_folder.name}/**/librte_*.so", recursive=True)}
    said = run(f"{PREFIX}/bin/turnpike-bench-forward", "--json", "--only", "^patch/64/vpp",
               env={**os.environ, "LD_LIBRARY_PATH": ":".join(sorted(folders))})
    cells = json.loads(said)["cells"]
    assert [c["why"] for c in cells] == ["no --vpp PREFIX given"], cells


if __name__ == "__main__":
    tap.main(globals())
