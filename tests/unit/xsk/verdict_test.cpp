// SPDX-License-Identifier: BSD-3-Clause
// The BPF program as the kernel runs it (BPF_PROG_TEST_RUN): frames redirected to the socket,
// frames passed to the kernel, and counters.
#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <numeric>

#include "attachment.hpp"
#include "lib/sanitized.hpp"
#include "program.hpp"
#include "unit/xsk/filter_reference.hpp"
#include "unit/xsk/sandbox.hpp"

namespace turnpike::xsk {
namespace {

using namespace test;

/// A valid value of the map: a socket with a receive ring.
owned_fd open_socket() {
    owned_fd s(::socket(AF_XDP, SOCK_RAW, 0));
    const int entries = 64;
    EXPECT_EQ(setsockopt(s.get(), SOL_XDP, XDP_RX_RING, &entries, sizeof entries), 0);
    return s;
}

/// A program on `near`, its filter, and a socket for queue 0, the queue of test runs.
class program_run {
  public:
    program_run(unsigned ifindex, const std::string& filter_text, bool fragments = false) {
        program_options o{.iface = "near", .ifindex = ifindex, .fragments = fragments};
        if (!filter_text.empty()) {
            const auto f = read_filter(filter_text, "f");
            EXPECT_TRUE(f.has_value()) << f.error().message() << filter_text;
            if (f) o.keep = *f;
        }
        auto attached = program::attach(o);
        EXPECT_TRUE(attached.has_value()) << attached.error().message();
        if (!attached) return;
        program_ = std::move(*attached);
        const auto set = program_->set_socket(0, socket_.get());
        EXPECT_TRUE(set.has_value()) << set.error().message();
        uint32_t id = 0;
        EXPECT_EQ(bpf_xdp_query_id(static_cast<int>(ifindex), 0, &id), 0);
        code_ = owned_fd(bpf_prog_get_fd_by_id(id));
    }

    /// XDP_PASS, XDP_REDIRECT. linear_bytes: what the first buffer holds; 0: as the kernel likes.
    /// Returns no value where the kernel does not support it.
    std::optional<uint32_t> verdict(const byte_vector& frame, uint32_t linear_bytes = 0) {
        bpf_test_run_opts run{};
        run.sz = sizeof run;
        run.data_in = frame.data();
        run.data_size_in = static_cast<uint32_t>(frame.size());
        xdp_md context{};
        if (linear_bytes != 0) {
            context.data_end = linear_bytes;
            run.ctx_in = &context;
            run.ctx_size_in = sizeof context;
        }
        if (bpf_prog_test_run_opts(code_.get(), &run) != 0) return std::nullopt;
        return run.retval;
    }
    bool keeps(const byte_vector& frame) {
        const auto v = verdict(frame);
        EXPECT_TRUE(v == uint32_t{XDP_PASS} || v == uint32_t{XDP_REDIRECT});
        return v == uint32_t{XDP_PASS};
    }
    program& p() { return *program_; }

  private:
    owned_fd socket_ = open_socket(), code_{};
    std::unique_ptr<program> program_;
};

class xsk_verdict : public sandbox {};

const byte_vector padding = zeros(40);
byte_vector udp_from(uint16_t source, uint16_t destination) {
    return be(source) + be(destination) + be(uint16_t{8}) + zeros(2) + padding;
}

TEST_F(xsk_verdict, without_a_filter_all_goes_to_the_socket_or_to_the_kernel) {
    program_run r(near, "");
    const auto frame = ethernet(0x0800, ipv4({}, udp(padding)));
    EXPECT_EQ(r.verdict(frame), uint32_t{XDP_REDIRECT});
    EXPECT_EQ(r.verdict(ethernet(0x0806, arp({}))), uint32_t{XDP_REDIRECT});
    EXPECT_EQ(r.p().kept_by_kernel().packets, 0u);
    r.p().clear_socket(0);
    EXPECT_EQ(r.verdict(frame), uint32_t{XDP_PASS});
    EXPECT_EQ(r.p().kept_by_kernel().packets, 0u) << "no filter kept it";
}

/// {description, the entry, a frame that it keeps, a frame that it does not keep}
struct kept_and_not {
    const char* description;
    const char* entry;
    byte_vector kept, redirected;
};

std::vector<kept_and_not> table() {
    const auto v4 = [](ipv4_fields f, const byte_vector& rest) {
        return ethernet(0x0800, ipv4(f, rest));
    };
    const auto v6 = [](ipv6_fields f, const byte_vector& rest) {
        return ethernet(0x86dd, ipv6(f, rest));
    };
    const byte_vector ssh = udp_from(40000, 22), web = udp_from(40000, 80);
    const ipv4_fields tcp4{.protocol = 6};
    const byte_vector ssh4 = ipv4(tcp4, ssh), web4 = ipv4(tcp4, web);
    return {
        {"protocol by name", "protocol: ospf", v4({.protocol = 89}, padding),
         v4({.protocol = 88}, padding)},
        {"protocol over IPv6", "protocol: ospf", v6({.next_header = 89}, padding),
         v6({.next_header = 88}, padding)},
        {"protocol by number", "protocol: 200", v4({.protocol = 200}, padding),
         v4({.protocol = 201}, padding)},
        {"icmp is IPv4's", "protocol: icmp", v4({.protocol = 1}, padding),
         v6({.next_header = 1}, padding)},
        {"icmpv6 is IPv6's", "protocol: icmpv6", v6({.next_header = 58}, padding),
         v4({.protocol = 58}, padding)},
        {"arp", "protocol: arp", ethernet(0x0806, arp({})), ethernet(0x0808, arp({}))},
        {"lldp", "protocol: lldp", ethernet(0x88cc, padding), ethernet(0x88cb, padding)},
        {"lacp", "protocol: lacp", ethernet(0x8809, padding), ethernet(0x0029, padding)},
        {"family", "family: ipv6", v6({}, udp(padding)), v4({}, udp(padding))},
        {"destination port", "destination_port: 22", v4(tcp4, ssh), v4(tcp4, udp_from(22, 40000))},
        {"source port", "source_port: 22", v4(tcp4, udp_from(22, 40000)), v4(tcp4, ssh)},
        {"either port, as source", "port: 22", v4(tcp4, udp_from(22, 9)), v4(tcp4, web)},
        {"either port, as destination", "port: 22", v4(tcp4, ssh), v4(tcp4, web)},
        {"port of a protocol", "{protocol: udp, port: 22}", v4({.protocol = 17}, ssh),
         v4(tcp4, ssh)},
        {"port of UDP-Lite over IPv6", "port: 22", v6({.next_header = 136}, ssh),
         v6({.next_header = 50}, ssh)},
        {"port of SCTP", "port: 22", v4({.protocol = 132}, ssh), v4({.protocol = 33}, ssh)},
        {"range, lowest", "port: 20-22", v4(tcp4, udp_from(1, 20)), v4(tcp4, udp_from(1, 19))},
        {"range, highest", "port: 20-22", v4(tcp4, ssh), v4(tcp4, udp_from(1, 23))},
        {"range to the last", "destination_port: 65000-65535", v4(tcp4, udp_from(1, 65535)),
         v4(tcp4, udp_from(1, 64999))},
        {"host", "destination_address: 10.0.2.2", v4({}, ssh),
         v4({.destination = 0x0a000203}, ssh)},
        {"network", "source_address: 10.0.0.0/23", v4({.source = 0x0a0001ff}, ssh),
         v4({.source = 0x0a000200}, ssh)},
        {"either address, as destination", "address: 10.0.2.0/24", v4({}, ssh),
         v4({.destination = 0x0b000202}, ssh)},
        {"either address, as source", "address: 10.0.1.1", v4({}, ssh),
         v4({.source = 0x0a000102}, ssh)},
        {"all of IPv4", "address: 0.0.0.0/0", v4({}, ssh), v6({}, ssh)},
        {"IPv6 host", "address: 2001:db8:1::1", v6({}, ssh), v6({.source = v6_b}, ssh)},
        {"IPv6 network across words", "destination_address: '2001:db8:2::/47'", v6({}, ssh),
         v6({.destination = v6_a}, ssh)},
        {"all at once",
         "{protocol: tcp, destination_port: 22, source_address: 10.0.1.0/24, destination_address: "
         "10.0.2.2}",
         v4(tcp4, ssh), v4({.protocol = 6, .source = 0x0a000901}, ssh)},
        {"options before the ports", "port: 22", v4({.protocol = 6, .options = zeros(40)}, ssh),
         v4({.protocol = 6, .options = zeros(40)}, web)},
        {"one tag", "port: 22", ethernet(0x8100, tag(5, 0x0800, ssh4)),
         ethernet(0x8100, tag(5, 0x0800, web4))},
        {"two tags", "port: 22", ethernet(0x88a8, tag(5, 0x8100, tag(6, 0x0800, ssh4))),
         ethernet(0x88a8, tag(5, 0x8100, tag(6, 0x0800, web4)))},
        {"three tags are one too many", "port: 22",
         ethernet(0x88a8, tag(5, 0x8100, tag(6, 0x0800, ssh4))),
         ethernet(0x88a8, tag(5, 0x8100, tag(6, 0x8100, tag(7, 0x0800, ssh4))))},
        {"tagged arp", "protocol: arp", ethernet(0x8100, tag(5, 0x0806, arp({}))),
         ethernet(0x8100, tag(5, 0x0807, arp({})))},
        {"fragments go by protocol", "protocol: udp", v4({.fragment = 0x2000}, ssh),
         v4({.fragment = 0x2000, .protocol = 6}, ssh)},
        {"later fragments too", "{protocol: udp, address: 10.0.1.1}", v4({.fragment = 185}, ssh),
         v4({.fragment = 185, .source = 9}, ssh)},
        {"no part of a datagram has ports, the first neither", "port: 22",
         v4({.fragment = 0x4000}, ssh), v4({.fragment = 0x2000}, ssh)},
        {"nor a later one", "port: 22", v4({}, ssh), v4({.fragment = 0x0003}, ssh)},
        {"an IPv6 datagram that fits is whole", "port: 22",
         v6({.next_header = 44}, fragment(6, 0, ssh)),
         v6({.next_header = 44}, fragment(6, 1, ssh))},
        {"IPv6 fragments are classified by the fragment header", "protocol: tcp",
         v6({.next_header = 44}, fragment(6, 8, padding)),
         v6({.next_header = 44}, fragment(60, 8, extension(6, 0, ssh)))},
        {"extension headers", "port: 22",
         v6({.next_header = 0}, extension(43, 0, routing(60, 0, 0, extension(6, 2, ssh)))),
         v6({.next_header = 0}, extension(43, 0, routing(60, 0, 0, extension(6, 2, web))))},
        {"bad version", "family: ipv4", v4({}, ssh), v4({.version = 5}, ssh)},
        {"header length too small", "family: ipv4", v4({}, ssh), v4({.ihl = 4}, ssh)},
        {"ports behind the datagram's end", "port: 22", v4({.total_bytes = 24, .protocol = 6}, ssh),
         v4({.total_bytes = 23, .protocol = 6}, ssh)},
        {"the same of IPv6", "port: 22", v6({.payload_bytes = 4, .next_header = 6}, ssh),
         v6({.payload_bytes = 3, .next_header = 6}, ssh)},
    };
}

TEST_F(xsk_verdict, of_every_kind_of_entry) {
    for (const kept_and_not& row : table()) {
        const std::string entry = row.entry;
        program_run r(near, "- " + (entry[0] == '{' ? entry : "{" + entry + "}") + "\n");
        EXPECT_TRUE(r.keeps(row.kept)) << row.description;
        EXPECT_EQ(r.p().kept_by_kernel().packets, 1u) << row.description;
        EXPECT_FALSE(r.keeps(row.redirected)) << row.description;
        EXPECT_EQ(r.p().kept_by_kernel().packets, 1u) << row.description;
    }
}

TEST_F(xsk_verdict, frames_cut_short_anywhere) {
    program_run r(near, "- {port: 22}\n");
    const auto whole = ethernet(
        0x88a8,
        tag(1, 0x8100, tag(2, 0x86dd, ipv6({.next_header = 0}, extension(6, 0, udp_from(1, 22))))));
    const size_t ports_end = 14 + 8 + 40 + 8 + 4;
    for (size_t bytes = 14; bytes <= whole.size(); ++bytes)
        EXPECT_EQ(r.keeps({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)}),
                  bytes >= ports_end)
            << bytes;
}

TEST_F(xsk_verdict, headers_too_far_in_or_too_many_are_not_looked_at) {
    program_run r(near,
                  "- {port: 22}\n- {address: 2001:db8:1::1, protocol: 6}\n- {protocol: 17}\n");
    byte_vector rest = udp_from(1, 22);
    uint8_t next = 6;
    for (unsigned n = 0; n <= XSK_FILTER_MOST_EXTENSIONS; ++n) {
        EXPECT_TRUE(r.keeps(ethernet(0x86dd, ipv6({.next_header = next}, rest)))) << n;
        rest = extension(next, 0, rest);
        next = 60;
    }
    EXPECT_FALSE(r.keeps(ethernet(0x86dd, ipv6({.next_header = next}, rest))));
    EXPECT_EQ(r.p().kept_by_kernel().by_entry[0], XSK_FILTER_MOST_EXTENSIONS + 1u);
    // The protocol is known, its ports are too far in.
    const auto far_in = extension(6, 63, udp_from(1, 22));
    EXPECT_TRUE(r.keeps(ethernet(0x86dd, ipv6({.next_header = 60}, far_in))));
    EXPECT_EQ(r.p().kept_by_kernel().by_entry[1], 1u);
}

TEST_F(xsk_verdict, is_counted_for_the_first_entry_that_keeps) {
    std::string text;
    for (unsigned i = 0; i < XSK_FILTER_MOST_ENTRIES; ++i)
        text += "- {protocol: udp, port: " + std::to_string(100 + i) + "-163}\n";
    program_run r(near, text);
    for (uint16_t i = 0; i < XSK_FILTER_MOST_ENTRIES; ++i)
        EXPECT_TRUE(
            r.keeps(ethernet(0x0800, ipv4({}, udp_from(1, static_cast<uint16_t>(100 + i))))));
    auto counted_so_far = r.p().kept_by_kernel();
    EXPECT_EQ(counted_so_far.by_entry[0], uint64_t{XSK_FILTER_MOST_ENTRIES})
        << "the first covers all";
    EXPECT_EQ(counted_so_far.packets, uint64_t{XSK_FILTER_MOST_ENTRIES});
}

/// The last of 64 entries keeps what no other does.
TEST_F(xsk_verdict, looks_at_all_entries) {
    std::string text;
    for (unsigned i = 0; i < XSK_FILTER_MOST_ENTRIES; ++i)
        text += "- {protocol: udp, port: " + std::to_string(100 + i) + "}\n";
    program_run r(near, text);
    for (uint16_t i = 0; i < XSK_FILTER_MOST_ENTRIES; ++i)
        EXPECT_TRUE(
            r.keeps(ethernet(0x0800, ipv4({}, udp_from(1, static_cast<uint16_t>(100 + i))))));
    EXPECT_FALSE(r.keeps(ethernet(0x0800, ipv4({}, udp_from(1, 99)))));
    const auto counts = r.p().kept_by_kernel().by_entry;
    EXPECT_EQ(counts, std::vector<uint64_t>(XSK_FILTER_MOST_ENTRIES, 1));
}

/// A first buffer that ends within the headers.
TEST_F(xsk_verdict, of_frames_in_several_buffers) {
    program_run r(near, "- {port: 22}\n", true);
    ASSERT_TRUE(r.p().fragments());
    const auto ssh = ethernet(0x0800, ipv4({.protocol = 6}, udp_from(1, 22) + zeros(6000)));
    const auto web = ethernet(0x0800, ipv4({.protocol = 6}, udp_from(1, 80) + zeros(6000)));
    EXPECT_TRUE(r.keeps(ssh));
    EXPECT_FALSE(r.keeps(web));
    if (!r.verdict(ssh, 14)) GTEST_SKIP() << "this kernel's test runs have no short first buffer";
    for (uint32_t linear_bytes = 14; linear_bytes < 64; ++linear_bytes) {
        EXPECT_EQ(r.verdict(ssh, linear_bytes), uint32_t{XDP_PASS}) << linear_bytes;
        EXPECT_EQ(r.verdict(web, linear_bytes), uint32_t{XDP_REDIRECT}) << linear_bytes;
    }
}

TEST_F(xsk_verdict, is_the_references) {
    std::mt19937 random(7);
    size_t kept = 0, redirected = 0;
    constexpr unsigned filters = turnpike::test::sanitized ? 30 : 60;
    for (unsigned f = 0; f < filters; ++f) {
        std::vector<reference_entry> entries(1 + random() % (f % 4 == 0 ? 64 : 5));
        std::string text;
        for (reference_entry& e : entries) text += (e = random_entry(random)).yaml();
        program_run r(near, text);
        std::vector<uint64_t> by_entry(entries.size());
        for (unsigned frames = 0; frames < 500; ++frames) {
            const byte_vector frame = random_frame(random);
            const auto entry = reference_verdict(entries, frame);
            if (entry) ++by_entry[*entry];
            ASSERT_EQ(r.keeps(frame), entry.has_value()) << text << ::testing::PrintToString(frame);
        }
        const auto counted_by = r.p().kept_by_kernel();
        ASSERT_EQ(counted_by.by_entry, by_entry) << text;
        const size_t sum = std::accumulate(by_entry.begin(), by_entry.end(), size_t{0});
        EXPECT_EQ(counted_by.packets, sum);
        kept += sum;
        redirected += 500 - sum;
    }
    EXPECT_GT(kept, 50 * filters);
    EXPECT_GT(redirected, 50 * filters);
}

}  // namespace
}  // namespace turnpike::xsk
