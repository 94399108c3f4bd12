// SPDX-License-Identifier: BSD-3-Clause
// Edits of single ACL rules, many in a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/edits.hpp"
#include "sources/yaml.hpp"

namespace turnpike::sources {
namespace {

state::configuration state_with(const std::string& text) {
    auto d = load_text(text, "f.yaml");
    EXPECT_TRUE(d) << d.error().message();
    return d ? std::move(*d) : state::configuration{};
}

/// Rules are extracted from their list once, and edits of other lists may come between: each edit
/// applies to the result of the edits before it, and the list is complete when it is read.
TEST(rule_edits, of_rules_and_lists_by_turns) {
    state::configuration d = state_with(
        "acl:\n  - {name: l, default: permit, rules: [{action: deny, name: one}]}\n"
        "  - {name: other, rules: []}\n"
        "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]\n");
    const state::configuration before = d;
    const auto names = [&](const char* list) {
        std::string out;
        for (const auto& r : d.acls.at(list)->rules)
            if (!r.where.text.empty()) out += (out.empty() ? "" : " ") + r.name;
        return out;
    };
    const auto rule = [](const char* verb, const char* list, const std::string& rest) {
        return std::string("{\"") + verb + R"(": {"rule": {"list": ")" + list + "\", " + rest +
               "}}}";
    };
    const std::string two = R"("rule": {"action": "count", "name": "two"})";
    const auto done = edit(
        d, "[" + rule("add", "l", two) + "," + rule("add", "other", two) + "," +
               R"({"replace": {"acl": {"name": "l", "default": "deny"}}},)" +
               rule("add", "l", R"("at": 2, "rule": {"action": "count", "name": "three"})") + "," +
               R"({"add": {"acl": {"name": "third", "rules": []}}},)" +
               rule("del", "l", R"("name": "one")") + "," +
               rule("replace", "l", R"("at": 2, "rule": {"action": "deny", "name": "one"})") + "]");
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(names("l"), "three one");
    EXPECT_EQ(names("other"), "two");
    EXPECT_FALSE(d.acls.at("l")->default_permits);
    EXPECT_EQ(d.acls.at("l")->rules.size(), 4U) << "and turnpike's own";
    EXPECT_EQ(before.acls.at("l")->rules.size(), 2U) << "what shared it has it as it was";
    // A deleted list takes no rule; a new list does.
    d = before;
    EXPECT_FALSE(edit(d, "[" + rule("add", "other", two) +
                             R"(, {"del": {"acl": {"name": "other"}}}, )" +
                             rule("add", "other", two) + "]"));
    d = before;
    ASSERT_TRUE(edit(d, R"([{"add": {"acl": {"name": "third", "rules": []}}}, )" +
                            rule("add", "third", two) + "]"));
    EXPECT_EQ(names("third"), "two");
}

/// turnpikectl sends a number as both: the rule of that name, else of that position.
TEST(rule_edits, find_a_name_that_is_a_number_before_a_position) {
    const state::configuration d = state_with(
        "acl:\n  - {name: l, rules: [{action: deny, name: one}, {action: deny, name: 1}]}\n"
        "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]\n");
    const auto left = [&](const std::string& which) {
        state::configuration edited = d;
        const auto done = edit(edited, R"([{"del": {"rule": {"list": "l")" + which + "}}}]");
        std::string out = done ? "" : done.error().text;
        for (const auto& r : edited.acls.at("l")->rules)
            if (done && !r.where.text.empty()) out += r.name;
        return out;
    };
    EXPECT_EQ(left(R"(, "name": "1", "at": "1")"), "one");
    EXPECT_EQ(left(R"(, "at": 1)"), "1");
    EXPECT_EQ(left(R"(, "name": "2", "at": "2")"), "one");
    EXPECT_THAT(left(R"(, "name": "3", "at": "3")"),
                ::testing::HasSubstr("at should be a whole number"));
    EXPECT_THAT(left(R"(, "name": "2")"), ::testing::HasSubstr("names '2', which is not a rule"));
    EXPECT_THAT(left(""), ::testing::HasSubstr("or the rule's \"name\""));
}

/// A file, or a block of lines, makes many rules; an edit that dropped the key would add a rule
/// that matches every packet.
TEST(rule_edits, of_a_file_of_rules_are_refused) {
    const state::configuration d = state_with(
        "acl:\n  - {name: l, rules: [{action: deny, name: one}]}\n"
        "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]\n");
    for (const std::string key : {"file", "lines"})
        for (const std::string verb : {"add", "replace"}) {
            state::configuration edited = d;
            const std::string at = verb == "replace" ? R"("at": 1, )" : "";
            const auto done = edit(edited, "[{\"" + verb + R"(": {"rule": {"list": "l", )" + at +
                                               R"("rule": {"action": "permit", ")" + key +
                                               R"(": "/nowhere/rules.txt"}}}}])");
            ASSERT_FALSE(done) << verb << " " << key;
            EXPECT_EQ(done.error().code, EINVAL);
            EXPECT_NE(done.error().text.find(key + " names many rules"), std::string::npos)
                << done.error().message();
            EXPECT_NE(done.error().text.find("replace the list's rules"), std::string::npos);
        }
}

/// Each edit walks the whole list: without a bound control would be busy for minutes.
TEST(rule_edits, of_single_rules_are_bounded_by_the_length_of_the_list) {
    std::string rules;
    constexpr unsigned there = 20'000;
    for (unsigned i = 0; i < there; ++i)
        rules += "      - {action: deny, source: 11." + std::to_string(i >> 8) + "." +
                 std::to_string(i & 255) + ".0/24}\n";
    state::configuration d =
        state_with("acl:\n  - name: l\n    rules:\n" + rules +
                   "ports: [{name: a, device: net_ring0, addresses: [10.0.1.1/24]}]\n");
    // Deletions from the end move few rules, and the bound counts the whole list nevertheless.
    const auto edits = [](unsigned n) {
        std::string out = "[";
        for (unsigned i = 0; i < n; ++i)
            out += std::string(i == 0 ? "" : ",") + R"({"del": {"rule": {"list": "l", "at": )" +
                   std::to_string(there - i) + "}}}";
        return out + "]";
    };
    state::configuration few = d;
    EXPECT_TRUE(edit(few, edits(100)));
    EXPECT_EQ(few.acls.at("l")->rules.size(), d.acls.at("l")->rules.size() - 100);
    const auto many = edit(d, edits(5000));
    ASSERT_FALSE(many);
    EXPECT_NE(many.error().text.find("replace the list's rules"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::sources
