// SPDX-License-Identifier: BSD-3-Clause
// Random packets through the whole path against random ACLs, compared with a plain reference that evaluates
// the list rule by rule, field by field, from the top. Every packet's verdict and every rule's
// counters must agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "acl/rule_file.hpp"
#include "lib/classbench.hpp"
#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike {
namespace {

using namespace test;

constexpr uint8_t icmp = 1, tcp_number = 6, udp_number = 17, icmpv6 = 58, sctp = 132;
bool has_ports(uint8_t protocol) {
    return protocol == tcp_number || protocol == udp_number || protocol == sctp;
}

/// The fields of a generated packet.
struct reference_packet {
    bool v6 = false;
    uint32_t source = 0, destination = 0;  ///< IPv6: the low bits
    uint8_t protocol = 0, flags = 0, type = 0, code = 0, dscp = 0;
    uint16_t source_port = 0, destination_port = 0;
    uint16_t offset = 0;  ///< of a fragment, in bytes
    bool more = false, extended = false;
    std::optional<uint16_t> vlan{};  ///< none: untagged

    [[nodiscard]] byte_vector frame(uint32_t number) const {
        const byte_vector out = untagged(number);
        return vlan ? tagged(out, static_cast<uint16_t>(0x6000 | *vlan)) : out;
    }
    [[nodiscard]] byte_vector untagged(uint32_t number) const {
        byte_vector upper = counted(20);
        if (offset == 0 && has_ports(protocol)) {
            upper = protocol == tcp_number ? tcp(flags, {}) : zeros(12);
            store_be(&upper[0], source_port);
            store_be(&upper[2], destination_port);
        } else if (offset == 0 && protocol == (v6 ? icmpv6 : icmp)) {
            upper = byte_vector{type, code} + zeros(18);
        }
        upper = upper + be(number);
        return v6 ? frame6(upper) : frame4(upper);
    }

  private:
    [[nodiscard]] byte_vector frame4(const byte_vector& upper) const {
        byte_vector ip = ipv4({.fragment = static_cast<uint16_t>(offset / 8 | (more ? 0x2000 : 0)),
                               .protocol = protocol,
                               .checksum = uint16_t{0},
                               .source = source,
                               .destination = destination,
                               .options = extended ? byte_vector{1, 1, 1, 0} : byte_vector{}},
                              upper);
        ip[1] = static_cast<uint8_t>(dscp << 2 | 1);
        store_be(&ip[10], packet::checksum(std::span(ip).first(extended ? 24 : 20)));
        return ethernet(0x0800, ip);
    }
    [[nodiscard]] byte_vector frame6(const byte_vector& upper) const {
        const byte_vector prefix{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0};
        uint8_t next = protocol;
        byte_vector rest = upper;
        if (offset != 0 || more) {
            rest = fragment(next, static_cast<uint16_t>(offset | (more ? 1 : 0)), rest);
            next = 44;
        }
        if (extended) {
            rest = extension(next, 1, rest);
            next = 60;
        }
        byte_vector ip = ipv6({.next_header = next,
                               .source = prefix + be(source),
                               .destination = prefix + be(destination)},
                              rest);
        ip[0] = static_cast<uint8_t>(0x60 | dscp >> 2);
        ip[1] = static_cast<uint8_t>((dscp & 3) << 6);
        return ethernet(0x86dd, ip);
    }
};

struct reference_range {
    uint16_t first = 0, last = 65535;
    bool operator==(const reference_range&) const = default;
};

/// The fields of a generated rule, and its text.
struct reference_rule {
    std::string action = "permit";
    std::optional<bool> v6;
    std::optional<uint32_t> source, destination;
    unsigned source_bits = 0, destination_bits = 0;  ///< that count, of 32
    std::optional<uint8_t> protocol, type, code, dscp;
    std::optional<reference_range> source_ports, destination_ports;
    uint8_t set = 0, clear = 0;
    std::optional<bool> fragments;
    std::optional<std::optional<uint16_t>> vlan{};  ///< of a tag, or of none

    [[nodiscard]] bool matches(const reference_packet& p) const {
        const auto under = [](uint32_t a, const std::optional<uint32_t>& b, unsigned bits) {
            return !b || bits == 0 || (a ^ *b) >> (32 - bits) == 0;
        };
        const bool whole = p.offset == 0;
        const auto in = [&](uint16_t port, const std::optional<reference_range>& r) {
            return !r || (whole && has_ports(p.protocol) && port >= r->first && port <= r->last);
        };
        if (v6 && *v6 != p.v6) return false;
        if (!under(p.source, source, source_bits)) return false;
        if (!under(p.destination, destination, destination_bits)) return false;
        if (protocol && *protocol != p.protocol) return false;
        if (!in(p.source_port, source_ports) || !in(p.destination_port, destination_ports))
            return false;
        if ((set | clear) != 0 && (!whole || (p.flags & set) != set || (p.flags & clear) != 0))
            return false;
        if (type && (!whole || *type != p.type)) return false;
        if (code && *code != p.code) return false;
        if (dscp && *dscp != p.dscp) return false;
        if (vlan && *vlan != p.vlan) return false;
        return !fragments || *fragments == !whole;
    }

    [[nodiscard]] std::string yaml() const {
        constexpr const char* flag[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};
        std::string out = "{action: " + action;
        const auto address = [&](const char* key, uint32_t a, unsigned bits) {
            const ip_prefix p = *v6 ? ip_prefix{*parse_address(fmt::format("2001:db8::{:x}:{:x}",
                                                                           a >> 16, a & 0xffff)),
                                                static_cast<uint8_t>(96 + bits)}
                                    : ip_prefix{ip_address::from_v4(a), static_cast<uint8_t>(bits)};
            out += fmt::format(", {}: \"{}\"", key, p.network().text());
        };
        const auto number = [&](const char* key, const std::optional<uint8_t>& n) {
            if (n) out += fmt::format(", {}: {}", key, *n);
        };
        const auto ports = [&](const char* key, const std::optional<reference_range>& r) {
            if (r) out += fmt::format(", {}: {}-{}", key, r->first, r->last);
        };
        if (v6) out += *v6 ? ", family: ipv6" : ", family: ipv4";
        if (source) address("source", *source, source_bits);
        if (destination) address("destination", *destination, destination_bits);
        number("protocol", protocol);
        number("icmp_type", type);
        number("icmp_code", code);
        number("dscp", dscp);
        ports("source_ports", source_ports);
        ports("destination_ports", destination_ports);
        if ((set | clear) != 0) {
            out += ", tcp_flags: \"";
            for (unsigned i = 0; i < 8; ++i)
                if ((set | clear) >> i & 1)
                    out += fmt::format("{}{} ", set >> i & 1 ? '+' : '-', flag[i]);
            out += '"';
        }
        if (vlan) out += *vlan ? fmt::format(", vlan: {}", **vlan) : ", vlan: untagged";
        if (fragments) out += *fragments ? ", fragments: true" : ", fragments: false";
        return out + "}";
    }
};

class random_things {
  public:
    explicit random_things(uint32_t seed) : random_(seed) {}
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    uint32_t source() { return 0x0a030000 | below(4) << 8 | below(8); }
    uint32_t destination() { return 0x0a040000 | below(4) << 8 | below(8); }
    uint16_t port() { return static_cast<uint16_t>(one_in(4) ? below(65536) : 1020 + below(12)); }
    uint8_t protocol(bool v6) {
        const uint8_t all[] = {tcp_number, tcp_number,         udp_number, udp_number,
                               sctp,       v6 ? icmpv6 : icmp, 47};
        return all[below(std::size(all))];
    }

    /// One of west's interfaces: untagged, two VLANs, and a priority tag.
    std::optional<uint16_t> vlan() {
        constexpr uint16_t some[] = {0, 100, 200};
        return one_in(4) ? std::nullopt : std::optional(some[below(3)]);
    }

    /// With a condition or two at least: the first rules are not to decide everything.
    reference_rule rule() {
        while (true) {
            const reference_rule r = any_rule();
            if (r.source.has_value() + r.destination.has_value() + r.protocol.has_value() +
                    r.source_ports.has_value() + r.destination_ports.has_value() +
                    r.dscp.has_value() >=
                2 + one_in(2))
                return r;
        }
    }

    reference_rule any_rule() {
        reference_rule r;
        if (!one_in(3)) r.v6 = one_in(2);
        if (r.v6 && one_in(2)) r.source = source(), r.source_bits = 16 + below(17);
        if (r.v6 && one_in(2)) r.destination = destination(), r.destination_bits = 16 + below(17);
        if (r.v6 && one_in(20)) r.source = 0, r.source_bits = 0;
        if (!one_in(4)) r.protocol = protocol(r.v6.value_or(false));
        if (r.protocol == icmp || r.protocol == icmpv6) r.v6 = r.protocol == icmpv6;
        if (r.protocol && has_ports(*r.protocol)) {
            if (one_in(2)) r.source_ports = range();
            if (one_in(2)) r.destination_ports = range();
        }
        if (r.protocol == tcp_number && one_in(3)) {
            r.set = static_cast<uint8_t>(1 << below(8));
            r.clear = static_cast<uint8_t>((1 << below(8)) & ~r.set);
        }
        if ((r.protocol == icmp || r.protocol == icmpv6) && one_in(2)) {
            r.type = type_of(*r.v6);
            if (one_in(2)) r.code = static_cast<uint8_t>(below(3));
        }
        if (one_in(6)) r.dscp = static_cast<uint8_t>(below(4) * 16 + 2);
        const bool upper = r.source_ports || r.destination_ports || (r.set | r.clear) || r.type;
        if (one_in(6)) r.fragments = !upper && one_in(2);
        r.action = one_in(2) ? "permit" : "deny";
        return r;
    }

    reference_packet packet() {
        reference_packet p;
        p.v6 = one_in(2);
        p.source = source();
        p.destination = destination();
        p.protocol = protocol(p.v6);
        p.source_port = has_ports(p.protocol) ? port() : uint16_t{0};
        p.destination_port = has_ports(p.protocol) ? port() : uint16_t{0};
        if (p.protocol == tcp_number) p.flags = static_cast<uint8_t>(below(256));
        p.type = type_of(p.v6);
        p.code = static_cast<uint8_t>(below(3));
        p.dscp = static_cast<uint8_t>(below(4) * 16 + 2);
        if (one_in(4)) {
            p.more = one_in(2);
            if (!p.more || one_in(2)) p.offset = static_cast<uint16_t>(16 + 8 * below(20));
        }
        p.extended = one_in(5);
        return p;
    }

  private:
    uint8_t type_of(bool v6) { return static_cast<uint8_t>(v6 ? 1 + below(3) : 8 + below(3)); }
    reference_range range() {
        const uint16_t a = port(), b = one_in(2) ? a : port();
        return {std::min(a, b), std::max(a, b)};
    }
    std::mt19937 random_;
};

/// A list as it is read: from the top, until a rule decides.
struct reference_list {
    std::vector<reference_rule> rules;
    bool default_permits = false;
    std::vector<uint64_t> packets, bytes;  ///< by rule, the default's last

    reference_list(random_things& random, size_t n, bool vlans = false)
        : default_permits(random.one_in(2)) {
        while (rules.size() < n) {
            rules.push_back(random.rule());
            if (vlans && random.one_in(3)) rules.back().vlan = random.vlan();
        }
        for (unsigned i = 0; i < 10; ++i)
            rules[random.below(static_cast<uint32_t>(n))].action = "count";
        packets.assign(n + 1, 0);
        bytes.assign(n + 1, 0);
    }
    [[nodiscard]] std::string yaml(const char* name) const {
        std::string out = fmt::format("  - name: {}\n    default: {}\n    rules:\n", name,
                                      default_permits ? "permit" : "deny");
        for (const reference_rule& r : rules) out += "      - " + r.yaml() + "\n";
        return out;
    }
    bool permits(const reference_packet& p, size_t frame_bytes) {
        const auto count = [&](size_t i) {
            ++packets[i];
            bytes[i] += frame_bytes;
        };
        for (size_t i = 0; i < rules.size(); ++i) {
            if (!rules[i].matches(p)) continue;
            count(i);
            if (rules[i].action != "count") return rules[i].action == "permit";
        }
        count(rules.size());
        return default_permits;
    }
    /// Compares the packets' verdicts and the sums of the counters of all places where the list is
    /// bound.
    void compare(const std::vector<observe::acl_report>& reports, const std::string& list) const {
        std::vector<uint64_t> all_packets(packets.size()), all_bytes(packets.size());
        for (const observe::acl_report& with : reports) {
            if (with.list != list) continue;
            ASSERT_EQ(with.rules.size(), rules.size() + (default_permits ? 2 : 3));
            for (size_t i = 0; i <= rules.size(); ++i) {
                const auto& r = i < rules.size() ? with.rules[i + 1] : with.rules.back();
                all_packets[i] += r.packets;
                all_bytes[i] += r.bytes;
            }
        }
        EXPECT_EQ(all_packets, packets) << list;
        EXPECT_EQ(all_bytes, bytes) << list;
    }
};

std::string routed_with(const std::string& lists) {
    return "acl:\n" + lists + R"(
ports:
  - {name: west, device: d0, addresses: [10.0.1.254/24, "2001:db8:ffff:1::fe/64"], acl: {in: west}}
  - {name: east, device: d1, addresses: [10.0.2.254/24, "2001:db8:ffff:2::fe/64"], acl: {out: east}}
routes:
  - {to: 10.4.0.0/16, via: 10.0.2.2}
  - {to: "2001:db8::a04:0/112", via: "2001:db8:ffff:2::2"}
neighbours:
  max_entries: 16
  static:
    - {address: 10.0.2.2, mac: "02:00:00:00:00:0d"}
    - {address: "2001:db8:ffff:2::2", mac: "02:00:00:00:00:0d"}
)";
}

/// West's list is theirs, too.
constexpr const char* west_vlans = R"(interfaces:
  - {port: west, vlan: 100, addresses: [10.0.3.254/24, "2001:db8:ffff:3::fe/64"], acl: {in: west}}
  - {port: west, vlan: 200, addresses: [10.0.4.254/24, "2001:db8:ffff:4::fe/64"], acl: {in: west}}
)";

/// Their numbers, which are their last bytes.
std::vector<uint32_t> numbers(const std::vector<byte_vector>& frames) {
    std::vector<uint32_t> out;
    for (const byte_vector& f : frames) out.push_back(load_be<uint32_t>(&f[f.size() - 4]));
    return out;
}

/// Bursts of one interface are stage ip_fast's, and of several ones stage ip_input's: packets of both
/// come by.
class differential_lists : public ::testing::TestWithParam<bool> {};

TEST_P(differential_lists, random_lists_on_the_routed_path) {
    constexpr uint32_t packets = 12'000;
    const bool vlans = GetParam();
    uint32_t passed = 0;
    for (const size_t rules : {size_t{15}, size_t{60}, size_t{400}}) {
        random_things random(static_cast<uint32_t>(rules));
        reference_list west(random, rules, vlans), east(random, rules, vlans);
        path_lab l(routed_with(west.yaml("west") + east.yaml("east")) + (vlans ? west_vlans : ""));
        l.links(true);
        l.worker().start();
        for (int i = 0; i < 3; ++i) l.worker().poll();
        l.sent(0), l.sent(1);  // announcements
        for (uint32_t number = 0; number < packets;) {
            std::vector<uint32_t> expected;
            const uint32_t end = number + 1 + random.below(40);
            const bool mixed = random.one_in(2);
            const std::optional<uint16_t> usual = vlans ? random.vlan() : std::nullopt;
            for (; number < end; ++number) {
                reference_packet p = random.packet();
                p.vlan = vlans && mixed ? random.vlan() : usual;
                ASSERT_TRUE(l.offer(0, p.frame(number)));
                const size_t bytes = p.untagged(number).size();
                if (west.permits(p, bytes) && east.permits(p, bytes)) expected.push_back(number);
            }
            for (int i = 0; i < 4; ++i) l.worker().poll();
            ASSERT_EQ(numbers(l.sent(1)), expected);
            passed += static_cast<uint32_t>(expected.size());
        }
        const auto report = l.acls();
        west.compare(report, "west");
        east.compare(report, "east");
        l.worker().finish();
    }
    EXPECT_GT(passed, packets / 6) << "or little was compared";
    EXPECT_LT(passed, packets * 5 / 2);
}

INSTANTIATE_TEST_SUITE_P(acl, differential_lists, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "vlans" : "untagged"; });

/// A rule of a ClassBench file, read as the file's authors mean it (configuration.md).
bool says(const acl::rule& r, const reference_packet& p) {
    const auto under = [](uint32_t a, const acl::address_match& m) {
        return ((a ^ load_be<uint32_t>(m.value.data())) & load_be<uint32_t>(m.mask.data())) == 0;
    };
    const auto in = [&](uint16_t port, const acl::port_range& range) {
        return range == acl::port_range{} ||
               (has_ports(p.protocol) && port >= range.first && port <= range.last);
    };
    const uint16_t extra = p.protocol == tcp_number ? static_cast<uint16_t>(p.flags << 8)
                                                    : static_cast<uint16_t>(p.type << 8 | p.code);
    return under(p.source, r.source) && under(p.destination, r.destination) &&
           in(p.source_port, r.source_port) && in(p.destination_port, r.destination_port) &&
           ((p.protocol ^ r.protocol.value) & r.protocol.mask) == 0 &&
           ((extra ^ r.tcp_flags.value) & r.tcp_flags.mask) == 0;
}

reference_packet packet_for(random_things& random, const acl::rule& r) {
    reference_packet p;
    const auto any = [&] { return random.below(UINT32_MAX); };
    const auto mix = [&](const acl::address_match& m) {
        const auto mask = load_be<uint32_t>(m.mask.data());
        return (any() & ~mask) | load_be<uint32_t>(m.value.data());
    };
    const auto port_in = [&](const acl::port_range& range) {
        return static_cast<uint16_t>(range.first + random.below(range.last - range.first + 1U));
    };
    p.source = mix(r.source);
    p.destination = mix(r.destination);
    p.protocol = r.protocol.mask == 0 ? random.protocol(false) : r.protocol.value;
    if (has_ports(p.protocol)) {
        p.source_port = port_in(r.source_port);
        p.destination_port = port_in(r.destination_port);
    }
    const auto extra =
        static_cast<uint16_t>((any() & ~r.tcp_flags.mask) | (r.tcp_flags.value & r.tcp_flags.mask));
    if (p.protocol == tcp_number) p.flags = static_cast<uint8_t>(extra >> 8);
    if (p.protocol == icmp)
        p.type = static_cast<uint8_t>(extra >> 8), p.code = static_cast<uint8_t>(extra);
    return p;
}

TEST(acl_differential, classbench_sets_on_a_patch) {
    const classbench_sets sets;
    if (sets.files.empty()) GTEST_SKIP() << "no ClassBench sets in ../shared/data/classbench";
    constexpr uint32_t packets = 1'500;
    for (const char* name : {"acl1_1k", "acl2_10k", "fw1_1k", "fw5_1k", "ipc1_10k", "ipc2_1k"}) {
        const auto path = std::find_if(sets.files.begin(), sets.files.end(),
                                       [&](const auto& f) { return f.filename() == name; });
        ASSERT_NE(path, sets.files.end());
        const auto file = *acl::read_rules(*path);
        path_lab l(
            "acl:\n  - {name: a, default: permit, rules: [{action: deny, file: " + path->string() +
            "}]}\nports:\n  - {name: west, device: d0, acl: {in: a}}\n"
            "  - {name: east, device: d1}\nxconnects: [[west, east]]\n");
        l.links(true);
        l.worker().start();
        random_things random(9);
        std::vector<uint64_t> hits(file.rules.size() + 1);
        for (uint32_t number = 0; number < packets;) {
            std::vector<uint32_t> expected;
            for (int i = 0; i < 32; ++i, ++number) {
                const reference_packet p =
                    random.one_in(8)
                        ? random.packet()
                        : packet_for(
                              random,
                              file.rules[random.below(static_cast<uint32_t>(file.rules.size()))]);
                if (p.v6 || p.offset != 0 || p.more) continue;
                ASSERT_TRUE(l.offer(0, p.frame(number)));
                const auto first = std::find_if(file.rules.begin(), file.rules.end(),
                                                [&](const acl::rule& r) { return says(r, p); });
                ++hits[static_cast<size_t>(first - file.rules.begin())];
                if (first == file.rules.end()) expected.push_back(number);
            }
            for (int i = 0; i < 3; ++i) l.worker().poll();
            ASSERT_EQ(numbers(l.sent(1)), expected) << name;
        }
        const auto report = l.acls()[0];
        ASSERT_EQ(report.rules.size(), hits.size() + 1);
        for (size_t i = 0; i < hits.size(); ++i)
            EXPECT_EQ(report.rules[i + 1].packets, hits[i])
                << name << " " << report.rules[i + 1].where;
        EXPECT_GT(report.denied, packets / 2);
        l.worker().finish();
    }
}

}  // namespace
}  // namespace turnpike
