# SPDX-License-Identifier: BSD-3-Clause
"""A guest whose virtio NIC is a vhost-user port of turnpike on the host."""
import json
import pathlib
import shutil
import time

import image
from machine import Machine

MEMORY_MB = 192
IPERF_S = 60


class VhostGuest:
    """Guest `number` of net `number`: 10.0.N.2 and 2001:db8:N::2, default routes to .1 and ::1.
    socket  of the vhost-user port; listens: QEMU listens there and turnpike connects, otherwise the reverse"""

    def __init__(self, work, initramfs, number, socket, listens):
        self.work, self.initramfs, self.number = pathlib.Path(work), initramfs, number
        self.socket, self.listens = socket, listens
        self.address, self.address6 = f"10.0.{number}.2", f"2001:db8:{number}::2"
        self.boots = 0
        self.machine = None

    def boot(self):
        self.boots += 1
        folder = self.work / f"guest{self.number}-{self.boots}"
        folder.mkdir()
        role = "server=on,wait=on" if self.listens else "reconnect=1"
        self.machine = Machine(
            str(folder), image.PARTS / "vmlinuz", self.initramfs, cpus=1, memory_mb=MEMORY_MB, kernel_line="",
            # The backend maps the guest's memory: it must be shared.
            more=["-object", f"memory-backend-memfd,id=ram,size={MEMORY_MB}M,share=on", "-numa", "node,memdev=ram",
                  "-chardev", f"socket,id=port,path={self.socket},{role}", "-netdev", "vhost-user,id=nic,chardev=port",
                  # Without MSI-X (vectors=0): there QEMU 7.2 needs KVM's irqfd (kvm_virtio_pci_irqfd_use) and would end by SIGSEGV.
                  "-device", f"virtio-net-pci,netdev=nic,vectors=0,disable-legacy=on,romfile=,mac=02:00:00:00:00:{self.number:02x}"])
        self.run("for f in default all; do echo 0 >/proc/sys/net/ipv6/conf/$f/accept_dad; done")
        self.run(f"ip link set lo up; ip link set eth0 up && ip address add {self.address}/24 dev eth0 && "
                 f"ip address add {self.address6}/64 dev eth0 && ip route add default via 10.0.{self.number}.1 && "
                 f"ip -6 route add default via 2001:db8:{self.number}::1")

    def run(self, command, seconds=30):
        return self.machine.shell.run(command, seconds)

    def answers(self, address):
        """Whether `address` answers an echo request within a second."""
        return self.machine.shell.try_run(f"ping -c 1 -W 1 {address} >/dev/null 2>&1")[0] == 0

    def serve_iperf(self):
        self.run("iperf3 -s -D")
        self.run("for n in $(seq 100); do netstat -ltn | grep -q :5201 && break; usleep 50000; done; netstat -ltn | grep -q :5201")

    def iperf(self, address, options):
        """iperf3's result."""
        self.start_iperf(address, options)
        return self.iperf_result()

    def start_iperf(self, address, options):
        self.run(f"(iperf3 -J -c {address} {options} >/tmp/iperf.json 2>/tmp/iperf.error; echo $? >/tmp/iperf.code) &")

    def iperf_result(self):
        """The result of start_iperf(), when it has ended."""
        deadline = time.monotonic() + IPERF_S
        while self.machine.shell.try_run("[ -s /tmp/iperf.code ]")[0] != 0:
            assert time.monotonic() < deadline, f"iperf3 did not end within {IPERF_S} s"
            time.sleep(0.2)
        said = self.run("cat /tmp/iperf.json /tmp/iperf.error; echo \"@code $(cat /tmp/iperf.code)\"; rm /tmp/iperf.*")
        result, code = said.rsplit("@code ", 1)
        assert code.strip() == "0", f"iperf3 ended with {code}: {result[-2000:]}"
        return json.loads(result)["end"]

    def kill(self):
        """As a host does that loses its power: the peer learns of it by its socket only."""
        if self.machine:
            self.machine.close()
            self.machine = None


def initramfs(work):
    """With iperf3 and the drivers of virtio NICs."""
    return image.build(pathlib.Path(work), [shutil.which("iperf3")], modules=image.VIRTIO_MODULES, drivers=False)
