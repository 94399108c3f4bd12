// SPDX-License-Identifier: BSD-3-Clause
// The differences of two configurations as lines: examples, and random pairs against a multiset of lines.
#include "sources/compare.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "sources/yaml.hpp"
#include "sources/yaml_writer.hpp"

namespace turnpike::sources {
namespace {

using testing::ElementsAre;

state::configuration loaded_text(const std::string& text) {
    auto out = load_text(text, "f.yaml");
    EXPECT_TRUE(out) << out.error().message() << text;
    return std::move(*out);
}

constexpr const char* two_ports =
    "ports: [{name: west, device: net_ring0, addresses: [10.0.1.1/24]}, "
    "{name: east, device: net_ring1, addresses: [10.0.2.1/24]}]\n";

TEST(compare_lines, a_changed_value_stands_below_its_object) {
    const auto before = loaded_text(two_ports);
    auto after = before;
    after.ports.find("east")->mtu = 9000;
    after.messages.rate = 5;
    EXPECT_THAT(compare(before, after), ElementsAre("- icmp: {rate: 1000}", "+ icmp: {rate: 5}",
                                                    "  ports:", "    - name: \"east\"",
                                                    "-     mtu: 1500", "+     mtu: 9000"));
    EXPECT_TRUE(compare(before, before).empty());
}

TEST(compare_lines, a_new_object_is_whole) {
    const auto before = loaded_text(two_ports);
    const auto after =
        loaded_text(std::string(two_ports) + "routes: [{to: 10.9.0.0/16, via: 10.0.2.2}]\n");
    EXPECT_THAT(compare(before, after), ElementsAre("+ routes:", "+   - lines: |",
                                                    "+       10.9.0.0/16 via 10.0.2.2 dev east"));
    EXPECT_THAT(compare(before, after, 2),
                ElementsAre("+ routes:", "+   - lines: |", "... and 1 more lines"));
}

TEST(compare_lines, a_route_stands_below_its_vrf) {
    const std::string text =
        "vrfs: [{name: red, table: 10}, {name: blue, table: 11}]\n"
        "ports: [{name: west, device: net_ring0, vrf: red, addresses: [10.0.1.1/24]}, "
        "{name: east, device: net_ring1, vrf: blue, addresses: [10.0.1.1/24]}]\n"
        "routes: [{to: 10.7.0.0/16, via: 10.0.1.2, vrf: red}, "
        "{to: 10.7.0.0/16, via: 10.0.1.2, vrf: blue}";
    const auto before = loaded_text(text + "]\n"),
               after = loaded_text(text + ", {to: 10.9.0.0/16, via: 10.0.1.2, vrf: blue}]\n");
    EXPECT_THAT(compare(before, after),
                ElementsAre("  routes:", "    - vrf: \"blue\"", "      lines: |",
                            "+       10.9.0.0/16 via 10.0.1.2 dev east"));
    const std::string saved = to_yaml(after);
    EXPECT_EQ(to_yaml(loaded_text(saved)), saved);
    EXPECT_TRUE(compare(after, loaded_text(saved)).empty());
}

/// No defaults, and static neighbours also below few settings of the map.
TEST(compare_lines, a_saved_text_has_no_defaults) {
    const std::string one = "static: [{address: 10.0.2.2, port: east, mac: \"02:00:00:00:00:09\"}]";
    for (const std::string& settings : {one, "max_entries: 8, " + one}) {
        const auto is = loaded_text(two_ports + ("neighbours: {" + settings + "}\n"));
        const std::string text = to_yaml(is);
        EXPECT_EQ(to_yaml(loaded_text(text)), text);
        EXPECT_EQ(text.find("mtu"), std::string::npos) << text;
        EXPECT_EQ(text.find("rate"), std::string::npos) << text;
        EXPECT_NE(text.find("02:00:00:00:00:09"), std::string::npos) << text;
        EXPECT_EQ(text.find("max_entries: 8") != std::string::npos, settings != one) << text;
    }
}

std::map<std::string, int> count_lines(const std::string& text) {
    std::map<std::string, int> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) ++out[line];
    return out;
}

/// The old lines without the removed lines are the new lines without the added lines.
void expect_difference(const state::configuration& before, const state::configuration& after) {
    auto left = count_lines(to_yaml(before, written_fields::compared)),
         right = count_lines(to_yaml(after, written_fields::compared));
    for (const std::string& line : compare(before, after, SIZE_MAX)) {
        if (line[0] == '-') --left[line.substr(2)];
        if (line[0] == '+') --right[line.substr(2)];
    }
    std::erase_if(left, [](const auto& l) { return l.second == 0; });
    std::erase_if(right, [](const auto& l) { return l.second == 0; });
    EXPECT_EQ(left, right);
}

TEST(compare_lines, random_pairs) {
    std::mt19937 random(1);
    const auto number = [&](unsigned most) { return random() % most; };
    const auto any = [&] {
        std::string text = "ports:\n";
        for (unsigned p = 0; p < 2 + number(6); ++p) {
            const std::string n = std::to_string(p);
            text += "  - {name: p" + n + ", device: net_ring" + n +
                    ", mtu: " + std::to_string(1500 + number(3)) + ", addresses: [10.0." + n +
                    ".1/24]}\n";
        }
        text += "routes:\n";
        for (unsigned r = 0; r < 1 + number(300); ++r)
            text += "  - {to: 10.9." + std::to_string(r % 256) + "." + std::to_string(r / 256) +
                    "/32, via: 10.0.0." + std::to_string(2 + number(2)) + "}\n";
        return loaded_text(text);
    };
    for (int i = 0; i < 100; ++i) {
        SCOPED_TRACE(i);
        expect_difference(any(), any());
    }
}

/// Rules 2 1 x, 3 2 x, 4 3 x, ...: only 1 is unique, and behind it only 2: parts within parts are limited.
TEST(compare_lines, parts_within_parts_end) {
    const auto with = [](unsigned other) {
        std::string text = "acl:\n  - name: l\n    rules:\n";
        const auto add = [&](const char* key, unsigned port) {
            text += fmt::format("      - {{action: permit, protocol: tcp, {}: {}}}\n", key, port);
        };
        for (unsigned n = 1; n <= 3000; ++n) {
            add("source_ports", n + 1);
            add("source_ports", n);
            add("destination_ports", n + other);
        }
        return loaded_text(text + two_ports);
    };
    expect_difference(with(0), with(30'000));
}

/// Too many routes for lines.
TEST(compare_lines, large_differences_end) {
    const auto with = [](unsigned routes, const char* via) {
        std::string text = std::string(two_ports) + "routes:\n  - lines: |\n";
        for (unsigned r = 0; r < routes; ++r)
            text += "      10." + std::to_string(16 + r / 65536) + "." +
                    std::to_string(r / 256 % 256) + "." + std::to_string(r % 256) + "/32 via " +
                    via + "\n";
        return loaded_text(text);
    };
    const auto lines = compare(with(4000, "10.0.2.2"), with(4000, "10.0.2.3"), SIZE_MAX);
    EXPECT_GE(lines.size(), 8000U);
    EXPECT_TRUE(compare(with(20'000, "10.0.2.2"), with(20'000, "10.0.2.3")).empty());
}

/// Many differences: the other lines stay, also those between two changes.
TEST(compare_lines, large_differences_leave_the_other_lines) {
    const auto with = [](const char* key, unsigned rate) {
        std::string text =
            "acl:\n  - {name: first, rules: [{action: permit, dscp: 1}]}\n  - name: l\n    "
            "rules:\n";
        for (unsigned r = 1; r <= 1000; ++r)
            text += std::string("      - {action: permit, protocol: tcp, ") + key + ": " +
                    std::to_string(r) + "}\n";
        return loaded_text(text +
                           "  - {name: z, rules: [{action: permit, dscp: 2}]}\nicmp: {rate: " +
                           std::to_string(rate) + "}\n" + two_ports);
    };
    const auto before = with("source_ports", 5), after = with("destination_ports", 6);
    const auto lines = compare(before, after, SIZE_MAX);
    size_t removed = 0, added = 0;
    for (const std::string& line : lines) {
        removed += line.starts_with("- ");
        added += line.starts_with("+ ");
    }
    EXPECT_EQ(removed, 1001U);
    EXPECT_EQ(added, 1001U);
}

}  // namespace
}  // namespace turnpike::sources
