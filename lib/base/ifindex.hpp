// SPDX-License-Identifier: BSD-3-Clause
// The index of a network interface by its name.
//
// For a name that no interface has, if_nametoindex() and SIOCGIFINDEX run modprobe and wait for it, if the process has
// CAP_NET_ADMIN (dev_load() in Linux's net/core/dev_ioctl.c). SO_BINDTODEVICE does not, and takes no RTNL lock.
#pragma once

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "base/owned_fd.hpp"

namespace turnpike {

/// socket   of the interface's network namespace and of any family, for no other purpose than ioctls: it stays bound
/// Returns  0: no interface has the name
/// Threads  any; callers that share a socket ask for one name
[[nodiscard]] inline unsigned ifindex_of(int socket, const std::string& name) noexcept {
    if (name.size() >= IFNAMSIZ) return 0;  // the kernel would cut it off
    int index = 0;
    socklen_t bytes = sizeof index;
    if (::setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, name.data(),
                     static_cast<socklen_t>(name.size())) != 0) {
        if (errno == ENODEV) return 0;
    } else if (::getsockopt(socket, SOL_SOCKET, SO_BINDTOIFINDEX, &index, &bytes) == 0) {
        return static_cast<unsigned>(index);
    }
    // Without CAP_NET_RAW, for a bound socket, or without SO_BINDTOIFINDEX (before Linux 5.1).
    ifreq r{};
    name.copy(r.ifr_name, IFNAMSIZ - 1);
    return ::ioctl(socket, SIOCGIFINDEX, &r) == 0 ? static_cast<unsigned>(r.ifr_ifindex) : 0;
}

/// In the network namespace of the calling thread.
[[nodiscard]] inline unsigned ifindex_of(const std::string& name) noexcept {
    const owned_fd any(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return ifindex_of(any.get(), name);
}

}  // namespace turnpike
