// SPDX-License-Identifier: BSD-3-Clause
#include "ping.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ask.hpp"
#include "base/owned_fd.hpp"
#include "connection.hpp"

namespace turnpike::ctl {
namespace {

using nlohmann::json;

result<json> shown(connection& to, const char* what, json request = json::object()) {
    request["request"] = "show";
    request["what"] = what;
    return result_in(to.ask(request));
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
        // By the kernel, in this PID namespace: in a container, turnpike's own number is of another process here.
        ucred by{};
        socklen_t bytes = sizeof by;
        if (::getsockopt(to.descriptor(), SOL_SOCKET, SO_PEERCRED, &by, &bytes) != 0)
            return fail(errno, {}, "the process of turnpike cannot be asked for");
        if (by.pid <= 0)
            return fail(ESRCH, {},
                        "the process of turnpike is in another PID namespace: ping from its host, "
                        "or in its container");
        path = "/proc/" + std::to_string(by.pid) + "/ns/net";
    }
    owned_fd out(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (out.get() < 0) return fail(errno, path, "cannot be opened");
    return out;
}

/// A VRF of the command, and its egress interface for the address.
struct vrf_path {
    std::string vrf{}, interface {};
    uint64_t table = 0;
};

/// Errors  EINVAL: no such VRF; ENETUNREACH: no route; EINVAL: the interface is in another VRF
result<vrf_path> path_in(connection& to, const given& g) {
    vrf_path out{.vrf = g.value("VRF"), .interface = g.value("INTERFACE")};
    const auto vrfs = shown(to, "vrfs");
    if (!vrfs) return tl::unexpected<error>(vrfs.error());
    const json all = vrfs->value("vrfs", json::array());
    const auto is_named = [&](const json& one) { return one.value("name", json()) == out.vrf; };
    const auto vrf = std::find_if(all.begin(), all.end(), is_named);
    if (vrf == all.end()) return fail(EINVAL, "vrf " + out.vrf, "is not a VRF");
    out.table = vrf->value("table", uint64_t{0});
    const json interfaces = vrf->value("interfaces", json::array());
    if (out.interface.empty()) {
        const auto route = shown(to, "route", {{"address", g.value("ADDRESS")}, {"vrf", out.vrf}});
        if (!route) return tl::unexpected<error>(route.error());
        const json members = route->value("members", json::array());
        const json& nexthop = members.empty() ? *route : members.front();
        if (const json name = nexthop.value("interface", json()); name.is_string())
            out.interface = name.get<std::string>();
        else
            return fail(ENETUNREACH, "vrf " + out.vrf, "no route leads to " + g.value("ADDRESS"));
    }
    if (std::find(interfaces.begin(), interfaces.end(), out.interface) == interfaces.end())
        return fail(EINVAL, out.interface, "is not an interface of VRF " + out.vrf);
    return out;
}

/// Whether a table of the kernel has a route to the address by the interface, in the network namespace of this process.
/// Without one, Linux takes IPv4 destinations of such packets as on-link.
bool kernel_has_route(const std::string& address, const std::string& interface) {
    struct {
        nlmsghdr head{};
        rtmsg route{};
        std::array<uint8_t, 64> attributes{};
    } request;
    size_t bytes = 0;
    const auto add = [&](uint16_t type, const void* value, size_t length) {
        const rtattr head{static_cast<uint16_t>(RTA_LENGTH(length)), type};
        std::memcpy(&request.attributes[bytes], &head, sizeof head);
        std::memcpy(&request.attributes[bytes + RTA_LENGTH(0)], value, length);
        bytes += RTA_SPACE(length);
    };
    std::array<uint8_t, sizeof(in6_addr)> to{};
    const bool v6 = address.find(':') != std::string::npos;
    if (::inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), to.data()) != 1)
        return true;  // an address with a zone: the program judges it
    const size_t length = v6 ? sizeof(in6_addr) : sizeof(in_addr);
    const uint32_t index = ::if_nametoindex(interface.c_str());
    add(RTA_DST, to.data(), length);
    if (!interface.empty()) add(RTA_OIF, &index, sizeof index);
    request.route.rtm_family = v6 ? AF_INET6 : AF_INET;
    request.route.rtm_dst_len = static_cast<uint8_t>(8 * length);
    request.route.rtm_flags = RTM_F_LOOKUP_TABLE | RTM_F_FIB_MATCH;
    request.head.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(sizeof(rtmsg)) + bytes);
    request.head.nlmsg_type = RTM_GETROUTE;
    request.head.nlmsg_flags = NLM_F_REQUEST;
    const owned_fd kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    std::array<uint8_t, 4096> answer{};
    nlmsghdr head{};
    if (::send(kernel.get(), &request, request.head.nlmsg_len, 0) < 0 ||
        ::recv(kernel.get(), answer.data(), answer.size(), 0) < static_cast<ssize_t>(sizeof head))
        return true;
    std::memcpy(&head, answer.data(), sizeof head);
    return head.nlmsg_type != NLMSG_ERROR;
}

/// The remedy, where the kernel does not use the VRF's table for packets by an interface of it.
void print_rule_remedy(const vrf_path& by, const std::string& address) {
    std::fprintf(
        stderr,
        "turnpikectl: vrf %s: the kernel has no route to %s by %s; routes of the VRF are in "
        "its table %llu: `ip %srule add oif %s table %llu` there lets its own packets use "
        "them (doc/control-plane.md)\n",
        by.vrf.c_str(), address.c_str(), by.interface.c_str(),
        static_cast<unsigned long long>(by.table),
        address.find(':') == std::string::npos ? "" : "-6 ", by.interface.c_str(),
        static_cast<unsigned long long>(by.table));
}

void print_route_remedy(const std::string& address) {
    std::fprintf(stderr,
                 "turnpikectl: the kernel has no route to %s; turnpike's configured routes are not "
                 "in the kernel: `ip %sroute add PREFIX via GATEWAY` in the namespace of its host "
                 "interfaces lets the box itself use one (doc/control-plane.md)\n",
                 address.c_str(), address.find(':') == std::string::npos ? "" : "-6 ");
}

/// Runs a program in a network namespace, and waits for it; ^C ends only the program.
int run_in(const owned_fd& netns, std::vector<std::string> words, const vrf_path& by) {
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
        else if ((!by.vrf.empty() || by.interface.empty()) &&
                 !kernel_has_route(words.back(), by.interface)) {
            if (by.vrf.empty() || by.table == RT_TABLE_MAIN)
                print_route_remedy(words.back());
            else
                print_rule_remedy(by, words.back());
        } else {
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
    auto to = connect(g);
    if (!to) return complain(to.error(), exit_no_connection);
    vrf_path by{.interface = g.value("INTERFACE")};
    if (g.has("VRF")) {
        auto path = path_in(*to, g);
        if (!path) return complain(path.error(), exit_of_answer(path.error()));
        by = std::move(*path);
    }
    const std::string& interface = by.interface;
    const auto netns = host_namespace(*to, interface);
    if (!netns) return complain(netns.error(), exit_of_answer(netns.error()));
    if (!interface.empty()) {
        words.emplace_back(words[0] == "ping" ? "-I" : "-i");
        words.push_back(interface);
    }
    words.emplace_back("--");
    words.push_back(g.value("ADDRESS"));
    return run_in(*netns, std::move(words), by);
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
