#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples on PCI devices, in a guest. Each is started from its folder with the addresses of NICs in place of net_xsk; the
hosts around it, and the routing daemons of its folder, are in network namespaces of the guest."""
import atexit
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(__file__), "..")]
import image  # noqa: E402
from guest import CTL, KINDS, TURNPIKE, Turnpike, binding  # noqa: E402
from lib import tap  # noqa: E402
from machine import FORWARDER, Machine  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
IP, BIRD, FRR = "/usr/bin/ip", "/usr/sbin/bird", "/usr/lib/frr"
DAEMONS = ("zebra", "bfdd", "bgpd")
PROGRAMS = (IP, BIRD, *(f"{FRR}/{name}" for name in DAEMONS))
MODULES = (*image.MODULES, *image.VIRTIO_MODULES, *image.TUNNEL_MODULES)
BOOT_LINE = FORWARDER.replace("hugepages=160", "hugepages=256")
ANSWER_S, ROUTES_S = 30, 120


class Guest:
    """A NIC of each kind for turnpike, and at the other end of its cable one of a host, by the guest's kernel."""

    def __init__(self):
        self.machine = self.folder = None

    def boot(self):
        lacking = image.missing(MODULES, header=False) or ", ".join(p for p in PROGRAMS if not shutil.which(p))
        if lacking:
            tap.skip(f"a guest: {lacking}")
        self.folder = tempfile.TemporaryDirectory(prefix="turnpike-vm-")
        work = pathlib.Path(self.folder.name)
        ends = [(f"{device},romfile=,mac=02:00:00:00:00:{n:02x}",
                 f"virtio-net-pci,disable-legacy=on,romfile=,mac=02:00:00:00:01:{n:02x}")
                for n, device in enumerate(KINDS.values())]
        self.machine = Machine(str(work), image.PARTS / "vmlinuz", image.build(work, [TURNPIKE, CTL, *PROGRAMS], MODULES), cpus=2,
                               more=["-device", "intel-iommu"], memory_mb=1536, kernel_line=BOOT_LINE, wires=ends)
        self.nics = [f"0000:{2 * n + 1:02x}:00.0" for n in range(len(KINDS))]
        for address in self.nics:
            self.run(binding(address, "vfio-pci"))
        for n in range(len(ends)):
            self.run(f"for i in /sys/class/net/*; do [ $(cat $i/address) != 02:00:00:00:01:{n:02x} ] || break; done; "
                     f"{IP} link set $(basename $i) name nic{n}")
        self.run("ip link set lo up; mkdir -p /etc /var/tmp/frr /run/frr")
        self.machine.shell.write("/etc/passwd", "root:x:0:0::/:/bin/sh\nfrr:x:105:113::/:/bin/false\n")
        self.machine.shell.write("/etc/group", "root:x:0:\nfrr:x:113:\nfrrvty:x:112:frr\n")

    def close(self):
        if self.machine:
            self.machine.close()
            self.folder.cleanup()

    def run(self, command, seconds=60):
        return self.machine.shell.run(command, seconds)

    def clear(self):
        """Ends the processes that a failed test left."""
        self.run("[ ! -s /tmp/pid ] || { kill -KILL $(cat /tmp/pid); wait $job; rm /tmp/pid; }")


_guest = Guest()
atexit.register(_guest.close)


class Site:
    """An example between hosts. The NICs of its ports begin with another kind for each example."""

    def __init__(self, name, first):
        if _guest.machine is None:
            _guest.boot()
        self.name, self.first, self.vm = name, first, _guest
        self.namespaces, self.borrowed, self.pids = [], [], []
        self.folder = f"/examples/{name}"

    def __enter__(self):
        self.vm.clear()
        self.vm.run(f"mkdir -p {self.folder}")
        for path in (EXAMPLES / self.name).iterdir():
            self.vm.machine.shell.write(f"{self.folder}/{path.name}", path.read_text("utf-8"))
        return self

    def __exit__(self, kind, *_):
        if kind:
            print("".join(f"# {line}\n" for line in self.vm.run("tail -n 30 /tmp/log /tmp/*.daemon || true").splitlines()), flush=True)
        for pid in self.pids:
            self.vm.run(f"kill -KILL {pid}; wait {pid}; true")
        # Connections that close keep a deleted namespace, and would keep its NIC, for minutes.
        for name, interface, nic in self.borrowed:
            self.vm.run(f"{IP} -n {name} link set {interface} down && {IP} -n {name} link set {interface} netns 1 name {nic}")
        for name in self.namespaces:
            self.vm.run(f"{IP} netns del {name}")
        self.vm.run("rm -f /tmp/*.daemon")

    def kind(self, port):
        return (self.first + port - 1) % len(KINDS)

    def start(self, file="turnpike.yaml"):
        """turnpike with the example's file, in which only the devices are others."""
        text = (EXAMPLES / self.name / file).read_text("utf-8")
        text, count = re.subn(r"net_xsk\d,iface=eth(\d)", lambda found: self.vm.nics[self.kind(int(found[1]))], text)
        assert count >= 2 and "net_" not in text, text
        self.running = Turnpike(self.vm, text + "idle: {sleep_us: 100}\ncontrol: {socket: /run/turnpike.sock}\n", folder=self.folder)
        return self.running

    def namespace(self, name):
        self.vm.run(f"{IP} netns add {name} && {IP} -n {name} link set lo up && {self.inside(name)} "
                    "sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'")
        self.namespaces.append(name)

    def host(self, name, port, *addresses, gateways=(), interface="eth0"):
        """A host at the cable of a port."""
        self.namespace(name)
        nic = f"nic{self.kind(port)}"
        self.vm.run(f"{IP} link set {nic} netns {name} name {interface} && {IP} -n {name} link set {interface} mtu 1500 up")
        self.borrowed.append((name, interface, nic))
        for address in addresses:
            self.vm.run(f"{IP} -n {name} address add {address} dev {interface} {'nodad' if ':' in address else ''}")
        for gateway in gateways:
            self.vm.run(f"{IP} -n {name} {'-6' if ':' in gateway else ''} route add default via {gateway}")
        return name

    def inside(self, namespace):
        return f"{IP} netns exec {namespace}"

    def daemon(self, namespace, command):
        number = len(self.pids)
        self.pids.append(self.vm.run(f"{self.inside(namespace)} {command} >/tmp/{number}.daemon 2>&1 & echo $!").strip())

    def bird(self, namespace, config):
        self.vm.machine.shell.write(f"/tmp/{namespace}.conf", config)
        self.daemon(namespace, f"{BIRD} -f -c /tmp/{namespace}.conf -s /tmp/{namespace}.ctl")

    def frr(self, namespace, config):
        at = f"/run/frr/{namespace}"
        self.vm.run(f"rm -rf {at}; mkdir -p {at}")
        self.vm.machine.shell.write(f"{at}/frr.conf", config)
        self.vm.run("chown -R frr:frr /run/frr /var/tmp/frr")
        for name in DAEMONS:
            self.daemon(namespace, f"{FRR}/{name} -f {at}/frr.conf -i {at}/{name}.pid -z {at}/zserv.api --vty_socket {at} "
                                   f"-A 127.0.0.1 -P 0 --log stdout")
            self.succeeds(namespace, f"test -S {at}/{name}.vty", ROUTES_S)

    def succeeds(self, namespace, command, seconds=ANSWER_S):
        """The command succeeds within that time. The first packets wait for links and neighbours."""
        deadline = time.monotonic() + seconds
        while self.vm.machine.shell.try_run(f"{self.inside(namespace)} {command} >/dev/null 2>&1")[0] != 0:
            assert time.monotonic() < deadline, f"{self.name}: {namespace}: '{command}' failed for {seconds} s"
            time.sleep(0.2)

    def pings(self, namespace, *targets, options="", seconds=ANSWER_S):
        for to in targets:
            self.succeeds(namespace, f"ping {'-6' if ':' in to else '-4'} -c 1 -W 2 {options} {to}", seconds)

    def reaches(self, prefix, interfaces, seconds=ROUTES_S):
        """A learned route by these interfaces within that time."""
        deadline = time.monotonic() + seconds
        while True:
            routes = self.running.ask(f"show routes {prefix}")["routes"]
            if routes and routes[0]["origin"] == "learned" and {m["interface"] for m in routes[0].get("members", routes)} == interfaces:
                return
            assert time.monotonic() < deadline, routes
            time.sleep(0.5)

    def stop(self):
        report = self.running.stop()
        ports = [f"{port['name']} {port['driver']}: {port['rx_packets']} received, {port['tx_packets']} sent" for port in report["ports"]]
        print(f"# {self.name}: {'; '.join(ports)}", flush=True)
        assert all(port["tx_packets"] > 0 for port in report["ports"]), ports
        return report


@tap.limit(300)
def test_router():
    with Site("router", 0) as site:
        site.host("office", 1, "10.0.1.2/24", "2001:db8:1::2/64", gateways=("10.0.1.1", "2001:db8:1::1"))
        site.host("lab", 2, "10.0.2.2/24", "2001:db8:2::2/64", gateways=("10.0.2.1", "2001:db8:2::1"))
        site.host("uplink", 3, "192.0.2.1/30", "2001:db8:ffff::1/64", "8.8.8.8/32", "2001:4860::8/128",
                  gateways=("192.0.2.2", "2001:db8:ffff::2"))
        site.start()
        site.pings("office", "10.0.2.2", "2001:db8:2::2", "8.8.8.8", "2001:4860::8")
        site.stop()


@tap.limit(180)
def test_bridge():
    with Site("bridge", 1) as site:
        site.host("desk", 1, "10.0.10.2/24", "2001:db8:10::2/64", gateways=("10.0.10.1", "2001:db8:10::1"))
        site.host("camera", 2, "10.0.20.2/24", gateways=("10.0.20.1",))
        site.host("trunk", 3)
        site.start()
        site.pings("desk", "10.0.10.1", "2001:db8:10::1", "10.0.20.2")
        site.pings("camera", "10.0.10.2")
        site.stop()


@tap.limit(180)
def test_firewall():
    with Site("firewall", 2) as site:
        site.host("inside", 1, "10.0.1.5/24", "10.0.1.80/24", gateways=("10.0.1.1",))
        site.host("outside", 2, "198.51.100.9/24", gateways=("198.51.100.1",))
        site.start()
        site.pings("inside", "198.51.100.9")
        for address in ("10.0.1.80", "10.0.1.5"):
            site.daemon("inside", f"httpd -f -p {address}:80 -h {site.folder}")
        get = "sh -c \"printf 'GET /README.md HTTP/1.0\\r\\n\\r\\n' | nc -w 2 {} 80 | grep -q '200 OK'\""
        site.succeeds("outside", get.format("10.0.1.80"))
        for refused in (get.format("10.0.1.5"), "ping -c 1 -W 1 10.0.1.5"):
            assert site.vm.machine.shell.try_run(f"{site.inside('outside')} {refused} >/dev/null 2>&1")[0] != 0, refused
        assert site.stop()["drops"]["acl_deny"] >= 2


@tap.limit(180)
def test_vxlan_gateway():
    with Site("vxlan-gateway", 0) as site:
        site.host("far", 1, "10.0.9.2/24")
        site.vm.run(f"{IP} -n far link set eth0 mtu 1550 && {IP} -n far link add vx mtu 1500 type vxlan id 100 local 10.0.9.2 "
                    f"remote 10.0.9.1 dstport 4789 && {IP} -n far link set vx up && {IP} -n far address add 10.1.0.3/24 dev vx")
        site.host("near", 2, "10.1.0.2/24", gateways=("10.1.0.1",))
        site.start()
        site.pings("near", "10.1.0.1", "10.1.0.3")
        site.pings("near", "10.1.0.3", options="-s 1472")
        site.pings("far", "10.1.0.1")
        site.stop()


@tap.limit(180)
def test_patch():
    with Site("patch", 1) as site:
        site.host("left", 1, "10.0.1.1/24", "2001:db8::1/64")
        site.host("right", 2, "10.0.1.2/24", "2001:db8::2/64")
        site.start()
        site.pings("left", "10.0.1.2", "2001:db8::2")
        assert not sum(site.stop()["drops"].values())


def upstream(number, us4, edge4, us6, edge6):
    """BIRD's configuration of a provider that announces default routes."""
    protocols = ""
    for name, us, edge, family, everything in (("v4", us4, edge4, "ipv4", "0.0.0.0/0"), ("v6", us6, edge6, "ipv6", "::/0")):
        protocols += f"""
protocol kernel {{ {family} {{ export where source = RTS_BGP; }}; }}
protocol static {{ {family}; route {everything} blackhole; }}
protocol bgp {name} {{ local {us} as {number}; neighbor {edge} as 64500; connect delay time 1; connect retry time 1;
  error wait time 1, 1; {family} {{ import all; export where source = RTS_STATIC; next hop self; }}; }}"""
    return f"router id {us4};\nprotocol device {{ }}\n{protocols}\n"


@tap.limit(300)
def test_bgp_edge():
    with Site("bgp-edge", 2) as site:
        site.namespace("edge")
        outer = ("8.8.8.8/32", "2001:4860::8/128")
        site.host("up1", 1, "192.0.2.1/30", "2001:db8:ffff:1::1/64", *outer)
        site.host("up2", 2, "192.0.2.5/30", "2001:db8:ffff:2::1/64", *outer)
        site.host("lan", 3, "198.51.100.2/24", "2001:db8:1::2/64", gateways=("198.51.100.1", "2001:db8:1::1"))
        site.start()
        site.bird("edge", (EXAMPLES / "bgp-edge/bird.conf").read_text("utf-8"))
        site.bird("up1", upstream(64501, "192.0.2.1", "192.0.2.2", "2001:db8:ffff:1::1", "2001:db8:ffff:1::2"))
        site.bird("up2", upstream(64502, "192.0.2.5", "192.0.2.6", "2001:db8:ffff:2::1", "2001:db8:ffff:2::2"))
        site.pings("lan", "8.8.8.8", "2001:4860::8", seconds=ROUTES_S)
        routes = site.running.ask("show routes")["routes"]
        for to in ("0.0.0.0/0", "::/0"):
            assert any(route["to"] == to and route["origin"] == "learned" for route in routes), routes
        site.stop()


def for_emulated_cpus(config):
    """FRR's configuration with longer timers: BFD loses a session that is not served for 150 ms, and BGP breaks off an attempt to
    connect that takes a second."""
    for at_full_speed, emulated in (("interval 50", "interval 1000"), ("connect 1", "connect 10"), ("ra-interval 1", "ra-interval 5")):
        assert at_full_speed in config, at_full_speed
        config = config.replace(at_full_speed, emulated)
    return config


@tap.limit(400)
def test_leaf_spine():
    """leaf1; its spines are Linux with FRR, and have the other rack's network."""
    with Site("leaf-spine", 0) as site:
        site.namespace("leaf1")
        site.host("rack1", 1, "10.1.0.2/24", gateways=("10.1.0.1",))
        for n in (1, 2):
            site.host(f"spine{n}", n + 1, interface="down1")
            site.vm.run(f"{IP} -n spine{n} address add 10.2.0.2/24 dev lo")
        site.start("leaf1.yaml")
        for name in ("leaf1", "spine1", "spine2"):
            config = (EXAMPLES / f"leaf-spine/{name}.conf").read_text("utf-8")
            if name != "leaf1":
                assert config.endswith("exit\n")
                config = config.removesuffix("exit\n") + " address-family ipv4 unicast\n  network 10.2.0.0/24\n exit-address-family\nexit\n"
            site.frr(name, for_emulated_cpus(config))
        site.pings("rack1", "10.2.0.2", seconds=ROUTES_S)
        site.reaches("10.2.0.0/24", {"up1", "up2"})
        site.stop()


if __name__ == "__main__":
    tap.main(globals())
