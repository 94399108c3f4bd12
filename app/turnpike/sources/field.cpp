// SPDX-License-Identifier: BSD-3-Clause
#include "sources/field.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sources/yaml_acl_writer.hpp"

namespace turnpike::sources {
namespace {

/// "pcie" and "link" of "pcie.link"; the first is empty for "mtu".
std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
    const size_t dot = key.find('.');
    if (dot == std::string_view::npos) return {{}, key};
    return {key.substr(0, dot), key.substr(dot + 1)};
}

}  // namespace

std::string written_value::text() const {
    if (is_list) return fmt::format("[{}]", fmt::join(texts, ", "));
    return texts.empty() ? std::string("null") : texts.front();
}

written_value write_value(const std::string& text) { return {{quoted(text)}}; }
written_value write_value(const state::vlan_set& vlans) {
    written_value out{.is_list = true};
    for (uint16_t first = 1; first <= state::last_vlan; ++first) {
        if (!vlans.test(first)) continue;
        uint16_t last = first;
        while (last < state::last_vlan && vlans.test(last + 1u)) ++last;
        out.texts.push_back(last == first ? std::to_string(first)
                                          : fmt::format("{}-{}", first, last));
        first = last;
    }
    return out;
}
written_value write_value(const state::pcie_profiles& profiles) {
    return profiles.file.empty() ? written_value{} : written_value{{quoted(profiles.file)}};
}
written_value write_value(const std::map<uint16_t, uint16_t>& translations) {
    written_value out{.is_list = true};
    for (const auto& [wire, vlan] : translations)
        out.texts.push_back(fmt::format("{{\"wire\": {}, \"vlan\": {}}}", wire, vlan));
    return out;
}

std::string read_text(const yaml::reader& from, const value_type& type) {
    std::string text = from.text();
    if (text.size() > type.most) from.refuse("is longer than {} characters", type.most);
    return text;
}

std::optional<yaml::reader> find_field(const yaml::reader& object, std::string_view key) {
    const auto [map, inner] = split_key(key);
    if (map.empty()) return object.has(key) ? std::optional(object.at(key)) : std::nullopt;
    if (!object.has(map) || !object.at(map).has(inner)) return std::nullopt;
    return object.at(map).at(inner);
}

std::string_view top_key(std::string_view key) noexcept { return key.substr(0, key.find('.')); }

key_list& key_list::add(std::string_view key) {
    const auto [map, inner] = split_key(key);
    if (map.empty()) {
        keys_.push_back(key);
        return *this;
    }
    auto at = std::find_if(maps_.begin(), maps_.end(),
                           [map = map](const inner_map& m) { return m.key == map; });
    if (at == maps_.end()) {
        keys_.push_back(map);
        at = maps_.insert(at, {map, {}});
    }
    at->keys.push_back(inner);
    return *this;
}

void key_list::expect(const yaml::reader& object, std::span<const std::string_view> others) const {
    std::vector<std::string_view> all(others.begin(), others.end());
    all.insert(all.end(), keys_.begin(), keys_.end());
    object.expect_map({}, all);
    expect_maps(object);
}

void key_list::expect_maps(const yaml::reader& object) const {
    for (const inner_map& m : maps_)
        if (object.has(m.key)) object.attempt([&] { object.at(m.key).expect_map({}, m.keys); });
}

void add_json(std::string& to, const field_facts& f, written_value value) {
    if (value.is_list && f.type.max_element == 0)  // a range of VLANs is YAML, but no JSON
        for (std::string& one : value.texts)
            if (one.front() != '"' && one.front() != '{') one = sources::quoted(one);
    std::string name(f.shown.empty() ? f.key : f.shown), text = value.text();
    std::replace(name.begin(), name.end(), '.', '_');
    const bool is_word = std::ranges::find(f.type.words, text) != f.type.words.end();
    if (is_word || f.type.form == value_form::word) text = sources::quoted(text);
    const bool none =
        text == "\"\"" || (f.type.form == value_form::number && f.type.least > 0 && text == "0");
    to += fmt::format("{}{}: {}", to.empty() ? "" : ", ", sources::quoted(name),
                      none ? "null" : text);
}

namespace {

void add_line(std::string& to, std::string_view indent, std::string_view key,
              const written_value& value) {
    // Addresses one per line: a difference of two files then shows the address.
    const bool lines = value.is_list && !value.texts.empty() && value.texts.front()[0] == '"';
    to += fmt::format("{}{}:{}\n", indent, key, lines ? "" : " " + value.text());
    if (lines)
        for (const std::string& one : value.texts) to += fmt::format("{}  - {}\n", indent, one);
}

}  // namespace

void add_yaml(std::string& to, std::string_view indent,
              std::span<const std::pair<std::string_view, written_value>> fields,
              std::string_view open_map) {
    constexpr ptrdiff_t max_on_line = 4;
    for (auto f = fields.begin(); f != fields.end();) {
        const std::string_view map = split_key(f->first).first;
        if (map.empty()) {
            add_line(to, indent, f->first, f->second);
            ++f;
            continue;
        }
        const auto end = std::find_if(f, fields.end(), [&](const auto& other) {
            return split_key(other.first).first != map;
        });
        const bool one_line = end - f <= max_on_line && map != open_map;
        to += fmt::format("{}{}:{}", indent, map, one_line ? " {" : "\n");
        for (const auto begin = f; f != end; ++f) {
            const std::string_view inner = split_key(f->first).second;
            if (one_line)
                to += fmt::format("{}{}: {}", f == begin ? "" : ", ", inner, f->second.text());
            else
                add_line(to, std::string(indent) + "  ", inner, f->second);
        }
        if (one_line) to += "}\n";
    }
    if (!open_map.empty() && (fields.empty() || split_key(fields.back().first).first != open_map))
        to += fmt::format("{}{}:\n", indent, open_map);
}

}  // namespace turnpike::sources
