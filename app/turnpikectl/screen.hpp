// SPDX-License-Identifier: BSD-3-Clause
// The terminal's alternate screen, with keys read unbuffered and without echo; restored on exit. Source: ECMA-48 for CUP, ED, EL and SGR; xterm's control sequences for ?1049 and ?25.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace turnpike::ctl {

class screen {
  public:
    /// Enters the alternate screen if wanted and standard output is a terminal. Reads keys if standard
    /// input is a terminal too.
    explicit screen(bool wanted);
    ~screen() { leave(); }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;

    [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
    [[nodiscard]] bool has_keys() const noexcept { return keys_; }
    void enter() noexcept;
    /// Restores the terminal.
    void leave() noexcept;

    /// The rows below the title.
    [[nodiscard]] static size_t rows() noexcept;
    /// Replaces the screen's contents, clipped to its size: title, and rows, of which some are headings.
    /// Returns false if standard output is closed.
    bool draw(const std::string& title, const std::vector<std::string>& rows,
              const std::vector<size_t>& headings = {0});

  private:
    bool terminal_ = false, keys_ = false, entered_ = false;
    termios before_{};
};

/// Writes the text to standard output. Returns false if standard output is closed.
bool write_stdout(const std::string& text) noexcept;

}  // namespace turnpike::ctl
