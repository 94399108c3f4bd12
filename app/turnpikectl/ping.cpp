// SPDX-License-Identifier: BSD-3-Clause
#include "ping.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "base/owned_fd.hpp"
#include "connection.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

result<json> shown(connection& to, const char* what) {
    auto answer = to.ask({{"request", "show"}, {"what", what}});
    if (!answer) return tl::unexpected<error>(answer.error());
    if (!answer->is_object() || !answer->contains("result"))
        return tl::unexpected<error>(refusal_of(*answer));
    return std::move((*answer)["result"]);
}

/// The network namespace of turnpike's host interfaces.
/// Errors  EINVAL: there is none, or not this interface
result<owned_fd> host_namespace(connection& to, const std::string& interface) {
    const auto plane = shown(to, "control-plane");
    if (!plane) return tl::unexpected<error>(plane.error());
    const json all = plane->value("interfaces", json::array());
    const std::string none =
        "has no interface in the kernel to send by: set host_interface: true of the interface "
        "(doc/control-plane.md)";
    if (all.empty()) return fail(EINVAL, {}, "turnpike " + none);
    const auto is_named = [&](const json& one) { return one.value("name", json()) == interface; };
    if (!interface.empty() && std::none_of(all.begin(), all.end(), is_named))
        return fail(EINVAL, interface, none);
    const json name = plane->value("namespace", json());
    std::string path;
    if (name.is_string()) {
        path = "/run/netns/" + name.get<std::string>();
    } else {
        const auto version = shown(to, "version");
        if (!version) return tl::unexpected<error>(version.error());
        path = "/proc/" + version->value("pid", json(0)).dump() + "/ns/net";
    }
    owned_fd out(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (out.get() < 0) return fail(errno, path, "cannot be opened");
    return out;
}

/// Runs a program in a network namespace, and waits for it; ^C ends only the program.
int run_in(const owned_fd& netns, std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::fflush(stdout);
    struct sigaction ignored {
    }, before{};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignored, &before);
    const pid_t child = ::fork();
    if (child == 0) {
        ::sigaction(SIGINT, &before, nullptr);
        if (::setns(netns.get(), CLONE_NEWNET) != 0)
            std::fprintf(stderr, "turnpikectl: %s: cannot enter the network namespace: %s\n",
                         argv[0], std::strerror(errno));
        else {
            ::execvp(argv[0], argv.data());
            std::fprintf(
                stderr, "turnpikectl: %s: %s\n", argv[0],
                errno == ENOENT ? "is not installed on this machine" : std::strerror(errno));
        }
        ::_exit(exit_refused);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ::sigaction(SIGINT, &before, nullptr);
    if (child < 0) return complain({errno, words[0], "cannot be started"}, exit_refused);
    return WIFEXITED(status) ? WEXITSTATUS(status) : exit_refused;
}

int run(const given& g, std::vector<std::string> words) {
    auto to = connection::open(g.option("--socket", default_socket), g.seconds("--timeout", 60));
    if (!to) return complain(to.error(), exit_no_connection);
    const std::string interface = g.value("INTERFACE");
    const auto netns = host_namespace(*to, interface);
    if (!netns) return complain(netns.error(), exit_refused);
    if (!interface.empty()) {
        words.emplace_back(words[0] == "ping" ? "-I" : "-i");
        words.push_back(interface);
    }
    words.emplace_back("--");
    words.push_back(g.value("ADDRESS"));
    return run_in(*netns, std::move(words));
}

}  // namespace

int ping(const given& g) {
    const std::vector<std::string> numbers = g.values("NUMBER");
    std::vector<std::string> words = {"ping", "-c", "5"};
    size_t next = 0;
    for (const auto& [word, value] : g.words) {
        if (word == "count") words[2] = numbers[next++];
        if (word == "size") words.insert(words.end(), {"-s", numbers[next++]});
        if (word == "dont-fragment") words.insert(words.end(), {"-M", "do"});
    }
    return run(g, std::move(words));
}

int traceroute(const given& g) { return run(g, {"traceroute", "-n"}); }

}  // namespace turnpike::ctl
