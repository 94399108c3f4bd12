#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpikectl as a user runs it, against a server with the test's replies: ctl_test.py PROGRAM [TEST...]"""
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import tap  # noqa: E402
from lib.control_server import PROGRAM, Server, output, run  # noqa: E402
from lib.terminal import Screen, Terminal  # noqa: E402


def test_usage():
    rows = {
        (): "a command is missing; commands: show, ",
        ("dance",): "'dance' is unknown here; expected show, ",
        ("show",): "show: report, ports, ",
        ("show", "nonsense"): "show: 'nonsense' is unknown here; expected report, ",
        ("show", "route"): "show route: ADDRESS is missing",
        ("apply",): "apply: FILE is missing",
        ("reload", "now"): "reload: 'now' is unexpected",
        ("show", "routes", "::/0", "shorter"): "show routes ::/0: 'shorter' is unknown here; expected longer",
        ("--timeout", "0", "reload"): "--timeout 0: should be seconds",
        ("--timeout=1.5.5", "reload"): "--timeout 1.5.5: should be seconds",
        ("reload", "--timeout"): "--timeout: SECONDS is missing",
        ("--json=yes", "reload"): "--json: takes no value",
        ("--quick", "reload"): "--quick: unknown option",
    }
    for words, said in rows.items():
        done = run(*words)
        assert done.returncode == 2 and done.stdout == "", (words, done)
        assert done.stderr.startswith("turnpikectl: " + said), (words, done.stderr)
    # Options are accepted anywhere; a word behind -- is not an option.
    for words in (("reload", "--timeout=0.2", "--socket", "/no/socket"), ("--socket=/no/socket", "check", "--", "--json")):
        assert "/no/socket" in run(*words).stderr or "--json: cannot be read" in run(*words).stderr, words


def test_the_environment_names_the_socket():
    server = Server({"result": {"acl": [{"list": "edge"}]}})
    done = run("complete", "--", "show", "acl", "", TURNPIKE_SOCKET=server.path)
    assert "edge" in done.stdout, done
    assert "/no/socket" in run("reload", TURNPIKE_SOCKET="/no/socket").stderr
    assert "cannot connect" not in run("--socket", server.path, "show", "acl", "edge", TURNPIKE_SOCKET="/no/socket").stderr
    assert "/run/turnpike/control.sock" in run("reload", TURNPIKE_SOCKET="").stderr


def test_help():
    text = run("--help").stdout
    for said in ("exit codes", "show routes [PREFIX [longer]]", "completion bash|zsh|fish", "--timeout SECONDS"):
        assert said in text, text
    assert "complete [" not in text, text
    of_show = run("show", "--help").stdout
    assert "show drops" in of_show and "reload" not in of_show, of_show
    assert run("dance", "--help").returncode == 2
    assert run("-h").stdout == text
    assert run("--version").stdout.count(".") == 2


def candidates(*words):
    """{word: help} of the candidates for the next word; the last of the words is incomplete."""
    done = run("complete", "--", *words)
    assert done.returncode == 0 and done.stderr == "", done
    return dict(line.split("\t") for line in done.stdout.splitlines())


def test_help_lists_keys():
    for kind, key in (("port", "descriptors"), ("interface", "urpf"), ("bridge", "ageing_s"), ("member", "isolation")):
        for verb in ("set", "unset"):
            text = run(verb, kind, "--help").stdout
            assert f"keys of {kind}:" in text and f"\n  {key} " in text, (verb, kind, text)
    for verb in ("set", "unset"):
        assert "\n  tx.drain_us " in run(verb, "--help").stdout, verb


def test_what_may_be_next():
    assert {"show", "apply", "reload", "completion"} <= set(candidates("")), candidates("")
    assert "complete" not in candidates("") and "manual" not in candidates("")
    assert candidates("sh") == {"show": "state and counters, as a table"}
    assert set(candidates("show", "ro")) == {"routes", "route", "route-summary"}
    assert candidates("show", "dr")["drops"].startswith("dropped packets")
    assert set(candidates("show", "routes", "::/0", "")) == {"longer", "origin", "vrf"}
    assert set(candidates("show", "routes", "::/0", "l")) == {"longer"}
    assert set(candidates("completion", "")) == {"bash", "zsh", "fish"}
    assert candidates("apply", "") == {"": "file"} == candidates("--socket", "")
    assert set(candidates("show", "--s")) == {"--socket"}
    assert candidates("dance", "") == candidates("reload", "") == candidates("--quick", "") == {}


def test_keys_and_their_values():
    for kind, least in (("port", 20), ("interface", 12)):
        keys = candidates("set", kind, "west", "")
        assert len(keys) >= least and all(keys.values()) and keys == candidates("unset", kind, "west", ""), keys
        assert {"urpf", "send_redirects", "accept_source_route", "router_alert", "extra_macs", "host_interface"} <= set(keys)
        for key in keys:
            candidates("--socket", "/no/socket", "set", kind, "west", key, "")  # exits with 0, says no error
        assert set(candidates("set", kind, "west", "urpf", "")) == {"off", "loose", "strict"}
        assert set(candidates("set", kind, "west", "urpf", "strict", "router_alert", "")) == {"true", "false"}
        assert set(candidates("set", kind, "west", "urpf", "strict", "acl.o")) == {"acl.out"}
    assert "mtu" not in candidates("set", "interface", "west", "") and candidates("set", "port", "west", "mtu", "") == {}
    settings = candidates("set", "")
    assert set(settings) - {"neighbour"} == set(candidates("unset", "")) and {"port", "interface", "tx.drain_us", "drop_bogons"} <= set(settings)
    assert set(candidates("set", "ecmp.h")) == {"ecmp.hash"}
    assert set(candidates("set", "ecmp.hash", "")) == {"addresses", "flow", "inner"}
    assert "tx.drain_us" in candidates("unset", "ecmp.hash", "") and "tx.drain_us" not in candidates("set", "tx.drain_us", "20", "")
    assert "idle.sleep_us" in candidates("set", "tx.drain_us", "20", "idle")
    server = Server({"result": {"acl": [{"list": "edge"}]}})
    assert set(candidates("--socket", server.path, "set", "interface", "west", "acl.in", "")) == {"edge"}
    server = Server({"result": {"vrfs": [{"name": "main"}, {"name": "red"}]}})
    for words in ("vrf del", "vrf replace", "set vrf", "unset vrf"):
        assert set(candidates("--socket", server.path, *words.split(), "")) == {"red"}, words
    for words in ("show vrfs", "show routes vrf", "route del 10.9.0.0/16 vrf"):
        assert set(candidates("--socket", server.path, *words.split(), "")) >= {"main", "red"}, words
    server = Server({"result": {"routes": [{"to": "10.9.0.0/16"}]}})
    assert set(candidates("--socket", server.path, "route", "del", "")) == {"10.9.0.0/16"}
    assert server.asked == [{"request": "show", "what": "routes", "origin": "configured"}], server.asked


def test_values_are_asked_of_turnpike():
    known = {"result": {"neighbours": [{"address": "2001:db8::2"}, {"address": "10.0.2.2"}, {"address": "10.0.2.2"},
                                       {"address": "a\nb"}, {"address": 7}, 7]}}
    server = Server(known)
    assert set(candidates("--socket", server.path, "show", "route", "")) == {"2001:db8::2", "10.0.2.2"}
    assert server.asked == [{"request": "show", "what": "neighbours"}], server.asked
    for silent in (Server(None), Server(b""), Server({"error": 7}), Server([]), Server({"result": 7})):
        assert candidates("--socket", silent.path, "show", "route", "") == {}
    assert candidates("--socket", "/no/socket", "show", "route", "") == {}


def scripts(shell):
    """The script that a shell is to read, in a folder with turnpikectl under its name: the folder."""
    folder = tempfile.TemporaryDirectory(prefix="turnpike-ctl-")
    os.symlink(os.path.abspath(PROGRAM), os.path.join(folder.name, "turnpikectl"))
    with open(os.path.join(folder.name, "script"), "w", encoding="utf-8") as file:
        file.write(run("completion", shell).stdout)
    return folder


def completed(terminal, typed):
    """The line that a shell completes from words and a tab: a key binding prints it."""
    terminal.said = b""
    terminal.type(f"turnpikectl {typed}\t")
    terminal.receive(1)
    terminal.type("\x01echo LINE: \n")
    terminal.wait_for(lambda said: "\nLINE: turnpikectl" in said.replace("\r", ""))
    return terminal.said.decode().replace("\r", "").split("\nLINE: turnpikectl ")[1].split("\n")[0].rstrip()


def check_a_shell(words, prepare):
    """Keys typed at a prompt become whole words."""
    known = {"result": {"neighbours": [{"address": "2001:db8::2"}]}}
    server = Server(known)
    with scripts(os.path.basename(words[0])) as folder, \
            Terminal(words, columns=200, PATH=f"{folder}:{os.environ['PATH']}", HOME=folder) as terminal:
        terminal.type(f"{prepare}; . {folder}/script; echo rea''dy\n")
        terminal.wait_for("ready")
        assert completed(terminal, "sho") == "show"
        assert completed(terminal, "show neighb") == "show neighbours"
        assert completed(terminal, "show routes ::/0 l") == "show routes ::/0 longer"
        assert completed(terminal, "--so") == "--socket"
        os.mkdir(os.path.join(folder, "folder"))
        with open(os.path.join(folder, "folder", "router.yaml"), "w", encoding="utf-8"):
            pass
        assert completed(terminal, f"apply {folder}/folder/ro") == f"apply {folder}/folder/router.yaml"
        for begun in ("2001:d", "2001:db8::"):
            at = f"--socket {server.path} show route "
            assert completed(terminal, at + begun) == at + "2001:db8::2"


def test_bash_completes():
    check_a_shell(["bash", "--norc", "--noprofile", "-i"], "PS1=; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'")


def test_zsh_completes():
    check_a_shell(["zsh", "-f", "-i"], "PS1=; unsetopt zle_bracketed_paste prompt_sp beep; autoload -U compinit; compinit -D")


def test_fish_completes():
    with scripts("fish") as folder:

        def asked(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {folder}/script; complete -C '{line}'"], text=True,
                                  capture_output=True, check=True, timeout=20,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": folder})
            return dict((row + "\t").split("\t")[:2] for row in done.stdout.splitlines())

        assert asked("turnpikectl sho") == {"show": "state and counters, as a table"}
        assert set(asked("turnpikectl show ro")) == {"route", "routes", "route-summary"}
        assert f"{folder}/script" in asked(f"turnpikectl apply {folder}/scr"), asked(f"turnpikectl apply {folder}/scr")
        server = Server({"result": {"neighbours": [{"address": "2001:db8::2"}]}})
        assert set(asked(f"turnpikectl --socket {server.path} show route 2001:")) == {"2001:db8::2"}


def check_manual_page(page, *holds):
    for words in (["mandoc", "-Tlint", "-Wstyle"], ["groff", "-man", "-ww", "-Tutf8"]):
        done = subprocess.run(words, input=page, capture_output=True, text=True, check=False, timeout=20)
        said = done.stdout if words[0] == "mandoc" else done.stderr
        assert done.returncode == 0 and said == "", done
    shown = subprocess.run(["mandoc", "-Tascii"], input=page, capture_output=True, text=True, check=True).stdout
    plain = re.sub(".\b", "", shown)
    for said in holds:
        assert said in plain, plain


def test_the_manual_pages():
    check_manual_page(run("manual").stdout, "show routes [PREFIX [longer]]", "--timeout SECONDS", "completion bash|zsh|fish")
    with open(os.path.join(os.path.dirname(PROGRAM), "../turnpike/turnpike.1"), encoding="utf-8") as file:
        check_manual_page(file.read(), "--config FILE", "--log-format FORMAT\n", "[EAL... --]")


def test_nobody_answers():
    done = run("--socket", "/no/socket", "reload")
    assert done.returncode == 3 and "/no/socket: cannot connect to turnpike" in done.stderr, done
    done = Server(greeting={"schema": "other/1"}).run("reload")
    assert done.returncode == 3 and "does not speak" in done.stderr, done
    done = Server(None).run("reload")
    assert done.returncode == 3 and "closed the connection" in done.stderr, done
    done = Server(b"nonsense\n").run("reload")
    assert done.returncode == 3 and "not JSON" in done.stderr, done
    for line in ("reload", "show ports west", "capture west -w /dev/null", "ping 10.0.0.1", "ping 10.0.0.1 vrf red", "edit",
                 "top --once", "report"):
        for answer, said in ((b"", "does not answer"), (None, "closed the connection"), (b"nonsense\n", "not JSON")):
            done = Server(answer).run("--timeout", "1" if answer == b"" else "20", *line.split())
            assert done.returncode == 3 and said in done.stderr, (line, done)


def test_exit_codes():
    """2 where the command line is wrong, 3 without an answer, 1 where turnpike or a file refuses: of every command."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "file")
        with open(file, "w", encoding="utf-8") as text:
            text.write("route del 10.0.0.0/8\n")
        commands = [
            "show ports", "show ports west", "show interfaces west", "show bridges lan", "show acl", "show acl edge", "show vlans",
            "show routes 10.0.0.0/8 longer", "show route 10.0.0.1", "show history", "show log 5", "show trace", "show rates",
            "watch drops", "top --once", "report", "report --html", "trace 5", "capture west -w " + file + ".pcapng",
            "explain west frame 00", "clear counters", "clear counters port west", "ping 10.0.0.1", "traceroute 10.0.0.1",
            "edit", "save", "save -", "batch " + file, "routes " + file, "apply " + file, "check " + file, "diff " + file,
            "reload", "rollback", "rollback 2", "confirm", "set port west mtu 1500", "unset port west mtu", "set tx.drain_us 5",
            "route del 10.0.0.0/8", "rule add edge permit", "fdb flush", "neighbour flush"]
        for line in commands:
            words = line.split()
            assert run("--socket", "/no/socket", *words).returncode == 3, line
            refused = Server(*[{"error": {"what": "no", "where": None, "code": "EINVAL"}}] * 3).run(*words)
            assert refused.returncode == 1 and refused.stderr.startswith("turnpikectl: ") and refused.stderr.endswith("no\n"), (line, refused)
            for wrong in ([*words, "--nosuch"], [*words, "--timeout", "x"], [words[0] + "x", *words[1:]]):
                done = run("--socket", "/no/socket", *wrong)
                assert done.returncode == 2 and done.stdout == "", (wrong, done)
            if not line.startswith(("set", "unset", "rule")):  # these take more words
                assert run("--socket", "/no/socket", *words, "no", "such").returncode == 2, line
        for line in ("trace x", "show log x", "rollback x", "rollback 99999999999", "ping 10.0.0.1 count x", "explain west",
                     "explain west --pcap " + file, "set port west mtu 1 mtu 2", "set port west name x", "set acl.in x",
                     "capture west --filter tcp(", "capture west --files 3", "capture west --rotate-size x", "capture west --rotate-size 1M",
                     "show ports --comment x", "reload --confirm 5", "watch ports --interval 0"):
            done = run("--socket", "/no/socket", *line.split())
            assert done.returncode in (2, 3) and (done.returncode == 2) == (line != "set acl.in x"), (line, done)
        for line in ("apply /nosuch", "batch /nosuch", "routes /nosuch", "explain west --pcap /nosuch:1",
                     "capture west -w /nosuch/file", "rule add edge permit --comment " + "x" * 300):
            done = Server({"error": {"what": "is too long", "where": "comment", "code": "EINVAL"}}).run(*line.split())
            assert done.returncode == 1, (line, done)
    # An error names the words up to the value that the request's member has.
    def refused_at(line, where, what):
        return Server({"error": {"what": what, "where": where, "code": "EINVAL"}}).run(*line.split()).stderr
    for line, where, said in (("trace 5000", "packets", "trace 5000: no"),
                              ("fdb flush bridge lna port west", "bridge", "fdb flush bridge lna: no"),
                              ("show routes vrf rde", "vrf", "show routes vrf rde: no"),
                              ("rollback 30", "back", "rollback 30: no"),
                              ("clear counters port wets", "port", "clear counters port wets: no")):
        assert refused_at(line, where, "no") == f"turnpikectl: {said}\n", refused_at(line, where, "no")


def test_a_refused_capture_leaves_the_file():
    refusal = {"error": {"what": "no", "where": "filter", "code": "EINVAL"}}
    with tempfile.TemporaryDirectory() as folder:
        kept, new = f"{folder}/kept.pcapng", f"{folder}/new.pcapng"
        with open(kept, "w", encoding="utf-8") as file:
            file.write("of yesterday")
        for name in (kept, new):
            refused = Server(refusal).run("capture", "west", "-w", name)
            assert refused.returncode == 1, refused
            assert run("--socket", "/no/socket", "capture", "west", "-w", name).returncode == 3
        assert os.listdir(folder) == ["kept.pcapng"], os.listdir(folder)
        with open(kept, encoding="utf-8") as text:
            assert text.read() == "of yesterday"


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
    assert said[0].split() == "to origin protocol type reason interface via mac".split(), said
    assert said[1].split() == ["10.0.0.0/8", "configured", "-", "drop", "route_blackhole", "-", "-", "-"], said
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
    drops = {"result": {"drops": {"acl_deny": 1, "no_route": 3, "urpf": 0}, "ports": {"west": {"no_route": 2}, "east": {}}}}
    assert output(Server(drops), "show", "drops").splitlines() == [
        "reason    packets  ports   meaning", "no_route        3  west 2  no route to the destination",
        "acl_deny        1  -       denied by the ingress ACL"]
    values = {"result": {"fib4": {"routes": 3}, "neighbours": {}}}
    assert [line.split() for line in output(Server(values), "show", "memory").splitlines()] == [
        ["fib4.routes", "3"], ["neighbours", "-"]]
    server = Server({"result": {"to": None, "reason": "no_route"}})
    assert output(server, "show", "route", "192.0.2.1").split() == ["reason", "no_route", "to", "-"]
    assert server.asked[0]["address"] == "192.0.2.1"


def test_members_of_groups_have_rows():
    member = {"able": True, "buckets": 8, "mac": "02:00:00:00:00:01", "mtu": 1500, "type": "adjacency", "weight": 1}
    members = [{**member, "interface": "east", "via": "10.0.2.2", "next_hop": 7},
               {**member, "interface": "south", "via": "10.0.3.2", "next_hop": 9}]
    group = {"next_hop": 12, "type": "group", "buckets": 16, "members": members}
    routes = {"result": {"routes": [{**group, "to": "172.16.0.0/16", "origin": "learned", "protocol": "bgp"}], "next": None}}
    lines = output(Server(routes), "show", "routes").splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["172.16.0.0/16", "learned", "bgp", "group", "-", "-", "-", "-"],
        ["share", "8/16", "-", "east", "10.0.2.2", "02:00:00:00:00:01"],
        ["share", "8/16", "-", "south", "10.0.3.2", "02:00:00:00:00:01"]], lines
    lines = output(Server({"result": {"next_hops": [group]}}), "show", "next-hops").splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["12", "group", "-", "-", "-", "-", "-"],
        ["7", "share", "8/16", "-", "east", "10.0.2.2", "02:00:00:00:00:01", "1500"],
        ["9", "share", "8/16", "-", "south", "10.0.3.2", "02:00:00:00:00:01", "1500"]], lines
    lines = output(Server({"result": {**group, "to": "172.16.0.0/16"}}), "show", "route", "172.16.0.1").splitlines()
    assert max(len(line) for line in lines) <= 80, lines
    assert ["south", "10.0.3.2", "02:00:00:00:00:01", "adjacency", "1", "8", "yes"] in [line.split() for line in lines], lines


def test_bridges_have_members_and_vlans():
    members = [{"port": "west", "mode": "access", "vlan": 20, "learning": True, "locked": False},
               {"port": "east", "mode": "trunk", "vlan": None, "trunks": ["10", "20-29"], "learning": True, "locked": False}]
    vlans = [{"vlan": 20, "rx_packets": 3, "rx_bytes": 180, "tx_packets": 2, "flooded": 1}]
    other = {"name": "dmz", "members": [{"port": "south", "mode": "unaware", "vlan": None}], "vlans": []}
    result = {"bridges": [{"name": "lan", "stations": 2, "members": members, "vlans": vlans}, other],
              "reserved": [{"port": "west", "group": "01:80:c2:00:00:0e", "from": "02:00:00:00:00:05", "frames": 4}]}
    lines = [line.split() for line in output(Server({"result": result}), "show", "bridges").splitlines()]
    assert ["lan", "west", "access", "20", "-", "yes", "no", "-"] in lines, lines
    assert ["lan", "east", "trunk", "-", "10,20-29", "yes", "no", "-"] in lines, lines
    assert ["dmz", "south", "unaware", "-", "-", "-", "-", "-"] in lines, lines
    assert ["lan", "20", "3", "180", "2", "1"] in lines, lines
    assert ["west", "01:80:c2:00:00:0e", "02:00:00:00:00:05", "4"] in lines, lines
    shown = output(Server({"result": result}), "show", "bridges", "lan")
    assert "10,20-29" in shown and "south" not in shown and max(len(line) for line in shown.splitlines()) <= 80, shown


def test_vlans_have_their_members():
    members = [{"port": "west", "mode": "access", "vlan": 20}, {"port": "east", "mode": "trunk", "vlan": None, "trunks": ["10", "20-29"]},
               {"port": "up", "mode": "native_untagged", "vlan": 10, "trunks": ["1-4094"]},
               {"port": "down", "mode": "native-tagged", "vlan": 10, "trunks": ["10"]}]
    result = {"bridges": [{"name": "lan", "members": members, "vlans": [{"vlan": 700}]}, {"name": "plain", "members": [{"port": "a"}]}]}
    server = Server({"result": result})
    rows = {line.split()[0]: line.split()[1:] for line in output(server, "show", "vlans").splitlines()}
    assert server.asked == [{"request": "show", "what": "bridges"}], server.asked
    assert rows["10"] == ["lan", "up", "east,down"] and rows["20"] == ["lan", "west", "east,up"], rows
    assert rows["29"] == ["lan", "-", "east,up"] and rows["700"] == ["lan", "-", "up"] and "30" not in rows, rows


def test_the_control_plane_has_its_counters():
    result = {"interfaces": [{"name": "west", "index": 3, "admin_up": True, "carrier": True, "given": 7, "taken": 8,
                              "not_taken": 1}], "routes": 5, "netlink": True, "messages": 12, "overruns": 1, "not_followed_by": {"multicast": 2}, "asking": None}
    lines = [line.split() for line in output(Server({"result": result}), "show", "control-plane").splitlines()]
    for line in ("west 3 yes yes 7 8 1", "routes 5", "messages 12", "overruns 1", "not_followed_by.multicast 2"):
        assert line.split() in lines, (line, lines)
    assert "asking" not in str(lines), lines


def test_ping_needs_an_interface_of_the_kernel():
    def refused(interfaces, *more):
        done = Server({"result": {"interfaces": interfaces, "namespace": "nosuch-namespace"}}).run("ping", "10.0.0.1", *more)
        assert done.returncode == 1 and done.stdout == "", done
        return done.stderr

    assert "set host_interface: true" in refused([])
    assert "east: has no interface in the kernel" in refused([{"name": "west"}], "interface", "east")
    assert "/run/netns/nosuch-namespace: cannot be opened" in refused([{"name": "west"}], "count", "1")


def test_ping_finds_the_process_by_the_socket():
    """turnpike in a container knows itself by another number than this PID namespace."""
    server = Server({"result": {"interfaces": [{"name": "west"}], "namespace": None}}, {"result": {"pid": 4194304}})
    done = server.run("ping", "127.0.0.1", "count", "1")
    assert "cannot be opened" not in done.stderr and [one["what"] for one in server.asked] == ["control-plane"], done


def test_one_object_by_name():
    log = [{"time": at, "level": "notice", "text": "", "fields": {"what": "link", "port": port, "from": "x", "to": to}}
           for at, port, to in (("10:00", "west", "down"), ("11:00", "west", "up"), ("12:00", "east", "down"))]
    subjects = {
        "ports": [{"name": "west", "link": "up", "mtu": 1500, "rx_missed": 4, "drops": {"acl_deny": 3, "no_route": 0}},
                  {"name": "east", "link": "down", "mtu": 9000}],
        "interfaces": [{"name": "west", "port": "west", "kind": "bridged", "vlan": None, "rx_bytes": 77, "description": "uplink",
                        "rates": {"1s": {"rx_packets": 25000.0, "rx_bits": 1e7}, "10s": None, "1min": None}},
                       {"name": "west.10", "port": "west", "kind": "routed", "vlan": 10}],
        "bridges": [{"name": "lan", "members": [{"port": "west", "mode": "access", "vlan": 20}, {"port": "south"}]}],
        "acl": [{"port": "west", "direction": "in", "list": "edge", "permitted": 7, "denied": 2}],
        "neighbours": [{"interface": "west.10", "state": state} for state in ("reachable", "reachable", "failed")],
        "punt": [{"interface": "west", "class": "arp", "rate": 9, "punted": 5, "dropped": 1}],
        "tunnels": [], "mirrors": [{"name": "span", "ports": ["west"], "to": "south"}], "log": log}

    def server():
        return Server(*[lambda asked: {"result": {asked["what"]: subjects[asked["what"]], "next": None}}] * len(subjects))

    shown = output(server(), "show", "int", "west")
    lines = [line.split() for line in shown.splitlines()]
    for line in ("interface west: bridged", "port west: link up, last change 11:00 (up)", "rx_bytes 77", "description uplink",
                 "1s 25.0 k 10.00 M - -", "lan west access 20 - - - -", "in edge 7 2", "arp 9 5 1", "mirror: span", "rx_missed 4",
                 "acl_deny 3"):
        assert line.split() in lines, (line, shown)
    assert "no_route" not in shown and "east" not in shown and "south" not in shown, shown
    shown = output(server(), "show", "interfaces", "west.10")
    assert ["reachable", "2"] in [line.split() for line in shown.splitlines()] and "failed" in shown and "bridge member" not in shown, shown
    shown = output(server(), "show", "ports", "west")
    assert shown.startswith("port west: link up, last change 11:00 (up)\n") and "west.10  routed" in shown, shown
    one = json.loads(output(server(), "--json", "show", "ports", "east"))
    assert one["ports"] == [{"name": "east", "link": "down", "mtu": 9000}] and one["last_change"]["to"] == "down", one
    done = server().run("show", "ports", "wets")
    assert done.returncode == 1 and "show ports: 'wets' is not there; did you mean 'west'?" in done.stderr, done
    rules = [{"name": "tiny-fragment", "action": "deny", "packets": 0, "bytes": 0, "where": None},
             {"name": None, "action": "permit", "packets": 7, "bytes": 420, "where": "t.yaml:7",
              "text": '{action: permit, source: "10.0.0.0/8"}'},
             {"name": "web", "action": "deny", "packets": 2, "bytes": 120, "where": "t.yaml:8"},
             {"name": "default", "action": "deny", "packets": 1, "bytes": 60, "where": None}]
    spare = {"port": None, "direction": None, "list": "spare", "permitted": None, "denied": None, "rules":
             [{"name": "default", "action": "deny", "packets": None, "bytes": None, "where": None, "text": None}]}
    acl = {"result": {"acl": [{"port": "west", "direction": "in", "list": "edge", "permitted": 7, "denied": 2, "rules": rules}, spare]}}
    lines = [line.split() for line in output(Server(acl), "show", "acl", "edge").splitlines()]
    assert lines[2:] == [["west", "in:"], ["at", "packets", "bytes", "rule", "where"],
                         ["-", "0", "0", "action:", "deny,", "name:", "tiny-fragment", "-"],
                         ["1", "7", "420", "action:", "permit,", "source:", '"10.0.0.0/8"', "t.yaml:7"],
                         ["2", "2", "120", "action:", "deny,", "name:", "web", "t.yaml:8"],
                         ["-", "1", "60", "action:", "deny,", "name:", "default", "-"]], lines
    lines = [line.split() for line in output(Server(acl), "show", "acl", "spare").splitlines()]
    assert lines[1][:5] == ["-", "-", "spare", "-", "-"] and lines[2] == "not bound to an interface:".split(), lines
    assert lines[4] == ["-", "-", "-", "action:", "deny,", "name:", "default", "-"], lines


def test_abbreviations_and_other_spellings():
    for line in ("show ports", "sh ports", "sh po", "show port"):
        server = Server({"result": {"ports": []}})
        output(server, *line.split())
        assert server.asked == [{"request": "show", "what": "ports"}], (line, server.asked)
    for line in ("sh arp", "show neighbors"):
        server = Server({"result": {"neighbours": []}})
        output(server, *line.split())
        assert server.asked == [{"request": "show", "what": "neighbours"}], (line, server.asked)
    for line, kind in (("set int west.100 urpf strict", "interface"), ("set po west mtu 9000", "port"),
                       ("set neighbor 10.0.0.1 mac 02:00:00:00:00:01", "neighbour"), ("unset int west urpf", "interface")):
        server = Server({"result": {"text": "nothing"}})
        output(server, *line.split())
        assert list(next(iter(server.asked[0]["do"][0].values()))) == [kind], (line, server.asked)
    for line in ("show ip route 10.0.0.1", "sh ip route 10.0.0.1"):
        server = Server({"result": {"type": "unreachable"}})
        output(server, *line.split())
        assert server.asked == [{"request": "show", "what": "route", "address": "10.0.0.1"}], (line, server.asked)
    for line in ("sh run", "show running", "sh running-config"):
        server = Server({"result": {"text": "ports: []\n", "next": None}})
        assert output(server, *line.split()) == "ports: []\n", line
    # An ambiguous beginning has its words; `configure` is one of them, as it is on other routers.
    for words, said in ((("sh", "n"), "'n' is ambiguous: neighbours, next-hops or neigh-suppress"),
                        (("conf",), "'conf' is ambiguous: confirm or configure"),
                        (("configu",), "configure: is a command of the prompt, which turnpikectl alone opens"),
                        (("shwo",), "'shwo' is unknown here; did you mean 'show'?"),
                        (("drop",), "'drop' is unknown here; expected "), (("x",), "'x' is unknown here; expected ")):
        done = run(*words)
        assert done.returncode == 2 and said in done.stderr, (words, done)
    assert "'prots' is unknown here; did you mean 'ports'?" in run("show", "prots").stderr


def test_cost_says_what_bounds_it():
    worker = {"lcore": 3, "packets": 10, "pps": 5.0, "cpp": 80.0, "utilisation": 0.99, "headroom_pps": 1.0, "ipc": 1.8}
    verdict = {"bound": "l3", "from": "measured", "says": "33 % of cycles wait for L3",
               "headroom": {"core": {"of": "worker 3", "from": "counted", "used": 0.99, "pps": 20.0, "why": None},
                            "line_rate": {"of": None, "from": None, "used": None, "pps": None, "why": "no speed"}}}
    shown = output(Server({"result": {"since_s": 2, "workers": [worker], "verdict": verdict}}), "show", "cost")
    lines = [line.split() for line in shown.splitlines()]
    assert lines[1] == "3 10 5 80 0.99 1 1.8 - - -".split(), shown
    assert "verdict: l3 (measured): 33 % of cycles wait for L3\n" in shown, shown
    assert "core worker 3 counted 0.99 20 -".split() in lines and "line_rate - - - - no speed".split() in lines, shown


def test_cleared_counters_and_pcie():
    lines = {"rd_cur": 1.5, "itom": 1, "rfo": 2.03, "wil": 0.0625, "prd": 0}
    port = {"name": "west", "modelled": {"per_packet": {"lines": lines}}, "counted": None, "measured": None,
            "why": {"counted": "no reason", "measured": "not read"}}
    result = {"result": {"since_s": 3.5, "cleared": True, "ports": [port]}}
    shown = output(Server(result), "show", "pcie").splitlines()
    assert [line.split() for line in shown] == [
        "name source reads writes partial mmio why".split(),
        "west modelled 1.5 3.03 2.03 0.0625 -".split(),
        "west counted - - - - no reason".split(),
        "west measured - - - - not read".split(),
        "counters cleared 3.5 s ago".split()], shown
    result["result"]["since_s"] = 12345.6
    assert "counters cleared 3 h 25 min ago" in output(Server(result), "show", "pcie")
    version = Server({"result": {"uptime_s": 12345.6, "small_s": 3.25}})
    assert [line.split() for line in output(version, "show", "version").splitlines()] == [
        ["small_s", "3.25"], ["uptime_s", "12346"]]
    result["result"]["cleared"] = False
    assert "cleared" not in output(Server(result), "show", "pcie")
    server = Server({"result": {"cleared": "counters"}})
    assert output(server, "clear", "counters") == "cleared: counters\n"
    assert server.asked == [{"request": "clear", "what": "counters"}], server.asked
    server = Server({"result": {"cleared": "counters"}})
    assert output(server, "clear", "counters", "port", "west") == "cleared: counters of port west\n"
    assert server.asked == [{"request": "clear", "what": "counters", "port": "west"}], server.asked


def test_neighbours_are_flushed():
    server = Server({"result": {"flushed": 3}})
    assert output(server, "neighbour", "flush") == "flushed: 3 neighbour entries\n"
    assert server.asked == [{"request": "flush", "what": "neighbours"}], server.asked
    server = Server({"result": {"flushed": 1}})
    output(server, "neighbour", "flush", "10.0.2.2", "port", "east")
    assert server.asked == [{"request": "flush", "what": "neighbours", "address": "10.0.2.2", "port": "east"}], server.asked


def test_the_log_is_a_table():
    line = {"time": "2026-01-31T09:00:00.000000Z", "level": "notice", "text": "port 'east': link down", "fields": {"port": "east"}}
    server = Server({"result": {"log": [line]}})
    shown = output(server, "show", "log", "7").splitlines()
    assert shown[0].split() == ["time", "level", "text"], shown
    assert shown[1].split(maxsplit=2) == [line["time"], "notice", line["text"]], shown
    assert server.asked == [{"request": "show", "what": "log", "most": 7}], server.asked


def test_traces_and_explanations():
    hop = {"next_hop": 9, "type": "adjacency", "interface": "east", "via": "10.1.0.2", "mac": None}
    came = {"bytes": 60, "ethertype": "0x0800", "source_mac": "02:00:00:00:00:01", "destination_mac": "02:00:00:00:00:0b",
            "source": "10.0.0.7", "destination": "10.9.0.1", "protocol": 17, "source_port": 1, "destination_port": 53}
    one = {"port": "west", "queue": 0, "received": came, "truncated": False, "sent": {"bytes": 110, "lead": ""},
           "path": [{"stage": "rx"}, {"stage": "lookup", "next_hop": hop}, {"stage": "tx", "copy": 1, "egress": "south"},
                   {"stage": "drop", "reason": "no_route", "pass": 2}]}
    server = Server({"result": one})
    said = output(server, "explain", "west", "from", "10.0.0.7", "to", "10.9.0.1", "ttl", "3", "protocol", "udp").splitlines()
    assert server.asked == [{"request": "explain", "port": "west", "from": "10.0.0.7", "to": "10.9.0.1", "ttl": 3,
                             "protocol": "udp"}], server.asked
    assert said[0] == ("west queue 0: 60 bytes, 02:00:00:00:00:01 > 02:00:00:00:00:0b, "
                       "10.0.0.7:1 > 10.9.0.1:53 protocol 17"), said
    assert [line.split() for line in said[1:]] == [
        ["rx"], "lookup next hop 9, adjacency interface east via 10.1.0.2".split(), ["copy", "1"], ["tx", "by", "south"],
        "drop no_route, pass 2".split(), "sent: 110 bytes".split()], said
    server = Server({"result": one})
    output(server, "explain", "west", "frame", "0200")
    assert server.asked == [{"request": "explain", "port": "west", "frame": "0200"}], server.asked
    server = Server({"result": {"packets": 5}})
    assert output(server, "trace", "5", "dropped", "port", "west") == "tracing: 5 packets, for `show trace`\n"
    assert server.asked == [{"request": "trace", "packets": 5, "port": "west", "dropped": True}], server.asked
    assert output(Server({"result": {"packets": 0}}), "trace", "0") == "tracing: no more\n"
    pages = [{"result": {"requested": 5, "written": 2, "traces": [{**one, "lcore": 1, "age_s": 0.5}], "next": following}}
             for following in (1, None)]
    server = Server(*pages)
    said = output(server, "show", "trace")
    assert said.count("0.500000 s ago, lcore 1, west queue 0: 60 bytes") == 2, said
    assert said.endswith("2 of 5 packets written\n") and said.count("written") == 1, said
    assert [a.get("from") for a in server.asked] == [None, 1], server.asked


def test_explain_prints_the_decisions():
    near = {"rule": "web", "position": 2, "where": "run.yaml:9", "action": "permit", "field": "destination_ports",
            "expected": "80-81", "packet": "443", "text": "{action: permit}"}
    acl = {"list": "edge", "interface": "west.10", "direction": "in", "rule": "default", "position": None, "action": "deny",
           "where": "run.yaml:6", "text": None, "counted": ["all"], "near": [near]}
    route = {"address": "10.9.0.1", "to": "10.9.0.0/16", "vrf": "blue", "origin": "learned", "protocol": "bgp",
             "daemon": "FRR's bgpd", "metric": 20}
    typed = {"address": "10.8.0.1", "to": "10.8.0.0/16", "vrf": "main", "origin": "configured",
             "configured_by": {"by": "uid 0 (process 7)", "what": "change 1 edits", "when": 1}}
    member = {"next_hop": 12, "type": "adjacency", "via": "10.1.0.2", "reason": "hash of flow 0x1, bucket 1 of 512: ...",
              "unable": [{"next_hop": 13, "type": "failed", "via": "10.2.0.2"}]}
    station = {"mac": "02:00:00:00:00:07", "port": None, "elsewhere": [{"vlan": 20, "port": "p1"}, {"vlan": 30, "port": "p2"}]}
    came = {"bytes": 64, "ethertype": "0x8100", "inner_ethertype": "0x0806", "source_mac": "02:00:00:00:00:01",
            "destination_mac": "ff:ff:ff:ff:ff:ff", "tags": [{"vlan": 10, "priority": 5, "type": "0x8100"}]}
    one = {"port": "west", "queue": 0, "received": came, "sent": None, "truncated": False,
           "path": [{"stage": "acl_in", "acl": [acl]}, {"stage": "lookup", "route": route}, {"stage": "lookup", "route": typed},
                   {"stage": "ip_forward", "member": member}, {"stage": "bridge", "bridge": "lan", "fdb_entry": station},
                   {"stage": "punt", "why": "resolve", "neighbour": {"address": "10.0.2.9", "state": "incomplete"}},
                   {"stage": "drop", "reason": "acl_deny", "meaning": "denied", "remedy": "Permit it."}]}
    server = Server({"result": one})
    said = output(server, "explain", "west.10", "from", "10.0.0.7", "to", "10.9.0.1").splitlines()
    assert server.asked[0]["port"] == "west.10", server.asked
    assert said[0].endswith("02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff, VLAN 10 priority 5, ARP"), said[0]
    came |= {"ethertype": "0x0800", "protocol": 17, "source": "10.0.0.1", "destination": "10.0.0.2", "destination_port": 4789,
             "vni": 101, "inner": {"ethertype": "0x0806", "source_mac": "02:00:00:00:00:09", "destination_mac": "ff:ff:ff:ff:ff:ff"}}
    of_vxlan = output(Server({"result": one}), "explain", "west.10", "from", "10.0.0.7", "to", "10.9.0.1").splitlines()[0]
    assert of_vxlan.endswith("10.0.0.1 > 10.0.0.2:4789 protocol 17, VNI 101 "
                             "[02:00:00:00:00:09 > ff:ff:ff:ff:ff:ff, ARP]"), of_vxlan
    assert [line.strip() for line in said[1:]] == [
        "acl_in       ACL edge, in of west.10: deny by the default (run.yaml:6)", "counted by rule all",
        "near: rule web (run.yaml:9) would permit: destination_ports should be 80-81, the packet's is 443",
        "lookup       route 10.9.0.0/16 in VRF blue to 10.9.0.1, learned: bgp by FRR's bgpd, metric 20",
        "lookup       route 10.8.0.0/16 to 10.8.0.1, configured by uid 0 (process 7): change 1 edits",
        "ip_forward   member: next hop 12, adjacency via 10.1.0.2", "hash of flow 0x1, bucket 1 of 512: ...",
        "member without traffic: next hop 13, failed via 10.2.0.2",
        "bridge       lan", "to 02:00:00:00:00:07: no FDB entry in this VLAN; VLAN 20 has it at p1, VLAN 30 has it at p2",
        "punt         resolve", "neighbour 10.0.2.9: incomplete",
        "drop         acl_deny: denied", "remedy: Permit it."], said


def test_capture_compiles_its_filter():
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("kept")
        file.flush()
        server = Server({"error": {"what": "no", "where": None, "code": "EINVAL"}})
        done = server.run("capture", "west", "-w", file.name, "--filter", "tcp and (")
        assert done.returncode == 2 and "--filter: 'tcp and (' is no pcap-filter(7): " in done.stderr, done
        assert server.asked == [] and file.seek(0) == 0 and file.read() == "kept"
        server.run("capture", "west", "-w", file.name, "--filter", "arp")
        assert server.asked == [{"request": "capture", "port": "west", "filter": "arp", "program": [
            [0x28, 0, 0, 12], [0x15, 0, 1, 0x806], [6, 0, 0, 65535], [6, 0, 0, 0]]}], server.asked


def test_explain_takes_a_frame_of_a_capture():
    frames = [bytes(range(14)) + bytes([n]) * 50 for n in range(3)]

    def pcap(link_type=1, snap=65535):
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
        return head + b"".join(struct.pack("<IIII", 1, 0, len(f[:snap]), len(f)) + f[:snap] for f in frames)

    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    pcapng = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 0)) + b"".join(
        block(6, struct.pack("<IIIII", 0, 0, 0, len(f), len(f)) + f) for f in frames)
    answer = {"result": {"port": "west", "queue": 0, "received": {"bytes": 64}, "sent": None, "truncated": False, "path": []}}
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        def file(name, data):
            path = os.path.join(folder, name)
            with open(path, "wb") as out:
                out.write(data)
            return path

        for path in (file("a:b.pcap", pcap()), file("c.pcapng", pcapng)):
            for n, frame in enumerate(frames, 1):
                server = Server(answer)
                output(server, "explain", "west", "--pcap", f"{path}:{n}")
                assert server.asked == [{"request": "explain", "port": "west", "frame": frame.hex()}], server.asked
        server = Server(answer)
        done = server.run("explain", "west", "--pcap", file("cut.pcap", pcap(snap=20)) + ":2")
        assert done.returncode == 0 and "has 20 of the frame's 64 bytes" in done.stderr, done
        assert server.asked[0]["frame"] == (frames[1][:20] + bytes(44)).hex(), server.asked
        for of, why in ((file("d.pcap", pcap()) + ":4", "has 3 frames, not 4"), (file("e.pcap", pcap(link_type=101)) + ":1", "RAW"),
                        (file("f.pcap", b"nonsense") + ":1", "no readable capture"), (folder + "/none:1", "no readable capture"),
                        (file("g.pcap", pcap()[:-3]) + ":3", "frame 3"), ("x.pcap", "FILE:N"), ("x.pcap:0", "FILE:N"),
                        ("x.pcap:-1", "FILE:N")):
            done = Server().run("explain", "west", "--pcap", of)
            assert done.returncode in (1, 2) and why in done.stderr, (of, done)
    done = Server().run("explain", "west")
    assert done.returncode in (1, 2) and "--pcap" in done.stderr, done


def looks(since, rows, **more):
    """Replies to `show`: one for each time in `since`, each with the rows of `rows` at that time."""
    return [{"result": {"since_s": at, "cleared": False, **more, **rows(at)}} for at in since]


def test_watch_without_a_terminal():
    def rows(at):
        return {"drops": {}, "ports": {"west": {"no_route": 10 * at, "acl_deny": 5}, "east": {"ipv4_ttl": 1000 * at}}}

    server = Server(*looks((10, 12, 14), rows), None)
    done = server.run("watch", "drops", "--interval", "0.2")
    assert done.returncode == 3 and "closed the connection" in done.stderr, done
    assert "\x1b" not in done.stdout
    blocks = [[line.split() for line in block.splitlines()] for block in done.stdout.split("\n\n") if block]
    assert blocks[0] == [["drops", "10.0", "s", "since", "the", "start"], ["packets/s", "packets", "port", "reason"],
                         ["1000", "10000", "east", "ipv4_ttl"], ["10", "100", "west", "no_route"],
                         ["0.5", "5", "west", "acl_deny"]], blocks[0]
    assert blocks[1][0] == ["drops", "2.0", "s"] and blocks[1][4] == ["0", "5", "west", "acl_deny"], blocks[1]
    assert len(blocks) == 3

    def moved(at):  # a port was removed, and another begins again
        ports = {"west": {"no_route": 100}, "east": {"no_route": 500}} if at == 10 else {"west": {"no_route": 8}, "(removed)": {"no_route": 600}}
        return {"drops": {}, "ports": ports}

    block = Server(*looks((10, 12), moved), None).run("watch", "drops", "--interval", "0.1").stdout.split("\n\n")[1]
    assert [line.split() for line in block.splitlines()[2:]] == [["4", "8", "west", "no_route"], ["-", "600", "(removed)", "no_route"]], block
    refused = Server({"error": {"what": "no", "where": None, "code": "EINVAL"}}).run("watch", "cost")
    assert refused.returncode == 1 and refused.stderr == "turnpikectl: no\n", refused
    lines = Server(*looks((1, 2), rows), None).run("--json", "watch", "drops", "--interval", "0.1").stdout.splitlines()
    assert [json.loads(line)["since_s"] for line in lines] == [1, 2], lines


def test_watch_rates_of_workers_and_ports():
    def workers(at):
        stages = [{"name": "rx", "cycles_per_packet": 10.0, "sampled_packets": 100 * at},
                  {"name": "tx", "cycles_per_packet": 20.0 + 10 * (at == 12), "sampled_packets": 100 * at}]
        return {"workers": [{"lcore": 1, "packets": 1_000_000 * at, "busy_cycles": 200_000_000 * at,
                             "total_cycles": 1_000_000_000 * at, "stages": stages},
                            {"lcore": 2, "packets": 0, "busy_cycles": 0, "total_cycles": 1_000_000_000 * at, "stages": []}]}

    said = Server(*looks((10, 12), workers, tsc_hz=1_000_000_000), None).run("watch", "cost", "--interval", "0.1").stdout
    second = said.split("\n\n")[1].splitlines()
    # 20 cycles of 1,000 packets, then 30 of 1,200: 16,000 more for 200 more.
    assert second[2].split() == "1 20.0% 1.00 M 200 4.00 M tx 80 rx 10".split(), second
    assert second[3].split() == "2 0.0% 0 - -".split(), second

    def ports(at):
        # The second began at 0 again.
        return {"ports": [{"name": "quiet", "link": "up", "rx_packets": 50, "tx_packets": 0, "rx_bytes": 0, "tx_bytes": 0,
                           "rx_missed": 0, "drops": {}},
                          {"name": "west", "link": "up", "rx_packets": 1000 if at == 10 else 200, "tx_packets": 100 * at,
                           "rx_bytes": 1_000_000 * at, "tx_bytes": 0, "rx_missed": at, "drops": {"no_route": 4 * at}}]
                + [{"name": "(removed)", "link": "down", "rx_packets": 10**9, "drops": {}}] * (at == 12)}

    said = Server(*looks((10, 12), ports), None).run("watch", "ports", "--interval", "0.1").stdout
    second = said.split("\n\n")[1].splitlines()
    assert second[2].split() == "west up 100 100 8.00 M 0 1 4".split(), second
    assert second[3].split()[0] == "quiet" and len(second) == 4, second


def test_rates_of_a_port_that_was_cleared_alone():
    """They are of its own time, before and after the clear."""
    def ports(at):
        return {"ports": [{"name": "west", "link": "up", "since_s": 2 if at == 10 else 1, "rx_packets": 100 * (at == 10) + 200, "tx_packets": 0,
                           "rx_bytes": 0, "tx_bytes": 0, "rx_missed": 0, "drops": {"no_route": 10}}]}

    def drops(at):
        return {"drops": {}, "port_since_s": {"west": 2 if at == 10 else 1}, "ports": {"west": {"no_route": 10}}}

    for what, rows, first, second in (("ports", ports, "west up 150 0 0 0 0 5", "west up 200 0 0 0 0 10"),
                                      ("drops", drops, "5 10 west no_route", "10 10 west no_route")):
        said = Server(*looks((10, 12), rows), None).run("watch", what, "--interval", "0.1").stdout
        assert [block.splitlines()[2].split() for block in said.split("\n\n")[:2]] == [first.split(), second.split()], said


def rates(at, ports=("west",)):
    """The reply to `show rates`."""
    def windows(**values):
        return {name: {"seconds": 1.0, **{k: v / n for k, v in values.items()}} for name, n in (("1s", 1), ("10s", 10), ("1min", 60))}

    traffic = {"rx_packets": 1000.0 * at, "rx_bits": 8e6, "tx_packets": 10.0, "tx_bits": 0.0}
    workers = windows(packets=3e6, utilisation=0.5, cpp=180.0)
    workers["10s"] = {"seconds": 10.0, "packets": 0.0, "utilisation": 0.0, "cpp": None}
    return {"result": {
        "ports": [{"name": name, **windows(**{**traffic, "rx_packets": 1000.0 * at + i}, rx_missed=0.0, drops=7.0)}
                  for i, name in enumerate(ports)],
        "interfaces": [{"name": "far", **windows(**traffic)}, {"name": "new", "1s": None, "10s": None, "1min": None}],
        "bridges": [], "workers": [{"lcore": 2, **workers}],
        "drops": [{"port": "west", "reason": "no_route", **windows(packets=3.0, bits=1536.0)},
                  {"port": "west", "reason": "acl_deny\n", **windows(packets=4.0, bits=2e6)}],
        "verdict": {"bound": "core", "from": "counted", "says": "worker 2 is busy 95 % of the time", "headroom_pps": 1.5e6}}}


def test_show_rates():
    said = output(Server(rates(1)), "show", "rates")
    blocks = [[line.split() for line in block.splitlines()] for block in said.split("\n\n")]
    assert [block[0][0] for block in blocks] == ["worker", "port", "drop", "interface", "verdict:"], said
    assert blocks[0][1:] == ["2 1s 3.00 M 50.0% 180".split(), "2 10s 0 0.0% -".split(), "2 1min 50.0 k 0.8% 3".split()], blocks[0]
    assert blocks[1][1] == "west 1s 1000 10 8.00 M 0 0 7".split() and blocks[1][2][:3] == ["west", "10s", "100"], blocks[1]
    assert blocks[2][1] == ["acl_deny\\x0a", "west", "1s", "4", "2.00", "M"] and blocks[2][4] == ["no_route", "west", "1s", "3", "1536"], blocks[2]
    assert blocks[3][4] == ["new", "1s", "-", "-", "-", "-"], blocks[3]
    assert blocks[4][0] == "verdict: core: worker 2 is busy 95 % of the time; headroom 1.50 M packets/s".split(), blocks[4]


def test_a_full_standard_output():
    rows = looks((1, 2), lambda at: {"drops": {"no_route": at}, "ports": {"west": {"no_route": at}}})
    ports = {"result": {"ports": [{"name": "x" * 30}] * 1000}}
    for words, answers in ((["top", "--once"], [rates(1)]), (["watch", "drops", "--interval", "0.1"], rows), (["--help"], []),
                           (["show", "ports"], [ports]), (["show", "drops", "--json"], rows), (["--version"], [])):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--socket", Server(*answers).path, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=20, check=False)
        assert done.returncode == 1 and done.stderr == "turnpikectl: standard output: No space left on device\n", (words, done)
    closed = Server(ports)
    done = subprocess.run(["sh", "-c", 'exec "$0" --socket "$1" show ports >&-', PROGRAM, closed.path], stderr=subprocess.PIPE,
                          text=True, timeout=20, check=False)
    assert done.returncode == 1 and done.stderr == "turnpikectl: standard output: Bad file descriptor\n", done
    assert len(closed.asked) == 1, "the table did not become a request"


def test_top_once_and_without_a_terminal():
    said = output(Server(rates(1)), "top", "--once")
    assert said.startswith("core: worker 2 is busy 95 % of the time; headroom 1.50 M packets/s\n") and "\x1b" not in said, said
    assert [line.split()[0] for line in said.splitlines()[1:]] == [
        "worker", "2", "port", "west", "drop", "acl_deny\\x0a", "no_route", "interface", "far", "new"], said
    yesterday = rates(1)
    yesterday["result"]["verdict"]["seconds"] = 18 * 3600.0
    assert "headroom 1.50 M packets/s; over the last 18 h\n" in output(Server(yesterday), "top", "--once")
    done = Server(rates(1), rates(2), None).run("top", "--interval", "0.1")
    assert done.returncode == 3 and "closed the connection" in done.stderr, done
    assert done.stdout.count("worker 2 is busy") == 2, done.stdout
    lines = Server(rates(1), rates(2), None).run("--json", "top", "--interval", "0.1").stdout.splitlines()
    assert [json.loads(line)["ports"][0]["1s"]["rx_packets"] for line in lines] == [1000, 2000], lines
    for odd in ({"result": {}}, {"result": 7}, {"result": {"ports": 7, "workers": [7, {"lcore": 1, "1s": 3}], "verdict": []}}):
        assert output(Server(odd), "top", "--once") != "" and output(Server(odd), "show", "rates") != ""
    assert run("--socket", "/no/socket", "top", "--once").returncode == 3


def test_top_shares_the_window():
    many = [f"port{i:02}" for i in range(40)]
    server = Server(*(rates(at, many) for at in range(1, 1000)))
    with Terminal([PROGRAM, "--socket", server.path, "top", "--interval", "0.1"], rows=14, columns=60) as terminal:
        terminal.wait_for(lambda said: said.count("\x1b[H") >= 3)
        screen = Screen(14, 60)
        screen.write(terminal.said[:terminal.said.rindex(b"\x1b[H")])
        text = [line.split() for line in screen.text()]
        assert len(text) == 14 and text[0][0] == "turnpike", text
        # Nine rows for four sections: one worker, two drops, two interfaces, and four ports.
        assert [line[0] for line in text[1:]] == ["worker", "2", "port", "port39", "port38", "port37", "port36", "drop",
                                                  "acl_deny\\x0a", "no_route", "interface", "far", "new"], text
        assert text[3][1:3] == ["(36", "more)"], text
        terminal.said = b""
        terminal.resize(60, 100)
        terminal.wait_for("port00")
        terminal.type("q")
        assert terminal.end() == 0 and terminal.is_as_before()


def test_top_survives_a_restart():
    """Every connection of the first server is answered once, as by a turnpike that restarts again and again."""
    server = Server(rates(1), None)
    with Terminal([PROGRAM, "--socket", server.path, "top", "--interval", "0.1"], rows=20, columns=300) as terminal:
        terminal.wait_for(lambda said: said.count("no answer, trying again: ") > 1 and said.count("worker 2 is busy") > 1)
        os.unlink(server.path)
        terminal.wait_for("cannot connect to turnpike")
        screen = Screen(20, 300)
        screen.write(terminal.said[:terminal.said.rindex(b"\x1b[H")])
        assert any(line.startswith("west") for line in screen.text()), "the last rates stay"
        again = Server(*(rates(at) for at in range(5, 1000)))
        os.rename(again.path, server.path)
        terminal.wait_for("5000")
        terminal.type("\x03")
        assert terminal.end() == 0 and terminal.is_as_before() and terminal.said.endswith(b"\x1b[?25h\x1b[?1049l")


def many_drops(at):
    return {"drops": {}, "ports": {f"port{i:02}": {"no_route": (i + 1) * at} for i in range(40)}}


def test_watch_in_a_terminal():
    server = Server(*looks(range(1, 1000), many_drops))
    words = [PROGRAM, "--socket", server.path, "watch", "drops", "--interval", "0.1"]
    with Terminal(words, rows=10, columns=30) as terminal:
        terminal.wait_for(lambda said: said.count("\x1b[H") >= 3)
        screen = Screen(10, 30)
        screen.write(terminal.said)
        assert screen.alternate and not screen.cursor
        text = screen.text()
        assert text[0].startswith("turnpike  drops  1.0 s  (q qui"), text
        assert text[1].split() == ["packets/s", "packets", "port", "re"], text
        assert text[2].split()[0] == "40" and "port39" in text[2] and "port32" not in "".join(text), text
        assert text[9] == "... and 33 more", text
        # A larger window is filled at once, a small one is not written beyond.
        terminal.said = b""
        terminal.resize(60, 100)
        terminal.wait_for("port00  no_route")
        terminal.said = b""
        terminal.resize(1, 8)
        terminal.wait_for(lambda said: said.count("\x1b[H") >= 3)
        small = Screen(1, 8)
        small.write(terminal.said[terminal.said.rindex(b"\x1b[H"):])
        assert small.text() == ["turnpike"], small.text()
        assert not terminal.is_as_before()
        terminal.type("xq")
        assert terminal.end() == 0
        assert terminal.is_as_before() and terminal.said.endswith(b"\x1b[?25h\x1b[?1049l"), terminal.said[-40:]


def test_watch_gives_the_terminal_back():
    """However it ends: keys, signals, turnpike gone or silent."""
    def terminal_of(server):
        return Terminal([PROGRAM, "--socket", server.path, "--timeout", "2", "watch", "drops", "--interval", "0.1"])

    def given_back(terminal):
        return terminal.is_as_before() and b"\x1b[?25h\x1b[?1049l" in terminal.said

    for end in ("\x03", "\x1c", signal.SIGTERM, signal.SIGHUP):
        with terminal_of(Server(*looks(range(1, 1000), many_drops))) as terminal:
            terminal.wait_for("port39")
            if isinstance(end, str):
                terminal.type(end)
            else:
                terminal.process.send_signal(end)
            assert terminal.end() == 0 and given_back(terminal), (end, terminal.said[-60:])
    for answer, said in ((None, "closed the connection"), (b"nonsense\n", "not JSON"), (b"", "does not answer")):
        with terminal_of(Server(*looks((1,), many_drops), answer)) as terminal:
            assert terminal.end() == 3 and given_back(terminal), (answer, terminal.said[-60:])
            assert terminal.said.split(b"\x1b[?1049l")[1].decode().count(said) == 1, terminal.said
    # The key q works while a reply is pending.
    with terminal_of(Server(*looks((1,), many_drops), b"", {})) as terminal:
        terminal.wait_for("port39")
        begun = time.monotonic()
        terminal.type("q")
        assert terminal.end() == 0 and time.monotonic() - begun < 1.5
    # Stopped by ^Z it lets the shell have it, and takes it again.
    with terminal_of(Server(*looks(range(1, 1000), many_drops))) as terminal:
        terminal.wait_for("port39")
        terminal.type("\x1a")
        terminal.wait_for("\x1b[?1049l")
        assert os.waitpid(terminal.process.pid, os.WUNTRACED)[1] & 0xff == 0x7f
        assert given_back(terminal)
        terminal.said = b""
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait_for("port39")
        assert not terminal.is_as_before()
        terminal.type("q")
        assert terminal.end() == 0


def test_a_file_without_an_end_is_not_read_to_it():
    done = run("--socket", "/nowhere/control", "apply", "/dev/zero")
    assert done.returncode == 1 and "/dev/zero: is longer than 268435456 bytes" in done.stderr, done


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
        assert server.asked == [{"request": "diff", "name": large}] and server.texts == ["#" * (1 << 20)], server.asked
        # Bytes of a line that JSON makes longer, and standard input.
        with open(large, "w", encoding="utf-8") as file:
            file.write("\"\n" * 300_000)
        server = Server(changed)
        done = subprocess.run([PROGRAM, "--socket", server.path, "diff", "-"], stdin=open(large, "rb"), capture_output=True, check=False)
        assert done.returncode == 0 and done.stderr == b"", done
        assert server.texts == ["\"\n" * 300_000] and "text" not in server.asked[0], server.asked
        assert output(Server({"result": {"valid": small}}), "check", small) == f"{small}: valid\n"
        missing = Server().run("check", os.path.join(folder, "none"))
        assert missing.returncode == 1 and "No such file" in missing.stderr, missing


if __name__ == "__main__":
    tap.main(globals())
