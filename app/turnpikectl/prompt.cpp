// SPDX-License-Identifier: BSD-3-Clause
// The interactive prompt, by the line editor of NetBSD (libedit).
#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <memory>
#include <new>

#include "session.hpp"
#include "signals.hpp"

namespace turnpike::ctl {
namespace {

/// The editor's callbacks have only the editor, whose client data is this.
struct prompt_state {
    session lines;
    std::string prompt{};
};

prompt_state& state_of(EditLine* editor) {
    void* data = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<prompt_state*>(data);
}

const char* prompt_text(EditLine* editor) { return state_of(editor).prompt.c_str(); }

/// The next key, or -1 after SIGINT, which the prompt blocks: a SIGINT just before this waits ends the wait, too.
int read_key(EditLine*, wchar_t* key) {
    std::mbstate_t part{};
    while (true) {
        char byte = 0;
        if (!wait_for_input(STDIN_FILENO)) return -1;
        if (const ssize_t n = ::read(STDIN_FILENO, &byte, 1); n != 1) return static_cast<int>(n);
        const size_t decoded = std::mbrtowc(key, &byte, 1, &part);
        if (decoded <= 1) return 1;
        if (decoded == static_cast<size_t>(-1)) part = {};  // no UTF-8: not a key
    }
}

/// The words that may follow. Ctrl-C ends the wait for turnpike, and the line.
completions completions_of(EditLine* editor, const std::string& begun) {
    const interruptible_scope waits;
    return state_of(editor).lines.complete(begun);
}

/// The line up to the cursor.
std::string begun_line(EditLine* editor) {
    const LineInfo* const line = ::el_line(editor);
    return {line->buffer, line->cursor};
}

void print_words(const completions& all) {
    constexpr size_t max_width = 28;
    size_t width = 0;
    for (const auto& [word, help] : all.words) width = std::max(width, word.size());
    width = std::min(width, max_width);
    std::putchar('\n');
    for (const auto& [word, help] : all.words)
        std::printf("  %-*s  %s\n", static_cast<int>(width), word.c_str(), help.c_str());
    if (all.files) std::puts("  a file's name");
    std::fflush(stdout);
}

/// Tab: inserts what all candidates begin with, or lists them.
unsigned char complete_word(EditLine* editor, int) {
    const std::string begun = begun_line(editor);
    const completions all = completions_of(editor, begun);
    if (is_interrupted()) return CC_EOF;
    if (all.words.empty()) return CC_REFRESH_BEEP;
    std::string common = all.words.front().first;
    for (const auto& [word, help] : all.words) {
        size_t same = 0;
        while (same < common.size() && same < word.size() && common[same] == word[same]) ++same;
        common.resize(same);
    }
    const size_t blank = begun.find_last_of(" \t");
    const size_t have = begun.size() - (blank == std::string::npos ? 0 : blank + 1);
    std::string more = common.size() > have ? common.substr(have) : std::string();
    if (all.words.size() == 1) more += ' ';
    if (more.empty()) {
        print_words(all);
        return CC_REDISPLAY;
    }
    return ::el_insertstr(editor, more.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

/// ?: lists the words that may follow, with their help; in quotes it is a character.
unsigned char list_words(EditLine* editor, int) {
    const std::string begun = begun_line(editor);
    if (std::ranges::count(begun, '"') % 2 != 0)
        return ::el_insertstr(editor, "?") == 0 ? CC_REFRESH : CC_ERROR;
    const completions all = completions_of(editor, begun);
    if (is_interrupted()) return CC_EOF;
    print_words(all);
    return CC_REDISPLAY;
}

/// The editor decodes keys by the locale, and erases whole characters: requests are UTF-8, in any locale.
void use_utf8() {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

struct editor_deleter {
    void operator()(EditLine* e) const noexcept { ::el_end(e); }
};
struct history_deleter {
    void operator()(History* h) const noexcept { ::history_end(h); }
};

}  // namespace

int run_prompt(const std::vector<std::string>& options) {
    constexpr int max_history = 1000;
    use_utf8();
    catch_interrupts();
    prompt_state state{.lines = session(options)};
    const std::unique_ptr<EditLine, editor_deleter> editor(
        ::el_init("turnpikectl", stdin, stdout, stderr));
    const std::unique_ptr<History, history_deleter> past(::history_init());
    if (editor == nullptr || past == nullptr) throw std::bad_alloc();
    HistEvent event;
    ::history(past.get(), &event, H_SETSIZE, max_history);
    ::history(past.get(), &event, H_SETUNIQUE, 1);
    EditLine* const e = editor.get();
    ::el_set(e, EL_CLIENTDATA, &state);
    ::el_set(e, EL_PROMPT, prompt_text);
    ::el_set(e, EL_EDITOR, "emacs");
    ::el_set(e, EL_SIGNAL, 1);
    ::el_set(e, EL_HIST, ::history, past.get());
    ::el_set(e, EL_ADDFN, "complete-word", "complete the word", complete_word);
    ::el_set(e, EL_ADDFN, "list-words", "list the words that may follow", list_words);
    ::el_set(e, EL_BIND, "^I", "complete-word", nullptr);
    ::el_set(e, EL_BIND, "?", "list-words", nullptr);
    ::el_set(e, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_wset(e, EL_GETCFN, &read_key);
    while (true) {
        clear_interrupt();
        state.prompt = state.lines.prompt();
        // Else el_gets() shows the prompt first, and ^D just after it is read as another key.
        ::el_set(e, EL_PREP_TERM, 1);
        int n = 0;
        block_interrupts(true);
        const char* const text = ::el_gets(e, &n);
        block_interrupts(false);
        if (text == nullptr && is_interrupted()) {  // the next el_gets() begins an empty line
            std::puts("^C");
            continue;
        }
        if (text == nullptr || n <= 0) {
            std::putchar('\n');
            if (state.lines.leave()) break;
            continue;
        }
        std::string line(text, static_cast<size_t>(n));
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
        if (line.find_first_not_of(" \t") != std::string::npos)
            ::history(past.get(), &event, H_ENTER, line.c_str());
        clear_interrupt();
        if (!state.lines.run(line)) break;
        std::fflush(stdout);
        std::clearerr(stdout);  // of a write that Ctrl-C ended
    }
    return 0;
}

}  // namespace turnpike::ctl
