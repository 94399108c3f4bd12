// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tap.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace turnpike::simnic {
namespace {

void bring_up(ifreq& request) {
    const int s = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0) return;  // the user of the interface must bring it up
    if (::ioctl(s, SIOCGIFFLAGS, &request) == 0) {
        request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
        (void)::ioctl(s, SIOCSIFFLAGS, &request);
    }
    ::close(s);
}

}  // namespace

result<std::unique_ptr<wire>> tap::open(const std::string& name) {
    const std::string object = "wire=tap:" + name;
    ifreq request{};
    if (name.empty() || name.size() >= sizeof request.ifr_name)
        return fail(EINVAL, object,
                    "an interface's name has 1 to " + std::to_string(sizeof request.ifr_name - 1) +
                        " characters");
    const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return fail(errno, object, "cannot open /dev/net/tun");
    std::memcpy(request.ifr_name, name.c_str(), name.size());
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (::ioctl(fd, TUNSETIFF, &request) != 0) {
        const int code = errno;
        ::close(fd);
        return fail(code, object, "cannot create this interface");
    }
    bring_up(request);
    return std::unique_ptr<wire>(new tap(fd));
}

tap::~tap() { ::close(fd_); }

/// One frame per call: each takes a system call anyway.
uint32_t tap::peek(uint64_t, std::span<outgoing> into) noexcept {
    if (held_ == 0) {
        const ssize_t n = ::read(fd_, frame_.get(), max_frame_bytes);
        if (n <= 0) return 0;
        held_ = static_cast<uint32_t>(n);
        if (held_ < min_frame_bytes) {
            std::memset(&frame_[held_], 0, min_frame_bytes - held_);
            held_ = min_frame_bytes;
        }
    }
    into[0] = {frame_.get(), held_};
    return 1;
}

void tap::send(std::span<const outgoing> frames) noexcept {
    for (const outgoing& f : frames)
        if (::write(fd_, f.bytes, f.length) != static_cast<ssize_t>(f.length)) refused_.add(1);
}

size_t tap::counts(std::span<wire_count> into) const noexcept {
    into[0] = {"wire_tap_refused", refused_.read()};
    return 1;
}

}  // namespace turnpike::simnic
