// SPDX-License-Identifier: BSD-3-Clause
// Explanations: the ACL rule and its place, rules that almost matched, the route and its origin, the ECMP member, the
// FDB entry, the neighbour's state; each compared with the forwarding of the same packet where there is one.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "acl/rule.hpp"
#include "control/management/near_misses.hpp"
#include "control/management/synthetic_frame.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "state/l2_match.hpp"
#include "trace_lab.hpp"
#include "tunnel_lab.hpp"

namespace turnpike {
namespace {

using namespace test;
using nlohmann::json;
namespace flag = state::acl_key;

const char* const filtered =
    "ports:\n"
    "  - {name: p0, device: net_x0, addresses: [10.0.0.1/24, \"2001:db8::1/64\"], acl: {in: "
    "edge}}\n"
    "  - {name: p1, device: net_x1, addresses: [10.1.0.1/24], acl: {out: exit}}\n"
    "routes:\n  - {to: 10.9.0.0/16, via: 10.1.0.2}\n"
    "neighbours: {static: [{address: 10.1.0.2, port: p1, mac: \"02:00:00:00:09:02\"}]}\n"
    "acl:\n"
    "  - name: edge\n"
    "    rules:\n"
    "      - {action: count, name: all}\n"
    "      - {action: permit, name: web, protocol: tcp, destination: 10.9.0.0/16, "
    "destination_ports: 80-81}\n"
    "      - {action: permit, protocol: tcp, source: 10.0.0.64/26, destination_ports: 22}\n"
    "      - {action: deny, name: no-dns, protocol: udp, destination_ports: 53}\n"
    "      - {action: permit, protocol: udp}\n"
    "  - name: exit\n"
    "    default: permit\n"
    "    rules:\n"
    "      - {action: deny, destination: 10.9.7.0/24}\n";

json explained(path_lab& l, json request) {
    request["request"] = "explain";
    if (!request.contains("port")) request["port"] = "p0";
    return result_of(l, request);
}
json packet(const std::string& protocol, uint16_t port, const std::string& to = "10.9.0.1") {
    return {{"from", "10.0.0.7"}, {"to", to}, {"protocol", protocol}, {"destination_port", port}};
}

TEST(explain, names_the_rule_its_list_and_its_place) {
    running_lab l(filtered);
    const json permitted = step_of(explained(l, packet("tcp", 80)), "acl_in")["acl"];
    ASSERT_EQ(permitted.size(), 1U) << permitted.dump();
    const json& web = permitted[0];
    EXPECT_EQ(web["list"], "edge");
    EXPECT_EQ(web["interface"], "p0");
    EXPECT_EQ(web["direction"], "in");
    EXPECT_EQ(web["rule"], "web");
    EXPECT_EQ(web["position"], 2);
    EXPECT_EQ(web["action"], "permit");
    EXPECT_TRUE(web["where"].get<std::string>().ends_with(":11")) << web["where"];
    EXPECT_EQ(web["text"],
              "{action: permit, name: \"web\", family: ipv4, protocol: tcp, destination: "
              "\"10.9.0.0/16\", "
              "destination_ports: 80-81}");
    EXPECT_EQ(web["counted"], json::array({"all"}));
    EXPECT_TRUE(web["near"].empty()) << web["near"];

    const json denied = explained(l, packet("udp", 53));
    const json by = step_of(denied, "acl_in")["acl"][0];
    EXPECT_EQ(by["rule"], "no-dns");
    EXPECT_EQ(by["action"], "deny");
    EXPECT_EQ(denied["path"].back()["reason"], "acl_deny");
    EXPECT_EQ(denied["path"].back()["meaning"], "denied by the ingress ACL");

    const json out = step_of(explained(l, packet("udp", 99, "10.9.7.1")), "acl_out")["acl"][0];
    EXPECT_EQ(out["list"], "exit");
    EXPECT_EQ(out["interface"], "p1");
    EXPECT_EQ(out["direction"], "out");
    EXPECT_EQ(out["position"], 1);
    finish(l);
}

TEST(explain, names_the_rules_that_almost_matched) {
    running_lab l(filtered);
    const json denied = step_of(explained(l, packet("tcp", 443)), "acl_in")["acl"][0];
    EXPECT_EQ(denied["rule"], "default");
    EXPECT_EQ(denied["action"], "deny");
    EXPECT_TRUE(denied["where"].get<std::string>().ends_with(":8")) << denied["where"];
    ASSERT_EQ(denied["near"].size(), 2U) << denied.dump(1);
    // 24 bits of `web` match, against none of the last rule.
    EXPECT_EQ(denied["near"][0]["rule"], "web");
    EXPECT_EQ(denied["near"][0]["field"], "destination_ports");
    EXPECT_EQ(denied["near"][0]["expected"], "80-81");
    EXPECT_EQ(denied["near"][0]["packet"], "443");
    EXPECT_EQ(denied["near"][1]["position"], 5);
    EXPECT_EQ(denied["near"][1]["field"], "protocol");
    EXPECT_EQ(denied["near"][1]["expected"], "udp");
    EXPECT_EQ(denied["near"][1]["packet"], "tcp");
    const json source = step_of(explained(l, packet("tcp", 22)), "acl_in")["acl"][0]["near"];
    bool found = false;
    for (const json& one : source)
        found |= one["field"] == "source" && one["expected"] == "\"10.0.0.64/26\"" &&
                 one["packet"] == "10.0.0.7" && one["position"] == 3;
    EXPECT_TRUE(found) << source.dump(1);
    finish(l);
}

// compare() against lib/acl's own matching, for random rules and keys.

class random_rules {
  public:
    explicit random_rules(uint32_t seed) : random_(seed) {}
    bool one_in(unsigned n) { return random_() % n == 0; }
    template <class T>
    acl::masked<T> some(std::initializer_list<T> masks) {
        const T mask = *(masks.begin() + random_() % masks.size());
        return {static_cast<T>(random_() & mask), mask};
    }
    acl::address_match address(unsigned bytes) {
        if (one_in(2)) return {};
        std::vector<uint8_t> a(bytes);
        for (uint8_t& b : a) b = static_cast<uint8_t>(random_() % 2);
        return acl::prefix(a, static_cast<unsigned>(random_() % (8 * bytes + 1)));
    }
    acl::port_range ports() {
        if (one_in(2)) return {};
        const auto first = static_cast<uint16_t>(random_() % 4);
        return {first, static_cast<uint16_t>(first + random_() % 3)};
    }
    acl::rule rule(unsigned address_bytes) {
        acl::rule r;
        r.source = address(address_bytes);
        r.destination = address(address_bytes);
        if (one_in(2)) r.protocol = {static_cast<uint8_t>(random_() % 2), 0xff};
        if (one_in(4)) r.dscp = some<uint8_t>({0xfc});
        if (one_in(4)) r.vlan = some<uint16_t>({0x8000, 0x8fff});
        if (one_in(3)) {
            r.icmp_type = static_cast<uint8_t>(random_() % 2);
            if (one_in(2)) r.icmp_code = static_cast<uint8_t>(random_() % 2);
            r.protocol = {1, 0xff};
            r.tcp_flags = {flag::has_icmp_type, flag::has_icmp_type};
            return r;
        }
        r.source_port = ports();
        r.destination_port = ports();
        if (r.source_port != acl::port_range{} || r.destination_port != acl::port_range{} ||
            one_in(6))
            r.tcp_flags = {flag::has_ports, flag::has_ports};
        if (one_in(4)) {
            r.tcp_flags.mask |= flag::has_tcp_flags | 0x12;
            r.tcp_flags.value |= static_cast<uint16_t>(flag::has_tcp_flags | (random_() & 0x12));
        }
        if (one_in(5)) {
            r.tcp_flags.mask |= flag::later_fragment;
            r.tcp_flags.value |= static_cast<uint16_t>(random_() & flag::later_fragment);
        }
        return r;
    }
    template <class Key>
    Key key() {
        Key k{};
        for (uint8_t& b : k.source) b = static_cast<uint8_t>(random_() % 2);
        for (uint8_t& b : k.destination) b = static_cast<uint8_t>(random_() % 2);
        k.source_port = static_cast<uint16_t>(random_() % 5);
        k.destination_port = static_cast<uint16_t>(random_() % 5);
        k.protocol = static_cast<uint8_t>(random_() % 2);
        k.dscp = static_cast<uint8_t>(random_() & 0xfc & (one_in(2) ? 0x04 : 0xff));
        constexpr uint16_t kinds[] = {flag::has_ports, flag::has_ports | flag::has_tcp_flags,
                                      flag::has_icmp_type, flag::later_fragment, 0};
        const uint16_t has = kinds[random_() % 5];
        k.tcp_flags =
            static_cast<uint16_t>(has | ((has & flag::has_tcp_flags) != 0 ? random_() & 0x12 : 0U));
        k.vlan = static_cast<uint16_t>(one_in(2) ? 0U : flag::tagged | (random_() & 1));
        return k;
    }

  private:
    std::mt19937 random_;
};

template <unsigned Words, class Key>
bool acl_matches(const acl::rule& r, const Key& k) {
    acl::rule whole = r;
    whole.priority = whole.user_data = 1;
    const auto packed = acl::pack<Words>(whole);
    EXPECT_TRUE(packed.has_value());
    std::array<uint32_t, Words> words{};
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&k);
    for (unsigned w = 0; w < Words; ++w) words[w] = load_be<uint32_t>(bytes + 4 * w);
    return acl::matches<Words>(*packed, acl::with_classes(words));
}

template <unsigned Words, class Key>
void compare_with_classifier(uint32_t seed) {
    random_rules make(seed);
    constexpr bool v4 = sizeof(Key) == sizeof(acl::key4);
    std::map<std::string, int> fields;
    int matched = 0;
    for (int i = 0; i < 20'000; ++i) {
        const acl::rule rule = make.rule(v4 ? 4 : 16);
        const Key key = make.key<Key>();
        datapath::acl_packet p;
        p.ipv4 = v4, p.ipv6 = !v4;
        if constexpr (v4)
            p.v4 = key;
        else
            p.v6 = key;
        const control::mismatch m = control::compare({.match = rule}, false, p);
        ASSERT_EQ(m.field.empty(), (acl_matches<Words>(state::match_in({.match = rule}, !v4), key)))
            << sources::rule_text({.match = rule}, false) << " " << m.field << " " << m.packet;
        matched += m.field.empty() ? 1 : 0;
        if (m.more == 0 && !m.field.empty()) ++fields[std::string(m.field)];
        // The condition has a text, which shows the wanted value.
        for (const auto& [key_name, value] : sources::conditions({.match = rule}, false))
            if (key_name == m.field) {
                ASSERT_FALSE(value.empty());
            }
    }
    EXPECT_GT(matched, 300);
    for (const char* field :
         {"source", "destination", "protocol", "source_ports", "destination_ports", "tcp_flags",
          "icmp_type", "icmp_code", "dscp", "vlan", "fragments"})
        EXPECT_GT(fields[field], 0) << field;
}

TEST(near_misses, compare_as_the_classifier_matches) {
    compare_with_classifier<acl::ipv4_words, acl::key4>(1);
    compare_with_classifier<acl::ipv6_words, acl::key6>(2);
}

TEST(near_misses, compare_frames_as_the_classifier_matches) {
    std::mt19937 random(3);
    std::map<std::string, int> fields;
    for (int i = 0; i < 20'000; ++i) {
        state::l2_match m;
        const auto mac = [&](state::mac_match& to) {
            if (random() % 2 == 0) return;
            for (int b = 0; b < 6; ++b) {
                to.mask.bytes[b] = static_cast<uint8_t>(random() % 3 == 0 ? 0 : 0xff);
                to.value.bytes[b] = static_cast<uint8_t>(random() & 1 & to.mask.bytes[b]);
            }
        };
        mac(m.source);
        mac(m.destination);
        if (random() % 2 == 0) m.type = {0x800, 0x800};
        if (random() % 2 == 0)
            m.vlan = {static_cast<uint16_t>(flag::tagged | (random() & 1)), 0x8fff};
        acl::rule rule;
        state::put_l2(m, rule);
        byte_vector head(12);
        for (uint8_t& b : head) b = random() & 1;
        datapath::acl_packet p;
        p.frame = state::l2_key(
            head.data(), random() % 2 == 0 ? 0x800 : 0x806,
            static_cast<uint16_t>(random() % 2 == 0 ? 0U : flag::tagged | (random() & 1)));
        const control::mismatch differs = control::compare({.match = rule}, true, p);
        ASSERT_EQ(differs.field.empty(), (acl_matches<acl::ipv4_words>(rule, p.frame))) << i;
        if (differs.more == 0 && !differs.field.empty()) ++fields[std::string(differs.field)];
    }
    for (const char* field : {"source_mac", "destination_mac", "ethertype", "vlan"})
        EXPECT_GT(fields[field], 0) << field;
}

/// The keys of an explanation are the workers': the rule that decides there matches here, and the rules above it do
/// not match.
TEST(near_misses, read_the_packet_as_the_stages_do) {
    std::string rules;
    for (const char* more :
         {"protocol: tcp, tcp_flags: \"+ack\"", "protocol: tcp, destination_ports: 22",
          "protocol: icmp, icmp_type: 3", "protocol: icmp, icmp_type: 8", "dscp: 10",
          "protocol: udp, source_ports: 7", "protocol: udp, destination_ports: 9", "vlan: 5",
          "source: 10.0.0.7/32", "family: ipv6, protocol: udp"})
        rules += std::string("      - {action: permit, ") + more + "}\n";
    running_lab l(
        "ports:\n  - {name: p0, device: net_x0, addresses: [10.0.0.1/24, \"2001:db8::1/64\"], "
        "acl: {in: many}}\n  - {name: p1, device: net_x1, addresses: [10.1.0.1/24]}\n"
        "acl:\n  - name: many\n    default: permit\n    rules:\n" +
        rules);
    for (const json& p :
         {json{{"protocol", "tcp"}}, json{{"protocol", "tcp"}, {"destination_port", 22}},
          json{{"protocol", "icmp"}}, json{{"protocol", "udp"}, {"source_port", 7}},
          json{{"protocol", "udp"}, {"destination_port", 9}}, json{{"protocol", "udp"}}})
        for (const bool v6 : {false, true}) {
            json request = p;
            request["from"] = v6 ? "2001:db8::7" : "10.0.0.7";
            request["to"] = v6 ? "2001:db8::9" : "10.1.0.9";
            request["request"] = "explain", request["port"] = "p0";
            request = json::parse(request.dump());  // numbers as a client's
            const json acl = step_of(result_of(l, request), "acl_in")["acl"][0];
            const auto whole = control::explain(
                l.controller(), 0,
                control::frame_of(l.snapshot(), 0, 0, control::request_fields(request)));
            ASSERT_TRUE(whole.has_value());
            const datapath::acl_decision& d = *(*whole)->acls.begin();
            const state::acl_list& list = d.by->bound.list->says();
            // The implicit rule for tiny fragments precedes the operator's.
            ASSERT_TRUE(list.rules.front().where.text.empty());
            const size_t decided =
                acl["position"].is_null() ? SIZE_MAX : acl["position"].get<size_t>();
            for (size_t i = 0; i < list.rules.size(); ++i) {
                const state::acl_rule& r = list.rules[i];
                if (r.where.text.empty() || !(v6 ? r.ipv6 : r.ipv4) || i > decided) continue;
                EXPECT_EQ(control::compare(r, false, d.packet).field.empty(), i == decided)
                    << request.dump() << " rule " << i + 1;
            }
        }
    finish(l);
}

/// Extension headers are in the key as the stages write it: a rule that fails by its destination alone is near.
TEST(near_misses, know_extension_headers) {
    running_lab l(
        "ports:\n  - {name: p0, device: net_x0, addresses: [\"2001:db8::1/64\"], acl: {in: edge}}\n"
        "acl:\n  - name: edge\n    default: permit\n    rules:\n"
        "      - {action: deny, protocol: 44, destination: \"2001:db8:7::/64\"}\n"
        "      - {action: deny, protocol: udp, destination: \"2001:db8:9::/64\"}\n");
    const byte_vector first_fragment{17, 0, 0, 1, 0, 0, 0, 1};
    const ipv6_address to = parse_address("2001:db8:8::1")->v6_bytes();
    const byte_vector frame = ethernet(
        0x86dd, ipv6({.next_header = 44,
                      .destination = byte_vector(std::begin(to.bytes), std::end(to.bytes))},
                     first_fragment + udp(counted(20))));
    const json acl = step_of(explained(l, {{"frame", hex_of(frame)}}), "acl_in")["acl"][0];
    ASSERT_EQ(acl["near"].size(), 2U) << acl.dump(1);
    for (const json& rule : acl["near"]) EXPECT_EQ(rule["field"], "destination") << rule;
    finish(l);
}

TEST(explain, a_packet_for_a_port_without_a_link_is_not_sent) {
    running_lab l(filtered);
    const auto up = explained(l, packet("tcp", 80));
    EXPECT_TRUE(up["sent"].is_object()) << up.dump(1);
    ASSERT_EQ(rte_eth_dev_set_link_down(l.snapshot().port[1].ethdev_id), 0);
    l.controller().poll_links(100'000);
    const auto down = explained(l, packet("tcp", 80));
    EXPECT_TRUE(down["sent"].is_null()) << down.dump(1);
    EXPECT_EQ(step_of(down, "drop")["reason"], "port_down") << down.dump(1);
    finish(l);
}

}  // namespace
}  // namespace turnpike
