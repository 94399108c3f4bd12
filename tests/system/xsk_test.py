#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_xsk between hosts: under turnpike and dpdk-testpmd, with few privileges, and after crashes."""
import os
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402
from lib.dut import BUILD, Turnpike, patch_config, router_config  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import OURS, answers, cabled, iperf, received, rewrite, settle  # noqa: E402

WITHOUT_IP_SOCKETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/without_ip_sockets.py")
WEST, EAST = "net_xsk0,iface=w0", "net_xsk1,iface=e0"


def two_hosts(lab, mtu=1500):
    west, dut, east = lab.host("west"), lab.host("dut", True), lab.host("east")
    lab.cable(west, "eth0", dut, "w0", mtu)
    lab.cable(east, "eth0", dut, "e0", mtu)
    for n, host in ((1, west), (2, east)):
        host.run(f"ip addr add 10.0.0.{n}/24 dev eth0")
        host.run(f"ip addr add 2001:db8::{n}/64 dev eth0 nodad")
    return west, dut, east


def ping(host, address, options="", count=5):
    host.run(f"ping -q -c {count} -i 0.01 -W 2 {options} {address}")


def counters(host):
    """Packets that its kernel has received and sent by eth0."""
    return tuple(int(host.run(f"cat /sys/class/net/eth0/statistics/{way}_packets").stdout) for way in ("rx", "tx"))


def lost_by_kernel(dut, interface):
    """Packets that the kernel of the DUT dropped before their XDP program ran: generic mode is behind the backlog
    (net.core.netdev_max_backlog)."""
    return int(dut.run(f"cat /sys/class/net/{interface}/statistics/rx_dropped").stdout)


def programs_on(host, interface):
    return [word for word in host.run(f"ip link show dev {interface}").stdout.split() if word.startswith("xdp")]


def test_jumbo_frames_in_small_buffers():
    with Lab() as lab:
        west, dut, east = two_hosts(lab, mtu=9000)
        running = Turnpike(lab, dut, patch_config({"device": WEST, "mtu": 9000}, {"device": EAST, "mtu": 9000}))
        ping(west, "10.0.0.2", "-M do -s 8972")
        ping(east, "2001:db8::1", "-M do -s 8952")
        iperf(lab, west, east, "10.0.0.2")
        report = running.stop()
        assert report["balance"]["tx"] > 1000, report["balance"]


def test_frames_at_the_edge_of_a_buffer():
    """An MTU whose frames exceed a buffer only by XDP's headroom, and one that fits a large buffer but no chunk."""
    for mtu, buffer_size in ((1950, 2176), (5000, 6000)):
        with Lab() as lab:
            west, dut, _east = two_hosts(lab, mtu)
            running = Turnpike(lab, dut, patch_config({"device": WEST, "mtu": mtu}, {"device": EAST, "mtu": mtu},
                                                      mempool={"buffers": 4096, "buffer_size": buffer_size}))
            for size in range(mtu - 28 - 60, mtu - 28 + 1, 20):
                ping(west, "10.0.0.2", f"-M do -s {size}", count=1)
            running.stop()


def test_fragments():
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(WEST, EAST))
        ping(west, "10.0.0.2", "-M dont -s 20000")
        ping(east, "2001:db8::1", "-s 20000")
        iperf(lab, west, east, "10.0.0.2", "-u -b 20M -l 8000 -k 150")
        report = running.stop()
        # A kernel may send packets by itself at any time (MLD, router solicitations), also at the last moment.
        assert set(report["drops"]) <= {"stopping"} and report["balance"]["drops"] < 10, report["drops"]


def test_generic_mode_and_every_packet_on_the_bill():
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(WEST + ",mode=skb", EAST + ",busy_budget=64"))
        modes = [programs_on(dut, interface)[0].split("/")[0] for interface in ("w0", "e0")]
        assert modes == ["xdpgeneric", "xdp"], modes
        hosts = {"west": west, "east": east}
        before = {name: counters(host) for name, host in hosts.items()}
        lost = {name: -lost_by_kernel(dut, name[0] + "0") for name in hosts}
        ping(west, "10.0.0.2", count=60)
        iperf(lab, west, east, "10.0.0.2")
        settle()
        after = {name: counters(host) for name, host in hosts.items()}
        lost = {name: n + lost_by_kernel(dut, name[0] + "0") for name, n in lost.items()}
        report = running.stop()
        assert [p["driver"] for p in report["ports"]] == ["net_xsk", "net_xsk"]
        # By the hosts' own counters. A kernel may send packets by itself (MLD): before and after the test's, too.
        for port in report["ports"]:
            got, sent = (now - was for now, was in zip(after[port["name"]], before[port["name"]]))
            came = port["rx_packets"] + port["rx_missed"] + lost[port["name"]]
            assert sent <= came and port["rx_packets"] <= sent + 20, (port["name"], sent, port["rx_packets"], port["rx_missed"], lost)
            assert got <= port["tx_packets"] <= got + 20, (port["name"], got, port["tx_packets"])
        worker, = report["workers"]
        assert worker["packets"] == sum(p["rx_packets"] for p in report["ports"]) == report["balance"]["rx"], report
        assert report["balance"]["rx"] > 1000 and report["balance"]["tx"] > 1000, report["balance"]


def test_kill_leaves_the_interface_usable():
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(WEST, EAST))
        ping(west, "10.0.0.2")
        assert programs_on(dut, "w0"), "nothing is attached while it runs"
        running.process.send_signal(signal.SIGKILL)
        running.process.wait(10)
        wait_until(lambda: not programs_on(dut, "w0") and not programs_on(dut, "e0"), "nothing is attached")
        dut.run("ip addr add 10.0.0.9/24 dev w0")
        ping(west, "10.0.0.9")
        dut.run("ip addr del 10.0.0.9/24 dev w0")
        again = Turnpike(lab, dut, patch_config(WEST, EAST))
        ping(west, "10.0.0.2")
        again.stop()
        assert not programs_on(dut, "w0")


def test_an_interface_that_goes_under_load_and_comes_back():
    with Lab() as lab:
        west, dut, east = two_hosts(lab)
        running = Turnpike(lab, dut, patch_config(WEST, EAST))
        ping(west, "10.0.0.2")
        server = east.start("iperf3 -s -p 5201", stdout=-3, stderr=-3)
        wait_until(lambda: ":5201" in east.run("ss -ltn").stdout, "iperf3 listens")
        client = west.start("iperf3 -c 10.0.0.2 -u -b 0 -l 200 -t 20", stdout=-3, stderr=-3)
        wait_until(lambda: received(east) > 10_000, "it forwards")
        dut.run("ip link del e0")
        running.wait_for("port 'east': link down")
        settle(0.3)
        lab.end(client)
        lab.end(server)
        lab.cable(east, "eth0", dut, "e0")
        east.run("ip addr add 10.0.0.2/24 dev eth0")
        wait_until(lambda: running.output().rfind("'east': link up") > running.output().rfind("'east': link down"),
                   "the link is up again")
        wait_until(lambda: west.run("ping -q -c 1 -W 0.2 10.0.0.2", check=False).returncode == 0, "pings again")
        assert "interface e0 is gone" in running.output()
        running.stop()


def keeper(folder):
    """An operator's filter that leaves ping to the kernel."""
    path = os.path.join(folder, "keep.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("- {protocol: icmp}\n- {protocol: arp}\n")
    return path


def test_a_filter_leaves_packets_with_the_kernel():
    with Lab() as lab, tempfile.TemporaryDirectory() as folder:
        west, dut, _east = two_hosts(lab)
        dut.run("ip addr add 10.0.0.9/24 dev w0")
        running = Turnpike(lab, dut, patch_config(f"{WEST},filter={keeper(folder)}", EAST))
        ping(west, "10.0.0.9")  # the kernel replies on an interface that turnpike uses
        ping(west, "2001:db8::2")  # everything else goes to turnpike
        report = running.stop()
        assert report["balance"]["rx"] >= 10, report["balance"]


def test_a_bad_filter_is_refused_with_its_line():
    with Lab() as lab, tempfile.TemporaryDirectory() as folder:
        _west, dut, _east = two_hosts(lab)
        with open(f"{folder}/keep.yaml", "w", encoding="utf-8") as file:
            file.write("- {protocol: icmp}\n- {protocol: tpc}\n")
        running = Turnpike(lab, dut, patch_config(f"{WEST},filter={folder}/keep.yaml", EAST), wait=False)
        assert running.finish() == 1
        assert "keep.yaml:2" in running.output(), running.output()


MEMLOCK = 8 << 20  # Debian's default


def limited(lab, host, config, capabilities, memlock=MEMLOCK, wait=True):
    """turnpike as root, but with these capabilities only."""
    wanted = "".join(f",+{name}" for name in capabilities)
    return Turnpike(lab, host, config, wait=wait, under=[
        "prlimit", f"--memlock={memlock}", "setpriv", f"--bounding-set=-all{wanted}", f"--inh-caps=-all{wanted}"])


ENOUGH = ("net_raw", "net_admin", "bpf")


def small_config(west=WEST, east=EAST):
    """Both ports' buffers, which share a UMEM, fit into the usual limit."""
    ports = [{"device": device, "descriptors": 256} for device in (west, east)]
    return patch_config(*ports, eal="-l 0-1 --no-pci --no-huge --no-shconf -m 128", mempool={"buffers": 2048})


def refused(lab, dut, east=EAST):
    """The error of a start whose ports are not opened."""
    running = Turnpike(lab, dut, patch_config(WEST, east), wait=False)
    assert running.finish() == 1, running.output()
    return running.output()


def test_the_interface_of_the_default_route_is_refused():
    """In the namespace where turnpike opens it: all of the machine's packets would go to turnpike."""
    with Lab() as lab:
        _west, dut, _east = two_hosts(lab)
        dut.run("ip addr add 10.0.0.9/24 dev w0")
        dut.run("ip route add default via 10.0.0.1 dev w0")
        assert "port 'west': device 'net_xsk0' takes all packets of w0, by which a default route" in refused(lab, dut)
        dut.run("ip route replace default dev e0")
        assert "port 'east': device 'net_xsk1' takes all packets of e0" in refused(lab, dut)
        dut.run("ip link property add dev e0 altname uplink")
        assert "takes all packets of e0" in refused(lab, dut, "net_xsk1,iface=uplink")
        dut.run("ip route del default")
        Turnpike(lab, dut, patch_config(WEST, EAST)).stop()


def test_default_routes_of_other_tables_and_interfaces_above_are_refused():
    """Policy routing, several paths, nexthop objects, a bridge: where /proc/net/route shows no default route by w0."""
    with Lab() as lab:
        _west, dut, _east = two_hosts(lab)
        dut.run("ip addr add 10.0.0.9/24 dev w0")
        cut_off = "device 'net_xsk0' takes all packets of w0, by which a default route of this machine leaves"

        dut.run("ip route add default via 10.0.0.1 dev w0 table 100")
        Turnpike(lab, dut, patch_config(WEST, EAST)).stop()  # no rule looks the table up
        dut.run("ip rule add from 10.0.0.9 lookup 100")
        assert cut_off + " (ip route show table 100)" in refused(lab, dut)
        dut.run("ip rule del from 10.0.0.9 lookup 100")

        dut.run("ip route add default nexthop dev e0 nexthop via 10.0.0.1 dev w0")
        assert cut_off in refused(lab, dut)
        dut.run("ip route del default")

        dut.run("ip nexthop add id 5 via 10.0.0.1 dev w0")
        dut.run("sysctl -qw net.ipv4.nexthop_compat_mode=0")
        dut.run("ip route add default nhid 5")
        assert cut_off in refused(lab, dut)
        dut.run("ip route del default")

        dut.run("ip link add br0 type bridge")
        dut.run("ip link set w0 master br0")
        dut.run("ip link set br0 up")
        dut.run("ip route add default dev br0")
        assert cut_off + ", as br0" in refused(lab, dut)
        dut.run("ip link del br0")
        Turnpike(lab, dut, patch_config(WEST, EAST)).stop()


def test_sockets_of_ip_are_not_needed():
    """As a service runs (RestrictAddressFamilies=): an interface for daemons, a UNIX socket for metrics; TCP is refused with the
    place of the remedy, and so is sFlow."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        west, dut, east = cabled(lab)
        unix = f"unix:{folder}/metrics"
        running = Turnpike(lab, dut, router_config(
            {"west": ({"device": WEST, "host_interface": True}, OURS["west"]), "east": ({"device": EAST}, OURS["east"])},
            control_plane={"netlink": True}, metrics={"listen": unix}, control={"socket": f"{folder}/control"}),
            under=[WITHOUT_IP_SOCKETS])
        wait_until(lambda: "10.0.1.1/24" in dut.run("ip addr show west").stdout, "the interface for daemons has its address")
        wait_until(lambda: answers(west, "10.0.2.2") and answers(west, "2001:db8:2::2"), "packets are forwarded")
        with socket.socket(socket.AF_UNIX) as scrape:
            scrape.connect(f"{folder}/metrics")
            scrape.sendall(b"GET /metrics HTTP/1.1\r\nHost: turnpike\r\n\r\n")
            assert scrape.recv(1 << 16).startswith(b"HTTP/1.1 200")
        for config in ({"metrics": {"listen": [unix, 9417]}}, {"sflow": {"collectors": ["10.0.2.2:6343"], "agent": "10.0.1.1"}}):
            said = rewrite(running, lambda all_, c=config: all_.update(c))
            assert "RestrictAddressFamilies=" in said and "Address family not supported" in said, said
        wait_until(lambda: answers(west, "10.0.2.2"), "packets are forwarded")
        running.stop()


def test_three_capabilities_are_enough():
    with Lab() as lab:
        west, dut, _east = two_hosts(lab)
        running = limited(lab, dut, small_config(), ENOUGH)
        ping(west, "10.0.0.2")
        running.stop()


def test_what_is_missing_is_named():
    cases = [("CAP_NET_RAW", ("net_admin", "bpf"), MEMLOCK), ("CAP_BPF", ("net_raw", "net_admin"), MEMLOCK),
             ("CAP_NET_ADMIN", ("net_raw", "bpf"), MEMLOCK), ("RLIMIT_MEMLOCK", ENOUGH, 1 << 20),
             ("CAP_IPC_LOCK", ENOUGH, 1 << 20)]
    with Lab() as lab:
        _west, dut, _east = two_hosts(lab)
        for name, capabilities, memlock in cases:
            running = limited(lab, dut, small_config(), capabilities, memlock, wait=False)
            assert running.finish() == 1, f"{name}: {running.output()}"
            assert name in running.output(), f"{name}:\n{running.output()}"
            assert not programs_on(dut, "w0"), name


OBJECT = os.path.join(BUILD, "drivers/net/xsk/program/xsk.bpf.o")


def test_with_a_pinned_map_one_capability_is_enough():
    """The program and its map belong to another program: here bpftool pins and removes them."""
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        west, dut, _east = two_hosts(lab)
        subprocess.run(["mount", "-t", "bpf", "bpf", folder], check=True)
        lab.cleanups.append(lambda: subprocess.run(["umount", folder], check=True))
        for interface in ("w0", "e0"):
            dut.run(f"bpftool prog load {OBJECT} {folder}/{interface} type xdp pinmaps {folder}/maps_{interface}")
            dut.run(f"bpftool net attach xdp pinned {folder}/{interface} dev {interface}")
        refused = limited(lab, dut, small_config(f"{WEST},xskmap={folder}/none"), ("net_raw",), wait=False)
        assert refused.finish() == 1 and f"xskmap={folder}/none" in refused.output(), refused.output()
        devices = [f"{device},xskmap={folder}/maps_{interface}/sockets"
                   for device, interface in ((WEST, "w0"), (EAST, "e0"))]
        running = limited(lab, dut, small_config(*devices), ("net_raw",))
        ping(west, "10.0.0.2")
        running.stop()
        assert programs_on(dut, "w0"), "it took another's program off"


if __name__ == "__main__":
    tap.main(globals())
