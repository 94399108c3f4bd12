// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> first segment and rest -> parse -> every function that takes a parse result.
//
//   | 2 first segment's length | 2 room for output | frame ... |
//
// Every buffer is a heap block of exactly its size, so that ASan sees any byte too many.
#include <memory>

#include "lib/require.hpp"
#include "packet/arp.hpp"
#include "packet/checksum.hpp"
#include "packet/icmp.hpp"
#include "packet/ipv6.hpp"
#include "packet/nd.hpp"
#include "packet/rewrite.hpp"

namespace turnpike::packet {
namespace {

constexpr mac_address our_mac{{2, 0, 0, 0, 0, 1}};
constexpr uint32_t our_ip = 0x0a0000fe;
constexpr ipv6_address our_ip6{{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe}};

struct block {
    explicit block(size_t n) : memory(new uint8_t[n]()), bytes(memory.get(), n) {}
    explicit block(std::span<const uint8_t> from) : block(from.size()) {
        std::copy(from.begin(), from.end(), bytes.begin());
    }
    std::unique_ptr<uint8_t[]> memory;
    std::span<uint8_t> bytes;
};

parsed parse_whole(std::span<const uint8_t> frame) {
    const block copy(frame);
    parsed p;
    REQUIRE(parse(copy.bytes, static_cast<uint32_t>(frame.size()), p) == parse_status::done);
    return p;
}

/// Parses as the datapath does: the first segment, then at most one linearization.
parsed parse_split(std::span<const uint8_t> frame, size_t first_bytes) {
    const auto bytes = static_cast<uint32_t>(frame.size());
    const block first(frame.first(first_bytes));
    parsed p;
    if (parse(first.bytes, bytes, p) == parse_status::done) return p;
    REQUIRE(first_bytes < enough_bytes(bytes));
    const block gathered(frame.first(enough_bytes(bytes)));
    REQUIRE(parse(gathered.bytes, bytes, p) == parse_status::done);
    return p;
}

void check_bounds(const parsed& p, size_t frame_bytes) {
    REQUIRE((p.l2_drop == drop_reason::none) == (frame_bytes >= sizeof(ethernet_header)));
    REQUIRE(p.l2_drop == drop_reason::none || p.l3_drop == p.l2_drop);
    REQUIRE(p.l2_bytes <= frame_bytes && p.vlan_tags <= max_vlan_tags);
    if (p.l3_drop != drop_reason::none) return;
    REQUIRE(p.l2_bytes == sizeof(ethernet_header) + 4u * p.vlan_tags);
    REQUIRE(p.l2_bytes + p.l3_bytes + p.padding_bytes == frame_bytes);
    if (p.l3 == l3_kind::arp) return;
    REQUIRE(p.upper_offset <= p.l2_bytes + p.l3_bytes);
    const uint32_t left = p.l2_bytes + p.l3_bytes - p.upper_offset;
    const uint32_t needs = p.is(flag_tcp) ? 20 : p.is(flag_ports) || p.is(flag_icmp) ? 8 : 0;
    REQUIRE(left >= needs && p.upper_offset + needs <= (needs ? max_header_bytes : ~0u));
    REQUIRE(!p.is_later_fragment() || needs == 0);
    REQUIRE(p.destination_offset() < p.upper_offset);
}

void report_errors(std::span<const uint8_t> frame, const parsed& p, size_t room) {
    const block packet(room);
    const icmp_error error{p.is_ipv4() ? uint8_t{icmp4_time_exceeded} : uint8_t{icmp6_too_big}, 0};
    const uint32_t n = p.is_ipv4() ? write_icmp4_error(packet.bytes, frame, p, error, our_ip)
                                   : write_icmp6_error(packet.bytes, frame, p, error, our_ip6);
    REQUIRE(n <= room);
    if (n == 0) return;
    REQUIRE(may_report(frame, p, error));
    // Originated ICMP errors are well-formed, and no ICMP error may be sent about them.
    block sent(sizeof(ethernet_header) + n);
    write_ethernet(header_at<ethernet_header>(sent.bytes.data()), our_mac, our_mac,
                   p.is_ipv4() ? ether_type_ipv4 : ether_type_ipv6);
    std::copy_n(packet.bytes.begin(), n, sent.bytes.begin() + sizeof(ethernet_header));
    const parsed q = parse_whole(sent.bytes);
    REQUIRE(q.l3_drop == drop_reason::none && q.padding_bytes == 0);
    REQUIRE(check_icmp(sent.bytes, q) == drop_reason::none);
    REQUIRE(!may_report(sent.bytes, q, error));
}

/// Let the fuzzer past the checksum: it finds out soon enough what a wrong one does.
void repair_icmp6_checksum(std::span<uint8_t> frame, const parsed& p) {
    if (p.l3 != l3_kind::ipv6 || !p.is(flag_icmp)) return;
    const auto& header = header_at<ipv6_header>(&frame[p.l2_bytes]);
    const auto message = frame.subspan(p.upper_offset, p.l2_bytes + p.l3_bytes - p.upper_offset);
    store_be<uint16_t>(&message[2], 0);
    const uint16_t sum = icmp6_sum(header.source, header.destination, message);
    store_be(&message[2], static_cast<uint16_t>(~sum));
}

void solve_neighbours(const block& frame, const parsed& p, size_t room) {
    const block out(room);
    if (p.l3 == l3_kind::arp && p.l3_drop == drop_reason::none) {
        const auto& message = header_at<arp_message>(&frame.bytes[p.l2_bytes]);
        if (check_arp(message, {&our_ip, 1}) != drop_reason::none) return;
        REQUIRE(!message.sender_mac.is_group());
        const arp_host asker{message.sender_mac, message.sender_ip};
        const uint32_t n = write_arp_reply(out.bytes, {our_mac, our_ip}, asker);
        REQUIRE(n == (room < arp_frame_bytes ? 0 : arp_frame_bytes));
    }
    const mac_address* link = nullptr;
    if (check_nd(frame.bytes, p, link) != drop_reason::none) return;
    REQUIRE(link == nullptr ||
            (link->bytes >= frame.bytes.data() && !link->is_group() &&
             link->bytes + sizeof *link <= frame.bytes.data() + frame.bytes.size()));
    const nd_host asker{link ? *link : our_mac,
                        header_at<ipv6_header>(&frame.bytes[p.l2_bytes]).source};
    const uint32_t n = write_neighbour_advertisement(out.bytes, {our_mac, our_ip6}, asker,
                                                     nd_flag_solicited | nd_flag_override);
    if (n == 0) return;
    const parsed q = parse_whole(out.bytes.first(n));
    REQUIRE(check_nd(out.bytes.first(n), q, link) == drop_reason::none && link != nullptr);
}

void answer_echo(const block& frame, const parsed& p) {
    const bool sound = check_icmp(frame.bytes, p) == drop_reason::none;
    if (!write_echo_reply(frame.bytes, p)) return;
    const parsed q = parse_whole(frame.bytes);
    REQUIRE(q.l3_drop == drop_reason::none && q.l3_bytes == p.l3_bytes);
    REQUIRE((check_icmp(frame.bytes, q) == drop_reason::none) == sound);
}

void forward(const block& frame, const parsed& p) {
    uint8_t* header = &frame.bytes[p.l2_bytes];
    if (p.l3 == l3_kind::ipv6) {
        const uint8_t limit = header_at<ipv6_header>(header).hop_limit;
        const bool forwarded =
            decrement_hop_limit(header_at<ipv6_header>(header)) == drop_reason::none;
        REQUIRE(forwarded == (limit > 1));
        return;
    }
    const std::span<const uint8_t> whole(header, p.ipv4_header_bytes);
    const uint16_t before = fold(sum_bytes(whole));
    const uint8_t ttl = header_at<ipv4_header>(header).ttl;
    REQUIRE((decrement_ttl(header_at<ipv4_header>(header)) == drop_reason::none) == (ttl > 1));
    REQUIRE((fold(sum_bytes(whole)) == 0xffff) == (before == 0xffff));
}

void run(std::span<const uint8_t> frame, size_t first_bytes, size_t room) {
    const parsed p = parse_whole(frame);
    REQUIRE(parse_split(frame, first_bytes) == p);
    check_bounds(p, frame.size());
    const block whole(frame);
    if (p.l3_drop == drop_reason::none && p.l3 != l3_kind::arp) {
        report_errors(whole.bytes, p, room);
        forward(block(frame), p);
        answer_echo(block(frame), p);
        repair_icmp6_checksum(whole.bytes, p);
    }
    solve_neighbours(whole, p, room);
}

}  // namespace
}  // namespace turnpike::packet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 4) return 0;
    const std::span frame(data + 4, size - 4);
    const size_t first_bytes = turnpike::load_be<uint16_t>(data) % (frame.size() + 1);
    const size_t room = turnpike::load_be<uint16_t>(data + 2) % 2048;
    turnpike::packet::run(frame, first_bytes, room);
    return 0;
}
