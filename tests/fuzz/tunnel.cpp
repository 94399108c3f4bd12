// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> packets in tunnels, in mbuf chains -> a bridge with tunnels over IPv4 and IPv6.
//
//   ( | flags | length 2 | first segment | traffic class | bytes ... | )*
//   flags   1 over IPv6, 2 segments are heap blocks of exactly their size, 4 the UDP checksum is made right,
//           8 IPv4 options, or an IPv6 extension, 16 the bytes are a frame for the bridge, which goes into tunnels,
//           32 to the tunnels' group, 64 a question who is in it: IGMP, or MLD; 128 control's clock goes on by a second
//   bytes   UDP's header, whose port is made VXLAN's, and all behind it; or the question
//
// Invariants after each input: every packet has one fate, every mbuf is back, packets sent by the
// underlay are sound packets of a tunnel, and frames sent by the bridge are frames decapsulated
// from a tunnel, or control's reply to a request of this input, on behalf of a station that
// announced the address before (neigh_suppress); such a request goes into no tunnel.

#include "exact_segment.hpp"
#include "lib/path_lab.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "start_eal.hpp"

namespace turnpike {
namespace {

using test::byte_vector;

const byte_vector us{2, 0, 0, 0, 0, 0x0c}, them{2, 0, 0, 0, 9, 2};
const byte_vector us6{0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    them6{0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
constexpr uint32_t us4 = 0x0a000901, them4 = 0x0a000902, group4 = 0xef01'0203;
const byte_vector group6{0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34},
    near6{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
const byte_vector group4_mac{1, 0, 0x5e, 1, 2, 3}, group6_mac{0x33, 0x33, 0, 0, 0x12, 0x34};
enum port : uint16_t { lan, up };

constexpr const char* configuration = R"(
ports:
  - {name: lan, device: net_ring0}
  - {name: up, device: net_ring1, mtu: 1600, addresses: [10.0.9.1/24, "2001:db8:9::1/64"]}
tunnels:
  - {name: t4, vni: 100, local: 10.0.9.1, remote: 10.0.9.2, mtu: 1500, dscp: inherit}
  - {name: t6, vni: 100, local: "2001:db8:9::1", remote: "2001:db8:9::2", mtu: 1500}
  - {name: g4, vni: 100, local: 10.0.9.1, remote: 239.1.2.3, interface: up, mtu: 1500}
  - {name: g6, vni: 100, local: "2001:db8:9::1", remote: "ff05::1234", interface: up, mtu: 1500}
  - {name: v4, vni: 200, local: 10.0.9.1, remote: 10.0.9.2, mtu: 1500, ignore_reserved: true, checksum: true}
bridges:
  - {name: one, members: [{port: lan, mode: trunk}, {port: t4, mode: access, vlan: 4, neigh_suppress: true},
                          {port: t6, mode: access, vlan: 6, neigh_suppress: true},
                          {port: g4, mode: access, vlan: 4, neigh_suppress: true},
                          {port: g6, mode: access, vlan: 6, neigh_suppress: true},
                          {port: v4, mode: trunk, neigh_suppress: true}]}
neighbours:
  static: [{address: 10.0.9.2, mac: "02:00:00:00:09:02"}, {address: "2001:db8:9::2", mac: "02:00:00:00:09:02"},
           {address: "fe80::9", port: up, mac: "02:00:00:00:09:02"}]
)";

class lab : public test::path_lab {
  public:
    lab() : path_lab(configuration) {
        worker().start();
        links(true);
        settle_all();
    }

    void run(const uint8_t* data, size_t size) {
        while (size > 5) {
            const uint8_t flags = data[0];
            const size_t bytes = std::min<size_t>({load_be<uint16_t>(data + 1), size - 5, 1700});
            const byte_vector given(data + 5, data + 5 + bytes);
            const bool into = (flags & 16) != 0;
            const byte_vector frame = into ? given : outer(flags, data[4], given);
            from_lan_ = into;
            given_.push_back(given);
            offer_packet(into ? lan : up, chain(frame, data[3], (flags & 2) != 0));
            if ((flags & 128) != 0) control(1000);
            settle_all();
            data += 5 + bytes;
            size -= 5 + bytes;
        }
        // Stations move every time: they are forgotten, and so are their addresses, so that every input begins alike.
        controller().bridges().forget({});
        control::neigh_binding_table& heard = *controller().bridges().addresses();
        heard.tick(look_ms_ += 20'000, *controller().bridges().table());
        heard.table().for_each([](const auto&, uint64_t) { REQUIRE(false); });
        given_.clear();
        check_balance();
    }

  private:
    static byte_vector outer(uint8_t flags, uint8_t traffic_class, byte_vector inner) {
        using namespace test;
        const bool v6 = (flags & 1) != 0, to_group = (flags & 32) != 0, asks = (flags & 64) != 0;
        const byte_vector& to6 = to_group || asks ? group6 : us6;
        const uint32_t to4 = to_group || asks ? group4 : us4;
        const byte_vector& mac = !to_group && !asks ? us : v6 ? group6_mac : group4_mac;
        const byte_vector& from6 = asks ? near6 : them6;
        if (!asks && inner.size() >= 4) store_be(&inner[2], packet::vxlan_port);
        if ((flags & 4) != 0 && inner.size() >= 8) {
            const size_t field = asks ? 2 : 6;
            const uint8_t protocol = asks ? 58 : 17;
            if (!asks) store_be(&inner[4], static_cast<uint16_t>(inner.size()));
            store_be(&inner[field], uint16_t{0});
            uint32_t sum = protocol + static_cast<uint32_t>(inner.size());
            if (v6)
                sum = packet::sum_bytes(from6, packet::sum_bytes(to6, sum));
            else
                sum = asks ? 0 : packet::sum_bytes(be(them4), packet::sum_bytes(be(to4), sum));
            store_be(&inner[field],
                     static_cast<uint16_t>(~packet::fold(packet::sum_bytes(inner, sum))));
        }
        const bool more = (flags & 8) != 0;
        if (v6) {
            const uint8_t protocol = asks ? 58 : 17;
            const bool alert = asks && !more;
            byte_vector out = ethernet(0x86dd,
                                       ipv6({.next_header = alert           ? uint8_t{0}
                                                            : !asks && more ? uint8_t{60}
                                                                            : protocol,
                                             .hop_limit = asks ? uint8_t{1} : uint8_t{64},
                                             .source = from6,
                                             .destination = to6},
                                            alert           ? mld_router_alert + inner
                                            : !asks && more ? extension(protocol, 0, inner)
                                                            : inner),
                                       mac, them);
            out[15] = static_cast<uint8_t>(out[15] | (traffic_class & 3) << 4);
            return out;
        }
        const byte_vector alert{0x94, 4, 0, 0}, options(4, 1);
        byte_vector out = ethernet(0x0800,
                                   ipv4({.protocol = asks ? uint8_t{2} : uint8_t{17},
                                         .source = them4,
                                         .destination = to4,
                                         .options = !more  ? byte_vector{}
                                                    : asks ? alert
                                                           : options},
                                        inner),
                                   mac, them);
        out[15] = traffic_class;
        auto& ip = packet::header_at<packet::ipv4_header>(&out[14]);
        ip.checksum = 0;
        ip.checksum = packet::checksum({&out[14], ip.header_bytes()});
        return out;
    }

    /// In segments of `first` bytes and the rest.
    rte_mbuf* chain(const byte_vector& frame, uint8_t first, bool exact) {
        const size_t cut = first == 0 ? frame.size() : std::min<size_t>(first, frame.size());
        rte_mbuf* const head = segment({frame.data(), cut}, exact);
        if (cut < frame.size())
            REQUIRE(rte_pktmbuf_chain(head, segment(std::span(frame).subspan(cut), exact)) == 0);
        return head;
    }
    rte_mbuf* segment(std::span<const uint8_t> bytes, bool exact) {
        rte_mbuf* const m = test::segment_of(controller().pool(), bytes, exact);
        REQUIRE(m != nullptr);
        return m;
    }

    void settle_all() {
        settle();
        uint32_t answers = 0, tunnelled = 0;
        for (const uint16_t p : {lan, up})
            while (rte_mbuf* const m = next_sent(p)) {
                REQUIRE(rte_mbuf_check(m, 1, nullptr) == 0);
                const byte_vector frame = bytes_of(m);
                rte_pktmbuf_free(m);
                if (p == up) {
                    tunnelled += is_tunnelled(frame);
                } else if (from_lan_) {
                    check_answer(frame);
                    ++answers;
                } else {
                    REQUIRE(frame.size() >= 14 && frame.size() <= given_.back().size() + 4);
                }
            }
        REQUIRE(answers + std::min(tunnelled, 1U) <= 1);
    }

    static bool has(std::span<const uint8_t> in, std::span<const uint8_t> what) {
        return std::search(in.begin(), in.end(), what.begin(), what.end()) != in.end();
    }
    /// The reply's MAC and IP address are from a packet of this input, and its target and
    /// destination from the last one, the request.
    void check_answer(const byte_vector& frame) const {
        constexpr size_t l2 = 18;  // lan sends with tags
        const byte_vector& asked = given_.back();
        REQUIRE(frame.size() > l2 && load_be<uint16_t>(&frame[12]) == 0x8100);
        REQUIRE((load_be<uint16_t>(&frame[14]) & 0xfff) == (load_be<uint16_t>(&asked[14]) & 0xfff));
        const std::span<const uint8_t> bytes = frame, l3 = bytes.subspan(l2);
        std::span<const uint8_t> mac, address;
        if (load_be<uint16_t>(&frame[16]) == 0x0806) {
            REQUIRE(l3.size() == sizeof(packet::arp_message) && load_be<uint16_t>(&l3[6]) == 2);
            mac = l3.subspan(8, 6);
            address = l3.subspan(14, 4);
            REQUIRE(has(asked, l3.subspan(24, 4)) && has(bytes.first(6), l3.subspan(18, 6)));
        } else {
            constexpr size_t target = sizeof(packet::ipv6_header) + 8;
            REQUIRE(load_be<uint16_t>(&frame[16]) == 0x86dd && l3.size() == target + 24);
            REQUIRE(l3[6] == packet::protocol_icmpv6 && l3[7] == 255 && l3[40] == 136);
            const uint32_t sum =
                packet::sum_bytes(l3.subspan(8, 32), packet::protocol_icmpv6 + 32U);
            REQUIRE(packet::fold(packet::sum_bytes(l3.subspan(40), sum)) == 0xffff);
            address = l3.subspan(target, 16);
            mac = l3.subspan(target + 18, 6);
            REQUIRE(has(l3.subspan(8, 16), address) && has(asked, l3.subspan(24, 16)));
        }
        REQUIRE(has(asked, address) && has(asked, bytes.first(6)));
        REQUIRE(std::any_of(given_.begin(), given_.end() - 1, [&](const byte_vector& given_frame) {
            return has(given_frame, address) && has(given_frame, mac);
        }));
    }
    /// Other than ARP, neighbour discovery, ICMP and originated group membership reports.
    static bool is_tunnelled(const byte_vector& frame) {
        REQUIRE(frame.size() >= 14);
        const auto type = load_be<uint16_t>(&frame[12]);
        const std::span<const uint8_t> l3 = std::span(frame).subspan(14);
        const bool v4 = type == 0x0800;
        if (type == 0x0806 || l3[v4 ? 9 : 6] != 17) return false;
        const size_t header = v4 ? 20 : 40;
        const byte_vector to(frame.begin(), frame.begin() + 6);
        REQUIRE(l3.size() >= header + 16 + 14);
        REQUIRE(to == them || to == (v4 ? group4_mac : group6_mac));
        const std::span<const uint8_t> udp = l3.subspan(header);
        REQUIRE(load_be<uint16_t>(&udp[2]) == packet::vxlan_port);
        REQUIRE(load_be<uint16_t>(&udp[4]) == udp.size() && (udp[8] == 8));
        if (v4) {
            REQUIRE(load_be<uint16_t>(&l3[2]) == l3.size() && l3[9] == 17);
            REQUIRE(packet::checksum(l3.first(20)) == 0);
        } else {
            REQUIRE(load_be<uint16_t>(&l3[4]) == udp.size());
        }
        if (load_be<uint16_t>(&udp[6]) == 0) return true;
        const std::span<const uint8_t> addresses = v4 ? l3.subspan(12, 8) : l3.subspan(8, 32);
        const uint32_t sum = packet::sum_bytes(addresses, 17 + static_cast<uint32_t>(udp.size()));
        REQUIRE(packet::fold(packet::sum_bytes(udp, sum)) == 0xffff);
        return true;
    }

    std::vector<byte_vector>
        given_;              ///< of this input: frames of the bridge, and inner packets behind IP
    bool from_lan_ = false;  ///< the last of them
    uint64_t look_ms_ = 1ULL << 40;  ///< later than the lab's clock: each look is the next one
};

lab* the_lab = nullptr;  // for as long as the process

}  // namespace
}  // namespace turnpike

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    turnpike::test::start_eal();
    turnpike::the_lab = new turnpike::lab;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    turnpike::the_lab->run(data, size);
    return 0;
}
