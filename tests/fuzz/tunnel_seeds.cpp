// SPDX-License-Identifier: BSD-3-Clause
// fuzz-tunnel-seeds FOLDER: stations behind tunnels that say who they are, and questions for them and for others, as
// inputs of fuzz-tunnel, one file each.
#include <cstdio>
#include <fstream>

#include "lib/packet_bytes.hpp"
#include "packet/headers.hpp"

namespace turnpike::test {
namespace {

const byte_vector everybody(6, 0xff), here{2, 0, 0, 1, 0, 1}, there{2, 0, 0, 1, 0, 2};
constexpr uint32_t here4 = 0x0a010001, there4 = 0x0a010002;
const byte_vector here6{0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    there6{0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
    asks_for_there{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2},
    group_of_there{0x33, 0x33, 0xff, 0, 0, 2};
enum flags : uint8_t { over_ipv6 = 1, exact = 2, summed = 4, from_lan = 16 };

byte_vector step(uint8_t flags, const byte_vector& bytes, uint8_t first = 0) {
    return byte_vector{flags} + be(static_cast<uint16_t>(bytes.size())) + byte_vector{first, 0} +
           bytes;
}
byte_vector in_tunnel(uint8_t flags, uint32_t vni, const byte_vector& frame, uint8_t first = 0) {
    const auto bytes = static_cast<uint16_t>(16 + frame.size());
    return step(flags,
                be(uint16_t{50000}) + be(packet::vxlan_port) + be(bytes) + be(uint16_t{0}) +
                    be(uint32_t{0x0800'0000}) + be(vni << 8) + frame,
                first);
}
byte_vector in_vlan(uint16_t vlan, byte_vector frame) {
    const byte_vector behind = be(uint16_t{0x8100}) + be(vlan);
    frame.insert(frame.begin() + 12, behind.begin(), behind.end());
    return frame;
}
byte_vector says(uint16_t operation, const byte_vector& who, uint32_t ip, uint32_t whom,
                 const byte_vector& to = everybody) {
    return ethernet(
        0x0806,
        arp({.operation = operation, .sender_mac = who, .sender_ip = ip, .target_ip = whom}), to,
        who);
}
byte_vector nd(uint8_t type, const byte_vector& from, const byte_vector& from6,
               const byte_vector& to, const byte_vector& to6, const byte_vector& target) {
    const byte_vector link = byte_vector{static_cast<uint8_t>(type == 135 ? 1 : 2), 1} + from;
    const byte_vector rest = be(type == 136 ? 0x6000'0000U : 0U) + target + link;
    return ethernet(0x86dd,
                    ipv6({.next_header = 58, .hop_limit = 255, .source = from6, .destination = to6},
                         icmp6(type, 0, rest, from6, to6)),
                    to, from);
}

std::vector<byte_vector> inputs() {
    const byte_vector hello = says(1, there, there4, there4),
                      question = says(1, here, here4, there4);
    const byte_vector hello6 = nd(136, there, there6, here, here6, there6),
                      question6 = nd(135, here, here6, group_of_there, asks_for_there, there6),
                      probe6 =
                          nd(135, here, byte_vector(16), group_of_there, asks_for_there, there6);
    const byte_vector asks = step(from_lan, in_vlan(4, question)),
                      asks6 = step(from_lan, in_vlan(6, question6));
    return {
        asks + in_tunnel(summed, 100, hello) + asks + asks,
        in_tunnel(summed | exact, 100, hello, 60) +
            step(from_lan | exact, in_vlan(4, question), 30) +
            step(from_lan | exact, in_vlan(4, question)),
        in_tunnel(summed, 100, says(2, there, there4, here4, here)) + asks,
        asks6 + in_tunnel(over_ipv6 | summed, 100, hello6) + asks6,
        in_tunnel(over_ipv6 | summed | exact, 100, hello6, 80) +
            step(from_lan | exact, in_vlan(6, question6), 50) +
            step(from_lan | exact, in_vlan(6, question6)),
        // A station of a trunk in a tunnel; in another VLAN it has no entry.
        in_tunnel(summed, 200, in_vlan(9, hello)) + step(from_lan, in_vlan(9, question)) + asks,
        // An ARP request that is not suppressed; and one from a tunnel, for a host behind the port.
        in_tunnel(summed, 100, hello) + step(from_lan, in_vlan(4, says(1, here, 0, there4))) +
            step(from_lan, in_vlan(4, says(1, here, here4, here4))) +
            in_tunnel(summed, 100, says(1, there, there4, here4)),
        in_tunnel(over_ipv6 | summed, 100, hello6) + step(from_lan, in_vlan(6, probe6)),
        // The station is learnt behind the port, to which it then has moved.
        in_tunnel(summed, 100, hello) + step(from_lan, in_vlan(4, hello)) + asks,
    };
}

}  // namespace
}  // namespace turnpike::test

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "fuzz-tunnel-seeds: name a folder\n"), 1;
    int number = 0;
    for (const auto& input : turnpike::test::inputs()) {
        std::ofstream file(std::string(argv[1]) + "/questions-" + std::to_string(number++),
                           std::ios::binary);
        file.write(reinterpret_cast<const char*>(input.data()),
                   static_cast<std::streamsize>(input.size()));
        if (!file) return std::perror(argv[1]), 1;
    }
    return 0;
}
