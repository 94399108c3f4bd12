# SPDX-License-Identifier: BSD-3-Clause
"""The process at the other side of a forwarder's vhost-user or memif ports. It is testpmd on the control CPU, which passes the
frames of simulated NICs to these ports, and the forwarder's frames back to the NICs, which count and verify them."""
import os

import workloads
from process import START_S, Forwarder, find_program, wait_until

# Waits for room in a ring: frames are lost only by the forwarder. All frames that the guest has in a ring fit the other way's.
COMMANDS = "set fwd io retry\nset burst tx delay 1 retry 1000\n"
RING = 1024


def device_of(case, folder, port):
    """The guest's side of the forwarder's port."""
    path = workloads.socket_of(case, folder, port)
    if case.workload.guest == "vhost":
        return f"net_virtio_user{port},path={path},server=1,queue_size={RING},mac={workloads.MACS[port]}"
    return f"net_memif{port},role=client,socket={path},socket-abstract=no,rsize={RING.bit_length() - 1},zero-copy=yes"


class Guest(Forwarder):
    def __init__(self, bench, case, rate_pps):
        nics = workloads.generators_of(case, bench.folder, rate_pps)
        super().__init__(bench.machine, bench.folder, "guest", 2 * len(nics))
        self.sockets = [workloads.socket_of(case, bench.folder, port) for port in range(len(nics))]
        self.commands = os.path.join(bench.folder, f"{self.prefix}.commands")
        with open(self.commands, "w", encoding="utf-8") as file:
            file.write(COMMANDS)
        pairs = [device for port, nic in enumerate(nics) for device in (nic, device_of(case, bench.folder, port))]
        cpu = bench.machine.control_cpu
        eal = bench.machine.eal(self.prefix, pairs, workloads.USUAL_POOL, f"0@{cpu},1@{cpu}")
        self.command = [find_program("dpdk-testpmd", "dpdk"), *eal, "--single-file-segments", "--",
                        f"--cmdline-file={self.commands}", "--total-num-mbufs=32768", f"--txd={RING}", f"--rxd={RING}",
                        "--no-mlockall", "--no-flush-rx"]

    def run(self):
        self.start(self.command)

    def counts(self):
        """The counters of the NICs, without their work: it is not on the forwarder's CPU."""
        nics = super().counts()[::2]
        return [{key: value for key, value in nic.items() if not key.startswith("pcie_")} | {"engine_cycles": 0} for nic in nics]

    def stop(self):
        """It does not run on while its rings go away."""
        for process in self.processes:
            process.kill()
        super().stop()
        for path in (self.commands, *self.sockets):
            if os.path.exists(path):
                os.unlink(path)


def start(bench, case, forwarder, rate_pps):
    """A memif client connects once: its server must listen by then. vhost-user sockets are the guest's."""
    guest = Guest(bench, case, rate_pps)
    if case.workload.guest == "memif":
        wait_until(lambda: forwarder.check_alive() or all(map(os.path.exists, guest.sockets)), "the memif sockets", START_S)
    guest.run()
    return guest
