// SPDX-License-Identifier: BSD-3-Clause
#include "usage.hpp"

#include <algorithm>
#include <stdexcept>

namespace turnpike::ctl {
namespace {

std::string_view next_token(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const size_t end = text.empty() || text[0] == '[' || text[0] == ']'
                           ? std::min<size_t>(1, text.size())
                           : std::min(text.find_first_of(" []"), text.size());
    const std::string_view token = text.substr(0, end);
    text.remove_prefix(end);
    return token;
}

part word_or_value(std::string_view token) {
    part out;
    out.repeats = token.ends_with("...");
    if (out.repeats) token.remove_suffix(3);
    out.is_value = !token.empty() && token[0] >= 'A' && token[0] <= 'Z';
    while (!out.is_value && token.find('|') != std::string_view::npos) {
        out.words.push_back(token.substr(0, token.find('|')));
        token.remove_prefix(token.find('|') + 1);
    }
    out.words.push_back(token);
    return out;
}

/// Parses up to the closing bracket, or the end.
std::vector<part> read_parts(std::string_view& text, usage& into, bool inside) {
    std::vector<part> out;
    while (true) {
        const std::string_view token = next_token(text);
        if (token.empty() || token == "]") {
            if (token.empty() == inside) throw std::logic_error("unbalanced brackets");
            return out;
        }
        if (token == "[") {
            part group;
            group.inner = read_parts(text, into, true);
            if (!group.inner.empty())
                out.push_back(std::move(group));  // an empty group was an option
        } else if (token == "..." && !out.empty()) {
            out.back().repeats = true;
        } else if (token.starts_with("--")) {
            usage_option& o = into.options.emplace_back(usage_option{token});
            std::string_view value = next_token(text);
            if (value != "]") {
                o.value = value;
                value = next_token(text);
            }
            if (!inside || value != "]") throw std::logic_error("an option not in brackets");
            return out;
        } else {
            out.push_back(word_or_value(token));
        }
    }
}

}  // namespace

usage read_usage(std::string_view text) {
    usage out;
    out.parts = read_parts(text, out, false);
    return out;
}

reading::reading(const usage& of) {
    partial& first = partials_.emplace_back();
    for (const part& p : of.parts) first.rest.push_back(&p);
}

/// Expands leading brackets into alternatives that begin with a word or a value, or are complete.
void reading::open(const partial& from, std::vector<partial>& into) {
    if (from.rest.empty() || from.rest.front()->inner.empty()) {
        into.push_back(from);
        return;
    }
    const auto begin = from.rest.begin();
    const auto end = std::find_if(begin, from.rest.end(), [](auto* p) { return p->inner.empty(); });
    for (auto taken = begin; taken != end; ++taken) {  // any of the adjacent groups may come first
        partial w{.words = from.words};
        for (const part& p : (*taken)->inner) w.rest.push_back(&p);
        for (auto p = begin; p != from.rest.end(); ++p)
            if (p != taken || (*p)->repeats) w.rest.push_back(*p);
        open(w, into);
    }
    into.push_back({{end, from.rest.end()}, from.words});
}

bool reading::accept(const std::string& word) {
    std::vector<partial> opened, as_word, as_value;
    for (const partial& w : partials_) open(w, opened);
    for (partial& w : opened) {
        if (w.rest.empty()) continue;
        const part& p = *w.rest.front();
        const auto same = std::find(p.words.begin(), p.words.end(), word);
        if (!p.is_value && same == p.words.end()) continue;
        w.words.emplace_back(p.is_value ? p.words.front() : *same, word);
        partial on{{w.rest.begin() + 1, w.rest.end()}, w.words};
        auto& to = p.is_value ? as_value : as_word;
        if (p.repeats) to.push_back(std::move(w));
        to.push_back(std::move(on));
    }
    as_word.insert(as_word.end(), as_value.begin(), as_value.end());
    if (as_word.empty()) return false;
    partials_ = std::move(as_word);
    return true;
}

std::optional<read_words> reading::whole() const {
    std::vector<partial> opened;
    for (const partial& w : partials_) open(w, opened);
    for (partial& w : opened)
        if (w.rest.empty()) return std::move(w.words);
    return std::nullopt;
}

std::vector<const part*> reading::next() const {
    std::vector<partial> opened;
    std::vector<const part*> out;
    for (const partial& w : partials_) open(w, opened);
    for (const partial& w : opened)
        if (!w.rest.empty() && std::find(out.begin(), out.end(), w.rest.front()) == out.end())
            out.push_back(w.rest.front());
    return out;
}

}  // namespace turnpike::ctl
