# SPDX-License-Identifier: BSD-3-Clause
"""Examples of turnpike-throughput (examples/*/run), run in a copy."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from lib import tap
from lib.build import BUILD

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = ("turnpike", "turnpikectl", "throughput")


def run_example(name, edits, timeout):
    """(result, page, output) of examples/NAME/run. `edits`: {file: {old text: new text}}. It must succeed, and leave neither a
    network namespace nor a file behind."""
    for program in ("dpdk-testpmd", "ovsdb-server", "ethtool"):
        if shutil.which(program) is None:
            tap.skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        copy = pathlib.Path(folder, name)
        shutil.copytree(EXAMPLES / name, copy)
        for file, replacements in edits.items():
            text = (copy / file).read_text(encoding="utf-8")
            for old, new in replacements.items():
                assert old in text, (file, old)
                text = text.replace(old, new)
            (copy / file).write_text(text, encoding="utf-8")
        path = ":".join(os.path.join(BUILD, "app", p) for p in PROGRAMS)
        done = subprocess.run([copy / "run", "--output", f"{folder}/result.json", "--html", f"{folder}/result.html"],
                              env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "TMPDIR": folder}, text=True,
                              capture_output=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(pathlib.Path(folder, "result.json").read_text(encoding="utf-8"))
        page = pathlib.Path(folder, "result.html").read_text(encoding="utf-8")
        assert result["complete"], result
        assert name not in subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
        assert sorted(os.listdir(folder)) == sorted([name, "result.html", "result.json"]), os.listdir(folder)
        return result, page, done.stdout


def check_trials(step):
    """The device changes no frame, and sends no frame to another port, in the trials of the first frame size."""
    for trial in step["result"]["sizes"][0]["trials"]:
        assert trial["frames"]["damaged"] == 0 and trial["misdirected"] == 0, (step["name"], trial)
