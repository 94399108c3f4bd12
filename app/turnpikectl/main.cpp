// SPDX-License-Identifier: BSD-3-Clause
// turnpikectl [options] show|check|diff|apply|reload: ask and change a running turnpike.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "connection.hpp"
#include "print.hpp"
#include "version.hpp"

namespace {

using namespace turnpike;
using nlohmann::json;

constexpr int exit_refused = 1, exit_usage = 2, exit_no_connection = 3;
/// A line's bound; a file that does not fit is read by turnpike itself.
constexpr size_t most_request_bytes = 1u << 20;

struct options {
    std::string socket = "/run/turnpike/control.sock";
    bool as_json = false;
    unsigned timeout_s = 60;
    std::string command, what, of, file;
    bool longer = false;
};

/// Fills `into`; returns an exit code where the program is to end here, -1 where it goes on.
int read_options(int argc, char** argv, options& into) {
    CLI::App app{"turnpikectl: ask and change a turnpike while it forwards"};
    app.set_version_flag("--version", std::string(version));
    app.add_option("--socket", into.socket, "its control socket")
        ->type_name("PATH")
        ->capture_default_str();
    app.add_option("--timeout", into.timeout_s, "wait so long for an answer")
        ->type_name("S")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    app.add_flag("--json", into.as_json, "print results as they come: a JSON object a line");
    app.require_subcommand(1);
    app.fallthrough();
    app.footer(
        "exit codes: 0 done, 1 refused (standard error says why), 2 wrong usage, 3 no turnpike "
        "answers");
    CLI::App* show = app.add_subcommand("show", "what runs; `show help` lists all");
    show->add_option("WHAT", into.what, "ports, routes, neighbours, drops, cost, ...")->required();
    show->add_option("OF", into.of, "route: an address; routes: a prefix");
    std::string longer;
    show->add_option("LONGER", longer, "routes: `longer`, those below the prefix too")
        ->check(CLI::IsMember({"longer"}));
    for (const auto& [name, help] :
         {std::pair("check", "whether a configuration is whole"),
          std::pair("diff", "what it would change"),
          std::pair("apply", "become what it says: all of it, or nothing")})
        app.add_subcommand(name, help)
            ->add_option("FILE", into.file, "a configuration")
            ->required();
    app.add_subcommand("reload", "apply the file that turnpike was started with");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e, std::cout, std::cerr) == 0 ? 0 : exit_usage;
    }
    into.command = app.get_subcommands().front()->get_name();
    into.longer = !longer.empty();
    return -1;
}

int complain(const error& e, int code) {
    std::fprintf(stderr, "turnpikectl: %s\n", e.message().c_str());
    return code;
}

/// What turnpike refused, in its words.
int complain_about(const json& refusal) {
    const auto text = [&](const char* name) {
        const json value = refusal.is_object() ? refusal.value(name, json()) : json();
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    const std::string code = text("code");
    return complain(
        {EINVAL, text("where"), text("what") + (code == "EINVAL" ? "" : " (" + code + ")")},
        exit_refused);
}

/// The request of a command with a file: its text, and its whole path as its name.
result<json> request_with_file(const std::string& command, const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text(most_request_bytes,
                     '\0');  // more does not fit a line: turnpike reads it itself
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof()) {
        const int why = errno;
        return fail(why != 0 ? why : EIO, file, "cannot be read");
    }
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.empty()) return fail(EINVAL, file, "is empty");
    const std::string path = std::filesystem::absolute(file).lexically_normal().string();
    json request = {{"request", command}, {"text", text}, {"name", path}};
    const std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace);
    if (line.size() >= most_request_bytes) request = {{"request", command}, {"file", path}};
    return request;
}

result<json> request_of(const options& chosen) {
    if (chosen.command == "reload") return json{{"request", "reload"}};
    if (chosen.command != "show") return request_with_file(chosen.command, chosen.file);
    if (chosen.what == "help") return json{{"request", "help"}};
    json request = {{"request", "show"}, {"what", chosen.what}};
    if (!chosen.of.empty()) request[chosen.what == "route" ? "address" : "to"] = chosen.of;
    if (chosen.longer) request["longer"] = true;
    return request;
}

void print(const options& chosen, const json& result) {
    std::string text;
    if (chosen.as_json)
        text = result.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    else if (chosen.command == "show")
        text = ctl::shown_text(chosen.what, result);
    else if (chosen.command == "check")
        text = result.value("valid", std::string()) + ": valid\n";
    else
        text =
            (chosen.command == "diff" ? "would change: " : "changed: ") + ctl::changes_text(result);
    std::fputs(text.c_str(), stdout);
}

/// All pages, where there are several.
int ask(const options& chosen, json request) {
    auto asked = ctl::connection::open(chosen.socket, std::chrono::seconds(chosen.timeout_s));
    if (!asked) return complain(asked.error(), exit_no_connection);
    while (true) {
        const auto answer = asked->ask(request);
        if (!answer) return complain(answer.error(), exit_no_connection);
        if (!answer->is_object() || !answer->contains("result"))
            return complain_about(answer->is_object() ? answer->value("error", json()) : json());
        const json& result = (*answer)["result"];
        print(chosen, result);
        if (!result.is_object() || result.value("next", json()).is_null()) break;
        request["from"] = result["next"];
    }
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    return complain({EIO, {}, "standard output cannot be written"}, exit_refused);
}

int run(int argc, char** argv) {
    options chosen;
    if (const int code = read_options(argc, argv, chosen); code >= 0) return code;
    const auto request = request_of(chosen);
    if (!request) return complain(request.error(), exit_refused);
    return ask(chosen, *request);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "turnpikectl: %s\n", e.what());
        return exit_refused;
    }
}
