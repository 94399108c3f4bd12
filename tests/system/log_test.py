#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike's log in each format: changes, links and neighbours."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import machine, tap  # noqa: E402
from lib.dut import BUILD, Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, HASTY, answers, cabled, ping, settle, start  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
JOURNAL = "/run/systemd/journal/socket"


def entries(running):
    """The lines of a JSON log; the report's table on standard output is in the same file."""
    return [json.loads(line) for line in running.output().splitlines() if line.startswith("{")]


def about(what, said):
    return [e for e in said if e.get("what", "").split(" ")[0] == what]


def test_json():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = os.path.join(folder, "control.sock")
        running = start(lab, dut, control={"socket": path}, options=["--log-format", "json", "--log-level", "info"], wait=False)
        wait_until(lambda: any(e["text"] == "forwarding" for e in entries(running)), "it forwards", 40)
        # DPDK's lines are entries, too: until the table at the end the file has nothing else.
        assert len(entries(running)) == len(running.output().splitlines()), running.output()
        dpdk = [e for e in entries(running) if e.get("by") == "dpdk"]
        assert dpdk and all(e["text"] and e["level"] in ("error", "warning", "notice", "info") for e in dpdk), dpdk
        ping(west, EAST[0])
        other = os.path.join(folder, "other.yaml")
        with open(running.config, encoding="utf-8") as file:
            config = file.read()
        with open(other, "w", encoding="utf-8") as file:
            file.write(config.replace("routes: []", "routes: [{to: 10.9.0.0/16, via: 10.0.2.2}]"))
        subprocess.run([CTL, "--socket", path, "apply", other], check=True, stdout=subprocess.DEVNULL)
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: about("reload", entries(running)), "it is read again")
        with open(running.config, "w", encoding="utf-8") as file:
            file.write("ports: 7\n")
        subprocess.run([CTL, "--socket", path, "reload"], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        wait_until(lambda: len(about("reload", entries(running))) == 2, "it is refused")
        said = entries(running)
        applied, = about("apply", said)
        assert applied["who"].startswith(f"uid {os.getuid()} (process ") and applied["level"] == "notice", applied
        assert (applied["from"], applied["to"], applied["result"]) == (running.config, other, "1 route changed"), applied
        reloaded, refused = about("reload", said)
        assert (reloaded["who"], reloaded["from"], reloaded["to"]) == ("SIGHUP", other, running.config), reloaded
        assert refused["level"] == "warning" and f"{running.config}:1" in refused["result"], refused
        links = {e["port"]: (e["from"], e["to"]) for e in about("link", said)}
        assert links == {"west": ("down", "up"), "east": ("down", "up")}, links
        found = [e for e in about("neighbour", said) if e["address"] == EAST[0]]
        assert found and found[0]["interface"] == "east" and found[0]["from"] == "" and found[0]["to"].count(":") == 5, said
        times = [e["time"] for e in said]
        assert times == sorted(times) and times[0][:4] >= "2024" and times[0].endswith("Z"), times
        with open(running.config, "w", encoding="utf-8") as file:
            file.write(config)
        settle()
        running.stop()


def fields(entry):
    """An entry of the journal's native protocol."""
    out = {}
    while entry:
        line, entry = entry.split(b"\n", 1)
        if b"=" in line:
            name, value = line.split(b"=", 1)
        else:
            size, = struct.unpack("<Q", entry[:8])
            name, value, entry = line, entry[8:8 + size], entry[8 + size + 1:]
        out[name.decode()] = value.decode()
    return out


def test_journald():
    with Lab() as lab:
        dut = lab.host("dut", True)
        null = patch_config("net_null0", "net_null1")
        null["eal"]["hugepages"] = "optional"
        os.makedirs(os.path.dirname(JOURNAL))
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listening.settimeout(20)
        listening.bind(JOURNAL)
        # As set by systemd: the inode of standard error.
        to_journal = ["sh", "-c", "JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) exec \"$@\"", "sh"]
        options = ["--log-format", "journald"]
        running = Turnpike(lab, dut, null, options=options, under=to_journal, wait=False)
        heard = []
        while not heard or heard[-1]["MESSAGE"] != "forwarding":
            heard.append(fields(listening.recv(65536)))
        assert all(e["SYSLOG_IDENTIFIER"] == "turnpike" and e["PRIORITY"] in "34567" for e in heard), heard
        assert any(e.get("TURNPIKE_BY") == "dpdk" for e in heard), heard
        running.process.send_signal(signal.SIGHUP)
        while not heard[-1].get("TURNPIKE_WHAT", "").startswith("reload"):
            heard.append(fields(listening.recv(65536)))
        assert heard[-1]["TURNPIKE_WHO"] == "SIGHUP" and heard[-1]["TURNPIKE_TO"] == running.config, heard[-1]
        assert "forwarding" not in running.output() and "SIGHUP" not in running.output(), running.output()
        # The journal disappears: no entry is lost.
        listening.close()
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("turnpike: SIGHUP: reload ")
        running.stop()
        # Standard error is not the journal.
        elsewhere = Turnpike(lab, dut, null, options=options, under=["env", "JOURNAL_STREAM=1:1"])
        elsewhere.stop()


def test_levels():
    with Lab() as lab:
        dut = lab.host("dut", True)
        null = patch_config("net_null0", "net_null1")
        null["eal"]["hugepages"] = "optional"
        quiet = Turnpike(lab, dut, null, options=["--log-level", "warning"], wait=False)
        time.sleep(1)
        quiet.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert "turnpike: forwarding" not in quiet.output() and "SIGHUP" not in quiet.output(), quiet.output()
        with open(quiet.config, "w", encoding="utf-8") as file:
            file.write("ports: 7\n")
        quiet.process.send_signal(signal.SIGHUP)
        quiet.wait_for("turnpike: SIGHUP: reload: refused")
        quiet.stop()
        loud = Turnpike(lab, dut, null, options=["--log-level", "debug"])
        subprocess.run([CTL, "show", "isa"], check=True, stdout=subprocess.DEVNULL)
        loud.wait_for('asks: {"request":"show","what":"isa"}')
        loud.stop()
        wrong = Turnpike(lab, dut, null, options=["--log-level", "all"], wait=False)
        assert wrong.finish() == 2 and "--log-level" in wrong.output(), wrong.output()


def test_a_crowd_of_neighbours_is_said_to_be_one():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        running = start(lab, dut, options=["--log-level", "info"], neighbours={**HASTY, "attempts": 1})
        for last in range(10, 90):
            west.run(f"ping -n -c 1 -W 0.01 10.0.2.{last}", check=False)
        assert not answers(west, "10.0.2.99")
        running.wait_for("more changes of neighbours not logged")
        said = running.output()
        silent = sum("does not answer" in line for line in said.splitlines())
        assert silent >= 1, said
        machine.judge(silent < 80, f"80 pings took so long that each was logged:\n{said}")
        settle(1.2)
        settle()
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
