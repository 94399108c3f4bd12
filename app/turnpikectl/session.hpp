// SPDX-License-Identifier: BSD-3-Clause
// The lines of the interactive prompt: commands with filters, and a candidate of several changes.
//
//   show ports | match west        only lines with the text; also `except`
//   show ports | json
//   configure                      begins a candidate: changes are kept until `commit`
//   compare, commit [confirm SECONDS] [comment TEXT], undo, rollback N, abort
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "complete.hpp"

namespace turnpike::ctl {

class session {
  public:
    /// options  of all commands: "--socket", "PATH"; a line's own are used instead
    explicit session(const std::vector<std::string>& options);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Runs a line, and prints its result.
    /// Returns false for `exit`
    [[nodiscard]] bool run(const std::string& line);
    /// Whether the prompt may end: the first time in a row, not with a candidate whose changes would be lost.
    [[nodiscard]] bool leave();
    /// The exit code of the last line.
    [[nodiscard]] int code() const noexcept { return code_; }
    /// "turnpike> ", with the changes of a candidate, unsaved work and the time of a change that awaits confirmation.
    [[nodiscard]] std::string prompt();
    /// The words that may follow a begun line.
    [[nodiscard]] completions complete(const std::string& begun) const;

  private:
    struct filter {
        enum kind : uint8_t { match, except } what;
        std::string text;
    };
    struct parsed_line {
        std::vector<std::string> words{};
        std::vector<filter> filters{};
        bool json = false;
    };
    [[nodiscard]] static result<parsed_line> parse(const std::string& line);

    int run_command(const parsed_line& line);
    int run_words(const parsed_line& line);
    /// Commands of the session itself; false: none of them.
    [[nodiscard]] bool run_own(const std::vector<std::string>& words, int& code);
    int configure();
    int add_to_candidate(const command_line& line, const nlohmann::json& edits,
                         const std::string& text);
    void note_running(const nlohmann::json& result, bool compared);
    static void print_invalid(const nlohmann::json& result, const given& says,
                              const nlohmann::json& request);
    int commit(const std::vector<std::string>& words);
    [[nodiscard]] std::pair<nlohmann::json, given> candidate_request(nlohmann::json with) const;
    [[nodiscard]] std::optional<nlohmann::json> result_of(const nlohmann::json& request,
                                                          const given& says);
    int send_candidate(bool dry, nlohmann::json with);
    int undo_last();
    int roll_back(const std::string& number);
    int forget();
    int abort();
    [[nodiscard]] std::vector<std::string> with_options(
        const std::vector<std::string>& words) const;
    /// The first words of lines that are no commands of turnpikectl.
    [[nodiscard]] std::vector<std::string_view> own_first_words() const;

    std::vector<std::pair<std::string_view, std::vector<std::string>>> options_;  ///< by name
    uint64_t seen_id_ =
        0;  ///< of the running configuration that the candidate was compared with; 0: unknown
    uint64_t pending_id_ = 0;  ///< of the change that the last commit began to wait with; 0: none
    int code_ = 0;
    bool configures_ = false, refused_to_leave_ = false;
    struct kept_change;
    std::vector<kept_change> candidate_;
};

/// Reads lines from the terminal until `exit` or the end of input. Returns the exit code.
int run_prompt(const std::vector<std::string>& options);

}  // namespace turnpike::ctl
