// SPDX-License-Identifier: BSD-3-Clause
#include "manual/page.hpp"

#include <algorithm>

namespace turnpike::manual {
namespace {

/// Date of the last review of all pages.
constexpr std::string_view date = "2026-11-22";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

/// Words in bold, values in italics, brackets as they are.
std::string styled(std::string_view usage) {
    std::string out;
    while (!usage.empty()) {
        const size_t marks = std::min(usage.find_first_not_of(" []|."), usage.size());
        out += usage.substr(0, marks);
        usage.remove_prefix(marks);
        if (usage.empty()) break;
        const std::string_view word = usage.substr(0, usage.find_first_of(" []|."));
        const auto any = [word](char first, char last) {
            return std::any_of(word.begin(), word.end(),
                               [=](char c) { return c >= first && c <= last; });
        };
        const bool value = any('A', 'Z') && !any('a', 'z');
        out += (value ? "\\fI" : "\\fB") + escaped(word) + "\\fR";
        usage.remove_prefix(word.size());
    }
    return out;
}

std::string capitals(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

}  // namespace

page::page(std::string_view name, std::string_view version, std::string_view summary) {
    out_ = ".\\\" SPDX-License-Identifier: BSD-3-Clause\n.TH " + capitals(name) + " 1 " +
           std::string(date) + " \"turnpike " + std::string(version) + "\"\n";
    section("Name");
    line(escaped(name) + " \\- " + escaped(summary));
}

void page::section(std::string_view title) {
    out_ += ".SH " + capitals(title) + "\n";
    begins_ = true;
}

/// Text of any length, in short lines.
void page::filled(std::string_view text) {
    constexpr size_t width = 72;
    while (text.size() > width && text.rfind(' ', width) != std::string_view::npos) {
        line(escaped(text.substr(0, text.rfind(' ', width))));
        text.remove_prefix(text.rfind(' ', width) + 1);
    }
    line(escaped(text));
}

/// A dot or an apostrophe at its beginning would be a request.
void page::line(std::string_view text) {
    if (!text.empty() && (text[0] == '.' || text[0] == '\'')) out_ += "\\&";
    out_ += text;
    out_ += '\n';
    begins_ = false;
}

void page::paragraph(std::string_view text) {
    if (!begins_) out_ += ".PP\n";
    filled(text);
}

void page::usage(std::string_view text) { line(styled(text)); }

void page::item(std::string_view usage, std::string_view text) {
    out_ += ".TP\n";
    line(styled(usage));
    filled(text);
}

void page::example(std::string_view lines) {
    out_ += ".PP\n.nf\n";
    while (!lines.empty()) {
        const std::string_view one = lines.substr(0, lines.find('\n'));
        line(escaped(one));
        lines.remove_prefix(std::min(one.size() + 1, lines.size()));
    }
    out_ += ".fi\n";
}

}  // namespace turnpike::manual
