// SPDX-License-Identifier: BSD-3-Clause
// A terminal's screen, taken and given back: another screen than the one with the shell's lines, keys as
// they are typed. Source: ECMA-48 for CUP, ED, EL and SGR; xterm's control sequences for ?1049 and ?25.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace turnpike::ctl {

class screen {
  public:
    /// Takes it, where it is wanted and standard output is a terminal; keys, where standard input is
    /// one, too.
    explicit screen(bool wanted);
    ~screen() { leave(); }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;

    [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
    [[nodiscard]] bool has_keys() const noexcept { return keys_; }
    void enter() noexcept;
    /// As it was found.
    void leave() noexcept;

    /// In place of what is there, as much as fits: the first line, then a heading, then the rest.
    /// False: nobody reads it.
    bool draw(const std::string& title, const std::vector<std::string>& rows);

  private:
    bool terminal_ = false, keys_ = false, entered_ = false;
    termios before_{};
};

/// All of it, to standard output. False: nobody reads it.
bool write_all(const std::string& text) noexcept;

}  // namespace turnpike::ctl
