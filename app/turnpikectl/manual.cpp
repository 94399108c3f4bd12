// SPDX-License-Identifier: BSD-3-Clause
#include "manual.hpp"

#include <fmt/format.h>

#include "ask.hpp"
#include "command_line.hpp"
#include "manual/page.hpp"
#include "version.hpp"

namespace turnpike::ctl {
namespace {

constexpr std::string_view summary = "show and change the state of a running turnpike";
constexpr std::string_view usage_line = "turnpikectl [OPTION...] COMMAND";

constexpr std::pair<std::string_view, std::string_view> exit_codes[] = {
    {"0", "done"},
    {"1", "refused: the reason is on standard error, with the line number for an error in a file"},
    {"2", "wrong usage"},
    {"3", "turnpike does not answer"},
};

std::string usage_of(const common_option& o) {
    return std::string(o.name) + (o.value.empty() ? "" : " " + std::string(o.value));
}

/// Prints the help below a long usage.
void print_row(std::string_view usage, std::string_view help) {
    constexpr int width = 30;
    if (usage.size() > width) fmt::print("  {}\n", usage);
    fmt::print("  {:<{}}  {}\n", usage.size() > width ? "" : usage, width, help);
}

int written() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : exit_refused; }

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
    fmt::print("\noptions:\n");
    for (const common_option& o : common_options()) print_row(usage_of(o), o.help);
    fmt::print("\nexit codes:\n");
    for (const auto& [code, text] : exit_codes) print_row(code, text);
    return written();
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
    p.section("Options");
    for (const common_option& o : common_options()) p.item(usage_of(o), std::string(o.help) + ".");
    p.section("Exit status");
    for (const auto& [code, text] : exit_codes) p.item(code, std::string(text) + ".");
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
    return written();
}

}  // namespace turnpike::ctl
