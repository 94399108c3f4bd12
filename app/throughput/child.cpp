// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace turnpike::throughput {

result<child> child::start(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    // A group in the terminal's background that reads it is stopped (SIGTTIN), for ever.
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    pid_t pid = 0;
    const int code =
        posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (code != 0) return fail(code, words[0], "did not start");
    return child(pid);
}

std::optional<int> child::ended() noexcept {
    int status = 0;
    if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) != pid_) return {};
    pid_ = 0;
    return status;
}

void child::interrupt() noexcept {
    if (pid_ != 0) kill(-pid_, SIGINT);
}

void child::stop(double patience_s) noexcept {
    constexpr unsigned wait_us = 10'000;
    if (pid_ == 0) return;
    const int group = pid_;
    kill(-group, SIGTERM);
    // The shell may end before the program that it started.
    const auto runs = [&] { return (!ended() && pid_ != 0) || kill(-group, 0) == 0; };
    for (double waited = 0; runs(); waited += wait_us) {
        if (waited >= patience_s * 1e6) kill(-group, SIGKILL);
        usleep(wait_us);
    }
}

std::string end_text(int wait_status) {
    if (WIFSIGNALED(wait_status)) return "ended by signal " + std::to_string(WTERMSIG(wait_status));
    return "ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace turnpike::throughput
