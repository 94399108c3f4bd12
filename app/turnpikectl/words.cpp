// SPDX-License-Identifier: BSD-3-Clause
#include "words.hpp"

#include <algorithm>
#include <utility>

#include "command_line.hpp"
#include "keys.hpp"

namespace turnpike::ctl {

result<std::vector<std::string>> split_words(const std::string& line) {
    std::vector<std::string> out;
    bool inside = false, quoted = false;
    for (const char c : line) {
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        if (c == '"') quoted = !quoted;
        if (blank && !quoted) {
            inside = false;
            continue;
        }
        if (!std::exchange(inside, true)) out.emplace_back();
        if (c != '"') out.back() += c;
    }
    if (quoted) return fail(EINVAL, {}, "a quote is not closed");
    return out;
}

namespace {

/// Words that engineers type for a command of another name.
constexpr std::pair<std::string_view, std::string_view> other_spellings[] = {
    {"arp", "neighbours"},     {"nd", "neighbours"}, {"neighbors", "neighbours"},
    {"neighbor", "neighbour"}, {"mac", "fdb"},       {"vlan", "vlans"},
    {"ip", "interfaces"},      {"drop", "drops"},    {"nexthops", "next-hops"},
    {"int", "interfaces"},     {"sh", "show"},       {"delete", "del"},
    {"access-lists", "acl"},   {"log", "history"}};

}  // namespace

std::vector<std::string> whole_words(std::vector<std::string> words,
                                     std::span<const std::string_view> further) {
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i].starts_with('-') || words[i].empty()) break;
        const auto near = candidates_of({words.begin(), words.begin() + static_cast<ptrdiff_t>(i)});
        if (near.front().taken != i) break;
        std::vector<std::string_view> keywords;
        if (i == 0) keywords.assign(further.begin(), further.end());
        bool takes_value = false;
        for (const candidate& c : near)
            for (const part& p : c.next) {
                // A word that is no key of the settings is an object's kind behind `set`.
                const bool is_key = !p.is_value || p.words.front() != "KEY" ||
                                    key_of("settings", words[i]) != nullptr;
                takes_value = takes_value || (p.is_value && is_key);
                if (c.what->help.empty() || p.is_value) continue;
                for (const std::string_view word : p.words)
                    if (std::ranges::find(keywords, word) == keywords.end())
                        keywords.push_back(word);
            }
        if (takes_value || std::ranges::find(keywords, words[i]) != keywords.end()) continue;
        const auto begins = [&](std::string_view word) { return word.starts_with(words[i]); };
        const auto fit = std::ranges::count_if(keywords, begins);
        const auto other = std::ranges::find(other_spellings, std::string_view(words[i]),
                                             &std::pair<std::string_view, std::string_view>::first);
        if (words[i] == "ip" && i + 1 < words.size() && i == 1)
            words.erase(words.begin() + static_cast<ptrdiff_t>(i--));  // show ip route
        else if (other != std::end(other_spellings) &&
                 std::ranges::find(keywords, other->second) != keywords.end())
            words[i] = other->second;
        else if (fit == 1)
            words[i] = *std::ranges::find_if(keywords, begins);
    }
    return words;
}

}  // namespace turnpike::ctl
