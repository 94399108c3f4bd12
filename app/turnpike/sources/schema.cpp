// SPDX-License-Identifier: BSD-3-Clause
#include "sources/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sources/fields.hpp"
#include "sources/yaml_acl_writer.hpp"

namespace turnpike::sources {
namespace {

std::string as_json_text(std::string_view text) { return quoted(std::string(text)); }

/// Types of a text: the reader takes 27, 0x8863 or a name of digits as one, and other programs read a number there.
/// Addresses and devices are never numbers.
std::string text_types(const value_type& type, std::string_view more = {}) {
    const bool never_number =
        type.kind == "ADDRESS" || type.kind == "CIDRS" || type.kind == "DEVICE";
    if (never_number && more.empty()) return R"("string")";
    return fmt::format("[{}{}{}]", R"("string")", never_number ? "" : R"(, "integer")", more);
}

/// The members of a schema that describe a type.
std::string type_members(const value_type& type) {
    switch (type.form) {
        case value_form::number:
            // 10k, or words in place of the number: JSON Schema applies minimum to numbers, and pattern to texts.
            return fmt::format(
                R"("type": ["integer", "string"], "minimum": {}, "maximum": {}, "pattern": "^([0-9]+([.][0-9]+)?[kMG]{}{})$")",
                type.least, type.most, type.words.empty() ? "" : "|", fmt::join(type.words, "|"));
        case value_form::truth:
            return R"("type": "boolean")";
        case value_form::word: {
            std::vector<std::string> words;
            for (const std::string_view w : type.words) words.push_back(as_json_text(w));
            return fmt::format(R"("enum": [{}])", fmt::join(words, ", "));
        }
        case value_form::text:
            // A null takes an ACL away.
            return fmt::format(R"("type": {}{})",
                               text_types(type, type.kind == "LIST" ? R"(, "null")" : ""),
                               type.most <= 65535 ? fmt::format(R"(, "maxLength": {})", type.most)
                                                  : std::string());
        case value_form::list:
            return fmt::format(
                R"("type": {}, "items": {{{}}}{})",
                type.or_one ? text_types(type, R"(, "array")") : R"("array")",
                type.kind == "PAIRS" || type.kind == "VLANS" ? std::string()
                : type.max_element == 0
                    ? R"("type": )" + text_types(type)
                    : fmt::format(R"("type": "integer", "minimum": {}, "maximum": {})", type.least,
                                  type.max_element),
                type.most == 0 ? std::string() : fmt::format(R"(, "maxItems": {})", type.most));
    }
    return {};
}

/// The default as JSON; empty: none.
std::string usual_json(const object_facts::entry& f) {
    const std::string text = f.usual.text();
    const bool none = f.required || text == "\"\"" || text == "[]" || text == "null" ||
                      (f.type.form == value_form::number && f.type.least > 0 && text == "0");
    if (none) return {};
    return f.type.form == value_form::word ? as_json_text(text) : text;
}

/// more  further members
std::string field_schema(const object_facts::entry& f, std::string_view more = {}) {
    std::string out = type_members(f.type);
    out += more;
    out += fmt::format(R"(, "description": {})", as_json_text(f.meaning));
    if (const std::string usual = usual_json(f); !usual.empty())
        out += fmt::format(R"(, "default": {})", usual);
    if (!f.type.unit.empty()) out += fmt::format(R"(, "x-unit": {})", as_json_text(f.type.unit));
    if (!f.type.noun.empty()) out += fmt::format(R"(, "x-values": {})", as_json_text(f.type.noun));
    if (f.on_change == effect::reopens) out += R"(, "x-change": "reopens the port")";
    if (f.on_change == effect::restart) out += R"(, "x-change": "needs a restart")";
    return "{" + out + "}";
}

/// A map: {"type": "object", ...} of properties "key: schema".
std::string map_schema(const std::vector<std::string>& properties,
                       const std::vector<std::string>& required, std::string_view indent) {
    std::string needs;
    if (!required.empty()) needs = fmt::format("\"required\": [{}],", fmt::join(required, ", "));
    return fmt::format(
        "{{\"type\": \"object\", \"additionalProperties\": false,{0}{1} \"properties\": "
        "{{\n{2}  {3}\n{2}}}}}",
        needs.empty() ? "" : " ", needs, indent,
        fmt::join(properties, fmt::format(",\n{}  ", indent)));
}

struct property {
    std::string_view key;
    std::string schema;
    bool required;
    [[nodiscard]] std::string text() const {
        return fmt::format("{}: {}", as_json_text(key), schema);
    }
};

/// A list of objects.
std::string list_of(std::string_view object, std::string_view meaning = {}) {
    const std::string says = meaning.empty()
                                 ? std::string()
                                 : fmt::format(R"("description": {}, )", as_json_text(meaning));
    return fmt::format(R"({{{}"type": "array", "items": {{"$ref": "#/definitions/{}"}}}})", says,
                       object);
}

/// The keys of an object; keys with a dot are properties of a map.
std::vector<property> properties_of(const object_facts& of, unsigned kinds) {
    std::vector<property> out;
    for (auto f = of.fields.begin(); f != of.fields.end(); ++f) {
        if ((f->kinds & kinds) == 0) continue;
        const std::string_view key = top_key(f->key);
        if (key == f->key) {
            out.push_back({key, field_schema(*f), f->required});
            continue;
        }
        std::vector<std::string> inner;
        for (; f != of.fields.end() && top_key(f->key) == key; ++f)
            inner.push_back(fmt::format("{}: {}", as_json_text(f->key.substr(key.size() + 1)),
                                        field_schema(*f)));
        --f;
        if (key == "neighbours")
            inner.push_back(fmt::format(R"("static": {})", list_of("neighbour")));
        out.push_back({key, map_schema(inner, {}, "      "), false});
    }
    return out;
}

/// The definition of a kind of objects.
std::string object_schema(const object_facts& of) {
    std::vector<std::string> all, required;
    const auto add = [&](const property& p) {
        all.push_back(p.text());
        if (p.required) required.push_back(as_json_text(p.key));
    };
    for (const field_facts& f : of.names)
        add({f.key,
             f.key == "name" ? field_schema({f, {}}, R"(, "pattern": "^[A-Za-z0-9_.-]*$")")
                             : field_schema({f, {}}),
             f.required});
    for (const property& p : properties_of(of, of.in_files)) add(p);
    for (const object_facts::inner_list& list : of.lists)
        add({list.key, list_of(list.of, list.meaning), list.required});
    const std::string map = map_schema(all, required, "    ");
    // A member may be its name alone.
    return of.name == "member"
               ? fmt::format(R"({{"anyOf": [{{"type": ["string", "integer"]}}, {}]}})", map)
               : map;
}

/// Objects that are not flat have their schemas here: access lists with their rules, routes, and cross-connects.
constexpr std::string_view other_definitions = R"json(
  "rule": {"type": "object", "additionalProperties": false, "required": ["action"], "properties": {
      "action": {"enum": ["permit", "deny", "count"], "description": "Action on a packet that matches; count: only counted"},
      "name": {"type": ["string", "integer"], "pattern": "^[A-Za-z0-9_.-]*$", "description": "Unique in the list"},
      "family": {"enum": ["ipv4", "ipv6"], "description": "Packets of this family only"},
      "protocol": {"type": ["string", "integer"], "description": "A number, or icmp, igmp, tcp, udp, gre, esp, ospf, icmpv6, sctp, udp-lite"},
      "source": {"type": "string", "description": "A prefix, or the address of a host"},
      "destination": {"type": "string", "description": "A prefix, or the address of a host"},
      "source_ports": {"type": ["string", "integer"], "description": "A port or a range, e.g. 1024-65535"},
      "destination_ports": {"type": ["string", "integer"], "description": "A port or a range, e.g. 1024-65535"},
      "tcp_flags": {"type": "string", "description": "Flags that are set or not, e.g. +ack -syn"},
      "icmp_type": {"type": "integer", "minimum": 0, "maximum": 255, "description": "Type of ICMP or ICMPv6 messages"},
      "icmp_code": {"type": "integer", "minimum": 0, "maximum": 255, "description": "Code of the type"},
      "dscp": {"type": "integer", "minimum": 0, "maximum": 63, "description": "Differentiated services code point, RFC 2474"},
      "vlan": {"type": ["string", "integer"], "description": "VLAN ID of the outer tag as received, or untagged"},
      "fragments": {"type": "boolean", "description": "Only fragments, or only packets that are none"},
      "source_mac": {"type": "string", "description": "Layer 2: an address, optionally with a mask"},
      "destination_mac": {"type": "string", "description": "Layer 2: an address, optionally with a mask"},
      "ethertype": {"type": ["string", "integer"], "description": "Layer 2: a number from 0x0600 on, or ipv4, arp, ipv6, lldp, llc"},
      "file": {"type": "string", "description": "A file of rules in ClassBench format, all with this action"},
      "lines": {"type": "string", "description": "A block of rules in ClassBench format, all with this action"}
    }},
  "acl": {"type": "object", "additionalProperties": false, "required": ["name", "rules"], "properties": {
      "name": {"type": ["string", "integer"], "pattern": "^[A-Za-z0-9_.-]*$"},
      "layer": {"enum": [2, 3], "default": 3, "description": "2: rules of MAC addresses and Ethertypes; 3: of IP packets"},
      "default": {"enum": ["permit", "deny"], "default": "deny", "description": "Action on a packet that no rule matches"},
      "memory_mb": {"type": "integer", "minimum": 1, "maximum": 65536, "default": 256, "description": "Maximum memory of the lookup tables", "x-unit": "MB"},
      "rules": {"type": "array", "items": {"$ref": "#/definitions/rule"}, "description": "The first rule that matches counts"}
    }},
  "next_hop": {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": false, "required": ["via"], "properties": {
      "via": {"type": "string", "description": "A gateway"},
      "port": {"type": ["string", "integer"], "description": "Interface of the gateway"},
      "weight": {"type": "integer", "minimum": 1, "maximum": 256, "default": 1, "description": "Share of the flows"},
      "onlink": {"type": "boolean", "default": false, "description": "The gateway is on the link, whatever the addresses of the interface"}
    }}]},
  "route": {"type": "object", "additionalProperties": false, "properties": {
      "to": {"type": "string", "description": "A prefix, the address of a host, or default"},
      "via": {"description": "A gateway, or several of them, for ECMP", "anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/definitions/next_hop"}}]},
      "port": {"type": ["string", "integer"], "description": "Interface of the gateway; without via, its destinations are neighbours on it"},
      "type": {"enum": ["unicast", "blackhole", "unreachable", "prohibit"], "default": "unicast", "description": "All but unicast discard their packets"},
      "vrf": {"type": ["string", "integer"], "description": "The VRF of the route; without it, the main table"},
      "onlink": {"type": "boolean", "default": false, "description": "The gateway is on the link, whatever the addresses of the interface"},
      "recursive": {"type": "boolean", "default": false, "description": "Other routes resolve the gateway"},
      "mtu": {"type": "integer", "minimum": 68, "maximum": 65535, "description": "Longest packet of the route", "x-unit": "bytes"},
      "file": {"type": "string", "description": "A file of routes, as ip route prints them"},
      "lines": {"type": "string", "description": "A block of routes, as ip route prints them"}
    }})json";
constexpr std::pair<std::string_view, std::string_view> other_keys[] = {
    {"acl", R"({"type": "array", "items": {"$ref": "#/definitions/acl"}})"},
    {"routes",
     R"({"anyOf": [{"type": "array", "items": {"$ref": "#/definitions/route"}}, {"$ref": "#/definitions/route"}]})"},
    {"xconnects",
     R"({"description": "Pairs of cross-connected ports", "type": "array", "items": {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 2, "maxItems": 2}})"}};

}  // namespace

std::string json_schema() {
    std::vector<std::string> keys, definitions;
    std::vector<property> all, keys_of_lists;
    for (const object_facts& o : all_objects()) {
        if (o.name == "settings") {
            all = properties_of(o, of_settings | of_process);
            continue;
        }
        definitions.push_back(fmt::format("{}: {}", as_json_text(o.name), object_schema(o)));
        if (!o.list.empty()) keys_of_lists.push_back({o.list, list_of(o.name), false});
    }
    all.insert(all.end(), keys_of_lists.begin(), keys_of_lists.end());
    for (const std::string_view key : file_keys) {
        const auto p = std::ranges::find(all, key, &property::key);
        if (p != all.end()) {
            keys.push_back(p->text());
            continue;
        }
        const auto* const other = std::ranges::find(
            other_keys, key, &std::pair<std::string_view, std::string_view>::first);
        keys.push_back(fmt::format("{}: {}", as_json_text(key), other->second));
    }
    definitions.emplace_back(other_definitions.substr(other_definitions.find('"')));
    return fmt::format(
        "{{\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
        "  \"title\": \"Configuration of turnpike\",\n"
        "  \"type\": \"object\", \"additionalProperties\": false, \"required\": [\"ports\"],\n"
        "  \"properties\": {{\n    {}\n  }},\n"
        "  \"definitions\": {{\n  {}\n}}}}\n",
        fmt::join(keys, ",\n    "), fmt::join(definitions, ",\n  "));
}

std::string fuzz_dictionary() {
    std::set<std::string, std::less<>> words(std::begin(file_keys), std::end(file_keys));
    const auto add_facts = [&](const field_facts& f) {
        for (std::string_view key = f.key; !key.empty();) {
            words.emplace(top_key(key));
            key.remove_prefix(std::min(top_key(key).size() + 1, key.size()));
        }
        words.insert(f.type.words.begin(), f.type.words.end());
        if (f.type.form != value_form::number) return;
        words.insert({std::to_string(f.type.least), std::to_string(f.type.most)});
    };
    for (const object_facts& o : all_objects()) {
        words.emplace(o.name);
        for (const field_facts& f : o.names) add_facts(f);
        for (const field_facts& f : o.fields) add_facts(f);
        for (const object_facts::inner_list& list : o.lists) words.emplace(list.key);
    }
    std::string out;
    for (const std::string& word : words) out += '"' + word + "\"\n";
    return out;
}

}  // namespace turnpike::sources
