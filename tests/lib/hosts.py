# SPDX-License-Identifier: BSD-3-Clause
"""Hosts on one machine: network namespaces, veth cables, raw sockets, and their cleanup.

    with Lab() as lab:
        west, dut = lab.host("west"), lab.host("dut")
        lab.cable(west, "eth0", dut, "west0")
        west.run("ip addr add 10.0.0.1/24 dev eth0")
"""
import contextlib
import ctypes
import os
import shlex
import signal
import socket
import struct
import subprocess
import time

from lib import tap
from lib.build import BUILD, SLOWDOWN

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_AUXDATA = 263, 8
_libc = ctypes.CDLL(None, use_errno=True)


def wait_until(condition, what, seconds=10.0):
    """Poll until condition() is true; returns its value. seconds: of an ordinary build; what: the error text, or a function that makes it at timeout, to
    include the state then."""
    end, pause = time.monotonic() + seconds * SLOWDOWN, 0.001
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds * SLOWDOWN} s: {what() if callable(what) else what}")
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)


# IPv4's settings of a new namespace are copies of the machine's; these are the kernel's own. Forwarding first: it changes others.
IPV4 = {"forwarding": 0, "accept_redirects": 1, "send_redirects": 1, "secure_redirects": 1, "rp_filter": 0, "accept_local": 0,
        "route_localnet": 0, "promote_secondaries": 0, "proxy_arp": 0, "arp_filter": 0, "arp_announce": 0, "arp_ignore": 0,
        "arp_accept": 0, "arp_notify": 0}


class Host:
    """A network namespace with a loopback. A quiet one has no IPv6: its kernel sends nothing by itself on an
    interface without addresses, and does not reply in place of the turnpike that runs there."""

    def __init__(self, lab, name, quiet=False):
        self.lab = lab
        self.name = name
        self.ns = f"tpk{os.getpid()}-{name}"
        subprocess.run(["ip", "netns", "add", self.ns], check=True)
        # No unsolicited packets: neighbour discovery would disturb the test's counters.
        self.run("sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 "
                 "net.ipv6.conf.default.router_solicitations=0 " +
                 " ".join(f"net.ipv4.conf.{which}.{key}={value}" for key, value in IPV4.items() for which in ("all", "default")))
        if quiet:
            self.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
        self.run("ip link set lo up")

    def command(self, line):
        words = shlex.split(line) if isinstance(line, str) else list(line)
        return ["ip", "netns", "exec", self.ns] + words

    def run(self, line, check=True, timeout=60):
        done = subprocess.run(
            self.command(line), capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name}: {line}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, line, **options):
        """A process that the lab stops at its end, by pid."""
        process = subprocess.Popen(self.command(line), **options)
        self.lab.processes.append(process)
        return process

    @contextlib.contextmanager
    def inside(self):
        """Sockets opened in this block are in the host's namespace."""
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.ns}", os.O_RDONLY)
        try:
            _setns(there)
            yield
        finally:
            _setns(home)
            os.close(home)
            os.close(there)

    def raw(self, interface):
        """A raw socket on an interface: sends frames unmodified, receives with VLAN tags restored."""
        with self.inside():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            s.bind((interface, 0))
        s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        return s

    def mac(self, interface):
        line = self.run(f"cat /sys/class/net/{interface}/address").stdout
        return line.strip()


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def with_tag(frame, extra):
    """The frame from recvmsg(), with the VLAN tag that the kernel stripped."""
    for level, kind, data in extra:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _len, _snap, _mac, _net, tci, tpid = struct.unpack("=IIIHHHH", data[:20])
            if status & 0x10:  # TP_STATUS_VLAN_VALID
                tpid = tpid if status & 0x40 else 0x8100
                return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
    return frame


def receive_frame(s, timeout=2.0):
    """One frame from another host, with the VLAN tag that the kernel stripped, or None."""
    end = time.monotonic() + timeout
    while True:
        s.settimeout(max(0.001, end - time.monotonic()))
        try:
            frame, extra, _flags, address = s.recvmsg(65536, 1024)
        except socket.timeout:
            return None
        if address[2] == socket.PACKET_OUTGOING:
            continue
        return with_tag(frame, extra)


# Tests stop processes by SIGTERM, SIGINT or SIGKILL; a process raises these signals by itself.
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS}


def crashed(process):
    """Whether a program of the build crashed."""
    ours = any(str(word).startswith(BUILD) for word in process.args[:process.args.index("--") if "--" in process.args else None])
    return ours and process.returncode is not None and -process.returncode in CRASHES


class Lab:
    """Hosts, cables and processes, all removed at the end of the block. A crash of turnpike anywhere in the test is a
    failure that is not retried."""

    def __init__(self):
        self.hosts = []
        self.processes = []
        self.cleanups = []

    def __enter__(self):
        return self

    def host(self, name, quiet=False):
        host = Host(self, name, quiet)
        self.hosts.append(host)
        return host

    def cable(self, one, one_if, other, other_if, mtu=1500, offloads=False):
        """A veth pair, up at both ends. Without offloads every packet is an ordinary frame with valid
        checksums, as on a wire."""
        subprocess.run(
            ["ip", "link", "add", one_if, "mtu", str(mtu), "netns", one.ns, "type", "veth",
             "peer", "name", other_if, "mtu", str(mtu), "netns", other.ns], check=True)
        for host, interface in ((one, one_if), (other, other_if)):
            if not offloads:
                host.run(f"ethtool -K {interface} tx off rx off tso off gso off gro off "
                         "rxvlan off txvlan off", check=False)
            host.run(f"ip link set {interface} up")

    def end(self, process, seconds=10):
        """Terminate a process by pid; kill it after a timeout."""
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __exit__(self, *_):
        signal.alarm(0)
        for process in reversed(self.processes):
            self.end(process)
        dead = [p for p in self.processes if crashed(p)]
        for cleanup in reversed(self.cleanups):
            cleanup()
        for host in reversed(self.hosts):
            subprocess.run(["ip", "netns", "del", host.ns], check=False)
        if dead:
            raise tap.Broken(f"{' '.join(map(str, dead[0].args))} was killed by signal {-dead[0].returncode}")
