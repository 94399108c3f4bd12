#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The 128-bit vectors of the datapath, natively and for AArch64 under emulation: v128_test.py [TEST...]"""
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
from lib import tap  # noqa: E402

SOURCE = ROOT / "tests/unit/isa/v128_check.cpp"


def check(compiler, flags, *runner):
    for program in (compiler, *runner):
        if shutil.which(program) is None:
            tap.skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        built = pathlib.Path(folder, "check")
        subprocess.run([compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", *flags, f"-I{ROOT / 'lib'}", str(SOURCE),
                        "-o", str(built)], check=True, timeout=120)
        done = subprocess.run([*runner, str(built)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout == "0 failures\n", done.stdout[-2000:] + done.stderr[-2000:]


def test_of_this_machine():
    check("g++", ["-march=corei7"] if platform.machine() == "x86_64" else ["-march=armv8-a+crc"])


def test_of_aarch64():
    check("aarch64-linux-gnu-g++", ["-march=armv8-a+crc", "-static"], "qemu-aarch64-static")


if __name__ == "__main__":
    tap.main(globals())
