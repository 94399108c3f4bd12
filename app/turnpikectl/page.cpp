// SPDX-License-Identifier: BSD-3-Clause
#include "page.hpp"

#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "connection.hpp"
#include "observe/page.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

result<std::string> report_text(const given& g) {
    auto to = connect(g);
    if (!to) return tl::unexpected<error>(to.error());
    std::map<std::string, json> parts;
    const bool page = g.options.contains("--html");
    for (const json& request :
         {json{{"request", "show"}, {"what", "report"}},
          json{{"request", "show"}, {"what", "rates"}, {"history", true}},
          json{{"request", "show"}, {"what", "tables"}}, json{{"request", "states"}}}) {
        auto part = result_in(to->ask(request));
        if (!part) return tl::unexpected<error>(part.error());
        parts[request.value("what", "states")] = std::move(*part);
        if (!page)
            return parts["report"].dump(g.as_json() ? -1 : 2, ' ', false,
                                        json::error_handler_t::replace) +
                   "\n";
    }
    const auto list = [&](const char* name) {
        return parts[name].is_object() ? parts[name].value(name, json()) : json();
    };
    return observe::to_page({parts["report"], parts["rates"], list("tables"), list("states")});
}

}  // namespace

int print_report(const given& g) {
    const auto text = report_text(g);
    if (!text)
        return complain(text.error(),
                        text.error().code == EINVAL ? exit_refused : exit_no_connection);
    print_text(*text);
    return flush_output();
}

}  // namespace turnpike::ctl
