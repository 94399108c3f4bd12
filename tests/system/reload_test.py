#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnpike reloads its configuration (SIGHUP) while hosts ping through it."""
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike, patch_config, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, OURS, WEST, answers, cabled, ping, reload, rewrite, settle, start  # noqa: E402


def test_routes_lists_and_addresses():
    with Lab() as lab:
        west, dut, east = cabled(lab)
        east.run("ip addr add 10.9.0.1/32 dev lo")
        running = start(lab, dut)
        ping(west, EAST[0])
        assert not answers(west, "10.9.0.1")
        # These pings continue through all changes: 100 a second, none lost.
        steady = west.start("ping -n -i 0.01 -c 300 -W 1 " + EAST[0], stdout=subprocess.PIPE, text=True)
        said = rewrite(running, lambda c: c.update(routes=[{"to": "10.9.0.0/16", "via": EAST[0]}]))
        assert "1 route changed" in said, said
        ping(west, "10.9.0.1", count=1)
        # The same by a gateway with another route, which is then deleted and added.
        below = {"to": "192.0.2.0/24", "via": EAST[0]}
        rewrite(running, lambda c: c.update(routes=[{"to": "10.9.0.0/16", "via": "192.0.2.1", "recursive": True}]))
        assert not answers(west, "10.9.0.1")
        assert "1 route changed" in rewrite(running, lambda c: c["routes"].append(below))
        ping(west, "10.9.0.1", count=1)

        def deny_ping_to_lo(config):
            config["acl"] = [{"name": "no", "default": "permit",
                              "rules": [{"action": "deny", "protocol": "icmp", "destination": "10.9.0.1/32"}]}]
            config["ports"][0]["acl"] = {"in": "no"}

        rewrite(running, deny_ping_to_lo)
        assert not answers(west, "10.9.0.1")

        def another_rule(config):
            config["acl"][0]["rules"].insert(0, {"action": "permit", "protocol": "icmp", "source": WEST[0] + "/32",
                                                 "destination": "10.9.0.0/16"})

        assert "1 access list changed" in rewrite(running, another_rule)
        ping(west, "10.9.0.1", count=1)
        rewrite(running, lambda c: c["ports"][1]["addresses"].append("10.0.7.1/24"))
        ping(west, "10.0.7.1", count=1)
        assert "nothing changed" in reload(running)
        out, _ = steady.communicate(timeout=20)
        assert " 0% packet loss" in out, out
        settle()
        report = running.stop()
        assert report["changes"] == 7, report["changes"]
        assert report["drops"]["route_unreachable"] > 0, report["drops"]


def test_what_is_wrong_is_refused_whole():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        running = start(lab, dut)
        ping(west, EAST[0])
        with open(running.config, encoding="utf-8") as file:
            good = file.read()
        wrong = [good.replace("10.0.2.1/24", "10.0.2.999/24"), good[:len(good) // 2], "", "\0\1\2", "ports: 7",
                 "[" * 10_000, good + "\nnonsense: 1\n", good + "\nworkers: [1, 2]\n"]
        for text in wrong:
            with open(running.config, "w", encoding="utf-8") as file:
                file.write(text)
            said = reload(running)
            assert "refused, the running configuration stays: " in said and "turnpike.yaml" in said, said
            ping(west, EAST[0], count=1)
        os.unlink(running.config)
        assert "No such file" in reload(running)
        with open(running.config, "w", encoding="utf-8") as file:
            file.write(good)
        assert "nothing changed" in reload(running)
        ping(west, EAST[0])
        assert running.stop()["changes"] == 1


def test_ports_come_and_go():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        north = lab.host("north")
        lab.cable(north, "eth0", dut, "n0")
        north.run("ip addr add 10.0.3.2/24 dev eth0")
        north.run("ip route add default via 10.0.3.1")
        running = start(lab, dut)
        ping(west, EAST[0])
        for _ in range(3):
            rewrite(running, lambda c: c["ports"].append(
                {"name": "north", "device": "net_af_packet7,iface=n0", "addresses": ["10.0.3.1/24"]}))
            wait_until(lambda: answers(west, "10.0.3.2"), "the new port's network is reached", 5)
            rewrite(running, lambda c: c["ports"].pop())
            assert not answers(west, "10.0.3.2")
            ping(west, EAST[0], count=1)
        report = running.stop()
        assert [p["name"] for p in report["ports"]] == ["west", "east", "(removed)"], report["ports"]
        assert report["ports"][2]["rx_packets"] >= 3, report["ports"][2]


def test_a_port_waits_for_its_device():
    """At the start, and after reloads; it is opened when the interface is made. Without `optional`, a start is refused."""
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        north = lab.host("north")
        devices = {"west": ({"device": "net_af_packet0,iface=w0"}, OURS["west"]),
                   "east": ({"device": "net_af_packet1,iface=e0"}, OURS["east"]),
                   "north": ({"device": "net_af_packet7,iface=n0", "optional": True}, ["10.0.3.1/24"])}
        running = Turnpike(lab, dut, router_config(devices))
        said = "port 'north': device 'net_af_packet7,iface=n0' cannot be opened: there is no interface 'n0'"
        assert said in running.output(), running.output()
        ping(west, EAST[0])
        assert "nothing changed" in reload(running)
        lab.cable(north, "eth0", dut, "n0")
        north.run("ip addr add 10.0.3.2/24 dev eth0")
        north.run("ip route add default via 10.0.3.1")
        wait_until(lambda: answers(west, "10.0.3.2"), "its network is reached", 15)
        ping(west, EAST[0], count=1)
        said = rewrite(running, lambda c: c["ports"][2].pop("optional"))
        assert "1 port changed" in said, said
        ping(west, "10.0.3.2", count=1)
        report = running.stop()
        assert [p["name"] for p in report["ports"]] == ["west", "east", "north"], report["ports"]
        config = router_config({**devices, "north": ({"device": "net_af_packet7,iface=nonesuch"}, ["10.0.3.1/24"])})
        refused = Turnpike(lab, dut, config, wait=False)
        assert refused.finish() == 1, refused.output()
        assert "there is no interface 'nonesuch'" in refused.output(), refused.output()


def test_routes_of_a_file():
    """90,000 of them, compressed; an error names the line."""
    import gzip
    with Lab() as lab:
        west, dut, east = cabled(lab)
        east.run("ip addr add 11.1.95.1/32 dev lo")
        running = start(lab, dut)
        path = os.path.join(running.folder.name, "routes.gz")
        lines = [f"11.{i >> 16}.{i >> 8 & 255}.{i & 255} via {EAST[0]} dev east proto bgp metric 20"
                 for i in range(90_000)]
        with gzip.open(path, "wt") as file:
            file.write("# a table\n" + "\n".join(lines) + "\n")
        began = time.monotonic()
        assert "90000 routes changed" in rewrite(running, lambda c: c.update(routes={"file": "routes.gz"}))
        print(f"# 90,000 routes in {time.monotonic() - began:.2f} s")
        ping(west, "11.1.95.1", count=1)
        with gzip.open(path, "wt") as file:
            file.write("\n".join(lines) + "\n10.9.0.0/16 over there\n")
        said = reload(running)
        assert "routes.gz:90001" in said and "'over'" in said, said
        ping(west, "11.1.95.1", count=1)
        report = running.stop()
        assert report["routes"]["ipv4"] > 90_000, report["routes"]


def test_a_pager_that_is_not_read_stops_nothing():
    """Standard output into a full pipe, which is then closed; tables every 10 ms."""
    with Lab() as lab:
        _west, dut, _east = cabled(lab)
        read_end, write_end = os.pipe()
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
        with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
            config = os.path.join(folder, "turnpike.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(yaml.safe_dump(patch_config("net_null0", "net_null1")))
            log = os.path.join(folder, "log")
            with open(log, "w", encoding="utf-8") as errors:
                from lib.dut import PROGRAM
                process = dut.start([PROGRAM, "--config", config, "--stats-interval", "0.01"], stdout=write_end,
                                    stderr=errors)
            os.close(write_end)

            def said():
                with open(log, encoding="utf-8") as file:
                    return file.read()

            wait_until(lambda: "forwarding" in said(), "it forwards", seconds=20)
            time.sleep(1)
            process.send_signal(signal.SIGHUP)  # control still answers
            time.sleep(0.5)
            assert process.poll() is None, said()
            os.close(read_end)  # now every write fails
            time.sleep(0.5)
            assert process.poll() is None, said()
            wait_until(lambda: "nothing changed" in said(), "control was not held up", seconds=5)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0, said()


def test_tables_after_a_stall_are_of_whole_intervals():
    """None of the intervals that passed meanwhile is caught up."""
    interval = 0.2
    with Lab() as lab:
        running = Turnpike(lab, lab.host("dut"), patch_config("net_null0", "net_null1"), options=["--stats-interval", str(interval)])

        def tables():
            return running.output().count("\nbalance  rx ")

        wait_until(lambda: tables() > 1, "tables are printed", seconds=20)
        running.process.send_signal(signal.SIGSTOP)
        before = tables()
        time.sleep(10 * interval)
        start = time.monotonic()
        running.process.send_signal(signal.SIGCONT)
        time.sleep(1.5 * interval)
        more = tables() - before
        assert more <= 2 + (time.monotonic() - start) / interval, more
        wait_until(lambda: tables() > before + 3, "they go on", seconds=20)
        running.stop()


def test_pcie_profiles_are_read_again():
    """By their contents: a changed text in the same file is a change, an unchanged one is none."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        mine = os.path.join(folder, "mine.yaml")

        def says(name, packets):
            with open(mine, "w", encoding="utf-8") as file:
                yaml.safe_dump({"profiles": [{"name": name, "base": "ixgbe",
                                              "rx": {"doorbell": {"policy": "every", "packets": packets}}}]}, file)

        says("mine", 32)
        bill = {"pcie": {"profile": "mine", "link": "gen3x8"}}
        config = patch_config({"device": "net_simnic0,wire=gen,rate=10k", **bill}, {"device": "net_simnic1,wire=gen,rate=10k"},
                              eal="-l 0-1 --no-pci --in-memory", pcie_profiles=mine)
        running = Turnpike(lab, lab.host("dut", True), config)

        def doorbells():
            operator = Operator("/run/turnpike/control.sock")
            west = operator.show("pcie")["ports"][0]
            operator.close()
            return west["modelled"] and west["modelled"]["per_packet"]["lines"]["wil"]

        before = wait_until(doorbells, "packets")
        assert "nothing changed" in reload(running)
        says("mine", 1)
        assert "settings changed" in reload(running)
        assert doorbells() > before * 1.5, (before, doorbells())
        says("other", 1)
        said = reload(running)
        assert "port 'west': pcie" in said and "there are: other, " in said, said
        with open(mine, "w", encoding="utf-8") as file:
            file.write("profiles: 7")
        assert f"{mine}:1" in reload(running)
        os.unlink(mine)
        said = reload(running)
        assert f"pcie_profiles is {mine}, which cannot be read" in said, said
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
