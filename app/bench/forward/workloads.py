# SPDX-License-Identifier: BSD-3-Clause
"""Workloads: traffic, tables, and forwarders. A cell's name is WORKLOAD/CONDITION/FORWARDER."""
from dataclasses import dataclass, field, replace

MACS = tuple(f"02:53:4e:00:00:{port:02x}" for port in range(9))
VLANS = (100, 200)  # of the routed ports; trunks use the first, and the router on a stick those from it on
STICK_VLANS = 8
STRANGERS_PPS = 1e6
ENDPOINTS = 4  # tunnel endpoints behind port 0
TUNNELS_MTU = 1600  # MTU of port 0: an IMIX frame's 1,500 bytes plus encapsulation
USUAL_POOL = "ring_mp_mc"  # DPDK's default


@dataclass(frozen=True)
class Condition:
    frame: str = "64"     # or imix
    memory: str = "warm"  # or cold: simnic's `memory`
    load: float = 1.0     # fraction of the same forwarder's full rate
    pool: str = ""        # mempool handler; empty: the forwarder's default

    @property
    def name(self):
        words = [self.frame, *(["cold"] if self.memory == "cold" else []),
                 *([f"{self.load * 100:.0f}%"] if self.load < 1 else []), *([self.pool] if self.pool else [])]
        return "-".join(words)


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    wire: str                  # traffic of the devices: a key of WIRES
    ours: str                  # configuration of turnpike: a key of turnpike.CONFIGURATIONS
    peers: tuple = ()          # (forwarder, mode); the first is turnpike's main peer
    modes: tuple = ("",)       # modes of turnpike
    tables: tuple = ("small4", "small6")
    inputs: tuple = ()
    times: int = 1             # factor for the number of sittings: for effects smaller than those of page placement
    numbers: dict = field(default_factory=dict)
    guest: str = ""            # vhost or memif: the forwarder's ports, at whose other side a guest plays the wire


L3 = (("l3fwd", "lpm"), ("l3fwd", "fib"), ("ovs", "routes"), ("grout", "routes"), ("vpp", "routes"))
FULL = (("l3fwd", "fib"), ("grout", "routes"), ("vpp", "routes"))
ACL = (("l3fwd", "acl"),)


def bridge(addresses, count, draw="turn"):
    return Workload(f"bridge_{addresses}", f"by MAC address, {count:,} on each side, {draw}", "bridge", "bridge",
                    (("ovs", "normal"), ("vpp", "bridge")), numbers={"l2flows": count, "draw": draw})


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
    bridge("3125", 3125), bridge("16k", 16384, "zipf"), bridge("1M", 500_000, "zipf"),
    Workload("trunk", "like bridge_3125, within a VLAN, between trunks", "trunk", "trunk", (("ovs", "normal"),),
             numbers={"l2flows": 3125}),
    Workload("flood", "broadcast from one port to eight: each copy counts as a packet", "flood", "flood", (("ovs", "normal"),),
             numbers={"copies": 8}),
    Workload("learning", "bridge_3125, and a million packets a second at a third port: from known stations, "
             "or all from new ones", "learning", "learning", modes=("known", "new"), numbers={"l2flows": 3125}),
    Workload("ip4_small", "IPv4, 8 routes, 62,500 flows", "gen4", "routing", L3, inputs=("small4", "small6")),
    Workload("ip6_small", "IPv6, 8 routes, 62,500 flows", "small6", "routing", L3, inputs=("small4", "small6")),
    Workload("mixed", "IPv4 and IPv6 alternating, 8 routes each", "mixed", "routing", L3, inputs=("mixed",)),
    full(4, "uniform"), full(4, "zipf"), full(6, "uniform"), full(6, "zipf"),
    acl("acl1k", "1,000"), acl("acl10k", "10,000"),
    Workload("unused", "ip4_small with a third port without traffic: without and with an access list there", "gen4-idle",
             "unused", modes=("without", "with"), inputs=("small4", "small6", "acl10k"), times=3),
    Workload("vlan", "ip4_small between VLANs: tagged in, tagged out", "vlan", "vlan", (("ovs", "vlan-routes"),),
             inputs=("small4", "small6")),
    Workload("stick", "IPv4, 8 routes, 62,500 flows between eight VLANs of one port, by turns", "stick-one-way", "stick",
             inputs=("stick",)),
    Workload("vhost", "like patch, between two vhost-user ports", "gen4", "patch", (("ovs", "flows"), ("testpmd", "io")),
             guest="vhost"),
    Workload("memif", "like patch, between two memif ports", "gen4", "patch", (("testpmd", "io"),), guest="memif"),
    Workload("stranger", "ip4_small with one IPv6 packet in 32", "stranger", "routing", inputs=("stranger",)),
    Workload("workers", "IPv4, 8 routes, 62,500 flows between a pair of ports: one worker with a pair, or two with a pair each",
             "gen4-pairs", "pairs", modes=("one", "two")),
]


def vxlan(name, what, one_way):
    """In the other direction, a few frames teach the stations' ports."""
    return Workload(name, what, f"{one_way}-one-way", "vxlan", (("ovs", "vxlan"),), inputs=("vxlan",), numbers={"l2flows": 3125})


WORKLOADS += [
    vxlan("vxlan_in", "VXLAN decapsulation from four endpoints, then bridged to 3,125 MAC addresses", "vxlan-in"),
    vxlan("vxlan_out", "bridged to 3,125 MAC addresses, then VXLAN encapsulation to four endpoints", "vxlan-out"),
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
        """After a pause, Open vSwitch takes the pause for slow flow revalidation and lowers its flow limit, which would
        dominate a case with a flow per address pair. A generator with a rate sends a burst after a pause."""
        return (self.forwarder, self.mode) not in (("ovs", "normal"), ("ovs", "vxlan")) and self.workload.wire != "learning"

    @property
    def pool(self):
        """The mempool handler of its packet pool."""
        return self.condition.pool or ("cache_aware" if self.ours else USUAL_POOL)

    def at(self, **condition):
        return replace(self, condition=replace(self.condition, **condition))


def teller(case):
    """The port whose few frames teach the destinations of the other ports' frames; None: every port's frames do."""
    return {"vxlan-in-one-way": 1, "vxlan-out-one-way": 0}.get(case.workload.wire)


def workers_of(case):
    return 2 if (case.workload.name, case.mode) == ("workers", "two") else 1


def ports_of(case):
    if case.workload.wire == "flood":
        return 1 + case.workload.numbers["copies"]
    if case.workload.wire == "gen4-pairs":
        return 2 * workers_of(case)
    return 3 if case.workload.wire == "learning" or case.workload.wire.endswith("-idle") else 2


def wire_of(case, port, folder):
    """The wire of a port."""
    c, wire, numbers = case.condition, case.workload.wire, case.workload.numbers
    gen = f"wire=gen,size={c.frame}"
    if wire == "flood":
        return f"{gen},dst_mac=ff:ff:ff:ff:ff:ff" if port == 0 else "wire=sink"
    if wire == "learning" and port == 2:  # with the maximum number, all are unknown each time
        flows = numbers["l2flows"] if case.mode == "known" else 1 << 24
        return (f"{gen},l2flows={flows},l2peers={numbers['l2flows']},dst_mac=06:00:01:00:00:00,"
                f"rate={STRANGERS_PPS / 1e3:.0f}k")
    if wire.startswith("vxlan"):
        slow = ",rate=10k" if port == teller(case) else ""
        return f"wire=pcap:{folder}/vxlan-{c.frame}-{port}.pcap{slow}"
    if (port == 2 and wire != "gen4-pairs") or (wire.endswith("-one-way") and port == 1):
        return "wire=sink"
    if wire.startswith("gen4") or wire == "vlan":
        tag = f",vlan={VLANS[port]}" if wire == "vlan" else ""
        return f"{gen},l3flows=62500,src=198.{18 + port}.0.0,dst=198.{18 + (port ^ 1)}.0.0{tag}"
    if "l2flows" in numbers:  # each to the other's source addresses: 06:00:NN:00:00:00 upwards
        more = f",vlan={VLANS[0]}" if wire == "trunk" else ""
        return (f"{gen},l2flows={numbers['l2flows']},draw={numbers.get('draw', 'turn')},"
                f"dst_mac=06:00:{1 - port:02x}:00:00:00{more}")
    return f"wire=pcap:{folder}/{wire.removesuffix('-one-way')}-{c.frame}-{port}.pcap"


def socket_of(case, folder, port):
    """The socket of a port at which a guest is."""
    return f"{folder}/{case.name.replace('/', '-')}.{port}"


def devices_of(case, folder, rate_pps=0):
    """EAL's device strings of the forwarder's ports. rate_pps: of the wires (generators_of)."""
    if not case.workload.guest:
        return generators_of(case, folder, rate_pps)
    kind = {"vhost": "net_vhost{0},iface={1},client=1", "memif": "net_memif{0},role=server,socket={1},socket-abstract=no,rsize=10"}
    return [kind[case.workload.guest].format(port, socket_of(case, folder, port)) for port in range(ports_of(case))]


def generators_of(case, folder, rate_pps=0):
    """Device strings of the simulated NICs. rate_pps: per port; 0: as fast as the forwarder receives."""
    c = case.condition
    out = []
    for port in range(ports_of(case)):
        words = wire_of(case, port, folder)
        if rate_pps and not words.endswith("sink") and "rate=" not in words:
            words += f",rate={rate_pps / 1e3:.0f}k"
        cold = ",memory=cold" if c.memory == "cold" else ""
        out.append(f"net_simnic{port},mac={MACS[port]},{words}{cold}")
    return out


def groups(conditions, quick):
    """Groups of cases that are compared and measured in turn."""
    for condition in conditions:
        for w in WORKLOADS:
            if quick and (w.name in ("bridge_16k", "bridge_1M", "flood", "learning")
                          or (condition != Condition() and w.name not in ("patch", "ip4_small"))):
                continue
            if w.guest and condition.memory == "cold":  # the NIC evicts lines, and is the guest's
                continue
            group = [Case(w, "turnpike", mode, condition) for mode in w.modes]
            group += [Case(w, forwarder, mode, condition) for forwarder, mode in w.peers]
            if condition == Condition() and w.name in ("patch", "ip4_small"):
                group += [Case(w, "turnpike", "", replace(condition, pool=USUAL_POOL))]
                group += [Case(w, f, m, replace(condition, pool="cache_aware")) for f, m in w.peers
                          if f in ("testpmd", "l2fwd", "l3fwd")]
            yield group
