// SPDX-License-Identifier: BSD-3-Clause
#include "figure/gnuplot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/write_all.hpp"

extern char** environ;

namespace turnpike::figure {

std::string quoted(std::string text) {
    for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '\'');
    return "'" + text + "'";
}

result<void> run_gnuplot(const std::string& program) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno, "gnuplot", "cannot create a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    // If gnuplot cannot open its output file it draws on standard output: discard that.
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    std::string name = "gnuplot";
    char* const arguments[] = {name.data(), nullptr};
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[0]);
    if (failed != 0) {
        ::close(ends[1]);
        return fail(
            failed, "gnuplot",
            "cannot run it to draw the figure; install it (Debian: gnuplot-nox), or use the "
            "numbers with --csv");
    }
    std::signal(SIGPIPE, SIG_IGN);  // if gnuplot exits early, its exit code tells
    const bool written = write_all(ends[1], program);
    ::close(ends[1]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!written || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(EIO, "gnuplot", "it did not draw the figure; see its message above");
    return {};
}

}  // namespace turnpike::figure
