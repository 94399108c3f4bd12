// SPDX-License-Identifier: BSD-3-Clause
#include "manual.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "ask.hpp"
#include "command_line.hpp"
#include "keys.hpp"
#include "manual/page.hpp"
#include "version.hpp"

namespace turnpike::ctl {
namespace {

constexpr std::string_view summary = "show and change the state of a running turnpike";
constexpr std::string_view usage_line = "turnpikectl [OPTION...] COMMAND";

constexpr std::pair<std::string_view, std::string_view> exit_codes[] = {
    {"0", "done"},
    {"1",
     "turnpike refused the request, or a file or this machine does not allow it; the reason is on "
     "standard error, with the line of a wrong file"},
    {"2", "the command line is wrong, and nothing was sent"},
    {"3", "turnpike does not answer"},
};

std::string usage_of(const common_option& o) {
    return std::string(o.name) + (o.value.empty() ? "" : " " + std::string(o.value));
}

/// Columns of the terminal; 0: no terminal, no limit.
size_t terminal_width() {
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// A text in lines that fit the terminal, each with an indentation.
std::string wrapped(std::string_view text, size_t indent, size_t first_column) {
    constexpr size_t least = 20;
    const size_t width = terminal_width();
    std::string out;
    size_t column = first_column;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const bool fits = width == 0 || width < indent + least || column == first_column ||
                          column + 1 + end < width;
        if (!out.empty()) out += fits ? " " : "\n" + std::string(indent, ' ');
        column = fits ? column + 1 + end : indent + end;
        out += text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// Prints the help below a long usage.
void print_row(std::string_view usage, std::string_view help) {
    constexpr size_t width = 30, column = width + 4;
    if (usage.size() > width) fmt::print("  {}\n", wrapped(usage, 6, 2));
    fmt::print("  {:<{}}  {}\n", usage.size() > width ? "" : usage, width,
               wrapped(help, column, column));
}

/// The kinds of objects whose keys the usages have.
std::vector<std::string_view> kinds_of(const std::vector<candidate>& all) {
    std::vector<std::string_view> out;
    for (const sources::object_facts& o : sources::all_objects())
        for (const candidate& c : all) {
            const std::string_view u = c.what->usage;
            const std::string name(o.name);
            const bool is_object = u.starts_with(name + " ") ||
                                   u.starts_with("set " + name + " ") ||
                                   u.starts_with("unset " + name + " ") ||
                                   (name == "settings" && u.starts_with("set KEY"));
            if (!is_object || u.find("KEY") == std::string_view::npos) continue;
            out.push_back(o.name);
            break;
        }
    return out;
}

std::string title_of(std::string_view kind) {
    return kind == "settings" ? "settings" : "keys of " + std::string(kind);
}

}  // namespace

int print_help(const std::vector<std::string>& words) {
    const auto near = candidates_of(words);
    if (near.front().taken != words.size())
        return complain({EINVAL, words[near.front().taken],
                         "is not a command; turnpikectl --help lists the commands"},
                        exit_usage);
    fmt::print("turnpikectl: {}\nusage: {}\n\ncommands:\n", summary, usage_line);
    for (const candidate& c : near)
        if (!c.what->help.empty()) print_row(c.what->usage, c.what->help);
    auto kinds = kinds_of(near);
    if (words.size() > 1 && kinds.size() > 1)
        std::erase(kinds, "settings");  // the second word is a kind of object
    else if (words.size() == 1 && (words[0] == "set" || words[0] == "unset"))
        kinds = {"settings"};
    if (kinds.size() == 1) {
        fmt::print("\n{}:\n", title_of(kinds[0]));
        for (const sources::field_facts& f : keys_of(kinds[0]))
            print_row(f.key, fmt::format("{} ({})", f.meaning, values_text(f.type)));
    }
    fmt::print("\noptions:\n");
    for (const common_option& o : common_options()) print_row(usage_of(o), o.help);
    fmt::print("\nexit codes:\n");
    for (const auto& [code, text] : exit_codes) print_row(code, text);
    return flush_output();
}

int print_manual(const given&) {
    manual::page p("turnpikectl", version, summary);
    p.section("Synopsis");
    p.usage(usage_line);
    p.section("Description");
    p.paragraph(
        "turnpikectl shows and changes the state and configuration of a running turnpike through "
        "its "
        "control socket. "
        "Forwarding continues during every command.");
    p.section("Commands");
    for (const command& c : commands())
        if (!c.help.empty()) p.item(c.usage, std::string(c.help) + ".");
    p.section("Values");
    for (const value_kind& k : value_kinds()) p.item(k.name, std::string(k.help) + ".");
    for (const sources::object_facts& o : sources::all_objects()) {
        if (o.fields.empty() || o.name == "bridge_interface") continue;
        p.section(o.name == "settings" ? "Settings" : "Keys of " + std::string(o.name));
        for (const sources::field_facts& f : o.fields)
            p.item(f.key, fmt::format("{}: {}.", f.meaning, values_text(f.type)));
    }
    p.section("Options");
    for (const common_option& o : common_options()) p.item(usage_of(o), std::string(o.help) + ".");
    p.section("Exit status");
    for (const auto& [code, text] : exit_codes) p.item(code, std::string(text) + ".");
    p.section("Environment");
    p.item("TURNPIKE_SOCKET", "the control socket, where --socket does not name it.");
    p.item("VISUAL, EDITOR", "the editor of edit.");
    p.section("Files");
    p.item(default_socket, "the default control socket.");
    p.section("Examples");
    p.paragraph("Look up a route, and list the routes within a prefix:");
    p.example("turnpikectl show route 10.9.0.1\nturnpikectl show routes 10.0.0.0/8 longer");
    p.paragraph("Show the changes of a file, then apply it:");
    p.example("turnpikectl diff router.yaml\nturnpikectl apply router.yaml");
    p.section("See also");
    p.usage("turnpike");
    std::fputs(p.text().c_str(), stdout);
    return flush_output();
}

}  // namespace turnpike::ctl
