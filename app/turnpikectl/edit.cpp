// SPDX-License-Identifier: BSD-3-Clause
#include "edit.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ask.hpp"
#include "base/owned_fd.hpp"
#include "base/write_all.hpp"
#include "print.hpp"
#include "transfer.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

constexpr double usual_confirm_s = 120;

/// A file for the editor. It stays if its text was not applied.
class edited_file {
  public:
    result<void> open(const std::string& text) {
        const char* const folder = std::getenv("TMPDIR");
        path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/turnpike-XXXXXX.yaml";
        const owned_fd fd(::mkstemps(path_.data(), 5));
        if (fd.get() < 0) return fail(errno, path_, "cannot be created");
        if (write_all(fd.get(), text)) return {};
        const auto failed = fail(errno, path_, "cannot be written");
        remove();
        return failed;
    }
    [[nodiscard]] std::string text() const {
        std::ostringstream out;
        out << std::ifstream(path_, std::ios::binary).rdbuf();
        return out.str();
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    void remove() const { ::unlink(path_.c_str()); }

  private:
    std::string path_{};
};

/// Runs the editor, a command line of a shell, as git and crontab do.
result<void> run_editor(const std::string& file) {
    const char* editor = std::getenv("VISUAL");
    if (editor == nullptr || *editor == 0) editor = std::getenv("EDITOR");
    if (editor == nullptr || *editor == 0) editor = "vi";
    std::fflush(stdout);
    // Ctrl-C and Ctrl-\ are the editor's, as in git: they reach every program of this terminal.
    struct sigaction ignored {
    }, interrupt{}, quit{};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignored, &interrupt);
    ::sigaction(SIGQUIT, &ignored, &quit);
    const auto restore = [&] {
        ::sigaction(SIGINT, &interrupt, nullptr);
        ::sigaction(SIGQUIT, &quit, nullptr);
    };
    const pid_t child = ::fork();
    if (child == 0) {
        restore();
        // A shell with a handler waits for the editor, which has the default.
        const std::string line = "trap : INT QUIT; " + std::string(editor) + " \"$@\"";
        ::execl("/bin/sh", "sh", "-c", line.c_str(), editor, file.c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const int why = errno;
    restore();
    if (child < 0) return fail(why, editor, "cannot be started");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return fail(EINVAL, editor, "the editor failed; nothing is changed");
}

/// Whether the operator answers yes; the end of the input is no.
bool agrees(const std::string& question) {
    std::printf("%s [y/N] ", question.c_str());
    std::fflush(stdout);
    std::string line;
    return std::getline(std::cin, line) && (line == "y" || line == "yes");
}

/// The number of the running configuration in the history; null: turnpike is earlier than these numbers.
std::optional<json> running_id(connection& c, int& code) {
    const auto past = result_of(c, {{"request", "history"}}, code);
    if (!past) return std::nullopt;
    const json states = past->value("states", json::array());
    return states.empty() ? json() : states.front().value("id", json());
}

/// Applies the file; returns the exit code.
/// base  number of the configuration that the text was made from, or null
int apply(connection& c, const given& g, const edited_file& file, const json& base) {
    int code = 0;
    auto request = file_request("apply", file.path());
    if (!request) return complain(request.error(), exit_refused);
    const auto seconds = (g.seconds("--confirm", usual_confirm_s).count() + 999) / 1000;
    (*request)["confirm"] = seconds;
    if (!base.is_null()) (*request)["base"] = base;
    if (g.options.contains("--comment")) (*request)["comment"] = g.option("--comment");
    const auto done = result_of(c, *request, code);
    if (!done) {
        const char* const text = file.path().c_str();
        std::printf(
            "not applied; the text is %s: turnpikectl diff %s shows the differences, "
            "turnpikectl apply %s applies it\n",
            text, text, text);
        return code;
    }
    std::fputs(("changed: " + changes_text(*done)).c_str(), stdout);
    file.remove();
    if (done->contains("undone_in_s") && done->at("undone_in_s").is_null())
        return 0;  // nothing has changed
    if (!g.options.contains("--yes") && agrees("keep the change?")) {
        json confirm = {{"request", "confirm"}};
        if (done->contains("id")) confirm["id"] = done->at("id");
        if (!result_of(c, confirm, code)) return code;
        std::puts("confirmed; turnpikectl save makes it the startup configuration");
        return 0;
    }
    std::printf("undone in %lld s unless turnpikectl confirm\n", static_cast<long long>(seconds));
    return 0;
}

}  // namespace

int edit_configuration(const given& g) {
    auto asked = connect(g);
    if (!asked) return complain(asked.error(), exit_no_connection);
    int code = 0;
    // First the number: a change between the two is then noticed.
    const auto base = running_id(*asked, code);
    const auto before = base ? running_text(*asked, code) : std::nullopt;
    if (!before) return code;
    edited_file file;
    if (auto opened = file.open(*before); !opened) return complain(opened.error(), exit_refused);
    while (true) {
        if (auto edited = run_editor(file.path()); !edited) {
            file.remove();
            return complain(edited.error(), exit_refused);
        }
        if (file.text() == *before) {
            file.remove();
            std::puts("no changes");
            return 0;
        }
        const auto request = file_request("diff", file.path());
        const auto differs = request ? result_of(*asked, *request, code) : std::nullopt;
        if (!request) code = complain(request.error(), exit_refused);
        if (differs) {
            std::fputs(("would change: " + changes_text(*differs)).c_str(), stdout);
            if (g.options.contains("--yes") || agrees("apply?"))
                return apply(*asked, g, file, *base);
            std::printf("not applied; the text is %s\n", file.path().c_str());
            return 0;
        }
        if (code == exit_no_connection || g.options.contains("--yes") || !agrees("edit again?")) {
            std::printf("not applied; the text is %s\n", file.path().c_str());
            return code;
        }
    }
}

}  // namespace turnpike::ctl
