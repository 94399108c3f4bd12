// SPDX-License-Identifier: BSD-3-Clause
#include "ask.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "connection.hpp"
#include "print.hpp"
#include "signals.hpp"
#include "yaml/reader.hpp"

namespace turnpike::ctl {

using nlohmann::json;

namespace {

/// The name in "show ports west"; empty: all.
std::string shown_name(const command& what, const given& g) {
    constexpr std::string_view kinds[] = {"PORT", "INTERFACE", "BRIDGE", "TUNNEL",
                                          "VRF",  "MIRROR",    "LIST"};
    if (what.list.empty() || g.words.size() != 3 || g.words[0].second != "show" ||
        std::ranges::find(kinds, g.words[2].first) == std::end(kinds))
        return {};
    return g.words[2].second;
}

/// Leaves only the object that the command names in the result.
result<void> select(const command& what, const given& g, json& result) {
    const std::string name = shown_name(what, g);
    const char* const key = what.list == "acl" ? "list" : "name";
    if (name.empty() || !result.is_object()) return {};
    json& all = result[std::string(what.list)];
    json left = json::array();
    std::vector<std::string> names;
    for (json& one : all) {
        names.push_back(one.value(key, std::string()));
        if (names.back() == name) left.push_back(std::move(one));
    }
    all = std::move(left);
    if (!all.empty()) return {};
    const std::vector<std::string_view> views(names.begin(), names.end());
    return fail(ENOENT, "show " + g.words[1].second,
                "'" + name + "' is not there" + yaml::suggestion(name, views));
}

void print(const command& what, const given& g, const json& result) {
    std::string text;
    if (g.as_json())
        text = json_line(result);
    else
        text = what.text != nullptr ? what.text(g, result)
               : shown_name(what, g).empty()
                   ? shown_text(what.list, what.columns, result)
                   : shown_text({}, {}, result[std::string(what.list)].front());
    print_text(text);
}

}  // namespace

result<connection> connect(const given& g) {
    return connection::open(g.option("--socket", usual_socket()), g.seconds("--timeout", 60));
}

result<json> result_in(result<json> answer) {
    if (!answer) return answer;
    if (!answer->is_object() || !answer->contains("result"))
        return tl::unexpected<error>(refusal_of(*answer));
    return std::move((*answer)["result"]);
}

std::string json_line(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void print_text(std::string_view text) noexcept {
    constexpr size_t piece = 4096;
    while (!text.empty() && !is_interrupted()) {
        const std::string_view front = text.substr(0, piece);
        std::fwrite(front.data(), 1, front.size(), stdout);
        text.remove_prefix(front.size());
    }
}

int flush_output() {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    // An earlier write failed, and its errno is gone: another one fails likewise.
    if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) errno = EIO;
    return complain({EINVAL, "standard output", std::strerror(errno)}, exit_refused);
}

int complain(const error& e, int code) {
    std::fprintf(stderr, "turnpikectl: %s\n", e.message().c_str());
    return code;
}

namespace {

error refusal_text(const json& refusal) {
    const std::string code = text_of(refusal, "code");
    return {EINVAL, text_of(refusal, "where"),
            text_of(refusal, "what") + (code == "EINVAL" ? "" : " (" + code + ")")};
}

}  // namespace

error refusal_of(const json& answer) {
    return refusal_text(answer.is_object() ? answer.value("error", json()) : json());
}

int complain_of(const json& answer, const given& g, const json& request) {
    complain(by_words(refusal_of(answer), g, request), exit_refused);
    const json refusal = answer.is_object() ? answer.value("error", json()) : json();
    if (refusal.is_object())
        for (const json& other : refusal.value("also", json::array()))
            complain(refusal_text(other), exit_refused);
    return exit_refused;
}

namespace {

/// "do[3].": the number of a change, and the rest of the text.
std::optional<size_t> number_of_change(std::string_view& text) {
    size_t number = 0;
    if (!text.starts_with("do[")) return std::nullopt;
    const auto [end, code] = std::from_chars(text.data() + 3, text.data() + text.size(), number);
    if (code != std::errc{} || !std::string_view(end, text.data() + text.size()).starts_with("]"))
        return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end + 1 - text.data()));
    return number;
}

/// The words up to the key at a path ("mtu", "addresses[1]", "keys[0]"); nothing: all words, and the path is no word.
std::optional<size_t> end_of_object(const read_words& words, std::string_view path) {
    const std::string_view key = path.substr(0, path.find('['));
    if (key == "keys" && path.size() > key.size()) {
        size_t number = 0;
        std::from_chars(path.data() + key.size() + 1, path.data() + path.size(), number);
        for (size_t i = 0; i < words.size(); ++i)
            if (words[i].first == "KEY" && number-- == 0) return i + 1;
        return std::nullopt;
    }
    for (size_t i = 0; i < words.size(); ++i) {
        std::string word = words[i].second;
        if (i < 2 && words[i].first != "KEY") continue;  // the verb and the kind of the object
        if (word == key) return i + 1;
        for (const auto& [from, to] :
             {std::pair("acl_", "acl."), {"l2_", "acl.l2_"}, {"storm_", "storm."}})
            if (word.starts_with(from)) word.replace(0, std::string_view(from).size(), to);
        if (word == key) return i + 1;
    }
    return std::nullopt;
}

std::string words_text(const read_words& words, size_t most) {
    constexpr size_t longest = 120;
    std::string out;
    for (size_t i = 0; i < std::min(most, words.size()); ++i)
        out += (i == 0 ? "" : " ") + words[i].second;
    return out.size() <= longest ? out : out.substr(0, longest) + "...";
}

/// The words up to the value of a request's member; all words, if its value is none of them.
std::string words_to(const json& value, const read_words& words) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    for (size_t i = words.size(); i-- > 0;)
        if (words[i].second == text) return words_text(words, i + 1);
    return words_text(words, SIZE_MAX);
}

}  // namespace

error by_words(error e, const given& g, const json& request) {
    constexpr std::string_view line = "line ";  // of a file of routes
    if (e.object.starts_with(line))
        return {e.code, g.value("FILE") + ":" + e.object.substr(line.size()), e.text};
    // Without a place: the edits made another object wrong, which the text names.
    const bool is_change = request.is_object() && request.value("request", json()) == "change";
    const bool is_ours = e.object.starts_with("socket:") || (is_change && e.object.empty());
    if (!is_ours && request.is_object() && !g.words.empty())
        if (const auto member = request.find(e.object); member != request.end())
            return {e.code, words_to(*member, g.words), e.text};
    if (!is_ours) return e;
    std::string_view text = e.text;
    const auto number = number_of_change(text);
    const bool is_batch = !g.changes.empty();
    if (!number && is_batch) return {e.code, g.value("FILE"), e.text};
    const change_words only{{}, g.words};
    const change_words& change = !is_batch                    ? only
                                 : *number < g.changes.size() ? g.changes[*number]
                                                              : g.changes.back();
    std::string where = words_text(change.words, SIZE_MAX), rest(text);
    if (number) {
        const size_t end = std::min(text.find(' '), text.size());
        std::string_view path = text.substr(0, end);
        // The verb and the kind of the object, in either order.
        for (size_t i = 0; i < 2; ++i)
            for (size_t w = 0; w < std::min<size_t>(2, change.words.size()); ++w) {
                const auto& [kind, word] = change.words[w];
                const size_t bytes = 1 + word.size();  // a whole step: "add" is in "address", too
                if (kind != "KEY" && path.starts_with("." + word) &&
                    (path.size() == bytes || path[bytes] == '.' || path[bytes] == '['))
                    path.remove_prefix(bytes);
            }
        if (path.starts_with('.')) path.remove_prefix(1);
        const auto end_of_words = end_of_object(change.words, path);
        if (end_of_words) where = words_text(change.words, *end_of_words);
        rest = end_of_words || path.empty()
                   ? std::string(text.substr(std::min(end + 1, text.size())))
                   : std::string(path) + std::string(text.substr(end));
    }
    if (!change.location.empty()) where = change.location + ": " + where;
    return {e.code, where, rest};
}

namespace {

/// Whether the operator agrees that a request discards unsaved changes. A script is not asked.
bool may_discard(connection& c, const json& request) {
    const std::string name = request.value("request", std::string());
    if ((name != "apply" && name != "reload") || ::isatty(STDIN_FILENO) != 1 ||
        ::isatty(STDOUT_FILENO) != 1)
        return true;
    const auto history = result_in(c.ask({{"request", "history"}}));
    if (!history || !history->value("unsaved", false)) return true;
    block_interrupts(true);
    std::fputs("unsaved changes of the running configuration would be lost; go on? [y/N] ", stdout);
    std::fflush(stdout);
    const bool is_answered = wait_for_input(STDIN_FILENO);
    block_interrupts(false);
    char line[16] = "";
    return is_answered && std::fgets(line, sizeof line, stdin) != nullptr && line[0] == 'y';
}

/// Appends a page of ACLs. Its first one may go on with the rules of the last one before.
void join_pages(json& lists, json& page) {
    for (json& one : page) {
        const auto is_same = [&](const char* key) { return lists.back()[key] == one[key]; };
        if (!one.contains("first_rule") || lists.empty() || !is_same("port") ||
            !is_same("direction") || !is_same("list")) {
            lists.push_back(std::move(one));
            continue;
        }
        for (json& rule : one["rules"]) lists.back()["rules"].push_back(std::move(rule));
    }
}

/// Below a table on a terminal: unsaved changes, and the time of a change that awaits confirmation. The prompt shows both
/// itself.
void print_footer(connection& c, const given& g, const json& request) {
    const bool is_table = !g.as_json() && !g.in_prompt && ::isatty(STDOUT_FILENO) == 1;
    if (!is_table || request.value("request", std::string()) != "show") return;
    const auto state = result_in(c.ask({{"request", "history"}}));
    if (!state || !state->is_object()) return;
    std::string text = state->value("unsaved", false) ? "unsaved changes" : "";
    if (const json left = state->value("undone_in_s", json()); left.is_number())
        text += (text.empty() ? "" : "; ") + ("undone in " + left.dump()) +
                " s unless turnpikectl confirm";
    if (!text.empty()) std::printf("(%s)\n", text.c_str());
}

}  // namespace

int ask(const command& what, const given& g) {
    auto request = what.request(g);
    if (!request) return complain(request.error(), exit_of(request.error()));
    auto asked = connect(g);
    if (!asked) return complain(asked.error(), exit_no_connection);
    if (!may_discard(*asked, *request))
        return complain({EINVAL, {}, "nothing was changed"}, exit_refused);
    json lists = json::array();  // ACLs of earlier pages
    while (true) {
        const auto answer = asked->ask(*request);
        if (!answer) return complain(answer.error(), exit_of_answer(answer.error()));
        if (!answer->is_object() || !answer->contains("result"))
            return complain_of(*answer, g, *request);
        json result = (*answer)["result"];
        const bool is_last = !result.is_object() || result.value("next", json()).is_null();
        if (what.list == "acl" && result.is_object()) {
            join_pages(lists, result["acl"]);
            if (!is_last) {
                (*request)["from"] = result["next"];
                continue;
            }
            result["acl"] = std::move(lists);
        }
        if (const auto found = select(what, g, result); !found)
            return complain(found.error(), exit_refused);
        print(what, g, result);
        if (is_last) break;
        (*request)["from"] = result["next"];
    }
    print_footer(*asked, g, *request);
    return flush_output();
}

}  // namespace turnpike::ctl
