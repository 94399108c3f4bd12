// SPDX-License-Identifier: BSD-3-Clause
#include "objects.hpp"

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "command_line.hpp"
#include "print.hpp"
#include "text_file.hpp"
#include "words.hpp"
#include "yaml/byte_order_mark.hpp"

namespace turnpike::ctl {

using nlohmann::json;

json list_of(const std::string& text) {
    json out = json::array();
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

namespace {

/// Pairs of keyword and value from word `from` on. Numbers are sent as strings: turnpike accepts both.
json members(const given& g, size_t from, json out) {
    for (size_t i = from; i + 1 < g.words.size(); i += 2)
        out[std::string(g.words[i].second)] = g.words[i + 1].second;
    return out;
}

json change(const given& g, json object) {
    return change_request(g, g.words[1].second, {{g.words[0].second, std::move(object)}});
}

/// The text of a file of rules. A file that exceeds a request is refused.
result<std::string> text_of_file(const std::string& file) {
    constexpr size_t most = 900'000;
    std::ifstream in(file, std::ios::binary);
    std::string text(most + 1, '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof())
        return fail(errno != 0 ? errno : EIO, file, "cannot be read");
    text.resize(static_cast<size_t>(in.gcount()));
    if (text.size() > most)
        return fail(EFBIG, file,
                    "is too long for a request; name the file in a configuration and apply that");
    if (auto good = check_utf8(text, file); !good) return tl::unexpected<error>(good.error());
    return text;
}

}  // namespace

void add_change_options(const given& g, json& request) {
    constexpr std::string_view confirm = "--confirm";
    if (g.options.contains(confirm))
        request["confirm"] = (g.seconds(confirm, 0).count() + 999) / 1000;
    if (g.options.contains("--comment")) request["comment"] = g.option("--comment");
}

json change_request(const given& g, json changes) {
    json request = {{"request", "change"}, {"do", std::move(changes)}};
    add_change_options(g, request);
    return request;
}

json change_request(const given& g, const std::string& verb, json object) {
    json change = json::object();
    change[verb] = std::move(object);
    return change_request(g, json::array({std::move(change)}));
}

namespace {

/// "default" is the default route of the gateway's family.
std::string prefix_of(const given& g) {
    const std::string to = g.value("PREFIX");
    if (to != "default") return to;
    return g.value("ADDRESS").find(':') == std::string::npos ? "0.0.0.0/0" : "::/0";
}

}  // namespace

result<json> change_route(const given& g) {
    json route = {{"to", prefix_of(g)}}, hops = json::array();
    const auto is_one_of = [](std::string_view word, auto... words) {
        return ((word == words) || ...);
    };
    for (size_t i = 3; i < g.words.size(); ++i) {
        const std::string word(g.words[i].first);
        json& to = hops.empty() || is_one_of(word, "recursive", "mtu", "vrf") ? route : hops.back();
        if (word == "nexthop")
            hops.push_back(json::object());
        else if (is_one_of(word, "blackhole", "unreachable", "prohibit"))
            route["type"] = word;
        else if (is_one_of(word, "onlink", "recursive"))
            to[word] = true;
        else
            to[word] = g.words[++i].second;
    }
    if (!hops.empty()) route["via"] = std::move(hops);
    return change(g, std::move(route));
}

result<json> change_address(const given& g) {
    json address = {{"port", g.value("PORT")}};
    if (g.words[1].second == "replace")
        address["addresses"] = g.values("CIDR");
    else
        address["address"] = g.value("CIDR");
    return change(g, std::move(address));
}

result<json> change_patch(const given& g) { return change(g, g.values("PORT")); }

result<json> change_acl(const given& g) {
    json list = {{"name", g.value("LIST")}};
    for (size_t i = 3; i + 1 < g.words.size(); ++i) {
        for (const char* key : {"layer", "default", "memory_mb"})
            if (g.words[i].first == key) list[key] = g.words[i + 1].second;
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
        out["name"] = rule;
        const bool is_number = rule.find_first_not_of("0123456789") == std::string::npos;
        if (is_number) out["at"] = rule;  // if no rule has the number as its name
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

namespace {

/// Appends the changes of a line.
/// place  of the line; lines  the words of each change
result<void> add_line(const std::string& line, const std::string& location, json& changes,
                      std::vector<change_words>& lines) {
    const auto words = split_words(line);
    if (!words) return tl::unexpected<error>(words.error());
    if (words->empty() || words->front()[0] == '#') return {};
    const auto read = read_command_line(*words);
    if (!read) return tl::unexpected<error>(read.error());
    if (read->what == nullptr || !read->says.options.empty())
        return fail(EINVAL, {}, "options are not allowed in a batch line");
    if (read->what->request == nullptr) return fail(EINVAL, words->front(), "changes no object");
    auto request = read->what->request(read->says);
    if (!request) return tl::unexpected<error>(request.error());
    if (request->value("request", std::string()) != "change")
        return fail(EINVAL, words->front(), "changes no object");
    for (json& one : (*request)["do"]) {
        changes.push_back(std::move(one));
        lines.push_back({location, read->says.words});
    }
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
    for (unsigned number = 1; std::getline(in, line); ++number) {
        const std::string location = file + ":" + std::to_string(number);
        if (number == 1) {
            const auto marked = yaml::without_byte_order_mark(line);
            if (!marked) return fail(EINVAL, location, marked.error().text);
            line = *marked;
        }
        if (auto good = check_utf8(line, file, number); !good)
            return tl::unexpected<error>(good.error());
        if (const auto added = add_line(line, location, changes, g.changes); !added)
            return fail(EINVAL, location, added.error().message());
    }
    if (auto read = check_read(in, file); !read) return tl::unexpected<error>(read.error());
    return change_request(g, std::move(changes));
}

}  // namespace turnpike::ctl
