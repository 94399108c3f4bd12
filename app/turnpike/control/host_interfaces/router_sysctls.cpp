// SPDX-License-Identifier: BSD-3-Clause
#include "control/host_interfaces/router_sysctls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/owned_fd.hpp"

namespace turnpike::control {
namespace {

struct setting {
    const char *family, *name;
    char value;
};
// With IPv4 forwarding off, accept_redirects of `all` counts, too (IN_DEV_RX_REDIRECTS).
constexpr setting settings[] = {{"ipv4", "accept_redirects", '0'},
                                {"ipv4", "forwarding", '1'},
                                // Else a network's first address takes the others along.
                                {"ipv4", "promote_secondaries", '1'},
                                {"ipv6", "accept_ra", '0'},
                                {"ipv6", "autoconf", '0'},
                                {"ipv6", "accept_redirects", '0'},
                                {"ipv6", "forwarding", '1'},
                                // Else `ip link set down` deletes the IPv6 addresses.
                                {"ipv6", "keep_addr_on_down", '1'}};

result<void> set(const std::string& file, char value) {
    // Read first: a container's /proc/sys may be read-only, with the right value.
    char now[2] = {};
    const owned_fd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (in.get() < 0) return fail(errno, file, "cannot be read");
    if (::read(in.get(), now, sizeof now) == 2 && now[0] == value && now[1] == '\n') return {};
    const owned_fd out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.get() >= 0 && ::write(out.get(), &value, 1) == 1) return {};
    const int code = errno;
    return fail(code, file,
                fmt::format("cannot be set to {}, which a router needs; set it under conf/default "
                            "before turnpike starts",
                            value));
}

}  // namespace

result<void> set_router_sysctls(const std::string& interface, bool accept_ra) {
    for (auto [family, name, value] : settings) {
        if (accept_ra && name == std::string_view("accept_ra"))
            value = '2';  // although it forwards
        if (accept_ra && name == std::string_view("autoconf")) value = '1';
        const auto done =
            set(fmt::format("/proc/sys/net/{}/conf/{}/{}", family, interface, name), value);
        if (!done && !(done.error().code == ENOENT && family[3] == '6')) return done;
    }
    return {};
}

}  // namespace turnpike::control
