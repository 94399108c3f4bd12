// SPDX-License-Identifier: BSD-3-Clause
#include "objects.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ask.hpp"
#include "command_line.hpp"
#include "config/write_file.hpp"
#include "connection.hpp"
#include "print.hpp"

namespace turnpike::ctl {

using nlohmann::json;

namespace {

/// "a,b,c"
json list_of(const std::string& text) {
    json out = json::array();
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

/// A word and the value behind it, from the n-th word on. Numbers go as texts: turnpike reads both.
json members(const given& g, size_t from, json out = json::object()) {
    for (size_t i = from; i + 1 < g.words.size(); i += 2)
        out[std::string(g.words[i].second)] = g.words[i + 1].second;
    return out;
}

json change(const given& g, json object) {
    const std::string &kind = g.words[0].second, &verb = g.words[1].second;
    json request = {{"request", "change"}, {"do", {{{verb, {{kind, std::move(object)}}}}}}};
    add_confirm(g, request);
    return request;
}

/// Members of the configuration's "acl: {in, out}" as this program's words have them.
void gather_lists(json& port) {
    for (const auto& [word, member] : {std::pair("acl_in", "in"), std::pair("acl_out", "out")}) {
        if (!port.contains(word)) continue;
        if (!port.contains("acl")) port["acl"] = json::object();
        port["acl"][member] = port[word] == "none" ? json() : port[word];
        port.erase(word);
    }
}

/// A file of rules as text; longer ones do not fit a request.
result<std::string> text_of_file(const std::string& file) {
    constexpr size_t most = 900'000;
    std::ifstream in(file, std::ios::binary);
    std::string text(most + 1, '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof())
        return fail(errno != 0 ? errno : EIO, file, "cannot be read");
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.size() > most)
        return fail(EFBIG, file,
                    "is too long for a request; name it in a configuration, and apply that");
    return text;
}

}  // namespace

void add_confirm(const given& g, json& request) {
    constexpr std::string_view confirm = "--confirm";
    if (g.options.contains(confirm))
        request["confirm"] = (g.seconds(confirm, 0).count() + 999) / 1000;
}

result<json> change_route(const given& g) {
    json route = {{"to", g.value("PREFIX")}};
    for (const char* type : {"blackhole", "unreachable"})
        if (g.has(type)) {
            route["type"] = type;
            return change(g, std::move(route));
        }
    return change(g, members(g, 3, std::move(route)));
}

result<json> change_neighbour(const given& g) {
    return change(g, members(g, 3, {{"address", g.value("ADDRESS")}}));
}

result<json> change_address(const given& g) {
    json address = {{"port", g.value("PORT")}};
    if (g.words[1].second == "replace")
        address["addresses"] = g.values("CIDR");
    else
        address["address"] = g.value("CIDR");
    return change(g, std::move(address));
}

result<json> change_port(const given& g) {
    json port = members(g, 3, {{"name", g.value("PORT")}});
    if (port.contains("addresses")) port["addresses"] = list_of(port["addresses"]);
    if (port.contains("rx_workers")) port["rx_workers"] = list_of(port["rx_workers"]);
    gather_lists(port);
    return change(g, std::move(port));
}

result<json> change_patch(const given& g) { return change(g, g.values("PORT")); }

result<json> change_acl(const given& g) {
    json list = {{"name", g.value("LIST")}};
    for (size_t i = 3; i + 1 < g.words.size(); ++i) {
        if (g.words[i].first == "default") list["default"] = g.words[i + 1].second;
        if (g.words[i].first != "rules") continue;
        const auto text = text_of_file(g.value("FILE"));
        if (!text) return tl::unexpected<error>(text.error());
        list["rules"] = {{{"action", g.words[i + 2].second}, {"lines", *text}}};
    }
    if (g.words[1].second == "add" && !list.contains("rules")) list["rules"] = json::array();
    return change(g, std::move(list));
}

result<json> change_rule(const given& g) {
    const std::string& verb = g.words[1].second;
    json out = {{"list", g.value("LIST")}};
    size_t at = 3;
    if (verb != "add") {
        const std::string& rule = g.words[at++].second;
        const bool place = rule.find_first_not_of("0123456789") == std::string::npos;
        out[place ? "at" : "name"] = rule;
    }
    if (verb == "del") return change(g, std::move(out));
    json rule = members(g, at + 1, {{"action", g.words[at].second}});
    if (rule.contains("at")) {
        out["at"] = rule["at"];
        rule.erase("at");
    }
    out["rule"] = std::move(rule);
    return change(g, std::move(out));
}

result<json> change_setting(const given& g) {
    const std::string key = g.value("KEY"), value = g.value("VALUE");
    const size_t point = key.find('.');
    if (point == std::string::npos)
        return fail(EINVAL, key, "should be GROUP.NAME, as in tx.drain_us");
    json request = {
        {"request", "change"},
        {"do", {{{"set", {{key.substr(0, point), {{key.substr(point + 1), value}}}}}}}}};
    add_confirm(g, request);
    return request;
}

namespace {

/// Words with blanks between; "..." holds blanks together.
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

/// The changes that a line asks for, behind those before it.
result<void> add_line(const std::string& line, json& changes) {
    const auto words = split_words(line);
    if (!words) return tl::unexpected<error>(words.error());
    if (words->empty() || words->front()[0] == '#') return {};
    const auto read = read_command_line(*words);
    if (!read) return tl::unexpected<error>(read.error());
    if (read->what == nullptr || !read->says.options.empty())
        return fail(EINVAL, {}, "a line has no options");
    if (read->what->request == nullptr) return fail(EINVAL, words->front(), "changes no object");
    auto request = read->what->request(read->says);
    if (!request) return tl::unexpected<error>(request.error());
    if (request->value("request", std::string()) != "change")
        return fail(EINVAL, words->front(), "changes no object");
    for (json& one : (*request)["do"]) changes.push_back(std::move(one));
    return {};
}

}  // namespace

result<json> change_many(const given& g) {
    const std::string file = g.value("FILE");
    std::ifstream named;
    if (file != "-") {
        named.open(file);
        if (!named) return fail(errno != 0 ? errno : EIO, file, "cannot be read");
    }
    std::istream& in = file == "-" ? std::cin : named;
    json changes = json::array();
    std::string line;
    for (unsigned number = 1; std::getline(in, line); ++number)
        if (const auto added = add_line(line, changes); !added)
            return fail(EINVAL, file + ":" + std::to_string(number), added.error().message());
    json request = {{"request", "change"}, {"do", std::move(changes)}};
    add_confirm(g, request);
    return request;
}

namespace {

/// The result of a request, or an exit code behind what was said.
std::optional<json> result_of(connection& c, const json& request, int& code) {
    const auto answer = c.ask(request);
    if (!answer) {
        code = complain(answer.error(), exit_no_connection);
        return std::nullopt;
    }
    if (!answer->is_object() || !answer->contains("result")) {
        code = complain(refusal_of(*answer), exit_refused);
        return std::nullopt;
    }
    return (*answer)["result"];
}

result<connection> connect(const given& g) {
    return connection::open(g.option("--socket", default_socket), g.seconds("--timeout", 60));
}

/// Whole lines of a stream, as many as a request holds.
class line_parts {
  public:
    explicit line_parts(std::istream& in) : in_(in) {}
    /// Errors  a line that no request holds
    result<std::string> next() {
        constexpr size_t most = 700'000;  // escapes make it longer
        std::string part;
        for (std::string line; part.size() < most && std::getline(in_, line);) {
            if (line.size() > 65536) return fail(EINVAL, {}, "a line is too long for a route");
            part += line + "\n";
        }
        last_ = !in_ || in_.peek() == std::istream::traits_type::eof();
        return part;
    }
    [[nodiscard]] bool last() const noexcept { return last_; }

  private:
    std::istream& in_;
    bool last_ = false;
};

}  // namespace

int send_routes(const given& g) {
    const std::string file = g.value("FILE");
    std::ifstream named;
    if (file != "-") {
        named.open(file);
        if (!named)
            return complain({errno != 0 ? errno : EIO, file, "cannot be read"}, exit_refused);
    }
    auto asked = connect(g);
    if (!asked) return complain(asked.error(), exit_no_connection);
    line_parts parts(file == "-" ? std::cin : named);
    int code = 0;
    while (true) {
        auto lines = parts.next();
        if (!lines) return complain({EINVAL, file, lines.error().text}, exit_refused);
        json request = {{"request", "routes"}, {"lines", std::move(*lines)}};
        if (!parts.last()) request["more"] = true;
        const auto result = result_of(*asked, request, code);
        if (!result) return code;
        if (!parts.last()) continue;
        std::fputs(g.as_json() ? (result->dump() + "\n").c_str()
                               : ("changed: " + changes_text(*result)).c_str(),
                   stdout);
        return 0;
    }
}

int save(const given& g) {
    auto asked = connect(g);
    if (!asked) return complain(asked.error(), exit_no_connection);
    int code = 0;
    std::string file = g.value("FILE");
    if (file.empty()) {
        const auto saved = result_of(*asked, {{"request", "save"}}, code);
        if (!saved) return code;
        file = saved->value("saved", std::string());
    } else {
        std::string text;
        json request = {{"request", "configuration"}};
        do {
            const auto page = result_of(*asked, request, code);
            if (!page) return code;
            text += page->value("text", std::string());
            request["from"] = page->value("next", json());
        } while (!request["from"].is_null());
        if (file == "-") {
            const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
            return written ? 0
                           : complain({EIO, {}, "standard output cannot be written"}, exit_refused);
        }
        if (const auto written = config::write_file(file, text); !written)
            return complain(written.error(), exit_refused);
    }
    if (!g.as_json())
        std::printf("saved as %s\n", file.c_str());
    else
        std::printf("%s\n", json{{"saved", file}}.dump().c_str());
    return 0;
}

}  // namespace turnpike::ctl
