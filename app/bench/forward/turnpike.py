# SPDX-License-Identifier: BSD-3-Clause
"""turnpike as a contestant: its configurations, and the busy cycles of its report."""
import json
import os
import socket

from machine import Unavailable
from process import Forwarder, wait_until
from workloads import ENDPOINTS, STICK_VLANS, TUNNELS_MTU, VLANS, devices_of, workers_of


def ports_of(devices, routed=True):
    out = []
    for n, device in enumerate(devices):
        addresses = {"addresses": [f"10.0.{n}.1/24", f"2001:db8:{n}::1/64"]} if routed else {}
        out.append({"name": f"p{n}", "device": device, **addresses})
    return out


def neighbours():
    """Static neighbours, since no host answers. The MAC addresses are l3fwd's defaults."""
    return {"static": [{"address": address, "mac": f"02:00:00:00:00:{n:02x}"} for n in range(2)
                       for address in (f"10.0.{n}.2", f"2001:db8:{n}::2")]}


def patch(_case, devices, _inputs):
    return {"ports": ports_of(devices, routed=False), "xconnects": [["p0", "p1"]]}


def bridge(_case, devices, _inputs):
    return {"ports": ports_of(devices, routed=False),
            "bridges": [{"name": "lan", "max_addresses": 1_000_000, "members": [{"port": "p0"}, {"port": "p1"}]}]}


def trunk(case, devices, inputs):
    config = bridge(case, devices, inputs)
    for member in config["bridges"][0]["members"]:
        member["mode"] = "trunk"
    return config


def flood(_case, devices, _inputs):
    return {"ports": ports_of(devices, routed=False),
            "bridges": [{"name": "lan", "members": [{"port": f"p{n}"} for n in range(len(devices))]}]}


def learning(case, devices, inputs):
    config = bridge(case, devices, inputs)
    config["bridges"][0]["members"].append({"port": "p2"})
    return config


def vlan(case, devices, inputs):
    config = routing(case, devices, inputs)
    config["interfaces"] = [{"port": port["name"], "vlan": VLANS[n], "addresses": port.pop("addresses")}
                            for n, port in enumerate(config["ports"])]
    return config


def stick(_case, devices, _inputs):
    """A router on a stick: eight VLANs of one port, a network of the small table behind each."""
    vlans = range(STICK_VLANS)
    ports = ports_of(devices, routed=False)
    ports[1]["addresses"] = ["192.0.2.1/24"]  # unused: no traffic
    return {"ports": ports,
            "interfaces": [{"port": "p0", "vlan": VLANS[0] + n, "addresses": [f"10.0.{n}.1/24"]} for n in vlans],
            "neighbours": {"static": [{"address": f"10.0.{n}.2", "mac": f"02:00:00:00:00:{n:02x}"} for n in vlans]},
            "routes": [{"to": f"198.{18 + n // 4}.{n % 4 * 64}.0/18", "via": f"10.0.{n}.2"} for n in vlans]}


def pairs(_case, devices, _inputs):
    """Each worker has a pair of ports and forwards between them."""
    ports = ports_of(devices, routed=False)
    for n, port in enumerate(ports):
        port |= {"addresses": [f"10.0.{n}.1/24"], "rx_workers": [1 + n // 2]}
    return {"ports": ports,
            "neighbours": {"static": [{"address": f"10.0.{n}.2", "mac": f"02:00:00:00:00:{n:02x}"} for n in range(len(ports))]},
            "routes": [{"to": f"198.{18 + n}.{part * 64}.0/18", "via": f"10.0.{n}.2"} for n in range(len(ports)) for part in range(4)]}


def routing(case, devices, inputs):
    return {"ports": ports_of(devices), "neighbours": neighbours(),
            "routes": [{"file": f"{inputs}/{table}.routes"} for table in case.workload.tables]}


def permits(name, inputs):
    """Every rule permits, as every rule of l3fwd's list forwards; the default permits too."""
    return [{"name": name, "default": "permit", "rules": [{"action": "permit", "file": f"{inputs}/{name}.rules"}]}]


def acl(case, devices, inputs):
    rules = case.workload.numbers["rules"]
    config = {"ports": ports_of(devices), "neighbours": neighbours(), "acl": permits(rules, inputs),
              "routes": [{"to": "0.0.0.0/0", "via": "10.0.1.2"}]}
    config["ports"][0]["acl"] = {"in": rules}
    return config


def unused(case, devices, inputs):
    config = routing(case, devices, inputs)
    if case.mode == "with":
        config["acl"] = permits("acl10k", inputs)
        config["ports"][2]["acl"] = {"in": "acl10k", "out": "acl10k"}
    return config


def vxlan(_case, devices, _inputs):
    ports = ports_of(devices, routed=False)
    ports[0] |= {"addresses": ["10.0.0.1/24"], "mtu": TUNNELS_MTU}
    remotes = [f"10.0.0.{2 + n}" for n in range(ENDPOINTS)]
    tunnels = [{"name": f"t{n}", "vni": 100, "local": "10.0.0.1", "remote": to, "mtu": 1500} for n, to in enumerate(remotes)]
    return {"ports": ports, "tunnels": tunnels,
            "neighbours": {"static": [{"address": to, "mac": f"02:00:00:00:00:{n:02x}"} for n, to in enumerate(remotes)]},
            "bridges": [{"name": "lan", "members": [{"port": name} for name in ("p1", *(t["name"] for t in tunnels))]}]}


CONFIGURATIONS = {"patch": patch, "bridge": bridge, "trunk": trunk, "flood": flood, "learning": learning,
                  "routing": routing, "pairs": pairs, "vlan": vlan, "stick": stick, "acl": acl, "unused": unused, "vxlan": vxlan}


class Learner(Forwarder):
    """Flushes the FDB entries of the third port before each window: all addresses there are new."""

    def before_window(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(30)
            asked.connect(self.socket)
            with asked.makefile("rw", encoding="utf-8") as lines:
                lines.readline()  # the greeting
                lines.write(json.dumps({"request": "flush", "what": "fdb", "port": "p2"}) + "\n")
                lines.flush()
                answer = json.loads(lines.readline())
        if "result" not in answer:
            raise Unavailable(f"cannot flush FDB entries: {answer}")


def start(bench, case, rate_pps=0):
    devices = devices_of(case, bench.folder, rate_pps)
    new = (case.workload.name, case.mode) == ("learning", "new")
    forwarder = (Learner if new else Forwarder)(bench.machine, bench.folder, "turnpike", len(devices))
    at = os.path.join(bench.folder, forwarder.prefix)
    config = CONFIGURATIONS[case.workload.ours](case, devices, bench.folder)
    machine = bench.machine
    config["workers"] = [machine.worker_cpu]
    cpus = None
    if case.workload.name == "workers":  # lcores 1 and 2; the second shares its CPU with control
        forwarder.workers = workers_of(case)
        config["workers"] = [1, 2][:forwarder.workers]
        cpus = machine.lcores(forwarder.workers)
    config["eal"] = {"args": " ".join(machine.eal(forwarder.prefix, (), None, cpus))}
    if new:
        forwarder.socket = f"{at}.socket"
        config["control"] = {"socket": forwarder.socket}
    if case.condition.pool:
        config["mempool"] = {"ops": case.condition.pool}
    with open(f"{at}.yaml", "w", encoding="utf-8") as file:
        json.dump(config, file)
    forwarder.report_file = f"{at}.json"
    forwarder.start([machine.turnpike, "--config", f"{at}.yaml", "--report", forwarder.report_file])
    return forwarder


def busy_cycles(forwarder):
    """Busy cycles per packet, without the device's work. Ends the process. At full rate only: the device's cycles include
    poll rounds without packets."""
    ports = forwarder.counts()
    forwarder.stop()
    wait_until(lambda: os.path.exists(forwarder.report_file), "its report", 5)
    with open(forwarder.report_file, encoding="utf-8") as file:
        workers = json.load(file)["workers"]
    # Both count from the start, including cold caches and page faults.
    device = sum(p["engine_cycles"] for p in ports) / sum(p["rx_good_packets"] for p in ports)
    return sum(w["busy_cycles"] for w in workers) / sum(w["packets"] + w["injected"] for w in workers) - device
