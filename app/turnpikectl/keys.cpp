// SPDX-License-Identifier: BSD-3-Clause
#include "keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "objects.hpp"

namespace turnpike::ctl {

using nlohmann::json;
using sources::field_facts, sources::value_form;

namespace {

/// A value as turnpike reads it; numbers are sent as strings, and turnpike accepts both.
json value_of(const field_facts* f, const std::string& text) {
    if (f != nullptr && f->type.form == value_form::list)
        return text == "none" ? json::array() : list_of(text);
    if (f != nullptr && f->type.kind == "LIST" && text == "none") return {};
    return text;
}

/// The dotted key of a row, or the word for turnpike to refuse.
std::string key_text(const field_facts* f, const std::string& word) {
    return f != nullptr ? std::string(f->key) : word;
}

/// "members" of a bridge: names of objects.
bool is_list_of_objects(std::string_view kind, std::string_view key) {
    for (const sources::object_facts& o : sources::all_objects())
        if (o.name == kind)
            return std::any_of(o.lists.begin(), o.lists.end(),
                               [&](const auto& list) { return list.key == key; });
    return false;
}

/// Adds a key, which may lead into a map, to an object's members.
result<void> add_key(json& object, std::string_view kind, const std::string& word,
                     const std::string& value) {
    const field_facts* const f = key_of(kind, word);
    const std::string key = key_text(f, word);
    const size_t dot = key.find('.');
    json& map = dot == std::string::npos ? object : object[key.substr(0, dot)];
    const std::string inner = dot == std::string::npos ? key : key.substr(dot + 1);
    if (key == "name" || !(map.is_object() || map.is_null()) || map.contains(inner))
        return misuse(word, key == "name" ? "cannot be changed" : "is there twice");
    map[inner] = is_list_of_objects(kind, key) ? list_of(value) : value_of(f, value);
    return {};
}

/// Adds pairs of key and value from word `from` on.
result<void> add_pairs(json& object, std::string_view kind, const given& g, size_t from) {
    for (size_t i = from; i + 1 < g.words.size(); i += 2)
        if (auto added = add_key(object, kind, g.words[i].second, g.words[i + 1].second); !added)
            return added;
    return {};
}

/// The keys that name an object of a kind, in the order of a command's words.
/// existing  by `set` and `unset`
std::vector<std::string> names_of(std::string_view kind, bool existing) {
    if (kind == "member") return {"bridge", "port"};
    if (kind == "fdb") return {"bridge", "mac"};
    if (kind == "neighbour") return {"address"};
    if (kind == "interface" && !existing) return {"port", "vlan"};
    return {"name"};
}

/// The object with the keys that name it, from word 2 on.
json named_object(const given& g, std::string_view kind, bool existing) {
    json object = json::object();
    size_t at = 2;
    for (const std::string& key : names_of(kind, existing)) object[key] = g.words[at++].second;
    return object;
}

/// The keys from word `from` on.
json keys_from(const given& g, size_t from, std::string_view kind) {
    json keys = json::array();
    for (size_t i = from; i < g.words.size(); ++i)
        keys.push_back(key_text(key_of(kind, g.words[i].second), g.words[i].second));
    return keys;
}

}  // namespace

std::span<const sources::object_facts::entry> keys_of(std::string_view object) {
    for (const sources::object_facts& o : sources::all_objects())
        if (o.name == object) return o.fields;
    return {};
}

const field_facts* key_of(std::string_view object, std::string_view key) {
    for (const field_facts& f : keys_of(object)) {
        std::string underlined(f.key);
        std::replace(underlined.begin(), underlined.end(), '.', '_');
        if (f.key == key || underlined == key || (!f.shown.empty() && f.shown == key)) return &f;
    }
    return nullptr;
}

std::string_view object_of(std::span<const std::string> words) {
    if (words.empty()) return {};
    const bool existing = words[0] == "set" || words[0] == "unset";
    const std::string_view kind = words.size() < 2 ? std::string_view{} : words[existing ? 1 : 0];
    const bool adds = words.size() > 1 && (words[1] == "add" || words[1] == "replace");
    if (keys_of(kind).empty() || !(existing || adds))
        return existing ? "settings" : std::string_view{};
    return words.size() >= 2 + names_of(kind, existing).size() ? kind : std::string_view{};
}

std::string values_text(const sources::value_type& type) {
    std::string words;
    for (const std::string_view w : type.words)
        words += (words.empty() ? "" : ", ") + std::string(w);
    switch (type.form) {
        case value_form::number:
            return std::to_string(type.least) + " to " + std::to_string(type.most) +
                   (type.unit.empty() ? "" : " " + std::string(type.unit)) +
                   (words.empty() ? "" : ", or " + words);
        case value_form::truth:
            return "true, false";
        case value_form::word:
            return words;
        case value_form::text:
            return std::string(type.noun);
        case value_form::list:
            break;
    }
    return std::string(type.plural) + ", separated by commas; each " + std::string(type.noun);
}

result<json> change_object(const given& g) {
    const std::string &kind = g.words[0].second, &verb = g.words[1].second;
    json object = named_object(g, kind, false);
    if (auto added = add_pairs(object, kind, g, 2 + names_of(kind, false).size()); !added)
        return tl::unexpected<error>(added.error());
    return change_request(g, verb, {{kind, std::move(object)}});
}

result<json> set_keys(const given& g) {
    const std::string& kind = g.words[1].second;
    const json named = named_object(g, kind, true);
    json object = named, none = json::array(), changes = json::array();
    for (size_t i = 2 + named.size(); i + 1 < g.words.size(); i += 2) {
        const std::string &word = g.words[i].second, &value = g.words[i + 1].second;
        const field_facts* const f = key_of(kind, word);
        if (f != nullptr && f->type.form == value_form::list && value == "none")
            none.push_back(f->key);  // a list without elements: without the key
        else if (auto added = add_key(object, kind, word, value); !added)
            return tl::unexpected<error>(added.error());
    }
    if (!none.empty()) {
        json unset = named;
        unset["keys"] = std::move(none);
        changes.push_back({{"unset", {{kind, std::move(unset)}}}});
    }
    if (object != named) changes.push_back({{"set", {{kind, std::move(object)}}}});
    return change_request(g, std::move(changes));
}

result<json> unset_keys(const given& g) {
    const std::string& kind = g.words[1].second;
    json object = named_object(g, kind, true);
    object["keys"] = keys_from(g, 2 + names_of(kind, true).size(), kind);
    return change_request(g, "unset", {{kind, std::move(object)}});
}

result<json> set_settings(const given& g) {
    const std::string key = g.value("KEY");
    if (!keys_of(key).empty())
        return misuse("set " + key + " " + g.value("VALUE"), "KEY VALUE is missing");
    json settings = json::object(), changes = json::array();
    if (auto added = add_pairs(settings, "settings", g, 1); !added)
        return tl::unexpected<error>(added.error());
    for (const auto& [section, values] : settings.items())
        changes.push_back({{"set", {{section, values}}}});
    return change_request(g, std::move(changes));
}

result<json> unset_settings(const given& g) {
    return change_request(g, "unset", {{"settings", {{"keys", keys_from(g, 1, "settings")}}}});
}

}  // namespace turnpike::ctl
