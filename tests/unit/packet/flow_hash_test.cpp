// SPDX-License-Identifier: BSD-3-Clause
// The definition of a flow: packets of one flow have one hash, by each choice of fields, whole or
// in fragments, alone or in tunnels; packets of different flows mostly have different hashes.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "lib/packet_bytes.hpp"
#include "packet/flow_hash.hpp"
#include "packet/headers.hpp"

namespace turnpike::packet {
namespace {

using namespace test;

uint32_t hash_of(const byte_vector& ip, const flow_hashing& how) {
    // The allocation ends with the packet, so that a sanitizer reports a read beyond it.
    const auto exact = std::make_unique<uint8_t[]>(ip.size());
    std::copy(ip.begin(), ip.end(), exact.get());
    return flow_hash(exact.get(), static_cast<uint32_t>(ip.size()), how);
}
uint32_t hash_of(const byte_vector& ip, flow_fields fields, uint64_t seed = 0) {
    return hash_of(ip, {.fields = fields, .seed = seed});
}

byte_vector ports(uint16_t source, uint16_t destination) {
    return be(source) + be(destination) + zeros(16);
}
byte_vector v4(uint32_t source, uint16_t source_port, const ipv4_fields& f = {}) {
    ipv4_fields of = f;
    of.source = source;
    return ipv4(of, ports(source_port, 80));
}
byte_vector labelled(byte_vector v6, uint32_t label) {
    v6[1] |= static_cast<uint8_t>(label >> 16);
    v6[2] = static_cast<uint8_t>(label >> 8);
    v6[3] = static_cast<uint8_t>(label);
    return v6;
}

constexpr flow_fields all_fields[] = {flow_fields::addresses, flow_fields::flow,
                                      flow_fields::inner};

TEST(flow_hash, what_is_no_part_of_a_flow_changes_nothing) {
    ipv4_fields other;
    other.ttl = 3;
    other.id = 7;
    for (const flow_fields fields : all_fields) {
        EXPECT_EQ(hash_of(v4(1, 1000), fields), hash_of(v4(1, 1000, other), fields));
        EXPECT_EQ(hash_of(ipv6({.hop_limit = 9}, ports(1, 2)), fields),
                  hash_of(ipv6({}, ports(1, 2)), fields));
    }
    ipv4_fields with_options;
    with_options.options = {1, 1, 1, 0};
    EXPECT_EQ(hash_of(v4(1, 1000), flow_fields::flow),
              hash_of(v4(1, 1000, with_options), flow_fields::flow));
    EXPECT_EQ(hash_of(ipv6({.next_header = 60}, extension(17, 0, ports(1, 2))), flow_fields::flow),
              hash_of(ipv6({}, ports(1, 2)), flow_fields::flow));
}

/// Errors by routers and hosts about `quoted`, from anywhere to its source.
byte_vector error4(int type, const byte_vector& quoted) {
    ipv4_fields f;
    f.source = 0x0a0a0a0a;
    f.destination = load_be<uint32_t>(&quoted[12]);
    f.protocol = 1;
    return ipv4(f, byte_vector{static_cast<uint8_t>(type), 0, 0, 0, 0, 0, 0, 0} + quoted);
}
byte_vector error6(int type, const byte_vector& quoted) {
    ipv6_fields f;
    f.destination = byte_vector(quoted.begin() + 8, quoted.begin() + 24);
    f.next_header = 58;
    return ipv6(f, byte_vector{static_cast<uint8_t>(type), 0, 0, 0, 0, 0, 0, 0} + quoted);
}

TEST(flow_hash, an_icmp_error_follows_the_flow_that_answers_what_it_quotes) {
    ipv4_fields there, back;
    there.source = back.destination = 0x14000001;
    there.destination = back.source = 0x1e000002;
    const auto sent = ipv4(there, ports(1000, 80)), answer = ipv4(back, ports(80, 1000));
    const auto sent6 = ipv6({.source = v6_a, .destination = v6_b}, ports(1000, 80)),
               answer6 = ipv6({.source = v6_b, .destination = v6_a}, ports(80, 1000));
    for (const flow_fields fields : all_fields) {
        for (const int type : {3, 4, 5, 11, 12})
            EXPECT_EQ(hash_of(error4(type, sent), fields), hash_of(answer, fields)) << type;
        for (const int type : {1, 2, 3, 4})
            EXPECT_EQ(hash_of(error6(type, sent6), fields), hash_of(answer6, fields)) << type;
        EXPECT_NE(hash_of(error4(8, sent), fields), hash_of(answer, fields)) << "an echo request";
        EXPECT_NE(hash_of(error6(128, sent6), fields), hash_of(answer6, fields));
    }
    // Routers quote 8 bytes of the upper layer, or, by mistake, less.
    const byte_vector quoted(sent.begin(), sent.begin() + 28),
        less(sent.begin(), sent.begin() + 22);
    EXPECT_EQ(hash_of(error4(3, quoted), flow_fields::flow), hash_of(answer, flow_fields::flow));
    EXPECT_NE(hash_of(error4(3, less), flow_fields::flow), hash_of(answer, flow_fields::flow));
    const byte_vector whole = error4(3, sent);
    for (size_t end = 20; end < whole.size(); ++end)
        (void)hash_of(byte_vector(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(end)),
                      flow_fields::inner);
    // Through a tunnel: the error about an inner packet, and the error about the tunnel's packet.
    there.protocol = back.protocol = 4;
    EXPECT_EQ(hash_of(ipv4(there, error4(3, sent)), flow_fields::inner),
              hash_of(answer, flow_fields::inner));
    EXPECT_EQ(hash_of(error4(3, ipv4(there, sent)), flow_fields::inner),
              hash_of(ipv4(back, answer), flow_fields::inner));
}

TEST(flow_hash, what_is_a_part_of_it_does) {
    const auto base = v4(1, 1000);
    EXPECT_NE(hash_of(base, flow_fields::addresses), hash_of(v4(2, 1000), flow_fields::addresses));
    EXPECT_EQ(hash_of(base, flow_fields::addresses), hash_of(v4(1, 1001), flow_fields::addresses));
    EXPECT_NE(hash_of(base, flow_fields::flow), hash_of(v4(1, 1001), flow_fields::flow));
    ipv4_fields tcp;
    tcp.protocol = 6;
    EXPECT_NE(hash_of(base, flow_fields::flow), hash_of(v4(1, 1000, tcp), flow_fields::flow));
    EXPECT_NE(hash_of(base, flow_fields::flow, 1), hash_of(base, flow_fields::flow, 2));
    const auto six = ipv6({}, ports(1, 2));
    byte_vector other = v6_a;
    other[3] = 1;
    EXPECT_NE(hash_of(six, flow_fields::addresses),
              hash_of(ipv6({.source = other}, ports(1, 2)), flow_fields::addresses));
    EXPECT_NE(hash_of(six, flow_fields::flow), hash_of(ipv6({}, ports(1, 3)), flow_fields::flow));
}

/// The walk along extension headers is bounded: a chain of 1,400 bytes is not read beyond 256
/// bytes.
TEST(flow_hash, a_chain_of_extension_headers_is_walked_to_a_bound) {
    const auto chain = [](size_t headers, uint16_t port) {
        byte_vector rest = ports(port, 80);
        for (size_t n = 0; n < headers; ++n) rest = extension(n == 0 ? 17 : 60, 0, rest);
        return ipv6({.next_header = 60}, rest);
    };
    const auto in_a_packet = [](const byte_vector& six) { return ipv4({.protocol = 41}, six); };
    for (const flow_fields fields : {flow_fields::flow, flow_fields::inner}) {
        // 40 + 27 * 8 = 256
        for (const size_t headers : {1, 20, 27})
            EXPECT_NE(hash_of(chain(headers, 1), fields), hash_of(chain(headers, 2), fields));
        for (const size_t headers : {28, 29, 100, 181}) {
            EXPECT_EQ(hash_of(chain(headers, 1), fields), hash_of(chain(headers, 2), fields))
                << headers;
            EXPECT_EQ(hash_of(in_a_packet(chain(headers, 1)), fields),
                      hash_of(in_a_packet(chain(headers, 2)), fields))
                << headers;
        }
    }
}

TEST(flow_hash, a_flow_label_stands_for_protocol_and_ports) {
    const auto one = labelled(ipv6({}, ports(1, 2)), 0x54321);
    EXPECT_EQ(hash_of(one, flow_fields::flow),
              hash_of(labelled(ipv6({}, ports(9, 9)), 0x54321), flow_fields::flow));
    EXPECT_NE(hash_of(one, flow_fields::flow),
              hash_of(labelled(ipv6({}, ports(1, 2)), 0x54322), flow_fields::flow));
    const auto in_fragments =
        labelled(ipv6({.next_header = 44}, fragment(17, 1, ports(1, 2))), 0x54321);
    EXPECT_EQ(hash_of(one, flow_fields::flow), hash_of(in_fragments, flow_fields::flow));
}

TEST(flow_hash, fragments_of_a_datagram_go_together) {
    ipv4_fields first, later;
    first.fragment = ipv4_more_fragments;
    later.fragment = 100;
    for (const flow_fields fields : all_fields) {
        EXPECT_EQ(hash_of(v4(1, 1000, first), fields), hash_of(v4(1, 4321, later), fields));
        EXPECT_EQ(hash_of(ipv6({.next_header = 44}, fragment(17, 1, ports(1, 2))), fields),
                  hash_of(ipv6({.next_header = 44}, fragment(17, 800, ports(5, 6))), fields));
    }
    // An atomic fragment (RFC 6946) is whole.
    EXPECT_EQ(hash_of(ipv6({.next_header = 44}, fragment(17, 0, ports(1, 2))), flow_fields::flow),
              hash_of(ipv6({}, ports(1, 2)), flow_fields::flow));
}

/// Each tunnel's packet around another one.
std::vector<byte_vector> tunnels(const byte_vector& in, uint16_t type) {
    ipv4_fields f;
    const auto outer = [&](uint8_t protocol, const byte_vector& rest) {
        f.protocol = protocol;
        return ipv4(f, rest);
    };
    const auto frame = ethernet(type, in);
    const byte_vector vxlan{8, 0, 0, 0, 0, 0, 9, 0};
    const auto to_vxlan = be(uint16_t{49152}) + be(uint16_t{4789}) + zeros(4);
    return {outer(type == 0x0800 ? 4 : 41, in),
            ipv6({.next_header = static_cast<uint8_t>(type == 0x0800 ? 4 : 41)}, in),
            outer(47, be(uint16_t{0}) + be(type) + in),
            outer(47, be(uint16_t{0xb000}) + be(type) + zeros(12) + in),
            outer(47, be(uint16_t{0x2000}) + be(uint16_t{0x6558}) + zeros(4) + frame),
            outer(17, to_vxlan + vxlan + frame),
            outer(17, to_vxlan + vxlan + ethernet(0x8100, be(uint16_t{5}) + be(type) + in))};
}

TEST(flow_hash, inner_is_the_packet_in_a_tunnel) {
    for (const bool six : {false, true}) {
        const auto packet = [&](uint16_t port) {
            return six ? ipv6({}, ports(port, 80)) : v4(7, port);
        };
        const auto one = tunnels(packet(1000), six ? 0x86dd : 0x0800);
        const auto other = tunnels(packet(1001), six ? 0x86dd : 0x0800);
        const uint32_t alone = hash_of(packet(1000), flow_fields::flow);
        EXPECT_EQ(hash_of(packet(1000), flow_fields::inner), alone);
        for (size_t t = 0; t < one.size(); ++t) {
            EXPECT_EQ(hash_of(one[t], flow_fields::inner), alone) << t;
            EXPECT_NE(hash_of(other[t], flow_fields::inner), alone) << t;
            EXPECT_EQ(hash_of(one[t], flow_fields::flow), hash_of(other[t], flow_fields::flow))
                << t << ": the content of a tunnel is not looked at";
        }
    }
}

TEST(flow_hash, vxlan_is_at_the_ports_that_are_named) {
    const byte_vector inner = v4(7, 1000);
    const auto to_port = [&](uint16_t port) {
        return ipv4({}, be(uint16_t{49152}) + be(port) + zeros(4) +
                            byte_vector{8, 0, 0, 0, 0, 0, 9, 0} + ethernet(0x0800, inner));
    };
    const flow_hashing two{.fields = flow_fields::inner, .vxlan_ports = {8472, 9999, 8472, 8472}};
    const uint32_t alone = hash_of(inner, flow_fields::flow);
    EXPECT_EQ(hash_of(to_port(8472), two), alone);
    EXPECT_EQ(hash_of(to_port(9999), two), alone);
    for (const uint16_t port : {uint16_t{4789}, uint16_t{0}, uint16_t{80}})
        EXPECT_EQ(hash_of(to_port(port), two), hash_of(to_port(port), flow_fields::flow)) << port;
    EXPECT_EQ(hash_of(to_port(8472), flow_fields::inner), hash_of(to_port(8472), flow_fields::flow))
        << "not named";
}

/// Wherever a packet ends, nothing behind it is read (under ASan), and something is answered.
TEST(flow_hash, packets_that_end_early) {
    std::vector<byte_vector> all = tunnels(v4(7, 1), 0x0800);
    for (const byte_vector& six : tunnels(ipv6({}, ports(1, 2)), 0x86dd)) all.push_back(six);
    all.push_back(ipv6({.next_header = 0}, extension(60, 1, extension(17, 0, ports(1, 2)))));
    for (const byte_vector& whole : all)
        for (size_t n = whole[0] >> 4 == 4 ? 20 : 40; n < whole.size(); ++n)
            for (const flow_fields fields : all_fields)
                (void)hash_of({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)}, fields);
    std::minstd_rand random(1);
    for (int i = 0; i < 20'000; ++i) {
        byte_vector bytes = all[random() % all.size()];
        for (int k = 0; k < 3; ++k) bytes[1 + random() % (bytes.size() - 1)] = random() & 0xff;
        if (bytes[0] >> 4 == 4) bytes[0] = 0x45;
        (void)hash_of(bytes, flow_fields::inner);
    }
}

/// Flows that differ in their last bits only, as real ones do: buckets get alike, and another seed shares them
/// anew, so that a router behind another one uses all of its ways.
TEST(flow_hash, spreads_and_does_not_polarise) {
    constexpr uint32_t flows = 1 << 16, buckets = 16;
    std::array<std::array<uint32_t, buckets>, buckets> both{};
    std::set<uint32_t> different;
    for (uint32_t i = 0; i < flows; ++i) {
        const auto packet = v4(0x0a000000 + i / 64, static_cast<uint16_t>(1024 + i % 64));
        const uint32_t one = hash_of(packet, flow_fields::flow, 1);
        ++both[one % buckets][hash_of(packet, flow_fields::flow, 2) % buckets];
        different.insert(one);
    }
    EXPECT_GT(different.size(), flows - 4);  // of 2^32 some are the same by chance: half a flow
    double chi_squared = 0;                  // of 255 degrees of freedom: 255 +- 23
    for (const auto& row : both)
        for (const uint32_t n : row) chi_squared += (n - 256.0) * (n - 256.0) / 256;
    EXPECT_LT(chi_squared, 255 + 5 * 23);
}

}  // namespace
}  // namespace turnpike::packet
