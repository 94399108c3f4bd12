// SPDX-License-Identifier: BSD-3-Clause
#include "sources/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>

#include "sources/fields.hpp"
#include "sources/yaml_acl_writer.hpp"

namespace turnpike::sources {
namespace {

std::string as_json_text(std::string_view text) { return quoted(std::string(text)); }

/// The members of a schema that describe a type.
std::string type_members(const value_type& type) {
    switch (type.form) {
        case value_form::number:
            return fmt::format(R"("type": "integer", "minimum": {}, "maximum": {})", type.least,
                               type.most);
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
                               type.kind == "LIST" ? R"(["string", "null"])" : R"("string")",
                               type.most <= 65535 ? fmt::format(R"(, "maxLength": {})", type.most)
                                                  : std::string());
        case value_form::list:
            return fmt::format(
                R"("type": {}, "items": {{{}}}{})",
                type.or_one ? R"(["array", "string"])" : R"("array")",
                type.max_element == 0
                    ? std::string(R"("type": "string")")
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

std::string field_schema(const object_facts::entry& f) {
    std::string out = type_members(f.type);
    out += fmt::format(R"(, "description": {})", as_json_text(f.meaning));
    if (const std::string usual = usual_json(f); !usual.empty())
        out += fmt::format(R"(, "default": {})", usual);
    if (!f.type.unit.empty()) out += fmt::format(R"(, "x-unit": {})", as_json_text(f.type.unit));
    if (!f.type.noun.empty()) out += fmt::format(R"(, "x-values": {})", as_json_text(f.type.noun));
    if (f.on_change == effect::reopens) out += R"(, "x-change": "reopens the port")";
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
        if (key == "neighbours") inner.push_back(R"("static": {"type": "array"})");
        out.push_back({key, map_schema(inner, {}, "      "), false});
    }
    return out;
}

/// own  the properties that name the object; all are required
std::string object_schema(const object_facts& of, std::vector<std::string> own,
                          std::vector<std::string> required, unsigned kinds) {
    for (const property& p : properties_of(of, kinds)) {
        own.push_back(p.text());
        if (p.required) required.push_back(as_json_text(p.key));
    }
    return map_schema(own, required, "    ");
}

}  // namespace

std::string json_schema() {
    const std::string name =
        R"("name": {"type": "string", "maxLength": 32, "pattern": "^[A-Za-z0-9_.-]*$", )"
        R"("description": "Name of the port and of its untagged interface", )"
        R"("x-values": "at most 32 letters, digits, '-', '_' and '.'"})";
    const std::string port =
        R"("port": {"type": "string", "description": "Port", "x-values": "the name of a port"})";
    const std::string vlan = fmt::format(
        R"("vlan": {{"type": "integer", "minimum": 1, "maximum": {}, "description": "VLAN ID"}})",
        state::last_vlan);
    const auto list_of = [](std::string_view object) {
        return fmt::format(R"({{"type": "array", "items": {{"$ref": "#/definitions/{}"}}}})",
                           object);
    };
    std::vector<std::string> keys, definitions;
    std::vector<property> settings;
    for (const object_facts& o : all_objects()) {
        if (o.name == "settings")
            settings = properties_of(o, of_settings);
        else
            definitions.push_back(fmt::format(
                "{}: {}", as_json_text(o.name),
                o.name == "port"
                    ? object_schema(o, {name}, {R"("name")"}, UINT_MAX)
                    : object_schema(o, {port, vlan}, {R"("port")", R"("vlan")"}, of_vlan)));
    }
    for (const std::string_view key : file_keys) {
        const auto s = std::ranges::find(settings, key, &property::key);
        keys.push_back(s != settings.end()
                           ? s->text()
                           : fmt::format("{}: {}", as_json_text(key),
                                         key == "ports"        ? list_of("port")
                                         : key == "interfaces" ? list_of("interface")
                                                               : "{}"));
    }
    return fmt::format(
        "{{\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
        "  \"title\": \"Configuration of turnpike\",\n"
        "  \"type\": \"object\", \"additionalProperties\": false, \"required\": [\"ports\"],\n"
        "  \"properties\": {{\n    {}\n  }},\n"
        "  \"definitions\": {{\n  {}\n}}}}\n",
        fmt::join(keys, ",\n    "), fmt::join(definitions, ",\n  "));
}

}  // namespace turnpike::sources
