#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Configuration changes of a router under traffic that is checked by sequence numbers: unaffected traffic loses nothing, and
rolled back or saved configurations equal the original. Each test prints offered, lost and wrong packets."""
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.build import SANITIZED, SLOWDOWN  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import LONG, Turnpike, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.telemetry import Telemetry  # noqa: E402

# A worker that shares its CPU is descheduled for tens of milliseconds: the rings hold the packets of 80, or with a sanitizer
# of 800.
RATE, DESCRIPTORS = "5k" if SANITIZED else "50k", 4096
FORWARDS_AGAIN_S = 3 * SLOWDOWN
COUNTED = {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rates"}  # of an interface
SEED = 20240229  # of the random changes; with TURNPIKE_LONG=1 a new one each time
LISTS = {"acl": [{"name": "l", "default": "permit", "rules": []}]}


def device(n, rate=RATE):
    return {"device": f"net_simnic{n},wire=gen,rate={rate},l3flows=200,src=198.18.{n}.1,dst=198.18.{1 - n}.0",
            "descriptors": DESCRIPTORS}


class Steered:
    """A router between two generators, each of which checks the other's packets; no packets should arrive at a third
    port. extra: the devices of ports p3, ...; under: a command that starts turnpike."""

    def __init__(self, lab, extra=(), under=(), **more):
        self.prefix = f"steer{os.getpid()}"
        self.socket = f"/run/turnpike-steer-{os.getpid()}.sock"
        devices = {f"p{n}": (device(n), [f"10.0.{n}.1/24", f"2001:db8:{n}::1/64"]) for n in range(2)}
        devices["p2"] = ({"device": "net_simnic2,wire=gen,rate=1,l3flows=1,dst=10.0.2.1", "descriptors": 1024}, ["10.0.2.1/24"])
        devices |= {f"p{n}": (port, [f"10.0.{n}.1/24"]) for n, port in enumerate(extra, 3)}
        static = [{"address": f"10.0.{n}.{host}", "mac": f"02:00:00:00:{host:02x}:{n:02x}"}
                  for n in range(len(devices)) for host in range(2, 6)]
        routes = more.pop("routes", [{"to": f"198.18.{n}.0/24", "via": f"10.0.{n}.2"} for n in range(2)])
        self.config = router_config(devices, routes, neighbours={"static": static}, control={"socket": self.socket},
                                    workers=[1], mempool=more.pop("mempool", {"buffers": 65536}),
                                    eal=f"-l 0-1 --no-pci --in-memory --file-prefix={self.prefix}", **more)
        self.turnpike = Turnpike(lab, lab.host("dut"), self.config, under=under)
        self.telemetry = Telemetry(self.prefix)
        self.operator = Operator(self.socket, 60)
        wait_until(lambda: self.counts(0)["gen_received"] > 1000, "traffic", 20)

    def counts(self, port):
        return self.telemetry.ask(f"/ethdev/xstats,{port}")

    def books(self):
        """Offered, lost and wrong packets so far."""
        counts = [self.counts(port) for port in range(3)]
        wrong = sum(c[f"gen_{kind}"] for c in counts[:2] for kind in ("duplicated", "reordered", "damaged"))
        return (sum(c["gen_sent"] for c in counts[:2]), sum(c["gen_lost"] for c in counts[:2]),
                wrong + (counts[2] or {}).get("gen_received", 0))

    def settle(self):
        """Wait for packets in flight."""
        time.sleep(0.2)
        return self.books()

    def stop(self):
        self.operator.close()
        self.telemetry.close()
        return self.turnpike.stop()

    def kill(self):
        """Kill with SIGKILL, and wait for its end."""
        self.operator.close()
        self.telemetry.close()
        self.turnpike.process.send_signal(signal.SIGKILL)
        self.turnpike.process.wait(10)


class Nothing:
    """Checks that nothing is lost or wrong inside the block."""

    def __init__(self, steered, what):
        self.steered, self.what = steered, what

    def __enter__(self):
        self.before = self.steered.settle()

    def __exit__(self, kind, *_):
        enough = 100 if SANITIZED else 1000
        if kind is None:  # a block may be shorter than the sender's pause on a busy machine
            wait_until(lambda: self.steered.books()[0] - self.before[0] > enough, "the sender's packets", 30)
        offered, lost, wrong = (now - was for now, was in zip(self.steered.settle(), self.before))
        print(f"# {self.what}: offered {offered}, lost {lost}, wrong {wrong}")
        if kind is None:
            assert offered > enough and lost == 0 and wrong == 0, (offered, lost, wrong)


def lines_of(verb, prefixes, port=2):
    return "\n".join(f"{verb} {p}" + ("" if verb == "del" else f" via 10.0.{port}.3") for p in prefixes)


def some_prefixes(count, seed=1):
    chosen = random.Random(seed)
    out = set()
    while len(out) < count:
        out.add(f"{chosen.randrange(11, 126)}.{chosen.randrange(256)}.{chosen.randrange(256)}.0/24")
    return sorted(out)


def test_reloads_and_routes_of_others_lose_nothing():
    with Lab() as lab:
        s = Steered(lab)
        with Nothing(s, "20 reloads of the same file"):
            for _ in range(20):
                assert s.operator.result("reload")["text"] == "nothing"
        others = some_prefixes(1000)
        with Nothing(s, "1,000 routes come and go, 10 times"):
            for _ in range(10):
                assert s.operator.result("routes", lines=lines_of("add", others))["routes"]["set"] == 1000
                assert s.operator.result("routes", lines=lines_of("del", others))["routes"]["removed"] == 1000
        s.stop()


def test_bad_input_loses_nothing():
    with Lab() as lab:
        s = Steered(lab)
        text = json.dumps(s.config)
        with Nothing(s, "bad input"):
            for bad in ("", text[:len(text) // 2], "[" * 1000, "\0\1\2", text.replace("10.0.0.1/24", "10.0.0.1"),
                        text.replace('"workers": [1]', '"workers": [0, 1]')):
                s.operator.error("apply", text=bad, name="bad.yaml")
                with open(s.turnpike.config, "w", encoding="utf-8") as file:
                    file.write(bad)
                s.operator.error("reload")
            s.operator.error("change", do=[{"del": {"address": {"port": "p0", "address": "10.0.0.1/24"}}}])
            s.operator.error("routes", lines="add 198.18.0.0/24 via 10.0.2.3")
            s.operator.error("routes", lines=lines_of("add", some_prefixes(5000)) + "\nadd nonsense")
            for raw in (b"{\n", b"\xff\xfe\n", b"[" * 100000 + b"\n"):
                assert "error" in s.operator.send(raw)
        assert s.operator.result("states")["unsaved"] is False
        s.stop()


def test_churn_loses_nothing_of_stable_routes():
    """Routes that cover the stable ones are added, deleted and moved, too: none may ever be used for them."""
    with Lab() as lab:
        s = Steered(lab)
        around = ["198.18.0.0/23", "198.18.0.0/16", "198.0.0.0/8", "0.0.0.0/0"]
        batch, chosen, there, changed = 10000, random.Random(3), set(), 0
        pool = some_prefixes(100000, 2)
        seconds = 60 if LONG else 4
        with Nothing(s, f"churn for {seconds} s"):
            begin = time.monotonic()
            while time.monotonic() < begin + seconds:
                picked = chosen.sample(pool, batch) + [p for p in around if chosen.random() < 0.5]
                lines = "\n".join(lines_of("del" if p in there else "add", [p]) for p in picked)
                s.operator.result("routes", lines=lines)
                there ^= set(picked)
                changed += len(picked)
            took = time.monotonic() - begin
        print(f"# {changed / took:.0f} changes a second")
        shown = s.operator.show("memory")["fib4"]["routes"]
        s.operator.result("routes", lines=lines_of("del", there))
        assert shown - s.operator.show("memory")["fib4"]["routes"] == len(there)
        s.stop()


def test_every_packet_is_judged_by_the_old_list_or_the_new():
    """Every list counts each packet once, and permits it behind 10,000 rules that deny others."""
    def rules(odd):
        denied = "\n".join(f"@{11 + i // 65536}.{i >> 8 & 255}.{i & 255}.{odd}/32\t0.0.0.0/0\t0 : 65535\t0 : 65535\t"
                           "0x00/0x00\t0x0000/0x0000" for i in range(10000))
        return [{"action": "count", "name": "all"}, {"action": "deny", "lines": denied + "\n"}]
    with Lab() as lab:
        s = Steered(lab, **LISTS)
        s.operator.result("change", do=[{"replace": {"acl": {"name": "l", "rules": rules(0)}}},
                                        {"replace": {"port": {"name": "p0", "acl": {"in": "l"}}}}])
        seconds, replaced = 30 if LONG else 3, 0
        with Nothing(s, f"a list of 10,000 rules is replaced for {seconds} s"):
            begin = time.monotonic()
            while time.monotonic() < begin + seconds:
                replaced += 1
                s.operator.result("change", do=[{"replace": {"acl": {"name": "l", "rules": rules(replaced % 2)}}}])
                time.sleep(max(0, begin + replaced * 0.1 - time.monotonic()))
        print(f"# replaced {replaced} times")
        report = s.stop()
        judged = report["acl"][0]
        assert judged["denied"] == 0, judged["denied"]
        count = next(r for r in judged["rules"] if r["name"] == "all")
        assert count["packets"] == judged["permitted"] > 1000, (count["packets"], judged["permitted"])
        assert set(report["drops"]) <= {"local_protocol"}, report["drops"]  # packets from p2


def everything_shown(operator):
    routes, request = [], {"what": "routes"}
    while True:
        page = operator.result("show", **request)
        routes += [{k: r.get(k) for k in ("to", "origin", "type", "reason", "interface", "via", "mac", "gateways")}
                   for r in page["routes"]]
        if page["next"] is None:
            break
        request["from"] = page["next"]
    static = [n for n in operator.show("neighbours", most=1024)["neighbours"] if n["static"]]
    for n in static:
        n.pop("next_hop")
    ports = [{k: p[k] for k in ("name", "device", "mtu", "mac", "rx_queues", "descriptors")}
             for p in operator.show("ports")["ports"] if p["name"] != "(removed)"]
    acls = [{k: a[k] for k in ("port", "direction", "list")} for a in operator.show("acl")["acl"]]
    return {"routes": routes, "static": static, "ports": ports, "acl": acls,
            "interfaces": [{key: value for key, value in one.items() if key not in COUNTED}
                           for one in operator.show("interfaces")["interfaces"]]}


def looked_up(operator, count):
    chosen, out = random.Random(9), []
    for _ in range(count):
        address = f"{chosen.choice((10, 11, 12, 198, 203))}.{chosen.randrange(32)}.{chosen.randrange(4)}.{chosen.randrange(8)}"
        found = operator.show("route", address=address)
        out.append([address, *(found.get(k) for k in ("to", "type", "reason", "interface", "via", "mac", "mtu"))])
    return out


def test_what_nobody_confirms_is_exactly_as_before():
    with Lab() as lab:
        s = Steered(lab, **LISTS)
        before, config = everything_shown(s.operator), s.operator.result("configuration")
        changed = dict(s.config, routes=[{"to": "11.0.0.0/8", "via": "10.0.2.3"}], icmp={"rate": 7})
        changed["ports"] = [dict(p, mtu=1400) for p in s.config["ports"] if p["name"] != "p2"]
        changed["routes"] = [{"to": "11.0.0.0/8", "via": "10.0.1.3"}]
        changed["neighbours"] = {"static": [n for n in s.config["neighbours"]["static"] if ".2." not in n["address"]]}
        s.operator.result("apply", text=json.dumps(changed), name="other.yaml", confirm=1)
        assert everything_shown(s.operator) != before
        assert s.operator.error("reload")["code"] == "EBUSY"
        wait_until(lambda: s.operator.result("states")["undone_in_s"] is None, "it is undone", 10)
        after = everything_shown(s.operator)
        assert after == before, (after, before)
        assert s.operator.result("configuration") == config
        with Nothing(s, "after an undone change"):
            time.sleep(0.5)
        s.stop()


def random_edit(chosen):
    host = f"10.0.{chosen.randrange(3)}.{chosen.randrange(3, 12)}"  # .2 are the generators' addresses
    prefix = f"{chosen.choice((11, 12, 203))}.{chosen.randrange(32)}.{chosen.randrange(4)}.0/{chosen.choice((14, 22, 24))}"
    if prefix.endswith(("/14", "/22")):
        first, second = prefix.split(".")[:2]
        prefix = f"{first}.{int(second) & 28}.0.0/{prefix.split('/')[1]}"
    leads = {"via": host} if chosen.random() < 0.8 else {"type": "blackhole"}
    if chosen.random() < 0.3:  # longer prefixes come from other edits
        beyond = [host] + [f"{chosen.choice((11, 12, 203))}.{chosen.randrange(32)}.{chosen.randrange(4)}.1" for _ in range(2)]
        leads = {"via": chosen.sample(beyond, chosen.choice((1, 2))), "recursive": True}
    verb = chosen.choice(("add", "replace", "del"))
    rule = {"action": chosen.choice(("permit", "deny", "count")), "source": f"11.{chosen.randrange(8)}.0.0/16"}
    return chosen.choice((
        {verb: {"route": {"to": prefix} if verb == "del" else {"to": prefix, **leads}}},
        {verb: {"route": {"to": prefix} if verb == "del" else {"to": prefix, **leads}}},
        {verb: {"neighbour": {"address": host} if verb == "del" else {
            "address": host, "mac": f"02:00:00:00:00:{chosen.randrange(256):02x}"}}},
        {"replace": {"port": {"name": f"p{chosen.randrange(3)}", "mtu": chosen.choice((1400, 1500))}}},
        {"replace": {"port": {"name": "p2", "acl": {chosen.choice(("in", "out")): chosen.choice(("l", None))}}}},
        {chosen.choice(("add", "del")): {"address": {"port": "p2", "address": f"10.1.{chosen.randrange(4)}.1/24"}}},
        {"add": {"rule": {"list": "l", "at": 1, "rule": rule}}},
        {"del": {"rule": {"list": "l", "at": chosen.randrange(1, 4)}}},
        {"set": {"tx": {"drain_us": chosen.randrange(100)}}},
        {"set": {"neighbours": {"queue_len": chosen.randrange(64)}}}))


def test_after_random_changes_it_is_as_if_started_from_what_it_saves():
    seed = random.randrange(1 << 32) if LONG else SEED
    print(f"# seed {seed}")
    chosen = random.Random(seed)
    with Lab() as lab:
        s = Steered(lab, **LISTS)
        made = refused = 0
        with Nothing(s, "random changes"):
            for i in range(3000 if LONG else 400):
                answer = s.operator.ask("change", do=[random_edit(chosen) for _ in range(chosen.choice((1, 1, 1, 2, 3)))])
                made, refused = made + ("result" in answer), refused + ("error" in answer)
                if i % 37 == 36 and s.operator.ask("rollback", back=chosen.randrange(1, 4)).get("error"):
                    refused += 1
        print(f"# {made} changes made, {refused} refused")
        assert made > 50 and refused > 10
        s.operator.result("save")
        assert s.operator.result("states")["unsaved"] is False
        count = 100000 if LONG else 2000
        shown, found = everything_shown(s.operator), looked_up(s.operator, count)
        s.stop()
        fresh = Turnpike(lab, lab.host("dut2"), open(s.turnpike.config, encoding="utf-8").read())
        operator = Operator(s.socket, 60)
        now = everything_shown(operator)
        assert now == shown, [(what, [row for row in shown[what] if row not in now[what]],
                               [row for row in now[what] if row not in shown[what]]) for what in shown]
        assert looked_up(operator, count) == found
        operator.close()
        fresh.stop()


def test_a_device_vanishes_and_is_there_again():
    """Only packets to that port are lost, and they are counted."""
    with Lab() as lab:
        s = Steered(lab)

        def shown():
            return next(p for p in s.operator.show("ports")["ports"] if p["name"] == "p2")

        def refused():
            return s.operator.show("drops")["ports"]["p0"].get("port_down", 0)

        def ask(**more):
            return s.operator.result("change", do=[{"replace": {"port": {"name": "p2", **more}}}])

        plain = s.config["ports"][2]["device"]
        others = some_prefixes(100)
        with Nothing(s, "a device vanishes twice, and others' routes change meanwhile"):
            assert ask(device=plain + ",vanish=200")["reopened"] == ["p2"]
            wait_until(lambda: shown()["link"] == "removed", "it vanishes")
            s.operator.result("routes", lines=lines_of("add", others))
            s.operator.result("routes", lines=lines_of("del", others))
            assert shown()["link"] == "removed", "no request replaced it"
            assert ask()["reopened"] == ["p2"]
            gone = f"port 'p2': its device {plain},vanish=200 is gone"
            wait_until(lambda: s.turnpike.output().count(gone) == 2, "it was there again, and is not")
            # A reload while the device is missing is refused, and the running configuration stays.
            bad = json.dumps(s.config).replace(plain, plain + ",vanish=no")
            said = s.operator.error("apply", name="bad.yaml", text=bad)["what"]
            assert "vanish=no' cannot be opened" in said, said
            assert shown()["link"] == "removed"
        before = refused()
        s.operator.result("change", do=[{"replace": {"route": {"to": "198.18.1.0/24", "via": "10.0.2.2"}}}])
        wait_until(lambda: refused() > before + 100, "packets to that port are dropped")
        assert s.operator.result("reload")["reopened"] == ["p2"]
        wait_until(lambda: shown()["link"] == "up", "it is as in the file")
        s.operator.result("change", do=[{"replace": {"route": {"to": "198.18.1.0/24", "via": "10.0.2.2"}}}])
        wait_until(lambda: shown()["tx_packets"] > 100, "it is sent by")
        report = s.stop()
        assert set(report["drops"]) <= {"port_down", "local_protocol", "inject_ring_full"}, report["drops"]


def test_killed_it_forwards_again_in_three_seconds():
    """With 100,000 routes in its file."""
    with Lab() as lab:
        s = Steered(lab)
        s.operator.result("routes", lines=lines_of("add", some_prefixes(10000, 1)), more=True)
        for part in range(2, 11):
            s.operator.result("routes", lines=lines_of("replace", some_prefixes(10000, part)), more=part < 10)
        s.operator.result("save")
        routes = s.operator.show("memory")["fib4"]["routes"]
        assert routes > 90000, routes
        s.kill()
        begin = time.monotonic()
        again = Turnpike(lab, lab.host("dut2"), open(s.turnpike.config, encoding="utf-8").read(), wait=False)
        telemetry = Telemetry(s.prefix)

        def received():
            counts = telemetry.ask("/ethdev/xstats,1")
            return counts.get("gen_received", 0) > 0
        wait_until(received, "traffic", 20)
        took = time.monotonic() - begin
        print(f"# forwarding after {took:.2f} s with {routes} routes")
        telemetry.close()
        operator = Operator(s.socket, 60)
        assert operator.show("memory")["fib4"]["routes"] == routes
        operator.close()
        again.stop()
        assert took < FORWARDS_AGAIN_S, took


if __name__ == "__main__":
    tap.main(globals())
