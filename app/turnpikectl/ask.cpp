// SPDX-License-Identifier: BSD-3-Clause
#include "ask.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "connection.hpp"
#include "print.hpp"

namespace turnpike::ctl {

using nlohmann::json;

namespace {

void print(const command& what, const given& g, const json& result) {
    std::string text;
    if (g.as_json())
        text = result.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    else
        text = what.text != nullptr ? what.text(g, result)
                                    : shown_text(what.list, what.columns, result);
    std::fputs(text.c_str(), stdout);
}

}  // namespace

int complain(const error& e, int code) {
    std::fprintf(stderr, "turnpikectl: %s\n", e.message().c_str());
    return code;
}

error refusal_of(const json& answer) {
    const json refusal = answer.is_object() ? answer.value("error", json()) : json();
    const auto text = [&](const char* name) {
        const json value = refusal.is_object() ? refusal.value(name, json()) : json();
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    const std::string code = text("code");
    return {EINVAL, text("where"), text("what") + (code == "EINVAL" ? "" : " (" + code + ")")};
}

int ask(const command& what, const given& g) {
    auto request = what.request(g);
    if (!request) return complain(request.error(), exit_refused);
    auto asked = connection::open(g.option("--socket", default_socket), g.seconds("--timeout", 60));
    if (!asked) return complain(asked.error(), exit_no_connection);
    while (true) {
        const auto answer = asked->ask(*request);
        if (!answer) return complain(answer.error(), exit_no_connection);
        if (!answer->is_object() || !answer->contains("result"))
            return complain(refusal_of(*answer), exit_refused);
        const json& result = (*answer)["result"];
        print(what, g, result);
        if (!result.is_object() || result.value("next", json()).is_null()) break;
        (*request)["from"] = result["next"];
    }
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    return complain({EIO, {}, "standard output cannot be written"}, exit_refused);
}

}  // namespace turnpike::ctl
