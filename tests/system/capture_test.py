#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a router between kernels, read by tshark, tcpdump and capinfos; readers that are slow, dead or gone."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD, Turnpike, patch_config  # noqa: E402
from lib.hosts import Lab, receive_frame, wait_until  # noqa: E402
from lib.routed import EAST, cabled, ping, start  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
EXTCAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/wireshark/turnpike-extcap")


class Capture:
    """turnpikectl capture in the background."""

    def __init__(self, path, *words, stdout=subprocess.PIPE):
        self.operator = Operator(path)
        before = {c["capture"] for c in self.operator.show("captures")["captures"]}
        self.process = subprocess.Popen([CTL, "--socket", path, "capture", *words], stdout=stdout, stderr=subprocess.PIPE)
        wait_until(lambda: self.process.poll() is not None or
                   {c["capture"] for c in self.operator.show("captures")["captures"]} - before, "the capture begins")

    def end(self, how=signal.SIGINT):
        """(exit code, standard output, standard error)"""
        if self.process.poll() is None:
            self.process.send_signal(how)
        out, complaint = self.process.communicate(timeout=30)
        return self.process.returncode, out, complaint.decode()


def packets(file, *fields, of=""):
    """Rows of fields, by tshark, which must not complain."""
    words = ["tshark", "-n", "-r", file, "-T", "fields", "-E", "separator=|"]
    for field in fields:
        words += ["-e", field]
    done = subprocess.run(words + (["-Y", of] if of else []), capture_output=True, text=True, check=True, timeout=60)
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    assert not complaints, complaints
    return [line.split("|") for line in done.stdout.splitlines()]


def written(text):
    return int(re.match(r"(\d+) packets written, (\d+) lost", text)[1])


def lost(text):
    return int(re.match(r"(\d+) packets written, (\d+) lost", text)[2])


@contextlib.contextmanager
def router(name, **more):
    """A router that forwards between two hosts: the host west, the control socket and a file `name`, as paths."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = os.path.join(folder, "control.sock")
        running = start(lab, dut, control={"socket": path}, **more)
        ping(west, EAST[0])
        yield west, path, os.path.join(folder, name)
        running.stop()


def test_ping_is_read_by_tshark_tcpdump_and_capinfos():
    with router("west.pcapng") as (west, path, file):
        before = time.time()
        c = Capture(path, "west", "--filter", "icmp and greater 130", "-w", file)  # no other ICMP message is as long
        west.run(f"ping -n -s 96 -c 5 -i 0.2 {EAST[0]}")
        code, _out, said = c.end()
        assert code == 0 and written(said) == 10 and lost(said) == 0, said
        rows = packets(file, "frame.interface_name", "frame.interface_description", "frame.packet_flags_direction",
                       "icmp.type", "icmp.seq", "frame.time_epoch", "ip.ttl")
        assert [(r[2], r[3], r[4]) for r in rows] == [
            (way, kind, str(n)) for n in range(1, 6) for way, kind in (("0x00000001", "8"), ("0x00000002", "0"))], rows
        assert {r[0] for r in rows} == {"west"} and "net_af_packet0,iface=w0" in rows[0][1], rows[0]
        assert {r[6] for r in rows} == {"64", "63"}, rows
        times = [float(r[5]) for r in rows]
        assert times == sorted(times) and before < times[0] and times[-1] < time.time(), (before, times)
        assert 0.7 < times[-1] - times[0] < 5, times
        assert len(rows[0][5].split(".")[1]) == 9, "nanoseconds"
        read = subprocess.run(["tcpdump", "-n", "-r", file], capture_output=True, text=True, check=True)
        assert read.stdout.count("ICMP echo re") == 10, read.stdout
        info = subprocess.run(["capinfos", file], capture_output=True, text=True, check=True).stdout
        assert re.search(r"Number of packets:\s+10\b", info) and "nanoseconds (9)" in info, info
        assert "Capture application: turnpike" in info and "icmp" in info, info


def test_drops_have_their_reason_as_comment():
    with router("drops.pcapng", neighbours={"reachable_ms": 300, "retransmit_ms": 100, "negative_ms": 5000}) as (west, path, file):
        c = Capture(path, "any", "--drops", "-w", file)
        west.run("ping -n -c 1 -W 1 10.99.0.1", check=False)
        west.run(f"ping -n -c 1 -W 1 -t 1 {EAST[0]}", check=False)
        west.run("ping -n -c 1 -W 2 10.0.2.77", check=False)  # no such neighbour: control drops it
        wait_until(lambda: Operator(path).show("drops")["drops"].get("neighbour_failed"), "the neighbour fails")
        code, _out, said = c.end()
        assert code == 0, said
        rows = packets(file, "frame.comment", "ip.dst", "frame.interface_name", of="icmp")
        by_reason = {row[0].split(": ")[1]: row for row in rows}
        assert {"no_route", "ipv4_ttl", "neighbour_failed"} <= set(by_reason), rows
        assert by_reason["no_route"][1:] == ["10.99.0.1", "west"] and by_reason["neighbour_failed"][1] == "10.0.2.77", rows
        assert all(row[0].startswith("dropped: ") and len(row[0].split(": ")) >= 3 for row in rows), rows
        # One reason only; and the balance: each drop is in the capture.
        before = Operator(path).show("drops")["drops"].get("no_route", 0)
        c = Capture(path, "west", "--reason", "no_route", "-w", file)
        west.run("ping -n -c 3 -i 0.2 -W 1 10.99.0.1", check=False)
        west.run(f"ping -n -c 1 -W 1 -t 1 {EAST[0]}", check=False)
        c.end()
        assert Operator(path).show("drops")["drops"]["no_route"] - before == 3
        assert [row[0].split(": ")[1] for row in packets(file, "frame.comment")] == ["no_route"] * 3


def test_packets_for_control_and_of_control():
    """ARP, and ICMP of the router itself, each with the reason why it is for control; but no forwarded packet."""
    with router("control.pcapng") as (west, path, file):
        c = Capture(path, "any", "--control", "--filter", "arp or icmp", "-w", file)
        west.run("ip neigh flush dev eth0")
        west.run(f"ping -n -c 3 -i 0.2 {EAST[0]}")
        west.run(f"ping -n -c 2 -i 0.2 10.0.1.1")
        west.run(f"ping -n -c 1 -W 1 -t 1 {EAST[0]}", check=False)
        code, _out, said = c.end()
        assert code == 0 and lost(said) == 0, said
        rows = packets(file, "frame.comment", "frame.packet_flags_direction", "arp.opcode", "icmp.type", "frame.interface_name")
        mine = [(r[1][-1], r[2], r[3].split(",")[0], r[0].removeprefix("for control: ").split(":")[0]) for r in rows if r[4] == "west"]
        assert ("1", "1", "", "arp") in mine and ("2", "2", "", "") in mine, mine
        assert mine.count(("1", "", "8", "local")) == 2 and mine.count(("2", "", "0", "")) == 2, mine
        assert mine.count(("1", "", "8", "icmp_error")) == 1 and mine.count(("2", "", "11", "")) == 1, mine
        # The pings through the router are in a capture of all packets only.
        assert not [r for r in rows if r[3] == "0" and r[1][-1] == "1"], rows
        error, = [r[0] for r in rows if "icmp_error" in r[0]]
        assert "; dropped: ipv4_ttl: " in error, error


def test_vlan_snaplen_count_direction_and_standard_output():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, east = lab.host("west", True), lab.host("dut", True), lab.host("east", True)
        lab.cable(west, "eth0", dut, "w0")
        lab.cable(east, "eth0", dut, "e0")
        path = os.path.join(folder, "control.sock")
        running = Turnpike(lab, dut, patch_config("net_af_packet0,iface=w0", "net_af_packet1,iface=e0", control={"socket": path}))
        wire, end = west.raw("eth0"), east.raw("eth0")

        def frame(vlan, n):
            tag = b"" if vlan is None else b"\x81\x00" + vlan.to_bytes(2, "big")
            return b"\x02\0\0\0\0\x0b" + b"\x02\0\0\0\0\x01" + tag + b"\x88\xb5" + bytes([n]) * 200

        c = Capture(path, "east", "--vlan", "7", "--snaplen", "64", "--direction", "out", "-c", "3")
        for n in range(6):
            for vlan in (7, 8, None):
                wire.send(frame(vlan, n))
                assert receive_frame(end) is not None
        out, complaint = c.process.communicate(timeout=30)
        assert c.process.returncode == 0 and written(complaint.decode()) == 3, complaint
        file = os.path.join(folder, "out.pcapng")
        with open(file, "wb") as f:
            f.write(out)
        rows = packets(file, "vlan.id", "frame.len", "frame.cap_len", "frame.packet_flags_direction")
        assert rows == [["7", "218", "64", "0x00000002"]] * 3, rows
        # The file has the bytes of the wire.
        c = Capture(path, "west", "--direction", "in", "-c", "1", "-w", file)
        wire.send(frame(9, 5))
        c.process.communicate(timeout=30)
        dumped = subprocess.run(["tcpdump", "-n", "-xx", "-r", file], capture_output=True, text=True, check=True).stdout
        digits = "".join(re.findall(r"0x[0-9a-f]{4}:  ([0-9a-f ]+)", dumped)).replace(" ", "")
        assert bytes.fromhex(digits) == frame(9, 5), dumped
        running.stop()


def test_rotation():
    with router("r.pcapng") as (west, path, file):
        folder = os.path.dirname(file)
        c = Capture(path, "west", "--filter", "icmp and greater 130", "-w", file, "--rotate-size", "4K", "--files", "3")
        west.run(f"ping -n -s 96 -c 100 -i 0.01 {EAST[0]}")
        code, _out, said = c.end()
        assert code == 0 and written(said) == 200, said
        names = sorted(n for n in os.listdir(folder) if n.startswith("r_"))
        assert len(names) == 3 and names[-1] > "r_00005.pcapng", names
        sequence = []
        for name in names:
            whole = os.path.join(folder, name)
            assert os.path.getsize(whole) <= 4096 + 400, name
            rows = packets(whole, "icmp.seq", "frame.interface_name")
            assert rows and {r[1] for r in rows} == {"west"}, name
            sequence += [int(r[0]) for r in rows]
        assert sequence == sorted(sequence) and sequence[-1] == 100 and sequence[0] > 10, sequence


def test_rotation_by_time():
    with router("t.pcapng") as (west, path, file):
        folder = os.path.dirname(file)
        c = Capture(path, "west", "--filter", "icmp[0] = 8 and greater 130", "-w", file, "--rotate-time", "1")
        west.run(f"ping -n -s 96 -c 40 -i 0.1 {EAST[0]}")
        code, _out, said = c.end()
        assert code == 0 and written(said) == 40, said
        names = sorted(n for n in os.listdir(folder) if n.startswith("t_"))
        rows = [packets(os.path.join(folder, name), "icmp.seq", "frame.time_epoch") for name in names]
        assert len(names) >= 3 and [int(r[0]) for of_file in rows for r in of_file] == list(range(1, 41)), rows
        # A file begins at least a second after the one before it, beside the time that a packet takes to turnpikectl.
        begins = [float(of_file[0][1]) for of_file in rows]
        assert all(later - earlier > 0.8 for earlier, later in zip(begins, begins[1:])), begins


@tap.limit(180)
def test_slow_dead_and_killed_readers_and_full_disks_harm_nothing():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, east = cabled(lab)
        path = os.path.join(folder, "control.sock")
        running = start(lab, dut, control={"socket": path})
        ping(west, EAST[0])
        operator = Operator(path)
        steady = west.start(f"ping -n -i 0.02 -c 700 -W 1 {EAST[0]}", stdout=subprocess.PIPE, text=True)

        def captures():
            return operator.show("captures")["captures"]

        # A reader that takes nothing: rings fill, and packets of the capture are lost, none of the traffic.
        read, write = os.pipe()
        stuck = Capture(path, "any", stdout=write)
        os.close(write)
        flood = subprocess.Popen(west.command("ping -n -f -s 1400 -c 20000 -w 8 " + EAST[0]), stdout=subprocess.DEVNULL)
        flood.wait(30)
        assert captures()[-1]["lost"] > 0, captures()
        # It is closed: the capture ends.
        os.close(read)
        code, _out, said = stuck.end()
        assert code == 0 and "the reader has gone" in said and lost(said) > 0, (code, said)
        # A killed client.
        file = os.path.join(folder, "killed.pcapng")
        killed = Capture(path, "west", "-w", file)
        time.sleep(0.5)
        killed.end(signal.SIGKILL)
        wait_until(lambda: not [c for c in captures() if not c["done"]], "the capture ends with its client")
        wait_until(lambda: packets(file, "frame.number"), "its file is whole")
        # A full disk.
        disk = os.path.join(folder, "disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True)
        try:
            for file, *rotation in (("full.pcapng",), ("full_00001.pcapng", "--rotate-size", "1M")):
                file = os.path.join(disk, file)
                full = Capture(path, "any", "-w", os.path.join(disk, "full.pcapng"), *rotation)
                west.run(f"ping -n -f -s 1400 -c 200 {EAST[0]}")
                _out, complaint = full.process.communicate(timeout=30)
                assert full.process.returncode == 1 and b"No space left on device" in complaint, complaint
                assert packets(file, "frame.number"), "whole blocks before the end"
                os.unlink(file)
        finally:
            subprocess.run(["umount", disk], check=True)
        # As many as there may be; one more is refused.
        some = [Capture(path, "west", "-w", os.path.join(folder, f"{n}.pcapng")) for n in range(4)]
        code, _out, said = Capture(path, "west", "-w", os.path.join(folder, "5.pcapng")).end()
        assert code == 1 and "EBUSY" in said, said
        for one in some:
            assert one.end()[0] == 0
        out, _ = steady.communicate(timeout=60)
        assert " 0% packet loss" in out, out
        # A capture that runs at the end is written whole.
        last = Capture(path, "west", "-w", file := os.path.join(folder, "last.pcapng"))
        ping(west, EAST[0])
        running.stop()
        last.process.communicate(timeout=30)
        assert len(packets(file, "icmp.seq", of="icmp")) >= 2


def test_refusals():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        _west, dut, _east = cabled(lab)
        path, file = os.path.join(folder, "control.sock"), os.path.join(folder, "f.pcapng")
        running = start(lab, dut, control={"socket": path})

        def refusal(*words):
            done = subprocess.run([CTL, "--socket", path, "capture", *words, "-w", file], capture_output=True, text=True, check=False, timeout=30)
            assert done.returncode in (1, 2), (words, done)
            return done.stderr

        assert "port: names 'north', which is not a port; any: all ports (ENOENT)" in refusal("north")
        assert "--filter: 'tcp and' is no pcap-filter(7): " in refusal("west", "--filter", "tcp and")
        assert "--filter: 'wlan host 1' is no pcap-filter(7): " in refusal("west", "--filter", "wlan host 1")
        assert "]: jumps backward, as protochain" in refusal("west", "--filter", "ip6 protochain 17")
        assert "reason: names 'bad_luck', which is not a drop reason" in refusal("west", "--reason", "bad_luck")
        assert "direction: should be in, out or both" in refusal("west", "--direction", "up")
        assert "vlan: should be a whole number from 1 to 4094" in refusal("west", "--vlan", "4095")
        assert "snaplen: should be a whole number from 16 to 65535" in refusal("west", "--snaplen", "15")
        assert "--files: requires --rotate-size or --rotate-time" in refusal("west", "--files", "3")
        assert "--rotate-size: should be bytes" in refusal("west", "--rotate-size", "many")
        # Descriptors: none, one for reading only, a folder, and more than one.
        operator = Operator(path)
        assert "needs a descriptor" in operator.error("capture", port="west")["what"]
        line = json.dumps({"request": "capture", "port": "west"}).encode() + b"\n"
        for bad, why in ((os.open("/dev/null", os.O_RDONLY), "not open for writing"), (os.open(folder, os.O_RDONLY), "not open for writing")):
            socket.send_fds(operator.socket, [line], [bad])
            assert why in operator.receive()["error"]["what"]
            os.close(bad)
        held = len(os.listdir(f"/proc/{running.process.pid}/fd"))
        for _ in range(50):
            sink = os.open("/dev/null", os.O_WRONLY)
            socket.send_fds(operator.socket, [b'{"request": "help"}\n'], [sink] * 4)
            operator.receive()
            os.close(sink)
        assert len(os.listdir(f"/proc/{running.process.pid}/fd")) == held, "descriptors that nothing uses are closed"
        assert operator.error("capture", end=77)["code"] == "ENOENT"
        running.stop()


def test_wireshark_extcap():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path, home = os.path.join(folder, "control.sock"), os.path.join(folder, "home")
        plugins = os.path.join(home, ".config/wireshark/extcap")  # WIRESHARK_EXTCAP_DIR would hide the system's
        os.makedirs(plugins)
        shutil.copy(EXTCAP, plugins)
        running = start(lab, dut, control={"socket": path})
        ping(west, EAST[0])
        environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": os.path.join(home, ".config"), "WIRESHARK_EXTCAP_DIR": plugins,
                       "TURNPIKECTL": CTL, "TURNPIKE_SOCKET": path}

        def tshark(*words, **more):
            return subprocess.run(["tshark", *words], env=environment, capture_output=True, text=True, timeout=60, check=False, **more)

        listed = tshark("-D").stdout
        for name in ("turnpike-west (turnpike port west)", "turnpike-east (turnpike port east)", "turnpike.drops (turnpike dropped packets)"):
            assert name in listed, listed
        steady = west.start(f"ping -n -i 0.1 -c 300 {EAST[0]}", stdout=subprocess.DEVNULL)
        seen = tshark("-n", "-i", "turnpike-west", "-f", "icmp", "-c", "6")
        assert seen.stdout.count("Echo (ping)") == 6, (seen.stdout, seen.stderr)
        dropped = west.start("ping -n -i 0.1 -c 300 10.99.0.1", stdout=subprocess.DEVNULL)
        seen = tshark("-n", "-i", "turnpike.drops", "-c", "3", "-T", "fields", "-e", "frame.comment")
        assert seen.stdout.count("dropped: no_route") == 3, (seen.stdout, seen.stderr)
        for process in (steady, dropped):
            process.terminate()
            process.wait(10)
        operator = Operator(path)
        wait_until(lambda: not [c for c in operator.show("captures")["captures"] if not c["done"]], "the captures end")
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
