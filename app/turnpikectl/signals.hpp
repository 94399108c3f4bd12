// SPDX-License-Identifier: BSD-3-Clause
// Signals as a descriptor to poll, while a command runs.
#pragma once

#include <csignal>
#include <initializer_list>

#include "base/owned_fd.hpp"

namespace turnpike::ctl {

/// Blocks the signals, and ignores SIGPIPE: write() reports a closed pipe. The destructor restores both for the prompt and
/// its children.
class signals {
  public:
    explicit signals(std::initializer_list<int> which);
    ~signals();
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// The next signal, or 0.
    [[nodiscard]] int read() const noexcept;

  private:
    sigset_t before_{};
    struct sigaction pipe_before_ {};
    owned_fd fd_{};
};

/// From now on SIGINT ends the wait for an answer, and no program: for the prompt. Other programs than this one have the
/// default again.
void catch_interrupts() noexcept;
/// Blocks SIGINT, or permits it again.
void block_interrupts(bool blocked) noexcept;
/// Waits for input, with SIGINT permitted. Answers  false: SIGINT has arrived
[[nodiscard]] bool wait_for_input(int fd) noexcept;
/// Permits a SIGINT that is blocked.
struct interruptible_scope {
    interruptible_scope() { block_interrupts(false); }
    interruptible_scope(const interruptible_scope&) = delete;
    interruptible_scope& operator=(const interruptible_scope&) = delete;
    ~interruptible_scope() { block_interrupts(true); }
};
/// Whether SIGINT has arrived since the last clear_interrupt().
[[nodiscard]] bool is_interrupted() noexcept;
void clear_interrupt() noexcept;

}  // namespace turnpike::ctl
