# SPDX-License-Identifier: BSD-3-Clause
"""A guest under QEMU's software emulation: its cables, its shell, and QEMU's own monitor."""
import array
import base64
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import termios
import time

KERNEL_LINE = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr norandmaps no_timer_check"
FORWARDER = " isolcpus=1 nohz_full=1 rcu_nocbs=1 hugepages=160 intel_iommu=on iommu=pt"
BOOT_S = 90


class Cable:
    """The cable at a NIC of the guest: frames in, frames out (QEMU's netdev "stream": a length in four bytes before
    each)."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.socket = None
        self.unread = b""

    def accept(self, seconds):
        self.listener.settimeout(seconds)
        self.socket, _ = self.listener.accept()

    def send(self, frames):
        """Returns when QEMU has read them all."""
        self.socket.settimeout(10)
        self.socket.sendall(b"".join(struct.pack("!I", len(frame)) + frame for frame in frames))
        deadline = time.monotonic() + 10
        while self._unread_by_qemu():
            assert time.monotonic() < deadline, "QEMU does not read frames that are sent to the NIC"
            time.sleep(0.001)

    def _unread_by_qemu(self):
        count = array.array("i", [0])
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, count)
        return count[0]

    def receive(self, count, seconds=20):
        """So many frames, in order; fewer where they do not come."""
        deadline = time.monotonic() + seconds
        frames = []
        while len(frames) < count:
            frame = self._next_frame()
            if frame is not None:
                frames.append(frame)
                continue
            if not select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
                break
            self.unread += self.socket.recv(1 << 20)
        return frames

    def _next_frame(self):
        if len(self.unread) < 4:
            return None
        length = struct.unpack_from("!I", self.unread)[0]
        if len(self.unread) < 4 + length:
            return None
        frame, self.unread = self.unread[4:4 + length], self.unread[4 + length:]
        return frame

    def close(self):
        for each in (self.socket, self.listener):
            if each is not None:
                each.close()


class Monitor:
    """QEMU's monitor (QMP)."""

    def __init__(self, connection):
        self.socket = connection
        self.lines = connection.makefile("rb")
        assert "QMP" in json.loads(self.lines.readline())
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self.lines.readline())
            assert "error" not in answer, (command, answer)
            if "return" in answer:
                return answer["return"]

    def trace(self, events, on):
        for event in events:
            self.ask("trace-event-set-state", name=event, enable=on)


class Shell:
    """The shell that the guest's init is."""

    def __init__(self, connection):
        self.socket = connection
        self.buffer = b""

    def line(self, seconds):
        deadline = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise AssertionError(f"the guest said nothing for {seconds} s; so far: {self.buffer[-300:]!r}")
            got = self.socket.recv(1 << 16)
            assert got, "QEMU ended"
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def wait_for(self, text, seconds):
        said = []
        while text not in (line := self.line(seconds)):
            said.append(line)
        return said, line

    def try_run(self, command, seconds=30):
        """(exit code, output)"""
        self.socket.sendall(command.encode() + b"\n")
        said, end = self.wait_for("@done ", seconds)
        head, code = end.rsplit("@done ", 1)
        return int(code), "\n".join(said + ([head] if head else []))

    def run(self, command, seconds=30):
        code, output = self.try_run(command, seconds)
        assert code == 0, f"'{command}' in the guest: exit code {code}: {output}"
        return output

    def write(self, path, text):
        packed = base64.b64encode(text.encode()).decode()
        self.run(f"echo {packed} | base64 -d >{path}")


class Machine:
    """A guest with `devices` (QEMU's NIC arguments, one cable each), booted. Gone when the block is left.
    wires        pairs of further NICs, which are connected with each other
    kernel_line  added to the kernel's command line; more: to QEMU's"""

    def __init__(self, work, kernel, initramfs, devices=(), plugin=None, more=(), cpus=2, memory_mb=768, kernel_line=FORWARDER,
                 wires=()):
        self.work = work
        self.trace_log = os.path.join(work, "trace")
        self.cables = [Cable(os.path.join(work, f"nic{n}")) for n in range(len(devices))]
        ends = {name: self._listen(name) for name in ("monitor", "shell")}
        command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-no-user-config",
                   "-display", "none", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
                   "-smp", str(cpus), "-m", str(memory_mb), "-no-reboot",
                   "-kernel", str(kernel), "-initrd", str(initramfs), "-append", KERNEL_LINE + kernel_line,
                   "-serial", f"file:{work}/console", "-chardev", f"socket,id=shell,path={work}/shell",
                   "-serial", "chardev:shell", "-qmp", f"unix:{work}/monitor", "-D", self.trace_log, *more]
        backends = [f"stream,server=off,addr.type=unix,addr.path={work}/nic{n}" for n in range(len(devices))]
        backends += [f"hubport,hubid={n}" for n in range(len(wires)) for _ in range(2)]
        for n, (device, backend) in enumerate(zip([*devices, *(end for wire in wires for end in wire)], backends)):
            command += ["-device", f"pcie-root-port,id=slot{n},chassis={n + 1},slot={n + 1}", "-netdev", f"{backend},id=nic{n}",
                        "-device", f"{device},bus=slot{n},netdev=nic{n}"]
        if plugin:
            command += ["-plugin", plugin]
        with open(os.path.join(work, "qemu"), "wb") as said:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            self.monitor = Monitor(self._accept(ends["monitor"]))
            self.shell = Shell(self._accept(ends["shell"]))
            for cable in self.cables:
                cable.accept(10)
            self.shell.wait_for("@ready", BOOT_S)
        except BaseException as error:
            time.sleep(0.1)  # for its end
            said = f"QEMU's exit code: {self.process.poll()}; {self.said()}"
            self.close()
            raise AssertionError(f"the guest did not boot: {error}\n{said}") from error

    def _listen(self, name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.work, name))
        listener.listen(1)
        return listener

    def _accept(self, listener):
        listener.settimeout(20)
        connection, _ = listener.accept()
        listener.close()
        connection.settimeout(BOOT_S)
        return connection

    def said(self):
        """QEMU's own words and the end of the guest's console."""
        out = []
        for name in ("qemu", "console"):
            path = os.path.join(self.work, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    out.append(f"{name}: {file.read()[-3000:]}")
        return "\n".join(out)

    def close(self):
        self.process.kill()
        self.process.wait()
        for cable in self.cables:
            cable.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
