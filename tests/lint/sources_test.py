#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rules for the sources that no compiler checks: sources_test.py [TEST...]"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

# A parser of 25,000 lines and one of 10,000: a header that includes one adds a second to each of its sources.
# Intrinsics and their headers, of x86 and AArch64.
INTRINSIC = re.compile(r"\b(?:\w*intrin\.h|cpuid\.h|arm_neon\.h|arm_acle\.h|_mm\d*_\w+|__m(?:64|128|256|512)\w?|__builtin_ia32_\w+)\b")
ARCHITECTURE = re.compile(r"\b__(?:x86_64|aarch64)__\b")
LARGE = re.compile(r'^#include [<"](nlohmann/json\.hpp|CLI/)', re.MULTILINE)


def unguarded_intrinsics(text):
    """Lines that use an instruction of one architecture outside of an #if for it."""
    found, guards = [], []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0].strip()
        if code.startswith("#if"):
            guards.append(bool(ARCHITECTURE.search(code)))
        elif code.startswith("#elif") and guards:
            guards[-1] = guards[-1] or bool(ARCHITECTURE.search(code))
        elif code.startswith("#endif") and guards:
            guards.pop()
        elif INTRINSIC.search(code) and not any(guards):
            found.append(number)
    return found


def tracked(*patterns):
    """Files of the tree; without git (a release's archive) all files below the code folders."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", *patterns], capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    return [path for folder in ("lib", "app", "drivers", "examples", "tests") for pattern in patterns
            for path in (ROOT / folder).rglob(pattern)]


def offenders(headers):
    return [str(path.relative_to(ROOT)) for path in headers if "pch" not in path.parts and "tests" not in path.parts
            and LARGE.search(path.read_text("utf-8"))]


def test_no_header_includes_a_large_library():
    headers = tracked("*.hpp", "*.h")
    assert len(headers) > 200, headers
    assert not offenders(headers), f"these headers should include <nlohmann/json_fwd.hpp> or declare the types: {offenders(headers)}"


def test_the_rule_finds_an_offender():
    assert LARGE.search('#pragma once\n#include <nlohmann/json.hpp>\n') and LARGE.search('#include "CLI/CLI.hpp"\n')
    assert not LARGE.search("#include <nlohmann/json_fwd.hpp>\n")


def test_only_lib_isa_has_intrinsics_without_a_guard():
    sources = [path for path in tracked("*.cpp", "*.hpp", "*.h", "*.c") if ROOT / "lib/isa" not in path.parents]
    assert len(sources) > 500, len(sources)
    found = [f"{path.relative_to(ROOT)}:{line}" for path in sources for line in unguarded_intrinsics(path.read_text("utf-8"))]
    assert not found, f"instructions of one architecture, which belong to lib/isa or behind #if defined(__x86_64__): {found}"


def test_the_rule_finds_an_intrinsic():
    assert unguarded_intrinsics("#include <immintrin.h>\nvoid f() { _mm_pause(); }\n__m256i x;\n") == [1, 2, 3]
    assert unguarded_intrinsics("#ifdef NDEBUG\n__builtin_ia32_pause();\n#endif\n") == [2]
    assert not unguarded_intrinsics("#if defined(__x86_64__)\n__builtin_ia32_pause();\n#endif\n// _mm_pause()\n")
    assert unguarded_intrinsics("#if defined(__x86_64__)\n#endif\n#include <arm_neon.h>\n") == [3]


def test_every_code_folder_has_a_readme():
    folders = {path.parent for path in tracked("*.cpp", "*.hpp", "*.h", "*.c", "*.py")}
    assert len(folders) > 50, folders
    missing = sorted(str(folder.relative_to(ROOT)) for folder in folders if not (folder / "README.md").exists())
    assert not missing, missing


if __name__ == "__main__":
    tap.main(globals())
