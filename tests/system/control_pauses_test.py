#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Requests of an operator that take long, beside a Linux host that pings the router's own address every 10 ms: the longest
time that an answer takes is the longest pause of the thread that handles punted packets. A BFD session of FRR through a host
interface, with 50 ms, stays up."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import machine, tap  # noqa: E402
from lib.build import SLOWDOWN  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.daemons import Frr  # noqa: E402
from lib.dpdk_program import file_prefix, wait_for_hugepages  # noqa: E402
from lib.dut import Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import set_addresses  # noqa: E402

RULES, ROUTES, REPLACED_RULES, STATIONS, SECONDS = 100_000, 1_000_000, 10_000, 50_000, 2
PING_MS, BFD_MS = 10, 50
# On a machine with two CPUs that others use, too. Under 5 ms on a quiet one.
LONGEST_MS = 50 * SLOWDOWN
REPLY = re.compile(rb"\[(\d+\.\d+)\] .* icmp_seq=(\d+) .* time=([\d.]+) ms")


class Pings:
    """The kernel's ping, started in a host: each reply by its sequence number, with the time that it took."""

    def __init__(self, host, address):
        self.replies = {}
        self._process = host.start(f"chrt --rr 1 ping -n -D -i {PING_MS / 1000} {address}", stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        wait_until(lambda: len(self.replies) > 10, "the router answers echo requests")

    def _read(self):
        for line in self._process.stdout:
            if found := REPLY.match(line):
                self.replies[int(found[2])] = (float(found[1]), float(found[3]))

    def longest(self, since, until):
        """Milliseconds of the slowest answer to a request that was sent in this time, and the number of lost requests."""
        sent = {number: (at - ms / 1000, ms) for number, (at, ms) in list(self.replies.items())}
        of_it = {number: ms for number, (at, ms) in sent.items() if since <= at <= until}
        assert of_it, "no reply at all"
        return max(of_it.values()), max(of_it) - min(of_it) + 1 - len(of_it)


class Watchdog:
    """A service manager's socket: the times of the messages that the program lives."""
    INTERVAL_S = 2

    def __init__(self, path):
        self.times = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self.environment = ["env", f"NOTIFY_SOCKET={path}", f"WATCHDOG_USEC={self.INTERVAL_S * 1_000_000}"]
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            if self._socket.recv(4096) == b"WATCHDOG=1\n":
                self.times.append(time.monotonic())

    def longest(self):
        return max(after - before for before, after in zip(self.times, self.times[1:]))


class Bfd:
    """A session of FRR's between a host and the router's host interface. Like the pings, its daemons go before other
    processes."""

    def __init__(self, lab, box, peer):
        text = f"bfd\n peer {{}}\n  receive-interval {BFD_MS}\n  transmit-interval {BFD_MS}\n"
        self.frr = [Frr(lab, host, text.format(other), ("bfdd",)) for host, other in ((box, "10.0.4.2"), (peer, "10.0.4.1"))]
        for frr in self.frr:
            subprocess.run(["chrt", "-r", "-p", "1", str(frr.processes["bfdd"].pid)], check=True)
        wait_until(self.is_up, "the BFD session is up", 30)

    def is_up(self):
        peers = json.loads(self.frr[0].vty("show bfd peers json") or "[]")
        return [p.get("status") for p in peers] == ["up"]

    def went_down(self):
        (counts,) = json.loads(self.frr[0].vty("show bfd peers counters json"))
        return counts["session-down"]


def rules_text(count, first=0):
    """Rules in ClassBench format."""
    return "".join(f"@{10 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24\t198.51.{n >> 8 & 255}.0/24\t0 : 65535\t"
                   f"{1000 + n % 50000} : {1000 + n % 50000}\t0x06/0xFF\t0x0000/0x0000\n" for n in range(first, first + count))


def routes_text(count, gateway):
    return "".join(f"{16 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24 via {gateway}\n" for n in range(count))


class Router:
    def __init__(self, lab):
        wait_for_hugepages()
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-pauses-")
        self.west, dut = lab.host("west"), lab.host("dut", True)
        lab.cable(self.west, "eth0", dut, "w0")
        lab.cable(lab.host("north"), "eth0", dut, "n0")
        set_addresses(self.west, 1)
        peer, box = lab.host("peer"), lab.host("box")
        lab.cable(peer, "eth0", dut, "p0")
        peer.run("ip addr add 10.0.4.2/24 dev eth0")
        self.metrics = f"/run/turnpike-pauses-{os.getpid()}.metrics"
        self.socket = f"/run/turnpike-pauses-{os.getpid()}.sock"
        self.write("rules", rules_text(RULES))
        self.write("routes", "")
        devices = {"west": ({"device": "net_af_packet0,iface=w0"}, ["10.0.1.1/24", "2001:db8:1::1/64"]),
                   "peer": ({"device": "net_af_packet2,iface=p0", "host_interface": True}, ["10.0.4.1/24"]),
                   "east": ({"device": "net_simnic0,wire=sink", "acl": {"in": "long", "out": "short"}}, ["10.0.2.1/24"])}
        config = router_config(devices, (), eal=f"-l 0-1 --no-pci --in-memory --file-prefix={file_prefix('pauses')}",
                               workers=[1], control={"socket": self.socket},
                               control_plane={"netlink": True, "namespace": box.ns},
                               metrics={"listen": [f"unix:{self.metrics}"]})
        # Stations to flush: the generator's sources.
        config["ports"] += [{"name": "p0", "device": f"net_simnic1,wire=gen,rate=200k,l2flows={STATIONS}"},
                            {"name": "p1", "device": "net_simnic2,wire=sink"}]
        config["bridges"] = [{"name": "lan", "members": [{"port": "p0"}, {"port": "p1"}]}]
        config["routes"] = [{"file": self.path("routes")}]
        config["acl"] = [{"name": "long", "rules": [{"action": "deny", "file": self.path("rules")}], "default": "permit"},
                         {"name": "short", "rules": [{"action": "deny", "source": "192.0.2.0/24"}], "default": "permit"}]
        self.watchdog = Watchdog(self.path("notify"))
        self.turnpike = Turnpike(lab, dut, config, wait=False, under=self.watchdog.environment)
        self.turnpike.wait_for("turnpike: forwarding", 60)
        self.operator = Operator(self.socket, 60)
        self.pings = Pings(self.west, "10.0.1.1")
        self.bfd = Bfd(lab, box, peer)
        self.daemon = box.start("ip -batch -", stdin=subprocess.PIPE, text=True)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def measure(self, name, act):
        time.sleep(0.1)
        since, number, went_down = time.time(), 0, self.bfd.went_down()
        while time.time() < since + SECONDS or number == 0:
            act(number)
            number += 1
        until = time.time()
        time.sleep(0.5)
        longest, lost = self.pings.longest(since, until)
        went_down = self.bfd.went_down() - went_down
        print(f"# {name}: longest pause {longest:.1f} ms; {number} times in {until - since:.1f} s", flush=True)
        assert went_down == 0 and self.bfd.is_up(), f"the BFD session went down during {name}"
        assert lost == 0, f"{lost} requests are not answered at all during {name}"
        return longest

    def replace_acl(self, number):
        began = time.time()
        rules = [{"action": "deny", "source": f"10.{number % 200}.{n >> 8}.{n & 255}/32"} for n in range(REPLACED_RULES)]
        self.operator.result("change", do=[{"replace": {"acl": {"name": "short", "rules": rules, "default": "permit"}}}])
        time.sleep(max(0, began + 0.1 - time.time()))

    def exchange_port(self, number):
        port = {"name": "north", "device": "net_af_packet1,iface=n0", "addresses": ["10.0.3.1/24"]}
        self.operator.result("change", do=[{"add": {"port": port}} if number % 2 == 0 else {"del": {"port": {"name": "north"}}}])

    def change_routes(self, number):
        """A twentieth of a second of a daemon's changes, 500 a second, each by a next hop that is new."""
        began = time.time()
        self.daemon.stdin.write("".join(
            f"route replace 40.0.{at % 200}.0/24 via 10.9.{at >> 8}.{at & 255} dev peer onlink proto bgp\n"
            for at in range(25 * number, 25 * number + 25)))
        self.daemon.stdin.flush()
        time.sleep(max(0, began + 0.05 - time.time()))

    def scrape(self, _):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            s.connect(self.metrics)
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: turnpike\r\nConnection: close\r\n\r\n")
            got = b"".join(iter(lambda: s.recv(1 << 20), b""))
        assert got.startswith(b"HTTP/1.1 200 "), got[:200]

    def flush(self, _):
        wait_until(lambda: self.stations() == STATIONS, "all stations are learned again")
        assert self.operator.result("flush", what="fdb")["flushed"] > STATIONS / 2

    def stations(self):
        (fdb,) = [t for t in self.operator.result("show", what="tables")["tables"] if t["name"] == "fdb"]
        return fdb["entries"]

    def load_routes(self, number):
        self.write("routes", routes_text(ROUTES, f"10.0.2.{2 + number % 2}"))
        self.operator.result("reload")

    def show_acl(self, _):
        at = 0
        while at is not None:
            at = self.operator.result("show", what="acl", most=1024, **{"from": at})["next"]

    def configuration(self, _):
        at = 0
        while at is not None:
            at = self.operator.result("configuration", **{"from": at})["next"]


@tap.limit(300)
def test_requests_do_not_stop_punted_packets():
    with Lab() as lab:
        router = Router(lab)
        ask = router.operator.result
        acts = {
            "nothing": lambda _: time.sleep(0.1),
            "show ports": lambda _: ask("show", what="ports"),
            "show acl": router.show_acl,
            "show drops": lambda _: ask("show", what="drops"),
            "clear counters": lambda _: ask("clear", what="counters"),
            "show drops, cleared": lambda _: ask("show", what="drops"),
            "check of the file": lambda _: ask("check", file=router.turnpike.config),
            "reload of the same": lambda _: ask("reload"),
            "a port added, deleted": router.exchange_port,
            "explain": lambda _: ask("explain", port="east", **{"from": "10.0.2.9", "to": "10.0.1.2"}),
            "scrape": router.scrape,
            "flush fdb": router.flush,
            "an ACL replaced each 100 ms": router.replace_acl,
            "reload of a million routes": router.load_routes,
            "500 route changes a second": router.change_routes,
            "configuration": router.configuration,
            "save": lambda _: ask("save"),
            "rollback": lambda _: ask("rollback", back=1)}
        pauses = {name: router.measure(name, act) for name, act in acts.items()}
        learned = [r for r in ask("show", what="routes", **{"from": "40.0.0.0/24"})["routes"] if r["origin"] == "learned"]
        assert len(learned) >= 200 / 4 and all(r["via"].startswith("10.9.") for r in learned), learned
        alive = router.watchdog.longest()
        print(f"# longest time between two messages to the watchdog: {alive:.2f} s", flush=True)
        assert alive < router.watchdog.INTERVAL_S
        router.operator.close()
        router.turnpike.stop()
    quiet = pauses.pop("nothing")
    long = {name: f"{ms:.1f} ms" for name, ms in pauses.items() if ms > LONGEST_MS + quiet}
    machine.judge(not long, str(long))


class RtnlHolder:
    """Holds the kernel's RTNL lock for a time, as any program can: the deletion of a group of interfaces is one request."""
    INTERFACES, HELD_S = 60, 0.5  # the kernel takes some 17 ms for each bridge

    def __init__(self, host, folder):
        self.host, self.folder = host, folder

    def batch(self, *lines):
        path = os.path.join(self.folder, f"batch{threading.get_ident()}")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        self.host.run(f"ip -batch {path}", timeout=60)

    def make(self, group=7):
        self.batch(*(f"link add held{group}-{n} group {group} type bridge" for n in range(self.INTERFACES)))

    def hold(self, *first, group=7):
        """Requests, and then the deletion at once. The seconds that all took."""
        began = time.time()
        self.batch(*first, f"link del group {group}")
        return time.time() - began

    def hold_twice(self, between):
        """The request of another program waits for the lock, and a second deletion behind it. The seconds of the deletion."""
        self.make(group=8)
        first = threading.Thread(target=self.hold)
        first.start()
        time.sleep(0.2)
        waits = between()
        time.sleep(0.2)
        held = self.hold(group=8)
        first.join()
        assert waits.wait(10) == 0
        return held - 0.4


class LostNotifications:
    """A program that is stopped while the kernel has more notifications than its socket holds: it then dumps all."""
    ROUTES = 100_000

    def __init__(self, running, box):
        self.running, self.box, self.continued = running, box, 0

    def batch(self, lines):
        subprocess.run(self.box.command("ip -batch -"), input="\n".join(lines) + "\n", text=True, check=True)

    def lose(self, before):
        self.before = before
        os.kill(self.running.process.pid, signal.SIGSTOP)
        for verb in ("add", "del"):
            self.batch(f"route {verb} blackhole 10.{100 + n // 65536}.{n // 256 % 256}.{n % 256}/32" for n in range(self.ROUTES))
        self.batch(["route add blackhole 10.99.0.0/16"])

    def continue_while(self, holds):
        """The program goes on when RTNL is held already."""
        def go_on():
            self.continued = time.time()
            os.kill(self.running.process.pid, signal.SIGCONT)

        timer, began = threading.Timer(0.2, go_on), time.time()
        timer.start()
        holds()
        timer.join()
        return time.time() - max(began, self.continued)

    def are_made_up_for(self, shown):
        return shown["overruns"] > self.before["overruns"] and shown["whole"] > self.before["whole"] and shown["routes"] == 1


@tap.limit(180)
def test_nothing_waits_for_the_kernels_lock():
    """A TAP's carrier is lost, a TAP is deleted, an address is followed, which changes the port's filters, and all is dumped anew,
    while another program has RTNL."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-rtnl-") as folder:
        wait_for_hugepages()
        west, dut, peer, box = lab.host("west"), lab.host("dut", True), lab.host("peer"), lab.host("box")
        lab.cable(west, "eth0", dut, "w0")
        lab.cable(peer, "eth0", dut, "p0")
        set_addresses(west, 1)
        devices = {"west": ({"device": "net_af_packet0,iface=w0"}, ["10.0.1.1/24"]),
                   "peer": ({"device": "net_xsk0,iface=p0", "host_interface": True}, ["10.0.4.1/24"])}
        # Like the pings before other processes, so that the kernel's lock is measured, and not the machine's load.
        running = Turnpike(lab, dut, router_config(devices, (), control_plane={"netlink": True, "namespace": box.ns}),
                           under=["chrt", "--rr", "1"])
        has = lambda text: text in box.run("ip addr show peer", check=False).stdout  # noqa: E731
        wait_until(lambda: has("10.0.4.1/24") and has("LOWER_UP"), "the kernel has the interface")
        pings = Pings(west, "10.0.1.1")
        holder = RtnlHolder(peer, folder)
        operator = Operator("/run/turnpike/control.sock")
        ask = lambda what: str(operator.result("show", what=what))  # noqa: E731
        shown = lambda: operator.result("show", what="control-plane")  # noqa: E731
        losses = LostNotifications(running, box)
        cases = {"a carrier that is lost": (lambda: holder.hold("link set eth0 down"), lambda: has("NO-CARRIER")),
                 "an interface that is deleted": (lambda: box.run("ip link del peer") and holder.hold(),
                                                  lambda: has("10.0.4.1/24")),
                 "an address of a daemon": (lambda: holder.hold_twice(lambda: box.start("ip addr add 2001:db8:4::1/64 dev peer nodad")),
                                            lambda: "2001:db8:4::1/64" in ask("interfaces")),
                 "a dump of all after lost notifications": (lambda: losses.continue_while(holder.hold),
                                                            lambda: losses.are_made_up_for(shown()))}
        pauses = {}
        for name, (act, is_done) in cases.items():
            holder.make()
            if name == "a dump of all after lost notifications":
                losses.lose(shown())
            since = time.time()
            held = act()
            since = max(since, losses.continued)
            wait_until(is_done, name, 10)
            until = time.time()
            time.sleep(0.5)
            longest, lost = pings.longest(since, until)
            pauses[name] = longest
            print(f"# {name}: longest pause {longest:.1f} ms; the lock was held for {held * 1000:.0f} ms", flush=True)
            assert held > RtnlHolder.HELD_S, f"the lock was held for {held} s only"
            assert lost == 0, f"{lost} requests are not answered at all"
        running.stop()
    long = {name: f"{ms:.1f} ms" for name, ms in pauses.items() if ms > LONGEST_MS}
    machine.judge(not long, str(long))


if __name__ == "__main__":
    tap.main(globals())
