// SPDX-License-Identifier: BSD-3-Clause
// The datapath's own work on recorded bursts, for an instruction counter: path-budget SIMD_BITS
// [--cycles]
// The real worker between two rings, round by round, each with the same 32 packets, path after
// path. The counted function is measured_round; behind each path the program makes the counter dump
// its counts, and prints the path and its number of packets. With --cycles it takes huge pages,
// runs many more rounds and prints TSC cycles a packet: of the tenth fastest of a hundred rounds,
// and the median.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <sys/types.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "isa/fastest.hpp"
#include "lib/path_lab.hpp"
#include "packet/checksum.hpp"
#include "pmu/user_counter.hpp"

/// In the place of libc's: tables draw the same secrets each time, and keys lie where they lay.
extern "C" ssize_t getrandom(void* to, size_t bytes, unsigned) {
    auto* const out = static_cast<uint8_t*>(to);
    for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(i * 151 + 89);
    return static_cast<ssize_t>(bytes);
}

namespace turnpike {
namespace {

using namespace test;

constexpr uint32_t burst = 32;

struct amount {
    uint32_t warm_rounds, rounds;
    bool timed;
};
constexpr amount counted_rounds{16, 64, false}, timed_rounds{2'000, 30'000, true};

struct workload {
    std::string configuration;
    std::function<byte_vector(uint32_t)> frame;  ///< the i-th of a burst, for port 0
    bool counters = false;                       ///< the worker reads its instructions, as it can
    bool device_sums = false;                    ///< UDP checksums are the device's
    bool mirrored = false;                       ///< a third port gets copies
};

/// The kernel's page and the CPU's counter as a worker reads them (control/management/machine_counters.cpp), on a
/// page with the contents of the kernel's: all of it but RDPMC, which neither valgrind nor every
/// machine has.
class page_counter : public counters::own_counter {
  public:
    page_counter() noexcept {
        page_.index = 1;
        page_.pmc_width = 48;
    }
    [[nodiscard]] std::optional<uint64_t> read() const noexcept override {
        return pmu::read_page(page_, [](uint32_t) {
            uint64_t count = 0;
            asm volatile("" : "+r"(count));
            return count;
        });
    }

  private:
    perf_event_mmap_page page_{};
};

std::string ports(const std::string& west = "", const std::string& east = "") {
    return "ports:\n  - {name: west, device: d0" + west + "}\n  - {name: east, device: d1" + east +
           "}\n";
}

enum class nexthops { own, one, shared };

/// Eight networks, of which bursts use all, by a neighbour each, all by one, or by up to eight each.
std::string routing(const std::string& west = "", nexthops by = nexthops::own) {
    std::string routes, neighbours, all;
    for (int i = 0; i < 8; ++i) {
        const std::string n = std::to_string(i),
                          nexthop = std::to_string(by == nexthops::one ? 2 : i + 2);
        all += (i == 0 ? "10.0.2." : ", 10.0.2.") + nexthop;
        routes +=
            "  - {to: 198.18." + n +
            ".0/24, via: " + (by == nexthops::shared ? "[" + all + "]" : "10.0.2." + nexthop) +
            "}\n  - {to: \"2001:2:0:" + n + "::/64\", via: \"2001:db8:2::" + nexthop + "\"}\n";
        if (by == nexthops::one && i != 0) continue;
        for (const std::string& a : {"10.0.2." + nexthop, "\"2001:db8:2::" + nexthop + "\""})
            neighbours += "    - {address: " + a + ", mac: \"02:00:00:00:01:0" + n + "\"}\n";
    }
    return ports(", addresses: [10.0.1.1/24, \"2001:db8:1::fe/64\"]" + west,
                 ", addresses: [10.0.2.1/24, \"2001:db8:2::fe/64\"]") +
           "routes:\n" + routes + "neighbours:\n  static:\n" + neighbours;
}

byte_vector v4_frame(uint32_t i) {
    return ethernet(0x0800,
                    ipv4({.source = 0x0a000102 + i, .destination = 0xc612'0000 + (i % 8) * 256 + i},
                         udp(counted(18))));
}

byte_vector v6_frame(uint32_t i) {
    const auto to =
        parse_address("2001:2:0:" + std::to_string(i % 8) + "::" + std::to_string(i + 1));
    return ethernet(0x86dd,
                    ipv6({.destination = {to->bytes.begin(), to->bytes.end()}}, udp(counted(8))));
}

/// A hundred rules that look at everything, and one that lets pass: classified by bit vectors.
std::string list() {
    std::string out = "acl:\n  - name: edge\n    rules:\n";
    for (int i = 0; i < 100; ++i)
        out += "      - {action: deny, protocol: tcp, source: 10.1." + std::to_string(i) +
               ".0/24, destination_ports: " + std::to_string(1000 + i) + "}\n";
    return out + "      - {action: permit}\n";
}

/// From 32 stations that are learnt to as many that an operator placed.
std::string bridged(const std::string& member, bool vlan, const std::string& west = "") {
    std::string out = ports(west) + "bridges:\n  - name: lan\n    members: [{port: west" + member +
                      "}, {port: east" + member + "}]\n    fdb:\n";
    for (uint32_t i = 0; i < burst; ++i) {
        char mac[18];
        std::snprintf(mac, sizeof mac, "06:00:01:00:00:%02x", i);
        out += std::string("      - {mac: \"") + mac + "\", port: east" +
               (vlan ? ", vlan: 10}\n" : "}\n");
    }
    return out;
}

/// Rules of frames, too many for bit vectors: stations by one or both of their addresses, and vendors; none is met.
std::string l2_list() {
    std::string out = "acl:\n  - name: frames\n    layer: 2\n    default: permit\n    rules:\n";
    for (unsigned i = 0; i < 2100; ++i) {
        char rule[128];
        const unsigned n = i * 40503 & 0xffff;
        const char* const form =
            i % 10 == 0  ? "source_mac: \"0a:%02x:%02x:00:00:00/ff:ff:ff:00:00:00\""
            : i % 3 == 0 ? "source_mac: \"06:00:00:01:%02x:%02x\", ethertype: ipv4"
            : i % 3 == 1 ? "destination_mac: \"06:00:01:01:%02x:%02x\", vlan: untagged"
                         : "source_mac: \"06:00:00:02:%02x:%02x\", destination_mac: "
                           "\"06:00:01:02:00:01\"";
        std::snprintf(rule, sizeof rule, form, n >> 8, n & 0xff);
        out += std::string("      - {action: deny, ") + rule + "}\n";
    }
    return out;
}

byte_vector l2_frame(uint32_t i) {
    const auto last = static_cast<uint8_t>(i);
    return ethernet(0x88b5, counted(46), {6, 0, 1, 0, 0, last}, {6, 0, 0, 0, 0, last});
}
byte_vector tagged_frame(uint32_t i) {
    const auto last = static_cast<uint8_t>(i);
    return ethernet(0x8100, tag(10, 0x88b5, counted(46)), {6, 0, 1, 0, 0, last},
                    {6, 0, 0, 0, 0, last});
}

/// A bridge and four endpoints behind `underlay`, the other port its member; stations that an operator placed, behind the
/// port or by turns behind the endpoints.
std::string vxlan_bridge(bool out_of, const std::string& more = "", const std::string& of_up = "") {
    const std::string address = ", addresses: [10.0.9.1/24]" + of_up;
    std::string out = out_of ? ports(address) : ports("", address);
    std::string neighbours = "neighbours:\n  static:\n", tunnels = "tunnels:\n", members, fdb;
    for (uint32_t n = 0; n < 4; ++n) {
        const std::string one = std::to_string(n), remote = "10.0.9." + std::to_string(n + 2);
        neighbours += "    - {address: " + remote + ", mac: \"02:00:00:00:09:0" + one + "\"}\n";
        tunnels +=
            "  - {name: t" + one + ", vni: 100, local: 10.0.9.1, remote: " + remote + more + "}\n";
        members += ", {port: t" + one + "}";
    }
    for (uint32_t i = 0; i < burst; ++i) {
        char mac[18];
        std::snprintf(mac, sizeof mac, "06:00:01:00:00:%02x", i);
        fdb += std::string("      - {mac: \"") + mac +
               "\", port: " + (out_of ? "east" : "t" + std::to_string(i % 4)) + "}\n";
    }
    return out + neighbours + tunnels +
           "bridges:\n  - name: lan\n    members: [{port: " + (out_of ? "east" : "west") + "}" +
           members + "]\n    fdb:\n" + fdb;
}

/// Eight networks, and tunnels that end on the port that their packets come from.
std::string routed_underlay() {
    return routing() + "tunnels:\n  - {name: t0, vni: 100, local: 10.0.1.1, remote: 10.0.2.3}\n" +
           "bridges:\n  - {name: lan, members: [{port: t0}]}\n";
}

byte_vector frame_of_station(uint32_t i, size_t bytes) {
    const auto last = static_cast<uint8_t>(i);
    return ethernet(0x0800, ipv4({.source = 0x0a010002 + i}, udp(counted(bytes))),
                    {6, 0, 1, 0, 0, last}, {6, 0, 0, 0, 0, last});
}
byte_vector station_frame(uint32_t i) { return frame_of_station(i, 18); }
byte_vector long_frame(uint32_t i) { return frame_of_station(i, 1400); }

byte_vector in_vxlan(uint32_t i, const byte_vector& inner) {
    return ethernet(0x0800, ipv4({.source = 0x0a000902 + i % 4, .destination = 0x0a000901},
                                 be(static_cast<uint16_t>(50000 + i)) + be(uint16_t{4789}) +
                                     be(static_cast<uint16_t>(16 + inner.size())) +
                                     be(uint16_t{0}) + be(0x0800'0000U) + be(100U << 8) + inner));
}
byte_vector vxlan_frame(uint32_t i) { return in_vxlan(i, station_frame(i)); }
/// With a UDP checksum.
byte_vector summed_frame(uint32_t i) {
    byte_vector out = in_vxlan(i, long_frame(i));
    constexpr size_t udp = 34;
    const std::span<const uint8_t> bytes(out);
    const uint32_t sum =
        packet::sum_bytes(bytes.subspan(26, 8), 17 + static_cast<uint32_t>(out.size() - udp));
    store_be(&out[udp + 6],
             static_cast<uint16_t>(~packet::fold(packet::sum_bytes(bytes.subspan(udp), sum))));
    return out;
}
/// Eight VLANs of port west, or one, and as many of port east; a network behind each of the latter.
std::string routed_vlans(int vlans) {
    std::string interfaces = "interfaces:\n", routes = "routes:\n",
                neighbours = "neighbours:\n  static:\n";
    for (int i = 0; i < 8; ++i) {
        const std::string n = std::to_string(i), to = std::to_string(i % vlans);
        if (i < vlans) {
            interfaces += "  - {port: west, vlan: 10" + n + ", addresses: [10.1." + n +
                          ".1/24]}\n  - {port: east, vlan: 20" + n + ", addresses: [10.2." + n +
                          ".1/24]}\n";
            neighbours += "    - {address: 10.2." + n + ".2, mac: \"02:00:00:00:01:0" + n + "\"}\n";
        }
        routes += "  - {to: 198.18." + n + ".0/24, via: 10.2." + to + ".2}\n";
    }
    return ports() + interfaces + routes + neighbours;
}
byte_vector frame_of_vlan(uint32_t i, uint16_t id) {
    const byte_vector whole = v4_frame(i);
    byte_vector out(whole.begin(), whole.begin() + 12);
    for (const byte_vector& part : {be(uint16_t{0x8100}), be(id)})
        out.insert(out.end(), part.begin(), part.end());
    out.insert(out.end(), whole.begin() + 12, whole.end());
    return out;
}
byte_vector vlan_frame(uint32_t i) { return frame_of_vlan(i, 100); }
byte_vector stick_frame(uint32_t i) { return frame_of_vlan(i, static_cast<uint16_t>(100 + i % 8)); }

constexpr const char *sums = ", checksum: true", *by_device = ", udp_checksums: device";

const std::map<std::string, workload> workloads = {
    {"bridge", {bridged("", false), l2_frame}},
    {"bridge_l2", {bridged("", false, ", acl: {l2_in: frames}") + l2_list(), l2_frame}},
    {"trunk", {bridged(", mode: trunk", true), tagged_frame}},
    {"decap", {vxlan_bridge(true), vxlan_frame}},
    {"encap", {vxlan_bridge(false), station_frame}},
    {"decap_sums", {vxlan_bridge(true, sums), summed_frame}},
    {"decap_sums_device", {vxlan_bridge(true, sums, by_device), summed_frame, false, true}},
    {"encap_sums", {vxlan_bridge(false, sums), long_frame}},
    {"encap_sums_device", {vxlan_bridge(false, sums, by_device), long_frame, false, true}},
    {"patch", {ports() + "xconnects: [[west, east]]\n", v4_frame}},
    {"ipv4", {routing(), v4_frame}},
    {"ipv4_one_hop", {routing("", nexthops::one), v4_frame}},
    {"ipv4_underlay", {routed_underlay(), v4_frame}},
    {"ipv6", {routing(), v6_frame}},
    {"ipv6_one_hop", {routing("", nexthops::one), v6_frame}},
    {"mixed", {routing(), [](uint32_t i) { return i % 2 == 0 ? v4_frame(i) : v6_frame(i); }}},
    {"stranger", {routing(), [](uint32_t i) { return i == 9 ? v6_frame(i) : v4_frame(i); }}},
    {"vlan", {routed_vlans(1), vlan_frame}},
    {"vlans_by_turns", {routed_vlans(8), stick_frame}},
    {"urpf", {routing(", urpf: strict"), v4_frame}},
    {"ecmp", {routing("", nexthops::shared), v4_frame}},
    {"acl", {routing(", acl: {in: edge}") + list(), v4_frame}},
    {"patch_mirrored",
     {ports() + "  - {name: span, device: d2}\nxconnects: [[west, east]]\n"
                "mirrors: [{name: all, ports: [west], direction: in, to: span}]\n",
      v4_frame, false, false, true}},
    // Hardly ever is a measured packet drawn: the figure is the cost of all others.
    {"patch_sampled",
     {ports() + "xconnects: [[west, east]]\n"
                "sflow: {collectors: \"127.0.0.1:9\", sample: 16777216, counters_s: 0}\n",
      v4_frame}},
    {"patch_counters", {ports() + "xconnects: [[west, east]]\n", v4_frame, true}},
    {"ipv4_counters", {routing(), v4_frame, true}},
};

/// IPv6 with `headers` destination options headers of 8 bytes in front of UDP.
byte_vector chain(uint32_t i, uint32_t headers, const byte_vector& to_mac = mac_b,
                  const byte_vector& from_mac = mac_a) {
    constexpr uint8_t options = 60;
    byte_vector rest = udp(counted(18));
    for (uint32_t k = 0; k < headers; ++k)
        rest = extension(k == 0 ? uint8_t{packet::protocol_udp} : options, 0, rest);
    const auto to = parse_address("2001:2:0:" + std::to_string(i % 8) + "::1");
    return ethernet(
        0x86dd,
        ipv6({.next_header = options, .destination = {to->bytes.begin(), to->bytes.end()}}, rest),
        to_mac, from_mac);
}
byte_vector station_chain(uint32_t i) {
    const auto last = static_cast<uint8_t>(i);
    return chain(i, 181, {6, 0, 1, 0, 0, last}, {6, 0, 0, 0, 0, last});
}
byte_vector ipv4_options(uint32_t i) {
    return ethernet(0x0800, ipv4({.source = 0x0a000102 + i,
                                  .destination = 0xc612'0000 + (i % 8) * 256 + i,
                                  .options = byte_vector(40, 1)},
                                 udp(counted(18))));
}
byte_vector expired(uint32_t i) {
    return ethernet(0x0800, ipv4({.ttl = 1, .destination = 0xc612'0000 + (i % 8) * 256}, udp({})));
}
byte_vector long_packet(uint32_t i) {
    return ethernet(0x0800, ipv4({.destination = 0xc612'0000 + (i % 8) * 256}, udp(counted(1400))));
}
byte_vector many_tags(uint32_t i) {
    byte_vector out = v4_frame(i);
    for (uint16_t id = 1; id < 16; ++id) out = tagged(out, id);
    return out;
}

/// Packets that a sender made as dear as it can; each leaves by any door. Their budget is a multiple of ipv4's.
const std::map<std::string, workload> worst = {
    {"worst_runt", {routing(), [](uint32_t) { return byte_vector(1, 0xff); }}},
    {"worst_tags", {routing(), many_tags}},
    {"worst_options", {routing(), ipv4_options}},
    {"worst_chain", {routing(), [](uint32_t i) { return chain(i, 24); }}},
    {"worst_long_chain", {routing(), [](uint32_t i) { return chain(i, 181); }}},
    {"worst_chain_ecmp", {routing("", nexthops::shared), [](uint32_t i) { return chain(i, 24); }}},
    {"worst_chain_acl",
     {routing(", acl: {in: edge}") + list(), [](uint32_t i) { return chain(i, 24); }}},
    {"worst_chain_encap", {vxlan_bridge(false), station_chain}},
    {"worst_expired", {routing(), expired}},
    {"worst_fragments",
     {ports(", addresses: [10.0.1.1/24]", ", addresses: [10.0.2.1/24], mtu: 576") +
          "routes: [{to: 198.18.0.0/16, via: 10.0.2.2}]\n"
          "neighbours: {static: [{address: 10.0.2.2, mac: \"02:00:00:00:01:00\"}]}\n",
      long_packet}},
    {"worst_neighbour",
     {routing(),
      [](uint32_t i) {
          return ethernet(0x0806, arp({.target_ip = 0x0a000101 + i}), byte_vector(6, 0xff));
      }}},
};

[[gnu::noinline]] void measured_round(datapath::worker& w) { w.poll(); }

/// Restores the same packets: overwrites processed packets with their original frames.
void refill(path_lab& l, std::vector<rte_mbuf*>& packets, const std::vector<byte_vector>& frames,
            bool device_sums) {
    for (uint32_t i = 0; i < burst; ++i) {
        rte_pktmbuf_reset(packets[i]);
        char* to = rte_pktmbuf_append(packets[i], static_cast<uint16_t>(frames[i].size()));
        std::copy(frames[i].begin(), frames[i].end(), reinterpret_cast<uint8_t*>(to));
        if (device_sums) {
            packets[i]->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
            packets[i]->packet_type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP;
        }
        REQUIRE(l.offer_packet(0, packets[i]));
    }
}

void print_cycles(const std::string& name, std::vector<uint64_t>& of_rounds) {
    std::sort(of_rounds.begin(), of_rounds.end());
    const auto at = [&](size_t tenth) {
        return static_cast<double>(of_rounds[of_rounds.size() * tenth / 10]) / burst;
    };
    std::printf("%s: %.1f %.1f\n", name.c_str(), at(1), at(5));
}

void start(path_lab& l) {
    l.worker().start();
    l.links(true);
    for (int i = 0; i < 4; ++i) {
        l.worker().poll();
        l.control();
    }
    for (uint16_t p = 0; p < 2; ++p) l.sent(p);
}

void count(const std::string& name, const workload& what, const amount& much) {
    const page_counter counter;
    path_lab::devices_sum_udp = what.device_sums;
    path_lab l(what.configuration);
    if (what.counters) l.worker().count_instructions(&counter);
    start(l);
    std::vector<byte_vector> frames;
    std::vector<rte_mbuf*> packets;
    for (uint32_t i = 0; i < burst; ++i) {
        frames.push_back(what.frame(i));
        packets.push_back(l.packet_of(frames.back()));
    }
    std::vector<uint64_t> cycles;
    CALLGRIND_START_INSTRUMENTATION;  // setup is not counted, and runs faster without instrumentation
    CALLGRIND_ZERO_STATS;
    for (uint32_t round = 0; round < much.warm_rounds + much.rounds; ++round) {
        refill(l, packets, frames, what.device_sums);
        const uint64_t start = rte_rdtsc_precise();
        if (round < much.warm_rounds)
            l.worker().poll(), l.control();
        else
            measured_round(l.worker());
        if (round >= much.warm_rounds) cycles.push_back(rte_rdtsc_precise() - start);
        l.worker().poll();  // sends packets left from the last round
        for (uint32_t i = 0; i < burst; ++i) {
            REQUIRE((packets[i] = l.next_sent(1)) != nullptr);
            if (!what.mirrored) continue;
            rte_mbuf* const copy = l.next_sent(2);
            REQUIRE(copy != nullptr);
            rte_pktmbuf_free(copy);
        }
    }
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
    for (rte_mbuf* m : packets) rte_pktmbuf_free(m);
    l.worker().finish();
    if (much.timed) return print_cycles(name, cycles);
    std::printf("%s: %u packets\n", name.c_str(), much.rounds * burst);
}

/// Packets that may be dropped, punted, or sent in pieces.
void count_worst(const std::string& name, const workload& what) {
    path_lab l(what.configuration);
    start(l);
    std::vector<byte_vector> frames;
    for (uint32_t i = 0; i < burst; ++i) frames.push_back(what.frame(i));
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (uint32_t round = 0; round < counted_rounds.rounds; ++round) {
        for (const byte_vector& f : frames) REQUIRE(l.offer(0, f));
        measured_round(l.worker());
        l.control(10);
        l.worker().poll();
        for (uint16_t p = 0; p < 2; ++p) l.sent(p);
    }
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
    l.settle();
    l.check_balance();
    l.worker().finish();
    std::printf("%s: %u packets\n", name.c_str(), counted_rounds.rounds * burst);
}

}  // namespace
}  // namespace turnpike

int main(int argc, char** argv) {
    const bool timed = argc == 3 && std::string(argv[2]) == "--cycles";
    if (argc != 2 && !timed) {
        std::fprintf(stderr, "usage: path-budget SIMD_BITS [--cycles]\n");
        return 2;
    }
    std::string words[] = {"path-budget",
                           timed ? "--in-memory" : "--no-huge",
                           "--no-shconf",
                           "--no-pci",
                           "--no-telemetry",
                           "-m",
                           "64",
                           "--lcores=(0-1)@0",
                           "--log-level=4",
                           std::string("--force-max-simd-bitwidth=") + argv[1]};
    std::vector<char*> eal;
    for (std::string& word : words) eal.push_back(word.data());
    if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0) return 1;
    turnpike::isa::measures = false;
    for (const auto& [name, what] : turnpike::workloads)
        turnpike::count(name, what, timed ? turnpike::timed_rounds : turnpike::counted_rounds);
    if (timed) return 0;
    for (const auto& [name, what] : turnpike::worst) turnpike::count_worst(name, what);
}
