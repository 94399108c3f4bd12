// SPDX-License-Identifier: BSD-3-Clause
#include "complete.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "ask.hpp"
#include "command_line.hpp"
#include "connection.hpp"
#include "keys.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

/// Short timeout: an operator waits at a prompt.
constexpr std::chrono::milliseconds prompt_patience{1000};

class candidates {
  public:
    explicit candidates(std::string begun) : begun_(std::move(begun)) {}

    void add(std::string_view word, std::string_view help) {
        if (word.starts_with(begun_) && seen_.emplace(word).second)
            found_.words.emplace_back(word, help);
    }
    [[nodiscard]] completions found() && { return std::move(found_); }
    /// Existing values, if turnpike answers at the socket.
    void add_values(const value_kind& kind, const std::string& socket,
                    const std::vector<std::string>& words) {
        found_.files = found_.files || kind.is_file;
        if (kind.what.empty()) return;
        auto asked = connection::open(socket, prompt_patience);
        if (!asked) return;
        json request = {{"request", "show"}, {"what", kind.what}};
        if (kind.what == "acl") request["rules"] = false;
        // Routes and VRFs that the operator can change.
        const bool edits_route = kind.what == "routes" && !words.empty() && words[0] == "route",
                   edits_vrf = kind.what == "vrfs" && words.size() == 2 &&
                               (words[0] == "vrf" || words[1] == "vrf");
        if (edits_route) request["origin"] = "configured";
        const auto result = result_in(asked->ask(request));
        if (!result || !result->is_object()) return;
        for (const json& one : result->value(std::string(kind.list), json::array())) {
            const json value =
                one.is_object() ? one.value(std::string(kind.member), json()) : json();
            if (!value.is_string()) continue;
            const std::string& text = value.get_ref<const std::string&>();
            // A candidate is one line: no names with blanks or control characters; and none of a row such as "(removed)".
            if (!text.empty() && !(edits_vrf && text == "main") &&
                text.find_first_of(" \t\n\r\x1b(") == std::string::npos)
                add(text, kind.help);
        }
    }

  private:
    std::string begun_;
    std::set<std::string, std::less<>> seen_{};
    completions found_{};
};

/// The help of the only command that the word leads to, or if there are several the topic's, or of the command that
/// ends with the word.
std::string_view help_of(std::string_view word, const std::vector<candidate>& all) {
    const candidate* only = nullptr;
    size_t leads = 0;
    for (const candidate& c : all)
        for (const part& p : c.next)
            if (std::find(p.words.begin(), p.words.end(), word) != p.words.end()) {
                ++leads;
                only = &c;
            }
    if (leads == 1) return only->what->help;
    for (const topic& t : topics())
        if (t.name == word) return t.help;
    for (const candidate& c : all)
        if (c.what->usage.ends_with(word)) return c.what->help;
    return {};
}

/// Keys of an object, and the values of the key before.
void add_keys(candidates& out, const std::vector<std::string>& words, std::string_view kind,
              const std::string& socket) {
    const std::string_view object = object_of(words);
    if (kind == "KEY") {
        for (const sources::field_facts& f : keys_of(object))
            if (std::find(words.begin(), words.end(), f.key) == words.end())
                out.add(f.key, f.meaning);
        return;
    }
    const sources::field_facts* const f = key_of(object, words.back());
    if (f == nullptr) return;
    for (const std::string_view word : f->type.words) out.add(word, f->meaning);
    if (f->type.form == sources::value_form::truth)
        for (const std::string_view word : {"true", "false"}) out.add(word, f->meaning);
    if (!f->type.kind.empty()) out.add_values(kind_of(f->type.kind), socket, words);
}

}  // namespace

completions complete(std::vector<std::string> line) {
    candidates out(line.empty() ? std::string() : line.back());
    const std::string begun = line.empty() ? std::string() : line.back();
    if (!line.empty()) line.pop_back();
    const auto split = split_options(line);
    if (!split) return {};  // no completion after an error
    const auto named = split->options.find("--socket");
    const std::string socket =
        named == split->options.end() ? std::string(usual_socket()) : named->second;
    if (!split->open.empty()) {
        out.add_values(kind_of(split->open), socket, split->words);
        return std::move(out).found();
    }
    auto all = candidates_of(split->words);
    std::erase_if(all, [&](const candidate& c) {
        return c.taken != split->words.size() || c.what->help.empty();
    });
    if (begun.starts_with('-') && begun != "-") {
        for (const common_option& o : common_options())
            if (!split->options.contains(o.name) &&
                (o.name != "--comment" ||
                 std::ranges::any_of(all, [](const candidate& c) { return is_change(*c.what); })))
                out.add(o.name, o.help);
        for (const candidate& c : all)
            for (const usage_option& o : c.how.options)
                if (!split->options.contains(o.name)) out.add(o.name, "");
        return std::move(out).found();
    }
    for (const candidate& c : all)
        for (const part& p : c.next)
            for (const std::string_view word : p.words) {
                if (p.is_value && (word == "KEY" || word == "VALUE") &&
                    !object_of(split->words).empty())
                    add_keys(out, split->words, word, socket);
                else if (p.is_value)
                    out.add_values(kind_of(word), socket, split->words);
                else
                    out.add(word, help_of(word, all));
            }
    return std::move(out).found();
}

int print_candidates(const given& g) {
    const completions found = complete(g.values("WORD"));
    for (const auto& [word, help] : found.words)
        std::printf("%s\t%s\n", word.c_str(), help.c_str());
    if (found.files) std::fputs("\tfile\n", stdout);
    return 0;
}

namespace {

constexpr const char* bash_script =
    R"(# bash completion of turnpikectl; turnpikectl prints the candidates.
_turnpikectl() {
    local line=${COMP_LINE:0:COMP_POINT} candidate stem
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    # readline splits words at the characters of COMP_WORDBREAKS, such as the colons of an IPv6 address.
    stem=${words[-1]}
    [[ $COMP_WORDBREAKS == *:* && $stem == *:* ]] && stem=${stem%"${stem##*:}"} || stem=
    COMPREPLY=()
    while IFS= read -r candidate; do
        candidate=${candidate%%$'\t'*}
        if [[ -z $candidate ]]; then
            compopt -o default 2>/dev/null
        else
            COMPREPLY+=("${candidate#"$stem"}")
        fi
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _turnpikectl turnpikectl
)";

constexpr const char* zsh_script = R"(#compdef turnpikectl
# zsh completion of turnpikectl; turnpikectl prints the candidates.
_turnpikectl() {
    local line tab=$'\t' file=
    local -a candidates
    for line in "${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == ${tab}* ]]; then
            file=1
        elif [[ -n $line ]]; then
            candidates+=("${${line%%$tab*}//:/\\:}:${line#*$tab}")
        fi
    done
    (( $#candidates )) && _describe -V 'turnpikectl' candidates
    [[ -n $file ]] && _files
}
if [[ $funcstack[1] == _turnpikectl ]]; then
    _turnpikectl "$@"
else
    compdef _turnpikectl turnpikectl
fi
)";

constexpr const char* fish_script =
    R"(# fish completion of turnpikectl; turnpikectl prints the candidates.
function __turnpikectl_candidates
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        if string match -q \t'*' -- $line
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c turnpikectl -f -a '(__turnpikectl_candidates)'
)";

}  // namespace

int print_script(const given& g) {
    std::fputs(g.has("bash") ? bash_script : g.has("zsh") ? zsh_script : fish_script, stdout);
    return 0;
}

}  // namespace turnpike::ctl
