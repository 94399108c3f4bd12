// SPDX-License-Identifier: BSD-3-Clause
// A YAML text as a tree and through a reader: positions of values, and the names in errors.
#include "yaml/yaml_file.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "lib/sanitized.hpp"
#include "yaml/reader.hpp"

namespace turnpike::yaml {
namespace {

using nlohmann::json;
using turnpike::test::sanitized;

document parsed(const std::string& text, const std::string& top = "") {
    auto out = parse_yaml(text, "f.yaml", top);
    EXPECT_TRUE(out) << out.error().message() << "\n" << text;
    return out ? std::move(*out) : document{};
}

std::string expected_text(std::string_view text) {
    const auto out = parse_yaml(text, "f.yaml");
    return out ? "none" : out.error().message();
}

template <class Read>
std::string complaint_of(Read read) {
    try {
        read();
    } catch (const complaint& c) {
        return c.what.message();
    }
    return "none";
}

/// Values of all kinds, as JSON writes them, which is YAML.
json random_value(std::mt19937& random, int depth) {
    const auto roll = random() % (depth == 0 ? 3 : 6);
    if (roll == 0) return nullptr;
    if (roll == 1) return random() % 1000;
    if (roll == 2) return std::string(random() % 40, static_cast<char>('a' + random() % 26)) + ":";
    json out = roll < 5 ? json::object() : json::array();
    for (auto n = random() % 6; n > 0; --n) {
        if (out.is_array())
            out.push_back(random_value(random, depth - 1));
        else
            out["k" + std::to_string(random() % 100)] = random_value(random, depth - 1);
    }
    return out;
}

/// The same value, and every node under it named as it can be found.
void expect_same(const node& is, const json& wanted, const std::string& path) {
    ASSERT_EQ(is.path(), path);
    if (wanted.is_null()) {
        EXPECT_EQ(is.kind(), node_kind::nothing);
    } else if (wanted.is_object()) {
        ASSERT_EQ(is.kind(), node_kind::map);
        size_t keys = 0;
        for (const node key : is.children()) {
            ++keys;
            const std::string name(key.text());
            ASSERT_TRUE(wanted.contains(name));
            expect_same(key.value(), wanted[name], path.empty() ? name : path + "." + name);
            ASSERT_EQ(is.find(name)->path(), key.value().path());
        }
        EXPECT_EQ(keys, wanted.size());
    } else if (wanted.is_array()) {
        ASSERT_EQ(is.kind(), node_kind::list);
        size_t i = 0;
        for (const node element : is.children()) {
            ASSERT_LT(i, wanted.size());
            expect_same(element, wanted[i], path + "[" + std::to_string(i) + "]");
            ++i;
        }
        EXPECT_EQ(i, wanted.size());
    } else {
        ASSERT_EQ(is.kind(), node_kind::scalar);
        EXPECT_EQ(is.text(), wanted.is_string() ? wanted.get<std::string>() : wanted.dump());
    }
}

TEST(yaml_tree, is_what_json_says) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        const json wanted = random_value(random, 5);
        const std::string text = wanted.dump(round % 3 == 0 ? -1 : round % 3);
        const document d = parsed(text);
        ASSERT_FALSE(d.entries.empty());
        expect_same(node(d), wanted, "");
        ASSERT_FALSE(HasFailure()) << text;
    }
}

TEST(yaml_tree, blocks_are_the_same_as_brackets) {
    const document d = parsed("a:\n- x\n-\n- {b: 1}\nc: |\n  two\n  lines\nd: >-\n  one\n  line\n");
    expect_same(node(d),
                {{"a", {"x", nullptr, {{"b", 1}}}}, {"c", "two\nlines\n"}, {"d", "one line"}}, "");
}

TEST(yaml_tree, lines) {
    const document d = parsed("# first\na: 1\nb:\n  - x\n\n  - y: 2\n    z: 3\n");
    const node root(d);
    EXPECT_EQ(root.line(), 2U);
    EXPECT_EQ(root.find("a")->line(), 2U);
    std::vector<uint32_t> lines;
    for (const node element : root.find("b")->children()) lines.push_back(element.line());
    EXPECT_EQ(lines, (std::vector<uint32_t>{4, 6}));
    EXPECT_EQ(reader(d).at("b").list("things")[1].at("z").where(), "f.yaml:7");
}

TEST(yaml_tree, quotes_and_tags_make_a_text_of_nothing) {
    for (const char* nothing : {"a:", "a: ~", "a: null", "a: Null", "a: NULL"})
        EXPECT_EQ(node(parsed(nothing)).find("a")->kind(), node_kind::nothing) << nothing;
    for (const auto& [text, wanted] :
         {std::pair{"a: '~'", "~"}, std::pair{"a: \"null\"", "null"}, std::pair{"a: ''", ""},
          std::pair{"a: !!str null", "null"}, std::pair{"a: 'b'", "b"}, std::pair{"a: b", "b"},
          std::pair{"a: \"\\x62\"", "b"}, std::pair{"a: |-\n  b", "b"},
          std::pair{"a: nul", "nul"}}) {
        const document d = parsed(text);
        EXPECT_EQ(node(d).find("a")->kind(), node_kind::scalar) << text;
        EXPECT_EQ(node(d).find("a")->text(), wanted) << text;
    }
    const document nul = parsed("a: \"x\\0y\"");
    EXPECT_EQ(node(nul).find("a")->text(), std::string_view("x\0y", 3));
}

TEST(yaml_tree, a_quoted_merge_key_is_a_key) {
    const document d = parsed("\"<<\": {a: 1}\nb: 2");
    EXPECT_FALSE(node(d).find("a"));
    EXPECT_TRUE(node(d).find("<<")->find("a"));
}

TEST(yaml_tree, a_key_that_comes_again_is_found_in_maps_of_any_size) {
    std::string text;
    const int keys = sanitized ? 10'000 : 100'000;
    for (int i = 0; i < keys; ++i) text += "k" + std::to_string(i * 7919 % keys) + ": 1\n";
    EXPECT_EQ(expected_text(text), "none");
    // The first that comes again is named, not the first in the alphabet.
    EXPECT_EQ(expected_text(text + "k9: 2\nk1: 2\n"),
              "f.yaml:" + std::to_string(keys + 1) + ": key 'k9' is given twice");
    EXPECT_EQ(expected_text("a: {b: 1}\nc: {b: 1}"), "none");
    EXPECT_EQ(expected_text("a: {b: 1,\n 'b': 1}"), "f.yaml:2: key 'b' is given twice");
    EXPECT_EQ(expected_text("~: 1\nnull: 2"), "f.yaml:2: key '~' is given twice");
}

TEST(yaml_tree, limits) {
    const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_EQ(expected_text(nested(max_depth)), "none");
    EXPECT_EQ(expected_text(nested(max_depth + 1)), "f.yaml:1: nested deeper than 32 levels");
    const size_t over = max_file_bytes + 1;
    const auto untouched = std::make_unique_for_overwrite<char[]>(over);
    EXPECT_EQ(expected_text({untouched.get(), over}), "f.yaml: is larger than 256 MB");
}

struct refused {
    const char* text;
    const char* expected_text;  ///< the complaint begins with this
};

class yaml_refused : public ::testing::TestWithParam<refused> {};

TEST_P(yaml_refused, with_its_line) {
    EXPECT_EQ(expected_text(GetParam().text).find(GetParam().expected_text), 0U)
        << expected_text(GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    texts, yaml_refused,
    ::testing::Values(
        refused{"", "f.yaml: is empty"}, refused{"# nothing\n", "f.yaml: is empty"},
        refused{"a: 1\n---\nb: 1\n", "f.yaml: holds more than one YAML document"},
        refused{"a: &x 1", "f.yaml:1: anchors (&name) are not supported"},
        refused{"a:\n  &x [1]", "f.yaml:2: anchors (&name) are not supported"},
        refused{"&x a: 1", "f.yaml:1: anchors (&name) are not supported"},
        refused{"a: 1\nb: *a", "f.yaml:2: is not YAML: an alias (*name) without an anchor"},
        refused{"a: {<<: {b: 1}}",
                "f.yaml:1: merge keys (<<) are not supported; write the keys out"},
        refused{"*a : 1", "f.yaml:1: is not YAML: an alias (*name) without an anchor"},
        refused{"? {a: 1}\n: 1", "f.yaml:1: a key must be plain text"},
        refused{"a: 1\n? [x]\n: 1", "f.yaml:2: a key must be plain text"},
        refused{"a: [1,\n  2",
                "f.yaml:2: is not YAML: did not find expected ',' or ']' (while "
                "parsing a flow sequence from line 1)"},
        refused{"a: [1,\n  2\n", "f.yaml:3: is not YAML: did not find expected ',' or ']' ("},
        refused{"a: 1\nb: 'x", "f.yaml:2: is not YAML: found unexpected end of stream"},
        refused{"a: 1\n\tb: 2", "f.yaml:2: is not YAML: "},
        refused{"a: 1\nb: \xff", "f.yaml:2: is not YAML: invalid leading UTF-8 octet"},
        refused{"a: 1\n\nb: \x07", "f.yaml:3: is not YAML: control characters are not allowed"},
        refused{"routes:\n  - {to: ::/0}",
                "f.yaml:2: is not YAML: did not find expected node "
                "content (while parsing a flow node from line 2); in "
                "{} and [] a value that begins or ends with ':' needs "
                "quotes"},
        refused{"a: 1\n: 2",
                "f.yaml:2: is not YAML: did not find expected key (while parsing a "
                "block mapping from line 1)"},
        refused{"a: {b: fe80::}",
                "f.yaml:1: is not YAML: found unexpected ':' (while scanning a "
                "plain scalar from line 1); in {} and []"}));

TEST(yaml_reader, complaints_name_file_line_and_path) {
    const document d = parsed("ports:\n- name: x\n- {name: ~,\n   queues: [1, 20]}\n");
    const reader second = reader(d).at("ports").list("ports")[1];
    EXPECT_EQ(second.where(), "f.yaml:3");
    EXPECT_EQ(complaint_of([&] { (void)second.at("name").text(); }),
              "f.yaml:3: ports[1].name should be a text, not nothing");
    EXPECT_EQ(complaint_of([&] { (void)second.at("mtu"); }),
              "f.yaml:3: ports[1] lacks the key 'mtu'");
    EXPECT_EQ(complaint_of([&] {
                  second.expect_map({"name", "mtu"});
              }),
              "f.yaml:4: ports[1] has no key 'queues'; it takes name, mtu");
    EXPECT_EQ(complaint_of([&] { (void)second.at("queues").list("numbers")[1].number(0, 19); }),
              "f.yaml:4: ports[1].queues[1] should be a whole number from 0 to 19, not '20'");
    EXPECT_EQ(complaint_of([&] { (void)second.at("queues").number(0, 19); }),
              "f.yaml:4: ports[1].queues should be a whole number from 0 to 19, not a list");
    EXPECT_EQ(complaint_of([&] { reader(d).refuse("is wrong"); }), "f.yaml:1: is wrong");
}

TEST(yaml_reader, a_number_that_begins_with_0_is_ambiguous) {
    const document d = parsed("vlan: 010\nzero: 0\n");
    EXPECT_EQ(
        complaint_of([&] { (void)reader(d).at("vlan").number(1, 4094); }),
        "f.yaml:1: vlan is 010: YAML 1.1 reads a number that begins with 0 as octal; write 10");
    EXPECT_EQ(reader(d).at("zero").number(0, 1), 0U);
}

TEST(yaml_reader, numbers_have_units) {
    constexpr uint64_t most = UINT64_MAX;
    const auto number = [](const std::string& text) {
        const document d = parsed("a: " + text + "\n");
        return reader(d).at("a").number(0, most);
    };
    const std::pair<const char*, uint64_t> right[] = {{"0", 0},
                                                      {"7", 7},
                                                      {"10k", 10'000},
                                                      {"1.5M", 1'500'000},
                                                      {"2G", 2'000'000'000},
                                                      {"0.25k", 250},
                                                      {"1.234567890G", 1'234'567'890},
                                                      {"0k", 0},
                                                      {"18446744073709551615", most},
                                                      {"18446744073.709551615G", most}};
    for (const auto& [text, value] : right) EXPECT_EQ(number(text), value) << text;
    for (const char* text : {"k",
                             "1.5",
                             "1.k",
                             ".5k",
                             "1.2345k",
                             "1..5k",
                             "1.5.0k",
                             "-1",
                             "-1k",
                             "+1",
                             "1 k",
                             "1K",
                             "1m",
                             "1kk",
                             "1e3",
                             "0x10",
                             "18446744073709551616",
                             "18446744073709551616k",
                             "18446744073.709551616G",
                             "007",
                             "007k"})
        EXPECT_THROW(static_cast<void>(number(text)), complaint) << text;
}

TEST(yaml_reader, the_top_can_have_a_name) {
    const document d = parsed("- {a: x}", "entries");
    EXPECT_EQ(complaint_of([&] { (void)reader(d).list("things")[0].at("a").truth(); }),
              "f.yaml:1: entries[0].a should be false or true, not 'x'");
}

TEST(yaml_reader, what_is_no_map_has_no_keys) {
    const document d = parsed("[a, [b, c]]");
    for (const reader& r : {reader(d), reader(d).list("things")[0], reader(d).list("things")[1]}) {
        EXPECT_FALSE(r.is_map());
        EXPECT_FALSE(r.has("b"));
        EXPECT_NE(complaint_of([&] { r.expect_map({"b"}); }).find("should be a map with b, not"),
                  std::string::npos);
    }
    EXPECT_EQ(reader(d).number_or<uint8_t>("b", 5, 0, 9), 5);
}

}  // namespace
}  // namespace turnpike::yaml
