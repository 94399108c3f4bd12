#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records the kernel's rtnetlink messages: for each command a line "> COMMAND", and a line of hexadecimal bytes
for each datagram that it caused. Run in a separate network namespace (devtools/alone):

    devtools/alone tests/unit/netlink/record.py > tests/unit/netlink/recorded.txt
"""
import socket
import struct
import subprocess
import time

RTM_GETROUTE, NLM_F_REQUEST, NLM_F_DUMP = 26, 1, 0x300
# link, neighbour, IPv4 address, route, rule, IPv6 address, route, rule, next hop
GROUPS = (1, 3, 5, 7, 8, 9, 11, 19, 32)
COMMANDS = [
    "ip link add west type veth peer name far",
    "ip link set west address 02:00:00:00:00:0b mtu 1400 up",
    "ip link set far up",
    "ip addr add 10.0.1.1/24 dev west",
    "ip addr add 10.0.9.1 peer 10.0.9.2/32 dev west",
    "ip addr add 2001:db8:1::1/64 dev west nodad",
    "ip neigh add 10.0.1.2 lladdr 02:00:00:00:00:0d dev west nud reachable",
    "ip neigh del 10.0.1.2 dev west",
    "ip neigh add 10.0.1.5 lladdr 02:00:00:00:00:0e dev west nud permanent",
    "ip neigh add 10.0.1.6 lladdr 02:00:00:00:00:0e dev west nud permanent extern_learn",
    "ip neigh del 10.0.1.5 dev west",
    "ip route add 10.5.0.0/16 via 10.0.1.2 dev west proto bgp metric 20",
    "ip route replace 10.5.0.0/16 via 10.0.1.3 dev west proto bgp metric 20",
    "ip route append 10.5.0.0/16 via 10.0.1.4 dev west proto bgp metric 20",
    "ip route del 10.5.0.0/16 via 10.0.1.3",
    "ip route add blackhole 192.0.2.0/24 proto static",
    "ip route add unreachable 2001:db8:dead::/48",
    "ip route add prohibit 198.51.100.0/24",
    "ip route add 10.6.0.0/16 via inet6 fe80::1 dev west proto bgp",
    "ip route add 10.7.0.0/16 proto ospf nexthop via 10.0.1.2 weight 1 nexthop via 10.0.1.3 weight 5",
    "ip -6 route add 2001:db8:7::/48 proto ospf nexthop via 2001:db8:1::2 nexthop via 2001:db8:1::3",
    "ip route add default via 10.0.1.2 table 1000",
    "ip nexthop add id 7 via 10.0.1.2 dev west proto zebra",
    "ip nexthop add id 8 via fe80::8 dev west proto zebra",
    "ip nexthop add id 9 blackhole",
    "ip nexthop add id 70 group 7,3/8,2 proto zebra",
    "ip route add 10.8.0.0/16 nhid 70 proto bgp metric 20",
    "ip nexthop del id 9",
    "ip rule add iif west to 10.9.0.0/16 table 1000 priority 77",
    "ip -6 rule add from 2001:db8:9::/48 table 1000 priority 78",
    "ip route del 10.8.0.0/16",
    "ip addr del 10.0.1.1/24 dev west",
    "ip link set far down",
    "ip link del west",
]


def heard(s):
    out = []
    try:
        while True:
            out.append(s.recv(65536))
    except BlockingIOError:
        return out


def main():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    s.bind((0, 0))
    s.setblocking(False)
    for group in GROUPS:
        s.setsockopt(270, 1, group)  # SOL_NETLINK, NETLINK_ADD_MEMBERSHIP
    for command in COMMANDS:
        subprocess.run(command.split(), check=True)
        time.sleep(0.05)
        print(">", command)
        for datagram in heard(s):
            print(datagram.hex())
        if command.startswith("ip route add 10.8"):
            print("> dump")
            s.send(struct.pack("=IHHII", 28, RTM_GETROUTE, NLM_F_REQUEST | NLM_F_DUMP, 99, 0) + bytes(12))
            for datagram in heard(s):
                print(datagram.hex())


main()
