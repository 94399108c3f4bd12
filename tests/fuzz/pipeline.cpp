// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> frames in mbuf chains -> a whole router: worker, control and neighbours, between two
// net_ring ports whose other ends are here.
//
//   ( | flags | frame's length 2 | first segment | others | frame ... | )*
//   flags   1 the port, 2 segments are heap blocks of exactly their size, 4 time passes afterwards,
//           8 MAC address and checksums are made right first: the fuzzer cannot
//
// Invariants after each input: every packet has one fate, every mbuf is back, and each sent packet
// is sound: a received packet with its hop limit decremented, or an originated message.

#include "exact_segment.hpp"
#include "lib/path_lab.hpp"
#include "packet/arp.hpp"
#include "packet/checksum.hpp"
#include "packet/icmp.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"
#include "start_eal.hpp"

namespace turnpike {
namespace {

using test::byte_vector;

constexpr uint16_t ports = 2;
constexpr mac_address macs[ports] = {{{2, 0, 0, 0, 0, 0x0b}}, {{2, 0, 0, 0, 0, 0x0c}}};
constexpr mac_address hosts[ports] = {{{2, 0, 0, 0, 0, 0x0a}}, {{2, 0, 0, 0, 0, 0x0d}}};

/// The fixtures' network: 10.0.1.1 and 2001:db8:1::1 talk to 10.0.2.2 and 2001:db8:2::2.
constexpr const char* configuration = R"(
acl:
  - name: in
    default: permit
    rules:
      - {action: count, fragments: true}
      - {action: count, protocol: tcp, tcp_flags: +syn -ack}
      - {action: deny, protocol: udp, destination_ports: 7}
      - {action: deny, protocol: icmpv6, icmp_type: 133}
  - {name: out, rules: [{action: deny, dscp: 9}, {action: permit}]}
ports:
  - {name: west, device: net_ring0, addresses: [10.0.1.254/24, "2001:db8:1::fe/64"], acl: {in: in},
     send_redirects: true, extra_macs: ["00:00:5e:00:01:07"]}
  - {name: east, device: net_ring1, mtu: 1400, addresses: [10.0.2.254/24, "2001:db8:2::fe/64"],
     acl: {in: in, out: out}, urpf: loose}
routes:
  - {to: 10.8.0.0/16, via: 10.0.1.2}
  - {to: "2001:db8:8::/48", via: "fe80::2", port: west}
  - {to: 10.9.0.0/16, via: 10.0.2.2}
  - {to: "2001:db8:9::/48", via: "fe80::2", port: east}
  - {to: 192.0.2.0/24, type: blackhole}
  - {to: "2001:db8:c::/48", type: unreachable}
icmp: {rate: 1000000}
neighbours: {max_entries: 64, queue_len: 4}
)";

class lab : public test::path_lab {
  public:
    lab() : path_lab(configuration) { worker().start(); }

    void run(const uint8_t* data, size_t size) {
        came_.clear();
        links(true);
        send_gratuitous_arp_and_na();
        while (size > 5) {
            const uint8_t flags = data[0];
            const size_t bytes = std::min<size_t>(load_be<uint16_t>(data + 1), size - 5);
            byte_vector frame(data + 5, data + 5 + bytes);
            if (flags & 8) repair(flags & 1, frame);
            if (rte_mbuf* m = chain(frame, data[3], data[4], (flags & 2) != 0))
                offer(flags & 1, m, frame);
            if (flags & 4) now_ms_ += 500;
            settle();
            data += 5 + bytes;
            size -= 5 + bytes;
        }
        // Until no neighbour entry waits for a reply any more.
        for (int i = 0; i < 5; ++i) {
            now_ms_ += 1000;
            settle();
        }
        links(false);
        settle();
        check_balance();
    }

  private:
    /// Both hosts have sent a request to the router, which learns their entries from it.
    void send_gratuitous_arp_and_na() {
        for (uint16_t i = 0; i < ports; ++i) {
            const auto third = static_cast<uint32_t>(i + 1);
            const uint32_t net = 0x0a000000 | third << 8;
            byte_vector frame(packet::arp_frame_bytes);
            packet::write_arp_request(frame, {hosts[i], net | third}, net | 254);
            offer(i, chain(frame, 255, 255, false), frame);
            ipv6_address host{{0x20, 1, 0x0d, 0xb8, 0, static_cast<uint8_t>(third), 0, 0, 0, 0, 0,
                               0, 0, 0, 0, static_cast<uint8_t>(third)}};
            ipv6_address us = host;
            us.bytes[15] = 0xfe;
            frame.resize(packet::nd_frame_bytes);
            frame.resize(packet::write_neighbour_solicitation(frame, {hosts[i], host}, us));
            offer(i, chain(frame, 255, 255, false), frame);
        }
        settle();
    }

    static void repair(uint16_t port, byte_vector& frame) {
        if (frame.size() < sizeof(packet::ethernet_header)) return;
        packet::header_at<packet::ethernet_header>(frame.data()).destination = macs[port];
        packet::parsed p;
        if (packet::parse(frame, static_cast<uint32_t>(frame.size()), p) !=
                packet::parse_status::done ||
            p.l3_drop != packet::drop_reason::none || p.l3 == packet::l3_kind::arp)
            return;
        const std::span l3 = std::span(frame).subspan(p.l2_bytes, p.l3_bytes);
        const std::span upper = l3.subspan(p.upper_offset - p.l2_bytes);
        const bool icmp = p.is(packet::flag_icmp);
        if (icmp) store_be<uint16_t>(&upper[2], 0);
        if (p.is_ipv4()) {
            store_be<uint16_t>(&l3[10], 0);
            store_be(&l3[10], packet::checksum(l3.first(p.ipv4_header_bytes)));
            if (icmp) store_be(&upper[2], packet::checksum(upper));
        } else if (icmp) {
            const auto& ip = packet::header_at<packet::ipv6_header>(l3.data());
            const uint16_t sum = packet::icmp6_sum(ip.source, ip.destination, upper);
            store_be(&upper[2], static_cast<uint16_t>(~sum));
        }
    }

    /// A frame in a segment of `first` bytes and further ones of `others` bytes (0: as long as
    /// fits).
    rte_mbuf* chain(std::span<const uint8_t> frame, uint8_t first, uint8_t others, bool exact) {
        rte_mbuf *head = nullptr, *tail = nullptr;
        size_t at = 0;
        do {
            const uint8_t wish = head == nullptr ? first : others;
            size_t bytes = std::min<size_t>(frame.size() - at, wish == 0 ? 2048 : wish);
            rte_mbuf* m = test::segment_of(controller().pool(), frame.subspan(at, bytes), exact);
            if (m == nullptr) {
                rte_pktmbuf_free(head);
                return nullptr;
            }
            at += bytes;
            if (head == nullptr) {
                head = tail = m;
                continue;
            }
            tail->next = m;
            tail = m;
            ++head->nb_segs;
            head->pkt_len += static_cast<uint32_t>(bytes);
        } while (at < frame.size() && head->nb_segs < 200);
        return head;
    }

    void offer(uint16_t port, rte_mbuf* m, std::span<const uint8_t> frame) {
        REQUIRE(m != nullptr && rte_ring_enqueue(ends_[port].rx[0], m) == 0);
        came_.emplace_back(frame.begin(), frame.begin() + m->pkt_len);
    }

    /// Worker and control in turns until neither has anything to do.
    void settle() {
        for (int round = 0; round < 4; ++round) {
            worker().poll();
            control();
        }
        worker().poll();
        worker().poll();
        for (uint16_t i = 0; i < ports; ++i)
            while (rte_mbuf* m = next_sent(i)) {
                check_sent(i, m);
                rte_pktmbuf_free(m);
            }
    }

    void check_sent(uint16_t port, const rte_mbuf* m) {
        REQUIRE(rte_mbuf_check(m, 1, nullptr) == 0);
        const byte_vector frame = bytes_of(m);
        REQUIRE(frame.size() >= sizeof(packet::ethernet_header));
        const auto& ethernet = packet::header_at<packet::ethernet_header>(frame.data());
        REQUIRE(ethernet.source == macs[port]);
        const std::span<const uint8_t> l3 = std::span(frame).subspan(sizeof ethernet);
        REQUIRE(l3.size() <= snapshot().interfaces[snapshot().port[port].untagged].mtu);
        switch (uint16_t{ethernet.type}) {
            case packet::ether_type_arp:
                REQUIRE(frame.size() == packet::arp_frame_bytes);
                break;
            case packet::ether_type_ipv4:
                check_ipv4(frame, l3);
                break;
            case packet::ether_type_ipv6:
                check_ipv6(port, frame, l3);
                break;
            default:
                REQUIRE(ethernet.type == packet::ether_type_arp);  // we send no other
        }
    }

    void check_ipv4(const byte_vector& frame, std::span<const uint8_t> l3) {
        REQUIRE(l3.size() >= sizeof(packet::ipv4_header));
        const auto& ip = packet::header_at<packet::ipv4_header>(l3.data());
        REQUIRE(ip.total_bytes == l3.size() && ip.header_bytes() <= l3.size());
        REQUIRE(packet::fold(packet::sum_bytes(l3.first(ip.header_bytes()))) == 0xffff);
        REQUIRE(ip.ttl > 0);
        const uint32_t source = ip.source, destination = ip.destination;
        REQUIRE(packet::check_ipv4_addresses(source, destination) == packet::drop_reason::none);
        REQUIRE((destination & 0xffffff00) != 0x0a000100 ||
                ((destination & 0xff) != 0 && (destination & 0xff) != 0xff));
        REQUIRE((destination & 0xffffff00) != 0x0a000200 ||
                ((destination & 0xff) != 0 && (destination & 0xff) != 0xff));
        REQUIRE(!packet::header_at<packet::ethernet_header>(frame.data()).destination.is_group());
        const bool ours = source == 0x0a0001fe || source == 0x0a0002fe;
        REQUIRE(came_in(l3, 8, 10) || (ours && ip.protocol == packet::protocol_icmp));
    }

    void check_ipv6(uint16_t port, const byte_vector& frame, std::span<const uint8_t> l3) {
        REQUIRE(l3.size() >= sizeof(packet::ipv6_header));
        const auto& ip = packet::header_at<packet::ipv6_header>(l3.data());
        REQUIRE(sizeof ip + ip.payload_bytes == l3.size() && ip.hop_limit > 0);
        bool ours = false;
        for (const auto& i : snapshot().interfaces)
            if (i.addresses != nullptr)
                ours = ours || std::find(i.addresses->v6.begin(), i.addresses->v6.end(),
                                         ip.source) != i.addresses->v6.end();
        if (came_in(l3, 7, 0)) {
            REQUIRE(!packet::is_ipv6_martian(ip.source) &&
                    !packet::is_ipv6_martian(ip.destination) && ip.source != ip.destination);
            REQUIRE(
                !packet::header_at<packet::ethernet_header>(frame.data()).destination.is_group());
            return;
        }
        // Duplicate address detection sends from the unspecified address (RFC 4862 section 5.4.2),
        // and so do reports of groups until an address is valid (RFC 3810 section 5.2.13), behind a
        // router alert.
        if (ip.source == packet::ipv6_unspecified) {
            constexpr size_t alert_bytes = 8;
            constexpr uint8_t mld1_report = 131, mld2_report = 143;
            const uint8_t report = ip.next_header == 0 ? l3[sizeof ip + alert_bytes] : uint8_t{0};
            REQUIRE((ip.next_header == packet::protocol_icmpv6 &&
                     l3[sizeof ip] == packet::icmp6_neighbour_solicitation) ||
                    report == mld1_report || report == mld2_report);
            return;
        }
        REQUIRE(ours && !packet::is_multicast(ip.source));
        const auto& on = snapshot().interfaces[snapshot().port[port].untagged];
        REQUIRE(packet::is_link_local(ip.source) ? ip.source == on.addresses->v6.front() : true);
    }

    /// Was this one of the packets that came, but for one hop (and its checksum)?
    bool came_in(std::span<const uint8_t> l3, size_t nexthops_at, size_t checksum_at) const {
        return std::any_of(came_.begin(), came_.end(), [&](const byte_vector& frame) {
            if (frame.size() < 14 + l3.size()) return false;
            for (size_t i = 0; i < l3.size(); ++i) {
                const uint8_t before = frame[14 + i];
                if (i == nexthops_at
                        ? l3[i] + 1 != before
                        : l3[i] != before &&
                              (checksum_at == 0 || (i != checksum_at && i != checksum_at + 1)))
                    return false;
            }
            return true;
        });
    }

    std::vector<byte_vector> came_;  ///< in this input
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
