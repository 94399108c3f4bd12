// SPDX-License-Identifier: BSD-3-Clause
#include "control/host_interfaces/tap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace turnpike::control {

result<tap> tap::create(const std::string& name) {
    const auto failed = [&](const std::string& why) {
        return fail(errno, "interface " + name, why);
    };
    tap out;
    out.fd_.reset(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (out.fd() < 0) return failed("/dev/net/tun cannot be opened: load the kernel module tun");
    ifreq r{};
    name.copy(r.ifr_name, IFNAMSIZ - 1);
    // IFF_TUN_EXCL: do not attach to a persistent TAP of another program.
    r.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | static_cast<int>(IFF_TUN_EXCL));
    if (::ioctl(out.fd(), TUNSETIFF, &r) != 0)
        return failed(errno == EBUSY ? "the namespace has an interface of that name already"
                                     : "the kernel cannot create the interface");
    static_cast<void>(out.set_carrier(false));
    const owned_fd any(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (any.get() < 0 || ::ioctl(any.get(), SIOCGIFINDEX, &r) != 0)
        return failed("its ifindex is unknown");
    out.index_ = static_cast<uint32_t>(r.ifr_ifindex);
    return out;
}

bool tap::set_carrier(bool on) const noexcept {
    unsigned value = on ? 1 : 0;
    return ::ioctl(fd(), TUNSETCARRIER, &value) == 0;
}

bool tap::write(std::span<const iovec> frame) noexcept {
    return ::writev(fd(), frame.data(), static_cast<int>(frame.size())) >= 0;
}

size_t tap::read(std::span<uint8_t> into) noexcept {
    const ssize_t got = ::read(fd(), into.data(), into.size());
    return got > 0 ? static_cast<size_t>(got) : 0;
}

}  // namespace turnpike::control
