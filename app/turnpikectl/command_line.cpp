// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <algorithm>

#include "words.hpp"
#include "yaml/reader.hpp"

namespace turnpike::ctl {
namespace {

/// The options of all commands.
std::vector<usage_option> all_options() {
    std::vector<usage_option> out;
    for (const common_option& o : common_options()) out.push_back({o.name, o.value});
    for (const command& c : commands())
        for (const usage_option& o : read_usage(c.usage).options) out.push_back(o);
    return out;
}

/// Short names, as tcpdump has them.
std::string whole_name(const std::string& name) {
    for (const auto& [brief, whole] :
         {std::pair("-h", "--help"), {"-c", "--count"}, {"-w", "--write"}})
        if (name == brief) return whole;
    return name;
}

std::string joined(const std::vector<std::string>& words, size_t most) {
    std::string out;
    for (size_t i = 0; i < std::min(most, words.size()); ++i)
        out += (out.empty() ? "" : " ") + (words[i].empty() ? "\"\"" : words[i]);
    return out;
}

/// A value for turnpike to judge, not an option.
bool is_negative_number(std::string_view word) {
    word.remove_prefix(1);
    return word.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Commands by the names of earlier releases.
void use_present_names(std::vector<std::string>& words) {
    if (words.size() < 2 || words[0] != "show") return;
    for (const auto& [old, present] : {std::pair("states", "history"), {"heard", "neigh-suppress"}})
        if (words[1] == old) words[1] = present;
}

std::vector<std::string_view> next_words(const std::vector<candidate>& all) {
    std::vector<std::string_view> names;
    for (const candidate& c : all)
        for (const part& p : c.next)
            for (const std::string_view word : p.words)
                if (!c.what->help.empty() &&
                    std::find(names.begin(), names.end(), word) == names.end())
                    names.push_back(word);
    return names;
}

/// "longer", "report, ports or FILE"
std::string listed(const std::vector<std::string_view>& names) {
    std::string out;
    for (size_t i = 0; i < names.size(); ++i)
        out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
    return out;
}

/// The error for words that match no command: position and alternatives.
/// further  first words of other lines
error misfit(const std::vector<std::string>& words, const std::vector<candidate>& near,
             std::span<const std::string_view> further) {
    const size_t taken = near.front().taken;
    if (taken == 0 && !words.empty() && std::ranges::find(further, words[0]) != further.end())
        return {EINVAL, words[0], "is a command of the prompt, which turnpikectl alone opens"};
    const std::string where = joined(words, taken), expected = listed(next_words(near));
    if (taken == words.size())
        return {EINVAL, where,
                words.empty() ? "a command is missing; commands: " + expected
                              : expected + " is missing"};
    if (expected.empty()) return {EINVAL, where, "'" + words[taken] + "' is unexpected"};
    auto keywords = next_words(near);
    if (taken == 0) keywords.insert(keywords.end(), further.begin(), further.end());
    std::vector<std::string_view> begun;
    for (const std::string_view word : keywords)
        if (word.starts_with(words[taken]) && !words[taken].empty()) begun.push_back(word);
    if (begun.size() > 1)
        return {EINVAL, where, "'" + words[taken] + "' is ambiguous: " + listed(begun)};
    const std::string nearest = yaml::suggestion(words[taken], keywords);
    return {EINVAL, where,
            "'" + words[taken] + "' is unknown here" +
                (nearest.empty() ? "; expected " + expected : nearest)};
}

}  // namespace

std::vector<candidate> candidates_of(const std::vector<std::string>& words) {
    std::vector<candidate> best;
    for (const command& c : commands()) {
        candidate one{.what = &c, .how = read_usage(c.usage)};
        reading r(one.how);
        while (one.taken < words.size() && r.accept(words[one.taken])) ++one.taken;
        for (const part* p : r.next()) one.next.push_back(*p);
        if (one.taken == words.size()) one.whole = r.whole();
        if (!best.empty() && one.taken > best.front().taken) best.clear();
        if (best.empty() || one.taken == best.front().taken) best.push_back(std::move(one));
    }
    return best;
}

result<split_line> split_options(const std::vector<std::string>& line) {
    const std::vector<usage_option> known = all_options();
    split_line out;
    for (size_t i = 0; i < line.size(); ++i) {
        const std::string& word = line[i];
        if (word == "--") {
            out.words.insert(out.words.end(), line.begin() + static_cast<ptrdiff_t>(i) + 1,
                             line.end());
            break;
        }
        if (word.size() < 2 || word[0] != '-') {
            out.words.push_back(word);
            continue;
        }
        const std::string name = whole_name(word.substr(0, word.find('=')));
        const auto o = std::find_if(known.begin(), known.end(),
                                    [&](const usage_option& k) { return k.name == name; });
        if (o == known.end() && is_negative_number(word)) {
            out.words.push_back(word);
            continue;
        }
        if (o == known.end())
            return fail(EINVAL, name, "unknown option; turnpikectl --help lists the options");
        std::string value;
        if (const size_t equal = word.find('='); equal != std::string::npos) {
            if (o->value.empty()) return fail(EINVAL, name, "takes no value");
            value = word.substr(equal + 1);
        } else if (!o->value.empty()) {
            if (i + 1 == line.size()) {
                out.open = o->value;
                break;
            }
            value = line[++i];
        }
        if (!out.options.emplace(o->name, std::move(value)).second)
            return fail(EINVAL, name, "is given twice");
    }
    return out;
}

result<command_line> read_command_line(const std::vector<std::string>& words, bool abbreviated,
                                       std::span<const std::string_view> further) {
    auto split = split_options(words);
    if (!split) return tl::unexpected<error>(split.error());
    if (!split->open.empty())
        return fail(EINVAL, words.back(), std::string(split->open) + " is missing");
    use_present_names(split->words);
    if (abbreviated) split->words = whole_words(std::move(split->words), further);
    command_line out{.says = {.options = std::move(split->options)}};
    if (out.says.options.contains("--help") || out.says.options.contains("--version")) {
        for (const std::string& word : split->words) out.says.words.emplace_back("WORD", word);
        return out;
    }
    auto near = candidates_of(split->words);
    const auto found =
        std::find_if(near.begin(), near.end(), [](const candidate& c) { return c.whole; });
    if (found == near.end()) return tl::unexpected<error>(misfit(split->words, near, further));
    out.what = found->what;
    out.says.words = std::move(*found->whole);
    // Check that each option belongs to the command, and each value.
    std::vector<usage_option> with = found->how.options;
    for (const common_option& o : common_options()) with.push_back({o.name, o.value});
    for (const auto& [name, value] : out.says.options) {
        const auto o = std::find_if(with.begin(), with.end(),
                                    [n = name](const usage_option& w) { return w.name == n; });
        if (o == with.end() || (name == "--comment" && !is_change(*out.what)))
            return fail(EINVAL, std::string(name),
                        "is not an option of '" + joined(split->words, SIZE_MAX) + "'");
        const value_kind* kind = o->value.empty() ? nullptr : &kind_of(o->value);
        if (kind != nullptr && kind->is_file && value.empty())
            return fail(EINVAL, std::string(name), std::string(o->value) + " is empty");
        const char* wrong =
            kind != nullptr && kind->complaint != nullptr ? kind->complaint(value) : nullptr;
        if (wrong != nullptr) return fail(EINVAL, std::string(name) + " " + value, wrong);
    }
    for (const auto& [kind, value] : out.says.words) {
        if (kind[0] < 'A' || kind[0] > 'Z') continue;
        // `save ""` is a variable of a script without a value, not `save`.
        if (value.empty() && kind != "VALUE" && kind != "WORD")
            return fail(EINVAL, joined(split->words, SIZE_MAX), std::string(kind) + " is empty");
        if (kind_of(kind).complaint == nullptr) continue;
        if (const char* wrong = kind_of(kind).complaint(value); wrong != nullptr)
            return fail(EINVAL, value, wrong);
    }
    return out;
}

}  // namespace turnpike::ctl
