// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "base/arguments.hpp"
#include "base/owned_fd.hpp"
#include "manual.hpp"
#include "print.hpp"
#include "signals.hpp"
#include "transfer.hpp"
#include "words.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

struct own_word {
    std::string_view word, help;
    bool of_candidate;
};
constexpr own_word own_words[] = {
    {"configure", "begin a candidate: several changes, applied by one commit", false},
    {"exit", "leave the prompt", false},
    {"help", "list the commands; ? lists the words that may follow", false},
    {"compare", "show the lines that the candidate changes", true},
    {"commit",
     "apply the candidate, completely or not at all; commit confirm SECONDS, commit comment TEXT",
     true},
    {"undo", "take the last change out of the candidate", true},
    {"rollback",
     "rollback N: the candidate becomes the configuration of N changes ago (show history), or of "
     "now (0)",
     true},
    {"abort", "forget the candidate", true},
};

/// The output of a function that prints on standard output.
template <class F>
std::string output_of(const F& print) {
    std::fflush(stdout);
    const owned_fd kept(::dup(STDOUT_FILENO)), file(::memfd_create("output", MFD_CLOEXEC));
    if (kept.get() < 0 || file.get() < 0 || ::dup2(file.get(), STDOUT_FILENO) < 0) {
        print();
        return {};
    }
    print();
    std::fflush(stdout);
    ::dup2(kept.get(), STDOUT_FILENO);
    std::string out(static_cast<size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
    const ssize_t n = ::pread(file.get(), out.data(), out.size(), 0);
    out.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return out;
}

int refused(const error& e) { return complain(e, exit_refused); }

}  // namespace

struct session::kept_change {
    std::string line;
    json edits;
    read_words words;
    std::vector<change_words> lines{};  ///< of a batch: each edit's
    /// The id of a configuration of the history, which replaces the changes before (rollback N); 0: an edit.
    uint64_t base = 0;
};

session::session(const std::vector<std::string>& options) {
    for (size_t i = 0; i < options.size();) {
        std::vector<std::string> one = {options[i++]};
        auto split = split_options(one);
        if (split && !split->open.empty() && i < options.size()) {
            one.push_back(options[i++]);
            split = split_options(one);
        }
        if (split && !split->options.empty())
            options_.emplace_back(split->options.begin()->first, std::move(one));
    }
}
session::~session() = default;

result<session::parsed_line> session::parse(const std::string& line) {
    std::string spaced;  // "show ports|json"
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') quoted = !quoted;
        spaced += c == '|' && !quoted ? std::string(" | ") : std::string(1, c);
    }
    auto words = split_words(spaced);
    if (!words) return tl::unexpected<error>(words.error());
    parsed_line out;
    auto at = std::find(words->begin(), words->end(), "|");
    out.words.assign(words->begin(), at);
    while (at != words->end()) {
        const auto end = std::find(++at, words->end(), "|");
        const std::vector<std::string> part(at, end);
        if (part.size() == 1 && part[0] == "json")
            out.json = true;
        else if (part.size() == 2 && (part[0] == "match" || part[0] == "except"))
            out.filters.push_back({part[0] == "match" ? filter::match : filter::except, part[1]});
        else
            return fail(EINVAL, "|", "expected match TEXT, except TEXT or json");
        at = end;
    }
    return out;
}

std::vector<std::string> session::with_options(const std::vector<std::string>& words) const {
    const auto own = split_options(words);
    std::vector<std::string> out;
    for (const auto& [name, option] : options_)
        if (!own || !own->options.contains(name))
            out.insert(out.end(), option.begin(), option.end());
    out.insert(out.end(), words.begin(), words.end());
    return out;
}

std::vector<std::string_view> session::own_first_words() const {
    std::vector<std::string_view> out;
    for (const own_word& w : own_words)
        if (configures_ || !w.of_candidate) out.push_back(w.word);
    return out;
}

bool session::run(const std::string& line) {
    // A batch from the terminal has read until the end of the input, or Ctrl-C ended a read.
    std::cin.clear();
    std::clearerr(stdin);
    const auto parsed = parse(line);
    if (!parsed) {
        code_ = complain(parsed.error(), exit_usage);
        return true;
    }
    if (parsed->words.empty()) return true;
    const std::string first = whole_words({parsed->words[0]}, own_first_words()).front();
    if (parsed->words.size() == 1 && (first == "exit" || first == "quit")) return !leave();
    refused_to_leave_ = false;
    code_ = run_command(*parsed);
    return true;
}

bool session::leave() {
    if (candidate_.empty() || std::exchange(refused_to_leave_, true)) return true;
    code_ = complain({EINVAL, "exit",
                      "the candidate has changes: commit or abort first; exit or Ctrl-D again "
                      "drops them"},
                     exit_refused);
    return false;
}

/// Applies the filters.
int session::run_command(const parsed_line& line) {
    if (line.filters.empty()) return run_words(line);
    int code = 0;
    const std::string text = output_of([&] { code = run_words(line); });
    for (std::string_view left = text; !left.empty() && !is_interrupted();) {
        const std::string_view one = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(one.size() + 1, left.size()));
        const bool fits = std::ranges::all_of(line.filters, [&](const filter& f) {
            return (one.find(f.text) != one.npos) == (f.what == filter::match);
        });
        if (!fits) continue;
        std::fwrite(one.data(), 1, one.size(), stdout);
        std::putchar('\n');
    }
    return code;
}

bool session::run_own(const std::vector<std::string>& words, int& code) {
    const std::string& first = words[0];
    if (first == "help") {
        code = print_help({words.begin() + 1, words.end()});
        return true;
    }
    if (first == "configure" && words.size() == 1) {
        code = configure();
        return true;
    }
    if (!configures_) return false;
    if (words.size() == 1 && first == "compare") {
        code = send_candidate(true, json::object());
    } else if (first == "commit") {
        code = commit(words);
    } else if (words.size() == 1 && first == "undo") {
        code = undo_last();
    } else if (first == "rollback" && words.size() <= 2) {
        code = roll_back(words.size() == 2 ? words[1] : "0");
    } else if (words.size() == 1 && first == "abort") {
        code = abort();
    } else {
        return false;
    }
    return true;
}

int session::run_words(const parsed_line& line) {
    const auto own = own_first_words();
    const std::vector<std::string> words = whole_words(line.words, own);
    int code = 0;
    if (run_own(words, code)) return code;
    if (std::ranges::find(own, words[0]) != own.end() && words[0] != "rollback")
        return complain({EINVAL, words[0], "'" + words.back() + "' is unexpected"}, exit_usage);
    std::vector<std::string> all = with_options(words);
    if (line.json && std::ranges::find(all, "--json") == all.end()) all.emplace_back("--json");
    auto read = read_command_line(all, true, own);
    if (!read) return complain(read.error(), exit_usage);
    if (read->what == nullptr) return print_help(read->says.values("WORD"));
    read->says.in_prompt = true;
    // Only the change of this prompt's last commit; another one that a line begins is confirmed without its id.
    if (read->says.options.contains("--confirm")) pending_id_ = 0;
    if (words.front() == "confirm") read->says.pending_id = pending_id_;
    if (configures_ && read->what->request != nullptr) {
        std::string text;
        for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
        auto request = read->what->request(read->says);
        if (!request) return complain(request.error(), exit_of(request.error()));
        if (request->value("request", std::string()) == "change")
            return add_to_candidate(*read, (*request)["do"], text);
    }
    if (configures_ && is_change(*read->what))
        return complain({EBUSY, words.front(),
                         "changes the running configuration itself: commit or abort the candidate "
                         "first"},
                        exit_refused);
    code = read->what->run != nullptr ? read->what->run(read->says) : ask(*read->what, read->says);
    if (words.front() == "confirm" && code == 0) pending_id_ = 0;
    return code;
}

int session::configure() {
    if (configures_)
        return complain({EINVAL, "configure", "there is a candidate already"}, exit_refused);
    configures_ = true;
    std::puts("changes are kept until commit; compare shows them, abort forgets them");
    return 0;
}

/// A change of the candidate; turnpike checks the candidate with it. It may become valid by a later change only.
int session::add_to_candidate(const command_line& line, const json& edits,
                              const std::string& text) {
    if (line.says.options.contains("--confirm"))
        return complain({EINVAL, "--confirm", "commit confirm SECONDS has it"}, exit_usage);
    if (line.says.options.contains("--comment"))
        return complain({EINVAL, "--comment", "commit comment TEXT has it"}, exit_usage);
    candidate_.push_back({text, edits, line.says.words, line.says.changes, 0});
    const auto [request, says] = candidate_request({{"dry", true}});
    const auto result = result_of(request, says);
    if (!result) {
        candidate_.pop_back();
        return code_;
    }
    note_running(*result, candidate_.size() == 1);
    print_invalid(*result, says, request);
    return 0;
}

/// The edits mean the configuration that the operator saw: a rule's place is another rule's after another operator's change.
/// compared  the operator sees the candidate's effect on the running one
void session::note_running(const json& result, bool compared) {
    const auto id = result.value("id", uint64_t{0});
    if (compared)
        seen_id_ = id;
    else if (id != seen_id_)
        std::puts("the running configuration was changed meanwhile: compare before you commit");
}

/// Why turnpike would refuse a commit of the candidate as it is.
void session::print_invalid(const json& result, const given& says, const json& request) {
    if (!result.contains("invalid")) return;
    const error why = by_words(refusal_of({{"error", result["invalid"]}}), says, request);
    std::printf("not valid yet: %s\n", why.message().c_str());
}

/// commit [confirm SECONDS] [comment TEXT]
int session::commit(const std::vector<std::string>& words) {
    json with = json::object();
    for (size_t i = 1; i < words.size(); i += 2) {
        const bool has_value = i + 1 < words.size();
        uint32_t seconds = 0;
        if (words[i] == "comment" && has_value && !with.contains("comment")) {
            with["comment"] = words[i + 1];
        } else if (words[i] == "confirm" && has_value && !with.contains("confirm")) {
            if (!read_number<uint32_t>(words[i + 1], 1, 86400, seconds))
                return complain(
                    {EINVAL, "commit confirm " + words[i + 1], "should be seconds, to 86400"},
                    exit_usage);
            with["confirm"] = seconds;
        } else {
            return complain({EINVAL, "commit", "expected confirm SECONDS or comment \"TEXT\""},
                            exit_usage);
        }
    }
    return send_candidate(false, with);
}

/// with  members of the request: confirm, comment
std::pair<json, given> session::candidate_request(json with) const {
    json edits = json::array();
    given says;
    for (const kept_change& one : candidate_) {
        if (one.base != 0) {
            edits = json::array();
            says.changes.clear();
            with["base"] = one.base;
        }
        for (size_t i = 0; i < one.edits.size(); ++i) {
            edits.push_back(one.edits[i]);
            says.changes.push_back(i < one.lines.size() ? one.lines[i]
                                                        : change_words{{}, one.words});
        }
    }
    with["request"] = "change";
    with["do"] = std::move(edits);
    return {std::move(with), std::move(says)};
}

/// The result of a request; nothing: the error is printed, and is the code of the line.
std::optional<json> session::result_of(const json& request, const given& says) {
    const auto options = read_command_line(with_options({"confirm"}));
    if (!options) return code_ = complain(options.error(), exit_usage), std::nullopt;
    auto asked = connect(options->says);
    if (!asked) return code_ = complain(asked.error(), exit_no_connection), std::nullopt;
    return ctl::result_of(*asked, request, code_, says);
}

/// dry  shows the differences, and changes nothing
int session::send_candidate(bool dry, json with) {
    if (candidate_.empty()) {
        std::puts("the candidate has no changes");
        return 0;
    }
    if (dry)
        with["dry"] = true;
    else if (seen_id_ != 0)
        with["unless_changed"] = seen_id_;
    const auto [request, says] = candidate_request(std::move(with));
    const auto result = result_of(request, says);
    if (!result) return code_;
    if (dry) note_running(*result, true);
    std::fputs(((dry ? "would change: " : "changed: ") + changes_text(*result)).c_str(), stdout);
    if (dry) {
        print_invalid(*result, says, request);
        return 0;
    }
    const json asked_for = request.value("confirm", json());
    const std::string left = undone_in(*result, asked_for.is_null() ? "" : asked_for.dump());
    if (!left.empty()) std::printf("undone in %s s unless confirm arrives\n", left.c_str());
    pending_id_ = left.empty() ? 0 : result->value("id", uint64_t{0});
    candidate_.clear();
    configures_ = false;
    return 0;
}

int session::undo_last() {
    if (candidate_.empty()) return complain({EINVAL, "undo", "no change to undo"}, exit_refused);
    std::printf("undone: %s\n", candidate_.back().line.c_str());
    candidate_.pop_back();
    return 0;
}

/// The candidate becomes an earlier configuration, as by Junos' `rollback N`; 0: the running one again. The state is named
/// by its id, because another operator's commit changes the numbers.
int session::roll_back(const std::string& number) {
    uint32_t back = 0;
    if (!read_number<uint32_t>(number, 0, UINT32_MAX, back))
        return complain({EINVAL, "rollback " + number, "should be a whole number"}, exit_usage);
    if (back == 0) return forget();
    const auto history = result_of({{"request", "history"}}, {});
    if (!history) return code_;
    const json states = history->value("states", json::array());
    if (back >= states.size())
        return refused({EINVAL, "rollback " + number,
                        states.size() <= 1 ? "nothing has changed since the start"
                                           : "only " + std::to_string(states.size() - 1) +
                                                 " earlier configurations are kept"});
    const auto id = states[back].value("id", uint64_t{0});
    if (id == 0)
        return refused({ENOTSUP, "rollback " + number, "turnpike is of an earlier release"});
    candidate_.push_back({"rollback " + number, json::array(), {}, {}, id});
    code_ = send_candidate(true, json::object());
    if (code_ != 0) candidate_.pop_back();
    return code_;
}

int session::forget() {
    std::printf("forgotten: %zu change%s\n", candidate_.size(), candidate_.size() == 1 ? "" : "s");
    candidate_.clear();
    return 0;
}

int session::abort() {
    configures_ = false;
    return forget();
}

std::string session::prompt() {
    std::vector<std::string> notes;
    if (configures_) notes.push_back("candidate: " + std::to_string(candidate_.size()));
    const auto with = read_command_line(with_options({"confirm"}));
    auto asked = with ? connection::open(with->says.option("--socket", usual_socket()),
                                         std::chrono::milliseconds(1000))
                      : result<connection>(tl::unexpected<error>(with.error()));
    if (!asked) {
        notes.emplace_back("no connection");
    } else if (const auto state = result_in(asked->ask({{"request", "history"}}))) {
        if (const json left = state->value("undone_in_s", json()); left.is_number())
            notes.push_back("confirm within " + left.dump() + " s");
        if (state->value("unsaved", false)) notes.emplace_back("unsaved");
    }
    std::string out = "turnpike";
    for (size_t i = 0; i < notes.size(); ++i) out += (i == 0 ? " (" : ", ") + notes[i];
    return out + (notes.empty() ? "" : ")") + (configures_ ? "# " : "> ");
}

completions session::complete(const std::string& begun) const {
    auto words = split_words(begun);
    if (!words) return {};
    if (begun.empty() || begun.back() == ' ') words->emplace_back();
    if (const auto bar = std::find(words->rbegin(), words->rend(), "|");
        bar != words->rend() && words->end() - bar.base() == 1) {
        completions out;
        for (const auto& [word, help] : {std::pair("match", "only lines with a text"),
                                         {"except", "only lines without a text"},
                                         {"json", "the result as JSON"}})
            if (std::string_view(word).starts_with(words->back()))
                out.words.emplace_back(word, help);
        return out;
    }
    completions out;
    if (words->size() == 1)
        for (const own_word& w : own_words)
            if (w.word.starts_with(words->back()) && (configures_ || !w.of_candidate))
                out.words.emplace_back(w.word, w.help);
    std::string last = words->back();
    words->pop_back();
    std::vector<std::string> all = with_options(whole_words(*words, own_first_words()));
    all.push_back(std::move(last));
    completions more = ctl::complete(std::move(all));
    out.words.insert(out.words.end(), more.words.begin(), more.words.end());
    out.files = more.files;
    return out;
}

}  // namespace turnpike::ctl
