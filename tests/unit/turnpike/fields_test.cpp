// SPDX-License-Identifier: BSD-3-Clause
// Every row of the tables of keys: values of a wrong type, out of range, keys that are doubled or mistyped, and the
// round trip of a value through text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "complaints.hpp"
#include "sources/edits.hpp"
#include "sources/fields.hpp"
#include "sources/schema.hpp"
#include "sources/settings.hpp"
#include "sources/yaml_acl_writer.hpp"
#include "sources/yaml_writer.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::sources {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// "mtu: 1500", "pcie: {link: gen3x8}"
std::string entry(std::string_view key, const std::string& value) {
    const size_t dot = key.find('.');
    if (dot == std::string_view::npos) return std::string(key) + ": " + value;
    return std::string(key.substr(0, dot)) + ": {" + std::string(key.substr(dot + 1)) + ": " +
           value + "}";
}

/// A file of NIC profiles, removed at exit.
std::string profiles_file() {
    struct removed_file {
        const std::string name = testing::TempDir() + "fields_test_profiles.yaml";
        removed_file() { std::ofstream(name) << "profiles: {}\n"; }
        removed_file(const removed_file&) = delete;
        removed_file& operator=(const removed_file&) = delete;
        ~removed_file() { std::remove(name.c_str()); }
    };
    static const removed_file file;
    return file.name;
}

bool is_on_by_default(std::string_view key) {
    return key == "learning" || key == "flood_unknown" || key == "dont_fragment" ||
           key == "control_plane.follow_admin_status";
}

/// A value of the type that is no default.
std::string example_of(const field_facts& f) {
    const std::string kind(f.type.kind);
    switch (f.type.form) {
        case value_form::number:
            return std::to_string(f.type.least + 1);
        case value_form::truth:
            return is_on_by_default(f.key) ? "false" : "true";
        case value_form::word:
            return std::string(f.type.words.back());
        case value_form::text:
            if (kind == "DEVICE") return "\"0000:3b:00.0,a='b \\\" c'\"";
            if (kind == "MAC") return "\"02:00:00:00:00:01\"";
            if (kind == "ADDRESS") return "192.0.2.7";
            if (f.key == "control.socket") return "/run/one";
            if (kind == "FILE") return profiles_file();
            return "one";
        case value_form::list:
            if (kind == "CIDRS") return "[10.0.1.1/24, \"2001:db8::1/64\"]";
            if (kind == "PORT") return "[\"west\"]";
            if (kind == "VLANS") return "[10, 20-29]";
            if (kind == "PAIRS") return "[{wire: 110, vlan: 10}]";
            if (f.key == "sflow.collectors") return "[\"192.0.2.1:6343\", \"[::1]:6343\"]";
            if (f.key == "metrics.listen") return "[\"[::1]:9417\", \"unix:/run/m\"]";
            if (f.key == "host_pass") return "[239.1.1.1, \"01:1b:19:00:00:00\", 0x88f7]";
            if (f.type.max_element == 0) return "[\"02:00:00:00:00:01\"]";
            return "[" + std::to_string(f.type.least) + ", " + std::to_string(f.type.max_element) +
                   "]";
    }
    return {};
}

/// A configuration with the objects that the examples name.
const state::configuration& named_objects() {
    static const auto loaded_file = load_text(
        "acl: [{name: one, rules: []}]\nvrfs: [{name: one}]\n"
        "ports: [{name: p, device: net_ring0, addresses: [10.9.1.1/24]}]",
        "f.yaml");
    return *loaded_file;
}

/// Required values of an object whose rows are tested one by one.
template <class Object>
void add_required(Object& to) {
    if constexpr (std::is_same_v<Object, state::port>) to.device = "net_ring0";
    if constexpr (std::is_same_v<Object, state::tunnel>) {
        to.vni = 7;
        to.local = *parse_address("192.0.2.1");
        to.remote = *parse_address("192.0.2.2");
        to.mtu = 1450;
    }
    if constexpr (std::is_same_v<Object, state::vrf>) to.table = 9;
    if constexpr (std::is_same_v<Object, state::mirror>) {
        to.ports = {"east"};
        to.to = "north";
    }
    if constexpr (std::is_same_v<Object, state::neighbour>)
        to.mac = *parse_mac("02:00:00:00:00:09");
}

template <class Object>
result<Object> read_object(const std::string& text, std::span<const field<Object>> table,
                           unsigned kind) {
    const auto tree = yaml::parse_yaml(text, "f.yaml", "object");
    if (!tree) return tl::unexpected<error>(tree.error());
    Object out;
    add_required(out);
    try {
        const yaml::reader from(*tree);
        key_list().add(table, kind).expect(from, {});
        read_fields(from, table, kind, named_objects(), out);
    } catch (const yaml::complaint& c) {
        return tl::unexpected<error>(c.what);
    }
    return out;
}

template <class Object>
std::string error_of(const std::string& text, std::span<const field<Object>> table, unsigned kind) {
    const auto read = read_object(text, table, kind);
    return read ? "none: " + text : read.error().message();
}

/// Whether two objects have equal fields; a configuration has no operator ==.
template <class Object>
bool same(std::span<const field<Object>> table, unsigned kind, const Object& a, const Object& b) {
    if constexpr (std::equality_comparable<Object>)
        return a == b;
    else
        return json_of(table, kind, a) == json_of(table, kind, b);
}

/// visit(table, kind, field) for each row of each table and each kind of object that has it.
template <class F>
void each_row(const F& visit) {
    const auto of_table = [&](const auto& table) {
        for (const auto& f : table)
            for (unsigned kind = 1; kind <= of_neighbour; kind <<= 1)
                if ((f.kinds & kind) != 0) {
                    SCOPED_TRACE(f.key);
                    visit(table, kind, f);
                }
    };
    of_table(port_fields());
    of_table(interface_fields());
    of_table(settings_fields());
    of_table(process_fields());
    of_table(bridge_fields());
    of_table(member_fields());
    of_table(tunnel_fields());
    of_table(mirror_fields());
    of_table(vrf_fields());
    of_table(neighbour_fields());
}

TEST(fields, a_value_of_another_type_is_refused_with_its_place) {
    each_row([](const auto& table, unsigned kind, const auto& f) {
        const std::string place = "f.yaml:1: object." + std::string(f.key) + " should be ";
        EXPECT_THAT(error_of(entry(f.key, "{a: 1}"), table, kind), StartsWith(place));
        const bool is_list = f.type.form == value_form::list;
        EXPECT_THAT(error_of(entry(f.key, is_list ? "word" : "[1]"), table, kind),
                    StartsWith("f.yaml:1: object." + std::string(f.key)));
        if (f.type.form == value_form::number || f.type.form == value_form::truth ||
            f.type.form == value_form::word) {
            EXPECT_THAT(error_of(entry(f.key, "nonsense"), table, kind),
                        testing::AllOf(StartsWith(place), HasSubstr("'nonsense'")));
        }
    });
}

TEST(fields, a_value_out_of_range_is_refused_with_the_range) {
    size_t numbers = 0;
    each_row([&](const auto& table, unsigned kind, const auto& f) {
        const auto refused = [&](const std::string& value, const std::string& why) {
            EXPECT_THAT(error_of(entry(f.key, value), table, kind),
                        testing::AllOf(StartsWith("f.yaml:1: object." + std::string(f.key)),
                                       HasSubstr(why)));
        };
        if (f.type.form == value_form::number) {
            ++numbers;
            const std::string range = "should be a whole number from " +
                                      std::to_string(f.type.least) + " to " +
                                      std::to_string(f.type.most);
            for (const std::string& value :
                 {std::to_string(f.type.most + 1), std::to_string(f.type.least - 1),
                  std::string("-1"), std::string("1.5"), std::string("99999999999999999999")})
                refused(value, range);
            for (const uint64_t value : {f.type.least, f.type.most})
                EXPECT_TRUE(read_object(entry(f.key, std::to_string(value)), table, kind));
        }
        if (f.type.form == value_form::word)
            refused("nonsense", "should be " + std::string(f.type.words.front()));
        if (f.type.form == value_form::text && f.type.most != UINT64_MAX)
            refused(std::string(f.type.most + 1, 'x'), std::to_string(f.type.most));
    });
    EXPECT_GE(numbers, 5U);
}

TEST(fields, a_list_has_a_maximum) {
    std::string macs = "[";
    for (unsigned i = 0; i < 17; ++i)
        macs += (i == 0 ? "" : ", ") + ("\"02:00:00:00:01:" + std::to_string(10 + i) + "\"");
    EXPECT_THAT(error_of("extra_macs: " + macs + "]", interface_fields(), of_port),
                HasSubstr("names 17 MAC addresses; at most 16 are possible"));
}

TEST(fields, host_pass_names_groups_and_ethertypes) {
    const auto about = [](const std::string& value) {
        return error_of("host_pass: [" + value + "]", interface_fields(), of_port);
    };
    const auto read =
        read_object("host_pass: [239.1.1.1, \"FF0E::181\", \"01:80:C2:00:00:02\", 0x88F7]",
                    interface_fields(), of_port);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(read->passes.size(), 4U);
    EXPECT_EQ(read->passes[1].text(), "ff0e::181");
    EXPECT_EQ(read->passes[2].text(), "01:80:c2:00:00:02");
    EXPECT_EQ(read->passes[3].text(), "0x88f7");
    EXPECT_EQ(about("239.1.1.1, 239.1.1.1"), "f.yaml:1: object.host_pass[1] names 239.1.1.1 twice");
    EXPECT_THAT(about("0x0800"), StartsWith("f.yaml:1: object.host_pass[0] '0x0800' should be"));
    for (const char* const value :
         {"0x86dd", "0x8100", "0x05ff", "0xffff", "0x", "0x88f7f", "0x88 f7", "10.0.1.1", "\"::1\"",
          "lldp", "\"02:00:00:00:00:01\"", "\"ff:ff:ff:ff:ff:ff\"", "255.255.255.255", "35063"})
        EXPECT_THAT(about(value), StartsWith("f.yaml:1: object.host_pass[0] '")) << value;
    std::string many;
    for (unsigned i = 0; i < 33; ++i)
        many += (i == 0 ? "239.1.2." : ", 239.1.2.") + std::to_string(i);
    EXPECT_THAT(about(many), HasSubstr("at most 32 are possible"));
}

TEST(fields, a_description_is_one_line) {
    for (const char* text : {"\"a\\nb\"", "\"\\x7f\"", "\"\\e[31m\"", "\"\\x9b\"", "\"\\N\""})
        EXPECT_THAT(error_of(std::string("description: ") + text, port_fields(), of_port),
                    HasSubstr("object.description should be one line of text"))
            << text;
    const auto read =
        read_object("description: \"to Zürich: 10G, \\\"B\\\"\"", interface_fields(), of_vlan);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->description, "to Zürich: 10G, \"B\"");
}

/// A text that YAML's escapes can make, but libyaml's reader refuses, would be saved as a file that cannot be read.
TEST(fields, each_character_is_read_back) {
    for (unsigned code = 1; code < 0x11000; ++code) {
        if (code >= 0xd800 && code <= 0xdfff) continue;
        char escaped[16];
        std::snprintf(escaped, sizeof escaped, "\"a\\U%08x b\"", code);
        const auto made = yaml::parse_yaml(escaped, "made");
        ASSERT_TRUE(made) << code;
        const std::string text(yaml::node(*made).text());
        const auto read = yaml::parse_yaml(quoted(text), "read");
        ASSERT_TRUE(read) << code << ": " << read.error().message();
        ASSERT_EQ(yaml::node(*read).text(), text) << code;
    }
}

TEST(fields, a_mac_address_has_three_spellings) {
    for (const char* text : {"02:00:0a:00:00:b3", "02-00-0A-00-00-B3", "0200.0a00.00b3"}) {
        const auto read =
            read_object(std::string("mac: \"") + text + "\"", bridge_fields(), of_bridge);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(read->mac->text(), "02:00:0a:00:00:b3");
    }
    for (const char* text :
         {"02:00-0a:00:00:b3", "02000a0000b3", "0200.0a00.00b3.", "0200:0a00:00b3"})
        EXPECT_THAT(error_of(std::string("mac: \"") + text + "\"", bridge_fields(), of_bridge),
                    HasSubstr("should be a MAC address"))
            << text;
}

TEST(fields, a_key_twice_is_refused) {
    each_row([](const auto& table, unsigned kind, const auto& f) {
        const std::string one = entry(f.key, example_of(f));
        const std::string key(f.key.substr(0, f.key.find('.')));
        EXPECT_THAT(error_of("{" + one + ", " + one + "}", table, kind),
                    testing::AllOf(StartsWith("f.yaml:1: "), HasSubstr("'" + key + "'")));
    });
}

TEST(fields, a_mistyped_key_is_answered_with_the_nearest) {
    each_row([](const auto& table, unsigned kind, const auto& f) {
        const std::string key(f.key.substr(f.key.find('.') + 1));
        if (key.size() < 4) return;  // "in", "mps": a typing error makes another key
        std::string typo(f.key);
        if (typo[typo.size() - 1] == typo[typo.size() - 2]) typo.pop_back();
        std::swap(typo[typo.size() - 1], typo[typo.size() - 2]);
        EXPECT_THAT(error_of(entry(typo, "1"), table, kind),
                    HasSubstr("; did you mean '" + key + "'?"));
    });
}

TEST(fields, a_value_is_read_back_from_its_text) {
    each_row([](const auto& table, unsigned kind, const auto& f) {
        auto read = read_object(entry(f.key, example_of(f)), table, kind);
        ASSERT_TRUE(read) << read.error().message();
        using object = std::remove_reference_t<decltype(*read)>;
        object usual{};
        add_required(usual);
        EXPECT_FALSE(same(table, kind, *read, usual)) << "the example is the default";
        std::string text;
        write_fields(text, "", table, kind, *read);
        const auto again = read_object(text.empty() ? "{}" : text, table, kind);
        ASSERT_TRUE(again) << again.error().message() << text;
        EXPECT_TRUE(same(table, kind, *again, *read)) << text;
        f.at.reset(*read);
        // A mirror has either `ports` or `bridge`, and either `to` or `remote`.
        if (f.required || f.key == "table" || kind == of_mirror) add_required(*read);
        EXPECT_TRUE(same(table, kind, *read, usual));
    });
}

TEST(fields, each_value_is_valid_json) {
    each_row([](const auto& table, unsigned kind, const auto& f) {
        std::vector<std::string> values{example_of(f)};
        values.insert(values.end(), f.type.words.begin(), f.type.words.end());
        for (const std::string& value : values) {
            const auto read = read_object(entry(f.key, value), table, kind);
            ASSERT_TRUE(read) << read.error().message();
            EXPECT_TRUE(nlohmann::json::accept(json_of(table, kind, *read)))
                << json_of(table, kind, *read);
        }
    });
}

TEST(fields, all_fields_at_once) {
    const auto check = [](const auto& table, unsigned kind) {
        std::string text, key;
        for (const auto& f : table) {
            if ((f.kinds & kind) == 0) continue;
            const size_t dot = f.key.find('.');
            const std::string map(f.key.substr(0, dot == std::string_view::npos ? 0 : dot));
            if (!key.empty() && map != key) text += "}\n";
            if (map.empty())
                text += entry(f.key, example_of(f)) + "\n";
            else
                text += (map == key ? ", " : map + ": {") + std::string(f.key.substr(dot + 1)) +
                        ": " + example_of(f);
            key = map;
        }
        if (!key.empty()) text += "}\n";
        const auto read = read_object(text, table, kind);
        ASSERT_TRUE(read) << read.error().message() << text;
        std::string written;
        write_fields(written, "  ", table, kind, *read);
        const auto again = read_object(written, table, kind);
        ASSERT_TRUE(again) << again.error().message() << written;
        EXPECT_TRUE(same(table, kind, *again, *read)) << written;
    };
    check(port_fields(), of_port);
    check(settings_fields(), of_settings);
    check(process_fields(), of_process);
    check(bridge_fields(), of_bridge);
    check(member_fields(), of_member);
    check(tunnel_fields(), of_tunnel);
    check(mirror_fields(), of_mirror);
    for (const unsigned kind : {of_port, of_vlan, of_bridge, of_tunnel})
        check(interface_fields(), kind);
}

TEST(fields, an_object_without_values_is_written_as_the_default) {
    std::string text;
    write_fields(text, "", interface_fields(), of_port, state::interface{});
    EXPECT_EQ(text, "");
    write_fields(text, "  ", port_fields(), of_port, state::port{.device = "net_ring0"});
    EXPECT_EQ(text, "  device: \"net_ring0\"\n");
}

/// "pcie.link" as JSON: {"pcie": {"link": VALUE}}
std::string as_json(const field_facts& f) {
    std::string value = example_of(f);
    if (f.type.kind == "PORT" && value[0] != '[') value = "b";
    if (f.key == "control_plane.netlink") value = "false";
    if (f.type.kind == "VLANS") value = "[\"10\", \"20-29\"]";
    if (f.type.kind == "PAIRS") value = "[\"110:10\"]";
    if (f.type.kind == "CIDRS") value = "[\"10.0.1.1/24\", \"2001:db8::1/64\"]";
    if (f.type.kind == "DEVICE") value = "\"net_ring5\"";
    if (value[0] != '[' && value[0] != '"') value = '"' + value + '"';
    const size_t dot = f.key.find('.');
    const std::string inner = '"' + std::string(f.key.substr(dot + 1)) + "\": " + value;
    if (dot == std::string_view::npos) return inner;
    return '"' + std::string(f.key.substr(0, dot)) + "\": {" + inner + "}";
}

/// The map of an edit with its object, as JSON without the last brace: {"name": "west"
std::string object_of(const object_facts& o, const std::string& name) {
    if (o.name == "settings") return "{";
    if (o.name == "member") return R"({"bridge": "vlans", "port": ")" + name + '"';
    if (o.name == "neighbour") return R"({"address": "10.9.1.9", "port": "west")";
    return R"({"name": ")" + name + '"';
}

/// Each key by `set` and `unset` of a running configuration. Some keys need another: they are set with it in edits_test.
TEST(fields, each_key_is_set_and_unset) {
    const auto before = load_text(R"(control_plane: {netlink: true}
acl: [{name: one, rules: []}, {name: two, layer: 2, rules: []}]
vrfs: [{name: one, table: 7}]
ports:
  - {name: west, device: net_ring0, addresses: [10.9.1.1/24]}
  - {name: north, device: net_ring4, addresses: [10.9.9.1/24]}
  - {name: a, device: net_ring1}
  - {name: b, device: net_ring2}
  - {name: mirror-port, device: net_ring3}
tunnels: [{name: t, vni: 5, local: 10.9.9.1, remote: 10.9.9.2}]
bridges:
  - {name: lan, members: [{port: a}], addresses: [10.9.2.1/24]}
  - {name: vlans, members: [{port: b, mode: native-tagged, vlan: 10, trunks: [10, 20-30]}, {port: mirror-port, mode: trunk}]}
interfaces: [{port: west, vlan: 5, addresses: [10.9.3.1/24]}]
mirrors: [{name: m, ports: [a], to: mirror-port}]
neighbours: {static: [{address: 10.9.1.9, port: west, mac: "02:00:00:00:00:05"}]}
)",
                                  "f.yaml");
    ASSERT_TRUE(before) << before.error().message();
    std::vector<std::string> not_taken;
    size_t taken = 0;
    const auto check = [&](const object_facts& o, const std::string& name, const field_facts& f) {
        const std::string object = object_of(o, name), comma = object == "{" ? "" : ", ";
        const std::string kind = "\"" + std::string(o.name) + "\": ";
        state::configuration now = *before;
        const std::string set_text =
            o.name == "settings" ? "[{\"set\": {" + as_json(f) + "}}]"
                                 : "[{\"set\": {" + kind + object + comma + as_json(f) + "}}}]";
        if (const auto set = edit(now, set_text); !set) {
            EXPECT_THAT(set.error().text, testing::Not(HasSubstr("has no key"))) << f.key;
            not_taken.push_back(std::string(o.name) + " " + name + " " + std::string(f.key) + ": " +
                                set.error().text);
            return;
        }
        ++taken;
        const auto again = load_text(to_yaml(now), "again");
        ASSERT_TRUE(again) << again.error().message() << to_yaml(now);
        EXPECT_EQ(to_yaml(*again), to_yaml(now));
        EXPECT_NE(to_yaml(now), to_yaml(*before));
        if (f.required || f.key == "addresses") return;
        const auto unset = edit(now, "[{\"unset\": {" + kind + object + comma + "\"keys\": [\"" +
                                         std::string(f.key) + "\"]}}}]");
        // Mode native-tagged needs a VLAN, and another member has a mode.
        if (o.name == "member" && (f.key == "vlan" || f.key == "mode")) {
            ASSERT_FALSE(unset);
            return;
        }
        if (o.name == "mirror" && (f.key == "ports" || f.key == "to")) {
            ASSERT_FALSE(unset);
            return;
        }
        ASSERT_TRUE(unset) << unset.error().message();
        const bool has_another_default =
            f.key == "trunks" || f.key == "table" || f.key == "control_plane.netlink";
        if (!has_another_default) {
            EXPECT_EQ(to_yaml(now), to_yaml(*before));
        }
    };
    for (const object_facts& o : all_objects())
        for (const field_facts& f : o.fields) {
            SCOPED_TRACE(f.key);
            if (o.name == "interface") {
                for (const std::string name : {"west", "west.5", "lan"}) check(o, name, f);
            } else if (o.name != "bridge_interface") {
                check(o,
                      o.name == "port"     ? "west"
                      : o.name == "bridge" ? "lan"
                      : o.name == "member" ? "b"
                      : o.name == "tunnel" ? "t"
                      : o.name == "mirror" ? "m"
                                           : "one",
                      f);
            }
        }
    // The others need another key (router_alert), or do not fit the object (L2 ACLs of routed interfaces).
    EXPECT_EQ(taken, 153U) << testing::PrintToString(not_taken);
}

/// The schema of a key; keys with a dot are properties of a map.
nlohmann::json property_of(const nlohmann::json& object, std::string_view key) {
    const size_t dot = key.find('.');
    const nlohmann::json one =
        object["properties"].value(std::string(key.substr(0, dot)), nlohmann::json());
    return dot == std::string_view::npos ? one : property_of(one, key.substr(dot + 1));
}

TEST(fields, the_schema_has_each_key_with_its_type) {
    const auto schema = nlohmann::json::parse(json_schema());
    for (const std::string_view key : file_keys)
        EXPECT_TRUE(schema["properties"].contains(key)) << key;
    EXPECT_EQ(schema["properties"].size(), std::size(file_keys));
    each_row([&](const auto&, unsigned kind, const field_facts& f) {
        const char* const name = kind == of_port        ? "port"
                                 : kind == of_vlan      ? "interface"
                                 : kind == of_bridge    ? "bridge"
                                 : kind == of_tunnel    ? "tunnel"
                                 : kind == of_member    ? "member"
                                 : kind == of_mirror    ? "mirror"
                                 : kind == of_vrf       ? "vrf"
                                 : kind == of_neighbour ? "neighbour"
                                                        : "";
        const nlohmann::json& named = *name == 0 ? schema : schema["definitions"][name];
        const nlohmann::json& object = named.contains("anyOf") ? named["anyOf"][1] : named;
        const nlohmann::json one = property_of(object, f.key);
        ASSERT_TRUE(one.is_object());
        EXPECT_EQ(one["description"], f.meaning);
        EXPECT_EQ(one.contains("x-change"), f.on_change != effect::live);
        const auto required = object.value("required", std::vector<std::string>{});
        EXPECT_EQ(std::count(required.begin(), required.end(), f.key), f.required ? 1 : 0);
        if (f.type.form == value_form::number) {
            EXPECT_EQ(one["type"], nlohmann::json({"integer", "string"}));
            const std::regex pattern(one["pattern"].get<std::string>());
            for (const char* number : {"10k", "1.5M", "2G"})
                EXPECT_TRUE(std::regex_search(number, pattern)) << number;
            for (const char* other : {"", "k", "1.k", "10x", "10"})
                EXPECT_FALSE(std::regex_search(other, pattern)) << other;
            for (const std::string_view word : f.type.words)
                EXPECT_TRUE(std::regex_search(std::string(word), pattern)) << word;
            EXPECT_EQ(one["minimum"], f.type.least);
            EXPECT_EQ(one["maximum"], f.type.most);
        }
        const bool is_list = f.type.form == value_form::list && !f.type.or_one;
        EXPECT_EQ(one.contains("enum"), f.type.form == value_form::word);
        if (f.type.form == value_form::word) {
            EXPECT_EQ(one["enum"].size(), f.type.words.size());
        }
        EXPECT_EQ(one.value("type", nlohmann::json()) == "array", is_list);
    });
    EXPECT_EQ(property_of(schema["definitions"]["port"], "mtu")["default"], 1500);
    EXPECT_EQ(property_of(schema["definitions"]["interface"], "urpf")["default"], "off");
    EXPECT_EQ(property_of(schema["definitions"]["interface"], "mtu"), nlohmann::json());
}

/// Whether a key's schema includes the type of a value. Programs with a schema read a plain 27 as a number.
bool schema_takes(const nlohmann::json& one, const nlohmann::json& value) {
    nlohmann::json types = one.at("type");
    if (!types.is_array()) types = nlohmann::json::array({types});
    const std::string type = value.is_number_integer() ? "integer" : value.type_name();
    if (std::find(types.begin(), types.end(), nlohmann::json(type)) == types.end()) return false;
    return !value.is_array() || std::all_of(value.begin(), value.end(), [&](const auto& element) {
        return schema_takes(one.at("items"), element);
    });
}

TEST(fields, the_schema_takes_numbers_and_nulls_that_the_reader_takes) {
    const auto schema = nlohmann::json::parse(json_schema());
    const auto port = schema["definitions"]["port"], mirror = schema["definitions"]["mirror"];
    struct {
        const nlohmann::json& object;
        const char *key, *value;
    } const rows[] = {{schema, "metrics.listen", "9417"},
                      {schema, "metrics.listen", "[9417]"},
                      {schema, "control.group", "27"},
                      {port, "host_pass", "[34915]"},
                      {port, "description", "100"},
                      {port, "vrf", "7"},
                      {port, "acl.in", "7"},
                      {port, "acl.in", "null"},
                      {mirror, "list", "null"},
                      {mirror, "ports", "[1, \"a\"]"},
                      {mirror, "remote", "\"10.0.0.1\""},
                      {port, "name", "7"}};
    for (const auto& one : rows)
        EXPECT_TRUE(
            schema_takes(property_of(one.object, one.key), nlohmann::json::parse(one.value)))
            << one.key << ": " << one.value;
    EXPECT_FALSE(schema_takes(property_of(mirror, "remote"), 7));
    EXPECT_EQ(error_of("list: null", mirror_fields(), of_mirror), "none: list: null");
}

/// Lists, rules, routes and next hops: the schema has the keys that the reader names for an unknown key.
TEST(fields, the_schema_of_other_objects_has_the_readers_keys) {
    const auto schema = nlohmann::json::parse(json_schema());
    const auto keys_of = [&](const nlohmann::json& object) {
        std::set<std::string> out;
        for (const auto& [key, value] : object["properties"].items()) out.insert(key);
        return out;
    };
    const auto keys_named = [](const std::string& text) {
        const auto read = load_text(text, "f.yaml");
        EXPECT_FALSE(read);
        const std::string message = read ? std::string() : read.error().message();
        const size_t at = message.find("it takes ");
        EXPECT_NE(at, std::string::npos) << message;
        std::set<std::string> out;
        std::istringstream words(message.substr(at == std::string::npos ? 0 : at + 9));
        for (std::string word; words >> word;) {
            if (word.ends_with(',')) word.pop_back();
            if (word != "and" && word != "or") out.insert(word);
        }
        return out;
    };
    const std::string port = "ports: [{name: a, device: net_x, addresses: [10.0.0.1/24]}]\n";
    const auto rule = [&](int layer, const std::string& says) {
        return port + "acl: [{name: l, layer: " + std::to_string(layer) + ", rules: [{" + says +
               ", xyz: 1}]}]\n";
    };
    std::set<std::string> rules = keys_named(rule(3, "action: deny"));
    for (const std::string& more : {rule(2, "action: deny"), rule(3, "action: deny, file: f"),
                                    rule(3, "action: deny, lines: f")})
        rules.merge(keys_named(more));
    EXPECT_EQ(keys_of(schema["definitions"]["rule"]), rules);
    EXPECT_EQ(keys_of(schema["definitions"]["acl"]),
              keys_named(port + "acl: [{name: l, xyz: 1}]\n"));
    std::set<std::string> routes = keys_named(port + "routes: [{to: 10.1.0.0/16, xyz: 1}]\n");
    for (const char* const many : {"file", "lines"})
        routes.merge(keys_named(port + "routes: [{" + many + ": f, xyz: 1}]\n"));
    EXPECT_EQ(keys_of(schema["definitions"]["route"]), routes);
    EXPECT_EQ(keys_of(schema["definitions"]["next_hop"]["anyOf"][1]),
              keys_named(port + "routes: [{to: 10.1.0.0/16, via: [{via: 10.0.0.2, xyz: 1}]}]\n"));
    for (const auto& [key, value] : schema["properties"].items())
        EXPECT_FALSE(value.empty()) << key;
}

TEST(fields, the_fuzzers_dictionary_has_each_key_and_word) {
    const std::string dictionary = "\n" + fuzz_dictionary();
    const auto has = [&](std::string_view word) {
        EXPECT_THAT(dictionary, HasSubstr("\n\"" + std::string(word) + "\"\n"));
    };
    each_row([&](const auto&, unsigned, const field_facts& f) {
        has(f.key.substr(f.key.find('.') + 1));
        for (const std::string_view word : f.type.words) has(word);
        if (f.type.form == value_form::number) has(std::to_string(f.type.most));
    });
    for (const std::string_view key : file_keys) has(key);
    has("fdb");
}

/// `show` has the values of the tables; names and numbers without a value are null.
TEST(fields, an_object_as_json) {
    state::interface i;
    i.urpf = state::reverse_path::loose;
    i.acl_in = "a \"b\"\t\x7f";
    i.addresses = {*parse_prefix("10.0.1.1/24")};
    const auto shown = nlohmann::json::parse(json_of(interface_fields(), of_port, i));
    EXPECT_EQ(shown["urpf"], "loose");
    EXPECT_EQ(shown["acl_in"], i.acl_in);
    EXPECT_EQ(shown["addresses"], nlohmann::json({"10.0.1.1/24"}));
    EXPECT_EQ(shown["send_redirects"], false);
    EXPECT_EQ(shown["extra_macs"], nlohmann::json::array());
    for (const char* name : {"vrf", "acl_out", "l2_in", "l2_out"})
        EXPECT_TRUE(shown.at(name).is_null());
    const auto port = nlohmann::json::parse(json_of(port_fields(), of_port, state::port{}));
    EXPECT_EQ(port["mtu"], 1500);
    EXPECT_TRUE(port.at("pcie_mps").is_null());
}

}  // namespace
}  // namespace turnpike::sources
