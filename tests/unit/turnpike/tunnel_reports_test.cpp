// SPDX-License-Identifier: BSD-3-Clause
// Membership reports for tunnels' groups: times, versions, and bytes; with simulated
// time.
#include "packet/igmp.hpp"
#include "packet/ipv4.hpp"
#include "packet/ipv6.hpp"
#include "packet/mld.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using packet::group_record;
using packet::igmp_older;

constexpr uint32_t group_a = 0xef01'0203, group_b = 0xef01'0204;
constexpr packet::igmp_host we{{{2, 0, 0, 0, 0, 0x0d}}, us4};
const std::string
    first_group = one_tunnel("g", "239.1.2.3", ", interface: up"),
    second_group = "  - {name: h, vni: 200, local: 10.0.9.1, remote: 239.1.2.4, interface: up}\n",
    v6_group = one_tunnel("s", "ff05::1234", ", interface: up");
std::string with_groups(const std::string& groups, const std::string& more_of_up = "") {
    return underlay(more_of_up) + (groups.empty() ? "" : "tunnels:\n" + groups) +
           bridge("{port: p0}, {port: p1}");
}

byte_vector report_3(std::vector<uint32_t> groups, group_record kind) {
    byte_vector out(packet::igmp_report_bytes(groups.size()));
    EXPECT_EQ(packet::write_igmp_report(out, we, groups, kind), out.size());
    return out;
}
byte_vector older(uint32_t group, igmp_older kind) {
    byte_vector out(packet::igmp_older_bytes);
    EXPECT_EQ(packet::write_igmp_older(out, we, group, kind), out.size());
    return out;
}

class group_reports_lab : public tunnel_lab {
  public:
    using tunnel_lab::tunnel_lab;

    /// The IGMP messages sent by the underlay after `later_ms`.
    std::vector<byte_vector> igmp(uint64_t later_ms = 0) {
        return sent_frames(later_ms, [](const byte_vector& f) { return f[12] == 8 && f[23] == 2; });
    }
    /// Records of MLDv2 of the tunnels' group, and whole messages of version 1; each type before
    /// it.
    std::vector<byte_vector> mld(uint64_t later_ms = 0) {
        std::vector<byte_vector> out;
        for (const byte_vector& f : sent_frames(later_ms, [](const byte_vector& f) {
                 return f[12] == 0x86 && f[20] == 0 &&
                        (f[62] == 143 || f[62] == 131 || f[62] == 132);
             })) {
            const bool two = f[62] == 143;
            for (size_t at = 70; at < f.size(); at += two ? 20 : 16) {
                const byte_vector group(f.begin() + static_cast<long>(at) + (two ? 4 : 0),
                                        f.begin() + static_cast<long>(at) + (two ? 20 : 16));
                if (group == group_six) out.push_back({f[62], two ? f[at] : uint8_t{0}});
            }
        }
        return out;
    }
    void ask(const byte_vector& message, uint32_t to, uint32_t from = two4) {
        byte_vector whole = message;
        store_be(&whole[2], uint16_t{0});
        store_be(&whole[2], packet::checksum(whole));
        const mac_address mac = packet::multicast_mac(to);
        ASSERT_TRUE(offer(2, ethernet(type4,
                                      ipv4({.ttl = 1,
                                            .protocol = 2,
                                            .source = from,
                                            .destination = to,
                                            .options = {0x94, 4, 0, 0}},
                                           whole),
                                      byte_vector(mac.bytes, mac.bytes + 6), two_mac)));
        settle();
    }
    void ask_mld(size_t bytes, const byte_vector& group) {
        byte_vector rest(bytes - 4);
        store_be(rest.data(), uint16_t{500});
        std::copy(group.begin(), group.end(), rest.begin() + 4);
        const byte_vector router{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9},
            all{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        const byte_vector& to = group == zeros(16) ? all : group;
        ASSERT_TRUE(offer(
            2,
            ethernet(0x86dd,
                     ipv6({.next_header = 0, .hop_limit = 1, .source = router, .destination = to},
                          mld_router_alert + icmp6(130, 0, rest, router, to)),
                     {0x33, 0x33, to[12], to[13], to[14], to[15]}, two_mac)));
        settle();
    }

    const byte_vector group_six{0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34};

  private:
    std::vector<byte_vector> sent_frames(uint64_t later_ms, const auto& wanted) {
        control(later_ms);
        settle();
        auto all = sent(2);
        std::erase_if(all, [&](const byte_vector& f) { return !wanted(f); });
        return all;
    }
};

const byte_vector general_3{0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0},
    general_2{0x11, 10, 0, 0, 0, 0, 0, 0}, general_1{0x11, 0, 0, 0, 0, 0, 0, 0},
    of_a{0x11, 10, 0, 0, 239, 1, 2, 3, 2, 125, 0, 0};

TEST(tunnel_reports, groups_are_joined_and_left_twice_each) {
    group_reports_lab l(with_groups(""));
    EXPECT_TRUE(l.igmp().empty());
    ASSERT_TRUE(l.apply(with_groups(first_group + v6_group)));
    const auto joined = one(report_3({group_a}, group_record::to_exclude));
    EXPECT_EQ(l.igmp(), joined);
    EXPECT_EQ(l.igmp(999), (std::vector<byte_vector>{}));
    EXPECT_EQ(l.igmp(1), joined);
    EXPECT_EQ(l.igmp(10'000), (std::vector<byte_vector>{}));
    // A report for another group: the first group is not reported again.
    ASSERT_TRUE(l.apply(with_groups(first_group + second_group + v6_group)));
    EXPECT_EQ(l.igmp(), one(report_3({group_b}, group_record::to_exclude)));
    ASSERT_TRUE(l.apply(with_groups(second_group)));
    const byte_vector left = report_3({group_a}, group_record::to_include);
    EXPECT_EQ(l.igmp(), one(left));
    EXPECT_EQ(l.igmp(1000), (std::vector{left, report_3({group_b}, group_record::to_exclude)}));
    EXPECT_TRUE(l.igmp(10'000).empty());
    // A group that was left is joined again before the second leave report.
    ASSERT_TRUE(l.apply(with_groups("")));
    EXPECT_EQ(l.igmp(), one(report_3({group_b}, group_record::to_include)));
    ASSERT_TRUE(l.apply(with_groups(second_group)));
    const auto again = one(report_3({group_b}, group_record::to_exclude));
    EXPECT_EQ(l.igmp(), again);
    EXPECT_EQ(l.igmp(1000), again);
}

TEST(tunnel_reports, are_said_anew_when_the_link_comes_up) {
    group_reports_lab l(with_groups(first_group + second_group));
    l.igmp(5000);
    l.links(false);
    EXPECT_TRUE(l.igmp(5000).empty());
    l.links(true);
    const auto both = one(report_3({group_a, group_b}, group_record::to_exclude));
    EXPECT_EQ(l.igmp(), both);
    EXPECT_EQ(l.igmp(1000), both);
    EXPECT_TRUE(l.igmp(10'000).empty());
}

TEST(tunnel_reports, answer_queries_within_the_time_that_they_give) {
    group_reports_lab l(with_groups(first_group + second_group));
    l.igmp(5000);
    const auto both = one(report_3({group_a, group_b}, group_record::is_exclude));
    std::set<unsigned> when;
    for (int round = 0; round < 12; ++round) {
        l.ask(general_3, packet::ipv4_all_hosts, round % 2 == 0 ? 0 : two4);
        auto all = l.igmp();
        for (unsigned ms = 100; ms <= 1000; ms += 100) {
            for (const byte_vector& f : l.igmp(100)) {
                all.push_back(f);
                when.insert(ms);
            }
        }
        EXPECT_EQ(all, both);
    }
    EXPECT_GT(when.size(), 1U) << "always at the same time";
    l.ask(of_a, group_a);
    EXPECT_EQ(l.igmp(1000), one(report_3({group_a}, group_record::is_exclude)));
    byte_vector not_ours = of_a;
    not_ours[7] = 9;
    l.ask(not_ours, packet::ipv4_all_hosts);
    l.ask(not_ours, 0xef01'0209);
    EXPECT_TRUE(l.igmp(1000).empty());
    EXPECT_EQ(l.dropped(datapath::drop_reason::ipv4_destination), 1U);
    byte_vector wrong = general_3;
    wrong[0] = 0x16;
    l.ask(wrong, group_a);
    EXPECT_TRUE(l.igmp(1000).empty()) << "another host's report";
}

/// A remote node can send a query to our address, with TTL 1 here. Some switches query from a management address.
TEST(tunnel_reports, remote_queriers_set_no_older_version) {
    group_reports_lab l(with_groups(first_group));
    l.igmp(5000);
    for (const uint32_t source : {0xc633'6407U, 0x0a00'0a01U}) {
        l.ask(general_1, packet::ipv4_all_hosts, source);
        EXPECT_TRUE(l.igmp(10'000).empty());
    }
    l.ask(general_2, packet::ipv4_all_hosts, 0xc633'6407U);
    EXPECT_EQ(l.igmp(10'000), one(older(group_a, igmp_older::report_2))) << "it is answered";
    l.ask(general_3, packet::ipv4_all_hosts);
    EXPECT_EQ(l.igmp(1000), one(report_3({group_a}, group_record::is_exclude)));
}

/// RFC 3376 section 7.2.1: reports use the oldest version of the queriers present, until the timer
/// of the older version expires.
TEST(tunnel_reports, answer_older_routers_in_their_version) {
    group_reports_lab l(with_groups(first_group));
    l.igmp(5000);
    l.ask(general_2, packet::ipv4_all_hosts);
    EXPECT_EQ(l.igmp(1000), one(older(group_a, igmp_older::report_2)));
    l.ask(general_3, packet::ipv4_all_hosts);
    EXPECT_EQ(l.igmp(1000), one(older(group_a, igmp_older::report_2))) << "a newer one beside it";
    for (const char* more : {"10.0.19.1/24, ", ""}) {
        std::string readdressed = with_groups(first_group);
        readdressed.insert(readdressed.find("\"2001:db8:9::1/64\""), more);
        ASSERT_TRUE(l.apply(readdressed));
        EXPECT_EQ(l.igmp(), one(older(group_a, igmp_older::report_2))) << "it is the same link";
        l.igmp(1000);
    }
    ASSERT_TRUE(l.apply(with_groups(second_group)));
    EXPECT_EQ(l.igmp(), (std::vector{older(group_a, igmp_older::leave_2),
                                     older(group_b, igmp_older::report_2)}));
    l.igmp(1000);
    l.ask(general_1, packet::ipv4_all_hosts);
    EXPECT_EQ(l.igmp(10'000), one(older(group_b, igmp_older::report_1)));
    ASSERT_TRUE(l.apply(with_groups("")));
    EXPECT_TRUE(l.igmp(1000).empty()) << "version 1 leaves in silence";
    ASSERT_TRUE(l.apply(with_groups(second_group)));
    l.igmp(260'000);
    l.ask(general_3, packet::ipv4_all_hosts);
    EXPECT_EQ(l.igmp(1000), one(report_3({group_b}, group_record::is_exclude)));
}

TEST(tunnel_reports, of_ipv6_groups_are_mld_s) {
    group_reports_lab l(with_groups(""));
    const std::vector<byte_vector> joined{{143, 4}}, left{{143, 3}}, here{{143, 2}}, none;
    ASSERT_TRUE(l.apply(with_groups(v6_group)));
    EXPECT_EQ(l.mld(), joined);
    EXPECT_EQ(l.mld(1000), joined);
    EXPECT_EQ(l.mld(5000), none);
    l.ask_mld(28, zeros(16));
    EXPECT_EQ(l.mld(500), here);
    l.ask_mld(28, l.group_six);
    EXPECT_EQ(l.mld(500), here);
    byte_vector not_ours = l.group_six;
    not_ours[15] = 0x35;
    l.ask_mld(28, not_ours);
    EXPECT_EQ(l.mld(500), none);
    ASSERT_TRUE(l.apply(with_groups("")));
    EXPECT_EQ(l.mld(), left);
    EXPECT_EQ(l.mld(1000), left);
    EXPECT_EQ(l.mld(5000), none);
    ASSERT_TRUE(l.apply(with_groups(v6_group)));
    l.mld(5000);
    l.ask_mld(24, zeros(16));
    EXPECT_EQ(l.mld(500), (std::vector<byte_vector>{{131, 0}}));
    ASSERT_TRUE(l.apply(with_groups("")));
    EXPECT_EQ(l.mld(), (std::vector<byte_vector>{{132, 0}}));
}

}  // namespace
}  // namespace turnpike
