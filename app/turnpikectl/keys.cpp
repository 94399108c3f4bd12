// SPDX-License-Identifier: BSD-3-Clause
#include "keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

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

json request_of(const given& g, const std::string& verb, json change) {
    json request = {{"request", "change"}, {"do", {{{verb, std::move(change)}}}}};
    add_confirm(g, request);
    return request;
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
        return fail(EINVAL, word, key == "name" ? "cannot be changed" : "is there twice");
    map[inner] = value_of(f, value);
    return {};
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
        if (f.key == key || underlined == key) return &f;
    }
    return nullptr;
}

result<json> set_keys(const given& g) {
    const std::string& kind = g.words[1].second;
    json object = {{"name", g.words[2].second}};
    for (size_t i = 3; i + 1 < g.words.size(); i += 2)
        if (auto added = add_key(object, kind, g.words[i].second, g.words[i + 1].second); !added)
            return tl::unexpected<error>(added.error());
    return request_of(g, "set", {{kind, std::move(object)}});
}

result<json> unset_keys(const given& g) {
    const std::string& kind = g.words[1].second;
    return request_of(g, "unset",
                      {{kind, {{"name", g.words[2].second}, {"keys", keys_from(g, 3, kind)}}}});
}

result<json> set_setting(const given& g) {
    const std::string key = g.value("KEY"), value = g.value("VALUE");
    if (!keys_of(key).empty())
        return fail(EINVAL, "set " + key + " " + value, "KEY VALUE is missing");
    json change = json::object();
    if (auto added = add_key(change, "settings", key, value); !added)
        return tl::unexpected<error>(added.error());
    return request_of(g, "set", std::move(change));
}

result<json> unset_settings(const given& g) {
    return request_of(g, "unset", {{"settings", {{"keys", keys_from(g, 1, "settings")}}}});
}

}  // namespace turnpike::ctl
