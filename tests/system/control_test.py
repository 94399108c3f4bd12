#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Queries and changes of turnpike by its control socket, while hosts ping through it."""
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD, Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, WEST, answers, cabled, ping, settle, start  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402

DEFAULT = "/run/turnpike/control.sock"
CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")


def socket_in(folder):
    return os.path.join(folder, "control.sock")


def with_routes(running, routes):
    with open(running.config, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    config["routes"] = routes
    return yaml.safe_dump(config)


def test_show_diff_and_apply_under_traffic():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, east = cabled(lab)
        east.run("ip addr add 10.9.0.1/32 dev lo")
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o660
        ping(west, EAST[0])
        operator = Operator(path)
        assert operator.greeting["schema"] == "turnpike.control/1", operator.greeting
        assert operator.show("report")["balance"]["rx"] >= 3
        assert operator.show("route", address="10.9.0.1")["reason"] == "no_route"
        assert EAST[0] in [n["address"] for n in operator.show("neighbours")["neighbours"]]

        # These pings continue through all requests and errors: 100 a second, none lost.
        steady = west.start("ping -n -i 0.01 -c 300 -W 1 " + EAST[0], stdout=subprocess.PIPE, text=True)
        more = with_routes(running, [{"to": "10.9.0.0/16", "via": EAST[0]}])
        assert operator.result("diff", text=more, name="more.yaml")["routes"] == {"removed": 0, "set": 1}
        assert not answers(west, "10.9.0.1")
        assert operator.result("apply", text=more, name="more.yaml")["text"] == "1 route"
        ping(west, "10.9.0.1")
        assert operator.show("route", address="10.9.0.1")["to"] == "10.9.0.0/16"
        wrong = more.replace("10.0.2.1/24", "10.0.2.999/24")
        line = wrong[:wrong.index("10.0.2.999")].count("\n") + 1
        for request in ("check", "diff", "apply"):
            refused = operator.error(request, text=wrong, name="wrong.yaml")
            assert refused["where"] == f"wrong.yaml:{line}" and refused["code"] == "EINVAL", refused
        assert operator.error("apply", file="/none.yaml")["code"] == "ENOENT"
        changes = 0
        end = time.monotonic() + 60
        while changes < 100 and (changes <= 50 or steady.poll() is None) and time.monotonic() < end:
            other = [{"to": f"10.{50 + changes % 7}.0.0/16", "via": EAST[0]}, {"to": "10.9.0.0/16", "via": EAST[0]}]
            operator.result("apply", text=with_routes(running, other), name="other.yaml")
            changes += 1
        out, _ = steady.communicate(timeout=20)
        assert " 0% packet loss" in out, (out, operator.show("report")["drops"], operator.show("report")["balance"])
        print(f"# {changes} configurations applied under traffic, 300 pings offered, 0 lost")
        assert changes > 50, changes
        assert operator.result("reload")["routes"] == {"removed": 2, "set": 0}
        assert f"uid {os.getuid()} (process {os.getpid()}): apply more.yaml: 1 route changed" in running.output()
        settle()
        running.stop()
        assert not os.path.exists(path)
        assert operator.lines.readline() == b""


def test_the_drivers_reason_is_in_the_answer():
    """Why a device cannot be opened, for the client; turnpike's log has it, too."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        _west, dut, _east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})
        for device, reasons in {
                "net_xsk9,iface=nosuch": ("there is no interface 'nosuch' in this network namespace",),
                "net_af_packet9,iface=nosuch": ("there is no interface 'nosuch' in this network namespace",),
                "net_xks9,iface=lo": ("device 'net_xks9' is neither a virtual device of a driver", "nor a bus address"),
                "net_af_packet9,iface=lo,blocksz=8": ("frame size exceeds block size",)}.items():
            done = subprocess.run([CTL, "--socket", path, "port", "add", "ghost", "device", device, "addresses", "10.77.0.1/24"],
                                  capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 1, (device, done)
            for reason in reasons:
                assert reason in done.stderr and reason in running.output(), (device, done.stderr)
            assert "not permitted" not in done.stderr and "Bad address" not in done.stderr, done.stderr
        running.stop()


def test_a_port_is_shut_down_and_taken_into_service_again():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})

        def ctl(*words):
            return subprocess.run([CTL, "--socket", path, *words], capture_output=True, text=True, check=True, timeout=30).stdout

        def link():
            return next(p["link"] for p in json.loads(ctl("--json", "show", "ports"))["ports"] if p["name"] == "east")

        ping(west, EAST[0])
        assert link() == "up"
        ctl("set", "port", "east", "shutdown", "true")
        wait_until(lambda: link() == "shutdown", "the link is down")
        before = json.loads(ctl("--json", "show", "ports"))["ports"]
        assert not answers(west, EAST[0])
        after = json.loads(ctl("--json", "show", "ports"))["ports"]
        assert [p["rx_packets"] for p in before if p["name"] == "east"] == [p["rx_packets"] for p in after if p["name"] == "east"]
        assert "port 'east': link down" in ctl("show", "log"), ctl("show", "log")
        assert EAST[0] not in ctl("show", "neighbours"), ctl("show", "neighbours")
        ctl("unset", "port", "east", "shutdown")
        wait_until(lambda: link() == "up", "the link is up")
        wait_until(lambda: answers(west, EAST[0]), "it forwards again")
        flushed = int(ctl("neighbour", "flush", "port", "east").split()[1])
        assert flushed >= 1, flushed
        ping(west, EAST[0])
        settle()
        running.stop()


def test_turnpikectl():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})
        ping(west, EAST[0])

        def ctl(*words, code=0):
            done = subprocess.run([CTL, "--socket", path, *words], capture_output=True, text=True, check=False)
            assert done.returncode == code, done
            return done.stdout if code == 0 else done.stderr

        subjects = [line.split()[0].split(".")[1] for line in ctl("show", "help").splitlines()
                    if line.startswith("show.")]
        assert len(subjects) >= 14, subjects
        for what in subjects:
            words = {"route": ["route", "10.0.2.2"], "not-followed": ["control-plane", "not-followed"]}.get(what, [what])
            assert ctl("show", *words), what
            json.loads(ctl("--json", "show", *words).splitlines()[0])
        assert "10.0.2.0/24" in ctl("show", "routes", "10.0.0.0/8", "longer")
        # explain predicts the real result for a packet.
        words = ctl("explain", "west", "from", WEST[0], "to", EAST[0], "protocol", "icmp").split()
        assert words[-2:] != [] and "drop" not in words and "tx" in words and words[words.index("tx") + 2] == "east", words
        assert "no_route" in ctl("explain", "west", "from", WEST[0], "to", "10.77.0.1")
        assert ctl("trace", "1", "port", "west", "address", EAST[0]) == "tracing: 1 packets, for `show trace`\n"
        ping(west, EAST[0])
        said = ctl("show", "trace")
        assert f"{WEST[0]} > {EAST[0]} protocol 1\n" in said and "1 of 1 packets written" in said, said
        assert [line.split()[0] for line in said.splitlines()[1:5]] == ["rx", "iface_input", "ip_fast", "tx"], said
        for what, said in (("ports", b"\nwest "), ("cost", b"\n    1 "), ("drops", b"\npackets/s ")):
            with subprocess.Popen([CTL, "--socket", path, "watch", what, "--interval", "0.1"], stdout=subprocess.PIPE) as seen:
                looks = b""
                while looks.count(b"\n\n") < 3:
                    looks += os.read(seen.stdout.fileno(), 65536)
                seen.send_signal(signal.SIGINT)
                assert seen.wait(10) == 0 and looks.count(said) >= 3, looks
        # 700 routes take three pages.
        many = os.path.join(folder, "many.yaml")
        with open(many, "w", encoding="utf-8") as file:
            file.write(with_routes(running, [{"to": f"11.{i // 256}.{i % 256}.0/24", "via": EAST[0]} for i in range(700)]))
        assert ctl("check", many) == f"{many}: valid\n"
        assert ctl("diff", many).startswith("would change: 700 routes\n")
        assert ctl("apply", many) == "changed: 700 routes\n"
        shown = ctl("show", "routes", "11.0.0.0/8", "longer").splitlines()
        assert len([line for line in shown if line.startswith("11.")]) == 700, len(shown)
        with open(many, "a", encoding="utf-8") as file:
            file.write("nonsense: 1\n")
        said = ctl("apply", many, code=1)
        assert said.startswith(f"turnpikectl: {many}:") and "nonsense" in said, said
        assert ctl("reload") == "changed: 700 routes\n"
        # 3000 rules of an ACL take three pages of 1024, which turnpikectl joins; a table of the ACLs has none of them.
        rules = [{"action": "deny", "name": f"r{i}", "protocol": "udp", "destination_ports": i + 1} for i in range(3000)]
        operator = Operator(path, seconds=60)  # TSan compiles the list slowly
        operator.result("change", do=[{"add": {"acl": {"name": "long", "rules": rules}}},
                                      {"replace": {"port": {"name": "west", "acl": {"in": "long"}}}}])
        operator.close()
        (bound,) = json.loads(ctl("--json", "show", "acl"))["acl"]
        names = [r["name"] for r in bound["rules"]]
        assert [name for name in names if name.startswith("r")] == [r["name"] for r in rules], len(names)
        assert names[-1] == "default" and len(names) == len(set(names)), names[:3] + names[-3:]
        assert "first_rule" not in bound
        assert len([line for line in ctl("show", "acl", "long").splitlines() if "action: deny" in line]) >= 3000
        assert "r7" not in ctl("show", "acl")
        settle()
        running.stop()
        assert "cannot connect to turnpike" in ctl("reload", code=3)


def test_keys_are_set_one_by_one():
    """turnpikectl sets keys that `port replace` lacks. The reverse path check then drops packets, and the file of `save -`
    changes nothing."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, queues=2, control={"socket": path}, control_plane={"netlink": True, "namespace": lab.host("box").ns},
                        acl=[{"name": "edge", "default": "permit", "rules": []}])
        ping(west, EAST[0])

        def ctl(*words, code=0):
            done = subprocess.run([CTL, "--socket", path, *words], capture_output=True, text=True, check=False)
            assert done.returncode == code, done
            return done.stdout if code == 0 else done.stderr

        def saved():
            return yaml.safe_load(ctl("save", "-"))

        before = saved()
        for kind, key, value, file_value in (
                ("port", "mtu", "1400", 1400), ("port", "rx_workers", "1", [1]), ("port", "pcie.link", "gen3x8", "gen3x8"),
                ("interface", "urpf", "strict", "strict"), ("interface", "send_redirects", "true", True),
                ("interface", "accept_source_route", "true", True), ("interface", "host_interface", "true", True),
                ("interface", "router_alert", "true", True), ("interface", "acl.in", "edge", "edge"),
                ("interface", "extra_macs", "02:00:00:00:01:01,02:00:00:00:01:02",
                 ["02:00:00:00:01:01", "02:00:00:00:01:02"])):
            assert ctl("set", kind, "west", key, value).startswith("changed: "), key
            port = saved()["ports"][0]
            assert (port[key.split(".")[0]][key.split(".")[1]] if "." in key else port[key]) == file_value, (key, port)
        assert ctl("set", "port", "west", "description", "uplink to A, 10G").startswith("changed: 1 port")
        assert saved()["ports"][0]["description"] == "uplink to A, 10G"
        assert Operator(path).show("ports")["ports"][0]["description"] == "uplink to A, 10G"
        assert "uplink to A, 10G" in ctl("show", "ports") and "did you mean 'description'?" in ctl(
            "set", "port", "west", "descripton", "x", code=1)
        assert ctl("set", "drop_bogons", "true").startswith("changed: ") and saved()["drop_bogons"] is True
        assert ctl("set", "neighbours.attempts", "5").startswith("changed: ") and saved()["neighbours"]["attempts"] == 5
        assert "did you mean 'drain_us'?" in ctl("set", "tx.drain", "5", code=1)
        assert ctl("unset", "drop_bogons", "neighbours.attempts").startswith("changed: ")
        # A source that is routed to the other side: Linux with rp_filter=1 drops its packets likewise.
        west.run("ip addr add 10.0.2.77/32 dev lo")
        assert west.run(f"ping -n -c 1 -W 0.5 -I 10.0.2.77 {EAST[0]}", check=False).returncode != 0
        assert Operator(path).show("drops")["drops"].get("urpf", 0) >= 1
        ping(west, EAST[0])
        with open(os.path.join(folder, "saved.yaml"), "w", encoding="utf-8") as file:
            file.write(ctl("save", "-"))
        assert ctl("diff", os.path.join(folder, "saved.yaml")).startswith("would change: nothing")

        for words, why in ((("set", "port", "west", "mtu", "67"), "mtu: should be a whole number from 68 to 65517, not '67'"),
                           (("set", "port", "west", "mut", "1500"), "did you mean 'mtu'?"),
                           (("set", "port", "wset", "mtu", "1500"), "did you mean 'west'?"),
                           (("set", "interface", "west", "urpf", "strickt"), "should be off or loose or strict"),
                           (("unset", "interface", "east", "addresses"), "port 'east' has no addresses"),
                           (("unset", "port", "west", "device"), "has no default")):
            assert why in ctl(*words, code=1), words
        ctl("unset", "port", "west", "mtu", "rx_workers", "pcie.link", "acl.in", "description")
        ctl("unset", "interface", "west", "router_alert", "host_interface", "urpf", "send_redirects", "accept_source_route",
            "extra_macs")
        assert saved() == before
        settle()
        running.stop()


def test_counters_are_cleared():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})

        def ctl(*words):
            return subprocess.run([CTL, "--socket", path, *words], capture_output=True, text=True, check=True).stdout

        def received(operator):
            return {p["name"]: p["rx_packets"] for p in operator.show("ports")["ports"]}

        first, second = Operator(path), Operator(path)
        ping(west, EAST[0], count=10)
        settle()
        assert received(first)["west"] >= 10
        books = first.show("report")["balance"]
        assert ctl("clear", "counters") == "cleared: counters\n"
        # A host's kernel may send a packet by itself at any time.
        assert max((*received(second).values(), *received(first).values())) <= 2, received(first)
        assert "counters cleared " in ctl("show", "ports") and "cleared" in ctl("show", "drops")
        assert first.show("report")["balance"]["rx"] >= books["rx"] >= 20
        ping(west, EAST[0])
        assert 3 <= received(second)["west"] < books["rx"]
        rows = [line.split()[:2] for line in ctl("show", "pcie").splitlines()]
        assert ["west", "modelled"] in rows and ["east", "counted"] in rows, rows
        settle()
        assert running.stop()["balance"]["rx"] >= books["rx"] + 6
        assert f"uid {os.getuid()}" in running.output() and "cleared the counters of `show`" in running.output()


def test_telemetry_says_the_same():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})
        ping(west, EAST[0])
        assert not answers(west, "203.0.113.9")
        settle()
        operator, telemetry = Operator(path), Telemetry("rte")
        assert {"/turnpike/ports", "/turnpike/drops", "/turnpike/cost", "/turnpike/pcie"} <= set(telemetry.ask("/"))

        def between(said, before, after):
            """Compare an object between two polls: only its counters may differ."""
            for name, value in before.items():
                if isinstance(value, str):
                    assert said[name] == value, (name, said[name], value)
                elif isinstance(value, int) and not isinstance(value, bool):
                    assert value <= said[name] <= after[name], (name, value, said[name], after[name])

        def shown():
            by_name = {p["name"]: p for p in operator.show("ports")["ports"]}
            worker, = operator.show("cost")["workers"]
            return by_name, operator.show("drops"), worker

        for _ in range(2):
            ports, drops, worker = shown()
            assert ports["west"]["rx_packets"] >= 3 and drops["drops"]["no_route"] >= 1 and worker["packets"] >= 6
            all_ports, all_drops = telemetry.ask("/turnpike/ports"), telemetry.ask("/turnpike/drops")
            one_port, cost = telemetry.ask("/turnpike/ports,west"), telemetry.ask(f"/turnpike/cost,{worker['lcore']}")
            later = shown()
            assert set(all_ports) == {"west", "east", "since_s"}, all_ports
            for name in ("west", "east"):
                between(all_ports[name], ports[name], later[0][name])
            between(one_port, ports["west"], later[0]["west"])
            between(all_drops["all"], drops["drops"], later[1]["drops"])
            between(all_drops["west"], drops["ports"]["west"], later[1]["ports"]["west"])
            between(cost, worker, later[2])
            assert float(cost["cpp"]) > 1 and str(worker["lcore"]) in telemetry.ask("/turnpike/cost")
            assert telemetry.ask("/turnpike/pcie")["west"]["why_modelled"]
            operator.result("clear", what="counters")
            ping(west, EAST[0])
            assert not answers(west, "203.0.113.9")
            settle()
        for nobody in ("/turnpike/ports,nowhere", "/turnpike/cost,x"):
            assert telemetry.ask(nobody) == {}
        shown = subprocess.run(["dpdk-telemetry.py", "-f", "rte"], input="/turnpike/ports,west\n", text=True, check=True,
                               capture_output=True, timeout=20).stdout
        assert json.loads(shown)["/turnpike/ports"]["name"] == "west", shown
        running.stop()
        telemetry.close()

        null = patch_config("net_null0", "net_null1", eal="-l 0-1 --no-pci --in-memory --no-telemetry")
        null["eal"]["hugepages"] = "optional"
        quiet = Turnpike(lab, dut, null)
        asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            asked.connect("/var/run/dpdk/rte/dpdk_telemetry.v2")
            raise AssertionError("a telemetry socket exists in spite of --no-telemetry")
        except (FileNotFoundError, ConnectionRefusedError):
            asked.close()
        quiet.stop()


def test_what_systemd_hears():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        dut = lab.host("dut", True)
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.settimeout(20)
        manager.bind(os.path.join(folder, "notify"))

        def heard():
            """The next message; counts the watchdog's."""
            nonlocal alive
            while (said := manager.recv(4096).decode()) == "WATCHDOG=1\n":
                alive += 1
            return said

        alive, start = 0, time.monotonic()
        null = patch_config("net_null0", "net_null1")
        null["eal"]["hugepages"] = "optional"
        words = ["env", f"NOTIFY_SOCKET={manager.getsockname()}", "WATCHDOG_USEC=200000"]
        running = Turnpike(lab, dut, null, under=words)
        for part in ("configuration", "EAL", "ports and tables"):
            assert heard() == f"EXTEND_TIMEOUT_USEC=300000000\nSTATUS=starting: {part}\n"
        assert heard() == "READY=1\n"
        assert heard() == f"STATUS=forwarding by {running.config}\n"
        running.process.send_signal(signal.SIGHUP)
        assert heard().startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert heard() == "READY=1\n"
        assert heard().startswith("STATUS=forwarding by ")
        with open(running.config, "w", encoding="utf-8") as file:
            file.write("ports: 7\n")
        running.process.send_signal(signal.SIGHUP)
        assert heard().startswith("RELOADING=1\n")
        assert heard() == "READY=1\n"
        assert "turnpike.yaml:1" in heard()
        for _ in range(10):
            assert manager.recv(4096) == b"WATCHDOG=1\n"
        alive += 10
        running.stop()
        assert heard().startswith("STOPPING=1\n")
        assert alive <= 1 + 10 * (time.monotonic() - start), alive  # ten per second


def test_garbage_and_crowds_change_nothing():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = socket_in(folder)
        running = start(lab, dut, control={"socket": path})
        ping(west, EAST[0])
        # These pings continue during all clients' errors: 100 a second, none lost.
        steady = west.start("ping -n -i 0.01 -c 120 -W 1 " + EAST[0], stdout=subprocess.PIPE, text=True)
        operator = Operator(path)
        assert operator.send(b"\0\1\xff\n")["error"]["code"] == "EINVAL"
        assert operator.send(b"[" * 100_000 + b"\n")["error"]["code"] == "EINVAL"
        half = Operator(path)
        half.socket.sendall(b'{"request": "show", "what": "config"}')
        half.socket.shutdown(socket.SHUT_WR)
        assert half.receive()["result"]["changes"] == 1
        assert half.lines.readline() == b""
        long = Operator(path)
        try:
            long.socket.sendall(b"x" * 10_000_000)
        except OSError:
            pass  # closed by the server meanwhile
        assert long.receive()["error"]["code"] == "EMSGSIZE"
        deaf = Operator(path)
        deaf.socket.setblocking(False)
        try:
            while True:
                deaf.socket.send(b'{"request": "show", "what": "report"}\n' * 100)
        except BlockingIOError:
            pass
        idle = []
        for _ in range(1000):
            idle.append(socket.socket(socket.AF_UNIX))
            idle[-1].connect(path)
            if len(idle) % 20 == 0:
                assert operator.show("config")["changes"] == 1
        out, _ = steady.communicate(timeout=20)
        assert " 0% packet loss" in out, out
        wait_until(lambda: "idle the longest" in running.output(), "the log names the closed client")
        for each in idle:
            each.close()
        assert Operator(path).show("config")["changes"] == 1
        ping(west, EAST[0])
        settle()
        assert running.stop()["changes"] == 1


def test_two_do_not_take_each_others():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        dut = lab.host("dut", True)
        null = patch_config("net_null0", "net_null1", eal="-l 0-1 --no-pci --in-memory")
        null["eal"]["hugepages"] = "optional"
        assert not os.path.exists(os.path.dirname(DEFAULT))
        Turnpike(lab, dut, null).stop()
        assert not os.path.exists(os.path.dirname(DEFAULT)), "it leaves nothing"
        first = Turnpike(lab, dut, null)
        inode = os.stat(DEFAULT).st_ino
        second = Turnpike(lab, dut, null)
        assert f"no control socket: {DEFAULT}: another process answers there" in second.output(), second.output()
        named = Turnpike(lab, dut, {**null, "control": {"socket": DEFAULT}}, wait=False)
        assert named.finish() == 1
        assert f"{DEFAULT}: another process answers there" in named.output(), named.output()
        second.stop()
        assert os.stat(DEFAULT).st_ino == inode
        assert Operator(DEFAULT).show("config")["file"] == first.config
        # A killed turnpike leaves its socket file, and the next one replaces it.
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        assert os.path.exists(DEFAULT)
        third = Turnpike(lab, dut, null)
        assert Operator(DEFAULT).show("config")["file"] == third.config
        third.stop()
        nobody = Turnpike(lab, dut, {**null, "control": {"socket": socket_in(folder), "group": "no-such"}}, wait=False)
        assert nobody.finish() == 1
        assert "'no-such'" in nobody.output(), nobody.output()
        theirs = Turnpike(lab, dut, {**null, "control": {"socket": socket_in(folder), "group": "4321", "owner": "nobody"}})
        made = os.stat(socket_in(folder))
        assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (65534, 4321, 0o660), made
        theirs.stop()
        nobody = Turnpike(lab, dut, {**null, "control": {"owner": "no-such"}}, wait=False)
        assert nobody.finish() == 1 and "owner 'no-such'" in nobody.output(), nobody.output()
        wait_until(lambda: not os.path.exists(DEFAULT), "it is removed")


def test_the_socket_moves():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        here, there = (os.path.join(folder, name) for name in ("a.sock", "b.sock"))
        config = patch_config("net_null0", "net_null1", eal="-l 0-1 --no-pci --in-memory", control={"socket": here})
        config["eal"]["hugepages"] = "optional"
        running = Turnpike(lab, lab.host("dut", True), config)
        stays = Operator(here)

        def text(**control):
            return json.dumps({**config, "control": control})

        def is_as(path, uid, gid):
            made = os.stat(path)
            assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (uid, gid, 0o660), made
            assert Operator(path).show("config")["file"] == stays.show("config")["file"]
            return made.st_ino

        assert stays.result("apply", text=text(socket=there, group="4321"), name="moved.yaml")["settings"]
        assert not os.path.exists(here)
        inode = is_as(there, os.geteuid(), 4321)
        stays.result("apply", text=text(socket=there, owner="nobody"), name="given.yaml")
        assert is_as(there, 65534, os.getegid()) == inode
        # An impossible socket is refused completely, and leaves no file.
        for code, control in (("ENOENT", {"socket": os.path.join(folder, "none", "c.sock")}), ("EEXIST", {"socket": running.config}),
                              ("ENOENT", {"socket": there, "group": "no-such"}), ("ENOENT", {"socket": here, "owner": "no-such"})):
            assert stays.error("apply", text=text(**control), name="wrong.yaml")["code"] == code, control
        for control in ({"socket": here}, {"socket": there, "group": "4321"}):
            stays.error("apply", text=text(**control).replace("net_null0", "net_none0"), name="wrong.yaml")
            assert not os.path.exists(here) and is_as(there, 65534, os.getegid()) == inode
        stays.result("rollback")
        assert is_as(there, os.geteuid(), 4321) == inode
        stays.result("rollback", back=3)
        assert not os.path.exists(there)
        is_as(here, os.geteuid(), os.getegid())
        running.stop()
        assert not os.path.exists(here)


if __name__ == "__main__":
    tap.main(globals())
