// SPDX-License-Identifier: BSD-3-Clause
#include "signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace turnpike::ctl {
namespace {

volatile std::sig_atomic_t interrupts = 0;

}  // namespace

void catch_interrupts() noexcept {
    struct sigaction counted {};
    counted.sa_handler = [](int) { interrupts = 1; };
    ::sigaction(SIGINT, &counted, nullptr);  // without SA_RESTART: system calls that wait return
}

void block_interrupts(bool blocked) noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    ::sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

bool wait_for_input(int fd) noexcept {
    sigset_t permitted;
    ::sigprocmask(SIG_BLOCK, nullptr, &permitted);
    sigdelset(&permitted, SIGINT);
    pollfd in{.fd = fd, .events = POLLIN, .revents = 0};
    while (!is_interrupted() && ::ppoll(&in, 1, nullptr, &permitted) < 0 && errno == EINTR) {
    }
    return !is_interrupted();
}

bool is_interrupted() noexcept { return interrupts != 0; }

void clear_interrupt() noexcept { interrupts = 0; }

signals::signals(std::initializer_list<int> which) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int s : which) ::sigaddset(&set, s);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignored, &pipe_before_);
    fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

signals::~signals() {
    while (read() != 0) {  // the prompt does not see signals to the command
    }
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int signals::read() const noexcept {
    signalfd_siginfo one{};
    return ::read(fd_.get(), &one, sizeof one) == sizeof one ? static_cast<int>(one.ssi_signo) : 0;
}

}  // namespace turnpike::ctl
