// SPDX-License-Identifier: BSD-3-Clause
#include "yaml/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/scaled_number.hpp"

namespace turnpike::yaml {
namespace {

std::string kind(const node& n) {
    if (n.kind() == node_kind::map) return "a map";
    if (n.kind() == node_kind::list) return "a list";
    if (n.kind() == node_kind::scalar) return fmt::format("'{}'", n.text().substr(0, 80));
    return "nothing";
}

std::string place(const node& n) { return fmt::format("{}:{}", n.file(), n.line()); }

/// at    the node whose line the message has
/// what  the node that the message is about
[[noreturn]] void complain(const node& at, const node& what, const std::string& text) {
    const std::string path = what.path();
    throw complaint{error{EINVAL, place(at), path.empty() ? text : path + " " + text}};
}

/// Insertions, deletions, replacements and exchanges of neighbouring characters between two words (optimal string
/// alignment).
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    for (size_t k = 0; k <= b.size(); ++k) last[k] = k;
    for (size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (size_t k = 1; k <= b.size(); ++k) {
            now[k] = std::min({last[k] + 1, now[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1])});
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = std::min(now[k], before[k - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return last[b.size()];
}

}  // namespace

std::string suggestion(std::string_view wrong, std::span<const std::string_view> of) {
    if (wrong.size() > 40) return {};
    std::string_view nearest;
    size_t least = std::max<size_t>(1, wrong.size() / 3);  // more edits: another word
    for (const std::string_view key : of) {
        const bool is_beginning =
            wrong.size() >= 3 && key.starts_with(wrong);  // "drain" of "drain_us"
        const size_t d = is_beginning ? 1 : distance(wrong, key);
        if (d > least || d >= wrong.size() || (d == least && !nearest.empty())) continue;
        least = d;
        nearest = key;
    }
    return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

std::string reader::where() const { return place(node_); }

void reader::refuse(const std::string& text) const { complain(node_, node_, text); }

void reader::expect_map(std::initializer_list<std::string_view> some,
                        std::span<const std::string_view> and_those) const {
    std::vector<std::string_view> keys(some);
    keys.insert(keys.end(), and_those.begin(), and_those.end());
    if (!is_map())
        refuse(fmt::format("should be a map with {}, not {}", fmt::join(keys, ", "), kind(node_)));
    for (const node key : node_.children())
        if (std::find(keys.begin(), keys.end(), key.text()) == keys.end())
            attempt([&] {
                complain(key, node_,
                         fmt::format("has no key '{}'; it takes {}{}", key.text().substr(0, 80),
                                     fmt::join(keys, ", "), suggestion(key.text(), keys)));
            });
}

reader reader::at(std::string_view key) const {
    const auto value = node_.find(key);
    if (!value) refuse(fmt::format("lacks the key '{}'", key));
    return reader(*value);
}

size_t reader::size() const noexcept {
    size_t n = 0;
    for ([[maybe_unused]] const node child : node_.children()) ++n;
    return n;
}

std::vector<reader> reader::list(std::string_view of_what) const {
    if (node_.kind() != node_kind::list)
        refuse(fmt::format("should be a list of {}, not {}", of_what, kind(node_)));
    std::vector<reader> elements;
    for (const node element : node_.children()) elements.emplace_back(element);
    return elements;
}

std::string reader::text() const {
    if (node_.kind() != node_kind::scalar || node_.text().empty())
        refuse(fmt::format("should be a text, not {}", kind(node_)));
    return std::string(node_.text());
}

uint64_t reader::number(uint64_t least, uint64_t most) const {
    const std::string_view digits = node_.text();
    const auto value = scaled_number(digits);
    if (value && digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
        refuse(fmt::format("is {}: YAML 1.1 reads a number that begins with 0 as octal; write {}",
                           digits, *value));
    if (!value || *value < least || *value > most)
        refuse(fmt::format("should be a whole number from {} to {}, not {}", least, most,
                           kind(node_)));
    return *value;
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

size_t reader::word(std::span<const std::string_view> words) const {
    if (node_.kind() == node_kind::scalar)
        for (size_t i = 0; i < words.size(); ++i)
            if (node_.text() == words[i]) return i;
    refuse(fmt::format("should be {}, not {}", fmt::join(words, " or "), kind(node_)));
}

}  // namespace turnpike::yaml
