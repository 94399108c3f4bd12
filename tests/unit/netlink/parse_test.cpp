// SPDX-License-Identifier: BSD-3-Clause
// Recorded messages of a kernel (recorded.txt, by record.py) parse as the commands that caused
// them; a truncated or wrong message is refused by name, and never read beyond its end.
#include "netlink/parse.hpp"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "lib/guarded_memory.hpp"
#include "lib/source_tree.hpp"

namespace turnpike::netlink {
namespace {

using bytes = std::vector<uint8_t>;

/// By command: its datagrams.
std::map<std::string, std::vector<bytes>> recorded() {
    std::map<std::string, std::vector<bytes>> out;
    std::ifstream file(test::source_path("tests/unit/netlink/recorded.txt"));
    std::string line, command;
    while (std::getline(file, line)) {
        if (line.starts_with("> ")) {
            command = line.substr(2);
            continue;
        }
        bytes b;
        for (size_t at = 0; at + 1 < line.size(); at += 2)
            b.push_back(static_cast<uint8_t>(std::stoul(line.substr(at, 2), nullptr, 16)));
        out[command].push_back(std::move(b));
    }
    return out;
}

class netlink_parse : public testing::Test {
  protected:
    /// All that a command made, of one kind.
    template <class T>
    std::vector<T> of(const std::string& command) {
        std::vector<T> out;
        EXPECT_TRUE(all_.contains(command)) << command;
        for (const bytes& datagram : all_[command])
            EXPECT_EQ(parse(
                          datagram,
                          [&](message&& m) {
                              if (auto* one = std::get_if<T>(&m.what))
                                  out.push_back(std::move(*one));
                          },
                          [](const error& e) { ADD_FAILURE() << e.message(); }),
                      0U)
                << command;
        return out;
    }
    template <class T>
    T one(const std::string& command) {
        const auto some = of<T>(command);
        EXPECT_EQ(some.size(), 1U) << command;
        return some.empty() ? T{} : some.front();
    }
    static ip_address address_of(const char* text) { return *parse_address(text); }
    static ip_prefix prefix_of(const char* text) { return *parse_prefix(text); }

    std::map<std::string, std::vector<bytes>> all_ = recorded();
};

TEST_F(netlink_parse, links) {
    const auto made = of<link>("ip link set west address 02:00:00:00:00:0b mtu 1400 up").back();
    EXPECT_EQ(made.name, "west");
    EXPECT_EQ(made.mtu, 1400U);
    EXPECT_EQ(made.mac, *parse_mac("02:00:00:00:00:0b"));
    EXPECT_TRUE(made.up);
    EXPECT_FALSE(made.carrier);
    EXPECT_FALSE(made.gone);
    const auto came = of<link>("ip link set far up").back();
    EXPECT_EQ(came.name, "west");
    EXPECT_TRUE(came.carrier);
    const auto lost = of<link>("ip link set far down").back();
    EXPECT_EQ(lost.name, "west");
    EXPECT_TRUE(lost.up);
    EXPECT_FALSE(lost.carrier);
    const auto gone = of<link>("ip link del west");
    EXPECT_TRUE(std::any_of(gone.begin(), gone.end(), [&](const link& l) {
        return l.gone && l.name == "west" && l.index == made.index;
    }));
}

/// An attribute: length and type, the payload, and its padding.
bytes attribute(uint16_t type, const bytes& payload) {
    const auto length = static_cast<uint16_t>(4 + payload.size());
    bytes out(4);
    std::memcpy(out.data(), &length, 2);
    std::memcpy(out.data() + 2, &type, 2);
    out.insert(out.end(), payload.begin(), payload.end());
    out.resize((out.size() + 3) / 4 * 4);
    return out;
}
bytes number(uint32_t n) {
    bytes out(4);
    std::memcpy(out.data(), &n, 4);
    return out;
}
bytes joined(bytes a, const bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// A VRF device, and an interface in it: rtnl_fill_ifinfo() and vrf_fillinfo(). This kernel has no VRF devices.
TEST_F(netlink_parse, links_of_a_vrf) {
    const auto read = [](const char* kind) {
        ifinfomsg head{};
        head.ifi_index = 7;
        bytes content(sizeof head);
        std::memcpy(content.data(), &head, sizeof head);
        const bytes name(kind, kind + std::strlen(kind) + 1);
        content = joined(
            joined(content, attribute(IFLA_MASTER, number(5))),
            attribute(IFLA_LINKINFO,
                      joined(attribute(IFLA_INFO_KIND, name),
                             attribute(IFLA_INFO_DATA, attribute(IFLA_VRF_TABLE, number(1001))))));
        nlmsghdr m{};
        m.nlmsg_len = static_cast<uint32_t>(sizeof m + content.size());
        m.nlmsg_type = RTM_NEWLINK;
        bytes datagram(sizeof m);
        std::memcpy(datagram.data(), &m, sizeof m);
        link out;
        EXPECT_EQ(parse(
                      joined(datagram, content),
                      [&out](message&& one) { out = std::get<link>(one.what); },
                      [](const error& e) { ADD_FAILURE() << e.message(); }),
                  0U);
        return out;
    };
    const link vrf = read("vrf");
    EXPECT_EQ(vrf.index, 7U);
    EXPECT_EQ(vrf.master, 5U);
    EXPECT_EQ(vrf.vrf_table, 1001U);
    EXPECT_EQ(read("vlan").vrf_table, 0U) << "another kind's data";
}

TEST_F(netlink_parse, addresses) {
    const auto v4 = one<address>("ip addr add 10.0.1.1/24 dev west");
    EXPECT_EQ(v4.local, prefix_of("10.0.1.1/24"));
    EXPECT_FALSE(v4.remote || v4.gone);
    const auto peer = one<address>("ip addr add 10.0.9.1 peer 10.0.9.2/32 dev west");
    EXPECT_EQ(peer.local, prefix_of("10.0.9.1/32"));
    const auto v6 = of<address>("ip addr add 2001:db8:1::1/64 dev west nodad").back();
    EXPECT_EQ(v6.local, prefix_of("2001:db8:1::1/64"));
    EXPECT_EQ(v6.interface, v4.interface);
    const auto gone = of<address>("ip addr del 10.0.1.1/24 dev west").front();
    EXPECT_TRUE(gone.gone);
    EXPECT_EQ(gone.local, prefix_of("10.0.1.1/24"));
}

TEST_F(netlink_parse, neighbours) {
    const auto made =
        one<neighbour>("ip neigh add 10.0.1.2 lladdr 02:00:00:00:00:0d dev west nud reachable");
    EXPECT_EQ(made.at, address_of("10.0.1.2"));
    EXPECT_EQ(made.mac, *parse_mac("02:00:00:00:00:0d"));
    EXPECT_EQ(made.state, 0x02);  // NUD_REACHABLE
    EXPECT_TRUE(of<neighbour>("ip neigh del 10.0.1.2 dev west").back().gone);
    const auto fixed =
        one<neighbour>("ip neigh add 10.0.1.5 lladdr 02:00:00:00:00:0e dev west nud permanent");
    EXPECT_EQ(fixed.state, 0x80);  // NUD_PERMANENT
    EXPECT_EQ(fixed.flags, 0);
    const auto elsewhere = one<neighbour>(
        "ip neigh add 10.0.1.6 lladdr 02:00:00:00:00:0e dev west nud permanent extern_learn");
    EXPECT_EQ(elsewhere.flags, 0x10);  // NTF_EXT_LEARNED
}

constexpr uint16_t changes = NLM_F_CREATE | NLM_F_EXCL | NLM_F_REPLACE | NLM_F_APPEND;

TEST_F(netlink_parse, routes_with_one_way) {
    const auto made =
        one<route>("ip route add 10.5.0.0/16 via 10.0.1.2 dev west proto bgp metric 20");
    EXPECT_EQ(made.to, prefix_of("10.5.0.0/16"));
    EXPECT_EQ(made.table, uint32_t{RT_TABLE_MAIN});
    EXPECT_EQ(made.protocol, RTPROT_BGP);
    EXPECT_EQ(made.type, RTN_UNICAST);
    EXPECT_EQ(made.metric, 20U);
    ASSERT_EQ(made.nexthops.size(), 1U);
    EXPECT_EQ(made.nexthops[0].via, address_of("10.0.1.2"));
    EXPECT_FALSE(made.gone);
    EXPECT_EQ(made.how & changes, NLM_F_CREATE | NLM_F_EXCL);
    const auto other =
        one<route>("ip route replace 10.5.0.0/16 via 10.0.1.3 dev west proto bgp metric 20");
    EXPECT_EQ(other.nexthops[0].via, address_of("10.0.1.3"));
    EXPECT_EQ(other.how & changes, NLM_F_REPLACE);
    EXPECT_EQ(
        one<route>("ip route append 10.5.0.0/16 via 10.0.1.4 dev west proto bgp metric 20").how &
            changes,
        NLM_F_CREATE | NLM_F_APPEND);
    EXPECT_TRUE(one<route>("ip route del 10.5.0.0/16 via 10.0.1.3").gone);
    // RFC 8950's: IPv4 by an IPv6 neighbour.
    const auto by_v6 = one<route>("ip route add 10.6.0.0/16 via inet6 fe80::1 dev west proto bgp");
    EXPECT_EQ(by_v6.nexthops.at(0).via, address_of("fe80::1"));
    EXPECT_EQ(one<route>("ip route add default via 10.0.1.2 table 1000").table, 1000U);
    EXPECT_EQ(one<route>("ip route add default via 10.0.1.2 table 1000").to,
              prefix_of("0.0.0.0/0"));
}

TEST_F(netlink_parse, routes_that_send_nothing) {
    EXPECT_EQ(one<route>("ip route add blackhole 192.0.2.0/24 proto static").type, RTN_BLACKHOLE);
    EXPECT_EQ(one<route>("ip route add blackhole 192.0.2.0/24 proto static").protocol,
              RTPROT_STATIC);
    EXPECT_EQ(one<route>("ip route add unreachable 2001:db8:dead::/48").type, RTN_UNREACHABLE);
    EXPECT_EQ(one<route>("ip route add unreachable 2001:db8:dead::/48").to,
              prefix_of("2001:db8:dead::/48"));
    EXPECT_EQ(one<route>("ip route add prohibit 198.51.100.0/24").type, RTN_PROHIBIT);
}

TEST_F(netlink_parse, routes_with_several_ways) {
    const auto v4 = one<route>(
        "ip route add 10.7.0.0/16 proto ospf nexthop via 10.0.1.2 weight 1 nexthop via 10.0.1.3 "
        "weight 5");
    ASSERT_EQ(v4.nexthops.size(), 2U);
    EXPECT_EQ(v4.protocol, RTPROT_OSPF);
    EXPECT_EQ(v4.nexthops[0].via, address_of("10.0.1.2"));
    EXPECT_EQ(v4.nexthops[0].weight, 1);
    EXPECT_EQ(v4.nexthops[1].via, address_of("10.0.1.3"));
    EXPECT_EQ(v4.nexthops[1].weight, 5);
    EXPECT_NE(v4.nexthops[0].interface, 0U);
    const auto v6 = one<route>(
        "ip -6 route add 2001:db8:7::/48 proto ospf nexthop via 2001:db8:1::2 nexthop via "
        "2001:db8:1::3");
    ASSERT_EQ(v6.nexthops.size(), 2U);
    EXPECT_EQ(v6.nexthops[1].via, address_of("2001:db8:1::3"));
}

TEST_F(netlink_parse, next_hops_and_groups) {
    const auto v4 = one<next_hop>("ip nexthop add id 7 via 10.0.1.2 dev west proto zebra");
    EXPECT_EQ(v4.id, 7U);
    EXPECT_EQ(v4.protocol, RTPROT_ZEBRA);
    EXPECT_EQ(v4.path.via, address_of("10.0.1.2"));
    EXPECT_NE(v4.path.interface, 0U);
    EXPECT_EQ(one<next_hop>("ip nexthop add id 8 via fe80::8 dev west proto zebra").path.via,
              address_of("fe80::8"));
    EXPECT_TRUE(one<next_hop>("ip nexthop add id 9 blackhole").blackhole);
    const auto group = one<next_hop>("ip nexthop add id 70 group 7,3/8,2 proto zebra");
    EXPECT_EQ(group.group, (std::vector<next_hop::member>{{7, 3}, {8, 2}}));
    EXPECT_FALSE(group.resilient);
    EXPECT_TRUE(one<next_hop>("ip nexthop del id 9").gone);
    const auto by = one<route>("ip route add 10.8.0.0/16 nhid 70 proto bgp metric 20");
    EXPECT_EQ(by.next_hop, 70U);
    EXPECT_EQ(by.nexthops.size(), 2U);
}

TEST_F(netlink_parse, rules) {
    const auto v4 = one<rule>("ip rule add iif west to 10.9.0.0/16 table 1000 priority 77");
    EXPECT_EQ(v4.priority, 77U);
    EXPECT_EQ(v4.table, 1000U);
    EXPECT_EQ(v4.in, "west");
    EXPECT_EQ(v4.to, prefix_of("10.9.0.0/16"));
    EXPECT_FALSE(v4.from.has_value());
    const auto v6 = one<rule>("ip -6 rule add from 2001:db8:9::/48 table 1000 priority 78");
    EXPECT_TRUE(v6.v6);
    EXPECT_EQ(v6.from, prefix_of("2001:db8:9::/48"));
}

TEST_F(netlink_parse, an_answer_and_its_end) {
    std::vector<message> all;
    for (const bytes& datagram : all_["dump"])
        parse(datagram, [&](message&& m) { all.push_back(std::move(m)); });
    ASSERT_GT(all.size(), 5U);
    EXPECT_TRUE(
        std::all_of(all.begin(), all.end(), [](const message& m) { return m.sequence == 99; }));
    EXPECT_EQ(all.back().what, content(done{0}));
    EXPECT_EQ(std::count_if(all.begin(), all.end(),
                            [](const message& m) {
                                const auto* r = std::get_if<route>(&m.what);
                                return r != nullptr && r->to == *parse_prefix("10.8.0.0/16") &&
                                       r->next_hop == 70;
                            }),
              1);
}

/// Its end is the end of readable memory, wherever it is cut.
TEST_F(netlink_parse, nothing_is_read_beyond_the_end) {
    size_t refused = 0;
    for (const auto& [command, datagrams] : all_)
        for (const bytes& datagram : datagrams)
            for (size_t length = 0; length < std::min<size_t>(datagram.size(), 400); ++length) {
                test::guarded_memory memory;
                auto* at = static_cast<uint8_t*>(memory.allocate(length, alignof(uint32_t)));
                std::memcpy(at, datagram.data(), length);
                refused += parse({at, length}, [](message&&) {});
                // The same in a message that says that it is so long.
                if (length < 16) continue;
                const auto says = static_cast<uint32_t>(length);
                std::memcpy(at, &says, sizeof says);
                refused += parse({at, length}, [](message&&) {});
            }
    EXPECT_GT(refused, 1000U);
}

/// Messages with changed fields.
TEST_F(netlink_parse, what_is_wrong_is_named) {
    const auto complaint = [](bytes b) {
        std::string message_text;
        EXPECT_EQ(parse(
                      b, [](message&&) { ADD_FAILURE() << "it was taken"; },
                      [&](const error& e) { message_text = e.message(); }),
                  1U);
        return message_text;
    };
    const std::string command =
        "ip route add 10.5.0.0/16 via 10.0.1.2 dev west proto bgp metric 20";
    bytes b = all_[command].front();
    b[16 + 1] = 33;  // rtm_dst_len
    EXPECT_EQ(complaint(b), "netlink: route: rtm_dst_len is 33, more than 32 (Bad message)");
    b = all_[command].front();
    b[16] = AF_INET6;  // its addresses are not
    EXPECT_NE(complaint(b).find("is not an IPv6 address"), std::string::npos) << complaint(b);
    b = all_[command].front();
    b[16 + 12] = 200;  // the first attribute's length
    EXPECT_NE(complaint(b).find("an attribute does not fit"), std::string::npos) << complaint(b);
    b = all_[command].front();
    b[0] = 200;
    EXPECT_NE(complaint(b).find("netlink: message: does not fit into the"), std::string::npos);
    b[3] = 0xc4;  // as long as no int can say
    EXPECT_NE(complaint(b).find("netlink: message: does not fit into the"), std::string::npos);
    b = all_["ip route add 10.6.0.0/16 via inet6 fe80::1 dev west proto bgp"].front();
    const uint8_t via[] = {AF_INET6, 0, 0xfe, 0x80};
    *std::search(b.begin(), b.end(), via, via + 4) = 99;
    EXPECT_NE(complaint(b).find("RTA_VIA is of family 99"), std::string::npos) << complaint(b);
    b = all_["ip nexthop add id 7 via 10.0.1.2 dev west proto zebra"].front();
    b[16] = 0;
    EXPECT_NE(complaint(b).find("NHA_GATEWAY is of family 0"), std::string::npos) << complaint(b);
}

/// A refused message does not stop the parse of the messages behind it.
TEST_F(netlink_parse, those_behind_a_wrong_one_are_read) {
    bytes two = all_["ip route add blackhole 192.0.2.0/24 proto static"].front();
    two[16 + 1] = 99;
    const bytes& good = all_["ip route add prohibit 198.51.100.0/24"].front();
    two.insert(two.end(), good.begin(), good.end());
    size_t taken = 0;
    EXPECT_EQ(parse(two, [&](message&&) { ++taken; }), 1U);
    EXPECT_EQ(taken, 1U);
}

}  // namespace
}  // namespace turnpike::netlink
