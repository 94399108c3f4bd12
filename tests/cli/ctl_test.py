#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpikectl as a user runs it, against a server that says what the test lets it: ctl_test.py PROGRAM [TEST...]"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import tap  # noqa: E402

PROGRAM = sys.argv.pop(1)
GREETING = {"schema": "turnpike.control/1", "version": "0"}


class Server:
    """Answers each request with the next of `answers`; remembers the requests. An answer may be raw bytes, or None:
    it hangs up."""

    def __init__(self, *answers, greeting=GREETING):
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-ctl-")
        self.path = os.path.join(self.folder.name, "socket")
        self.asked, self.answers, self.greeting = [], list(answers), greeting
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        connection, _ = self.listening.accept()
        with connection, connection.makefile("rwb") as lines:
            lines.write(json.dumps(self.greeting).encode() + b"\n")
            lines.flush()
            for answer in self.answers:
                self.asked.append(json.loads(lines.readline()))
                if answer is None:
                    return
                lines.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
                lines.flush()
            lines.read()

    def run(self, *words):
        return run("--socket", self.path, *words)


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=20, check=False)


def output(server, *words):
    done = server.run(*words)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def test_usage():
    for words in ([], ["dance"], ["show"], ["apply"], ["show", "routes", "::/0", "shorter"], ["--timeout", "0", "reload"]):
        done = run(*words)
        assert done.returncode == 2 and done.stdout == "" and done.stderr, (words, done)
    assert "exit codes" in run("--help").stdout
    assert run("--version").returncode == 0


def test_nobody_answers():
    done = run("--socket", "/no/socket", "reload")
    assert done.returncode == 3 and "/no/socket: no turnpike can be asked there" in done.stderr, done
    done = Server(greeting={"schema": "other/1"}).run("reload")
    assert done.returncode == 3 and "does not speak" in done.stderr, done
    done = Server(None).run("reload")
    assert done.returncode == 3 and "closed the connection" in done.stderr, done
    done = Server(b"nonsense\n").run("reload")
    assert done.returncode == 3 and "no JSON" in done.stderr, done
    done = Server(b"").run("--timeout", "1", "reload")
    assert done.returncode == 3 and "does not answer" in done.stderr, done


def test_refused_in_turnpikes_words():
    done = Server({"error": {"what": "is\x1b wrong", "where": "f.yaml:3", "code": "EINVAL"}}).run("reload")
    assert done.returncode == 1 and done.stderr == "turnpikectl: f.yaml:3: is\\x1b wrong\n", done
    done = Server({"error": {"what": "later", "where": None, "code": "EBUSY"}}).run("reload")
    assert done.returncode == 1 and done.stderr == "turnpikectl: later (EBUSY)\n", done
    for odd in ({}, [], 7, {"error": 7}):
        assert Server(odd).run("reload").returncode == 1, odd


def test_pages_are_all_asked_for():
    def route(to):
        return {"to": to, "origin": "configured", "type": "drop", "reason": "route_blackhole"}

    pages = ({"result": {"routes": [route("10.0.0.0/8")], "next": "10.1.0.0/16"}},
             {"result": {"routes": [route("10.1.0.0/16")], "next": None}})
    server = Server(*pages)
    said = output(server, "show", "routes", "10.0.0.0/8", "longer").splitlines()
    assert said[0].split() == "to origin type reason interface via mac".split(), said
    assert said[1].split() == ["10.0.0.0/8", "configured", "drop", "route_blackhole", "-", "-", "-"], said
    assert said[3].split()[0] == "10.1.0.0/16", said
    assert server.asked == [{"request": "show", "what": "routes", "to": "10.0.0.0/8", "longer": True},
                            {"request": "show", "what": "routes", "to": "10.0.0.0/8", "longer": True,
                             "from": "10.1.0.0/16"}], server.asked
    lines = output(Server(*pages), "--json", "show", "routes").splitlines()
    assert [json.loads(line) for line in lines] == [p["result"] for p in pages]


def test_tables_and_values():
    workers = {"result": {"workers": [{"lcore": 1, "rx_queues": [{"port": "west", "queue": 0}]},
                                      {"lcore": 12, "rx_queues": []}]}}
    assert output(Server(workers), "show", "workers") == "lcore  rx_queues\n    1  west:0\n   12  -\n"
    values = {"result": {"drops": {"no_route": 3}, "ports": {"west": {}}}}
    assert [line.split() for line in output(Server(values), "show", "drops").splitlines()] == [
        ["drops.no_route", "3"], ["ports.west", "-"]]
    server = Server({"result": {"to": None, "reason": "no_route"}})
    assert output(server, "show", "route", "192.0.2.1").split() == ["reason", "no_route", "to", "-"]
    assert server.asked[0]["address"] == "192.0.2.1"


def test_a_file_without_an_end_is_not_read_to_it():
    """What does not fit a line is turnpike's to read, and to refuse."""
    assert run("--socket", "/nowhere/control", "apply", "/dev/zero").returncode == 3


def test_files():
    changed = {"result": {"text": "1 port", "ports": {"removed": ["a"], "added": [], "changed": []}}}
    with tempfile.TemporaryDirectory() as folder:
        small, large = os.path.join(folder, "small.yaml"), os.path.join(folder, "large.yaml")
        with open(small, "w", encoding="utf-8") as file:
            file.write("ports: [\"ü\n\"]\n")
        with open(large, "w", encoding="utf-8") as file:
            file.write("#" * (1 << 20))
        server = Server(changed)
        assert output(server, "apply", small) == "changed: 1 port\n  ports removed: a\n"
        assert server.asked == [{"request": "apply", "text": "ports: [\"ü\n\"]\n", "name": small}], server.asked
        server = Server(changed)
        assert output(server, "diff", large).startswith("would change: 1 port\n")
        assert server.asked == [{"request": "diff", "file": large}], server.asked
        assert output(Server({"result": {"valid": small}}), "check", small) == f"{small}: valid\n"
        missing = Server().run("check", os.path.join(folder, "none"))
        assert missing.returncode == 1 and "No such file" in missing.stderr, missing


if __name__ == "__main__":
    tap.main(globals())
