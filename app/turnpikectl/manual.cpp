// SPDX-License-Identifier: BSD-3-Clause
#include "manual.hpp"

#include <fmt/format.h>

#include "ask.hpp"
#include "command_line.hpp"
#include "manual/page.hpp"
#include "version.hpp"

namespace turnpike::ctl {
namespace {

constexpr std::string_view summary = "ask and change a turnpike while it forwards";
constexpr std::string_view usage_line = "turnpikectl [OPTION...] COMMAND";

constexpr std::pair<std::string_view, std::string_view> exit_codes[] = {
    {"0", "done"},
    {"1", "refused: standard error says why, with the file's line where one is to blame"},
    {"2", "wrong usage"},
    {"3", "no turnpike answers"},
};

std::string usage_of(const common_option& o) {
    return std::string(o.name) + (o.value.empty() ? "" : " " + std::string(o.value));
}

/// What is long has its meaning below it.
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
        return complain(
            {EINVAL, words[near.front().taken], "is no command; turnpikectl --help lists them"},
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
        "turnpikectl asks a running turnpike by its control socket, and has it change what it "
        "does. "
        "Nothing that it does stops packets that are on their way.");
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
    p.item(default_socket, "the control socket, where the configuration names no other.");
    p.section("Examples");
    p.paragraph("Where a packet goes, and which routes are below a network:");
    p.example("turnpikectl show route 10.9.0.1\nturnpikectl show routes 10.0.0.0/8 longer");
    p.paragraph("What a file would change, then that:");
    p.example("turnpikectl diff router.yaml\nturnpikectl apply router.yaml");
    p.section("See also");
    p.usage("turnpike");
    std::fputs(p.text().c_str(), stdout);
    return written();
}

}  // namespace turnpike::ctl
