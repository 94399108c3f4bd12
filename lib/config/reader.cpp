// SPDX-License-Identifier: BSD-3-Clause
#include "config/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace turnpike::config {
namespace {

std::string kind(const YAML::Node& node) {
    if (node.IsMap()) return "a map";
    if (node.IsSequence()) return "a list";
    if (node.IsScalar()) return "'" + node.Scalar().substr(0, 80) + "'";
    return "nothing";
}

}  // namespace

std::string reader::where() const {
    const YAML::Mark mark = node_.Mark();
    return mark.is_null() ? file_ : file_ + ":" + std::to_string(mark.line + 1);
}

uint32_t reader::line() const {
    const YAML::Mark mark = node_.Mark();
    return mark.is_null() ? 0 : static_cast<uint32_t>(mark.line + 1);
}

bool reader::is_map() const { return node_.IsMap(); }

void reader::refuse(const std::string& text) const {
    throw complaint{error{EINVAL, where(), path_.empty() ? text : path_ + " " + text}};
}

YAML::Node reader::child(std::string_view key) const {
    // Not node_[key]: on a map of other scalars that converts, and on a const node it throws.
    for (const auto& entry : node_)
        if (entry.first.IsScalar() && entry.first.Scalar() == key) return entry.second;
    return YAML::Node(YAML::NodeType::Undefined);
}

void reader::expect_map(std::initializer_list<std::string_view> keys) const {
    if (!node_.IsMap())
        refuse(fmt::format("should be a map with {}, not {}", fmt::join(keys, ", "), kind(node_)));
    for (const auto& entry : node_) {
        const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "~";
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            reader(entry.first, file_, path_)
                .refuse(fmt::format("has no key '{}'; it takes {}", key.substr(0, 80),
                                    fmt::join(keys, ", ")));
    }
}

bool reader::has(std::string_view key) const { return child(key).IsDefined(); }

reader reader::at(std::string_view key) const {
    YAML::Node value = child(key);
    if (!value.IsDefined()) refuse(fmt::format("lacks the key '{}'", key));
    return {value, file_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
}

std::vector<reader> reader::list(std::string_view of_what) const {
    if (!node_.IsSequence())
        refuse(fmt::format("should be a list of {}, not {}", of_what, kind(node_)));
    std::vector<reader> elements;
    for (const auto& element : node_)
        elements.emplace_back(element, file_, fmt::format("{}[{}]", path_, elements.size()));
    return elements;
}

std::string reader::text() const {
    if (!node_.IsScalar() || node_.Scalar().empty())
        refuse(fmt::format("should be a text, not {}", kind(node_)));
    return node_.Scalar();
}

uint64_t reader::number(uint64_t least, uint64_t most) const {
    const std::string wanted =
        fmt::format("should be a whole number from {} to {}, not ", least, most);
    if (!node_.IsScalar()) refuse(wanted + kind(node_));
    const std::string& digits = node_.Scalar();
    uint64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size() || value < least ||
        value > most)
        refuse(wanted + kind(node_));
    return value;
}

bool reader::truth() const { return word({"false", "true"}) == 1; }

std::string reader::name() const {
    std::string name = text();
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    };
    if (name.size() > 32 || !std::all_of(name.begin(), name.end(), plain))
        refuse("should be at most 32 letters, digits, '-', '_' and '.'");
    return name;
}

size_t reader::word(std::initializer_list<std::string_view> words) const {
    if (node_.IsScalar())
        for (size_t i = 0; i < words.size(); ++i)
            if (node_.Scalar() == words.begin()[i]) return i;
    refuse(fmt::format("should be {}, not {}", fmt::join(words, " or "), kind(node_)));
}

}  // namespace turnpike::config
