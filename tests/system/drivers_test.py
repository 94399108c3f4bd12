#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A cross-connect over every kind of driver that runs without hardware."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap, vhost_frontend  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import Turnpike, check_report, patch_config, router_config  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import OURS, answers, set_addresses, iperf  # noqa: E402


def run_patch(west, east, seconds=0.5, **more):
    with Lab() as lab:
        t = Turnpike(lab, lab.host("dut"), patch_config(west, east, **more),
                     options=["--duration", str(seconds)], wait=False)
        assert t.finish(60) == 0, t.output()
        with open(t.report_file, encoding="utf-8") as file:
            return check_report(json.load(file))


def test_ring_and_null():
    report = run_patch("net_ring0", "net_null0")
    assert [p["driver"] for p in report["ports"]] == ["net_ring", "net_null"]
    assert report["balance"]["tx"] > 1_000


def test_two_queues_on_a_port():
    report = run_patch({"device": "net_null0", "rx_queues": 2}, {"device": "net_null1", "rx_queues": 2})
    assert report["balance"]["tx"] > 1_000


def test_rings_that_keep_sent_packets_need_buffers_too():
    """net_simnic frees sent packets only as it sends others: in a pool that receive and transmit rings use up, nothing is received again."""
    with Lab() as lab, tempfile.TemporaryDirectory() as folder:
        dut, socket = lab.host("dut"), f"{folder}/control"

        def started(buffers, wait):
            return Turnpike(lab, dut, patch_config("net_simnic0,wire=gen", "net_simnic1,wire=gen", mempool={"buffers": buffers},
                                                   control={"socket": socket}), wait=wait)

        refused = started(2 * 1024 + 256, wait=False)
        wait_until(lambda: refused.process.poll() == 1, "too few buffers are refused", 30)
        needed = re.search(r"mempool: 2304 buffers are too few: .*transmit rings.*net_simnic.* hold up to (\d+)", refused.output())
        assert needed, refused.output()
        running = started(int(needed[1]), wait=True)
        operator = Operator(socket)

        def received():
            return [p["rx_packets"] for p in operator.show("ports")["ports"]]

        time.sleep(1)
        before = received()
        wait_until(lambda: all(now > then + 10_000 for now, then in zip(received(), before)), "both ports receive on")
        running.stop()


def test_pcap_forwards_what_the_file_holds():
    from scapy.all import IP, UDP, Ether, rdpcap, wrpcap

    with tempfile.TemporaryDirectory() as folder:
        frames = [Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / IP(src="10.0.0.1", dst="10.0.0.2")
                  / UDP(sport=n, dport=9) / bytes(n % 1400) for n in range(1000)]
        wrpcap(f"{folder}/in.pcap", frames)
        wrpcap(f"{folder}/none.pcap", [])
        report = run_patch(f"net_pcap0,rx_pcap={folder}/in.pcap,tx_pcap={folder}/back.pcap",
                           f"net_pcap1,rx_pcap={folder}/none.pcap,tx_pcap={folder}/out.pcap", seconds=3)
        assert report["ports"][0]["rx_packets"] == report["ports"][1]["tx_packets"] == 1000
        assert [bytes(f) for f in rdpcap(f"{folder}/out.pcap")] == [bytes(f) for f in frames]


def test_a_nic_lets_frames_to_a_second_address_in():
    """net_simnic filters by MAC address, as NICs do."""
    virtual = "00:00:5e:00:01:07"
    west = {"device": f"net_simnic0,wire=gen,rate=10k,dst_mac={virtual},l3flows=9,src=10.0.1.2,dst=10.0.2.2"}
    for macs, seen in (([virtual], True), (["00:00:5e:00:01:08"], False)):
        config = router_config({"west": (west | {"extra_macs": macs}, ["10.0.1.1/24"]),
                                "east": ("net_null0,no-rx=1", ["10.0.2.1/24"])})
        with Lab() as lab:
            t = Turnpike(lab, lab.host("dut"), config, options=["--duration", "0.3"], wait=False)
            assert t.finish(60) == 0, t.output()
            with open(t.report_file, encoding="utf-8") as file:
                report = check_report(json.load(file))
        assert report["ports"][0]["rx_packets"] > 100
        assert (report["drops"].get("dst_mac_not_ours", 0) == 0) == seen, report["drops"]


def two_turnpikes(make_devices):
    """null -> first turnpike -> (device pair) -> second turnpike -> null."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        dut = lab.host("dut")
        server, client = make_devices(f"{folder}/socket")
        # virtio-user passes its memory by file descriptors, so it must be in few files.
        eal = "-l 0 --no-pci --in-memory --single-file-segments"
        small = {"buffers": 8192}
        first = Turnpike(lab, dut, patch_config("net_null0", server, eal=eal, mempool=small))
        second = Turnpike(lab, dut, patch_config(client, "net_null0,no-rx=1", eal=eal, mempool=small))
        wait_until(lambda: "'east': link up" in first.output(), "the link between them is up", 20)
        wait_until(lambda: "'west': link up" in second.output(), "the link between them is up", 20)
        time.sleep(1)
        received = second.stop()
        sent = first.stop()
        return sent, received


def test_memif():
    """Both ends in one process: if the peer stops while frames move, net_memif (22.11 to 25.11) unmaps rings that
    its own poller still uses, and the process sometimes dies by SIGSEGV. Here the worker has stopped before."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        ends = {f"{role}-end": f"net_memif{i},role={role},socket={folder}/socket,socket-abstract=no"
                for i, role in enumerate(("server", "client"))}
        devices = {"source": "net_null0", **ends, "sink": "net_null1,no-rx=1"}
        t = Turnpike(lab, lab.host("dut"), {
            "eal": {"args": "-l 0 --no-pci --in-memory"}, "mempool": {"buffers": 8192},
            "ports": [{"name": name, "device": device} for name, device in devices.items()],
            "xconnects": [["source", "server-end"], ["client-end", "sink"]]})
        for name in ends:
            t.wait_for(f"'{name}': link up")
        time.sleep(1)
        source, sent, received, sink = t.stop()["ports"]
        assert source["rx_packets"] >= sent["tx_packets"] >= received["rx_packets"] == sink["tx_packets"] > 1000


def test_memif_between_two_processes():
    """Hosts behind two turnpikes, which a memif connects. The client's process restarts while the hosts are silent: test_memif
    says why."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        hosts, duts = {}, {}
        for n, role in enumerate(("server", "client"), 1):
            hosts[role], duts[role] = lab.host(f"{role}-host"), lab.host(role, True)
            lab.cable(hosts[role], "eth0", duts[role], "w0")
            hosts[role].run(f"ip addr add 10.0.0.{n}/24 dev eth0")

        def started(role):
            return Turnpike(lab, duts[role], patch_config(
                "net_af_packet0,iface=w0", f"net_memif0,role={role},socket={folder}/socket,socket-abstract=no",
                eal="-l 0 --no-pci --in-memory", mempool={"buffers": 8192}))

        def links(state):
            for host in hosts.values():
                host.run(f"ip link set eth0 {state}")
            time.sleep(0.3 if state == "down" else 0)  # for packets in flight

        running = {role: started(role) for role in hosts}
        for _ in range(2):
            running["client"].wait_for("'east': link up")
            wait_until(lambda: answers(hosts["server"], "10.0.0.2"), "the hosts reach each other")
            assert iperf(lab, hosts["server"], hosts["client"], "10.0.0.2")["sum_received"]["bytes"] > 10 << 20
            links("down")
            running["client"].stop()
            running["client"] = started("client")
            links("up")
        wait_until(lambda: answers(hosts["server"], "10.0.0.2"), "the hosts reach each other again")
        links("down")
        for t in running.values():
            t.stop()


def test_a_killed_memif_server_listens_again():
    """The file of its socket stays, which two ports share by their ids. No frames move (test_memif)."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        def memif(n, role):
            return f"net_memif{n},role={role},id={n},socket={folder}/socket,socket-abstract=no"

        def started(role):
            return Turnpike(lab, dut, patch_config(memif(0, role), memif(1, role), eal="-l 0 --no-pci --in-memory",
                                                   mempool={"buffers": 8192}, control={"socket": f"{folder}/{role}"}))

        dut = lab.host("dut")
        killed = started("server")
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        assert os.path.exists(f"{folder}/socket")
        server, client = started("server"), started("client")
        for t in (server, client):
            for port in ("west", "east"):
                t.wait_for(f"'{port}': link up")
        client.stop()
        server.stop()


def test_virtio_user_with_vhost():
    sent, received = two_turnpikes(lambda path: (
        f"net_vhost0,iface={path}", f"net_virtio_user0,path={path}"))
    assert received["ports"][0]["rx_packets"] > 1000, received["ports"]
    assert sent["ports"][1]["tx_packets"] >= received["ports"][0]["rx_packets"]


def hostile(guest):
    """[(what a guest wrote into its TX queue, a function that writes it)]"""
    at, inside = vhost_frontend.SIZE, 0x20000
    nexts, indirect = vhost_frontend.NEXT, vhost_frontend.INDIRECT

    def one(*descriptor, **more):
        guest.describe(0, *descriptor)
        guest.offer(0, **more)

    def table(length, *descriptors):
        for n, descriptor in enumerate(descriptors):
            guest.describe(n, *descriptor, table=inside)
        one(inside, length, indirect)

    return {
        "an address beyond its memory": lambda: one(at + 4096, 100), "the highest address": lambda: one((1 << 64) - 64, 128),
        "a length across the end of its memory": lambda: one(at - 50, 100), "the greatest length": lambda: one(inside, 0xFFFFFFFF),
        "no bytes": lambda: one(inside, 0), "less than a header": lambda: one(inside, vhost_frontend.HEADER - 1),
        "only a header": lambda: one(inside, vhost_frontend.HEADER), "a header of an Ethernet frame cut short": lambda: one(inside, 20),
        "a descriptor for writing": lambda: one(inside, 100, vhost_frontend.WRITE),
        "a chain that is a circle": lambda: one(inside, 100, nexts, 0),
        "a chain that leaves the table": lambda: one(inside, 100, nexts, 60000),
        "a head beyond the table": lambda: guest.offer(60000), "an index far ahead": lambda: guest.offer(0, jump=40000),
        "an indirect table beyond its memory": lambda: one(at + 4096, 64, indirect),
        "an indirect table of 17 bytes": lambda: table(17, (inside + 256, 100)),
        "an indirect table of no bytes": lambda: one(inside, 0, indirect),
        "an indirect table in an indirect table": lambda: table(16, (inside, 16, indirect)),
        "an indirect chain that is a circle": lambda: table(32, (inside + 256, 100, nexts, 1), (inside + 512, 100, nexts, 0)),
    }


def test_a_hostile_guest():
    """Descriptors that lead anywhere: turnpike reads the guest's memory only, and other ports and the guest's next driver go on."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        host, dut = lab.host("host", True), lab.host("dut", True)
        lab.cable(host, "eth0", dut, "w0")
        wire = host.raw("eth0")
        running = Turnpike(lab, dut, patch_config(f"net_vhost0,iface={folder}/socket", "net_af_packet0,iface=w0",
                                                  eal="-l 0 --no-pci --in-memory", mempool={"buffers": 8192}))

        def good_frame(number):
            frame = b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + bytes([number] * 50)
            guest = vhost_frontend.Frontend(f"{folder}/socket")

            def arrives():
                guest.send(frame)
                got = receive_frame(wire, 0.05)
                while got is not None and got != frame:
                    got = receive_frame(wire, 0.05)
                return got == frame
            wait_until(arrives, lambda: f"a frame of the guest is forwarded: {running.output()[-2000:]}")
            return guest

        good_frame(0).close()
        for number, what in enumerate(hostile(None), 1):
            guest = good_frame(number)
            hostile(guest)[what]()
            time.sleep(0.1)
            guest.close()
            assert running.process.poll() is None, f"{what}: {running.output()[-2000:]}"
        good_frame(255).close()
        running.stop()


def test_virtio_sends_tags():
    """The driver reports VLAN insert offload, but performs it only in rte_eth_tx_prepare(): a trunk's frames had no tags."""
    from scapy.all import Dot1Q, Ether, rdpcap, wrpcap

    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-socket-") as folder:
        frame = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01", type=0x88B5) / bytes(60)
        wrpcap(f"{folder}/in.pcap", [frame] * 100)
        wrpcap(f"{folder}/none.pcap", [frame][:0])
        common = {"eal": "-l 0 --no-pci --in-memory --single-file-segments", "mempool": {"buffers": 8192}}
        dut = lab.host("dut")
        there = Turnpike(lab, dut, patch_config(f"net_vhost0,iface={folder}/socket", (
            f"net_pcap0,rx_pcap={folder}/none.pcap,tx_pcap={folder}/out.pcap"), **common))
        config = patch_config(f"net_pcap0,rx_pcap={folder}/in.pcap,tx_pcap={folder}/back.pcap,infinite_rx=1",
                              f"net_virtio_user0,path={folder}/socket", **common)
        del config["xconnects"]
        config["bridges"] = [{"name": "lan", "members": [{"port": "west", "mode": "access", "vlan": 7},
                                                         {"port": "east", "mode": "trunk"}]}]
        here = Turnpike(lab, dut, config)
        wait_until(lambda: "'west': link up" in there.output(), "the link between them is up", 20)
        wait_until(lambda: os.path.getsize(f"{folder}/out.pcap") > 10_000, "frames are through", 20)
        here.stop()
        there.stop()
        tags = {(got[Dot1Q].vlan, got[Dot1Q].type) if Dot1Q in got else None for got in rdpcap(f"{folder}/out.pcap", 100)}
        assert tags == {(7, 0x88B5)}, tags


def sent_by_tcp(sender, receiver, address, total=200_000):
    """The bytes that arrive of `total`, within three seconds."""
    family = "AF_INET6" if ":" in address else "AF_INET"
    listening = receiver.start(f"""python3 -c "import socket
l = socket.create_server(('{address}', 5201), family=socket.{family})
l.settimeout(3)
print('listens', flush=True)
got = 0
try:
    c = l.accept()[0]
    c.settimeout(3)
    for b in iter(lambda: c.recv(65536), b''): got += len(b)
except TimeoutError: pass
print(got)" """, stdout=subprocess.PIPE, text=True)
    assert listening.stdout.readline() == "listens\n"
    sending = sender.start(f"""python3 -c "import socket
socket.create_connection(('{address}', 5201), 3).sendall(bytes({total}))" """, stderr=subprocess.DEVNULL)
    got = int(listening.communicate(timeout=30)[0])
    sending.kill()
    sending.wait()
    return got


def test_a_veth_needs_complete_checksums():
    """As doc/configuration.md says: a host behind a veth leaves TCP's checksums to its device, of which turnpike sees nothing:
    pings pass and TCP does not, until the host computes them."""
    for device in ("net_af_packet", "net_xsk"):
        with Lab() as lab:
            west, dut, east = lab.host("west"), lab.host("dut", True), lab.host("east")
            lab.cable(west, "eth0", dut, "w0", offloads=True)
            lab.cable(east, "eth0", dut, "e0", offloads=True)
            set_addresses(west, 1)
            set_addresses(east, 2)
            devices = {name: ({"device": f"{device}{n},iface={interface}"}, OURS[name])
                       for n, (name, interface) in enumerate((("west", "w0"), ("east", "e0")))}
            running = Turnpike(lab, dut, router_config(devices))
            wait_until(lambda: answers(west, "10.0.2.2") and answers(west, "2001:db8:2::2"), "pings pass")
            for address in ("10.0.2.2", "2001:db8:2::2"):
                assert sent_by_tcp(west, east, address) == 0, f"{device} completes checksums: mend doc/configuration.md"
            for host in (west, east):
                host.run("ethtool -K eth0 tx off")
            for address in ("10.0.2.2", "2001:db8:2::2"):
                assert sent_by_tcp(west, east, address) == 200_000, f"{device}, {address}"
            running.stop()


if __name__ == "__main__":
    tap.main(globals())
