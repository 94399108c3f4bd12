// SPDX-License-Identifier: BSD-3-Clause
#include "screen.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace turnpike::ctl {
namespace {

constexpr const char *enter_screen = "\x1b[?1049h\x1b[?25l", *give_back = "\x1b[?25h\x1b[?1049l";
constexpr const char *inverse = "\x1b[7m", *plain = "\x1b[m";

/// The first `most` characters of a UTF-8 string.
std::string_view clipped(std::string_view text, size_t most) {
    size_t at = 0;
    for (size_t characters = 0; at < text.size(); ++at)
        if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && characters++ == most) break;
    return text.substr(0, at);
}

winsize window_size() noexcept {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    return size;
}

}  // namespace

bool write_stdout(const std::string& text) noexcept {
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
        if (n >= 0) {
            done += static_cast<size_t>(n);
        } else if (errno == EAGAIN) {
            pollfd until{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
            ::poll(&until, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

screen::screen(bool wanted) {
    terminal_ = wanted && ::isatty(STDOUT_FILENO) == 1;
    keys_ = terminal_ && ::tcgetattr(STDIN_FILENO, &before_) == 0;
    enter();
}

void screen::enter() noexcept {
    if (!terminal_ || entered_) return;
    entered_ = true;
    if (keys_) {
        termios as_typed = before_;
        as_typed.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        as_typed.c_cc[VMIN] = 0;
        as_typed.c_cc[VTIME] = 0;
        ::tcsetattr(STDIN_FILENO, TCSADRAIN, &as_typed);
    }
    write_stdout(enter_screen);
}

void screen::leave() noexcept {
    if (!entered_) return;
    entered_ = false;
    write_stdout(give_back);
    if (keys_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

size_t screen::rows() noexcept { return static_cast<size_t>(window_size().ws_row) - 1; }

bool screen::draw(const std::string& title, const std::vector<std::string>& rows,
                  const std::vector<size_t>& headings) {
    const winsize size = window_size();
    std::vector<std::string> lines = {title};
    lines.insert(lines.end(), rows.begin(), rows.end());
    if (lines.size() > size.ws_row) {
        const size_t left = lines.size() - size.ws_row + 1;
        lines.resize(size.ws_row);
        if (size.ws_row > 2) lines.back() = fmt::format("... and {} more", left);
    }
    // Clear each line before writing it: after the last column, EL would clear the last character.
    std::string out = "\x1b[H";
    for (size_t i = 0; i < lines.size(); ++i) {
        out += i == 0 ? "\x1b[K" : "\r\n\x1b[K";
        const std::string_view text = clipped(lines[i], size.ws_col);
        const bool heading = std::find(headings.begin(), headings.end(), i - 1) != headings.end();
        out += heading ? fmt::format("{}{}{}", inverse, text, plain) : std::string(text);
    }
    if (lines.size() < size.ws_row) out += "\r\n\x1b[J";
    return write_stdout(out);
}

}  // namespace turnpike::ctl
