#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpikectl's commands that change, undo and save, and their requests to turnpike: ctl_change_test.py PROGRAM
[TEST...]"""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import tap  # noqa: E402
from lib.control_server import PROGRAM, Server, output, run  # noqa: E402

CHANGED = {"result": {"text": "1 route"}}


def asked_by(*words):
    server = Server(CHANGED)
    shown = output(server, *words)
    assert shown == "changed: 1 route\n" or ("--confirm" in words and shown.startswith("changed: 1 route\nundone in ")), shown
    assert len(server.asked) == 1
    return server.asked[0]


def test_objects():
    for line, do in {
        "route add 10.9.0.0/16 via 10.0.2.2": {"add": {"route": {"to": "10.9.0.0/16", "via": "10.0.2.2"}}},
        "route replace ::/0 via fe80::2 port east":
            {"replace": {"route": {"to": "::/0", "via": "fe80::2", "port": "east"}}},
        "route add 10.9.0.0/16 nexthop via 10.0.2.2 port east weight 2 nexthop via 10.0.3.2 nexthop via 10.0.4.2": {
            "add": {"route": {"to": "10.9.0.0/16", "via": [{"via": "10.0.2.2", "port": "east", "weight": "2"},
                                                           {"via": "10.0.3.2"}, {"via": "10.0.4.2"}]}}},
        "route add 10.9.0.0/16 via 10.255.0.2 port east onlink vrf red": {
            "add": {"route": {"to": "10.9.0.0/16", "via": "10.255.0.2", "port": "east", "onlink": True, "vrf": "red"}}},
        "route add 10.9.0.0/16 nexthop via 10.255.0.2 port east onlink weight 2 nexthop via 10.0.3.2": {
            "add": {"route": {"to": "10.9.0.0/16", "via": [
                {"via": "10.255.0.2", "port": "east", "onlink": True, "weight": "2"}, {"via": "10.0.3.2"}]}}},
        "route add 10.9.0.0/16 via 192.0.2.1 recursive vrf red": {
            "add": {"route": {"to": "10.9.0.0/16", "via": "192.0.2.1", "recursive": True, "vrf": "red"}}},
        "route replace 10.9.0.0/16 nexthop via 192.0.2.1 weight 2 nexthop via 192.0.2.2 recursive": {
            "replace": {"route": {"to": "10.9.0.0/16", "via": [{"via": "192.0.2.1", "weight": "2"}, {"via": "192.0.2.2"}],
                                  "recursive": True}}},
        "route add 10.9.0.0/16 port east": {"add": {"route": {"to": "10.9.0.0/16", "port": "east"}}},
        "route replace 10.9.0.0/16 port east vrf red":
            {"replace": {"route": {"to": "10.9.0.0/16", "port": "east", "vrf": "red"}}},
        "route add 10.9.0.0/16 via 10.0.2.2 vrf red":
            {"add": {"route": {"to": "10.9.0.0/16", "via": "10.0.2.2", "vrf": "red"}}},
        "route add 10.9.0.0/16 nexthop via 10.0.2.2 nexthop via 10.0.3.2 vrf red":
            {"add": {"route": {"to": "10.9.0.0/16", "via": [{"via": "10.0.2.2"}, {"via": "10.0.3.2"}], "vrf": "red"}}},
        "route add 192.0.2.0/24 blackhole vrf red":
            {"add": {"route": {"to": "192.0.2.0/24", "type": "blackhole", "vrf": "red"}}},
        "route del 10.9.0.0/16 vrf red": {"del": {"route": {"to": "10.9.0.0/16", "vrf": "red"}}},
        "vrf add red table 10": {"add": {"vrf": {"name": "red", "table": "10"}}},
        "vrf del red": {"del": {"vrf": {"name": "red"}}},
        "route add 192.0.2.0/24 prohibit": {"add": {"route": {"to": "192.0.2.0/24", "type": "prohibit"}}},
        "route add 192.0.2.0/24 blackhole": {"add": {"route": {"to": "192.0.2.0/24", "type": "blackhole"}}},
        "route del 10.9.0.0/16": {"del": {"route": {"to": "10.9.0.0/16"}}},
        "neighbour add 10.0.2.9 mac 02:00:00:00:00:09":
            {"add": {"neighbour": {"address": "10.0.2.9", "mac": "02:00:00:00:00:09"}}},
        "neighbour del fe80::9 port west": {"del": {"neighbour": {"address": "fe80::9", "port": "west"}}},
        "address add west 10.0.1.2/24": {"add": {"address": {"port": "west", "address": "10.0.1.2/24"}}},
        "address replace west 10.0.1.2/24 2001:db8::1/64":
            {"replace": {"address": {"port": "west", "addresses": ["10.0.1.2/24", "2001:db8::1/64"]}}},
        "port add new device net_tap0,iface=x addresses 10.0.5.1/24,2001:db8::1/64 mtu 1400 acl_in l":
            {"add": {"port": {"name": "new", "device": "net_tap0,iface=x", "mtu": "1400",
                              "addresses": ["10.0.5.1/24", "2001:db8::1/64"], "acl": {"in": "l"}}}},
        "port replace west acl_in none acl_out l":
            {"replace": {"port": {"name": "west", "acl": {"in": None, "out": "l"}}}},
        "port replace west udp_checksums device":
            {"replace": {"port": {"name": "west", "udp_checksums": "device"}}},
        "port replace west l2_in frames l2_out none":
            {"replace": {"port": {"name": "west", "acl": {"l2_in": "frames", "l2_out": None}}}},
        "member add lan up mode trunk trunks 10,20-29 translate 110:20,111:21 storm_broadcast 100 storm_unknown 9":
            {"add": {"member": {"bridge": "lan", "port": "up", "mode": "trunk", "trunks": ["10", "20-29"],
                                "translate": ["110:20", "111:21"],
                                "storm": {"broadcast": "100", "unknown": "9"}}}},
        "port del west": {"del": {"port": {"name": "west"}}},
        "patch add a b": {"add": {"patch": ["a", "b"]}},
        "acl add l default permit": {"add": {"acl": {"name": "l", "default": "permit", "rules": []}}},
        "acl add l layer 2 default permit":
            {"add": {"acl": {"name": "l", "layer": "2", "default": "permit", "rules": []}}},
        "rule add l deny source_mac 02:00:00:00:00:00/ff:00:00:00:00:00 ethertype arp vlan untagged":
            {"add": {"rule": {"list": "l", "rule": {
                "action": "deny", "source_mac": "02:00:00:00:00:00/ff:00:00:00:00:00", "ethertype": "arp",
                "vlan": "untagged"}}}},
        "acl replace l default deny": {"replace": {"acl": {"name": "l", "default": "deny"}}},
        "acl del l": {"del": {"acl": {"name": "l"}}},
        "rule add l deny at 2 name n protocol tcp destination_ports 80-81 fragments false":
            {"add": {"rule": {"list": "l", "at": "2", "rule": {
                "action": "deny", "name": "n", "protocol": "tcp", "destination_ports": "80-81",
                "fragments": "false"}}}},
        "rule replace l 3 count source 10.0.0.0/8":
            {"replace": {"rule": {"list": "l", "name": "3", "at": "3", "rule": {"action": "count", "source": "10.0.0.0/8"}}}},
        "rule del l n": {"del": {"rule": {"list": "l", "name": "n"}}},
        "rule del l 1": {"del": {"rule": {"list": "l", "name": "1", "at": "1"}}},
        "set tx.drain_us 20": {"set": {"tx": {"drain_us": "20"}}},
        "set ecmp.vxlan_ports 4789,8472": {"set": {"ecmp": {"vxlan_ports": ["4789", "8472"]}}},
        "set port west mtu 9000": {"set": {"port": {"name": "west", "mtu": "9000"}}},
        "set port west pcie.mps 256 pcie.mrrs 512 rx_workers 1,2": {
            "set": {"port": {"name": "west", "pcie": {"mps": "256", "mrrs": "512"}, "rx_workers": ["1", "2"]}}},
        "set interface west.10 host_interface true router_alert true":
            {"set": {"interface": {"name": "west.10", "host_interface": "true", "router_alert": "true"}}},
        "set interface lan acl.in edge acl_out none":
            {"set": {"interface": {"name": "lan", "acl": {"in": "edge", "out": None}}}},
        "set interface lan nonsense 1": {"set": {"interface": {"name": "lan", "nonsense": "1"}}},
        "unset port west mtu pcie.mps acl_in": {"unset": {"port": {"name": "west", "keys": ["mtu", "pcie.mps", "acl.in"]}}},
        "set bridge lan ageing_s 600 reserved.stp drop": {"set": {"bridge": {
            "name": "lan", "ageing_s": "600", "reserved": {"stp": "drop"}}}},
        "set member lan up vlan 20 storm_broadcast 9": {"set": {"member": {
            "bridge": "lan", "port": "up", "vlan": "20", "storm": {"broadcast": "9"}}}},
        "unset member lan up trunks": {"unset": {"member": {"bridge": "lan", "port": "up", "keys": ["trunks"]}}},
        "set tunnel leaf dscp inherit": {"set": {"tunnel": {"name": "leaf", "dscp": "inherit"}}},
        "set mirror m ports a,b": {"set": {"mirror": {"name": "m", "ports": ["a", "b"]}}},
        "set vrf red table 7": {"set": {"vrf": {"name": "red", "table": "7"}}},
        "set neighbour 10.0.2.9 mac 02:00:00:00:00:09":
            {"set": {"neighbour": {"address": "10.0.2.9", "mac": "02:00:00:00:00:09"}}},
        "set mempool.buffers 4096": {"set": {"mempool": {"buffers": "4096"}}},
        "mirror add m ports west,east to probe sample 10": {"add": {"mirror": {
            "name": "m", "ports": ["west", "east"], "to": "probe", "sample": "10"}}},
        "mirror del m": {"del": {"mirror": {"name": "m"}}},
        "bridge replace lan members a,b addresses 10.0.3.1/24": {"replace": {"bridge": {
            "name": "lan", "members": ["a", "b"], "addresses": ["10.0.3.1/24"]}}},
        "set interface a addresses none": {"unset": {"interface": {"name": "a", "keys": ["addresses"]}}},
        "set icmp.rate 10k": {"set": {"icmp": {"rate": "10k"}}},
        "set neighbours.max_entries 1.5k": {"set": {"neighbours": {"max_entries": "1.5k"}}},
        "set icmp.rate k": {"set": {"icmp": {"rate": "k"}}},
        "route add default via 10.0.2.2": {"add": {"route": {"to": "0.0.0.0/0", "via": "10.0.2.2"}}},
        "route replace default via fe80::1%east": {"replace": {"route": {"to": "::/0", "via": "fe80::1%east"}}},
        "set drop_bogons true": {"set": {"drop_bogons": "true"}},
        "set metrics.listen none": {"set": {"metrics": {"listen": []}}},
        "set tx.drain 20": {"set": {"tx": {"drain": "20"}}},
        "unset tx.drain_us ecmp.seed": {"unset": {"settings": {"keys": ["tx.drain_us", "ecmp.seed"]}}},
        "unset interface west.10 urpf": {"unset": {"interface": {"name": "west.10", "keys": ["urpf"]}}},
    }.items():
        assert asked_by(*line.split()) == {"request": "change", "do": [do]}, line
    several = asked_by("set", "neighbours.queue_len", "5", "tx.drain_us", "20", "neighbours.attempts", "7")
    assert several["do"] == [{"set": {"neighbours": {"attempts": "7", "queue_len": "5"}}}, {"set": {"tx": {"drain_us": "20"}}}], several
    assert asked_by("set", "port", "west", "mtu", "1400", "description", "to A")["do"] == [
        {"set": {"port": {"name": "west", "mtu": "1400", "description": "to A"}}}]
    for line in ("set tx.drain_us 1 tx.drain_us 2", "set port west mtu 1 mtu 2", "set port west acl x acl.in y", "set port west name other"):
        done = Server(CHANGED).run(*line.split())
        assert done.returncode == 2 and done.stderr.startswith("turnpikectl: "), (line, done)
    assert "KEY VALUE" in Server(CHANGED).run("set", "port", "west").stderr
    flags = asked_by("rule", "add", "l", "deny", "protocol", "tcp", "tcp_flags", "+syn -ack")
    assert flags["do"][0]["add"]["rule"]["rule"]["tcp_flags"] == "+syn -ack"


def test_errors_have_the_words_of_the_command():
    def refused(line, what, where="socket:1"):
        done = Server({"error": {"code": "EINVAL", "where": where, "what": what}}).run(*line.split())
        assert done.returncode == 1, done
        return done.stderr

    number = "should be a whole number from 68 to 65517, not '-1'"
    for line, what, said in (
            ("set port west mtu -1", f"do[0].set.port.mtu {number}", f"set port west mtu: {number}"),
            ("port replace west rx_queues 2 mtu -1", f"do[0].replace.port.mtu {number}",
             f"port replace west rx_queues 2 mtu: {number}"),
            ("address add west ::1/128", "do[0].add.address.address is ::1, which cannot be a host's address",
             "address add west ::1/128: address is ::1, which cannot be a host's address"),
            ("set tx.drain_us x", f"do[0].set.tx.drain_us {number}", f"set tx.drain_us: {number}"),
            ("member add lan up storm_broadcast 0", "do[0].add.member.storm.broadcast is wrong",
             "member add lan up storm_broadcast: is wrong"),
            ("unset port west mtu acl.inn", "do[0].unset.port.keys[1] is 'acl.inn', which is no key of 'west'",
             "unset port west mtu acl.inn: is 'acl.inn', which is no key of 'west'"),
            ("set port wets mtu 1", "do[0].set.port.name names 'wets', which is not a port",
             "set port wets mtu 1: name names 'wets', which is not a port"),
            ("set port west speed 1", "do[0].set.port has no key 'speed'",
             "set port west speed 1: has no key 'speed'"),
            ("address add east 10.0.1.7/24", "port 'east' has 10.0.1.7/24, which overlaps",
             "address add east 10.0.1.7/24: port 'east' has")):
        assert refused(line, what).startswith(f"turnpikectl: {said}"), (line, refused(line, what))
    assert refused("address add a 10.0.1.7/24", "port 'b' is wrong", None) == (
        "turnpikectl: address add a 10.0.1.7/24: port 'b' is wrong\n")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("# two\nport add a device net_tap0\n\nset port a mtu 1\n")
        file.flush()
        said = refused(f"batch {file.name}", f"do[1].set.port.mtu {number}")
        assert said.startswith(f"turnpikectl: {file.name}:4: set port a mtu: {number}"), said


def test_filters_of_neighbours_and_drops():
    for line, what in (("show neighbours 10.0.2.2 interface west.10", {"what": "neighbours", "address": "10.0.2.2", "port": "west.10"}),
                       ("show neighbours interface west", {"what": "neighbours", "port": "west"}),
                       ("show drops reason no_route port west", {"what": "drops", "port": "west", "reason": "no_route"})):
        server = Server({"result": {"neighbours": [], "drops": {}, "next": None}})
        output(server, *line.split())
        assert server.asked == [{"request": "show", **what}], (line, server.asked)


def test_every_error_is_shown():
    refused = {"code": "EINVAL", "where": "f.yaml:3", "what": "ports[0].mtu is wrong",
               "also": [{"code": "EINVAL", "where": "f.yaml:7", "what": "ports[1] has no key 'x'"},
                        {"code": "EINVAL", "where": None, "what": "more"}]}
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("ports: []\n")
        file.flush()
        for verb in ("check", "apply", "diff"):
            done = Server({"error": refused}).run(verb, file.name)
            assert done.returncode == 1 and done.stdout == "", done
            assert done.stderr == ("turnpikectl: f.yaml:3: ports[0].mtu is wrong\nturnpikectl: f.yaml:7: ports[1] has no key 'x'\n"
                                   "turnpikectl: more\n"), done


def test_rules_of_a_file():
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "rules")
        text = "@10.0.0.0/8\t0.0.0.0/0\t0 : 65535\t0 : 65535\t0x06/0xFF\t0x0000/0x0000\n"
        pathlib.Path(rules).write_text(text, encoding="utf-8")
        assert asked_by("acl", "replace", "l", "rules", rules, "deny")["do"] == [
            {"replace": {"acl": {"name": "l", "rules": [{"action": "deny", "lines": text}]}}}]
        pathlib.Path(rules).write_text(text * 20000, encoding="utf-8")
        done = Server(CHANGED).run("acl", "replace", "l", "rules", rules, "deny")
        assert done.returncode == 1 and "too long for a request" in done.stderr, done
        assert Server(CHANGED).run("acl", "add", "l", "rules", rules + "x", "deny").returncode == 1


def test_confirm_rollback_and_states():
    assert asked_by("set", "tx.drain_us", "20", "--confirm", "60")["confirm"] == 60
    assert asked_by("--confirm", "0.2", "route", "del", "::/0")["confirm"] == 1, "whole seconds"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("ports: []\n")
        file.flush()
        request = asked_by("apply", file.name, "--confirm", "9")
        assert request == {"request": "apply", "text": "ports: []\n", "name": file.name, "confirm": 9}, request
        file.write("#" * (1 << 20))
        file.flush()
        assert asked_by("apply", file.name, "--confirm", "9") == {
            "request": "apply", "name": file.name, "confirm": 9}
    assert asked_by("rollback") == {"request": "rollback"}
    assert asked_by("rollback", "3") == {"request": "rollback", "back": 3}
    assert output(Server({"result": {"confirmed": "apply x"}}), "confirm") == "confirmed: apply x\n"
    escapes = Server({"result": {"confirmed": "apply \x1b[2J\x9b"}})
    assert output(escapes, "confirm") == "confirmed: apply \\x1b[2J\\xc2\\x9b\n", "no terminal control codes"
    shown = output(Server({"result": {"states": [{"back": 0, "by": "uid 0", "what": "apply x", "when": 7}],
                                      "unsaved": True}}), "show", "history")
    assert "apply x" in shown and "uid 0" in shown, shown
    # Earlier releases' names of two commands.
    for old, present in (("states", {"request": "history"}), ("heard", {"request": "show", "what": "neigh-suppress"})):
        server = Server({"result": {"states": [], "bindings": [], "next": None, "unsaved": False}})
        output(server, "show", old)
        assert server.asked == [present], server.asked


def test_a_batch_is_one_change():
    lines = '# two ports that are joined\nport add a device net_tap0\n\nport add b device "net_tap1,iface=x y"\n' \
            "patch add a b\n"
    wanted = [{"add": {"port": {"name": "a", "device": "net_tap0"}}},
              {"add": {"port": {"name": "b", "device": "net_tap1,iface=x y"}}}, {"add": {"patch": ["a", "b"]}}]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(lines)
        file.flush()
        assert asked_by("batch", file.name, "--confirm", "5") == {
            "request": "change", "do": wanted, "confirm": 5}
        for wrong, said in {"port ad a": f"{file.name}:6: port:", "show ports": f"{file.name}:6: show: changes no",
                            'route del "x': f"{file.name}:6: a quote", "rollback": f"{file.name}:6: rollback: changes",
                            "route del ::/0 --confirm 5": f"{file.name}:6: options are not allowed in a batch line"}.items():
            file.seek(len(lines))
            file.truncate()
            file.write(wrong + "\n")
            file.flush()
            done = Server(CHANGED).run("batch", file.name)
            assert done.returncode == 1 and said in done.stderr, done
    server = Server(CHANGED)
    done = subprocess.run([PROGRAM, "--socket", server.path, "batch", "-"], input=lines, text=True,
                          capture_output=True, timeout=20, check=False)
    assert done.returncode == 0 and server.asked[0]["do"] == wanted, done


def test_routes_go_in_parts():
    lines = [f"add 10.{i >> 8 & 255}.{i & 255}.0/24 via 10.0.2.2 dev east" for i in range(30000)]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("\n".join(lines))
        file.flush()
        server = Server({"result": {"taken": 1}}, CHANGED)
        assert output(server, "routes", file.name) == "changed: 1 route\n"
        assert [r.get("more", False) for r in server.asked] == [True, False]
        assert all(len(json.dumps(r)) < 1 << 20 for r in server.asked)
        assert "".join(r["lines"] for r in server.asked).splitlines() == lines
        refused = Server({"error": {"code": "EEXIST", "where": "line 7", "what": "is there"}}).run("routes", file.name)
        assert refused.returncode == 1 and f"{file.name}:7: is there (EEXIST)" in refused.stderr, refused
        file.write("\n" + "x" * 70000)
        file.flush()
        done = Server(CHANGED, CHANGED).run("routes", file.name)
        assert done.returncode == 1 and "too long" in done.stderr, done
    assert run("routes", "/no/such").returncode == 1
    server = Server(CHANGED)
    subprocess.run([PROGRAM, "--socket", server.path, "routes", "-"], stdin=subprocess.DEVNULL, timeout=20, check=True,
                   stdout=subprocess.DEVNULL)
    assert server.asked == [{"request": "routes", "lines": ""}], server.asked


def test_files_of_other_encodings_and_standard_input():
    with tempfile.NamedTemporaryFile("wb") as file:
        file.write(b"\xef\xbb\xbfadd 10.9.0.0/16 via 10.0.2.2\n")
        file.flush()
        server = Server(CHANGED)
        output(server, "routes", file.name)
        assert server.asked[0]["lines"] == "add 10.9.0.0/16 via 10.0.2.2\n", server.asked
        file.seek(0)
        file.write("\ufeffadd 10.9.0.0/16 via 10.0.2.2\n".encode("utf-16-le"))
        file.flush()
        done = Server(CHANGED).run("routes", file.name)
        assert done.returncode == 1 and f"{file.name}: is UTF-16 text; save it as UTF-8" in done.stderr, done
    # A text that is not UTF-8 would be sent as another text.
    with tempfile.NamedTemporaryFile("wb") as file:
        file.write(b"# one\nset port west description Z\xfcrich\n")
        file.flush()
        for command in ("batch", "routes", "check", "apply", "diff"):
            server = Server(CHANGED)
            done = server.run(command, file.name)
            assert done.returncode == 1 and f"{file.name}:2: is not UTF-8" in done.stderr, (command, done)
            assert not server.asked, (command, server.asked)
        done = Server(CHANGED).run("acl", "add", "l", "rules", file.name, "permit")
        assert done.returncode == 1 and f"{file.name}:2: is not UTF-8" in done.stderr, done
    server = Server(CHANGED)
    done = subprocess.run([PROGRAM.encode(), b"--socket", server.path.encode(), b"set", b"port", b"west", b"description", b"Z\xfc"],
                          capture_output=True, timeout=20, check=False)
    assert done.returncode == 1 and b"not UTF-8" in done.stderr and not server.asked, done
    # A read error is not the end of a file.
    with tempfile.TemporaryDirectory() as folder:
        for command in ("batch", "routes", "check", "apply", "diff"):
            server = Server(CHANGED)
            done = server.run(command, folder)
            assert done.returncode == 1 and f"{folder}: cannot be read" in done.stderr, (command, done)
            assert not server.asked, (command, server.asked)
            descriptor = os.open(folder, os.O_RDONLY)
            done = subprocess.run([PROGRAM, "--socket", server.path, command, "-"], stdin=descriptor, capture_output=True,
                                  text=True, timeout=20, check=False)
            os.close(descriptor)
            assert done.returncode == 1 and "-: cannot be read" in done.stderr and not server.asked, (command, done)
    server = Server({"result": {"valid": "/x"}})
    done = subprocess.run([PROGRAM, "--socket", server.path, "check", "-"], input="ports: []\n", capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 0 and server.asked[0]["text"] == "ports: []\n", (done, server.asked)
    assert server.asked[0]["name"] == os.path.abspath("stdin"), server.asked
    server = Server(CHANGED)
    with tempfile.TemporaryDirectory() as folder:  # removed below the command's feet
        gone = os.path.join(folder, "gone")
        os.mkdir(gone)
        done = subprocess.run([os.path.abspath(PROGRAM), "--socket", server.path, "apply", "-"], input="ports: []\n",
                              capture_output=True, text=True, timeout=20, check=False, cwd=gone, preexec_fn=lambda: os.rmdir(gone))
    assert done.returncode == 0 and server.asked[0]["name"] == "stdin", (done, server.asked)
    refused = {"code": "EINVAL", "where": "back", "what": "should be a whole number from 1 to 10"}
    assert Server({"error": refused}).run("rollback", "30").stderr == (
        "turnpikectl: rollback 30: should be a whole number from 1 to 10\n")


def test_save():
    assert output(Server({"result": {"saved": "/etc/t.yaml"}}), "save") == "saved as /etc/t.yaml\n"
    pages = ({"result": {"text": "# one\n", "next": 6}}, {"result": {"text": "two: ü\n", "next": None}})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "saved.yaml")
        settled = {"result": {"states": [], "undone_in_s": None}}
        server = Server(settled, *pages)
        assert output(server, "save", path) == f"saved as {path}\n"
        assert [r.get("from") for r in server.asked] == [None, None, 6]
        assert pathlib.Path(path).read_text(encoding="utf-8") == "# one\ntwo: ü\n"
        # An existing file is replaced as a whole and keeps its mode; a symbolic link is followed. An operator's file is kept.
        os.chmod(path, 0o640)
        link = os.path.join(folder, "link.yaml")
        os.symlink(path, link)
        kept = f"the file before, with its comments, is {link}.old\nsaved as {link}\n"
        assert output(Server(settled, {"result": {"text": "x\n", "next": None}}), "save", link) == kept
        assert pathlib.Path(f"{link}.old").read_text(encoding="utf-8") == "# one\ntwo: ü\n"
        assert stat.S_IMODE(os.stat(f"{link}.old").st_mode) == 0o640
        assert os.path.islink(link) and pathlib.Path(path).read_text(encoding="utf-8") == "x\n"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
        # A save that is refused half-way leaves the old contents.
        half = Server(settled, pages[0], {"error": {"code": "EBUSY", "where": "from", "what": "begin anew"}})
        assert half.run("save", path).returncode == 1
        assert pathlib.Path(path).read_text(encoding="utf-8") == "x\n"
        waits = Server({"result": {"states": [], "undone_in_s": 7}}).run("save", path)
        assert waits.returncode == 1 and f"save {path}: a change awaits confirmation" in waits.stderr, waits
        nowhere = Server(settled, *pages).run("save", os.path.join(folder, "none", "x"))
        assert nowhere.returncode == 1 and "No such file" in nowhere.stderr, nowhere
        assert sorted(os.listdir(folder)) == ["link.yaml", "link.yaml.old", "saved.yaml"]
    assert output(Server(*pages), "save", "-") == "# one\ntwo: ü\n"
    for words in (["save", "-"], ["show", "running-config"]):
        assert json.loads(output(Server(*pages), *words, "--json")) == {"text": "# one\ntwo: ü\n"}, words
    with open("/dev/full", "wb") as full, tempfile.NamedTemporaryFile("w") as file:
        for words, answers in ((["routes", file.name], [CHANGED]), (["save"], [{"result": {"saved": "/x"}}]), (["save", "-"], pages)):
            server = Server(*answers)
            done = subprocess.run([PROGRAM, "--socket", server.path, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=20, check=False)
            assert done.returncode == 1 and done.stderr == "turnpikectl: standard output: No space left on device\n", (words, done)


def written(text):
    """As turnpike writes it: with the FNV-1a of the text in the first line."""
    checksum = 0xcbf29ce484222325
    for byte in text.encode():
        checksum = ((checksum ^ byte) * 0x100000001b3) & 0xffffffffffffffff
    return f"# Written by turnpike 1.0, FNV-1a {checksum:016x}.\n{text}"


def test_save_keeps_only_an_operators_file():
    settled = {"result": {"states": [], "undone_in_s": None}}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "saved.yaml")

        def save(text, *options):
            return Server(settled, {"result": {"text": written(text), "next": None}}).run("save", path, *options)

        for text in ("one: 1\n", "two: 2\n"):
            assert save(text).stdout == f"saved as {path}\n"
        assert os.listdir(folder) == ["saved.yaml"]
        edited = written("two: 2\n") + "# our uplink comes in May\n"
        pathlib.Path(path).write_text(edited, encoding="utf-8")
        assert json.loads(save("three: 3\n", "--json").stdout) == {"saved": path, "old": f"{path}.old"}
        assert pathlib.Path(f"{path}.old").read_text(encoding="utf-8") == edited
        # Where no copy can be made, the file stays.
        pathlib.Path(path).write_text(edited, encoding="utf-8")
        os.remove(f"{path}.old")
        os.mkdir(f"{path}.old")
        refused = save("four: 4\n")
        assert refused.returncode == 1 and f"would replace the operator's file {path}: move the file away" in refused.stderr, refused
        assert pathlib.Path(path).read_text(encoding="utf-8") == edited


def test_wrong_words_ask_nothing():
    for line in ("route add 10.9.0.0/16", "route add 10.9.0.0/16 via", "rule add l drop", "address del west",
                 "rollback x", "rollback -1", "set tx.drain_us", "port add p", "confirm now", "save a b",
                 "route del ::/0 --confirm 5 --confirm 6", "show ports --json --json", "route del ::/0 --confirm", "route del ::/0 --confirm 0", "show states --confirm 5"):
        server = Server(CHANGED)
        done = server.run(*line.split())
        assert done.returncode == 2 and done.stderr and not server.asked, (line, done)
    for words, said in ((("save", ""), 'save "": FILE is empty'), (("show", "ports", ""), 'show ports "": PORT is empty'),
                        (("capture", "west", "-w", ""), "--write: FILE is empty"), (("rollback", ""), 'rollback "": NUMBER is empty')):
        server = Server(CHANGED)
        done = server.run(*words)
        assert done.returncode == 2 and done.stderr == f"turnpikectl: {said}\n" and not server.asked, (words, done)


if __name__ == "__main__":
    tap.main(globals())
