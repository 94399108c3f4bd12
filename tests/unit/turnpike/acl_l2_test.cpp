// SPDX-License-Identifier: BSD-3-Clause
// L2 ACLs on bridge members: where they apply, and random frames against random lists, compared with
// a plain reference that evaluates the list rule by rule, field by field, from the top.
#include <fmt/format.h>

#include <random>

#include "bridge_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using datapath::drop_reason;
using lab = bridge_lab;

constexpr const char* pair_of_members = "{port: p0}, {port: p1}";

std::string listed(const std::string& rules, const std::string& where,
                   const std::string& members = pair_of_members,
                   const std::string& fallback = "permit") {
    return "acl:\n  - {name: frames, layer: 2, default: " + fallback + ", rules: [" + rules +
           "]}\nports:\n  - {name: p0, device: d0, acl: {" + where +
           "}}\n  - {name: p1, device: d1}\n" + bridge(members);
}

byte_vector arp_frame(const byte_vector& from) { return frame(everybody, from, 0, 0x0806); }

TEST(acl_l2, judges_every_frame_by_its_addresses_and_type) {
    lab l(
        listed("{action: deny, source_mac: 02:00:00:01:00:05}, "
               "{action: deny, name: vendor, source_mac: 06:11:22:00:00:00/ff:ff:ff:00:00:00}, "
               "{action: deny, destination_mac: 01:00:00:00:00:00/01:00:00:00:00:00, "
               "ethertype: 0x88b5}, {action: deny, ethertype: arp}, {action: deny, ethertype: llc}",
               "l2_in: frames"));
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1))), "1");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), fdb_entry(5))), "");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), {6, 0x11, 0x22, 9, 9, 9})), "");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), {6, 0x11, 0x23, 9, 9, 9})), "1");
    EXPECT_EQ(l.egress_ports(0, frame(everybody, fdb_entry(1))), "") << "a group";
    EXPECT_EQ(l.egress_ports(0, frame(everybody, fdb_entry(1), 0, type4)), "1");
    EXPECT_EQ(l.egress_ports(0, arp_frame(fdb_entry(1))), "");
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(9), fdb_entry(1), 0, 46)), "") << "a length";
    EXPECT_EQ(l.egress_ports(0, tagged(frame(fdb_entry(9), fdb_entry(1), 0, 0x0806), 7)), "")
        << "behind a tag";
    EXPECT_EQ(l.egress_ports(1, arp_frame(fdb_entry(2))), "0") << "the other member has no list";
    EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny), 6U);
    const auto report = l.acls();
    ASSERT_EQ(report.size(), 1U);
    EXPECT_EQ(report[0].interface, "p0");
    EXPECT_EQ(report[0].direction, "l2_in");
    EXPECT_EQ(report[0].denied, 6U);
    EXPECT_EQ(report[0].permitted, 3U);
    ASSERT_EQ(report[0].rules.size(), 6U) << "none of turnpike's own";
    EXPECT_EQ(report[0].rules[1].name, "vendor");
    EXPECT_EQ(report[0].rules[1].packets, 1U);
    EXPECT_EQ(report[0].rules[1].bytes, 60U);
    EXPECT_EQ(report[0].rules[5].packets, 3U);
    EXPECT_EQ(l.learnt(), "p0 01, p0 09, p1 02") << "the source of a denied frame is not learnt";
}

/// The list also applies to frames that bridges do not forward; flooded copies are classified one
/// by one on egress.
TEST(acl_l2, judges_reserved_frames_and_copies) {
    const std::string lists =
        "acl:\n  - {name: no-arp, layer: 2, default: permit, rules: [{action: deny, ethertype: "
        "arp}]}\n"
        "  - {name: no-lldp, layer: 2, default: permit, rules: [{action: deny, ethertype: lldp}]}\n"
        "ports:\n  - {name: p0, device: d0, acl: {l2_in: no-lldp}}\n"
        "  - {name: p1, device: d1, acl: {l2_out: no-arp}}\n  - {name: p2, device: d2}\n";
    lab l(lists + bridge("{port: p0}, {port: p1}, {port: p2}"));
    EXPECT_EQ(l.egress_ports(0, frame({1, 0x80, 0xc2, 0, 0, 0x0e}, fdb_entry(1), 0, 0x88cc)), "");
    EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny), 1U);
    EXPECT_EQ(l.dropped(drop_reason::bridge_reserved), 0U);
    EXPECT_EQ(l.egress_ports(0, arp_frame(fdb_entry(1))), "2");
    EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny_out), 1U);
    l.egress_ports(1, frame(fdb_entry(9), fdb_entry(2)));
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1), 0, 0x0806)), "")
        << "nor where it is known";
    EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny_out), 2U);
    EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1");
}

/// Copies that a list denies are not sent; a frame without another member is not flooded.
TEST(acl_l2, denied_copies_are_not_counted_as_sent) {
    const std::string lists =
        "acl:\n  - {name: no-arp, layer: 2, default: permit, rules: [{action: deny, ethertype: "
        "arp}]}\nports:\n  - {name: p0, device: d0}\n  - {name: p3, device: d3}\n";
    // The copies, and the frame itself, which the last member gets.
    for (const bool last : {false, true}) {
        const std::string denies = ", acl: {l2_out: no-arp}}\n";
        lab l(lists + "  - {name: p1, device: d1" + (last ? "}\n" : denies) +
              "  - {name: p2, device: d2" + (last ? denies : "}\n") +
              "bridges:\n  - name: lan\n    members: [{port: p0}, {port: p1}, {port: p2}]\n"
              "  - name: lonely\n    members: [{port: p3}]\n");
        const auto counted = [&](const char* bridge) {
            return l.controller().bridges().counted(
                l.controller().bridges().first_domain_of(bridge));
        };
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(l.offer(0, arp_frame(fdb_entry(1))));
        ASSERT_TRUE(l.offer(0, frame(everybody, fdb_entry(1))));
        l.settle();
        EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny_out), 3U);
        EXPECT_EQ(counted("lan").tx_packets, 3U + 2U);
        EXPECT_EQ(counted("lan").flooded, 4U);
        ASSERT_TRUE(l.offer(1, arp_frame(fdb_entry(4))));
        l.settle();
        EXPECT_EQ(l.dropped(drop_reason::flood_no_member), 1U);
        EXPECT_EQ(counted("lonely").flooded, 0U);
    }
}

/// The L2 list comes first: a frame is forwarded only if both lists permit it.
TEST(acl_l2, beside_a_list_of_ip_packets) {
    const byte_vector udp_frame =
        ethernet(type4, ipv4({}, udp(counted(18))), fdb_entry(2), fdb_entry(1));
    const std::string lists =
        "acl:\n  - {name: no-udp, default: permit, rules: [{action: deny, protocol: udp}]}\n"
        "  - {name: no-five, layer: 2, default: permit, rules: [{action: deny, source_mac: "
        "02:00:00:01:00:05}]}\nports:\n";
    for (const bool out : {false, true}) {
        const std::string both =
            out ? "{out: no-udp, l2_out: no-five}" : "{in: no-udp, l2_in: no-five}";
        lab l(lists + "  - {name: p0, device: d0" + (out ? "" : ", acl: " + both) +
              "}\n  - {name: p1, device: d1" + (out ? ", acl: " + both : "") + "}\n" +
              bridge(pair_of_members));
        const auto l2 = out ? drop_reason::acl_l2_deny_out : drop_reason::acl_l2_deny;
        const auto l3 = out ? drop_reason::acl_deny_out : drop_reason::acl_deny;
        EXPECT_EQ(l.egress_ports(0, udp_frame), "");
        EXPECT_EQ(l.dropped(l3), 1U);
        byte_vector from_five = udp_frame;
        from_five[11] = 5;
        EXPECT_EQ(l.egress_ports(0, from_five), "");
        EXPECT_EQ(l.dropped(l2), 1U);
        EXPECT_EQ(l.dropped(l3), 1U);
        EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(1))), "1");
        EXPECT_EQ(l.egress_ports(0, frame(fdb_entry(2), fdb_entry(5))), "");
        EXPECT_EQ(l.dropped(l2), 2U);
    }
}

TEST(acl_l2, knows_vlans_as_the_bridge_does) {
    const std::string deny = "{action: deny, vlan: 20}";
    const byte_vector f = frame(everybody, fdb_entry(1));
    {
        lab l(listed(deny, "l2_in: frames"));
        EXPECT_EQ(l.egress_ports(0, tagged(f, 0xe014)), "") << "its own tag, whatever its priority";
        EXPECT_EQ(l.egress_ports(0, tagged(tagged(f, 20), 7, type_service)), "1")
            << "the outer one";
        EXPECT_EQ(l.egress_ports(0, f), "1");
    }
    {
        lab l(listed("{action: permit, vlan: untagged}", "l2_in: frames", pair_of_members, "deny"));
        EXPECT_EQ(l.egress_ports(0, f), "1");
        EXPECT_EQ(l.egress_ports(0, tagged(f, 0)), "");
    }
    {
        lab l(listed(deny, "l2_in: frames",
                     "{port: p0, mode: native-untagged, vlan: 20, trunks: [19, 20, 21], translate: "
                     "[{wire: 110, vlan: "
                     "21}]}, {port: p1, mode: trunk}"));
        EXPECT_EQ(l.egress_ports(0, f), "") << "it has no tag and is of VLAN 20";
        EXPECT_EQ(l.egress_ports(0, tagged(f, 20)), "");
        const byte_vector translated = tagged(f, 21), same = tagged(f, 19);
        EXPECT_EQ(l.egress_ports(0, tagged(f, 110), &translated), "1");
        EXPECT_EQ(l.egress_ports(0, same), "1");
    }
    {
        lab l(listed(deny, "l2_out: frames",
                     "{port: p0, mode: access, vlan: 20}, {port: p1, mode: trunk}"));
        EXPECT_EQ(l.egress_ports(1, tagged(f, 20)), "") << "it would leave without a tag";
        EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny_out), 1U);
    }
}

/// Packets routed into a bridge leave by members that have egress lists.
TEST(acl_l2, judges_what_is_routed_into_the_bridge) {
    lab l(
        "acl:\n  - {name: frames, layer: 2, rules: []}\n"
        "ports:\n  - {name: p0, device: d0, acl: {l2_out: frames}}\n  - {name: p1, device: d1}\n"
        "  - {name: p2, device: d2, addresses: [10.0.2.254/24]}\n" +
        bridge("{port: p0}, {port: p1}", "    addresses: [10.0.1.254/24]\n") +
        "neighbours: {static: [{address: 10.0.1.1, mac: \"02:00:00:01:00:01\"}]}\n");
    const byte_vector in = ethernet(
        type4, ipv4({.source = 0x0a000202, .destination = 0x0a000101}, udp(counted(18))),
        {l.snapshot().port[2].mac.bytes, l.snapshot().port[2].mac.bytes + 6}, fdb_entry(2));
    ASSERT_TRUE(l.offer(2, in));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 1U);
    EXPECT_EQ(l.sent(0).size(), 0U);
    EXPECT_GE(l.dropped(drop_reason::acl_l2_deny_out), 1U);
}

/// Frames that are as short as can be, or lie in several buffers.
TEST(acl_l2, reads_what_is_there) {
    lab l(listed("{action: deny, ethertype: 0x88b5}", "l2_in: frames"));
    const byte_vector f = tagged(tagged(frame(fdb_entry(9), fdb_entry(1)), 3), 2, type_service);
    const auto cut = [&](size_t bytes) { return byte_vector(f.begin(), f.begin() + bytes); };
    for (const size_t bytes : {14U, 15U, 17U, 18U, 21U})
        EXPECT_EQ(l.egress_ports(0, cut(bytes)), "1") << bytes;
    EXPECT_EQ(l.egress_ports(0, cut(22)), "");
    rte_mbuf *head = l.packet_of(cut(14)),
             *tail = l.packet_of(byte_vector(f.begin() + 14, f.end()));
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    ASSERT_TRUE(l.offer_packet(0, head));
    l.settle();
    EXPECT_EQ(l.sent(1).size(), 0U);
    EXPECT_EQ(l.dropped(drop_reason::acl_l2_deny), 2U);
}

// Random frames and lists.

using mac_bits = uint64_t;  ///< 48 bits, the first byte highest

byte_vector bytes_of(mac_bits m) {
    byte_vector out;
    for (int i = 5; i >= 0; --i) out.push_back(static_cast<uint8_t>(m >> 8 * i));
    return out;
}
std::string text_of(mac_bits m) {
    const byte_vector b = bytes_of(m);
    return fmt::format("{:02x}", fmt::join(b, ":"));
}

struct reference_tag {
    uint16_t type, tci;
};
struct reference_frame {
    mac_bits to = 0, from = 0;
    std::vector<reference_tag> tags{};  ///< the outer one first
    uint16_t type = 0;

    [[nodiscard]] byte_vector bytes(uint32_t number) const {
        byte_vector out = ethernet(type, counted(42) + be(number), bytes_of(to), bytes_of(from));
        for (auto t = tags.rbegin(); t != tags.rend(); ++t) out = tagged(out, t->tci, t->type);
        return out;
    }
    /// Behind two tags at most.
    [[nodiscard]] uint16_t judged_type() const { return tags.size() > 2 ? tags[2].type : type; }
    [[nodiscard]] std::optional<uint16_t> outer() const {
        if (tags.empty()) return std::nullopt;
        return static_cast<uint16_t>(tags[0].tci & 0xfff);
    }
};

struct reference_mac {
    mac_bits value, mask;
};
struct reference_rule {
    std::string action;
    std::optional<reference_mac> source{}, destination{};
    std::optional<std::pair<uint16_t, uint16_t>> type{};
    std::optional<int> vlan{};  ///< -1: untagged

    [[nodiscard]] bool matches(const reference_frame& f, std::optional<uint16_t> in_vlan) const {
        const auto is = [](const std::optional<reference_mac>& m, mac_bits a) {
            return !m || (a & m->mask) == m->value;
        };
        const uint16_t t = f.judged_type();
        return is(source, f.from) && is(destination, f.to) &&
               (!type || (t >= type->first && t <= type->second)) &&
               (!vlan || (*vlan == -1 ? !in_vlan : in_vlan == *vlan));
    }
    [[nodiscard]] std::string yaml() const {
        std::string out = "{action: " + action;
        const auto mac = [&](const char* key, const std::optional<reference_mac>& m) {
            if (!m) return;
            out += fmt::format(", {}: \"{}", key, text_of(m->value));
            out += m->mask == 0xffff'ffff'ffff ? "\"" : '/' + text_of(m->mask) + '"';
        };
        mac("source_mac", source);
        mac("destination_mac", destination);
        if (type)
            out +=
                type->first == 0 ? ", ethertype: llc" : fmt::format(", ethertype: {}", type->first);
        if (vlan) out += *vlan == -1 ? ", vlan: untagged" : fmt::format(", vlan: {}", *vlan);
        return out + "}";
    }
};

class random_things {
  public:
    explicit random_things(uint32_t seed) : random_(seed) {}
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    bool one_in(uint32_t n) { return below(n) == 0; }

    /// Few of each, so that rules and frames meet.
    mac_bits mac(bool fdb_entry) {
        constexpr mac_bits vendors[] = {0x02'00'00'000000, 0x06'aa'bb'000000, 0x0a'aa'bb'000000,
                                        0x01'00'5e'000000, 0x33'33'00'000000};
        return vendors[below(fdb_entry ? 3 : 5)] | (one_in(3) ? below(4) << 16 : 0) |
               below(5) << 8 | below(16);
    }
    uint16_t type() {
        constexpr uint16_t types[] = {0x0806, 0x88b5, 0x88cc, 0x8847, 46, 1500, 1535, 1536};
        return types[below(std::size(types))];
    }
    reference_rule rule() {
        reference_rule r{.action = one_in(2) ? "permit" : "deny"};
        const auto masked = [&](bool fdb_entry) -> reference_mac {
            constexpr mac_bits masks[] = {0xffffffffffff, 0xffffffffffff, 0xffffffffffff,
                                          0xffffff000000, 0x00000000000f, 0x0100000000ff,
                                          0xffff0000ff00, 0x040000000001};
            const mac_bits mask = masks[below(std::size(masks))];
            return {mac(fdb_entry) & mask, mask};
        };
        do {
            if (one_in(2)) r.source = masked(true);
            if (one_in(2)) r.destination = masked(false);
            if (one_in(3)) {
                const uint16_t t = type();
                r.type = t < 1536 ? std::pair<uint16_t, uint16_t>{0, 1535} : std::pair{t, t};
            }
            if (one_in(4)) r.vlan = static_cast<int>(below(5)) - 1;
        } while (r.source.has_value() + r.destination.has_value() + r.type.has_value() +
                     r.vlan.has_value() <
                 2);
        return r;
    }
    reference_frame frame() {
        reference_frame f{.to = mac(false), .from = mac(true), .type = type()};
        for (uint32_t tags = one_in(2) ? 0 : 1 + below(3); tags > 0; --tags)
            f.tags.push_back({one_in(3) ? type_service : type_vlan,
                              static_cast<uint16_t>(below(8) << 13 | below(5))});
        return f;
    }

  private:
    std::mt19937 random_;
};

/// A list as it is read: from the top, until a rule decides.
struct reference_list {
    std::vector<reference_rule> rules;
    std::vector<uint64_t> hits;

    reference_list(random_things& random, size_t n) : hits(n + 1) {
        while (rules.size() < n) rules.push_back(random.rule());
        for (size_t i = 0; i < n; i += 1 + n / 4) rules[i].action = "count";
    }
    [[nodiscard]] std::string yaml(const char* name) const {
        std::string out =
            fmt::format("  - name: {}\n    layer: 2\n    default: permit\n    rules:\n", name);
        for (const reference_rule& r : rules) out += "      - " + r.yaml() + "\n";
        return out;
    }
    bool permits(const reference_frame& f, std::optional<uint16_t> vlan) {
        for (size_t i = 0; i < rules.size(); ++i) {
            if (!rules[i].matches(f, vlan)) continue;
            ++hits[i];
            if (rules[i].action != "count") return rules[i].action == "permit";
        }
        ++hits.back();
        return true;
    }
    void compare(const observe::acl_report& with) const {
        ASSERT_EQ(with.rules.size(), hits.size());
        for (size_t i = 0; i < hits.size(); ++i)
            EXPECT_EQ(with.rules[i].packets, hits[i]) << i << " " << with.rules[i].where;
    }
};

/// A bridge that floods everything from p0 to p1, and the VLAN that its lists know a frame by.
struct flood_setup {
    std::string members;
    std::optional<uint16_t> (*vlan)(const reference_frame&);
};

class acl_l2_differential : public ::testing::TestWithParam<std::pair<size_t, bool>> {};

TEST_P(acl_l2_differential, random_lists) {
    const auto [rules, by_vlan] = GetParam();
    // By VLAN: a frame without a tag of p0's type, or with VLAN identifier 0, belongs to VLAN 3.
    const flood_setup setup =
        by_vlan ? flood_setup{"{port: p0, mode: native-untagged, vlan: 3, learning: false}, "
                           "{port: p1, mode: trunk}",
                           [](const reference_frame& f) -> std::optional<uint16_t> {
                               const bool looked_at = !f.tags.empty() && f.tags[0].type == type_vlan;
                               return looked_at && *f.outer() != 0 ? *f.outer() : uint16_t{3};
                           }}
                : flood_setup{"{port: p0, learning: false}, {port: p1}",
                           [](const reference_frame& f) { return f.outer(); }};
    random_things random(static_cast<uint32_t>(rules));
    reference_list in(random, rules), out(random, rules);
    lab l("acl:\n" + in.yaml("way-in") + out.yaml("way-out") +
          "ports:\n  - {name: p0, device: d0, acl: {l2_in: way-in}}\n"
          "  - {name: p1, device: d1, acl: {l2_out: way-out}}\n" +
          bridge(setup.members));
    constexpr uint32_t frames = 6'000;
    uint32_t passed = 0;
    for (uint32_t number = 0; number < frames;) {
        std::vector<uint32_t> expected, came;
        const uint32_t end = number + 1 + random.below(40);
        for (; number < end; ++number) {
            const reference_frame f = random.frame();
            ASSERT_TRUE(l.offer(0, f.bytes(number)));
            if (in.permits(f, setup.vlan(f)) && out.permits(f, setup.vlan(f)))
                expected.push_back(number);
        }
        l.settle();
        for (const byte_vector& f : l.sent(1)) came.push_back(load_be<uint32_t>(&f[f.size() - 4]));
        ASSERT_EQ(came, expected);
        passed += static_cast<uint32_t>(came.size());
    }
    const auto report = l.acls();
    in.compare(report[0]);
    out.compare(report[1]);
    EXPECT_GT(passed, frames / 10) << "or little was compared";
    EXPECT_LT(passed, frames * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(
    lists, acl_l2_differential,
    ::testing::Values(std::pair<size_t, bool>{20, false}, std::pair<size_t, bool>{60, true},
                      std::pair<size_t, bool>{1000, false}, std::pair<size_t, bool>{1000, true}),
    [](const auto& p) {
        return std::to_string(p.param.first) + (p.param.second ? "_by_vlan" : "_as_they_are");
    });

}  // namespace
}  // namespace turnpike
