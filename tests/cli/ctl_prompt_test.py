#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpikectl's prompt in a terminal, and `turnpikectl edit`: ctl_prompt_test.py PROGRAM [TEST...]"""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import tap  # noqa: E402
from lib.control_server import PROGRAM, Server  # noqa: E402

PORTS = {"result": {"ports": [{"name": "west", "mtu": 1500}, {"name": "east", "mtu": 9000}]}}
CHANGED = {"result": {"text": "1 port", "compare": ["  ports:", "-     mtu: 1500", "+     mtu: 9000"]}}


class Box:
    """A turnpike with two ports; `refuse` is the error of the next change."""

    def __init__(self):
        self.state = {"states": [], "unsaved": False, "undone_in_s": None}
        self.refuse = self.invalid = self.silent_about = None
        self.report = None
        self.running = None  # the id of the running configuration
        self.text = "ports: []\n"
        self.server = Server(*[self.answer] * 90)

    def answer(self, request):
        kind = request["request"]
        if kind == self.silent_about:
            return b""
        if kind == "history":
            return {"result": self.state}
        if kind in ("change", "diff", "apply", "reload"):
            if self.refuse:
                return {"error": self.refuse}
            if request.get("unless_changed", self.running) != self.running:
                return {"error": {"code": "EBUSY", "where": "unless_changed",
                                  "what": "the running configuration was changed meanwhile, by uid 0 (process 7): change"}}
            if kind == "apply" or (kind == "change" and not request.get("dry")):
                self.state["unsaved"] = True
                self.state["undone_in_s"] = request.get("confirm")
            result = dict(CHANGED["result"])
            if self.running and request.get("dry"):
                result["id"] = self.running
            if kind == "change" and request.get("dry") and self.invalid:
                result["invalid"] = self.invalid
            if request.get("confirm"):
                result["undone_in_s"] = request["confirm"]
                result["id"] = 17
            return {"result": result}
        if kind == "confirm":
            self.state["undone_in_s"] = None
            return {"result": {"confirmed": "change"}}
        if kind == "capture":
            return {"error": {"code": "EINVAL", "where": "port", "what": "no"}}
        if kind == "configuration":
            return {"result": {"text": self.text, "next": None}}
        if kind == "show" and request["what"] == "report" and self.report:
            return self.report
        return PORTS

    def changes(self):
        return [r for r in self.server.asked if r["request"] == "change"]


class Terminal:
    def __init__(self, box, *words, environment=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm"} | (environment or {}))
            os.execv(PROGRAM, [PROGRAM, "--socket", box.server.path, *words])
        self.seen = ""

    def read_until(self, text, seconds=20):
        """The output up to a text, without escape sequences."""
        end = time.monotonic() + seconds
        while True:
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.seen)
            if text in plain:
                at = plain.index(text) + len(text)
                self.seen = plain[at:]
                return plain[:at]
            assert time.monotonic() < end, f"no {text!r} in {plain!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    data = b""
                assert data, f"ended without {text!r}: {plain!r}"
                self.seen += data.decode(errors="replace")

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text, until="> "):
        """Types a line, and returns its output with the next prompt. The terminal echoes keys that arrive before the editor
        reads, and the editor shows them again."""
        self.type(text + "\n")
        self.read_until(text)
        return self.read_until(until).rpartition(text + "\n")[2]

    def end(self):
        """The exit code."""
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_commands_and_filters():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    shown = terminal.line("show ports")
    assert "west" in shown and "east" in shown and "9000" in shown, shown
    shown = terminal.line("sh ports | match east")
    assert "east" in shown and "west" not in shown, shown
    shown = terminal.line("show ports | except east | except name")
    assert "west" in shown and "east" not in shown, shown
    shown = terminal.line("show ports|match east|except name")
    assert "east" in shown and "west" not in shown, shown
    terminal.line('set port west description "why|what?"')
    assert box.changes()[-1]["do"] == [{"set": {"port": {"name": "west", "description": "why|what?"}}}], box.changes()
    shown = terminal.line("show ports | json | match mtu")
    assert '"mtu":9000' in shown, shown
    shown = terminal.line("show ports | sort")
    assert "expected match TEXT" in shown, shown
    shown = terminal.line("show prots")
    assert "'prots' is unknown here" in shown, shown
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_filters_of_many_lines():
    box = Box()
    box.text = "".join(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}/32 via 10.0.0.1\n" for n in range(300_000))
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    shown = terminal.line("show running | match 10.4.147.223/")
    assert shown.split() == ["10.4.147.223/32", "via", "10.0.0.1", "turnpike>"], shown
    terminal.type("show running | except blackhole\n")
    terminal.read_until("10.0.0.9/32")
    terminal.type("\x03")
    shown = terminal.read_until("turnpike> ")
    assert len(shown) < len(box.text) / 2, "Ctrl-C ends the output"
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_ctrl_c_ends_a_report():
    box = Box()
    box.report = {"result": {"text": "x" * 3_000_000}}
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.type("report --json\n")
    terminal.read_until("x" * 100)
    terminal.type("\x03")
    shown = terminal.read_until("turnpike> ")
    assert len(shown) < 1_500_000, "Ctrl-C ends the output"
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_the_prompts_own_words_are_no_commands():
    """`conf` is `configure` on other routers: it must not confirm another operator's change."""
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    for begun, words in (("con", "confirm or configure"), ("conf", "confirm or configure"), ("ex", "explain or exit")):
        shown = terminal.line(begun)
        assert f"'{begun}' is ambiguous: {words}" in shown, shown
    assert "configure: 'x' is unexpected" in terminal.line("configure x")
    assert "show drops" in terminal.line("help show")
    assert "confirmed" in terminal.line("confir")
    terminal.line("configu", "(candidate: 0)# ")
    assert "no changes" in terminal.line("compa", "# ")
    shown = terminal.line("com", "# ")
    assert "'com' is ambiguous: completion, compare or commit" in shown, shown
    assert "forgotten" in terminal.line("ab")
    assert [r["request"] for r in box.server.asked].count("confirm") == 1, box.server.asked
    terminal.type("exi\n")
    assert terminal.end() == 0


def test_options_of_a_line_are_used_instead_of_the_prompts():
    box = Box()
    terminal = Terminal(box, "--timeout", "5", "--json")
    terminal.read_until("turnpike> ")
    shown = terminal.line("show ports --timeout 6 --json | json | match mtu")
    assert '"mtu":9000' in shown, shown
    shown = terminal.line("show ports --timeout 6 --timeout 7")
    assert "--timeout: is given twice" in shown, shown
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_a_command_gives_the_signals_back():
    """Signals that stay blocked would be blocked in a child, too: Ctrl-C would end no ping."""
    def blocked_in(pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return re.findall(r"^Sig(?:Blk|Ign):\t(.*)$", status, re.MULTILINE)
    def waits_with(blocked):
        """The prompt blocks SIGINT except where it waits for a key."""
        end = time.monotonic() + 20
        while blocked_in(terminal.pid) != blocked:
            assert time.monotonic() < end, (blocked_in(terminal.pid), blocked)
            time.sleep(0.01)
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    end = time.monotonic() + 20
    while int((before := blocked_in(terminal.pid))[0], 16) & 1 << signal.SIGINT - 1:
        assert time.monotonic() < end, before
    terminal.type("watch ports --interval 0.1\n")
    terminal.read_until("q quits")
    assert blocked_in(terminal.pid) != before
    terminal.type("\x03")
    terminal.read_until("turnpike> ")
    waits_with(before)
    terminal.line("capture west -w /dev/null")
    waits_with(before)
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_ctrl_c_ends_a_line_and_a_command():
    box = Box()
    box.silent_about = "flush"
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.line("configure", "(candidate: 0)# ")
    terminal.line("set port west mtu 9000", "(candidate: 1)# ")
    terminal.type("set port east mtu 99\x03")
    terminal.read_until("^C")
    terminal.read_until("(candidate: 1)# ")
    terminal.type("\x03")
    terminal.read_until("(candidate: 1)# ")
    terminal.line("undo", "(candidate: 0)# ")
    assert len(box.changes()) == 1, box.changes()
    terminal.line("set port west mtu 9000", "(candidate: 1)# ")
    for line in ("fdb flush", "fdb flush | match x"):
        terminal.type(line + "\n")
        end = time.monotonic() + 20
        while box.server.asked[-1]["request"] != "flush":
            assert time.monotonic() < end
            time.sleep(0.01)
        terminal.type("\x03")
        terminal.read_until("turnpikectl: interrupted before the answer")
        terminal.read_until("(candidate: 1)# ")
    assert "west" in terminal.line("show ports", "(candidate: 1)# ")
    terminal.line("abort")
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_ctrl_c_before_a_request_sends_nothing():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")

    def interrupt(line, waits_for):
        """Ctrl-C while a request that precedes the line's own is not answered."""
        before, box.silent_about = len(box.server.asked), waits_for
        terminal.type(line)
        end = time.monotonic() + 20
        while len(box.server.asked) == before:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert box.server.asked[-1]["request"] == waits_for, box.server.asked
        box.silent_about = None
        terminal.type("\x03")

    interrupt("reload\n", "history")
    terminal.read_until("turnpikectl: interrupted; the request was not sent")
    terminal.read_until("turnpike> ")
    interrupt("set port w\t", "show")
    terminal.read_until("^C")
    terminal.read_until("turnpike> ")
    assert "west" in terminal.line("show ports")
    # At a question, too: standard input can be read afterwards.
    box.state["unsaved"] = True
    terminal.type("reload\n")
    terminal.read_until("[y/N] ")
    terminal.type("\x03")
    terminal.read_until("nothing was changed")
    terminal.read_until("> ")
    assert not [r for r in box.server.asked if r["request"] == "reload"], box.server.asked
    terminal.type("batch -\n")
    end = time.monotonic() + 20
    while not termios.tcgetattr(terminal.fd)[3] & termios.ICANON:  # the editor has given the terminal back
        assert time.monotonic() < end
        time.sleep(0.01)
    terminal.type("set port west mtu 9000\n\x04")
    terminal.read_until("changed: 1 port")
    terminal.read_until("> ")
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_a_candidate_is_not_dropped_at_once():
    for leave in ("\x04", "exit\n"):
        box = Box()
        terminal = Terminal(box)
        terminal.read_until("turnpike> ")
        terminal.line("configure", "(candidate: 0)# ")
        terminal.line("set port west mtu 9000", "(candidate: 1)# ")
        for _ in range(2):
            terminal.type("\x04")
            terminal.read_until("commit or abort first; exit or Ctrl-D again drops them")
            terminal.read_until("(candidate: 1)# ")
            terminal.line("compare", "(candidate: 1)# ")
        terminal.type("\x04")
        terminal.read_until("(candidate: 1)# ")
        terminal.type(leave)
        assert terminal.end() == 0


def test_letters_of_utf_8_are_one_key_each():
    for locale in ("C", "C.UTF-8"):
        box = Box()
        terminal = Terminal(box, environment={"LC_ALL": locale})
        terminal.read_until("turnpike> ")
        for key in 'set port west description "Zürich–東京é':
            terminal.type(key)
        terminal.type("\x7f\x7f京ä\x08\"\n")
        terminal.read_until("changed: 1 port")
        terminal.read_until("> ")
        assert box.changes()[-1]["do"] == [{"set": {"port": {"name": "west", "description": "Zürich–東京"}}}], box.changes()
        terminal.type("exit\n")
        assert terminal.end() == 0


def test_completion_help_and_history():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.type("set port w\t")
    terminal.read_until("west ")
    terminal.type("mt\t")
    terminal.read_until("mtu ")
    terminal.type("?")
    assert "VALUE" not in terminal.read_until("turnpike> ")
    terminal.type("9000\n")
    terminal.read_until("changed: 1 port")
    terminal.read_until("> ")
    assert box.changes()[0]["do"] == [{"set": {"port": {"name": "west", "mtu": "9000"}}}], box.changes()
    terminal.type("show p?")
    listed = terminal.read_until("> ")
    assert "ports" in listed and "settings and counters" in listed, listed
    terminal.type("\x15\x1b[A\n")  # an empty line, and the last command
    terminal.read_until("changed: 1 port")
    terminal.read_until("> ")  # only a line editor that reads takes the next key
    assert len(box.changes()) == 2
    terminal.type("\x04")
    assert terminal.end() == 0


def test_a_key_just_after_the_prompt_is_the_editors():
    """When the prompt shows, the terminal passes keys on one by one: else ^D just then ends no prompt. A program that has
    the CPU only while nothing else wants it shows the order."""
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    cpus = os.sched_getaffinity(0)
    for process in (0, terminal.pid):
        os.sched_setaffinity(process, {min(cpus)})
    os.sched_setscheduler(terminal.pid, os.SCHED_IDLE, os.sched_param(0))
    for _ in range(200):
        terminal.type("\n")
        shown = b""
        while b"> " not in shown:
            shown += os.read(terminal.fd, 65536)
        assert not termios.tcgetattr(terminal.fd)[3] & termios.ICANON
    os.sched_setscheduler(terminal.pid, os.SCHED_OTHER, os.sched_param(0))
    os.sched_setaffinity(0, cpus)  # of later cases, too
    terminal.type("\x04")
    assert terminal.end() == 0


def test_unsaved_work_and_a_running_timer_stand_in_the_prompt():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.line("set port west mtu 9000 --confirm 60", "turnpike (confirm within 60 s, unsaved)> ")
    terminal.line("confirm", "turnpike (unsaved)> ")
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_unsaved_work_and_a_running_timer_stand_below_tables():
    box = Box()
    box.state.update({"unsaved": True, "undone_in_s": 42})
    terminal = Terminal(box, "show", "ports")
    shown = terminal.read_until("(unsaved changes; undone in 42 s unless turnpikectl confirm)")
    assert "west" in shown and terminal.end() == 0, shown
    plain = box.server.run("show", "ports").stdout
    assert "west" in plain and "unsaved" not in plain, "no terminal, no footer"
    terminal = Terminal(box)
    terminal.read_until("> ")
    assert "undone in" not in terminal.line("show ports"), "the prompt has it"
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_a_candidate():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.line("configure", "turnpike (candidate: 0)# ")
    terminal.line("set port west mtu 9000", "(candidate: 1)# ")
    terminal.line("set port east mtu 1500", "(candidate: 2)# ")
    assert all(r["dry"] for r in box.changes()), "the candidate is only checked"
    shown = terminal.line("compare", "# ")
    assert "-     mtu: 1500" in shown and "+     mtu: 9000" in shown, shown
    # A change that turnpike refuses is no part of the candidate.
    box.refuse = {"code": "EINVAL", "where": "socket:1",
                  "what": "do[2].set.port.mtu should be a whole number from 68 to 65517, not '-1'"}
    shown = terminal.line("set port west mtu -1", "(candidate: 2)# ")
    assert "set port west mtu: should be a whole number from 68 to 65517, not '-1'" in shown, shown
    box.refuse = None
    shown = terminal.line("exit", "# ")
    assert "commit or abort first" in shown, shown
    terminal.line("set port east mtu 1400", "(candidate: 3)# ")
    assert "undone: set port east mtu 1400" in terminal.line("undo", "(candidate: 2)# ")
    shown = terminal.line("commit confirm 60", "turnpike (confirm within 60 s, unsaved)> ")
    assert "undone in 60 s unless confirm arrives" in shown, shown
    last = box.changes()[-1]
    assert last == {"request": "change", "confirm": 60, "do": [
        {"set": {"port": {"name": "west", "mtu": "9000"}}}, {"set": {"port": {"name": "east", "mtu": "1500"}}}]}, last
    terminal.line("confirm")
    terminal.line("confirm")
    confirms = [r for r in box.server.asked if r["request"] == "confirm"]
    assert confirms == [{"request": "confirm", "id": 17}, {"request": "confirm"}], "the commit's id once"
    before = len(box.changes())
    terminal.line("configure", "# ")
    terminal.line("set port west mtu 1400", "# ")
    assert "forgotten: 1 change" in terminal.line("abort")
    assert all(r.get("dry") for r in box.changes()[before:])
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_a_candidate_is_of_the_configuration_that_was_compared():
    """A rule's place is another rule's after another operator's change."""
    box = Box()
    box.running = 5
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.line("configure", "(candidate: 0)# ")
    terminal.line("rule del edge 3", "(candidate: 1)# ")
    box.running = 6
    shown = terminal.line("set port west mtu 9000", "(candidate: 2)# ")
    assert "changed meanwhile: compare before you commit" in shown, shown
    shown = terminal.line("commit", "(candidate: 2)# ")
    assert "changed meanwhile, by uid 0 (process 7)" in shown, shown
    terminal.line("compare", "(candidate: 2)# ")
    terminal.line("commit", "turnpike (unsaved)> ")
    assert [r.get("unless_changed") for r in box.changes() if not r.get("dry")] == [5, 6], box.changes()
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_a_candidate_may_be_invalid_until_its_last_change():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.line("configure", "turnpike (candidate: 0)# ")
    box.invalid = {"code": "EINVAL", "where": "socket:1", "what": "do[0].add.port port 'p2' has no addresses"}
    shown = terminal.line("port add p2 device net_null0", "(candidate: 1)# ")
    assert "not valid yet:" in shown and "port 'p2' has no addresses" in shown, shown
    assert "not valid yet:" in terminal.line("compare", "# ")
    box.invalid = None
    shown = terminal.line("patch add p2 p3", "(candidate: 2)# ")
    assert "not valid yet" not in shown, shown
    for line in ("reload", "apply /etc/hostname", "routes /etc/hostname", "edit"):
        shown = terminal.line(line, "(candidate: 2)# ")
        assert "commit or abort the candidate first" in shown, shown
    assert {r["request"] for r in box.server.asked} <= {"change", "history", "show"}, box.server.asked
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("port add p4 device net_null1\n\nset port p4 mtu 900\n")
        file.flush()
        box.refuse = {"code": "EINVAL", "where": "socket:1", "what": "do[3].set.port.mtu should be larger"}
        shown = terminal.line(f"batch {file.name}", "(candidate: 2)# ")
        assert f"{file.name}:3: set port p4 mtu: should be larger" in shown, shown
        box.refuse = None
        terminal.line(f"batch {file.name}", "(candidate: 3)# ")
    terminal.line("commit", "> ")
    assert len(box.changes()[-1]["do"]) == 4, box.changes()[-1]
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_rollback_in_a_candidate_starts_over():
    box = Box()
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    for word in ("rollback", "rollback 0"):
        terminal.line("configure", "(candidate: 0)# ")
        terminal.line("set port west mtu 9000", "(candidate: 1)# ")
        terminal.line("set port east mtu 1500", "(candidate: 2)# ")
        assert "nothing has changed since the start" in terminal.line("rollback 1", "(candidate: 2)# ")
        assert "forgotten: 2 changes" in terminal.line(word, "(candidate: 0)# ")
        terminal.line("abort")
    assert "rollback" not in [r["request"] for r in box.server.asked], box.server.asked
    assert all(r["dry"] for r in box.changes()), "nothing was applied"
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_rollback_n_loads_an_earlier_configuration_into_the_candidate():
    box = Box()
    box.state["states"] = [{"back": i, "id": 40 - i, "what": "x"} for i in range(3)]
    terminal = Terminal(box)
    terminal.read_until("turnpike> ")
    terminal.line("configure", "(candidate: 0)# ")
    terminal.line("set port west mtu 9000", "(candidate: 1)# ")
    terminal.line("rollback 2", "(candidate: 2)# ")
    assert box.changes()[-1] == {"request": "change", "dry": True, "base": 38, "do": []}, box.changes()
    # Another operator's commit moves the numbers, not the ids.
    box.state["states"] = [{"back": i, "id": 41 - i, "what": "x"} for i in range(4)]
    terminal.line("set port east mtu 1500", "(candidate: 3)# ")
    shown = terminal.line("compare", "# ")
    assert "+     mtu: 9000" in shown, shown
    east = {"set": {"port": {"name": "east", "mtu": "1500"}}}
    assert box.changes()[-1] == {"request": "change", "dry": True, "base": 38, "do": [east]}, box.changes()
    assert "only 3 earlier configurations are kept" in terminal.line("rollback 4", "(candidate: 3)# ")
    assert "should be a whole number" in terminal.line("rollback x", "(candidate: 3)# ")
    # The changes before the rollback come back with undo.
    terminal.line("undo", "(candidate: 2)# ")
    assert "undone: rollback 2" in terminal.line("undo", "(candidate: 1)# ")
    terminal.line("compare", "# ")
    assert box.changes()[-1]["do"] == [{"set": {"port": {"name": "west", "mtu": "9000"}}}], box.changes()
    assert "base" not in box.changes()[-1]
    terminal.line("rollback 1", "(candidate: 2)# ")
    assert box.changes()[-1]["base"] == 40
    for wrong in ("commit confirm", "commit comment", "commit confirm 0", "commit now", "commit confirm 5 confirm 6"):
        assert "commit" in terminal.line(wrong, "(candidate: 2)# "), wrong
    shown = terminal.line('commit comment "as on Monday" confirm 60', "turnpike (confirm within 60 s, unsaved)> ")
    assert "undone in 60 s" in shown, shown
    assert box.changes()[-1] == {"request": "change", "base": 40, "do": [], "confirm": 60,
                                 "comment": "as on Monday"}, box.changes()[-1]
    assert "rollback" not in [r["request"] for r in box.server.asked]
    terminal.type("exit\n")
    assert terminal.end() == 0


def test_reload_asks_before_unsaved_changes_go():
    box = Box()
    box.state["unsaved"] = True
    terminal = Terminal(box, "reload")
    terminal.read_until("would be lost; go on? [y/N] ")
    terminal.type("n\n")
    terminal.read_until("nothing was changed")
    assert terminal.end() == 1 and [r["request"] for r in box.server.asked] == ["history"], box.server.asked
    terminal = Terminal(box, "reload")
    terminal.read_until("[y/N] ")
    terminal.type("y\n")
    terminal.read_until("changed: ")
    assert terminal.end() == 0
    assert box.server.asked[-1] == {"request": "reload"}, box.server.asked


def test_without_a_terminal_a_command_is_missing():
    done = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2 and "a command is missing" in done.stderr, done


def editor(folder, script):
    path = os.path.join(folder, "editor")
    pathlib.Path(path).write_text("#!/bin/sh\n" + script, encoding="utf-8")
    os.chmod(path, 0o755)
    return {"EDITOR": path, "VISUAL": "", "TMPDIR": folder}


def test_edit():
    with tempfile.TemporaryDirectory() as folder:
        box = Box()
        changes = editor(folder, 'echo "# changed" >> "$1"\n')
        terminal = Terminal(box, "edit", "--confirm", "30", environment=changes)
        shown = terminal.read_until("apply? [y/N] ")
        assert "+     mtu: 9000" in shown, shown
        terminal.type("y\n")
        terminal.read_until("keep the change? [y/N] ")
        terminal.type("y\n")
        terminal.read_until("confirmed")
        assert terminal.end() == 0
        asked = [r["request"] for r in box.server.asked]
        assert asked == ["history", "configuration", "diff", "apply", "confirm"], asked
        assert box.server.asked[-1] == {"request": "confirm", "id": 17}, "no other operator's change"
        applied = box.server.asked[3]
        assert applied["text"] == "ports: []\n# changed\n" and applied["confirm"] == 30 and "base" not in applied, applied
        assert os.listdir(folder) == ["editor"], "no file stays behind"
        # Without an answer nothing is applied, and the text stays.
        box = Box()
        terminal = Terminal(box, "edit", environment=changes)
        terminal.read_until("apply? [y/N] ")
        terminal.type("n\n")
        terminal.read_until("not applied; the text is ")
        assert terminal.end() == 0 and "apply" not in [r["request"] for r in box.server.asked]
        kept = [name for name in os.listdir(folder) if name != "editor"]
        assert len(kept) == 1 and os.stat(os.path.join(folder, kept[0])).st_mode & 0o777 == 0o600
        os.unlink(os.path.join(folder, kept[0]))
        # Ctrl-C in the editor, or in a program that it runs, is the editor's.
        box = Box()
        interrupted = editor(folder, 'trap "" INT QUIT\nkill -INT 0; kill -QUIT 0\necho "# changed" >> "$1"\n')
        terminal = Terminal(box, "edit", environment=interrupted)
        terminal.read_until("apply? [y/N] ")
        terminal.type("n\n")
        terminal.read_until("not applied")
        assert terminal.end() == 0
        for name in os.listdir(folder):
            if name != "editor":
                os.unlink(os.path.join(folder, name))
        changes = editor(folder, 'echo "# changed" >> "$1"\n')
        # A text that turnpike refuses can be edited again.
        box = Box()
        box.refuse = {"code": "EINVAL", "where": "x.yaml:2", "what": "ports is wrong"}
        terminal = Terminal(box, "edit", environment=changes)
        terminal.read_until("x.yaml:2: ports is wrong")
        terminal.read_until("edit again? [y/N] ")
        box.refuse = None
        terminal.type("y\n")
        terminal.read_until("apply? [y/N] ")
        terminal.type("y\n")
        terminal.read_until("keep the change? [y/N] ")
        terminal.type("n\n")
        terminal.read_until("undone in 120 s unless turnpikectl confirm")
        assert terminal.end() == 0
        # The change of another operator is not overwritten, and the text stays.
        box = Box()
        box.state["states"] = [{"back": 0, "id": 7, "by": "uid 0", "what": "start"}]
        terminal = Terminal(box, "edit", environment=changes)
        terminal.read_until("apply? [y/N] ")
        box.refuse = {"code": "EBUSY", "where": "base", "what": "another change came meanwhile"}
        terminal.type("y\n")
        terminal.read_until("another change came meanwhile")
        terminal.read_until("not applied; the text is ")
        assert terminal.end() == 1 and box.server.asked[-1]["base"] == 7, box.server.asked[-1]
        os.unlink(os.path.join(folder, next(name for name in os.listdir(folder) if name != "editor")))
        # No change, and an editor that fails.
        box = Box()
        terminal = Terminal(box, "edit", environment=editor(folder, "true\n"))
        terminal.read_until("no changes")
        assert terminal.end() == 0
        terminal = Terminal(box, "edit", environment=editor(folder, "exit 3\n"))
        terminal.read_until("the editor failed")
        assert terminal.end() == 1 and os.listdir(folder) == ["editor"]


if __name__ == "__main__":
    tap.main(globals())
