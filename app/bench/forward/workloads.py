# SPDX-License-Identifier: BSD-3-Clause
"""What is forwarded: traffic, tables, and who is asked to do it. A cell's name is WORKLOAD/CONDITION/FORWARDER."""
from dataclasses import dataclass, field, replace

MACS = ("02:53:4e:00:00:00", "02:53:4e:00:00:01", "02:53:4e:00:00:02")
USUAL_POOL = "ring_mp_mc"  # DPDK's, where nobody says anything


@dataclass(frozen=True)
class Condition:
    frame: str = "64"     # or imix
    memory: str = "warm"  # or cold: simnic's `memory`
    load: float = 1.0     # of what the same forwarder does at full rate
    pool: str = ""        # another mempool handler than the one it comes with

    @property
    def name(self):
        words = [self.frame, *(["cold"] if self.memory == "cold" else []),
                 *([f"{self.load * 100:.0f}%"] if self.load < 1 else []), *([self.pool] if self.pool else [])]
        return "-".join(words)


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    wire: str                  # what the devices' wires do: a key of WIRES
    ours: str                  # what turnpike does, a key of turnpike.CONFIGURATIONS; "": nothing yet
    peers: tuple = ()          # (forwarder, mode), the one that ours is held against first
    modes: tuple = ("",)       # of ours, where there are several
    tables: tuple = ("small4", "small6")
    inputs: tuple = ()
    why_not: str = ""          # nothing of ours
    times: int = 1             # as many sittings: where the pages that a process gets are more than what is looked for
    numbers: dict = field(default_factory=dict)


L3 = (("l3fwd", "lpm"), ("l3fwd", "fib"), ("ovs", "routes"), ("grout", "routes"), ("vpp", "routes"))
FULL = (("l3fwd", "fib"), ("grout", "routes"), ("vpp", "routes"))
ACL = (("l3fwd", "acl"),)
NO_BRIDGE, NO_VLAN = "turnpike has no bridge yet", "turnpike has no VLAN sub-interfaces yet"


def bridge(addresses, count):
    return Workload(f"bridge_{addresses}", f"by MAC address, {count:,} on each side", "bridge", "",
                    (("ovs", "normal"), ("vpp", "bridge")), why_not=NO_BRIDGE, numbers={"l2flows": count})


def full(family, kind):
    return Workload(f"ip{family}_full_{kind}", f"IPv{family}, a full table, {kind} traffic", f"full{family}-{kind}",
                    "routing", FULL, tables=("full4", "small6") if family == 4 else ("small4", "full6"),
                    inputs=(f"full{family}", "small6" if family == 4 else "small4"))


def acl(name, rules):
    return Workload(name, f"IPv4 routed by an access list of {rules} rules, one way", f"{name}-one-way", "acl", ACL,
                    tables=(name, "small6"), inputs=(name,), numbers={"rules": name})


WORKLOADS = [
    Workload("patch", "port to port, 62,500 flows", "gen4", "patch",
             (("testpmd", "mac"), ("testpmd", "io"), ("l2fwd", "mac"), ("ovs", "flows"), ("vpp", "patch"))),
    bridge("3125", 3125), bridge("16k", 16384), bridge("1M", 1_000_000),
    Workload("ip4_small", "IPv4, 8 routes, 62,500 flows", "gen4", "routing", L3, inputs=("small4", "small6")),
    Workload("ip6_small", "IPv6, 8 routes, 62,500 flows", "small6", "routing", L3, inputs=("small4", "small6")),
    Workload("mixed", "IPv4 and IPv6 by turns, 8 routes each", "mixed", "routing", L3, inputs=("mixed",)),
    full(4, "uniform"), full(4, "zipf"), full(6, "uniform"), full(6, "zipf"),
    acl("acl1k", "1,000"), acl("acl10k", "10,000"),
    Workload("unused", "ip4_small with a third port where nothing comes: without a list there, and with", "gen4-idle",
             "unused", modes=("without", "with"), inputs=("small4", "small6", "acl10k"), times=3),
    Workload("vlan", "VLAN sub-interfaces", "gen4", "", why_not=NO_VLAN),
]


@dataclass(frozen=True)
class Case:
    """One forwarder in one mode under one condition: a cell."""
    workload: Workload
    forwarder: str
    mode: str
    condition: Condition

    @property
    def name(self):
        return f"{self.workload.name}/{self.condition.name}/{self.forwarder}" + (f"-{self.mode}" if self.mode else "")

    @property
    def ours(self):
        return self.forwarder == "turnpike"

    @property
    def takes_turns(self):
        """A pause makes Open vSwitch believe that looking after its flows takes that long, and it keeps fewer: with a
        flow for every pair of addresses that would be what is measured."""
        return (self.forwarder, self.mode) != ("ovs", "normal")

    @property
    def pool(self):
        """The handler that its packet pool has."""
        return self.condition.pool or ("cache_aware" if self.ours else USUAL_POOL)

    def at(self, **condition):
        return replace(self, condition=replace(self.condition, **condition))


def devices_of(case, folder, rate_pps=0):
    """EAL's device strings. rate_pps: of each port; 0: as fast as the forwarder takes."""
    c, wire = case.condition, case.workload.wire
    one_way, idle = wire.endswith("-one-way"), wire.endswith("-idle")
    out = []
    for port in range(3 if idle else 2):
        if port == 2 or (one_way and port == 1):
            words = "wire=sink"
        elif wire.startswith("gen4"):
            words = f"wire=gen,size={c.frame},l3flows=62500,src=198.{18 + port}.0.0,dst=198.{19 - port}.0.0"
        elif wire == "bridge":  # each to what the other sends from: 06:00:NN:00:00:00 upwards
            words = (f"wire=gen,size={c.frame},l2flows={case.workload.numbers['l2flows']},"
                     f"dst_mac=06:00:{1 - port:02x}:00:00:00")
        else:
            words = f"wire=pcap:{folder}/{wire.removesuffix('-one-way')}-{c.frame}-{port}.pcap"
        if rate_pps and not words.endswith("sink"):
            words += f",rate={rate_pps / 1e3:.0f}k"
        cold = ",memory=cold" if c.memory == "cold" else ""
        out.append(f"net_simnic{port},mac={MACS[port]},{words}{cold}")
    return out


def groups(conditions, quick):
    """Cells that stand beside each other and are measured by turns: lists of cases."""
    for condition in conditions:
        for w in WORKLOADS:
            if quick and (w.name in ("bridge_16k", "bridge_1M")
                          or (condition != Condition() and w.name not in ("patch", "ip4_small"))):
                continue
            group = [Case(w, "turnpike", mode, condition) for mode in w.modes]
            group += [Case(w, forwarder, mode, condition) for forwarder, mode in w.peers]
            if condition == Condition() and w.name in ("patch", "ip4_small"):
                group += [Case(w, "turnpike", "", replace(condition, pool=USUAL_POOL))]
                group += [Case(w, f, m, replace(condition, pool="cache_aware")) for f, m in w.peers
                          if f in ("testpmd", "l2fwd", "l3fwd")]
            yield group
